"""A reward as the number that a trainer wants, or an error: there is no number for an unknown one."""

from prorubric.errors import UnjudgedError
from prorubric.reward.reward import Reward


def require_value(reward: Reward) -> float:
    """The value of a reward; an unknown one is an `UnjudgedError` that says what is known of it."""
    if reward.value is None:
        raise UnjudgedError(describe_unknown(reward))
    return reward.value


def describe_unknown(reward: Reward) -> str:
    """One line on a reward that is not known."""
    parts = reward.parts
    reasons = list(dict.fromkeys(parts.unknown)) or ["no reason given"]
    others = f"; {len(reasons) - 1} more" if len(reasons) > 1 else ""
    return (
        f"task {parts.task_id!r}: the reward is unknown, somewhere from {parts.low:g} to {parts.high:g} "
        f"({reasons[0]}{others}); look at the judge, or raise its retries (http) and reasks (judging)"
    )
