"""A stream needs no more memory for many rows than for few: the peak of a process of its own, for each kind of file."""

import base64
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from prorubric import Criterion, Message, Rubric, Task, save_tasks

FEW, MANY = 2_000, 20_000
ALLOWED_GROWTH = 16_000_000
"""Bytes. The larger file holds 18,000 tasks more, whose prompts alone are 27 MB."""


READ_ALL = """
import resource, sys
from pathlib import Path
from prorubric import load_tasks

print(sum(1 for _ in load_tasks(sys.argv[1], "tasks", strict=True)))
status = Path("/proc/self/status")
if status.exists():
    # Of this program alone; the other figure starts from what the parent process had.
    print(next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM")))
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""


def make_task(number: int) -> Task:
    # Noise, so that no encoding and no compression makes the larger file small.
    text = base64.b64encode(random.Random(number).randbytes(1125)).decode()
    criteria = tuple(Criterion(text=f"Says {number + i}", weight=i + 1.0) for i in range(3))
    return Task(id=f"t{number}", messages=(Message(role="user", content=text),), rubric=Rubric(criteria=criteria))


def measure(path: Path) -> tuple[int, int]:
    """How many tasks a fresh process reads from a file, and how much memory it takes at most."""
    # An allocator that gives memory back at once: what others keep for later would count as used.
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    command = [sys.executable, "-c", READ_ALL, str(path)]
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    count, peak = map(int, run.stdout.split())
    return count, peak


@pytest.mark.extended
@pytest.mark.skipif(sys.platform == "win32", reason="the peak memory of a process is read as on Unix")
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.zst", ".parquet"])
def test_ten_times_the_rows_take_the_same_memory(tmp_path: Path, suffix: str) -> None:
    for count in (FEW, MANY):
        save_tasks(tmp_path / f"{count}{suffix}", (make_task(number) for number in range(count)))
    (few, peak_few), (many, peak_many) = (measure(tmp_path / f"{count}{suffix}") for count in (FEW, MANY))
    assert (few, many) == (FEW, MANY)
    assert peak_many - peak_few < ALLOWED_GROWTH
