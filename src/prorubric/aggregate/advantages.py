"""Advantages within a group of responses to the same prompt, as in GRPO, and how many groups carry no signal.

`drop_tied` leaves the groups without signal out of a batch and counts them. `channel_advantages` centres and scales
each dimension's reward by itself before they are added by weight, so a dimension that all responses meet, or none, does
not dilute the others.

An unknown reward (NaN) is left out of its group's mean and spread and gets advantage 0: it has no effect on the
update or on the other advantages. A group whose known rewards are all equal, or that has a single one, gets exactly 0.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prorubric.errors import SchemeError


@dataclass(frozen=True, slots=True)
class Advantages:
    """The advantage of each response, and how much of the batch carries no signal."""

    values: npt.NDArray[np.float64]
    groups: int
    tied: int
    """Groups with no signal: every known reward is the same, or fewer than two are known."""
    unknown: int
    """Responses without a reward."""

    @property
    def tied_share(self) -> float | None:
        """The share of groups with no signal; None for an empty batch."""
        return self.tied / self.groups if self.groups else None


def group_advantages(rewards: npt.ArrayLike, groups: npt.ArrayLike, epsilon: float = 1e-6, ddof: int = 1) -> Advantages:
    """`(reward - mean) / (s.d. + epsilon)` within each group; `groups` names the group of each reward.

    The defaults are verl's (sample standard deviation, 1e-6); TRL adds 1e-4 instead.
    """
    values, names = _check_batch(rewards, groups)
    advantages = np.zeros_like(values)
    tied = 0
    distinct = np.unique(names)
    for name in distinct:
        members = np.flatnonzero((names == name) & ~np.isnan(values))
        known = values[members]
        if _is_tied(known):
            tied += 1
            continue
        advantages[members] = (known - known.mean()) / (known.std(ddof=ddof) + epsilon)
    return Advantages(advantages, groups=len(distinct), tied=tied, unknown=int(np.isnan(values).sum()))


@dataclass(frozen=True, slots=True)
class KeptGroups:
    """What is left of a batch without the groups that carry no signal."""

    keep: npt.NDArray[np.bool_]
    """For each response, whether it stays; one without a reward is dropped on its own."""
    groups: int
    equal: int
    """Groups that leave because their known rewards, two or more, are all equal."""
    unknown: int
    """Groups that leave because fewer than two of their rewards are known."""
    unknown_rewards: int
    """Responses without a reward in the groups that stay."""


def drop_tied(rewards: npt.ArrayLike, groups: npt.ArrayLike) -> KeptGroups:
    """Which responses of a batch carry a signal: those with a reward in a group whose rewards differ."""
    values, names = _check_batch(rewards, groups)
    keep = np.zeros(len(values), dtype=bool)
    counts = {"equal": 0, "unknown": 0, "unknown_rewards": 0}
    distinct = np.unique(names)
    for name in distinct:
        members = names == name
        known = values[members & ~np.isnan(values)]
        if _is_tied(known):
            counts["unknown" if len(known) < 2 else "equal"] += 1
        else:
            keep |= members & ~np.isnan(values)
            counts["unknown_rewards"] += int((members & np.isnan(values)).sum())
    return KeptGroups(keep, groups=len(distinct), **counts)


@dataclass(frozen=True, slots=True)
class ChannelAdvantages:
    """The advantage of each response over several channels, and how many of their groups carry no signal."""

    values: npt.NDArray[np.float64]
    """`Σ w_k A_k`."""
    channels: npt.NDArray[np.float64]
    """`A_k`, a row for each response and a column for each channel."""
    tied: tuple[int, ...]
    """For each channel the groups in which it carries no signal."""
    groups: int


def channel_advantages(
    rewards: npt.ArrayLike,
    groups: npt.ArrayLike,
    weights: npt.ArrayLike,
    epsilon: float = 1e-6,
    ddof: int = 1,
) -> ChannelAdvantages:
    """`Σ w_k A_k` with `A_k = (r_k - mean) / (s.d. + epsilon)` within each group, channel by channel.

    `rewards` has a row for each response and a column for each channel, such as a dimension; NaN where it is unknown or
    not applicable. `weights` has one number for each channel, or a row of them for each response if its task has other
    dimensions than the next. They are used as they are; NaN in the padding of a task with fewer.
    """
    values, weighs = np.asarray(rewards, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if values.ndim != 2 or weighs.shape not in (values.shape, values.shape[1:]):
        raise SchemeError(
            f"rewards have shape {values.shape} and weights {weighs.shape}; give a row of rewards for each response "
            "and a weight for each column, once or for each response"
        )
    if np.isinf(weighs).any():
        raise SchemeError("a weight is infinite; give finite numbers")
    found = [group_advantages(column, groups, epsilon, ddof) for column in values.T]
    channels = np.stack([one.values for one in found], axis=1) if found else np.zeros(values.shape)
    total = (channels * np.nan_to_num(weighs)).sum(axis=1)
    return ChannelAdvantages(total, channels, tuple(one.tied for one in found), len(np.unique(np.asarray(groups))))


def _is_tied(known: npt.NDArray[np.float64]) -> bool:
    return len(known) < 2 or bool(known.min() == known.max())


def _check_batch(
    rewards: npt.ArrayLike, groups: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.generic]]:
    values = np.asarray(rewards, dtype=np.float64)
    names = np.asarray(groups)
    if values.ndim != 1 or values.shape != names.shape:
        raise SchemeError(f"{values.shape} rewards for {names.shape} group names; give two lists of the same length")
    if np.isinf(values).any():
        raise SchemeError("a reward is infinite; give finite numbers, and NaN where there is no reward")
    return values, names
