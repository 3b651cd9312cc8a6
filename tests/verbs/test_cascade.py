"""A cascade of two judges, replayed from two runs: what each threshold sends on, and what that is worth."""

import json
from pathlib import Path
from typing import Any

import pytest

from prorubric.cli.app import run as run_program
from prorubric.errors import SourceError
from prorubric.verbs.cascade import CascadeStep, replay_cascade

LOST = {"unknown": "the reply is empty"}


def write_run(folder: Path, rows: list[dict[str, Any]], judge: str = "cheap") -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"config": {"judge": judge}}))
    (folder / "verdicts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def make_row(sample: int, verdicts: list[Any], **more: Any) -> dict[str, Any]:
    more = {name: {"criteria": value} for name, value in more.items()}
    return {"task_id": "one", "sample": sample, "verdicts": {"criteria": verdicts}, **more}


@pytest.fixture
def dear(tmp_path: Path) -> Path:
    rows = [make_row(0, [True, True, False, False]), make_row(1, [True, LOST]), make_row(2, [True])]
    return write_run(tmp_path / "dear", rows, "dear")


def test_probabilities_say_which_items_are_sent_on(tmp_path: Path, dear: Path) -> None:
    rows = [
        make_row(0, [True, False, True, False], probabilities=[0.97, 0.28, 0.62, 0.02]),
        make_row(1, [LOST, True], probabilities=[0.5, 0.9]),
    ]
    found = replay_cascade(write_run(tmp_path / "cheap", rows), dear)
    assert (found.first, found.second, found.responses, found.only_in_one) == ("cheap", "dear", 2, 1)
    assert (found.items, found.unknown) == (6, 1)
    # The second judge knows five. Alone, the first says the same of two, and what it left unknown is sent on.
    assert found.steps == (
        CascadeStep(threshold=0.0, sent=1, share_sent=1 / 6, agreement=3 / 5),
        CascadeStep(threshold=0.65, sent=2, share_sent=2 / 6, agreement=4 / 5),
        CascadeStep(threshold=0.75, sent=3, share_sent=3 / 6, agreement=1.0),
        CascadeStep(threshold=0.95, sent=4, share_sent=4 / 6, agreement=1.0),
        CascadeStep(threshold=0.99, sent=6, share_sent=1.0, agreement=1.0),
    )


def test_votes_that_disagree_are_sent_on(tmp_path: Path, dear: Path) -> None:
    agreement = {"1": 1.0, "2": 0.6667, "3": 1.0, "4": 0.6667}
    rows = [make_row(0, [True, False, True, False], agreement=agreement)]
    found = replay_cascade(write_run(tmp_path / "cheap", rows), dear)
    assert [(step.threshold, step.sent, step.agreement) for step in found.steps] == [(0.0, 0, 0.5), (0.7, 2, 0.75)]


def test_the_program_prints_a_row_for_each_threshold(
    tmp_path: Path, dear: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cheap = write_run(tmp_path / "cheap", [make_row(0, [True] * 4, probabilities=[0.9, 0.9, 0.6, 0.6])])
    assert run_program(["score", str(cheap), "--cascade", str(dear)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "first judge: cheap",
        "second judge: dear",
        "4 items of 1 response; 2 responses in one run only",
        "sent on if less sure than  items sent   share  agreement with the second",
        "0                                   0    0.0%                      0.500",
        "0.65                                2   50.0%                      1.000",
        "0.95                                4  100.0%                      1.000",
    ]


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (make_row(0, [True] * 4), "has a probability, or the agreement of several votes.*with --votes 3"),
        (make_row(9, [True], probabilities=[0.9]), "judge the same responses in both"),
        (
            make_row(0, [True], probabilities=[0.9]),
            "task 'one' has 1 and 4 items in the two runs; judge the same tasks",
        ),
    ],
)
def test_runs_that_do_not_fit_are_refused(tmp_path: Path, dear: Path, row: dict[str, Any], line: str) -> None:
    with pytest.raises(SourceError, match=line):
        replay_cascade(write_run(tmp_path / "cheap", [row]), dear)
