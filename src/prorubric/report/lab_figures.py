"""The figures of a comparison, as png and svg: c against g, training curves, length control, KL sweep, the audit.

Drawn with matplotlib's object interface and no display. A figure that lacks its rows is not drawn.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prorubric.lab.incentive import EDITS
from prorubric.lab.rows import BASE, CurvePoint, SchemeRow
from prorubric.lab.schemes import KL_WEIGHTS
from prorubric.lab.summary import LabResult

# Okabe and Ito's colours, which people who see fewer colours can tell apart; markers say the same again.
_COLOURS = {"additive": "#D55E00", "prorubric": "#0072B2", "graded": "#56B4E9", "raw-and": "#009E73"}
_COLOURS |= {"implicit": "#CC79A7", "k1": "#000000", "weighted": "#E69F00", "length-matched": "#A08C00"}
_MARKERS = {"additive": "o", "prorubric": "s", "graded": "D", "raw-and": "^", "implicit": "v", "k1": "P"}
_MARKERS |= {"weighted": "X", "length-matched": "<"}
_GREY, _OTHER_MARKER = "#607d8b", "h"
_OWN_LINES = ("--", ":", "-.")
_CURVES = ("additive", "raw-and", "prorubric", "graded", "implicit", "k1")
_SIZE = (6.4, 4.4)
# About the size of the axes, of a letter and of a line of a label, in points: labels are kept apart with these.
_WIDTH, _HEIGHT, _LETTER, _LINE = 400.0, 270.0, 3.5, 7.0


def draw_figures(result: LabResult, folder: Path) -> dict[str, Path]:
    """Draw what the rows allow; the svg of each figure by its title."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, Path] = {}
    for name, (title, draw) in _FIGURES.items():
        figure = Figure(figsize=_SIZE, layout="constrained")
        if draw(result, figure.subplots()):
            for kind in ("png", "svg"):
                figure.savefig(folder / f"{name}.{kind}", dpi=150, metadata={"Date": None} if kind == "svg" else None)
            drawn[title] = folder / f"{name}.svg"
    return drawn


def _draw_plane(result: LabResult, axes: Axes) -> bool:
    """Every scheme by its coverage and its appropriateness."""
    base = result.base.sampled
    axes.axhline(100 * base.c, color=_GREY, linewidth=0.8, linestyle=":")
    axes.plot(100 * base.g, 100 * base.c, "*", color="black", markersize=12)
    axes.annotate(BASE, (100 * base.g, 100 * base.c), textcoords="offset points", xytext=(6, 4), fontsize=8)
    for row in result.rows:
        x, y = 100 * row.g.mean, 100 * row.c.mean
        style = {"fmt": _marker(row.scheme), "markersize": 4, "color": _colour(row.scheme), "linewidth": 0.8}
        axes.errorbar(x, y, _sd(row.c.sd), _sd(row.g.sd), **style)
    axes.set(xlabel="coverage g", ylabel="appropriateness c")
    axes.margins(x=0.2)
    _label_apart(axes, [(100 * row.g.mean, 100 * row.c.mean, row.scheme) for row in result.rows])
    return True


def _draw_c_curves(result: LabResult, axes: Axes) -> bool:
    """How c goes during training."""
    axes.set(xlabel="step", ylabel="appropriateness c")
    return _draw_curves(result, axes, lambda point: point.c.mean)


def _draw_g_curves(result: LabResult, axes: Axes) -> bool:
    """How g goes during training."""
    axes.set(xlabel="step", ylabel="coverage g")
    return _draw_curves(result, axes, lambda point: point.g.mean)


def _draw_curves(result: LabResult, axes: Axes, take: Callable[[CurvePoint], float]) -> bool:
    own = [row.scheme for row in result.rows if ":" in row.scheme]
    rows = [row for row in result.rows if row.scheme in _CURVES or row.scheme in own]
    for row in rows:
        # Functions of the user's share a colour, so that their lines differ.
        line = _OWN_LINES[own.index(row.scheme) % len(_OWN_LINES)] if row.scheme in own else "-"
        style = {"color": _colour(row.scheme), "marker": _marker(row.scheme), "markersize": 4, "linestyle": line}
        axes.plot([point.step for point in row.curve], [100 * take(point) for point in row.curve], **style)
    axes.legend([row.scheme for row in rows], fontsize=7) if rows else None
    return bool(rows)


