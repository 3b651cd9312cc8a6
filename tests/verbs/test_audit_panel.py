"""Audits by several votes and several judges: joined as in any run, and counted in the summary and the terminal."""

import json
from pathlib import Path
from typing import Any

import pytest

from prorubric.audit.config import AuditConfig
from prorubric.cli.app import run as run_program
from prorubric.errors import ConfigError
from prorubric.judge.judge import JudgeConfig
from prorubric.verbs.audit import estimate_audit, run_audit
from tests.audit.shapes import save_shape
from tests.judge.voters import DEAD, LENIENT, ODD, STRICT, WAVERING

KEYWORD = "tests.audit.judges:Keyword"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    save_shape(tmp_path, "presence")
    return tmp_path


def make_config(files: Path, **change: Any) -> AuditConfig:
    settings = {"out": files / "run", "scheme": "additive", "edits": ("paraphrase",), "limit": 2, "resamples": 100}
    return AuditConfig(str(files / "tasks.jsonl"), files / "responses.jsonl", **settings | change)


def test_what_most_judges_of_a_panel_say_is_audited(files: Path) -> None:
    alone = run_audit(make_config(files, judge=KEYWORD, out=files / "alone"))
    # One grants everything and one nothing, so the third decides.
    panel = make_config(files, judge=[LENIENT, STRICT, KEYWORD], prices="1,1")
    told, result = estimate_audit(panel), run_audit(panel)
    assert result.effects == alone.effects
    assert (result.judge, result.verdicts) == (f"{LENIENT}, {STRICT}, {KEYWORD}", alone.verdicts)
    assert result.agreement == pytest.approx(2 / 3)
    assert [(name, one.unknown) for name, one in result.judges.items()] == [(LENIENT, 0), (STRICT, 0), (KEYWORD, 0)]
    assert result.judges[KEYWORD].agreed == 1.0
    assert told.calls == pytest.approx(result.calls - result.cached, rel=0.1)
    assert len(json.loads((files / "run/config.json").read_text())["judge_identity"]) == 3


def test_votes_count_and_their_agreement_is_in_the_summary(files: Path) -> None:
    result = run_audit(make_config(files, judge=WAVERING, judging=JudgeConfig(votes=3)))
    # Items 1 and 2 are granted in 2 and 1 of the votes, and the other seven in none.
    shown = json.loads((files / "run/cases.jsonl").read_text().splitlines()[0])["verdicts"]["answer"]["criteria"]
    assert shown == [True, *[False] * 8]
    assert result.agreement is not None
    assert result.unsure > 0
    assert (result.judges, result.sent_on) == ({}, None)


def test_a_cascade_audits_too(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = make_config(files, judge=[WAVERING, ODD], judging=JudgeConfig(votes=3, cascade=0.8))
    assert estimate_audit(config).leaves_out_sent
    result = run_audit(config)
    shown = json.loads((files / "run/cases.jsonl").read_text().splitlines()[0])["verdicts"]["answer"]["criteria"]
    # The votes differ on items 1 and 2, which go on to the second judge.
    assert shown == [True, *[False] * 8]
    assert result.sent_on is not None
    assert result.judges[ODD].verdicts == result.sent_on > 0
    paths = (str(files / "tasks.jsonl"), str(files / "responses.jsonl"), "--out", str(files / "run"))
    cascade = ("--judge", WAVERING, "--judge", ODD, "--votes", "3", "--cascade", "0.8", "--resamples", "100")
    more = ("--scheme", "additive", "--edits", "paraphrase", "--limit", "2")
    run_program(["audit", *paths, *cascade, *more])
    assert f"sent on to {ODD}: {result.sent_on} items" in capsys.readouterr().out


def test_a_judge_that_cannot_be_used_is_shown_and_the_others_decide(files: Path) -> None:
    result = run_audit(make_config(files, judge=[KEYWORD, DEAD]))
    assert (result.unknown_verdicts, result.judges[DEAD].unknown) == (0, result.verdicts)
    assert [*result.judges[DEAD].unknown_reasons] == ["no reply: voter/Dead: HTTP 401: a wrong key"]


def test_a_cascade_of_one_judge_is_refused_before_there_is_a_folder(files: Path) -> None:
    with pytest.raises(ConfigError, match="a cascade has two judges, and 1 is named"):
        run_audit(make_config(files, judge=KEYWORD, judging=JudgeConfig(cascade=0.8)))
    assert not (files / "run").exists()


def test_a_panel_with_a_judge_of_words_reads_only_what_that_one_can(files: Path) -> None:
    result = run_audit(make_config(files, judge=["lexical", KEYWORD], scheme="auto"))
    assert result.schemes == ("additive", "conjunctive")
    assert result.fixed_left_out == "lexical compares words, and these criteria are not about words"
