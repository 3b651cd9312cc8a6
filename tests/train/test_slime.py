"""slime: the function that it awaits, given what it gives. slime is not on PyPI, so its `Sample` is rebuilt here."""

import asyncio
import importlib.util
import json
import logging
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pytest

from prorubric import Overlong, RewardConfig, load_samples
from prorubric.errors import BreakerError, ConfigError, UnjudgedError
from prorubric.rubric.forms import render_task
from prorubric.train.slime import make_custom_rm
from tests.train.parity import SCHEMES, Pair, expect, load_pairs, render_rewards, reward_options
from tests.train.running import ROOT

ARGS = SimpleNamespace(reward_key=None, group_rm=False)


class Status(Enum):
    COMPLETED = "completed"
    TRUNCATED = "truncated"


@dataclass
class Sample:
    """The fields of slime's `Sample` that a reward can meet, with slime's defaults."""

    group_index: int | None = None
    index: int | None = None
    prompt: str | list[dict[str, str]] = ""
    tokens: list[int] = field(default_factory=list)
    response: str = ""
    response_length: int = 0
    label: str | None = None
    reward: float | dict[str, Any] | None = None
    loss_mask: list[int] | None = None
    remove_sample: bool = False
    status: Status = Status.COMPLETED
    metadata: dict[str, Any] = field(default_factory=dict)


def make_sample(pair: Pair, **given: Any) -> Sample:
    """As SGLang returns it to slime: with the token that ended the turn."""
    return Sample(
        prompt="…",
        response=pair.text + "<|im_end|>",
        response_length=pair.tokens,
        **{"label": pair.task.id, **given},
    )


async def find_reward(custom_rm: Any, sample: Sample) -> float | None:
    try:
        return await custom_rm(ARGS, sample)
    except UnjudgedError:
        return None


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_every_pair_gets_the_same_reward(parity: Path, scheme: str) -> None:
    pairs = load_pairs(parity)
    custom_rm = make_custom_rm(RewardConfig(**reward_options(parity, scheme)))
    found = await asyncio.gather(*(find_reward(custom_rm, make_sample(pair)) for pair in pairs))
    assert render_rewards(found) == expect(pairs, scheme)


async def test_a_task_can_be_carried_in_the_label_or_in_the_metadata(parity: Path) -> None:
    pair = next(pair for pair in load_pairs(parity) if pair.expected["prorubric"] is not None)
    custom_rm = make_custom_rm(RewardConfig(**{**reward_options(parity), "tasks": None}))
    row = render_task(pair.task)
    carriers: list[dict[str, Any]] = [
        {"label": json.dumps(row)},
        {"label": None, "metadata": row},
        {"label": None, "metadata": {"task": json.dumps(row)}},
    ]
    found = [await custom_rm(ARGS, make_sample(pair, **carrier)) for carrier in carriers]
    assert render_rewards(found) == expect([pair] * 3)


async def test_a_sample_with_an_unknown_reward_raises(parity: Path) -> None:
    pair = next(pair for pair in load_pairs(parity) if pair.expected["prorubric"] is None)
    custom_rm = make_custom_rm(RewardConfig(**reward_options(parity)))
    with pytest.raises(UnjudgedError, match=f"task '{pair.task.id}': the reward is unknown, somewhere from "):
        await custom_rm(ARGS, make_sample(pair))


async def test_in_a_group_an_unknown_reward_is_left_out_of_mean_and_loss(
    parity: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pairs = load_pairs(parity)
    unknown = next(pair for pair in pairs if pair.expected["prorubric"] is None)
    members = [pair for pair in pairs if pair.task.id == unknown.task.id]
    group = [make_sample(pair) for pair in members]
    with caplog.at_level(logging.WARNING):
        found = await make_custom_rm(RewardConfig(**reward_options(parity)))(ARGS, group)
    values = [pair.expected["prorubric"] for pair in members]
    known = [value for value in values if value is not None]
    assert render_rewards(found) == render_rewards([fmean(known) if value is None else value for value in values])
    assert fmean(found) == pytest.approx(fmean(known), abs=1e-15)
    assert [sample.remove_sample for sample in group] == [value is None for value in values]
    assert [record.getMessage()[:35] for record in caplog.records] == [
        "a sample is left out of the loss: t"
    ] * values.count(None)


async def test_a_group_of_which_nothing_is_known_raises(parity: Path) -> None:
    pairs = [pair for pair in load_pairs(parity) if pair.expected["prorubric"] is None][:2]
    custom_rm = make_custom_rm(RewardConfig(**reward_options(parity)))
    with pytest.raises(UnjudgedError, match="no reward of a group of 2 is known; first: task "):
        await custom_rm(ARGS, [make_sample(pair) for pair in pairs])


async def test_a_group_of_one_is_a_list() -> None:
    answer = next(load_samples())
    custom_rm = make_custom_rm(RewardConfig(judge="lexical", scheme="additive"))
    sample = Sample(response=answer.response.text, metadata={"task": render_task(answer.task)})
    assert await custom_rm(ARGS, [sample]) == [75 / 182]
    assert await custom_rm(ARGS, sample) == 75 / 182


async def test_too_many_unknown_rewards_stop_the_run(parity: Path) -> None:
    pairs = [pair for pair in load_pairs(parity) if pair.expected["prorubric"] is None][:4]
    custom_rm = make_custom_rm(RewardConfig(**{**reward_options(parity), "max_unknown": 0.5, "min_batch": 4}))
    with pytest.raises(BreakerError, match="4 of 4 rewards are unknown"):
        await custom_rm(ARGS, [make_sample(pair) for pair in pairs])


async def test_length_costs_in_training_and_not_in_evaluation(parity: Path) -> None:
    pair = next(pair for pair in load_pairs(parity) if pair.expected["prorubric"] == 1.0)
    config = RewardConfig(**reward_options(parity), overlong=Overlong(limit=100, buffer=50))
    sample = Sample(response=pair.text, response_length=75, label=pair.task.id, status=Status.TRUNCATED)
    assert await make_custom_rm(config)(ARGS, sample) == 0.75
    assert await make_custom_rm(config, validation=True)(ARGS, sample) == 1.0


async def test_a_sample_that_means_no_task_is_refused(parity: Path) -> None:
    custom_rm = make_custom_rm(RewardConfig(**reward_options(parity)))
    with pytest.raises(ConfigError, match="no task matches "):
        await custom_rm(ARGS, Sample(response="x", label="nothing"))


async def test_the_example_gives_rewards_as_slime_imports_it() -> None:
    spec = importlib.util.spec_from_file_location("rubric_reward", ROOT / "examples/slime/rubric_reward.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    answers = [answer for answer in load_samples() if answer.task.id == "medicine-infant-fever"]
    group = [Sample(response=a.response.text, response_length=6144, label=a.task.id) for a in answers]
    shaped = await module.custom_rm(ARGS, group)
    plain = await module.evaluation_rm(ARGS, group)
    assert [value - penalty for value, penalty in zip(plain, shaped, strict=True)] == [0.25] * 4
