"""Plots as inline SVG: intervals on one shared scale, and how coverage and appropriateness go together.

Places are percentages of the width, so that a plot fits a phone without its text shrinking. Each scheme has a colour
from the Okabe-Ito palette, a shape of its own and its name beside it: no reading depends on colour.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from prorubric.report.page import Html, element, join

_COLOURS = 7
_SHAPES = (
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "M-4 -4h8v8h-8z",
    "M0 -5.2L5 4H-5z",
    "M0 -5.8L5.8 0L0 5.8L-5.8 0z",
    "M0 5.2L5 -4H-5z",
    "M-1.7 -5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z",
)
_PAPER = "M0 -6.2L6.2 0L0 6.2L-6.2 0z"
_STEPS = (1, 2, 5, 10)
_TICKS = 5
_BINS = 50


@dataclass(frozen=True, slots=True)
class Scale:
    """The axis that all lines of a plot share."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def place(self, value: float) -> str:
        """Where a value lies, in percent of the width."""
        return f"{100 * (value - self.low) / (self.high - self.low):.2f}%"


@dataclass(frozen=True, slots=True)
class Mark:
    """A figure with its interval, and the paper's where there is one."""

    value: float | None
    low: float | None = None
    high: float | None = None
    paper: float | None = None
    paper_low: float | None = None
    paper_high: float | None = None

    @property
    def values(self) -> list[float]:
        """Everything that has to fit on the scale."""
        everything = (self.value, self.low, self.high, self.paper, self.paper_low, self.paper_high)
        return [value for value in everything if value is not None]


def make_scale(values: Iterable[float]) -> Scale:
    """A scale with round ticks that holds these values and 0."""
    found = [0.0, *values]
    low, high = min(found), max(found)
    if low == high:
        low, high = -1.0, 1.0
    step = _round_step((high - low) / _TICKS)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Scale(first * step, last * step, tuple(number * step for number in range(first, last + 1)))


def render_line(mark: Mark, scale: Scale, place: int) -> Html:
    """One line of a forest plot: the interval and the mark of a scheme by its place, and the paper's, hollow."""
    shapes = [_grid(scale)]
    if mark.paper is not None:
        shapes += [_span(mark.paper_low, mark.paper_high, scale, "paper"), _shape(_PAPER, mark.paper, scale, "paper")]
    if mark.value is not None:
        shapes += [
            _span(mark.low, mark.high, scale, colour_of(place)),
            _shape(_SHAPES[place % len(_SHAPES)], mark.value, scale, colour_of(place)),
        ]
    return element("svg", shapes, class_="plot", aria_hidden="true")


def render_axis(scale: Scale, show: Callable[[float | None], str]) -> Html:
    """The figures under the lines."""
    texts = [
        element("text", show(tick).replace(".0", ""), x=scale.place(tick), y="12", text_anchor=_anchor(number, scale))
        for number, tick in enumerate(scale.ticks)
    ]
    return element("svg", texts, class_="plot axis", aria_hidden="true")


def render_key(place: int | None) -> Html:
    """The mark of a scheme by its place, or of the paper, to stand beside a name."""
    path, name = (_PAPER, "paper") if place is None else (_SHAPES[place % len(_SHAPES)], colour_of(place))
    inner = element("path", d=path, class_=name)
    return element("svg", inner, class_="key", viewBox="-7 -7 14 14", aria_hidden="true")


def render_strip(shares: Sequence[float], mean: float | None, scale: Scale, passed: bool) -> Html:
    """How answers spread over the scale: a stroke for each place that is taken, darker for more, and the mean."""
    bins = Counter(round(share / 100 * _BINS) for share in shares)
    most = max(bins.values(), default=1)
    strokes = [
        element(
            "line",
            x1=scale.place(100 * number / _BINS),
            x2=scale.place(100 * number / _BINS),
            y1="15%",
            y2="85%",
            class_="stroke",
            stroke_opacity=f"{0.25 + 0.55 * count / most:.2f}",
        )
        for number, count in sorted(bins.items())
    ]
    shape = "" if mean is None else _shape(_SHAPES[0 if passed else 1], mean, scale, colour_of(0 if passed else 1))
    return element(
        "svg", _grid(scale), strokes, shape, class_=f"plot {'pass' if passed else 'fail'}", aria_hidden="true"
    )


def colour_of(place: int) -> str:
    """The class that gives the scheme at this place its colour."""
    return f"c{place % _COLOURS}"


def _grid(scale: Scale) -> Html:
    return join(
        element(
            "line",
            x1=scale.place(tick),
            x2=scale.place(tick),
            y1="0",
            y2="100%",
            class_="zero" if tick == 0 else "grid",
        )
        for tick in scale.ticks
    )


def _span(low: float | None, high: float | None, scale: Scale, name: str) -> Html:
    if low is None or high is None:
        return Html()
    return element("line", x1=scale.place(low), x2=scale.place(high), y1="50%", y2="50%", class_=f"span {name}")


def _shape(path: str, value: float, scale: Scale, name: str) -> Html:
    # An inner svg can be placed in percent, a path cannot.
    return element("svg", element("path", d=path, class_=name), x=scale.place(value), y="50%", overflow="visible")


def _anchor(number: int, scale: Scale) -> str:
    return "start" if number == 0 else "end" if number == len(scale.ticks) - 1 else "middle"


def _round_step(rough: float) -> float:
    size = 10.0 ** math.floor(math.log10(rough))
    return next(step * size for step in _STEPS if step * size >= rough * (1 - 1e-9))
