"""Means over prompts with 95% intervals from a bootstrap, vectorised.

Several answers to one prompt are not independent, so whole prompts are drawn again, with all of their answers.
Every column of a table is resampled with the same draws: differences and ratios of columns keep their pairing. A value
that is not known is NaN; it is left out and counted.

The middle 95% of resamples of n prompts is too narrow: of three normal values it holds the mean 73% of the time. Its
ends are moved away from the mean by the factor that makes an interval by Student's t from one by the normal
distribution, which brings that to 95%; for a hundred prompts the factor is 1.02. One prompt has no interval.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]

RESAMPLES = 10_000
_SEED = 0
_BLOCK = 500
_INTERVAL = (2.5, 97.5)
_Z = 1.959964
_T = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764}
"""The 97.5% quantile of Student's t by degrees of freedom that are too few for the expansion in `widening`."""


class MeanInterval(NamedTuple):
    """A mean with its interval; a mean of one prompt has none, and without known values there is no mean."""

    mean: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The means of several columns, and the same over resampled prompts. R rows, P prompts, C columns, B resamples."""

    mean_C: Floats
    mean_B_C: Floats
    prompts_C: Integers
    """How many prompts have a known value in a column."""

    @classmethod
    def of(cls, values_R_C: Floats, prompt_R: Integers, resamples: int = RESAMPLES, seed: int = _SEED) -> "Bootstrap":
        """Resample the prompts that the rows belong to. Prompts are numbered from 0, without gaps."""
        known = ~np.isnan(values_R_C)
        prompts = int(prompt_R.max(initial=-1)) + 1
        sum_P_C, count_P_C = np.zeros((2, prompts, values_R_C.shape[1]))
        np.add.at(sum_P_C, prompt_R, np.where(known, values_R_C, 0.0))
        np.add.at(count_P_C, prompt_R, known.astype(np.float64))
        counted = count_P_C[:, :1] if known.all() else count_P_C  # one column is enough if all are the same
        draws = np.random.default_rng(seed)
        blocks = []
        for start in range(0, resamples, _BLOCK):
            count = min(_BLOCK, resamples - start)
            drawn_B_P = draws.integers(prompts, size=(count, prompts)) + prompts * np.arange(count)[:, None]
            times_B_P = np.bincount(drawn_B_P.ravel(), minlength=count * prompts).reshape(count, prompts).astype(float)
            blocks.append(_divide(times_B_P @ sum_P_C, times_B_P @ counted))
        mean_C = _divide(sum_P_C.sum(axis=0), count_P_C.sum(axis=0))
        return cls(mean_C, np.concatenate(blocks), (count_P_C > 0).sum(axis=0))

    def estimate(self, column: int) -> MeanInterval:
        """The mean of one column and its interval."""
        return _estimate(self.mean_C[column], self.mean_B_C[:, column], int(self.prompts_C[column]))

    def ratio(self, numerator: int, denominator: int) -> MeanInterval:
        """The ratio of two columns' means; unknown if the denominator's interval reaches 0."""
        low = self.estimate(denominator).low
        if low is None or low <= 0:
            return MeanInterval()
        resampled_B = _divide(self.mean_B_C[:, numerator], self.mean_B_C[:, denominator])
        mean = self.mean_C[numerator] / self.mean_C[denominator]
        return _estimate(mean, resampled_B, int(self.prompts_C[denominator]))


def _estimate(mean: float, resampled_B: Floats, prompts: int) -> MeanInterval:
    """The middle of the resamples in which something was known, widened."""
    if np.isnan(mean):
        return MeanInterval()
    if prompts < 2:
        return MeanInterval(float(mean))
    low, high = mean + widening(prompts) * (np.percentile(resampled_B[~np.isnan(resampled_B)], _INTERVAL) - mean)
    return MeanInterval(float(mean), float(low), float(high))


def widening(prompts: int) -> float:
    """By how much the ends of a resampled interval have to move away from the mean: 2.7 for 3 prompts, 1.17 for 12."""
    freedom, z = prompts - 1, _Z
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    t = _T.get(freedom) or z + sum(term / freedom**power for power, term in enumerate(terms, 1))
    return t / z * math.sqrt(prompts / freedom)


def number_prompts(names: Sequence[Hashable]) -> Integers:
    """The prompt of each row as a number, in order of appearance."""
    seen: dict[Hashable, int] = {}
    return np.array([seen.setdefault(name, len(seen)) for name in names], dtype=np.intp)


def list_groups(rewards_R: Floats, prompt_R: Integers) -> list[Floats]:
    """The known rewards of each prompt that has at least two of them."""
    known = ~np.isnan(rewards_R)
    groups = (rewards_R[known & (prompt_R == prompt)] for prompt in np.unique(prompt_R[known]))
    return [group for group in groups if len(group) > 1]


def group_spread(rewards_R: Floats, prompt_R: Integers) -> float | None:
    """The mean standard deviation of known rewards within a prompt; None if no prompt has two of them."""
    # The mean of equal numbers can differ from them by a rounding error, which must not become a spread.
    return mean_of(
        [0.0 if np.ptp(group) == 0 else float(group.std(ddof=1)) for group in list_groups(rewards_R, prompt_R)]
    )


def mean_of(values: Sequence[float] | npt.NDArray[Any]) -> float | None:
    """The mean, or the share that is true; None if there are no values."""
    return float(np.mean(values)) if len(values) else None


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    """NaN if there is nothing to divide by."""
    quotient = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    np.divide(numerator, denominator, out=quotient, where=denominator != 0)
    return quotient
