"""One scheme's line in the tables of a comparison."""

from prorubric.lab.measure import Measure
from prorubric.lab.statistics import Spread
from prorubric.rubric.base import Record

BASE = "base"
"""The name of the untrained policy's line."""


class CurvePoint(Record):
    """Means over seeds at one step."""

    step: int
    c: Spread
    g: Spread
    tokens: Spread


class RunEnd(Record):
    """How one run ended."""

    scheme: str
    seed: int
    g: float
    c: float
    sampled: Measure
    """Everything at temperature 1, `g` and `c` among it."""
    greedy: Measure
    ties_first: float
    ties_last: float
    cpu_seconds: float


class SchemeRow(Record):
    """What a scheme ended with, over seeds; at temperature 1 unless said otherwise."""

    scheme: str
    seeds: int
    g: Spread
    g_lenient: Spread
    c: Spread
    c_without: dict[str, Spread]
    """`c` without a set of parts, by the name of the set."""
    c_greedy: Spread
    g_greedy: Spread
    tokens: Spread
    accuracy: Spread
    accuracy_greedy: Spread
    naming: Spread
    parts: dict[str, Spread]
    ties_first: Spread
    """Groups with equal rewards in the first 50 steps."""
    ties_last: Spread
    c_by_seed: dict[int, float]
    c_over_additive: tuple[float, ...]
    """Seed by seed, `c` minus that of `additive` with the same seed."""
    g_over_additive: tuple[float, ...]
    curve: tuple[CurvePoint, ...]
    c_curves: dict[int, dict[int, float]]
    """By seed and step, `c`."""
