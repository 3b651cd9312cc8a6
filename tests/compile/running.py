"""The verb in a process of its own, which can be signalled and killed."""

import os
import subprocess
import sys
from pathlib import Path

from prorubric.llm.journal import Journal
from tests.cli.forking import ForkedProgram
from tests.cli.program import start_program
from tests.llm import asking
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
AT_ONCE = 8


def start(folder: Path, spec: str, *options: str, out: str = "out.jsonl", at_once: int = AT_ONCE) -> ForkedProgram:
    reading, said = os.pipe()
    process = start_program(*_list_arguments(spec, out, at_once), *options, cwd=folder, err=said)
    os.close(said)
    process.stderr = os.fdopen(reading, "rb")
    return process


def start_with_ray(folder: Path, spec: str, *options: str, **environment: str) -> subprocess.Popen[bytes]:
    arguments = _list_arguments(spec, "out.jsonl", AT_ONCE)
    return subprocess.Popen(
        [sys.executable, "-m", "prorubric", *arguments, "--engine", "ray", "--workers", "2", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def _list_arguments(spec: str, out: str, at_once: int) -> list[str]:
    return ["compile", "tasks.jsonl", "--generator", spec, "--out", out, "--concurrency", str(at_once)]


def finish(process: subprocess.Popen[bytes] | ForkedProgram, seconds: float = PATIENCE) -> tuple[int | None, str]:
    _, said = process.communicate(timeout=seconds)
    return process.returncode, said.decode()


def count_replies(folder: Path) -> int:
    path = folder / "out.journal.sqlite"
    if not path.exists():
        return 0
    with Journal(path) as journal:
        return asking.count_replies(journal)


def is_running(process: int) -> bool:
    """False for what has ended, also where nobody has asked how."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
