"""OpenRLHF: a `reward_func(queries, prompts, labels)` for `--reward.remote_url your_reward.py`.

    from prorubric import RewardConfig
    from prorubric.train.openrlhf import make_reward_func

    reward_func = make_reward_func(RewardConfig(judge="http://localhost:8000/v1#Qwen3-32B", tasks="tasks.jsonl"))

A label names the task by id or carries it as JSON text. An unknown reward raises: OpenRLHF's executor then leaves the
sample without a reward and its trainer stops, and it never sees a number that nobody gave. `fallback` is for runs that
have to go on; such samples are counted in the extra log `judge_failed`. The same reward by URL is `prorubric serve`.
"""

import logging
from collections.abc import Sequence
from typing import Any, Protocol, TypedDict

from prorubric.errors import ConfigError, ProRubricError
from prorubric.reward.reward import Reward, RewardConfig, RubricReward, make_reward
from prorubric.reward.transcript import STOP_TEXTS, drop_stop_texts, split_query
from prorubric.train.known import describe_unknown, require_value

_log = logging.getLogger(__name__)


class Rewards(TypedDict):
    """What OpenRLHF reads: a number a sample under each key, and the same keys for every sample."""

    rewards: list[float]
    scores: list[float]
    extra_logs: dict[str, list[float]]


class RewardFunc(Protocol):
    """What OpenRLHF calls, from several threads at once."""

    def __call__(self, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]) -> Rewards:
        """The rewards of some samples; OpenRLHF sends one a call."""


def make_reward_func(
    config: RewardConfig, *, fallback: float | None = None, stops: Sequence[str] = STOP_TEXTS
) -> RewardFunc:
    """The function that OpenRLHF calls. What is wrong with the config is said here, when the trainer starts."""
    if config.overlong is not None:
        raise ConfigError(
            "OpenRLHF hands over text without a count of tokens; leave out overlong and use its own "
            "--reward.overlong_buffer_len and --reward.overlong_penalty_factor"
        )
    reward = make_reward(config)

    def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]) -> Rewards:
        try:
            texts = [drop_stop_texts(split_query(*pair), stops) for pair in zip(queries, prompts, strict=True)]
            found = _judge(reward, labels, texts)
            return _render(found, [_choose_value(one, fallback) for one in found])
        except ProRubricError as error:
            # OpenRLHF notes an exception in passing and stops later, over its traces; the reason has to stand out.
            _log.error("no reward: %s", error)
            raise

    return reward_func


def _judge(reward: RubricReward, labels: Sequence[Any], texts: Sequence[str]) -> list[Reward]:
    return reward([reward.find_task(label) for label in labels], texts)


def _choose_value(reward: Reward, fallback: float | None) -> float:
    if reward.value is None and fallback is not None:
        _log.warning("a sample gets %g instead of a reward: %s", fallback, describe_unknown(reward))
        return fallback
    return require_value(reward)


def _render(rewards: Sequence[Reward], values: list[float]) -> Rewards:
    logs = {
        "judge_failed": [float(reward.value is None) for reward in rewards],
        "low": [reward.parts.low for reward in rewards],
        "high": [reward.parts.high for reward in rewards],
    }
    return Rewards(rewards=values, scores=list(values), extra_logs=logs)
