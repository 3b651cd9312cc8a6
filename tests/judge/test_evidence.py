"""What a judge quotes is checked: it occurs in the answer, in the turn that the judge names, or it is unfounded."""

import json
from pathlib import Path
from typing import Any

import pytest

from prorubric import RewardConfig
from prorubric.errors import ConfigError
from prorubric.judge.answer import show_answer
from prorubric.judge.evidence import check_evidence
from prorubric.judge.judge import Judge, JudgeConfig
from prorubric.llm.scripted import ScriptedModel
from prorubric.reward.reward import RubricReward
from prorubric.rubric.records import Turn
from prorubric.rubric.verdict import Evidence, Unknown
from tests.aggregate.test_schemes import make_task

TASK = make_task([5, 3, -2], [[1, 3], [2]])
ANSWER = "Stop the ibuprofen today.\nIt thins the blood — see a doctor “soon”, and don't start it again."
TURNS = (
    Turn(role="assistant", content="Let me look."),
    Turn(role="tool", content="City Hospital, open", tool_call_id="1"),
    Turn(role="assistant", content="Go to City Hospital now."),
)
ASKED = JudgeConfig(reasons=True, evidence=True)


@pytest.mark.parametrize(
    ("quote", "founded"),
    [
        ("Stop the ibuprofen today.", True),
        ("stop the   IBUPROFEN today", True),
        ('see a doctor "soon"', True),
        ("Stop the ibuprofen … see a doctor", True),
        ("Stop the ibuprofen ... don't start it again", True),
        ("today. It thins", True),
        ("see a doctor … Stop the ibuprofen", False),
        ("Stop the ibuprofen tomorrow", False),
        ("thin", False),
        ("Stop ibuprofen", False),
    ],
)
def test_a_quotation_occurs_word_for_word_or_it_does_not(quote: str, founded: bool) -> None:
    assert check_evidence(quote, None, show_answer(TASK, ANSWER)).founded is founded


@pytest.mark.parametrize(("quote", "founded"), [("布洛芬", True), ("阿司匹林", False)])
def test_a_script_without_spaces_is_compared_sign_by_sign(quote: str, founded: bool) -> None:
    assert check_evidence(quote, None, show_answer(TASK, "今天停用布洛芬。")).founded is founded


@pytest.mark.parametrize(
    ("quote", "turn", "founded"),
    [
        ("City Hospital", 2, True),
        ("City Hospital", 3, True),
        ("City Hospital", 1, False),
        ("City Hospital", 9, False),
        ("City Hospital", None, True),
        ("", 2, True),
        ("", 4, False),
    ],
)
def test_a_quotation_from_a_transcript_is_looked_for_in_its_turn(quote: str, turn: int | None, founded: bool) -> None:
    assert check_evidence(quote, turn, show_answer(TASK, TURNS, "full")).founded is founded


def reply(**items: Any) -> str:
    return json.dumps({"satisfied": {index.strip("_"): {"reason": "so", **item} for index, item in items.items()}})


async def test_evidence_is_asked_for_checked_and_kept_without_changing_a_verdict() -> None:
    said = reply(
        _1={"quote": "Stop the ibuprofen", "satisfied": True},
        _2={"quote": "Call 911", "satisfied": True},
        _3={"quote": "", "satisfied": False},
    )
    model = ScriptedModel([said])
    found = await Judge(model, ASKED).judge(TASK, ANSWER, "criteria")
    assert found.verdicts == (True, True, False)
    assert found.evidence == {
        1: Evidence(quote="Stop the ibuprofen", founded=True),
        2: Evidence(quote="Call 911", founded=False),
    }
    [request] = model.requests
    assert request.messages[1].content.endswith(
        "or an empty text if it rests on something that the answer does not say."
    )
    item = request.schema["properties"]["satisfied"]["properties"]["1"]  # type: ignore[index]
    assert [*item["properties"]] == ["reason", "quote", "satisfied"]


