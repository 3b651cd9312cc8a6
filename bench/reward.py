"""What the background loop costs a reward: single calls and a batch of 512, with a judge in process and behind HTTP.

Run: python bench/reward.py. The judge in process answers at once, so that all that is left is ours; the one behind HTTP
takes 50 ms, on the same machine.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from prorubric import HttpConfig, Judge, RewardConfig, load_samples
from prorubric.aggregate.choose import score_readings
from prorubric.datasets.samples import SAMPLE_TASKS
from prorubric.llm.model import Reply, Request
from prorubric.reward.reward import RubricReward

ROOT = Path(__file__).parents[1]
BATCH, CALLS, ROUNDS, LATENCY, PORT = 512, 500, 5, 0.05, 20_517
TEXT = "word " * 800


class YesJudge:
    """Answers at once."""

    name = identity = "yes"

    async def complete(self, request: Request) -> Reply:
        """True to every item."""
        assert request.schema is not None
        items = request.schema["properties"]["satisfied"]["properties"]
        return Reply(json.dumps({"satisfied": dict.fromkeys(items, True)}), 1, 1)

    async def close(self) -> None:
        """There is nothing to let go of."""


def best(work: Callable[[], object]) -> float:
    """Seconds, the best of some rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


async def call_awaited(reward: RubricReward, task: str) -> None:
    for _ in range(CALLS):
        await reward.reward(task, TEXT)


async def judge_directly(reward: RubricReward, task: str) -> None:
    judge, found = Judge(YesJudge()), reward.tasks[task]
    for _ in range(CALLS):
        judgement = await judge.judge(found, TEXT, "dimensions")
        score_readings({"dimensions": judgement.verdicts}, found, ("prorubric",))


def main() -> None:
    ids = list(dict.fromkeys(answer.task.id for answer in load_samples()))
    rows = [ids[i % len(ids)] for i in range(BATCH)]
    texts = [f"{i} {TEXT}" for i in range(BATCH)]
    reward = RubricReward(RewardConfig("reward:YesJudge", tasks=str(SAMPLE_TASKS)))
    direct = best(lambda: asyncio.run(judge_directly(reward, ids[0]))) / CALLS
    plain = best(lambda: [reward([ids[0]], [TEXT]) for _ in range(CALLS)]) / CALLS
    awaited = best(lambda: asyncio.run(call_awaited(reward, ids[0]))) / CALLS
    batch = best(lambda: reward(rows, texts)) / BATCH
    print(f"one response, judged and scored without the loop  {direct * 1e3:.2f} ms")
    print(f"one response, plain call                          {plain * 1e3:.2f} ms")
    print(f"one response, awaited                             {awaited * 1e3:.2f} ms")
    print(f"one of a batch of {BATCH}                           {batch * 1e3:.2f} ms")
    with tempfile.TemporaryDirectory() as folder, run_stub() as spec:
        for journal in (None, Path(folder) / "journal.sqlite"):
            config = RewardConfig(spec, tasks=str(SAMPLE_TASKS), http=HttpConfig(concurrency=64), journal=journal)
            measure_http(RubricReward(config), rows, texts)


def measure_http(reward: RubricReward, rows: list[str], texts: list[str]) -> None:
    rounds = iter(range(ROUNDS))

    def ask_anew() -> None:
        number = next(rounds)
        reward(rows, [f"{number} {text}" for text in texts])

    kept = "with a journal" if reward.config.journal else "without one   "
    print(f"{BATCH} responses, 50 ms behind HTTP, 64 at once, {kept}  {best(ask_anew):.2f} s")
    if reward.config.journal:
        again = best(lambda: reward(rows, [f"0 {text}" for text in texts]))
        print(f"the same again, out of the journal                              {again:.2f} s")


@contextmanager
def run_stub() -> Iterator[str]:
    command = [sys.executable, str(ROOT / "bench/judge_stub.py"), str(PORT), str(LATENCY), "30"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as stub:
        assert stub.stdout is not None
        stub.stdout.readline()
        try:
            yield f"http://127.0.0.1:{PORT}/v1#stub"
        finally:
            stub.terminate()


if __name__ == "__main__":
    main()
