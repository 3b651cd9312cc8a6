"""The plots of an audit's page as inline SVG: what each edit earns, naming against substance, placement, coverage.

Each scheme has the colour and the shape of its place, with its name next to it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from statistics import fmean
from typing import NamedTuple

from prorubric.audit.cases import ANSWER
from prorubric.audit.edits import EDITS
from prorubric.audit.paper import load_paper
from prorubric.audit.records import AuditResult, Effect
from prorubric.report.audit_folder import list_edits
from prorubric.report.numbers import interval, percent, plain, signed
from prorubric.report.page import NOTES, Cell, Html, Row, element, figure, fold, join, note, own_words, table
from prorubric.report.plots import Scale, Show, class_of, make_scale, place_shape, render_key

_HEADS = (
    *("edit", "scheme", "mean", "95% interval", "rising", "falling", "unchanged"),
    *("pairs", "prompts", "open", "per spread", "paper"),
)
_BINS = 50

Places = Mapping[str, int]  # the place of each scheme, which gives it its colour and shape


_PERCENT = Scale(0.0, 100.0, (0.0, 25.0, 50.0, 75.0, 100.0))


class Mark(NamedTuple):
    """A figure with its interval, and the paper's figure if it has one."""

    value: float | None
    low: float | None = None
    high: float | None = None
    paper: float | None = None
    paper_low: float | None = None
    paper_high: float | None = None


def render_effects(result: AuditResult, places: Places) -> Html:
    """Every edit under every scheme: the forest plot, and the table behind it."""
    kinds = result.kinds
    known = [effect for effect in result.effects if effect.edit in kinds]
    if not known:
        return note("No edit could be made.")
    legend = None
    if any(effect.paper is not None for effect in known):
        meaning = " hollow: the paper's figure, 300 clinical cases, its own judge and editor ("
        legend = note(render_key(None), meaning, element("cite", str(load_paper()["source"])), ")")
    scale = make_scale(chain(*map(_mark, known)))
    groups: list[Html] = []
    titles = {
        "worthless": "A sound reward pays nothing for these",
        "hack": "Nor for known hacks, which say nothing about the subject",
        "other": "Noise, and edits that should pay",
    }
    for group, title in titles.items():
        plots: list[Html] = []
        for edit in list_edits(known, kinds):
            if group != ("hack" if kinds[edit].is_hack else "worthless" if kinds[edit].is_worthless else "other"):
                continue
            head = element("h4", edit, " ", own_words(kinds[edit].meaning, "small"))
            lines = [_render_line(e.scheme, _mark(e), scale, places, signed) for e in known if e.edit == edit]
            plots.append(element("div", head, lines, class_="forest"))
        if plots:
            groups.append(element("div", element("h3", title), plots, render_axis(scale, signed)))
    order = list_edits(result.effects, kinds)
    rows: list[Row] = [
        (
            effect.edit,
            effect.scheme,
            figure(effect.mean, signed, strong=True),
            Cell(interval(effect.low, effect.high), effect.low),
            *(figure(share, percent) for share in (effect.rising, effect.falling, effect.unchanged)),
            *(figure(count) for count in (effect.pairs, effect.prompts, effect.unknown)),
            Cell(signed(effect.per_spread, 2), effect.per_spread),
            Cell(
                (signed(effect.paper), " ", element("small", interval(effect.paper_low, effect.paper_high))),
                effect.paper,
            ),
        )
        for effect in sorted(result.effects, key=lambda effect: order.index(effect.edit))
    ]
    everything = fold("All figures as a table", table("Effects", _HEADS, rows, sortable=True), note(NOTES["columns"]))
    return join(note(NOTES["effects"]), legend, groups, everything)


def render_shares(result: AuditResult, places: Places) -> Html | None:
    """Naming as a share of substance."""
    marks = {share.scheme: Mark(share.value, share.low, share.high, share.paper) for share in result.naming_share}
    return _render_plot(NOTES["shares"], marks, places, percent)


def render_placement(result: AuditResult, places: Places) -> Html | None:
    """Substance at the end against substance in its place."""
    marks = {effect.scheme: _mark(effect) for effect in result.placement}
    return _render_plot(NOTES["placement"], marks, places, signed)


