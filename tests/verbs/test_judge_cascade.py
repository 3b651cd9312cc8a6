"""A live cascade: only what the first judge is not sure of goes on to the second, exactly as a replay foretells."""

import json
from pathlib import Path
from typing import Any

import pytest

from prorubric import Response, save_responses, save_tasks
from prorubric.cli.app import run as run_program
from prorubric.errors import ConfigError, ModelError
from prorubric.judge.cascade import measure_sureness
from prorubric.judge.judge import JudgeConfig
from prorubric.rubric.verdict import Unknown
from prorubric.runs.verdicts import read_verdicts
from prorubric.verbs.cascade import replay_cascade
from prorubric.verbs.judge import JudgeRunConfig, estimate_judging, judge_responses
from tests.aggregate.test_schemes import make_task
from tests.judge.voters import DEAD, FAILING, LENIENT, ODD, WAVERING

TEXTS = ("criterion 0", "nothing of it", "the criterion 1 with 0", "中文的回答")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    save_tasks(tmp_path / "tasks.jsonl", [make_task([5, 3, -2, 1], [[1, 3], [2, 4]]).model_copy(update={"id": "one"})])
    answers = [Response(task_id="one", text=text, sample=sample) for sample, text in enumerate(TEXTS)]
    save_responses(tmp_path / "responses.jsonl", answers)
    return tmp_path


def make_config(files: Path, out: str, **change: Any) -> JudgeRunConfig:
    settings = {"scheme": "additive,conjunctive", "out": files / out, **change}
    return JudgeRunConfig(str(files / "tasks.jsonl"), files / "responses.jsonl", **settings)


