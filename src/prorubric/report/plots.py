"""The parts that plots share, as inline SVG: scales, marks, and curves over the steps of a training.

Places are percentages of the width, so a plot fits a phone without shrinking its text. What is compared has a colour
from the Okabe-Ito palette, its own shape and its name in a legend: no reading depends on colour.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple

from prorubric.report.page import Attribute, Html, element, join, own_words

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
_MOST_MARKS = 12

Show = Callable[[float | None], str]


@dataclass(frozen=True, slots=True)
class Scale:
    """The axis that all lines of a plot share."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """How far along a value is, in percent."""
        return 100 * (value - self.low) / (self.high - self.low)

    def place(self, value: float) -> str:
        """The place of a value, in percent of the width."""
        return f"{self.share(value):.2f}%"


def make_scale(values: Iterable[float | None], *, zero: bool = True, show: Show | None = None) -> Scale:
    """A scale with round ticks that holds those of these values that are known, and 0 unless that is not wanted.

    Ticks of whole values are whole, and with `show` no two ticks look the same.
    """
    known = [*([0.0] if zero else []), *(value for value in values if value is not None)]
    low, high = min(known), max(known)
    if low == high:
        margin = 1.0 if low.is_integer() else abs(low) / 2
        low, high = low - margin, high + margin
    least = max((high - low) / 5, 1.0 if all(float(value).is_integer() for value in known) else 0.0)
    size = 10.0 ** math.floor(math.log10(least))
    steps = (factor * size * 10**power for power in range(4) for factor in (1, 2, 5))
    scales = []
    for step in steps:
        if step >= least * (1 - 1e-9):
            first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
            ticks = tuple(number * step for number in range(first, last + 1))
            scales.append(Scale(first * step, last * step, ticks))
    clear = (scale for scale in scales if show is None or len(set(map(show, scale.ticks))) == len(scale.ticks))
    return next(clear, scales[0])


def class_of(place: int | None) -> str:
    """The class that colours what is at this place; None is the paper."""
    return "paper" if place is None else f"c{place % _COLOURS}"


def render_key(place: int | None) -> Html:
    """The mark to put next to a name."""
    return _render_shape(place, class_="key", viewBox="-7 -7 14 14", aria_hidden="true")


def place_shape(place: int | None, value: float, scale: Scale, y: str = "50%") -> Html:
    """The mark of what is at this place, at a value."""
    # An inner svg can be placed in percent, a path cannot.
    return _render_shape(place, x=scale.place(value), y=y, overflow="visible")


def _render_shape(place: int | None, **attributes: Attribute) -> Html:
    path = _PAPER if place is None else _SHAPES[place % len(_SHAPES)]
    return element("svg", element("path", d=path, class_=class_of(place)), **attributes)


class CurvePoint(NamedTuple):
    """One point of a curve, with its interval if it has one."""

    step: float
    value: float
    low: float | None = None
    high: float | None = None


class CurveLine(NamedTuple):
    """A curve, and the thinner ones that it is the mean of."""

    name: str
    place: int
    points: Sequence[CurvePoint]
    parts: Sequence[Sequence[CurvePoint]] = ()


def make_line(
    name: str, place: int, means: Sequence[CurvePoint], by_step: Mapping[int, Mapping[int, float]]
) -> CurveLine:
    """A curve, and those of its seeds if there are several; `by_step` has the value of every seed at every step."""
    seeds = sorted({seed for values in by_step.values() for seed in values})
    parts = [[CurvePoint(step, own[seed]) for step, own in by_step.items() if seed in own] for seed in seeds]
    return CurveLine(name, place, means, parts if len(parts) > 1 else [])


class Figure(NamedTuple):
    """A drawing with its legend: for a page, or for a separate file."""

    label: str
    style: Literal["curves", "scatter"]
    shapes: Html
    legend: Mapping[str, int | None]


def render_figure(drawn: Figure) -> Html:
    """A figure as a page shows it."""
    plot = element("svg", drawn.shapes, class_=drawn.style, role="img", aria_label=drawn.label)
    return element("div", render_legend(drawn.legend), plot, class_="chart")


def render_curves(label: str, lines: Sequence[CurveLine], end: float, show: Show, *, zero: bool = False) -> Html:
    """Curves over steps as a page shows them."""
    return render_figure(draw_curves(label, lines, end, show, zero=zero))


def draw_curves(label: str, lines: Sequence[CurveLine], end: float, show: Show, *, zero: bool = False) -> Figure:
    """Curves over steps up to `end`: seeds thin, means thick with a mark, intervals as bands.

    A curve of many points has marks on some of them; one of a single point has its interval as a line.
    """
    across = make_scale([end, *(point.step for line in lines for point in line.points)])
    points = [point for line in lines for point in chain(line.points, *line.parts)]
    up = make_scale(chain.from_iterable((point.value, point.low, point.high) for point in points), zero=zero, show=show)

    def trace(ends: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{across.share(step):.2f},{100 - up.share(value):.2f}" for step, value in ends)

    shapes, marks = list[Html](), list[Html]()
    for line in lines:
        colour = class_of(line.place)
        spans = [(point, point.low, point.high) for point in line.points]
        known = [(point, low, high) for point, low, high in spans if low is not None and high is not None]
        if len(known) > 1:
            outline = [(point.step, high) for point, _, high in known]
            outline += [(point.step, low) for point, low, _ in reversed(known)]
            shapes.append(element("polygon", points=trace(outline), class_=f"band {colour}"))
        for style, part in (*(("part", part) for part in line.parts), ("mean", line.points)):
            shapes.append(element("polyline", points=trace(point[:2] for point in part), class_=f"{style} {colour}"))
        if len(line.points) == 1:
            for point, low, high in known:
                x = across.place(point.step)
                ends = {"y1": _height(up, low), "y2": _height(up, high)}
                marks.append(element("line", x1=x, x2=x, **ends, class_=f"span {colour}"))
        for point in line.points[:: math.ceil(len(line.points) / _MOST_MARKS)]:
            marks.append(place_shape(line.place, point.step, across, _height(up, point.value)))
    axes = _draw_grid(up, show)
    for tick in across.ticks:
        shown, anchor = (f"{tick:,.0f}", "middle") if tick < across.high else (f"step {tick:,.0f}", "end")
        axes.append(element("text", shown, x=across.place(tick), y="100%", dy="1.5em", text_anchor=anchor))
    # The lines are in a square of 100 by 100 that the browser stretches.
    drawing = element("svg", shapes, viewBox="0 0 100 100", preserveAspectRatio="none", width="100%", height="100%")
    return Figure(label, "curves", join(axes, drawing, marks), {line.name: line.place for line in lines})


class ScatterMark(NamedTuple):
    """One mark of a scatter plot; the place None is the paper's."""

    place: int | None
    x: float
    y: float


