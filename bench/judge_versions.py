"""CPU a response of `judge` in two checkouts, in turns: python bench/judge_versions.py OTHER [PAIRS].

OTHER is another checkout with its own `.venv`; both ask the same stub. CPU is counted over whole processes, and the
difference between a short and a long run is divided by the difference in responses, so starting Python and loading
modules do not count.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from judge import IN_FLIGHT, ROOT, make_files, run_stub

SHORT, LONG = 64, 2048

JUDGE = """
import sys, time
from pathlib import Path
from prorubric import HttpConfig, JudgeRunConfig, judge_responses
url, folder, concurrency = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
result = judge_responses(JudgeRunConfig(
    str(folder / "tasks.jsonl"), folder / "responses.jsonl", judge=f"{url}#stub", out=folder / f"run-{time.time_ns()}",
    scheme="additive,conjunctive,weighted", http=HttpConfig(concurrency=concurrency),
))
assert not result.unknown_verdicts and not result.cached
"""


def measure(checkout: Path, url: str, folder: Path) -> float:
    """Seconds of CPU of one run, in all its threads."""
    command = [str(checkout / ".venv/bin/python"), "-c", JUDGE, url, str(folder), str(IN_FLIGHT)]
    process = subprocess.Popen(command, cwd=checkout)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime


def main() -> None:
    other, pairs = Path(sys.argv[1]).resolve(), int((sys.argv[2:] or ["5"])[0])
    found: dict[Path, list[float]] = {other: [], ROOT: []}
    with tempfile.TemporaryDirectory() as name, run_stub(0.0) as url:
        folders = {count: Path(name) / str(count) for count in (SHORT, LONG)}
        for count, folder in folders.items():
            folder.mkdir()
            make_files(folder, count)
        for _ in range(pairs):
            for checkout, costs in found.items():
                short, long = (measure(checkout, url, folders[count]) for count in (SHORT, LONG))
                costs.append((long - short) / (LONG - SHORT) * 1000)
            print(
                "  ".join(f"{costs[-1]:.3f}" for costs in found.values()), f"load {os.getloadavg()[0]:.1f}", flush=True
            )
    ratios = sorted(ours / theirs for theirs, ours in zip(*found.values(), strict=True))
    for checkout, costs in found.items():
        print(f"{checkout}: {statistics.median(costs):.3f} ms a response ({min(costs):.3f} to {max(costs):.3f})")
    spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
    print(f"ratio of the pairs: {statistics.median(ratios):.2f} ({spread}), {time.strftime('%F %H:%M')}")


if __name__ == "__main__":
    main()
