"""`write_audit_tables`: the figures of an audit as csv, for a notebook, and as LaTeX tables, for a paper.

The figures are those of `summary.json`, `prices.jsonl` and `hacks.jsonl`, with every digit in csv and one in LaTeX. A
figure that is not known is an empty field in csv and a dash in LaTeX, never 0.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_origin

from prorubric.audit import folder as names
from prorubric.audit.cases import AGAIN
from prorubric.audit.records import AuditResult, Effect, FixedChange, Forecast, Hack, NamingPrice, Share
from prorubric.files.tables import open_csv
from prorubric.report.audit_folder import list_edits, open_audit
from prorubric.report.numbers import signed
from prorubric.report.page import NOTES, write_whole
from prorubric.rubric.base import Record

Block = tuple[Sequence[str], Sequence[str]]  # the heads and the rows of one tabular
_SCHEMES_ACROSS = 5  # columns that fit on a page of a paper
_LATEX = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {sign: f"\\{sign}" for sign in "{}&%$#_"}
)


def write_audit_tables(folder: Path) -> tuple[Path, ...]:
    """Write the tables of the audit in this run folder; raises `SourceError` if it holds none."""
    audit = open_audit(folder)
    result = audit.result
    tables: tuple[tuple[str, type[Record], Iterable[Record]], ...] = (
        (names.EFFECTS_CSV, Effect, result.effects),
        (names.SHARES_CSV, Share, result.naming_share),
        (names.FIXED_CSV, FixedChange, result.fixed),
        (names.FORECAST_CSV, Forecast, result.forecast),
        (names.PRICES_CSV, NamingPrice, audit.read(names.PRICES, NamingPrice)),
        (names.HACKS_CSV, Hack, audit.read(names.HACKS, Hack)),
    )
    for name, record, rows in tables:
        heads: list[str] = []
        for field, about in record.model_fields.items():
            by_scheme = get_origin(about.annotation) is dict
            heads += [f"{field}:{scheme}" for scheme in result.schemes] if by_scheme else [field]
        with open_csv(folder / name, heads) as write:
            for row in rows:
                cells: dict[str, object] = {}
                for field, value in row.model_dump().items():
                    if isinstance(value, dict):
                        cells |= {f"{field}:{scheme}": reward for scheme, reward in value.items()}
                    else:
                        cells[field] = " ".join(map(str, value)) if isinstance(value, tuple) else value
                write(cells)
    latex = {names.EFFECTS_TEX: render_latex(result), names.FORECAST_TEX: render_forecast_latex(result)}
    written = [write_whole(folder / name, text.encode(errors="replace")) for name, text in latex.items()]
    return (*(folder / name for name, _, _ in tables), *written)


def render_latex(result: AuditResult) -> str:
    """Edits down, schemes across, with intervals; in each column the best paid of the worthless edits is bold.

    More schemes than fit on a page make several blocks under one caption. Needs the package booktabs.
    """
    schemes = list(dict.fromkeys(effect.scheme for effect in result.effects))
    found = {(effect.edit, effect.scheme): effect for effect in result.effects}
    worst = {line.scheme: line.worst[0] for line in result.headline if line.worst}
    blocks: list[Block] = []
    for start in range(0, len(schemes), _SCHEMES_ACROSS):
        across = schemes[start : start + _SCHEMES_ACROSS]
        rows: list[str] = []
        for edit in list_edits(result.effects, result.kinds):
            if edit == AGAIN:
                rows.append(r"\midrule")
            cells = [escape_latex(edit)]
            for scheme in across:
                effect = found.get((edit, scheme))
                ends = (effect.mean, effect.low, effect.high) if effect else (None, None, None)
                mean, low, high = (signed(value).replace("−", "-") for value in ends)
                shown = f"\\textbf{{\\boldmath${mean}$}}" if worst.get(scheme) == edit else f"${mean}$"
                span = "" if None in ends else f" {{\\footnotesize $[{low}, {high}]$}}"
                cells.append("--" if ends[0] is None else f"{shown}{span}")
            rows.append(render_row(cells))
        blocks.append((["edit", *map(escape_latex, across)], rows))
    dead = ", ".join(escape_latex(line.scheme) for line in result.headline if not line.alive)
    caption = _render_caption("effects-caption", result)
    caption += f" The judge is not alive under {dead}: no verdict there." if dead else ""
    return render_table(blocks, caption)


def render_forecast_latex(result: AuditResult) -> str:
    """Whether groups of answers would teach anything: one line for each scheme. Needs the package booktabs."""
    rows: list[str] = []
    for row in result.forecast:
        tied = _render_figure(None if row.tied is None else 100 * row.tied, 0)
        figures = map(_render_figure, (row.levels, row.spread, row.mean))
        cells = [escape_latex(row.scheme), tied, *figures, str(row.groups), _render_figure(row.size)]
        rows.append(render_row(cells))
    heads = ["scheme", r"tied (\%)", "levels", "spread", "mean", "groups", "answers"]
    return render_table([(heads, rows)], _render_caption("forecast-caption", result))


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is, on one line."""
    return " ".join(text.split()).translate(_LATEX)


def _render_caption(name: str, result: AuditResult) -> str:
    names = ("tasks", "answers", "answers_from", "judge", "editor", "dimensions_from")
    return NOTES[name].format_map({name: escape_latex(str(getattr(result, name))) for name in names})


def render_table(blocks: Iterable[Block], caption: str) -> str:
    """One or several tabulars under one caption, of cells that are LaTeX. Needs the package booktabs."""
    tabulars: list[str] = []
    for heads, rows in blocks:
        opening = f"\\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}"
        lines = (opening, r"\toprule", render_row(heads), r"\midrule", *rows, r"\bottomrule", r"\end{tabular}")
        tabulars.append("\n".join(lines))
    body = "\n\\par\\medskip\n".join(tabulars)
    return "\n".join((r"\begin{table}", r"\centering", r"\small", body, f"\\caption{{{caption}}}", r"\end{table}", ""))


def render_row(cells: Sequence[str]) -> str:
    """One line of a tabular."""
    return " & ".join(cells) + r" \\"


def _render_figure(value: float | None, digits: int = 1) -> str:
    return "--" if value is None else f"{value:.{digits}f}"
