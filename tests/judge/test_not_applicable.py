"""An item may not apply to an answer: only if the judge may say so, and counted apart from unknown verdicts."""

import json
from pathlib import Path

import pytest

from prorubric import Judge, JudgeConfig, ScriptedModel
from prorubric.cli.app import run
from prorubric.judge.texts import TEXTS
from prorubric.llm.model import Request
from prorubric.rubric.verdict import NotApplicable, Unknown
from prorubric.verbs.judge import JudgeRunConfig, estimate_judging, judge_responses
from tests.judge.test_checks import write_inputs
from tests.judge.test_judge import TASK

ALLOWED = JudgeConfig(not_applicable=True, reasks=0)
REPLY = '{"satisfied": {"1": true, "2": "%s", "3": false}}'


@pytest.mark.parametrize("word", ["not applicable", "Not applicable.", "n/a", "N/A", "not_applicable"])
async def test_a_verdict_may_be_not_applicable_if_that_is_allowed(word: str) -> None:
    reply = REPLY % word
    found = await Judge(ScriptedModel([reply]), ALLOWED).judge(TASK, "An answer.", "criteria")
    assert found.verdicts == (True, NotApplicable(), False)
    strict = await Judge(ScriptedModel([reply]), JudgeConfig(reasks=0)).judge(TASK, "An answer.", "criteria")
    assert strict.verdicts == (True, Unknown(f"the verdict is {word!r}"), False)


async def test_the_reason_is_kept_with_the_verdict() -> None:
    reply = '{"satisfied": {"1": {"reason": "no child is named", "satisfied": "n/a"}, "2": true, "3": true}}'
    judge = Judge(ScriptedModel([reply]), JudgeConfig(not_applicable=True, reasons=True))
    assert (await judge.judge(TASK, "An answer.", "criteria")).verdicts[0] == NotApplicable("no child is named")


@pytest.mark.parametrize(
    ("reading", "may"),
    [
        *((name, True) for name in ("criteria", "groups", "dimensions", "dimensions-no-failure")),
        *((name, False) for name in ("one-dimension", "appropriateness", "redundancy", "levels", "mark")),
    ],
)
async def test_prompt_and_schema_allow_it_where_an_item_can_fail_to_apply(reading: str, may: bool) -> None:
    with_leave, without = ScriptedModel(lambda _: ""), ScriptedModel(lambda _: "")
    await Judge(with_leave, ALLOWED).judge(TASK, "An answer.", reading)
    await Judge(without, JudgeConfig(reasks=0)).judge(TASK, "An answer.", reading)
    (asked, *_), (plain, *_) = with_leave.requests, without.requests
    sentence = f" {TEXTS['not_applicable']}" if may else ""
    assert asked.messages[1].content == plain.messages[1].content + sentence
    assert ('"not applicable"' in json.dumps(asked.schema)) is may
    assert '"not applicable"' not in json.dumps(plain.schema)


async def test_a_single_item_may_not_apply_either() -> None:
    model = ScriptedModel(lambda _: '{"reason": "no child", "satisfied": "not applicable"}')
    found = await Judge(model, ALLOWED).judge_singly(TASK, "An answer.", "criteria")
    assert found.verdicts == (NotApplicable(),) * 3


def answer(request: Request) -> str:
    key = next(iter(request.schema["properties"]))  # type: ignore[index]
    return json.dumps({key: {"1": "n/a", "2": True, "3": True}})


NOT_APPLICABLE = ScriptedModel(answer)


def test_a_run_counts_it_apart_from_unknown_verdicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks, responses = write_inputs(tmp_path)
    judge, out = "tests.judge.test_not_applicable:NOT_APPLICABLE", tmp_path / "run"
    config = JudgeRunConfig(
        tasks, responses, judge=judge, out=out, scheme="prorubric", judging=JudgeConfig(not_applicable=True)
    )
    assert estimate_judging(config).calls == 3
    result = judge_responses(config)
    assert (result.verdicts, result.not_applicable_verdicts, result.unknown_verdicts, result.calls) == (9, 2, 0, 3)
    row = json.loads((out / "verdicts.jsonl").read_text().splitlines()[0])
    assert row["verdicts"]["dimensions"] == [{"not_applicable": ""}, True, True]
    again = ["judge", tasks, str(responses), "--judge", judge, "--out", str(out), "--scheme", "prorubric"]
    assert run([*again, "--not-applicable"]) == 0
    assert "3 responses, 0 rows rejected, 9 verdicts, 2 of them not applicable" in capsys.readouterr().out
