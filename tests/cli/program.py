"""The real program in a process of its own: with its output in files, and in a terminal of a given width."""

import json
import os
import pty
import subprocess
import sys
import tempfile
import termios
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.cli.forking import ForkedProgram

PROGRAM = [sys.executable, "-m", "prorubric"]

# What decides on colour and width, and would let the machine of the tester decide.
_TERMINAL = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TERM", "COLORTERM", "TTY_COMPATIBLE", "PYTHONIOENCODING")


def make_environment(**extra: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _TERMINAL}
    return {**kept, "HF_HUB_OFFLINE": "1", "TERM": "xterm-256color", **extra}


def start_program(
    *arguments: str, cwd: Path, out: int | None = None, err: int | None = None, **environment: str
) -> ForkedProgram:
    """Start `prorubric` with these file descriptors; what has none is not heard."""
    return _start("prorubric", arguments, cwd, (out, err), environment)


def start_python(*arguments: str, out: int | None = None) -> ForkedProgram:
    """Start `python -m MODULE …` or `python -c CODE …` in the project's folder, with the package loaded already.

    Its end is not that of an interpreter: what is checked there, such as threads that are left, needs a real one.
    """
    return _start("python", arguments, Path(__file__).parents[2], (out, None), {})


def _start(
    program: str, arguments: Sequence[str], cwd: Path, said: Sequence[int | None], environment: dict[str, str]
) -> ForkedProgram:
    with Path(os.devnull).open("r+") as nothing:
        files = [nothing.fileno() if file is None else file for file in (None, *said)]
        return ForkedProgram([*arguments], cwd, make_environment(**environment), files, program)


def run_program(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `prorubric` with its output in files."""
    return _run("prorubric", arguments, cwd, environment)


def run_python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `python -m MODULE …` or `python -c CODE …`, with its output in files; see `start_python`."""
    return _run("python", arguments, cwd, {})


def _run(
    program: str, arguments: Sequence[str], cwd: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = _start(program, arguments, cwd, (out.fileno(), err.fileno()), environment).wait()
        said = [file.seek(0) or file.read().decode("utf-8") for file in (out, err)]
    return subprocess.CompletedProcess([program, *arguments], code, *said)


def run_in_terminal(*arguments: str, cwd: Path, columns: int = 80, **environment: str) -> str:
    """Run `prorubric` in a terminal and give what it shows there, escape codes and all."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, columns))
    with ForkedProgram(list(arguments), cwd, make_environment(**environment), [theirs] * 3):
        os.close(theirs)
        shown = b""
        # Linux ends a terminal whose program has gone with an error, others with an empty read.
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:
            pass
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def write_tasks(path: Path, *tasks: tuple[str, Sequence[tuple[str, float]]]) -> Path:
    """A file in our own form; each task is its id and its criteria."""
    rows: list[dict[str, Any]] = [
        {
            "id": name,
            "messages": [{"role": "user", "content": "?"}],
            "rubric": [{"criterion": text, "weight": weight} for text, weight in criteria],
        }
        for name, criteria in tasks
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
