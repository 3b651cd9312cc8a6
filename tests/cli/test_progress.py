"""Progress: plain lines in a pipe, a bar on a terminal, nothing of it on stdout."""

from pathlib import Path

import pytest

from prorubric import Response, save_responses
from prorubric.cli import progress
from prorubric.datasets.samples import SAMPLE_RESPONSES, SAMPLE_TASKS
from prorubric.runs.run import Progress
from tests.cli.program import run_in_terminal


def test_a_pipe_gets_a_plain_line_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    save_responses(tmp_path / "r.jsonl", [Response(task_id="t", text="x", sample=i) for i in range(8)])
    with progress.show_progress("judging", "response", tmp_path / "r.jsonl") as tell:
        tell(Progress(2))
        tell(Progress(4, note="3 verdicts unknown, 2 calls failed"))
    shown = capsys.readouterr()
    assert shown.out == ""
    line = shown.err.splitlines()[1]
    assert line.startswith("judging: 4 of 8 responses, ")
    assert "3 verdicts unknown, 2 calls failed, " in line


def test_what_is_left_goes_by_what_was_done_since_a_part_began(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with progress.show_progress("study", "step") as tell:
        for done in (200, 240, 3, 43):  # a resumed run, then another
            now += 40.0
            tell(Progress(done, 300))
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" left")[0].rpartition(", ")[2] for line in lines[1::2]] == ["60 s", "257 s"]
    assert [line for line in lines[::2] if " left" in line] == []


def test_a_pipe_is_not_flooded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_responses(tmp_path / "r.jsonl", [])
    with progress.show_progress("judging", "response", tmp_path / "r.jsonl") as tell:
        for number in range(100):
            tell(Progress(number))
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar_with_rate_failures_and_time_left(tmp_path: Path) -> None:
    arguments = ["judge", str(SAMPLE_TASKS), str(SAMPLE_RESPONSES), "--judge", "lexical", "--scheme", "additive"]
    shown = run_in_terminal(*arguments, "--out", str(tmp_path / "run"), cwd=tmp_path, columns=120)
    assert "judging" in shown
    assert "/s 0 verdicts unknown, 0 calls failed" in shown
