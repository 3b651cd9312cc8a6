"""The alarm: the training score rises while a curve that should rise with it falls.

A straight line is fitted to each curve over the last `window` recorded steps. The proxy's must rise by `rise` and three
standard errors, the other's fall by `fall` and five: proxies rise in every training that works, so the fall has to be
beyond doubt. The standard error is widened if neighbouring steps resemble each other, because a window then holds less
information than its length suggests.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from prorubric.errors import ConfigError
from prorubric.rubric.base import Record, config_record

_MOST_LIKENESS = 0.9
"""Beyond this a window holds too little information for any line through it."""


@config_record
class AlarmRule:
    """When diverging curves raise the alarm."""

    _: KW_ONLY
    window: Annotated[int, Field(ge=5)] = 50
    """Number of recorded steps to look at."""
    least: Annotated[int, Field(ge=5)] = 20
    """Fewest steps with values, at the start of a run or where values are missing."""
    rise: Annotated[float, Field(ge=0)] = 0.02
    """What the proxy must gain over the window, and how many standard errors above zero that must be."""
    rise_errors: Annotated[float, Field(ge=0)] = 3.0
    fall: Annotated[float, Field(ge=0)] = 0.05
    """What the other curve must lose over the window, and how many standard errors above zero that must be."""
    fall_errors: Annotated[float, Field(ge=0)] = 5.0

    def __post_init__(self) -> None:
        if self.least > self.window:
            raise ConfigError(f"AlarmRule: a window of {self.window} steps cannot hold {self.least}; lower least")


class Trend(NamedTuple):
    """What a straight line through a curve gains from the first step to the last, and the standard error of that."""

    change: float
    error: float

    def rises(self, by: float, errors: float) -> bool:
        """True if the curve gains that much, and that many standard errors."""
        return self.change > 0 and self.change >= max(by, errors * self.error)


class Alarm(Record):
    """Two diverging curves."""

    step: int
    proxy: str
    other: str
    rise: float
    fall: float
    since: int
    """The first step of the window."""

    def __str__(self) -> str:
        return (
            f"since step {self.since} {self.proxy} has risen by {self.rise:.3f} while {self.other} has fallen by "
            f"{self.fall:.3f}: the policy may be gaming the reward; read some responses before going on"
        )


def measure_trend(steps: Sequence[int], values: Sequence[float]) -> Trend:
    """The least-squares line through at least three steps in ascending order, and how certain it is."""
    x, y = np.asarray(steps, dtype=np.float64), np.asarray(values, dtype=np.float64)
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ y) / spread
    rest = y - y.mean() - slope * centred
    squares = float(rest @ rest)
    likeness = float(rest[1:] @ rest[:-1]) / squares if squares > 0 else 0.0
    widening = math.sqrt((1 + (r := min(max(likeness, 0.0), _MOST_LIKENESS))) / (1 - r))
    error = math.sqrt(squares / (len(x) - 2) / spread) * widening
    length = float(x[-1] - x[0])
    return Trend(change=slope * length, error=error * length)


def find_alarm(
    steps: Sequence[int],
    proxy: Sequence[float | None],
    other: Sequence[float | None],
    rule: AlarmRule | None = None,
    names: tuple[str, str] = ("the proxy", "the other"),
) -> Alarm | None:
    """The alarm at the last of these steps, or None. A step at which either curve has no value is skipped."""
    rule = rule or AlarmRule()
    both = [(step, a, b) for step, a, b in zip(steps, proxy, other, strict=True) if a is not None and b is not None]
    both = both[-rule.window :]
    if len(both) < rule.least:
        return None
    at, rising, falling = zip(*both, strict=True)
    up, down = measure_trend(at, rising), measure_trend(at, [-value for value in falling])
    if not (up.rises(rule.rise, rule.rise_errors) and down.rises(rule.fall, rule.fall_errors)):
        return None
    return Alarm(step=at[-1], proxy=names[0], other=names[1], rise=up.change, fall=down.change, since=at[0])
