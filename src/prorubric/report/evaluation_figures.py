"""`write_evaluation_figures`: the differences, the blind pairs and the lengths as SVG files, for papers and slides.

Each file stands alone: its colours are written into it, and marks differ by shape as well.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from prorubric.evaluate.compare import Comparisons
from prorubric.report.evaluation_tables import title_of
from prorubric.report.numbers import percent, plain, signed
from prorubric.report.page import Html, element, join, write_whole
from prorubric.report.plots import make_scale, place_shape

FOLDER = "figures"
_WIDTH, _LEFT, _PLOT, _LINE = 860, 300, 360, 20
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1b1f24; } .soft { fill: #5b6470; } .head { font-weight: 600; }
.grid { stroke: #dcdcd6; } .zero { stroke: #5b6470; } .span { stroke-width: 2; } .missed { fill: #ecece8; }
path { stroke: #fff; stroke-width: .8; }
.c0 { fill: #0072b2; stroke: #0072b2; } .c1 { fill: #d55e00; stroke: #d55e00; } .c2 { fill: #009e73; stroke: #009e73; }
.c3 { fill: #cc79a7; stroke: #cc79a7; } .c4 { fill: #e69f00; stroke: #e69f00; } .c5 { fill: #56b4e9; stroke: #56b4e9; }
.c6 { fill: #33383f; stroke: #33383f; } .tie { fill: #dcdcd6; } .split { fill: #9aa0a6; }
path.paper { fill: none; stroke: #1b1f24; stroke-width: 1.3; } polygon.band { opacity: .14; stroke: none; }
polyline.mean, polyline.part { fill: none; vector-effect: non-scaling-stroke; }
.mean { stroke-width: 2; } .part { stroke-width: .8; opacity: .5; }
"""


class _Line(NamedTuple):
    """One line of a figure: a head, or a name with what is drawn in the middle and the figures on the right."""

    name: str
    drawn: Html | None = None
    figures: str = ""


def write_evaluation_figures(folder: Path, found: Comparisons) -> tuple[Path, ...]:
    """Write what there is to draw into `figures/` of this folder."""
    out = folder / FOLDER
    out.mkdir(parents=True, exist_ok=True)
    drawn = {"differences": _draw_differences(found), "pairs": _draw_pairs(found), "lengths": _draw_lengths(found)}
    for name in [name for name, text in drawn.items() if not text]:  # of an earlier comparison
        (out / f"{name}.svg").unlink(missing_ok=True)
    return tuple(write_whole(out / f"{name}.svg", text.encode()) for name, text in drawn.items() if text)


def _draw_differences(found: Comparisons) -> Html | None:
    """Every difference with its interval over items, on one scale; grey is what the data would often miss."""
    rows = [row for table in found.tables for row in table.differences]
    if not rows:
        return None
    scale = make_scale(end for row in rows for end in (row.low, row.high, row.mean))
    places = _place_methods(found)
    grid = join(
        element(
            "line", x1=scale.place(tick), x2=scale.place(tick), y1="0", y2="100%", class_="grid" if tick else "zero"
        )
        for tick in scale.ticks
    )
    lines = []
    for table in found.tables:
        lines.append(_Line(", ".join(filter(None, (title_of(table.benchmark), table.judge)))))
        for row in table.differences:
            size = row.smallest_found or 0.0
            left, right = (min(max(scale.share(end), 0.0), 100.0) for end in (-size, size))
            band = element("rect", x=f"{left:.2f}%", width=f"{right - left:.2f}%", height="100%", class_="missed")
            place, shapes = places.get(row.first, 0), [band, grid]
            if row.low is not None and row.high is not None:
                ends = {"x1": scale.place(row.low), "x2": scale.place(row.high)}
                shapes.append(element("line", **ends, y1="50%", y2="50%", class_=f"span c{place % 7}"))
            if row.mean is not None:
                shapes.append(place_shape(place, row.mean, scale))
            shown = f"{signed(row.mean)}  [{signed(row.low)}, {signed(row.high)}]{' (!)' if row.could_flip else ''}"
            lines.append(_Line(f"{row.first} − {row.second}", join(shapes), shown))
    ticks = [(scale.share(tick), signed(tick).replace(".0", "")) for tick in scale.ticks]
    return _draw("Differences in points, 95% intervals over items", lines, ticks)


