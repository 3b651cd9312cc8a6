"""One self-contained html page for a comparison: what the lab is not, tables, figures, goals."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from prorubric.lab.incentive import EDITS
from prorubric.lab.measure import LENGTH_PARTS, PARTS, WITHOUT
from prorubric.lab.statistics import Spread
from prorubric.lab.summary import LabResult

_NOTICE = (
    "A miniature: a world of a few families of cases, a policy of some 25 thousand weights and a programmed judge. "
    "It shows how a mechanism works. It is not evidence about any real model, judge or dataset."
)
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "body{color:#1c1c1c;background:#fff}"
    "table{border-collapse:collapse;margin:1rem 0;font-size:.85rem;display:block;overflow-x:auto}"
    "th,td{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left}.notice{background:#fff3cd;padding:.7rem 1rem;border-radius:.4rem}"
    "svg{max-width:100%;height:auto}figure{margin:1.5rem 0}.met{color:#0072B2}.not{color:#B34700}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}.notice{background:#4a3b00}"
    "th,td{border-color:#444}figure svg{background:#fff}.met{color:#7cc37f}.not{color:#ff8a80}}"
)


def write_page(result: LabResult, figures: Mapping[str, Path], place: Path) -> None:
    """Write the page, whole or not at all."""
    partial = place.with_name(f".{place.name}.partial")
    partial.write_text(render_page(result, figures), encoding="utf-8")
    partial.replace(place)


def render_page(result: LabResult, figures: Mapping[str, Path]) -> str:
    """The page as text; the svg figures are inside it."""
    parts = [
        f"<h1>The lab: {escape(result.world)}</h1>",
        f'<p class="notice">{escape(_NOTICE)}</p>',
        f"<p>{result.steps} steps, seeds {', '.join(map(str, result.seeds))}; × 100, mean ± s.d.</p>",
        "<h2>Schemes</h2>",
        _table(_SCHEME_HEAD, _scheme_rows(result)),
        "<h2>The parts of c</h2>",
        f"<p>{escape(_say_parts(result))}</p>",
        _table(("scheme", *PARTS, *(f"c without {name}" for name in WITHOUT)), _part_rows(result)),
        "<h2>Over additive, seed by seed</h2>",
        _table(("scheme", "c", "g"), _paired_rows(result)),
        "<h2>Goals</h2>",
        _goals(result),
        "<h2>Beside the paper and the audit</h2>",
        _correlations(result),
        "<h2>What edits pay before training (× 100)</h2>",
        _table(("scheme", *EDITS, "groups tied"), _audit_rows(result)),
        *(
            f"<figure><figcaption>{escape(title)}</figcaption>{_inline(path)}</figure>"
            for title, path in figures.items()
        ),
    ]
    body = "\n".join(parts)
    title = f"<title>The lab: {escape(result.world)}</title>"
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width">{title}'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n'
    )


_SCHEME_HEAD = (
    "scheme",
    "g",
    "g lenient",
    "c",
    "c greedy",
    "tokens",
    "right",
    "right, greedy",
    "only named",
    "ties first/last 50",
    "paper g",
    "paper c",
)


def _scheme_rows(result: LabResult) -> Iterable[Sequence[str]]:
    sampled, greedy = result.base.sampled, result.base.greedy
    figures = (sampled.g, sampled.g_lenient, sampled.c, greedy.c)
    yield (
        "base",
        *(f"{100 * figure:.1f}" for figure in figures),
        f"{sampled.tokens:.0f}",
        *(f"{100 * figure:.1f}" for figure in (sampled.accuracy, greedy.accuracy, sampled.naming)),
        "",
        _paper(result.paper_g.get("base")),
        _paper(result.paper_c.get("base")),
    )
    for row in result.rows:
        spreads = (row.g, row.g_lenient, row.c, row.c_greedy)
        yield (
            row.scheme,
            *map(_spread, spreads),
            f"{row.tokens.mean:.0f}",
            *map(_spread, (row.accuracy, row.accuracy_greedy, row.naming)),
            f"{100 * row.ties_first.mean:.0f} / {100 * row.ties_last.mean:.0f}",
            _paper(result.paper_g.get(row.scheme)),
            _paper(result.paper_c.get(row.scheme)),
        )


def _say_parts(result: LabResult) -> str:
    """What c is made of, and where it goes under additive without the parts that fall with length by construction."""
    named = "; ".join(f"{name}: {', '.join(left_out)}" for name, left_out in WITHOUT.items())
    said = f"c is the mean of its parts; beside it stands c without the sets {named}."
    additive = result.row("additive")
    if additive is None:
        return said
    base = result.base.sampled
    return (
        f"{said} Under additive c goes from {100 * base.c:.1f} to {100 * additive.c.mean:.1f}, and without "
        f"{', '.join(LENGTH_PARTS)}, which count and fall with length, from {100 * base.c_without(LENGTH_PARTS):.1f} "
        f"to {100 * additive.c_without['length'].mean:.1f}."
    )


def _part_rows(result: LabResult) -> Iterable[Sequence[str]]:
    sampled = result.base.sampled
    shares = (*(sampled.parts[part] for part in PARTS), *map(sampled.c_without, WITHOUT.values()))
    yield ("base", *(f"{100 * share:.1f}" for share in shares))
    for row in result.rows:
        yield (row.scheme, *(_spread(row.parts[p]) for p in PARTS), *(_spread(row.c_without[name]) for name in WITHOUT))


def _paired_rows(result: LabResult) -> Iterable[Sequence[str]]:
    for row in result.rows:
        if row.c_over_additive and row.scheme != "additive":
            yield (row.scheme, _differences(row.c_over_additive), _differences(row.g_over_additive))


def _audit_rows(result: LabResult) -> Iterable[Sequence[str]]:
    audit = result.base.audit
    for found in audit.forecast:
        cells = []
        for edit in EDITS:
            effect = audit.effect(edit, found.scheme)
            paper = "" if effect.paper is None else f" ({effect.paper:+.1f})"
            cells.append("–" if effect.mean is None else f"{effect.mean:+.1f}{paper}")
        yield (found.scheme, *cells, "–" if found.tied is None else f"{100 * found.tied:.0f}%")


def _goals(result: LabResult) -> str:
    words = {True: ("met", "met"), False: ("not", "not met"), None: ("", "open")}
    lines = [
        f'<li><b class="{style}">{word}</b>: {escape(goal.goal)} — {escape(goal.finding)}</li>'
        for goal in result.goals
        for style, word in (words[goal.met],)
    ]
    return f"<ul>{''.join(lines)}</ul>"


def _correlations(result: LabResult) -> str:
    found = {
        "c and the paper's c": result.correlation_c,
        "c (greedy) and the paper's c": result.correlation_c_greedy,
        **{f"c without {name}, and the paper's c": found for name, found in result.correlations_c_without.items()},
        "g and the paper's g": result.correlation_g,
        "c, trained rows without the KL sweep": result.correlation_c_trained,
        **{
            f"c without {name}, trained rows without the KL sweep": found
            for name, found in result.correlations_c_without_trained.items()
        },
        "g, trained rows without the KL sweep": result.correlation_g_trained,
        **{f"what {p.edit} pays before training, and c after it": p.correlation for p in result.predictions},
    }
    rows = [(name, "–" if c.rho is None else f"{c.rho:+.2f}", str(len(c.rows))) for name, c in found.items()]
    return _table(("rank correlation (Spearman)", "ρ", "rows"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{lines}</table>"


def _inline(path: Path) -> str:
    """The svg without what stands before it, which belongs to a file of its own."""
    text = path.read_text(encoding="utf-8")
    return text[text.index("<svg") :]


def _spread(spread: Spread) -> str:
    return f"{100 * spread.mean:.1f}" + (f" ± {100 * spread.sd:.1f}" if spread.sd is not None else "")


def _differences(values: Sequence[float]) -> str:
    return ", ".join(f"{100 * value:+.1f}" for value in values)


def _paper(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.1f}"
