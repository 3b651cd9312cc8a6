"""Judging 512 responses × 30 criteria, a stub of 100 ms, 64 in flight: the ideal, ours and two peers, in one run.

Ours is the whole verb: render, call, parse, score, journal, run folder. The peers write nothing. With `--memory` it
also judges 1,000 and 100,000 responses against a stub without latency and compares the peak memory.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from aggregate import make_task
from prorubric import Message, Response, save_responses, save_tasks

ROOT = Path(__file__).parents[1]
PEERS = ROOT / ".venvs/bench"
RESPONSES, CRITERIA, LATENCY, IN_FLIGHT, TASKS = 512, 30, 0.1, 64, 64

OURS = """
import json, resource, sys, time
from pathlib import Path
from prorubric.llm.http import HttpConfig
from prorubric.verbs.judge import JudgeRunConfig, judge_responses
url, folder, concurrency = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
config = JudgeRunConfig(
    str(folder / "tasks.jsonl"), folder / "responses.jsonl", judge=f"{url}#stub", out=folder / f"run-{time.time_ns()}",
    scheme="additive,conjunctive,weighted", http=HttpConfig(concurrency=concurrency),
)
wall, cpu = time.perf_counter(), time.process_time()
result = judge_responses(config)
print(json.dumps({
    "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "n": result.responses,
    "unknown": result.unknown_verdicts, "cached": result.cached,
    "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


@contextmanager
def run_stub(latency: float) -> Iterator[str]:
    port = 20_000 + os.getpid() % 10_000
    command = [sys.executable, str(ROOT / "bench/judge_stub.py"), str(port), str(latency), str(CRITERIA)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as stub:
        assert stub.stdout is not None
        stub.stdout.readline()
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            stub.terminate()


def make_files(folder: Path, responses: int) -> None:
    rng = np.random.default_rng(0)
    question = (Message(role="user", content="I would like to know what to do about this, and why. " * 12),)
    tasks = [make_task(0, rng).model_copy(update={"id": str(i), "messages": question}) for i in range(TASKS)]
    save_tasks(folder / "tasks.jsonl", tasks)
    # Every answer is another one, so that no reply can come from the journal.
    save_responses(
        folder / "responses.jsonl",
        (
            Response(task_id=str(i * TASKS // responses), sample=i, text=f"{i}: " + "This is what I would do. " * 70)
            for i in range(responses)
        ),
    )


def run(command: list[str]) -> dict[str, float]:
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run_ours(url: str, folder: Path) -> dict[str, float]:
    found = run([sys.executable, "-c", OURS, url, str(folder), str(IN_FLIGHT)])
    assert found["unknown"] == 0
    assert found["cached"] == 0
    return found


def set_up_peers() -> Path:
    python = PEERS / "bin/python"
    uv = str(ROOT / ".tools/bin/uv")
    if not python.exists():
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(PEERS)], check=True)
        subprocess.run(
            [uv, "pip", "install", "--quiet", "--python", str(python), "openai", "rubric==2.2.0"], check=True
        )
    return python


def compare_speed() -> None:
    python = set_up_peers()
    ideal = RESPONSES / IN_FLIGHT * LATENCY
    with tempfile.TemporaryDirectory() as name, run_stub(LATENCY) as url:
        folder = Path(name)
        make_files(folder, RESPONSES)
        rows = {
            "ours (judge, score, store)": min((run_ours(url, folder) for _ in range(3)), key=lambda row: row["wall"])
        }
        for kind in ("openai", "rubric"):
            command = [str(python), str(ROOT / "bench/judge_peers.py"), kind, url, str(folder), str(IN_FLIGHT)]
            rows[f"{kind} (call, parse, score)"] = min((run(command) for _ in range(3)), key=lambda row: row["wall"])
    print(
        f"{RESPONSES} responses x {CRITERIA} criteria, {LATENCY * 1000:.0f} ms a call, {IN_FLIGHT} in flight; best of 3"
    )
    print(f"{'':28} {'wall, s':>8} {'x ideal':>8} {'CPU, ms a response':>19}")
    print(f"{'ideal':28} {ideal:8.2f} {1:8.2f}")
    for name, row in rows.items():
        print(f"{name:28} {row['wall']:8.2f} {row['wall'] / ideal:8.2f} {row['cpu'] / RESPONSES * 1000:19.2f}")


def compare_memory() -> None:
    with tempfile.TemporaryDirectory() as name, run_stub(0.0) as url:
        peaks = {}
        for count in (1_000, 100_000):
            folder = Path(name) / str(count)
            folder.mkdir()
            make_files(folder, count)
            found = run_ours(url, folder)
            peaks[count] = found["rss"]
            rate = count / found["wall"]
            print(f"{count:7,} responses: peak {found['rss']:.0f} MB, {rate:.0f} responses/s, no latency")
        print(f"ratio of the peaks: {peaks[100_000] / peaks[1_000]:.2f}")


if __name__ == "__main__":
    compare_speed()
    if "--memory" in sys.argv[1:]:
        compare_memory()
    print(f"(this process used {resource.getrusage(resource.RUSAGE_SELF).ru_utime:.1f} s of CPU itself)")