def _draw_pairs(found: Comparisons) -> Html | None:
    """Wins, ties, inconsistent results and losses of every pair."""
    lines, last = list[_Line](), None
    for row in found.pairs:
        if (row.benchmark, row.judge) != last:
            lines.append(_Line(f"{title_of(row.benchmark)}, {row.judge}"))
            last = (row.benchmark, row.judge)
        bars, left = list[Html](), 0.0
        for number, style in ((row.wins, "c0"), (row.ties, "tie"), (row.inconsistent, "split"), (row.losses, "c1")):
            width = 100 * number / row.n if row.n else 0.0
            bars.append(element("rect", x=f"{left:.2f}%", y="15%", width=f"{width:.2f}%", height="70%", class_=style))
            left += width
        shown = f"{percent(row.win_rate)}  W {row.wins} T {row.ties} I {row.inconsistent} L {row.losses}"
        lines.append(_Line(f"{row.policy} against {row.other}", join(bars), shown))
    title = "Blind pairs: wins, ties, inconsistent, losses, from left to right"
    return _draw(title, lines, [(share, f"{share}%") for share in (0, 50, 100)]) if lines else None


def _draw_lengths(found: Comparisons) -> Html | None:
    """The mean length of every policy's answers, with its score on the right."""
    rows = [(table, arm) for table in found.tables for arm in table.arms if arm.characters]
    if not rows:
        return None
    scale, places = make_scale(arm.characters for _, arm in rows), _place_methods(found)
    lines = []
    for table in found.tables:
        own = [arm for other, arm in rows if other is table]
        if own:
            lines.append(_Line(", ".join(filter(None, (title_of(table.benchmark), table.judge)))))
        for arm in own:
            mark = place_shape(places[arm.method], arm.characters or 0.0, scale)
            lines.append(_Line(arm.policy, mark, f"{arm.characters:,.0f} characters, score {plain(arm.mean)}"))
    ticks = [(scale.share(tick), f"{tick:,.0f}") for tick in scale.ticks]
    return _draw("Mean length of the answers, in characters", lines, ticks)


def _draw(title: str, lines: Sequence[_Line], ticks: Iterable[tuple[float, str]]) -> Html:
    """A whole file: names on the left, drawings in the middle, figures on the right, ticks below."""
    parts, y = [element("text", title, x=8, y=18, class_="head")], 30
    for line in lines:
        y += _LINE // 2 if line.drawn is None else 0
        style = "head" if line.drawn is None else None
        parts.append(element("text", line.name, x=8 if style else 20, y=y + 14, class_=style))
        if line.drawn is not None:
            parts.append(element("svg", line.drawn, x=_LEFT, y=y, width=_PLOT, height=_LINE, overflow="visible"))
            parts.append(element("text", line.figures, x=_LEFT + _PLOT + 16, y=y + 14, class_="soft"))
        y += _LINE
    for share, shown in ticks:
        x = f"{_LEFT + _PLOT * share / 100:.1f}"
        parts.append(element("text", shown, x=x, y=y + 14, text_anchor="middle", class_="soft"))
    background = element("rect", width="100%", height="100%", fill="#fff")
    return element(
        "svg",
        *(element("title", title), element("style", Html(STYLE)), background, parts),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {y + 26}",
        width=_WIDTH,
        height=y + 26,
    )


def _place_methods(found: Comparisons) -> dict[str, int]:
    names = dict.fromkeys(side.name for table in found.tables for side in table.sides)
    return {name: place for place, name in enumerate(names)}
