"""The figures of a comparison, as png and svg: c against g, training curves, length control, KL sweep, the audit.

Drawn with matplotlib's object interface and no display. A figure that lacks its rows is not drawn.
"""

import math
from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prorubric.lab.incentive import EDITS
from prorubric.lab.rows import BASE, SchemeRow
from prorubric.lab.schemes import KL_WEIGHTS
from prorubric.lab.summary import LabResult

_COLOURS = {"additive": "#b3261e", "prorubric": "#1b5e20", "graded": "#388e3c", "raw-and": "#1565c0"}
_COLOURS |= {"implicit": "#6a1b9a", "k1": "#00838f", "weighted": "#ef6c00", "length-matched": "#8d6e63"}
_GREY = "#607d8b"
_CURVES = ("additive", "raw-and", "prorubric", "graded", "implicit", "k1")
_SIZE = (6.4, 4.4)


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
        axes.errorbar(
            x, y, _sd(row.c.sd), _sd(row.g.sd), fmt="o", markersize=4, color=_colour(row.scheme), linewidth=0.8
        )
        axes.annotate(row.scheme, (x, y), textcoords="offset points", xytext=(4, 3), fontsize=6)
    axes.set(xlabel="coverage g", ylabel="appropriateness c")
    axes.margins(x=0.15)
    return True


def _draw_curves(result: LabResult, axes: Axes) -> bool:
    """How c goes during training."""
    rows = [row for row in result.rows if row.scheme in _CURVES]
    for row in rows:
        steps = [point.step for point in row.curve]
        axes.plot(steps, [100 * point.c.mean for point in row.curve], label=row.scheme, color=_colour(row.scheme))
    axes.set(xlabel="step", ylabel="appropriateness c")
    axes.legend(fontsize=7) if rows else None
    return bool(rows)


def _draw_length(result: LabResult, axes: Axes) -> bool:
    """C against length: half the length does not undo the collapse if it is not about length."""
    rows = [row for row in result.rows if "-kl-" not in row.scheme and "+" not in row.scheme]
    base = result.base.sampled
    axes.plot(base.tokens, 100 * base.c, "*", color="black", markersize=12, label=BASE)
    axes.legend(fontsize=7)
    axes.margins(x=0.15)
    for row in rows:
        axes.plot(row.tokens.mean, 100 * row.c.mean, "o", color=_colour(row.scheme))
        place = (row.tokens.mean, 100 * row.c.mean)
        axes.annotate(row.scheme, place, textcoords="offset points", xytext=(4, 3), fontsize=7)
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
    axes.imshow(values, cmap="RdYlGn_r", vmin=-12, vmax=12, aspect="auto")
    axes.set_xticks(range(len(EDITS)), list(EDITS), rotation=30, ha="right", fontsize=7)
    axes.set_yticks(range(len(schemes)), schemes, fontsize=7)
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            axes.text(x, y, "–" if math.isnan(value) else f"{value:+.1f}", ha="center", va="center", fontsize=7)
    return True


def _draw_prediction(result: LabResult, axes: Axes) -> bool:
    """What naming pays before training, and c after it."""
    audit = {effect.scheme: effect.per_spread for effect in result.base.audit.effects if effect.edit == "name-item"}
    rows = [row for row in result.rows if audit.get(row.scheme) is not None]
    for row in rows:
        place = (audit[row.scheme], 100 * row.c.mean)
        axes.plot(*place, "o", color=_colour(row.scheme))
        axes.annotate(row.scheme, place, textcoords="offset points", xytext=(4, 3), fontsize=7)
    axes.margins(x=0.2)
    axes.set(xlabel="what naming pays before training, in spreads of a group", ylabel="c after training")
    return len(rows) > 1


_FIGURES: dict[str, tuple[str, Callable[[LabResult, Axes], bool]]] = {
    "plane": ("Coverage and appropriateness", _draw_plane),
    "curves": ("Appropriateness during training", _draw_curves),
    "length": ("Length control", _draw_length),
    "kl": ("KL sweep", _draw_kl),
    "audit": ("What edits pay before training", _draw_audit),
    "prediction": ("The audit's forecast and the outcome", _draw_prediction),
}


def _sweep(result: LabResult, scheme: str) -> list[tuple[float, SchemeRow | None]]:
    return [(kl, result.row(f"{scheme}-kl-{kl}" if kl else scheme)) for kl in (0, *KL_WEIGHTS)]


def _colour(scheme: str) -> str:
    return _COLOURS.get(scheme.split("+", maxsplit=1)[0].split("-kl-", maxsplit=1)[0], _GREY)


def _sd(sd: float | None) -> float | None:
    return None if sd is None else 100 * sd
