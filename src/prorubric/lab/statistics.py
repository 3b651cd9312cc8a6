"""Means, spreads, paired differences and rank correlation over a handful of runs."""

from collections.abc import Sequence

import numpy as np

from prorubric.rubric.base import Record


class Spread(Record):
    """A mean over seeds and its standard deviation; None for a single seed."""

    mean: float
    sd: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of at least one value."""
        return cls(mean=float(np.mean(values)), sd=float(np.std(values, ddof=1)) if len(values) > 1 else None)


class Correlation(Record):
    """A rank correlation and over what."""

    rho: float | None
    """None where there are fewer than three rows, or one side does not vary."""
    rows: tuple[str, ...]


def correlate(first: dict[str, float], second: dict[str, float]) -> Correlation:
    """Spearman's rho over the rows that both have."""
    rows = tuple(name for name in first if name in second)
    rho = rank_correlation([first[name] for name in rows], [second[name] for name in rows])
    return Correlation(rho=rho, rows=rows)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rho, with mean ranks for ties."""
    if len(first) < 3 or len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(np.corrcoef(_rank(first), _rank(second))[0, 1])


def _rank(values: Sequence[float]) -> list[float]:
    array = np.asarray(values)
    return [float((array < value).sum() + ((array == value).sum() + 1) / 2) for value in array]