def draw_scatter(marks: Sequence[ScatterMark], show_x: Show, show_y: Show) -> Html:
    """Marks on two axes."""
    across = make_scale((mark.x for mark in marks), zero=False, show=show_x)
    up = make_scale((mark.y for mark in marks), zero=False, show=show_y)
    shapes = _draw_grid(up, lambda value: show_y(value).replace(".0", ""))
    for tick in across.ticks:
        x = across.place(tick)
        shapes.append(element("text", show_x(tick), x=x, y="100%", dy="1.5em", text_anchor="middle"))
    shapes += [place_shape(mark.place, mark.x, across, _height(up, mark.y)) for mark in marks]
    return join(shapes)


class CategoryMark(NamedTuple):
    """One mark above a name; marks of a series are in the same place above every name."""

    place: int | None
    series: int
    name: str
    y: float


def draw_categories(marks: Sequence[CategoryMark], show: Show) -> Html:
    """Marks on one axis above names, series by series from left to right, with 0."""
    names, series = [*dict.fromkeys(mark.name for mark in marks)], 1 + max(mark.series for mark in marks)
    across, up = Scale(-0.5, len(names) - 0.5, ()), make_scale((mark.y for mark in marks), show=show)
    shapes = _draw_grid(up, lambda value: show(value).replace(".0", ""))
    for number, name in enumerate(names):
        x = across.place(number)
        shapes.append(element("text", name, x=x, y="100%", dy="1.5em", text_anchor="middle"))
    for mark in marks:
        value = names.index(mark.name) + (mark.series + 0.5) / series * 0.6 - 0.3
        shapes.append(place_shape(mark.place, value, across, _height(up, mark.y)))
    return join(shapes)


def _draw_grid(up: Scale, show: Show) -> list[Html]:
    """The horizontal lines and their figures."""
    shapes = []
    for tick in up.ticks:
        y = _height(up, tick)
        shapes.append(element("line", x1="0", x2="100%", y1=y, y2=y, class_="grid" if tick else "zero"))
        shapes.append(element("text", show(tick), x="-8", y=y, dy=".32em", text_anchor="end"))
    return shapes


def render_legend(places: Mapping[str, int | None]) -> Html:
    """Names with their marks."""
    names = [element("span", render_key(place), own_words(name)) for name, place in places.items()]
    return element("div", names, class_="legend")


def _height(up: Scale, value: float) -> str:
    return f"{100 - up.share(value):.2f}%"
