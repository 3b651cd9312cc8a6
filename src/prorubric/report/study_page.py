"""`write_study_report`: every table and figure of a study as csv, LaTeX and SVG, and all of them on one page.

Nothing is measured here. What the paper has and the study has not run is marked, never left out.
"""

from collections.abc import Mapping
from os.path import relpath
from pathlib import Path
from urllib.parse import quote

from prorubric.report.evaluation_figures import STYLE
from prorubric.report.evaluation_tables import Sheet, render_sheet_latex, write_sheet
from prorubric.report.numbers import plain
from prorubric.report.page import (
    NOTES,
    Cell,
    Child,
    Html,
    Row,
    element,
    join,
    note,
    own_words,
    render_facts,
    render_page,
    table,
    write_whole,
)
from prorubric.report.plots import Figure, render_figure, render_key
from prorubric.report.study_registry import GENERATORS, Generator
from prorubric.report.study_results import NOT_RUN, Made, StudyResults
from prorubric.rubric.base import Record
from prorubric.text.show import count

PAGE, TABLES, FIGURES = "report.html", "tables", "figures"
_MOST_ROWS = 30
_WIDTH, _HEIGHT, _LEFT, _TOP, _LINE = 860, 420, 70, 40, 20
_LETTER = 7  # the width of a letter of a legend, on average


class StudyReport(Record):
    """What was written about a study."""

    page: str
    tables: tuple[str, ...]
    """Each as csv and as LaTeX."""
    figures: tuple[str, ...]
    missing: dict[str, tuple[str, ...]]
    """By table, the rows of the paper that the study has not run."""


def write_study_report(out: Path, results: StudyResults) -> StudyReport:
    """Write tables, figures and the page into a folder."""
    made = {generator: generator.make(results) for generator in GENERATORS}
    if not results.paper:
        made = {generator: _leave_out_paper(own) for generator, own in made.items()}
    for folder in (TABLES, FIGURES):
        (out / folder).mkdir(parents=True, exist_ok=True)
    tables, figures = list[str](), list[str]()
    for generator, own in made.items():
        files = [out / TABLES / f"{generator.name}.{suffix}" for suffix in ("csv", "tex")]
        drawing = out / FIGURES / f"{generator.name}.svg"
        for path in (*files, drawing):  # of an earlier report
            path.unlink(missing_ok=True)
        title = name_table(generator, results)
        if own.sheet.rows:
            caption = f"{title}. {NOTES[f'study-{generator.name}']}"
            marked = own.sheet._replace(rows=[_mark_missing(row, own.sheet) for row in own.sheet.rows])
            tables += map(str, write_sheet(out / TABLES, own.sheet, render_sheet_latex(marked, caption)))
        if own.figure is not None:
            figures.append(str(write_whole(drawing, render_file(title, own.figure).encode())))
    page = write_whole(out / PAGE, render_page(results.title or "Study", _render_body(made, results, out)))
    missing = {generator.name: own.missing for generator, own in made.items() if own.missing}
    return StudyReport(page=str(page), tables=tuple(tables), figures=tuple(figures), missing=missing)


def name_table(generator: Generator, results: StudyResults) -> str:
    """The title of a table, with what its figures are of."""
    return f"{_shorten_title(generator, results)} ({results.scale})"


def _shorten_title(generator: Generator, results: StudyResults) -> str:
    """The title alone; only the paper's ablations are known to be medical."""
    return generator.title if results.paper else generator.title.replace("Medical ablations", "Ablations")


def _leave_out_paper(made: Made) -> Made:
    """A table of a study that is compared with nothing, without the paper's empty columns."""
    sheet = made.sheet
    rows = [{head: cell for head, cell in row.items() if not head.startswith("paper")} for row in sheet.rows]
    shown = {head: digits for head, digits in sheet.shown.items() if not head.startswith("paper")}
    return Made(Sheet(sheet.name, rows, shown), made.figure)


