"""Transcripts through adapters that need no trainer: all turns, or the last, to the bit as plain `score` gives it."""

from pathlib import Path
from typing import Any

import pytest

from prorubric import JudgeConfig, RewardConfig
from prorubric.errors import ConfigError, UnjudgedError
from prorubric.reward.reward import RubricReward
from prorubric.reward.transcript import read_answer
from prorubric.rubric.records import Turn
from prorubric.rubric.transcript import parse_transcript
from prorubric.train.trl import TrlReward
from prorubric.train.verl import compute_score
from tests.train.parity import (
    Pair,
    expect,
    expect_transcripts,
    load_pairs,
    make_messages,
    render_rewards,
    reward_options,
)

VIEWS = ["full", "last"]


@pytest.fixture(scope="module")
def pairs(parity: Path) -> list[Pair]:
    return load_pairs(parity)


def make_config(parity: Path, view: Any, scheme: str = "prorubric") -> RewardConfig:
    return RewardConfig(**reward_options(parity, scheme), judging=JudgeConfig(view=view))


def expect_view(pairs: list[Pair], view: str, scheme: str = "prorubric") -> list[str | None]:
    return expect_transcripts(pairs, scheme) if view == "full" else expect(pairs, scheme)


def test_the_two_views_differ(pairs: list[Pair]) -> None:
    assert expect_transcripts(pairs) != expect(pairs)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("scheme", ["prorubric", "graded"])
def test_the_reward_takes_messages_and_turns(parity: Path, pairs: list[Pair], view: str, scheme: str) -> None:
    reward = RubricReward(make_config(parity, view, scheme))
    said = [make_messages(pair) if n % 2 else parse_transcript(make_messages(pair)) for n, pair in enumerate(pairs)]
    found = reward([pair.task.id for pair in pairs], said)
    assert render_rewards([one.value for one in found]) == expect_view(pairs, view, scheme)
    spoken = len(pairs[0].text) + (len("Let me look.") if view == "full" else 0)
    assert (found[0].parts.characters, found[0].parts.turns_left_out) == (spoken, 0)


@pytest.mark.parametrize("view", VIEWS)
def test_a_transcript_without_a_turn_of_the_assistant_is_unknown_and_not_zero(
    parity: Path, pairs: list[Pair], view: str
) -> None:
    (found,) = RubricReward(make_config(parity, view))([pairs[0].task.id], [[{"role": "user", "content": "Hello?"}]])
    assert (found.value, found.parts.unknown[0]) == (None, "the transcript has no assistant turn")


@pytest.mark.parametrize("view", VIEWS)
def test_a_completion_of_trl_may_call_tools(parity: Path, pairs: list[Pair], view: str) -> None:
    reward = TrlReward(make_config(parity, view), check_trainer=False)
    found = reward([make_messages(pair) for pair in pairs], task_id=[pair.task.id for pair in pairs])
    assert render_rewards(found) == expect_view(pairs, view)


@pytest.mark.parametrize("view", VIEWS)
async def test_a_rollout_of_verl_brings_its_messages(parity: Path, pairs: list[Pair], view: str) -> None:
    options = {**reward_options(parity), "judging": {"view": view}}

    async def find(pair: Pair) -> float | None:
        extra = {"transcript": make_messages(pair), "num_turns": 4}
        try:
            return (await compute_score("any", "all that was decoded", pair.task.id, extra, **options))["score"]
        except UnjudgedError:
            return None

    assert render_rewards([await find(pair) for pair in pairs[:48]]) == expect_view(pairs[:48], view)


async def test_a_rollout_of_verl_without_messages_is_refused_only_if_all_of_several_turns_are_wanted(
    parity: Path, pairs: list[Pair]
) -> None:
    pair = next(pair for pair in pairs if pair.expected["prorubric"] is not None)
    for view, turns in (("full", 2), ("last", 4)):
        options = {**reward_options(parity), "judging": {"view": view}}
        found = await compute_score("any", pair.text, pair.task.id, {"num_turns": turns}, **options)
        assert found["score"] == pair.expected["prorubric"]
    options = {**reward_options(parity), "judging": {"view": "full"}}
    with pytest.raises(ConfigError, match=r"^a rollout of 4 turns came without its messages, and judging\.view is"):
        await compute_score("any", pair.text, pair.task.id, {"num_turns": 4}, **options)


def test_a_long_transcript_is_cut_and_the_reward_says_so(parity: Path, pairs: list[Pair]) -> None:
    judging = JudgeConfig(view="full", max_transcript_characters=1)
    (found,) = RubricReward(RewardConfig(**reward_options(parity), judging=judging))(
        [pairs[0].task.id], [make_messages(pairs[0])]
    )
    assert found.parts.turns_left_out == 2


@pytest.mark.parametrize(
    ("response", "last"),
    [
        ("as it is\n", "as it is\n"),
        ([{"role": "assistant", "content": "said"}], "said"),
        (
            [{"role": "assistant", "content": [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]}],
            "in parts",
        ),
        (
            [
                {"role": "assistant", "content": "first", "tool_calls": []},
                {"role": "tool", "content": [{"type": "image_url"}]},
                {"role": "assistant", "content": "last"},
                {"role": "user", "content": "not ours"},
            ],
            "last",
        ),
        ([{"role": "assistant", "content": "first"}, {"role": "assistant", "content": None}], ""),
        ([], ()),
        ([{"role": "user", "content": "Hello?"}], (Turn(role="user", content="Hello?"),)),
        ((Turn(role="assistant", content="a turn"),), "a turn"),
    ],
)
def test_by_default_the_response_is_what_the_assistant_said_last(response: Any, last: Any) -> None:
    assert read_answer(response, "last") == last


@pytest.mark.parametrize(
    ("response", "said"),
    [
        ([3, 4], "the response is [3, 4]; give its text, or a list of messages"),
        (None, "the response is None; give its text, or a list of messages"),
        ({"role": "assistant"}, "the response is {'role': 'assistant'}; give its text, or a list of messages"),
        (
            [{"role": "assistant", "content": [{"type": "image_url"}]}],
            "the response: turn 1: a part cannot be judged (type image_url); leave out what is not text",
        ),
    ],
)
def test_what_is_neither_text_nor_messages_is_refused(response: Any, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_answer(response, "full")
    assert str(caught.value) == said
