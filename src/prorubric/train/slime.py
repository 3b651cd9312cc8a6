"""slime: an `async fn(args, sample)` for `--custom-rm-path your_module.custom_rm`.

    from prorubric import RewardConfig
    from prorubric.train.slime import make_custom_rm

    custom_rm = make_custom_rm(RewardConfig(judge="http://localhost:8000/v1#Qwen3-32B", tasks="tasks.jsonl"))

The label of a sample, or its metadata where it has none, names the task or carries it. A single sample with an unknown
reward raises, which ends the rollout. With `--group-rm` slime hands over a whole group, and there a sample can be left
out: it gets the mean of its group's known rewards, so that it does not move the group's mean, and `remove_sample`, so
that it has no part in the loss. A group of which nothing is known raises. The same reward by URL is `prorubric serve`.
"""

import logging
from collections.abc import Awaitable, Sequence
from statistics import fmean
from typing import Any, Protocol, overload

from prorubric.errors import UnjudgedError
from prorubric.reward.reward import Case, Reward, RewardConfig, RubricReward, make_reward
from prorubric.reward.transcript import STOP_TEXTS, choose_reference, drop_stop_texts
from prorubric.train.known import describe_unknown, require_value

_log = logging.getLogger(__name__)


class Sample(Protocol):
    """What is used of slime's `Sample`."""

    response: str
    response_length: int
    label: Any
    metadata: dict[str, Any]
    remove_sample: bool


class CustomRm(Protocol):
    """What slime awaits: for one sample, or for a group of them."""

    @overload
    def __call__(self, args: Any, sample: Sample, /, **kwargs: Any) -> Awaitable[float]: ...
    @overload
    def __call__(self, args: Any, sample: Sequence[Sample], /, **kwargs: Any) -> Awaitable[list[float]]: ...


def make_custom_rm(config: RewardConfig, *, validation: bool = False, stops: Sequence[str] = STOP_TEXTS) -> CustomRm:
    """The function that slime awaits; `validation` makes the one for an evaluation set, without overlong shaping."""
    reward = make_reward(config)

    async def custom_rm(_args: Any, sample: Any, /, **_: Any) -> Any:
        one = not isinstance(sample, Sequence)
        group = [sample] if one else list(sample)
        rewards = await reward.rewards([_make_case(reward, each, stops) for each in group], validation=validation)
        return require_value(rewards[0]) if one else _settle(group, rewards)

    return custom_rm


def _make_case(reward: RubricReward, sample: Sample, stops: Sequence[str]) -> Case:
    row = choose_reference(sample.label, getattr(sample, "metadata", None))
    return Case(reward.find_task(row), drop_stop_texts(sample.response, stops), tokens=sample.response_length)


def _settle(group: Sequence[Sample], rewards: Sequence[Reward]) -> list[float]:
    """The rewards of a group; samples with an unknown one are taken out of the loss."""
    known = [reward.value for reward in rewards if reward.value is not None]
    unknown = [reward for reward in rewards if reward.value is None]
    if unknown and not known:
        raise UnjudgedError(f"no reward of a group of {len(group)} is known; first: {describe_unknown(unknown[0])}")
    for sample, reward in zip(group, rewards, strict=True):
        if reward.value is None:
            sample.remove_sample = True
            _log.warning("a sample is left out of the loss: %s", describe_unknown(reward))
    return [fmean(known) if reward.value is None else reward.value for reward in rewards]
