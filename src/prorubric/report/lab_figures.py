"""The figures of a comparison, as PNG and SVG: c against g, training curves, length control, KL sweep, the audit.

Drawn with matplotlib's object interface and no display. A figure that lacks its rows is not drawn.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prorubric.lab.incentive import EDITS
from prorubric.lab.results import BASE
from prorubric.lab.schemes import KL_WEIGHTS
from prorubric.lab.summary import LabResult

# Okabe and Ito's colours, which people who see fewer colours can tell apart; markers say the same again.
_STYLES = {
    "additive": ("#D55E00", "o"),
    "prorubric": ("#0072B2", "s"),
    "graded": ("#56B4E9", "D"),
    "raw-and": ("#009E73", "^"),
    "implicit": ("#CC79A7", "v"),
    "k1": ("#000000", "P"),
    "weighted": ("#E69F00", "X"),
    "length-matched": ("#A08C00", "<"),
}
_OTHER_STYLE = ("#607d8b", "h")
_OWN_LINES = ("--", ":", "-.")
_CURVES = ("additive", "raw-and", "prorubric", "graded", "implicit", "k1")
# About the size of the axes, of a letter and of a line of a label, in points: labels are kept apart with these.
_WIDTH, _HEIGHT, _LETTER, _LINE = 400.0, 270.0, 3.5, 7.0

Draw = Callable[[LabResult, Axes], bool]  # draws a figure, and says whether the rows for it are there


def draw_figures(result: LabResult, folder: Path) -> dict[str, Path]:
    """Draw what the rows allow; the SVG of each figure by its title."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, Path] = {}
    figures: tuple[tuple[str, str, Draw], ...] = (
        ("plane", "Coverage and appropriateness", partial(_draw_dots, name="g", label="coverage g")),
        ("curves", "Appropriateness during training", partial(_draw_curves, name="c", label="appropriateness c")),
        ("coverage", "Coverage during training", partial(_draw_curves, name="g", label="coverage g")),
        ("length", "Length control", partial(_draw_dots, name="tokens", label="tokens of an answer")),
        ("kl", "KL sweep", _draw_kl),
        ("audit", "What edits pay before training", _draw_audit),
        ("prediction", "The audit's forecast and the outcome", _draw_prediction),
    )
    for name, title, draw in figures:
        figure = Figure(figsize=(6.4, 4.4), layout="constrained")
        if draw(result, figure.subplots()):
            for kind in ("png", "svg"):
                figure.savefig(folder / f"{name}.{kind}", dpi=150, metadata={"Date": None} if kind == "svg" else None)
            drawn[title] = folder / f"{name}.svg"
    return drawn


def _draw_dots(result: LabResult, axes: Axes, name: str, label: str) -> bool:
    """Rows by `c` and another measure; by tokens, half the length does not undo a collapse that is not about length."""
    base = result.base_row
    scale = 1 if name == "tokens" else 100
    plain = [row for row in result.rows if name != "tokens" or not ("-kl-" in row.scheme or "+" in row.scheme)]
    star = scale * getattr(base, name).mean, 100 * base.c.mean
    axes.axhline(star[1], color=_OTHER_STYLE[0], linewidth=0.8, linestyle=":")
    axes.plot(*star, "*", color="black", markersize=12)
    axes.annotate(BASE, star, textcoords="offset points", xytext=(6, 4), fontsize=8)
    axes.set(xlabel=label, ylabel="appropriateness c")
    for row in plain:
        spread, (colour, marker) = getattr(row, name), _find_style(row.scheme)
        errors = [None if sd is None else factor * sd for sd, factor in ((row.c.sd, 100), (spread.sd, scale))]
        x, y = scale * spread.mean, 100 * row.c.mean
        axes.errorbar(x, y, *errors, fmt=marker, markersize=4, color=colour, linewidth=0.8)
    _label_apart(axes, [(scale * getattr(row, name).mean, 100 * row.c.mean, row.scheme) for row in plain])
    return bool(plain)