def render_coverage(coverage: Mapping[tuple[str, bool], Sequence[float]]) -> Html | None:
    """Coverage of the answers that pass appropriateness, next to those that fail it.

    An answer is a stroke, darker if several overlap, and the mean a shape.
    """
    plots: list[Html] = []
    for kind in (ANSWER, *EDITS):
        if (kind, True) not in coverage and (kind, False) not in coverage:
            continue
        lines: list[Html] = []
        for place, (passed, name) in enumerate(((True, "passes"), (False, "fails"))):
            shares = coverage.get((kind, passed), ())
            mean = fmean(shares) if shares else None
            bins = Counter(round(share / 100 * _BINS) for share in shares)
            strokes: list[Html] = []
            for number, count in sorted(bins.items()):
                at, opacity = _PERCENT.place(100 * number / _BINS), f"{0.25 + 0.55 * count / max(bins.values()):.2f}"
                ends = {"x1": at, "x2": at, "y1": "15%", "y2": "85%"}
                strokes.append(element("line", **ends, class_="stroke", stroke_opacity=opacity))
            shape, style = None if mean is None else place_shape(place, mean, _PERCENT), ("pass", "fail")[place]
            strip = element("svg", _grid(_PERCENT), strokes, shape, class_=f"plot {style}", aria_hidden="true")
            figures = (element("b", plain(mean)), " ", element("small", f"{len(shares)} answers"))
            lines.append(_join_line(place, name, strip, *figures))
        title = "the answer as it is" if kind == ANSWER else kind
        plots.append(element("div", element("h4", title), lines, class_="forest"))
    return join(note(NOTES["coverage"]), plots, render_axis(_PERCENT, plain)) if plots else None


def render_line(mark: Mark, scale: Scale, place: int) -> Html:
    """One line of a forest plot: the interval and the mark of the scheme at this place, and the paper's, hollow."""
    shapes = [_grid(scale)]
    paper, ours = (mark.paper, mark.paper_low, mark.paper_high), (mark.value, mark.low, mark.high)
    for (value, low, high), key in ((paper, None), (ours, place)):
        if value is None:
            continue
        if low is not None and high is not None:
            ends = {"x1": scale.place(low), "x2": scale.place(high)}
            shapes.append(element("line", **ends, y1="50%", y2="50%", class_=f"span {class_of(key)}"))
        shapes.append(place_shape(key, value, scale))
    return element("svg", shapes, class_="plot", aria_hidden="true")


def render_axis(scale: Scale, show: Show) -> Html:
    """The line with the figures of the ticks, under the lines of a plot."""
    anchors = ["start", *["middle"] * (len(scale.ticks) - 2), "end"]
    texts = [
        element("text", show(tick).replace(".0", ""), x=scale.place(tick), y="12", text_anchor=anchor)
        for tick, anchor in zip(scale.ticks, anchors, strict=True)
    ]
    axis, empty = element("svg", texts, class_="plot axis", aria_hidden="true"), element("span")
    return element("div", empty, axis, empty, class_="line axis-line")


def _render_plot(text: str, marks: Mapping[str, Mark], places: Places, show: Show) -> Html | None:
    if not marks:
        return None
    scale = make_scale(chain(*marks.values()))
    lines = [_render_line(name, mark, scale, places, show) for name, mark in marks.items()]
    return join(note(text), element("div", lines, render_axis(scale, show), class_="forest"))


def _render_line(name: str, mark: Mark, scale: Scale, places: Places, show: Show) -> Html:
    place = places.get(name, 0)
    line = render_line(mark, scale, place)
    if mark.value is None:
        return _join_line(place, name, line, element("small", "not known"))
    ends = "" if mark.low is None or mark.high is None else f"{show(mark.low)} to {show(mark.high)}"
    paper = "" if mark.paper is None else f"paper {show(mark.paper)}"
    figures = (element("b", show(mark.value)), " ", element("small", ends), " ", element("small", paper))
    return _join_line(place, name, line, *figures)


def _join_line(place: int, name: str, plot: Html, *figures: str) -> Html:
    label = element("span", render_key(place), name, class_="name")
    return element("div", label, plot, element("span", figures, class_="figure"), class_="line")


def _mark(effect: Effect) -> Mark:
    return Mark(effect.mean, effect.low, effect.high, effect.paper, effect.paper_low, effect.paper_high)


def _grid(scale: Scale) -> Html:
    places = [(scale.place(tick), "grid" if tick else "zero") for tick in scale.ticks]
    return join(element("line", x1=place, x2=place, y1="0", y2="100%", class_=name) for place, name in places)
