"""slime: an `async fn(args, sample)` for `--custom-rm-path your_module.custom_rm`.

    from prorubric import RewardConfig
    from prorubric.train.slime import make_custom_rm

    custom_rm = make_custom_rm(RewardConfig(judge="http://localhost:8000/v1#Qwen3-32B", tasks="tasks.jsonl"))

The label of a sample, or its metadata if it has none, names the task or carries it. A single sample with an unknown
reward raises, which ends the rollout. In a whole group (`--group-rm`) it gets the mean of the group's known rewards and
`remove_sample`, which takes it out of the loss; a group without a known reward raises.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from prorubric.errors import UnjudgedError
from prorubric.reward.reward import RewardConfig, RewardRequest, make_reward
from prorubric.reward.transcript import STOP_TEXTS, choose_reference, drop_stop_texts
from prorubric.train.adapter import describe_unknown, fill_unknown, require_value

_log = logging.getLogger(__name__)

CustomRm = Callable[..., Awaitable[Any]]
"""What slime awaits: a number for one sample, a list of numbers for a group."""


def make_custom_rm(config: RewardConfig, *, validation: bool = False, stops: Sequence[str] = STOP_TEXTS) -> CustomRm:
    """The function that slime awaits; `validation` makes one for an evaluation set, without overlong shaping."""
    reward = make_reward(config)

    async def custom_rm(_args: Any, sample: Any, /, **_: Any) -> Any:
        is_group = isinstance(sample, Sequence)
        group = sample if is_group else [sample]
        requests = [
            RewardRequest(
                choose_reference(one.label, getattr(one, "metadata", None)),
                drop_stop_texts(one.response, stops),
                tokens=one.response_length,
            )
            for one in group
        ]
        rewards = await reward.rewards(requests, validation=validation)
        if not is_group:
            return require_value(rewards[0])
        if rewards and all(found.value is None for found in rewards):
            raise UnjudgedError(f"no reward of a group of {len(group)} is known; first: {describe_unknown(rewards[0])}")
        for one, found in zip(group, rewards, strict=True):
            if found.value is None:
                one.remove_sample = True
                _log.warning("a sample is left out of the loss: %s", describe_unknown(found))
        return fill_unknown([found.value for found in rewards], ["group"] * len(rewards))

    return custom_rm