def _draw_curves(result: LabResult, axes: Axes, name: str, label: str) -> bool:
    own = [row.scheme for row in result.rows if ":" in row.scheme]
    rows = [row for row in result.rows if row.scheme in _CURVES or row.scheme in own]
    for row in rows:
        # The user's own functions share a colour, so their lines differ.
        line = _OWN_LINES[own.index(row.scheme) % len(_OWN_LINES)] if row.scheme in own else "-"
        colour, marker = _find_style(row.scheme)
        means = [100 * getattr(point, name).mean for point in row.curve]
        steps = [point.step for point in row.curve]
        axes.plot(steps, means, color=colour, marker=marker, markersize=4, linestyle=line, label=row.scheme)
    axes.set(xlabel="step", ylabel=label)
    if rows:
        axes.legend(fontsize=7)
    return bool(rows)


def _draw_kl(result: LabResult, axes: Axes) -> bool:
    found = False
    for scheme in ("additive", "prorubric"):
        rows = {kl: result.row(f"{scheme}-kl-{kl}" if kl else scheme) for kl in (0, *KL_WEIGHTS)}
        sweep = {f"{kl:g}": row for kl, row in rows.items() if row is not None}
        found |= len(sweep) > 1
        for name, style in (("c", "-"), ("g", "--")):
            values = [100 * getattr(row, name).mean for row in sweep.values()]
            colour, _ = _find_style(scheme)
            axes.plot(list(sweep), values, style, marker="o", color=colour, label=f"{scheme}: {name}")
    axes.set(xlabel="KL weight", ylabel="c and g")
    axes.legend(fontsize=7)
    return found


def _draw_audit(result: LabResult, axes: Axes) -> bool:
    audit = result.base.audit
    schemes = [found.scheme for found in audit.forecast]
    # An edit that could not be made has no mean: NaN gives it no colour.
    values = np.array([[audit.effect(edit, scheme).mean for edit in EDITS] for scheme in schemes], dtype=float)
    axes.imshow(values, cmap="PuOr_r", vmin=-20, vmax=20, aspect="auto")
    axes.set_xticks(range(len(EDITS)), list(EDITS), rotation=30, ha="right", fontsize=7)
    axes.set_yticks(range(len(schemes)), schemes, fontsize=7)
    for (y, x), value in np.ndenumerate(values):
        axes.text(x, y, "–" if np.isnan(value) else f"{value:+.1f}", ha="center", va="center", fontsize=7)
    return True


def _draw_prediction(result: LabResult, axes: Axes) -> bool:
    """What naming pays before training, and c after it; the page has the other edits' correlations."""
    pays = {effect.scheme: effect.per_spread for effect in result.base.audit.effects if effect.edit == "name-item"}
    found = [(pays.get(row.scheme), 100 * row.c.mean, row.scheme) for row in result.rows]
    places = [(x, y, scheme) for x, y, scheme in found if x is not None]
    for x, y, scheme in places:
        colour, marker = _find_style(scheme)
        axes.plot(x, y, marker, color=colour)
    axes.set(xlabel="what naming pays before training, in spreads of a group", ylabel="c after training")
    _label_apart(axes, places)
    return len(places) > 1


def _label_apart(axes: Axes, places: Sequence[tuple[float, float, str]]) -> None:
    """Label dots; a label that would cover another is moved down until it does not."""
    axes.margins(x=0.2)
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    taken: list[tuple[float, float, float]] = []
    for x, y, text in sorted(places, key=lambda place: -place[1]):
        start, width = (x - left) / (right - left) * _WIDTH, len(text) * _LETTER
        height = level = (y - bottom) / (top - bottom) * _HEIGHT
        while any(abs(level - at) < _LINE and start < end and begin < start + width for begin, end, at in taken):
            level -= 1
        taken.append((start, start + width, level))
        axes.annotate(text, (x, y), textcoords="offset points", xytext=(5, level - height + 2), fontsize=6)


def _find_style(scheme: str) -> tuple[str, str]:
    """Colour and marker: a variant has those of its scheme."""
    return _STYLES.get(scheme.partition("+")[0].partition("-kl-")[0], _OTHER_STYLE)
