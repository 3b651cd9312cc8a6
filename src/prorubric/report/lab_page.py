"""The page of a comparison in the lab, `report.html`: what the lab is not, tables, goals, figures."""

import base64
from collections.abc import Mapping
from pathlib import Path

from prorubric.lab.incentive import EDITS
from prorubric.lab.measure import PARTS, WITHOUT
from prorubric.lab.results import SchemeRow
from prorubric.lab.summary import LabResult
from prorubric.report.numbers import UNKNOWN, percent, signed
from prorubric.report.page import (
    NOTES,
    Cell,
    Html,
    Row,
    element,
    join,
    note,
    own_words,
    render_page,
    table,
    write_whole,
)


def write_lab_page(path: Path, result: LabResult, figures: Mapping[str, Path]) -> Path:
    """Write the page; the figures, SVG files by title, are inside it."""
    title, seeds = f"The lab: {result.world}", ", ".join(map(str, result.seeds))
    paired: list[Row] = []
    for row in result.rows:
        if row.c_over_additive and row.scheme != "additive":
            leads = (row.c_over_additive, row.g_over_additive)
            paired.append((own_words(row.scheme), *(Cell(", ".join(signed(100 * x) for x in lead)) for lead in leads)))
    goals, words = [], {True: ("met", "ok"), False: ("not met", "bad"), None: ("open", None)}
    for goal in result.goals:
        word, style = words[goal.met]
        goals.append(element("li", element("b", word, class_=style), f": {goal.goal}: ", own_words(goal.finding)))
    images = []
    for name, svg in figures.items():
        # As an image: the page's policy and style are for its own markup, and the SVG has its own style.
        source = f"data:image/svg+xml;base64,{base64.b64encode(svg.read_bytes()).decode()}"
        images.append(element("figure", element("figcaption", name), element("img", src=source, alt=name)))
    sections = (
        ("Schemes", _render_schemes(result)),
        ("The parts of c", _render_parts(result)),
        ("Over additive, seed by seed", table("Over additive", ("scheme", "c", "g"), paired) if paired else None),
        ("Goals", element("ul", goals)),
        ("Compared with the paper and the audit", _render_correlations(result)),
        ("What edits pay before training (× 100)", _render_audit(result)),
        ("Figures", join(images)),
    )
    body = join(
        element("header", element("h1", title), element("p", NOTES["lab"], class_="warn")),
        note(f"{result.steps} steps, seeds {seeds}; × 100, mean ± standard deviation over seeds."),
        [element("section", element("h2", head), content) for head, content in sections if content],
    )
    return write_whole(path, render_page(title, body))


def _render_schemes(result: LabResult) -> Html:
    rows: list[Row] = []
    for row in (result.base_row, *result.rows):
        ties = f"{100 * row.ties_first.mean:.0f} / {100 * row.ties_last.mean:.0f}" if isinstance(row, SchemeRow) else ""
        paper = [figures.get(row.scheme) for figures in (result.paper_g, result.paper_c)]
        spreads = (row.g, row.g_lenient, row.c, row.c_greedy, row.accuracy, row.accuracy_greedy, row.naming)
        rows.append(
            (
                own_words(row.scheme),
                *(Cell(spread.render(), spread.mean) for spread in spreads),
                Cell(f"{row.tokens.mean:.0f}", row.tokens.mean),
                Cell(ties),
                *(Cell("" if figure is None else f"{figure:.1f}", figure) for figure in paper),
            )
        )
    heads = ("scheme", "g", "g lenient", "c", "c greedy", "right", "right, greedy", "only named", "tokens")
    return table("Schemes", (*heads, "ties first/last 50", "paper g", "paper c"), rows, sortable=True)


def _render_parts(result: LabResult) -> Html:
    sets = "; ".join(f"{name}: {', '.join(left_out)}" for name, left_out in WITHOUT.items())
    told = f"c is the mean of its parts; it is also given without the sets {sets}."
    base, additive = result.base_row, result.row("additive")
    if additive is not None:
        ends = [f"{100 * row.c.mean:.1f}" for row in (base, additive)]
        rest = [f"{100 * row.c_without['length'].mean:.1f}" for row in (base, additive)]
        told += (
            f" Under additive c goes from {' to '.join(ends)}, and without {', '.join(WITHOUT['length'])}, which count "
            f"and fall with length, from {' to '.join(rest)}."
        )
    rows: list[Row] = []
    for row in (base, *result.rows):
        spreads = [*(row.parts[part] for part in PARTS), *(row.c_without[name] for name in WITHOUT)]
        rows.append((own_words(row.scheme), *(Cell(spread.render(), spread.mean) for spread in spreads)))
    heads = ("scheme", *PARTS, *(f"c without {name}" for name in WITHOUT))
    return join(note(told), table("The parts of c", heads, rows, sortable=True))


def _render_correlations(result: LabResult) -> Html:
    trained = "trained rows without the KL sweep"
    listed = {
        "c and the paper's c": result.correlation_c,
        "c (greedy) and the paper's c": result.correlation_c_greedy,
        **{f"c without {name}, and the paper's c": found for name, found in result.correlations_c_without.items()},
        "g and the paper's g": result.correlation_g,
        f"c, {trained}": result.correlation_c_trained,
        **{f"c without {name}, {trained}": found for name, found in result.correlations_c_without_trained.items()},
        f"g, {trained}": result.correlation_g_trained,
        **{f"what {x.edit} pays before training, and c after it": x.correlation for x in result.predictions},
    }
    rows = [(name, Cell(signed(found.rho, 2), found.rho), Cell(len(found.rows))) for name, found in listed.items()]
    return table("Rank correlations", ("rank correlation (Spearman)", "ρ", "rows"), rows)


def _render_audit(result: LabResult) -> Html:
    audit = result.base.audit
    rows: list[Row] = []
    for found in audit.forecast:
        cells = []
        for edit in EDITS:
            effect = audit.effect(edit, found.scheme)
            paper = "" if effect.paper is None else f" ({signed(effect.paper)})"
            cells.append(Cell(UNKNOWN if effect.mean is None else f"{signed(effect.mean)}{paper}", effect.mean))
        rows.append((own_words(found.scheme), *cells, Cell(percent(found.tied), found.tied)))
    return table("What edits pay", ("scheme", *EDITS, "groups tied"), rows, sortable=True)
