"""Evidence in a run: in the rows and back, counted in the summary, and shown."""

import json
from pathlib import Path

import pytest

from prorubric import Response, save_responses, save_tasks
from prorubric.cli.app import run as run_program
from prorubric.errors import SourceError
from prorubric.judge.judge import JudgeConfig
from prorubric.rubric.records import Turn
from prorubric.rubric.verdict import Evidence
from prorubric.runs.verdicts import read_verdicts
from prorubric.verbs.judge import JudgeRunConfig, judge_responses
from tests.aggregate.test_schemes import make_task

TURNS = (Turn(role="assistant", content="Let me look."), Turn(role="assistant", content="Go to City Hospital now."))
REPLY = {
    "1": {"reason": "it says where", "quote": "City Hospital", "turn": 2, "satisfied": True},
    "2": {"reason": "it says when", "quote": "within the hour", "turn": 2, "satisfied": True},
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    save_tasks(tmp_path / "tasks.jsonl", [make_task([5, 3], [[1, 2]]).model_copy(update={"id": "one"})])
    save_responses(tmp_path / "responses.jsonl", [Response(task_id="one", messages=TURNS)])
    (tmp_path / "judge.jsonl").write_text(json.dumps({"reply": json.dumps({"satisfied": REPLY})}) + "\n")
    return tmp_path


def make_config(files: Path) -> JudgeRunConfig:
    return JudgeRunConfig(
        str(files / "tasks.jsonl"),
        files / "responses.jsonl",
        judge=f"scripted:{files / 'judge.jsonl'}",
        out=files / "run",
        scheme="additive",
        judging=JudgeConfig(reasons=True, evidence=True, view="full"),
    )


def test_evidence_is_in_the_rows_and_back_and_counted_in_the_summary(files: Path) -> None:
    result = judge_responses(make_config(files))
    [stored] = read_verdicts(files / "run")
    assert stored.verdicts == {"criteria": (True, True)}
    assert stored.evidence == {
        "criteria": {
            "1": Evidence(quote="City Hospital", turn=2, founded=True),
            "2": Evidence(quote="within the hour", turn=2, founded=False),
        }
    }
    assert (result.quotations, result.unfounded, result.unknown_verdicts) == (2, 1, 0)
    assert result.first_unfounded == ("one, sample 0, criteria 2: turn 2 “within the hour”",)
    assert json.loads((files / "run/summary.json").read_text())["unfounded"] == 1


def test_the_program_shows_what_is_unfounded(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = (str(files / "tasks.jsonl"), str(files / "responses.jsonl"), "--out", str(files / "run"))
    judge = ("--judge", f"scripted:{files / 'judge.jsonl'}", "--scheme", "additive", "--view", "full")
    assert run_program(["judge", *paths, *judge, "--reasons", "--evidence"]) == 0
    lines = capsys.readouterr().out.splitlines()
    place = lines.index("2 quotations, 1 not in the answer; see evidence in verdicts.jsonl")
    assert lines[place + 1] == "  one, sample 0, criteria 2: turn 2 “within the hour”"


@pytest.mark.parametrize("evidence", [[], {"criteria": []}, {"criteria": {"1": {"quote": 3, "founded": True}}}, 3])
def test_damaged_evidence_is_named_by_its_line(files: Path, evidence: object) -> None:
    row = {"task_id": "one", "sample": 0, "verdicts": {"criteria": [True]}, "evidence": evidence or [1]}
    (files / "verdicts.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(SourceError, match=r"verdicts\.jsonl:1: not a row of verdicts"):
        list(read_verdicts(files))
