"""CPU seconds of a run in the lab: 300 steps of GRPO on one thread, for one scheme of each kind of verdict.

CPU time of this process, so that a busy machine matters little. Run: python bench/lab.py [steps]
"""

import resource
import sys
import time

from prorubric.lab.training import Ground, train_policy

SCHEMES = ("additive", "raw-and", "prorubric", "graded+appropriateness", "k1", "implicit", "additive-kl-0.1")


def main(steps: int) -> None:
    started = time.process_time()
    ground = Ground("triage-v1")
    print(f"world, checklists and untrained policy: {time.process_time() - started:.1f} CPU-s, once for each process")
    for scheme in SCHEMES:
        result = train_policy(scheme, ground, steps=steps)
        moves = result.tokens[-1]
        print(f"{scheme:24s} {result.cpu_seconds:5.1f} CPU-s for {steps} steps; answers end at {moves:.0f} tokens")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
