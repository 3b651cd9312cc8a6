"""Compiling 10,000 tasks of 12 criteria against a stub of 50 ms, 128 in flight: wall against the ideal, and memory.

Ours is the whole verb: read, render, call, parse, check, journal, write; in one process, and in two. The ideal is the
stub's own time at full width. The peak memory is compared with that of a run of 1,000 tasks.
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
TASKS, FEW, LATENCY, IN_FLIGHT = 10_000, 1_000, 0.05, 128

OURS = """
import json, resource, sys, time
from pathlib import Path
from prorubric import CompileConfig, HttpConfig, compile_rubrics
url, folder, concurrency, processes = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
config = CompileConfig(
    str(folder / "tasks.jsonl"), out=folder / f"out-{time.time_ns()}.jsonl", generator=f"{url}#stub",
    http=HttpConfig(concurrency=concurrency), processes=processes,
)

def measure(what):
    return [getattr(resource.getrusage(who), what) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]

wall, cpu = time.perf_counter(), time.process_time()
result = compile_rubrics(config)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
cpu += measure("ru_utime")[1] + measure("ru_stime")[1]
print(json.dumps({
    "wall": wall, "cpu": cpu, "kept": result.kept, "calls": result.calls, "cached": result.cached,
    "rss": max(measure("ru_maxrss")) / 1024,
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


def run(url: str, folder: Path, count: int, processes: int) -> dict[str, float]:
    save_tasks(folder / "tasks.jsonl", make_tasks(count))
    command = [sys.executable, "-c", OURS, url, str(folder), str(IN_FLIGHT), str(processes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    assert (found["kept"], found["calls"], found["cached"]) == (count, count, 0)
    return found


def compare(processes: int) -> None:
    ideal = TASKS / IN_FLIGHT * LATENCY
    with tempfile.TemporaryDirectory() as name, run_stub(LATENCY) as url:
        few = run(url, Path(name), FEW, processes)
        rows = [run(url, Path(name), TASKS, processes) for _ in range(3)]
    best = min(rows, key=lambda row: row["wall"])
    print(f"--processes {processes}: {best['wall']:.2f} s = {best['wall'] / ideal:.2f} x ideal ({ideal:.2f} s)")
    walls = ", ".join(f"{row['wall']:.2f}" for row in rows)
    print(f"CPU {best['cpu'] / TASKS * 1000:.2f} ms a task; all walls: {walls}")
    rss = max(row["rss"] for row in rows)
    print(f"peak memory of the largest process: {few['rss']:.0f} MB at {FEW:,} tasks, {rss:.0f} MB at {TASKS:,}")


def main() -> None:
    print(f"{TASKS:,} tasks x {ITEMS} criteria, {LATENCY * 1000:.0f} ms a call, {IN_FLIGHT} in flight; best of 3")
    for processes in (1, 2):
        compare(processes)


if __name__ == "__main__":
    main()
