"""Runs with several votes: verdicts by majority, and the agreement in the rows, the summary and the terminal."""

import json
from pathlib import Path
from typing import Any

import pytest

from prorubric import Response, save_responses, save_tasks
from prorubric.cli.app import run as run_program
from prorubric.judge.judge import JudgeConfig
from prorubric.runs.verdicts import read_verdicts
from prorubric.verbs.judge import JudgeRunConfig, estimate_judging, judge_responses
from tests.aggregate.test_schemes import make_task
from tests.judge.voters import FAILING, WAVERING


@pytest.fixture
def files(tmp_path: Path) -> Path:
    save_tasks(tmp_path / "tasks.jsonl", [make_task([5, 3, -2, 1], [[1, 3], [2, 4]]).model_copy(update={"id": "one"})])
    save_responses(tmp_path / "responses.jsonl", [Response(task_id="one", text=f"{n}", sample=n) for n in range(3)])
    return tmp_path


def make_config(files: Path, **change: Any) -> JudgeRunConfig:
    settings = {"judge": WAVERING, "out": files / "run", "scheme": "additive", **change}
    return JudgeRunConfig(str(files / "tasks.jsonl"), files / "responses.jsonl", **settings)


def read_row(files: Path) -> dict[str, Any]:
    row: dict[str, Any] = json.loads((files / "run/verdicts.jsonl").read_text().splitlines()[0])
    return row


class TestVotes:
    def test_rows_and_the_summary_have_the_agreement(self, files: Path) -> None:
        config = make_config(files, judging=JudgeConfig(votes=5))
        told = estimate_judging(config)
        result = judge_responses(config)
        # Granted in 4, 3, 2 and 1 of the 5 votes.
        assert read_row(files)["verdicts"] == {"criteria": [True, True, False, False]}
        assert read_row(files)["agreement"] == {"criteria": {"1": 0.8, "2": 0.6, "3": 0.6, "4": 0.8}}
        assert (told.calls, result.calls, result.unknown_verdicts) == (15, 15, 0)
        assert (result.agreement, result.unsure, result.unknown_votes) == (pytest.approx(0.7), 6, 0)
        assert json.loads((files / "run/summary.json").read_text())["unsure"] == 6

    def test_a_tie_is_unknown_and_counted_by_its_kind(self, files: Path) -> None:
        result = judge_responses(make_config(files, judging=JudgeConfig(votes=4)))
        row = read_row(files)["verdicts"]["criteria"]
        tie = {"unknown": "the votes have no majority: 2 x false, 2 x true", "kind": "no majority"}
        assert row == [True, tie, False, False]
        assert result.unknown_reasons == {"the votes have no majority: 2 x false, 2 x true": 3}

    def test_agreement_can_be_a_filter(self, files: Path) -> None:
        judge_responses(make_config(files, judging=JudgeConfig(votes=5, min_agreement=0.7)))
        kinds = [
            getattr(verdict, "kind", verdict) for verdict in next(read_verdicts(files / "run")).verdicts["criteria"]
        ]
        assert kinds == [True, "low agreement", "low agreement", False]

    def test_more_votes_are_another_run_that_pays_only_for_the_new_ones(self, files: Path) -> None:
        journal = files / "shared.sqlite"
        judge_responses(make_config(files, journal=journal, judging=JudgeConfig(votes=3)))
        more = make_config(files, journal=journal, out=files / "more", judging=JudgeConfig(votes=5))
        assert (estimate_judging(more).calls, judge_responses(more).cached) == (6, 9)

    def test_one_vote_says_nothing_of_agreement(self, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run_program(arguments(files, "--judge", WAVERING)) == 0
        assert "agreement" not in capsys.readouterr().out
        assert "agreement" not in read_row(files)

    def test_the_terminal_shows_how_far_votes_agree(self, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run_program(arguments(files, "--judge", WAVERING, "--votes", "5", "--permute")) == 0
        assert "agreement of the votes: " in capsys.readouterr().out

    def test_votes_without_a_reply_are_no_verdict(self, files: Path) -> None:
        result = judge_responses(make_config(files, judge=FAILING, judging=JudgeConfig(votes=3)))
        assert (result.unknown_verdicts, result.unknown_votes, result.agreement) == (12, 36, 0.0)
        assert result.unknown_reasons == {"no reply: no answer in 60 s": 12}


def arguments(files: Path, *more: str) -> list[str]:
    paths = (str(files / "tasks.jsonl"), str(files / "responses.jsonl"))
    return ["judge", *paths, "--out", str(files / "run"), "--scheme", "additive", *more]
