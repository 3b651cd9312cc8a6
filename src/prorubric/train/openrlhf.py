"""OpenRLHF: a `reward_func(queries, prompts, labels)` for `--reward.remote_url your_reward.py`.

    from prorubric import RewardConfig
    from prorubric.train.openrlhf import make_reward_func

    reward_func = make_reward_func(RewardConfig(judge="http://localhost:8000/v1#Qwen3-32B", tasks="tasks.jsonl"))

A label names the task by id or carries it as JSON text. An unknown reward raises, and OpenRLHF's trainer stops.
`fallback` is for runs that have to continue; such samples are counted in the extra log `judge_failed`.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from prorubric.errors import ProRubricError
from prorubric.reward.reward import RewardConfig, make_reward
from prorubric.reward.transcript import STOP_TEXTS, drop_stop_texts, split_query
from prorubric.train.adapter import list_metrics, require_no_overlong, require_value

_log = logging.getLogger(__name__)

RewardFunc = Callable[[Sequence[str], Sequence[str], Sequence[Any]], dict[str, Any]]
"""What OpenRLHF calls with queries, prompts and labels, from several threads and with one sample per call."""


def make_reward_func(
    config: RewardConfig, *, fallback: float | None = None, stops: Sequence[str] = STOP_TEXTS
) -> RewardFunc:
    """The function that OpenRLHF calls. A config that cannot be used is refused here, when the trainer starts."""
    own = "use OpenRLHF's own --reward.overlong_buffer_len and --reward.overlong_penalty_factor"
    require_no_overlong(config, "OpenRLHF", own)
    reward = make_reward(config)

    def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]) -> dict[str, Any]:
        try:
            texts = [drop_stop_texts(split_query(*pair), stops) for pair in zip(queries, prompts, strict=True)]
            rewards = reward(labels, texts)
            values = [require_value(one, fallback) for one in rewards]
        except ProRubricError as error:
            # OpenRLHF only notes an exception and stops later, with an error about its traces: log the reason here.
            _log.error("no reward: %s", error)
            raise
        metrics = [list_metrics(one) for one in rewards]
        logs = {name: [row[name] for row in metrics] for name in ("judge_failed", "low", "high")}
        return {"rewards": values, "scores": list(values), "extra_logs": logs}

    return reward_func