def _render_body(made: dict[Generator, Made], results: StudyResults, out: Path) -> Html:
    given = {generator: own for generator, own in made.items() if own.sheet.rows}
    empty = [_shorten_title(generator, results) for generator in made if generator not in given]
    begun = [domain for domain in results.domains if domain.comparisons or domain.audit or domain.training]
    waiting = [domain.name for domain in results.domains if domain.name and domain not in begun]
    facts = [
        ("Figures of", results.scale),
        ("Domains", ", ".join(filter(None, (domain.name for domain in results.domains))) or "one"),
        ("Arms", ", ".join(dict.fromkeys(arm for domain in results.domains for arm in domain.place.arms)) or "none"),
        ("Judges", ", ".join(dict.fromkeys(judge for domain in results.domains for judge in domain.place.judges))),
        *([("Compared with", f"the paper's {results.paper_model}")] if results.paper_model else []),
        *([("Domains without a result", ", ".join(waiting))] if waiting else []),
        *([("Nothing yet for", ", ".join(empty))] if empty else []),
    ]
    links = [element("a", _shorten_title(generator, results), href=f"#{generator.name}") for generator in given]
    return join(
        element(
            "header",
            element("p", "ProRubric study", class_="over"),
            element("h1", own_words(results.title or "Study")),
            note(NOTES["study-lead" if results.paper else "study-lead-own"]),
            render_facts(facts),
            _link_pages(results, out),
        ),
        element("nav", links, aria_label="Sections"),
        element("main", [_render_section(generator, own, results) for generator, own in given.items()]),
    )


def _link_pages(results: StudyResults, out: Path) -> Html | None:
    """The pages of stages that are there, such as the differences between policies with their intervals."""
    links: list[Child] = []
    for domain in results.domains:
        folder = domain.place.folder
        pages = [folder / "evaluate" / PAGE, folder / "audit" / PAGE]
        pages += [folder / "train" / arm / PAGE for arm in domain.place.arms]
        for page in filter(Path.is_file, pages):
            name = str(page.parent.relative_to(folder)).replace("/", " ")
            link = element("a", f"{domain.place.name} {name}".strip(), href=quote(relpath(page, out)))
            links += [", " if links else "Pages: ", link]
    return element("p", links) if links else None


def _render_section(generator: Generator, own: Made, results: StudyResults) -> Html:
    title = name_table(generator, results)
    files = f"{TABLES}/{generator.name}.csv, .tex" + (f", {FIGURES}/{generator.name}.svg" if own.figure else "")
    missing = f"; {count(len(own.missing), 'row')} not run" if own.missing else ""
    about = f"The paper's {generator.place}; {files}{missing}" if results.paper else files
    rows: list[Row] = []
    for row in own.sheet.rows:
        cells: list[Child | Cell] = []
        marked = _mark_missing(row, own.sheet)
        for head, digits in own.sheet.shown.items():
            value = marked.get(head)
            if value is None or value == NOT_RUN:
                cells.append(Cell(element("small", NOT_RUN) if value else ""))
            elif isinstance(value, float):
                cells.append(Cell(plain(value, digits), value))
            else:
                cells.append(Cell(f"{value:,}", value) if isinstance(value, int) else own_words(str(value)))
        rows.append(cells)
    return element(
        "section",
        element("h2", title),
        note(NOTES[f"study-{generator.name}"], " ", element("small", about)),
        (element("h4", own.figure.label.capitalize()), render_figure(own.figure)) if own.figure else None,
        element("div", table(title, [*own.sheet.shown], rows), class_="tall" if len(rows) > _MOST_ROWS else None),
        id=generator.name,
    )


def _mark_missing(row: Mapping[str, object], sheet: Sheet) -> dict[str, object]:
    """A row with `not run` for each figure of ours that it lacks."""
    is_ours = row.get("state") == NOT_RUN or row.get("of") == "ours"
    lacking = [head for head in sheet.shown if row.get(head) is None and not head.startswith("paper")]
    return {**row, **dict.fromkeys(lacking if is_ours else (), NOT_RUN)}


def render_file(title: str, figure: Figure) -> Html:
    """A figure that stands alone: title, drawing, and the legend below it."""
    bottom = _TOP + _HEIGHT + 40
    plot = element("svg", figure.shapes, x=_LEFT, y=_TOP, width=_WIDTH - 2 * _LEFT, height=_HEIGHT, overflow="visible")
    across = max(1, (_WIDTH - 40) // (40 + _LETTER * max(map(len, figure.legend), default=1)))
    legend: list[Html] = []
    for number, (name, place) in enumerate(figure.legend.items()):
        x, y = 20 + (_WIDTH - 20) // across * (number % across), bottom + _LINE * (number // across)
        key = element("svg", render_key(place), x=x, y=y, width=14, height=14)
        legend += [key, element("text", name, x=x + 20, y=y + 12)]
    height = bottom + _LINE * -(-len(figure.legend) // across) + 10
    return element(
        "svg",
        *(element("title", title), element("style", Html(STYLE))),
        element("rect", width="100%", height="100%", fill="#fff"),
        *(element("text", f"{title}: {figure.label}", x=20, y=22, class_="head"), plot, legend),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {height}",
        width=_WIDTH,
        height=height,
    )
