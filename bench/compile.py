"""Compiling 10,000 tasks of 12 criteria: wall against the ideal, and memory.

Ours is the whole verb: read, render, call, parse, check, journal, write. One stub takes 2 s for a reply, as a real
generator does, with 256 calls in flight; the other 50 ms with 128, which shows what the verb itself costs. The ideal is
the stub's own time at full width. The peak memory is compared with that of a run of 1,000 tasks.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compile_stub import ITEMS
from prorubric import Criterion, Message, Rubric, Task, save_tasks

ROOT = Path(__file__).parents[1]
TASKS, FEW = 10_000, 1_000
REALISTIC, FAST = (2.0, 256, 1), (0.05, 128, 3)
"""Seconds a reply, calls in flight, and how often it is run."""

OURS = """
import json, resource, sys, time
from pathlib import Path
from prorubric import CompileConfig, HttpConfig, compile_rubrics
url, folder, concurrency = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
config = CompileConfig(
    str(folder / "tasks.jsonl"), out=folder / f"out-{time.time_ns()}.jsonl", generator=f"{url}#stub",
    http=HttpConfig(concurrency=concurrency),
)

wall, cpu = time.perf_counter(), time.process_time()
result = compile_rubrics(config)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(json.dumps({
    "wall": wall, "cpu": cpu, "kept": result.kept, "calls": result.calls, "cached": result.cached,
    "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


@contextmanager
def run_stub(latency: float) -> Iterator[str]:
    port = 20_000 + os.getpid() % 10_000
    command = [sys.executable, str(ROOT / "bench/compile_stub.py"), str(port), str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as stub:
        assert stub.stdout is not None
        stub.stdout.readline()
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            stub.terminate()


def make_tasks(count: int) -> Iterator[Task]:
    """Tasks of which no two ask the same question, so that no reply comes from the journal."""
    for number in range(count):
        criteria = tuple(
            Criterion(text=f"Explains to the runner how point {item} bears on resting the injured knee", weight=3)
            for item in range(ITEMS)
        )
        question = f"Case {number}. My knee has hurt since the last run. " + "It was a long one, mostly downhill. " * 12
        yield Task(
            id=f"case-{number}",
            messages=(Message(role="user", content=question),),
            rubric=Rubric(criteria=criteria),
            domain="medicine",
        )


def run(url: str, folder: Path, count: int, in_flight: int) -> dict[str, float]:
    save_tasks(folder / "tasks.jsonl", make_tasks(count))
    command = [sys.executable, "-c", OURS, url, str(folder), str(in_flight)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    assert (found["kept"], found["calls"], found["cached"]) == (count, count, 0)
    return found


def compare(latency: float, in_flight: int, times: int) -> None:
    ideal = TASKS / in_flight * latency
    with tempfile.TemporaryDirectory() as name, run_stub(latency) as url:
        few = run(url, Path(name), FEW, in_flight)
        rows = [run(url, Path(name), TASKS, in_flight) for _ in range(times)]
    best = min(rows, key=lambda row: row["wall"])
    print(f"{latency:g} s a call, {in_flight} in flight: {best['wall']:.2f} s = {best['wall'] / ideal:.3f} x ideal")
    walls = ", ".join(f"{row['wall']:.2f}" for row in rows)
    print(f"CPU {best['cpu'] / TASKS * 1000:.2f} ms a task; all walls: {walls}")
    rss = max(row["rss"] for row in rows)
    print(f"peak memory: {few['rss']:.0f} MB at {FEW:,} tasks, {rss:.0f} MB at {TASKS:,}")


def main() -> None:
    print(f"{TASKS:,} tasks x {ITEMS} criteria")
    for setting in (REALISTIC, FAST):
        compare(*setting)


if __name__ == "__main__":
    main()
