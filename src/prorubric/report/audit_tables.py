"""`write_audit_tables`: the figures of an audit as csv, for a notebook, and as LaTeX tables, for a paper.

Figures are those of `summary.json`, `prices.jsonl` and `hacks.jsonl`, with every digit in csv and one in LaTeX. A
figure that could not be had is an empty field in csv and a dash in LaTeX, never 0.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_origin

from prorubric.audit.cases import AGAIN
from prorubric.audit.folder import (
    EFFECTS_CSV,
    EFFECTS_TEX,
    FIXED_CSV,
    FORECAST_CSV,
    FORECAST_TEX,
    HACKS_CSV,
    PRICES_CSV,
    SHARES_CSV,
)
from prorubric.audit.records import AuditResult, Effect, FixedChange, Forecast, Hack, NamingPrice, Share
from prorubric.files.tables import open_csv
from prorubric.report.audit_folder import list_edits, open_audit
from prorubric.report.page import write_whole
from prorubric.rubric.base import Record

_SCHEMES_ACROSS = 5
"""A page of a paper is no wider."""

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_"},
}
_LATEX_SIGNS = re.compile("|".join(map(re.escape, _LATEX)))


def write_audit_tables(folder: Path) -> tuple[Path, ...]:
    """Write the tables of the audit in this run folder; raises `SourceError` where there is none."""
    audit = open_audit(folder)
    result = audit.result
    return (
        _write_csv(folder / EFFECTS_CSV, Effect, result.effects),
        _write_csv(folder / SHARES_CSV, Share, result.naming_share),
        _write_csv(folder / FIXED_CSV, FixedChange, result.fixed),
        _write_csv(folder / FORECAST_CSV, Forecast, result.forecast),
        _write_csv(folder / PRICES_CSV, NamingPrice, audit.read_prices()),
        _write_csv(folder / HACKS_CSV, Hack, audit.read_hacks(), result.schemes),
        write_whole(folder / EFFECTS_TEX, render_latex(result).encode(errors="replace")),
        write_whole(folder / FORECAST_TEX, render_forecast_latex(result).encode(errors="replace")),
    )


def render_latex(result: AuditResult) -> str:
    """Edits down, schemes across, with intervals; in each column the best paid of the worthless edits is bold.

    More schemes than a page is wide make several blocks under one caption. The document needs the package booktabs.
    """
    schemes = list(dict.fromkeys(effect.scheme for effect in result.effects))
    blocks = [
        _render_block(result, schemes[start : start + _SCHEMES_ACROSS])
        for start in range(0, len(schemes), _SCHEMES_ACROSS)
    ]
    caption = (
        f"Change of the reward ($\\times 100$) by edit and scheme, with 95\\% intervals over prompts. "
        f"{result.tasks} tasks, {result.answers} answers ({escape_latex(result.answers_from)}); "
        f"judge: {escape_latex(result.judge)}; editor: {escape_latex(result.editor)}; "
        f"dimensions: {escape_latex(result.dimensions_from)}. "
        f"Bold: of the edits that a sound reward does not pay for, the best paid.{_name_dead(result)}"
    )
    return _render_table("\n\\par\\medskip\n".join(blocks), caption)


def render_forecast_latex(result: AuditResult) -> str:
    """Whether groups of answers would teach anything: a scheme a line. The document needs the package booktabs."""
    rows = [
        _render_row(
            [
                escape_latex(row.scheme),
                _render_figure(None if row.tied is None else 100 * row.tied, 0),
                *(_render_figure(value) for value in (row.levels, row.spread, row.mean)),
                str(row.groups),
                _render_figure(row.size),
            ]
        )
        for row in result.forecast
    ]
    caption = (
        "What groups of answers to one prompt would teach: the share of groups whose rewards are all equal, the "
        "effective number of different rewards in a group, their standard deviation and mean ($\\times 100$), the "
        f"number of groups and of answers in each. Answers: {escape_latex(result.answers_from)}; "
        f"judge: {escape_latex(result.judge)}; dimensions: {escape_latex(result.dimensions_from)}."
    )
    heads = ["scheme", r"tied (\%)", "levels", "spread", "mean", "groups", "answers"]
    return _render_table(_render_tabular(heads, rows), caption)


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is, on one line."""
    return _LATEX_SIGNS.sub(lambda sign: _LATEX[sign.group()], " ".join(text.split()))


def _render_block(result: AuditResult, schemes: Sequence[str]) -> str:
    found = {(effect.edit, effect.scheme): effect for effect in result.effects}
    worst = {line.scheme: line.worst[0] for line in result.headline if line.worst}
    rows: list[str] = []
    for edit in list_edits(result.effects):
        if edit == AGAIN:
            rows.append(r"\midrule")
        cells = (_render_effect(found.get((edit, name)), worst.get(name) == edit) for name in schemes)
        rows.append(_render_row([escape_latex(edit), *cells]))
    return _render_tabular(["edit", *map(escape_latex, schemes)], rows)


def _render_table(body: str, caption: str) -> str:
    lines = (r"\begin{table}", r"\centering", r"\small", body, f"\\caption{{{caption}}}", r"\end{table}")
    return "\n".join(lines) + "\n"


def _render_tabular(heads: Sequence[str], rows: Sequence[str]) -> str:
    opening = f"\\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}"
    inner = (opening, r"\toprule", _render_row(heads), r"\midrule", *rows, r"\bottomrule", r"\end{tabular}")
    return "\n".join(inner)


def _name_dead(result: AuditResult) -> str:
    dead = [escape_latex(line.scheme) for line in result.headline if not line.alive]
    return f" The judge is not alive under {', '.join(dead)}: no verdict there." if dead else ""


def _render_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _render_figure(value: float | None, digits: int = 1) -> str:
    return "--" if value is None else f"{value:.{digits}f}"


def _render_effect(effect: Effect | None, bold: bool) -> str:
    if effect is None or effect.mean is None:
        return "--"
    mean = f"${_round(effect.mean)}$"
    shown = f"\\textbf{{\\boldmath{mean}}}" if bold else mean
    if effect.low is None or effect.high is None:
        return shown
    return f"{shown} {{\\footnotesize $[{_round(effect.low)}, {_round(effect.high)}]$}}"


def _round(value: float) -> str:
    """One digit, and no sign on a zero."""
    text = f"{value:+.1f}"
    return "0.0" if float(text) == 0 else text


def _write_csv(path: Path, record: type[Record], rows: Iterable[Record], schemes: Sequence[str] = ()) -> Path:
    heads = [
        head
        for name, field in record.model_fields.items()
        for head in ([f"{name}:{scheme}" for scheme in schemes] if get_origin(field.annotation) is dict else [name])
    ]
    with open_csv(path, heads) as write:
        for row in rows:
            write(_flatten(row))
    return path


def _flatten(row: Record) -> dict[str, object]:
    """What csv can hold: a list as its items with spaces between them, rewards by scheme as a column each."""
    cells: dict[str, object] = {}
    for name, value in row.model_dump().items():
        if isinstance(value, dict):
            cells |= {f"{name}:{key}": inner for key, inner in value.items()}
        else:
            cells[name] = " ".join(map(str, value)) if isinstance(value, tuple) else value
    return cells