def _draw_length(result: LabResult, axes: Axes) -> bool:
    """C against length: half the length does not undo the collapse if it is not about length."""
    rows = [row for row in result.rows if "-kl-" not in row.scheme and "+" not in row.scheme]
    base = result.base.sampled
    axes.plot(base.tokens, 100 * base.c, "*", color="black", markersize=12, label=BASE)
    axes.legend(fontsize=7)
    axes.margins(x=0.2)
    for row in rows:
        axes.plot(row.tokens.mean, 100 * row.c.mean, _marker(row.scheme), color=_colour(row.scheme))
    _label_apart(axes, [(row.tokens.mean, 100 * row.c.mean, row.scheme) for row in rows])
    axes.set(xlabel="tokens of an answer", ylabel="appropriateness c")
    return bool(rows)


def _draw_kl(result: LabResult, axes: Axes) -> bool:
    """C and g as the KL weight grows."""
    found = False
    for scheme in ("additive", "prorubric"):
        sweep = [(kl, row) for kl, row in _sweep(result, scheme) if row is not None]
        found |= len(sweep) > 1
        labels = [f"{kl:g}" for kl, _ in sweep]
        for name, style in (("c", "-"), ("g", "--")):
            values = [100 * getattr(row, name).mean for _, row in sweep]
            axes.plot(labels, values, style, marker="o", color=_colour(scheme), label=f"{scheme}: {name}")
    axes.set(xlabel="KL weight", ylabel="c and g")
    axes.legend(fontsize=7)
    return found


def _draw_audit(result: LabResult, axes: Axes) -> bool:
    """What each edit pays the untrained policy."""
    schemes = [found.scheme for found in result.base.audit.forecast]
    means = [[result.base.audit.effect(edit, scheme).mean for edit in EDITS] for scheme in schemes]
    # An edit that could not be made has no colour and no number.
    values = [[math.nan if mean is None else mean for mean in row] for row in means]
    axes.imshow(values, cmap="PuOr_r", vmin=-20, vmax=20, aspect="auto")
    axes.set_xticks(range(len(EDITS)), list(EDITS), rotation=30, ha="right", fontsize=7)
    axes.set_yticks(range(len(schemes)), schemes, fontsize=7)
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            axes.text(x, y, "–" if math.isnan(value) else f"{value:+.1f}", ha="center", va="center", fontsize=7)
    return True


def _draw_prediction(result: LabResult, axes: Axes) -> bool:
    """What naming pays before training, and c after it; the page has the other edits' correlations."""
    audit = {effect.scheme: effect.per_spread for effect in result.base.audit.effects if effect.edit == "name-item"}
    rows = [row for row in result.rows if audit.get(row.scheme) is not None]
    places = [(float(audit[row.scheme] or 0.0), 100 * row.c.mean, row.scheme) for row in rows]
    for x, y, scheme in places:
        axes.plot(x, y, _marker(scheme), color=_colour(scheme))
    axes.margins(x=0.25)
    _label_apart(axes, places)
    axes.set(xlabel="what naming pays before training, in spreads of a group", ylabel="c after training")
    return len(rows) > 1


_FIGURES: dict[str, tuple[str, Callable[[LabResult, Axes], bool]]] = {
    "plane": ("Coverage and appropriateness", _draw_plane),
    "curves": ("Appropriateness during training", _draw_c_curves),
    "coverage": ("Coverage during training", _draw_g_curves),
    "length": ("Length control", _draw_length),
    "kl": ("KL sweep", _draw_kl),
    "audit": ("What edits pay before training", _draw_audit),
    "prediction": ("The audit's forecast and the outcome", _draw_prediction),
}


def _sweep(result: LabResult, scheme: str) -> list[tuple[float, SchemeRow | None]]:
    return [(kl, result.row(f"{scheme}-kl-{kl}" if kl else scheme)) for kl in (0, *KL_WEIGHTS)]


def _label_apart(axes: Axes, points: Sequence[tuple[float, float, str]]) -> None:
    """Labels beside their points; one that would cover another is moved down until it does not."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    taken: list[tuple[float, float, float]] = []
    for x, y, text in sorted(points, key=lambda point: -point[1]):
        start, width = (x - left) / (right - left) * _WIDTH, len(text) * _LETTER
        height = level = (y - bottom) / (top - bottom) * _HEIGHT
        while any(abs(level - at) < _LINE and start < end and begin < start + width for begin, end, at in taken):
            level -= 1
        taken.append((start, start + width, level))
        axes.annotate(text, (x, y), textcoords="offset points", xytext=(5, level - height + 2), fontsize=6)


def _colour(scheme: str) -> str:
    return _COLOURS.get(_base(scheme), _GREY)


def _marker(scheme: str) -> str:
    return _MARKERS.get(_base(scheme), _OTHER_MARKER)


def _base(scheme: str) -> str:
    return scheme.split("+", maxsplit=1)[0].split("-kl-", maxsplit=1)[0]


def _sd(sd: float | None) -> float | None:
    return None if sd is None else 100 * sd