def read_rows(files: Path, out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (files / out / "verdicts.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("cheap", "votes", "dear"),
    [(WAVERING, 5, ODD), (WAVERING, 4, "lexical"), ("lexical", 1, ODD)],
    ids=["votes", "votes that may tie", "probabilities"],
)
def test_a_live_cascade_is_the_replay_of_two_full_runs(files: Path, cheap: str, votes: int, dear: str) -> None:
    judge_responses(make_config(files, "cheap", judge=cheap, judging=JudgeConfig(votes=votes)))
    judge_responses(make_config(files, "dear", judge=dear))
    stored = [list(read_verdicts(files / name)) for name in ("cheap", "dear")]
    steps = replay_cascade(files / "cheap", files / "dear").steps
    assert len(steps) > 1
    for step in steps[1:]:
        out = f"live {step.threshold}"
        judging = JudgeConfig(votes=votes, cascade=step.threshold)
        result = judge_responses(make_config(files, out, judge=[cheap, dear], judging=judging))
        assert result.sent_on == step.sent
        for live, row, first, second in zip(read_verdicts(files / out), read_rows(files, out), *stored, strict=True):
            said, other = first.verdicts["criteria"], second.verdicts["criteria"]
            sent = row.get("sent_on", {}).get("criteria", [])
            probabilities, agreement = first.probabilities.get("criteria"), first.agreement.get("criteria", {})
            sureness = [
                measure_sureness(verdict, (probabilities or [None] * 4)[place], agreement.get(str(place + 1)))
                for place, verdict in enumerate(said)
            ]
            assert sent == [place for place, sure in enumerate(sureness, 1) if sure < step.threshold]
            expected = [other[place] if place + 1 in sent else said[place] for place in range(4)]
            assert list(live.verdicts["criteria"]) == expected


def test_rows_say_who_decided_and_the_summary_counts_it(files: Path) -> None:
    # Granted in 4, 3, 2 and 1 of the 5 votes: items 2 and 3 have an agreement of 0.6.
    config = make_config(
        files, "run", judge=[WAVERING, ODD], prices="1000000,0", judging=JudgeConfig(votes=5, cascade=0.8)
    )
    result = judge_responses(config)
    row = read_rows(files, "run")[0]
    assert row["verdicts"] == {"criteria": [True, False, True, False]}
    assert row["sent_on"] == {"criteria": [2, 3]}
    assert row["judges"] == {WAVERING: {"criteria": [True, True, False, False]}, ODD: {"criteria": [False, True]}}
    assert row["agreement"] == {"criteria": {"1": 0.8, "2": 0.6, "3": 0.6, "4": 0.8}}
    assert (result.sent_on, result.verdicts, result.unknown_verdicts) == (8, 16, 0)
    # Five votes of the first judge on each of four responses, and one call of the second.
    shares = [(one.verdicts, one.calls, one.cost, one.agreed) for one in result.judges.values()]
    assert shares == [(16, 20, 200.0, 0.5), (8, 4, 40.0, 1.0)]


def test_a_cascade_goes_on_from_the_run_of_its_first_judge(files: Path) -> None:
    journal = files / "shared.sqlite"
    judge_responses(make_config(files, "cheap", journal=journal, judge=WAVERING, judging=JudgeConfig(votes=5)))
    both = make_config(files, "both", journal=journal, judge=[WAVERING, ODD], judging=JudgeConfig(votes=5, cascade=0.8))
    told = estimate_judging(both)
    assert told.all_sent_on is not None
    # The journal says what is sent on, so the low and the high case are the same.
    assert (told.calls, told.all_sent_on.calls) == (4, 4)
    result = judge_responses(both)
    assert (result.calls - result.cached, result.cached) == (4, 20)


@pytest.mark.parametrize(("cheap", "votes"), [(WAVERING, 5), ("lexical", 1)])
def test_the_estimate_has_the_low_and_the_high_case(files: Path, cheap: str, votes: int) -> None:
    judging = JudgeConfig(votes=votes, cascade=0.8)
    told = estimate_judging(make_config(files, "run", judge=[cheap, ODD], judging=judging, prices="1,1"))
    assert told.all_sent_on is not None
    low = 4 * votes
    assert (told.calls, told.all_sent_on.calls) == (low, low + 4)
    text = 4 + (low if cheap == WAVERING else 0)
    assert told.most_calls == 3 * text + (0 if cheap == WAVERING else low)
    assert told.prompt_tokens < told.all_sent_on.prompt_tokens


def test_what_the_second_judge_leaves_open_is_unknown(files: Path) -> None:
    judging = JudgeConfig(votes=5, cascade=0.8)
    result = judge_responses(make_config(files, "run", judge=[WAVERING, FAILING], judging=judging))
    verdicts = next(read_verdicts(files / "run")).verdicts["criteria"]
    assert verdicts == (True, Unknown("no reply: no answer in 60 s"), Unknown("no reply: no answer in 60 s"), False)
    assert result.unknown_reasons == {"no reply: no answer in 60 s": 8}


def test_a_second_judge_that_cannot_be_used_ends_the_run(files: Path) -> None:
    with pytest.raises(ModelError, match="a wrong key"):
        judge_responses(make_config(files, "run", judge=[WAVERING, DEAD], judging=JudgeConfig(votes=5, cascade=0.8)))


def test_the_order_of_the_judges_is_part_of_the_run(files: Path) -> None:
    judging = JudgeConfig(votes=3, cascade=0.8)
    judge_responses(make_config(files, "run", judge=[LENIENT, ODD], judging=judging))
    with pytest.raises(ConfigError, match="with another judge"):
        judge_responses(make_config(files, "run", judge=[ODD, LENIENT], judging=judging))
    with pytest.raises(ConfigError, match="with another cascade"):
        judge_responses(make_config(files, "run", judge=[LENIENT, ODD], judging=JudgeConfig(votes=3, cascade=0.9)))


def test_a_stop_writes_no_response_whose_items_were_not_all_asked(files: Path) -> None:
    cascade: dict[str, Any] = {"judge": ["lexical", ODD], "judging": JudgeConfig(cascade=1.0)}
    result = judge_responses(make_config(files, "run", max_calls=3, **cascade))
    assert result.stopped == "--max-calls 3 is reached"
    rest = judge_responses(make_config(files, "run", **cascade))
    judge_responses(make_config(files, "whole", **cascade))
    assert (rest.responses, read_rows(files, "run")) == (4, read_rows(files, "whole"))


@pytest.mark.parametrize(
    ("judge", "judging", "line"),
    [
        (LENIENT, {"votes": 3}, "a cascade has two judges, and 1 is named; name the cheap one, then the expensive one"),
        ([LENIENT, ODD, "lexical"], {"votes": 3}, "a cascade has two judges, and 3 are named"),
        ([LENIENT, ODD], {}, f"how sure {LENIENT} is of its verdicts, and it gives no probabilities; set votes to 3"),
    ],
)
def test_a_cascade_that_cannot_work_is_refused(files: Path, judge: Any, judging: Any, line: str) -> None:
    with pytest.raises(ConfigError, match=line):
        judge_responses(make_config(files, "run", judge=judge, judging=JudgeConfig(cascade=0.8, **judging)))
    assert not (files / "run").exists()


def test_the_program_shows_what_was_sent_on(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = (str(files / "tasks.jsonl"), str(files / "responses.jsonl"))
    cascade = ("--judge", WAVERING, "--judge", ODD, "--votes", "5", "--cascade", "0.8", "--scheme", "additive")
    assert run_program(["judge", *paths, *cascade, "--out", str(files / "run"), "--dry-run"]) == 0
    shown = [line.split()[:4] for line in capsys.readouterr().out.splitlines()]
    assert ["nothing", "sent", "on", "20"] in shown
    assert ["everything", "sent", "on", "24"] in shown
    assert run_program(["judge", *paths, *cascade, "--out", str(files / "run"), "--rows", "0"]) == 0
    assert f"sent on to {ODD}: 8 items (50.0%)" in capsys.readouterr().out
