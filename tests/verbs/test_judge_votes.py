"""Runs with several votes: verdicts by majority, and the agreement in the rows, the summary and the terminal."""

import json
from pathlib import Path
from typing import Any

import pytest

from prorubric import Response, save_responses, save_tasks
from prorubric.cli.app import run as run_program
from prorubric.errors import ConfigError
from prorubric.judge.judge import JudgeConfig
from prorubric.runs.verdicts import read_judge, read_verdicts
from prorubric.verbs.judge import JudgeRunConfig, estimate_judging, judge_responses
from tests.aggregate.test_schemes import make_task
from tests.judge.voters import DEAD, FAILING, LENIENT, ODD, STRICT, WAVERING


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

    def test_nobody_is_told_to_ask_again_because_of_a_tie(
        self, files: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        told = [
            "judge",
            str(files / "tasks.jsonl"),
            str(files / "responses.jsonl"),
            "--judge",
            WAVERING,
            "--votes",
            "4",
        ]
        assert run_program([*told, "--scheme", "additive", "--out", str(files / "run")]) == 1
        printed = capsys.readouterr().out
        assert ("3 x the votes have no majority" in printed, "--reasks" in printed) == (True, False)

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


class TestPanel:
    def test_every_judge_is_asked_and_counted_for_itself(self, files: Path) -> None:
        config = make_config(files, judge=[LENIENT, STRICT, ODD], prices="1000000,0")
        told = estimate_judging(config)
        result = judge_responses(config)
        row = read_row(files)
        assert row["verdicts"] == {"criteria": [True, False, True, False]}
        assert row["judges"][ODD] == {"criteria": [True, False, True, False]}
        assert set(row["agreement"]["criteria"].values()) == {0.6667}
        assert (told.calls, result.calls, result.cost) == (9, 9, pytest.approx(90.0))
        assert [(name, one.calls, one.cost, one.agreed) for name, one in result.judges.items()] == [
            (LENIENT, 3, 30.0, 0.5),
            (STRICT, 3, 30.0, 0.5),
            (ODD, 3, 30.0, 1.0),
        ]
        assert read_judge(files / "run") == result.judge == f"{LENIENT}, {STRICT}, {ODD}"

    @pytest.mark.parametrize("failing", [FAILING, DEAD])
    def test_a_judge_that_fails_leaves_the_others_verdicts(self, files: Path, failing: str) -> None:
        result = judge_responses(make_config(files, judge=f"{ODD},{failing}"))
        assert read_row(files)["verdicts"] == {"criteria": [True, False, True, False]}
        assert (result.unknown_verdicts, result.unknown_votes, result.judges[failing].unknown) == (0, 12, 12)
        assert list(result.judges[failing].unknown_reasons.values()) == [12]

    def test_the_run_belongs_to_all_of_its_judges_in_any_order(self, files: Path) -> None:
        judge_responses(make_config(files, judge=[LENIENT, STRICT]))
        again = judge_responses(make_config(files, judge=[STRICT, LENIENT]))
        assert again.cached == again.calls == 6
        for other in (LENIENT, [LENIENT, STRICT, ODD], [LENIENT, ODD]):
            with pytest.raises(ConfigError, match="another judge"):
                judge_responses(make_config(files, judge=other))

    def test_a_judge_that_compares_words_decides_what_the_panel_can_read(self, files: Path) -> None:
        result = judge_responses(make_config(files, judge=["lexical", ODD], scheme="auto"))
        assert [*result.schemes] == ["additive", "conjunctive"]

    def test_the_program_takes_the_option_several_times(self, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
        judges = ("--judge", LENIENT, "--judge", FAILING, "--judge", ODD)
        assert run_program(arguments(files, *judges, "--dry-run", "--json")) == 0
        assert json.loads(capsys.readouterr().out)["calls"] == 9
        assert run_program(arguments(files, *judges, "--prices", "1,1")) == 1
        shown = capsys.readouterr().out
        assert f"judge: {LENIENT}, {FAILING}, {ODD}" in shown
        assert "agreement of the votes: 50.0% on average; 12 items below 80%, 12 votes unknown" in shown
        assert f"{FAILING} left 12 votes open: 12 x no reply: no answer in 60 s" in shown

    def test_a_stop_writes_no_response_that_a_judge_has_not_seen(self, files: Path) -> None:
        result = judge_responses(make_config(files, judge=[LENIENT, STRICT, ODD], max_calls=4))
        assert (result.stopped, result.responses, result.unknown_votes) == ("--max-calls 4 is reached", 1, 0)
        rest = judge_responses(make_config(files, judge=[LENIENT, STRICT, ODD]))
        assert (rest.responses, rest.calls - rest.cached) == (3, 5)


@pytest.mark.xdist_group("ray")
def test_a_panel_on_ray_gives_the_same_files_and_counts(files: Path) -> None:
    panel = {"judge": [LENIENT, STRICT, ODD], "prices": "1,1"}
    here = judge_responses(make_config(files, **panel))
    there = judge_responses(make_config(files, **panel, out=files / "ray", engine="ray"))
    assert (files / "ray/verdicts.jsonl").read_bytes() == (files / "run/verdicts.jsonl").read_bytes()
    assert there.judges == here.judges


def arguments(files: Path, *more: str) -> list[str]:
    paths = (str(files / "tasks.jsonl"), str(files / "responses.jsonl"))
    return ["judge", *paths, "--out", str(files / "run"), "--scheme", "additive", *more]
