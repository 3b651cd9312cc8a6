"""Advantages within a group of responses to the same prompt, as GRPO takes them, and how many groups carry no signal.

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
    values = np.asarray(rewards, dtype=np.float64)
    names = np.asarray(groups)
    if values.ndim != 1 or values.shape != names.shape:
        raise SchemeError(f"{values.shape} rewards for {names.shape} group names; give two lists of the same length")
    if np.isinf(values).any():
        raise SchemeError("a reward is infinite; give finite numbers, and NaN where there is no reward")
    advantages = np.zeros_like(values)
    tied = 0
    distinct = np.unique(names)
    for name in distinct:
        members = np.flatnonzero((names == name) & ~np.isnan(values))
        known = values[members]
        if len(known) < 2 or known.min() == known.max():
            tied += 1
            continue
        advantages[members] = (known - known.mean()) / (known.std(ddof=ddof) + epsilon)
    return Advantages(advantages, groups=len(distinct), tied=tied, unknown=int(np.isnan(values).sum()))