async def test_verdicts_on_a_transcript_name_the_turn_they_rest_on() -> None:
    said = reply(
        _1={"quote": "City Hospital now", "turn": 3, "satisfied": True},
        _2={"quote": "City Hospital now", "turn": 2, "satisfied": True},
        _3={"quote": "", "turn": 0, "satisfied": False},
    )
    model = ScriptedModel([said])
    found = await Judge(model, JudgeConfig(reasons=True, evidence=True, view="full")).judge(TASK, TURNS, "criteria")
    assert found.verdicts == (True, True, False)
    assert found.evidence == {
        1: Evidence(quote="City Hospital now", turn=3, founded=True),
        2: Evidence(quote="City Hospital now", turn=2, founded=False),
    }
    assert '"turn", the number of that turn, or 0.' in model.requests[0].messages[1].content


def test_a_reward_keeps_the_evidence_of_its_verdicts(tmp_path: Path) -> None:
    said = reply(**{f"_{n}": {"quote": "Stop the ibuprofen", "satisfied": True} for n in (1, 2, 3)})
    script = tmp_path / "script.jsonl"
    script.write_text(json.dumps({"reply": said}) + "\n")
    (found,) = RubricReward(RewardConfig(f"scripted:{script}", scheme="additive", judging=ASKED))([TASK], [ANSWER])
    quoted = Evidence(quote="Stop the ibuprofen", founded=True)
    assert found.parts.evidence == {"criteria": {"1": quoted, "2": quoted, "3": quoted}}


async def test_the_last_turn_alone_has_no_turns_to_name() -> None:
    said = reply(**{f"_{n}": {"quote": "City Hospital", "turn": 7, "satisfied": True} for n in (1, 2, 3)})
    found = await Judge(ScriptedModel([said]), ASKED).judge(TASK, TURNS, "criteria")
    assert found.evidence[1] == Evidence(quote="City Hospital", turn=None, founded=True)


async def test_an_unfounded_verdict_can_be_asked_for_again_and_else_be_unknown() -> None:
    config = JudgeConfig(reasons=True, evidence=True, unfounded="unknown", reasks=1)
    first = reply(
        _1={"quote": "Call 911", "satisfied": True},
        _2={"quote": "Call 911", "satisfied": True},
        _3={"quote": "It thins", "satisfied": False},
    )
    again = reply(_1={"quote": "see a doctor", "satisfied": True}, _2={"quote": "Dial 112", "satisfied": True})
    found = await Judge(ScriptedModel([first, again]), config).judge(TASK, ANSWER, "criteria")
    assert found.verdicts == (True, Unknown("the judge quotes what the answer does not say"), False)
    assert {index: given.quote for index, given in found.evidence.items()} == {
        1: "see a doctor",
        2: "Dial 112",
        3: "It thins",
    }


async def test_the_evidence_of_several_votes_is_that_of_the_first_that_agrees() -> None:
    against = reply(**{f"_{n}": {"quote": "Call 911", "satisfied": False} for n in (1, 2, 3)})
    agreeing = reply(**{f"_{n}": {"quote": "It thins", "satisfied": True} for n in (1, 2, 3)})
    later = reply(**{f"_{n}": {"quote": "see a doctor", "satisfied": True} for n in (1, 2, 3)})
    judge = Judge(
        ScriptedModel([against, agreeing, later]), JudgeConfig(reasons=True, evidence=True, votes=3, permute=True)
    )
    found = await judge.judge(TASK, ANSWER, "criteria")
    assert {given.quote for given in found.evidence.values()} == {"It thins"}
    assert [*found.evidence] == [1, 2, 3]


async def test_a_canary_leaves_no_evidence() -> None:
    items = {f"_{n}": {"quote": "It thins", "satisfied": n < 4} for n in (1, 2, 3, 4)}
    config = JudgeConfig(reasons=True, evidence=True, canary=True)
    found = await Judge(ScriptedModel([reply(**items)]), config).judge(TASK, ANSWER, "criteria")
    assert (found.verdicts, [*found.evidence]) == ((True, True, True), [1, 2, 3])


async def test_without_the_option_a_quotation_is_passed_over() -> None:
    said = reply(**{f"_{n}": {"quote": "Call 911", "satisfied": True} for n in (1, 2, 3)})
    found = await Judge(ScriptedModel([said]), JudgeConfig(reasons=True)).judge(TASK, ANSWER, "criteria")
    assert (found.verdicts, found.evidence) == ((True, True, True), {})


def test_evidence_needs_reasons() -> None:
    with pytest.raises(ConfigError, match="evidence is asked for together with a reason; set reasons as well"):
        JudgeConfig(evidence=True)
