"""`prorubric view` as a program."""

import os
import re
import signal
import socket
from pathlib import Path

import pytest

from tests.cli.program import run_program, start_program
from tests.patience import PATIENCE

NAME = re.escape(socket.gethostname())


def start_and_stop(*options: str, cwd: Path, path: str = ".") -> tuple[int, str]:
    """Exit code and stdout of an app that is stopped as soon as it says where it is."""
    listening, told = os.pipe()
    process = start_program("view", path, "--no-open", "--port", "0", *options, cwd=cwd, out=told)
    os.close(told)
    with os.fdopen(listening, encoding="utf-8") as out:
        first = out.readline()
        process.send_signal(signal.SIGINT)
        return process.wait(PATIENCE), first + out.read()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ((), r"http://127\.0\.0\.1:\d+/  \.; Ctrl-C ends it\n"),
        (("--host", "0.0.0.0"), rf"http://{NAME}:\d+/\?token=[\w-]{{32}}  \.; Ctrl-C ends it\n"),
        (("--json",), r'\{"url":"http://127\.0\.0\.1:\d+/","path":"\.","judge":""\}\n'),
    ],
)
def test_it_says_in_one_line_where_it_is_and_ends_with_0(tmp_path: Path, options: tuple[str, ...], line: str) -> None:
    code, out = start_and_stop(*options, cwd=tmp_path)
    assert code == 0
    assert re.fullmatch(line, out)


@pytest.mark.parametrize(("options", "token"), [((), ""), (("--host", "0.0.0.0"), r"\?token=[\w-]{32}")])
def test_a_file_opens_on_its_review(tmp_path: Path, options: tuple[str, ...], token: str) -> None:
    (tmp_path / "c.jsonl").touch()
    _, out = start_and_stop(*options, cwd=tmp_path, path="c.jsonl")
    assert re.fullmatch(rf"http://[\w.-]+:\d+/{token}#/review  c\.jsonl; Ctrl-C ends it\n", out)


def test_a_folder_that_is_not_there_is_refused_before_anything_is_served(tmp_path: Path) -> None:
    result = run_program("view", "nowhere", "--no-open", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "prorubric: nowhere: no such file or folder; name a folder with runs, or a run folder\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("table.csv",), "table.csv: the name does not end in a known format"),
        (("tasks.jsonl", "--compare", "gone.jsonl"), "--compare gone.jsonl: no such file"),
        (("tasks.jsonl", "--verdicts", "."), "--verdicts .: not the folder of a finished run"),
    ],
)
def test_what_a_review_cannot_read_is_refused_before_anything_is_served(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    for name in ("table.csv", "tasks.jsonl"):
        (tmp_path / name).touch()
    result = run_program("view", *arguments, "--no-open", "--port", "0", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"prorubric: {said}; ")
