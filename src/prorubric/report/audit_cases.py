"""Task by task: the question, the answer, each edit, the rewards, and the verdicts under two schemes side by side.

Phones could not open a page with all tasks of a large audit: those that moved most are shown in full, as many as fit,
and the others by their figures.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from prorubric.aggregate.schemes import APPROPRIATENESS, find_scheme
from prorubric.audit.cases import ANSWER, CONTROLS
from prorubric.audit.edits import EDITS
from prorubric.audit.folder import CASES
from prorubric.audit.price_list import HACK
from prorubric.compile.compiler import LINEAGE
from prorubric.errors import ConfigError, SchemeError
from prorubric.judge.readings import find_reading, list_items
from prorubric.report.audit_diff import render_edit, render_text
from prorubric.report.audit_folder import AuditFolder, StoredCase
from prorubric.report.numbers import plain, signed
from prorubric.report.page import Cell, Html, Row, bullets, element, figure, fold, join, note, own_words, table
from prorubric.rubric.records import Task
from prorubric.text.failures import split_clauses
from prorubric.text.show import shorten

MOST_SHOWN = 60  # tasks that are shown in full
LARGEST = 3_000_000  # bytes that they may take together
_MOST_REASONS = 5
_GLYPHS = {"y": "✓", "n": "✗"}
_NOT_JUDGED = "–"


class Change(NamedTuple):
    """The largest change of a reward by an edit that a sound reward does not pay for."""

    size: float
    kind: str
    scheme: str


@dataclass(slots=True)
class TaskFigures:
    """How many answers a task has, and the one that moved most."""

    answers: int = 0
    sample: int = 0
    largest: Change | None = None

    @property
    def moved(self) -> float:
        """The size of the largest change, or -1 if none is known."""
        return abs(self.largest.size) if self.largest else -1.0


@dataclass(slots=True)
class Survey:
    """What one pass over all cases collects."""

    tasks: dict[str, TaskFigures] = field(default_factory=dict)  # by id, the task that moved most first
    coverage: dict[tuple[str, bool], list[float]] = field(default_factory=dict)
    """By kind of text and whether it passes appropriateness, the share of the checklist that it covers × 100."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The tasks shown in full, and the anchor of each by its id."""

    blocks: list[Html]
    anchors: dict[str, str]

    def link(self, task_id: str) -> Html:
        """The id of a task, as a link if the page shows the task in full."""
        anchor = self.anchors.get(task_id)
        return element("a", own_words(task_id), href=f"#{anchor}") if anchor else own_words(task_id)


def survey_cases(folder: AuditFolder) -> Survey:
    """Go through all cases once."""
    survey = Survey()
    worthless = [name for name, kind in folder.result.kinds.items() if kind.is_worthless]
    for case in folder.read(CASES, StoredCase):
        figures = survey.tasks.setdefault(case.task_id, TaskFigures(sample=case.sample))
        figures.answers += 1
        for kind, scheme in product(worthless, folder.result.schemes):
            size = case.change(kind, scheme)
            if size is not None and abs(size) > figures.moved:
                figures.largest, figures.sample = Change(size, kind, scheme), case.sample
        for kind in (ANSWER, *(name for name, kind in EDITS.items() if not kind.is_hack)):
            verdicts = case.verdicts.get(kind, {}).get(APPROPRIATENESS)
            value = case.scores.get(kind, {}).get("additive")
            if verdicts and isinstance(verdicts[0], bool) and value is not None:
                survey.coverage.setdefault((kind, verdicts[0]), []).append(100 * value)
    survey.tasks = dict(sorted(survey.tasks.items(), key=lambda pair: (-pair[1].moved, pair[0])))
    return survey


def render_shown(folder: AuditFolder, survey: Survey) -> Shown:
    """The tasks shown in full: those that moved most, each with the answer that moved most."""
    chosen = dict([*survey.tasks.items()][:MOST_SHOWN])
    samples = {(task_id, figures.sample) for task_id, figures in chosen.items()}
    cases = {case.task_id: case for case in folder.read(CASES, StoredCase) if (case.task_id, case.sample) in samples}
    tasks = folder.load_tasks(chosen)
    shown, room = Shown([], {}), LARGEST
    for task_id in filter(tasks.__contains__, chosen):
        anchor = f"task-{len(shown.blocks) + 1}"
        block = _render_case(tasks[task_id], cases[task_id], folder.result.schemes, chosen[task_id].largest, anchor)
        room -= len(block.encode())
        if shown.blocks and room < 0:
            break
        shown.blocks.append(block)
        shown.anchors[task_id] = anchor
    return shown


def render_controls(schemes: Sequence[str]) -> Html:
    """The choice of edit and of two schemes, which the script puts above the verdicts of a task."""
    left = "additive" if "additive" in schemes else schemes[0]
    others = [name for name in schemes if name != left] or [left]
    right = "prorubric" if "prorubric" in others else others[0]
    labels = [element("label", "Edit ", element("select", class_="pick-edit"))]
    for side, chosen in (("Left", left), ("Right", right)):
        options: list[Html] = []
        for place, name in enumerate(schemes, 1):
            readings = " ".join(reading.name for reading in find_scheme(name).readings)
            options.append(element("option", name, value=place, data_readings=readings, selected=name == chosen))
        labels.append(element("label", f"{side} ", element("select", options, class_=f"pick-{side.lower()}")))
    changed = element("label", element("input", type="checkbox", class_="pick-changed"), " only what changed")
    return element("template", element("div", labels, changed, class_="controls"), id="controls")


def render_others(survey: Survey, shown: Shown) -> Html | None:
    """The tasks that are not shown in full, by their figures."""
    rows: list[Row] = []
    for task_id, figures in survey.tasks.items():
        if task_id not in shown.anchors:
            size, kind, scheme = figures.largest or (None, "no known change", "")
            rows.append((own_words(task_id), figure(figures.answers), kind, scheme, figure(size, signed)))
    if not rows:
        return None
    heads = ("task", "answers", "edit", "scheme", "change")
    return fold(f"Other tasks by their largest change: {len(rows)}", table("Other tasks", heads, rows, sortable=True))


def reward(value: float | None, change: float | None = None, *, strong: bool = False) -> Cell:
    """A reward × 100 as a cell, with its change."""
    if value is None:
        return Cell("open")
    moved = (" ", element("small", signed(change), class_="up" if change > 0 else "down")) if change else None
    return Cell((plain(100 * value), moved), value, strong)


def _render_case(task: Task, case: StoredCase, schemes: Sequence[str], largest: Change | None, anchor: str) -> Html:
    edits = [edit for edit in case.edits if edit.kind in case.scores]
    kinds = [ANSWER, *(edit.kind for edit in edits)]
    first = largest.kind if largest and largest.kind in kinds else kinds[1] if edits else ANSWER
    rows: list[Row] = []
    for kind in kinds:
        changes = [(scheme, case.change(kind, scheme)) for scheme in schemes]
        rows.append([kind, *(reward(None if x is None else case.scores[kind][name], x) for name, x in changes)])
    rewards = table("Rewards of this answer", ("text", *schemes), rows)
    is_plain = [message.role for message in task.messages] == ["user"]
    question = [
        (None if is_plain else element("p", message.role, class_="role"), render_text(message.content))
        for message in task.messages
    ]
    shown_edits: list[Html] = []
    for edit in edits:
        if edit.kind == HACK:
            shown = render_text(edit.text)
        elif edit.kind in CONTROLS:
            shown = render_text(shorten(edit.text, 300))
        else:
            shown = render_edit(case.answer, edit)
        aims = f" aims at criteria {', '.join(map(str, edit.criteria))}" if edit.criteria else ""
        title = join(element("b", edit.kind), aims)
        shown_edits.append(fold(title, shown, class_="edit", data_edit=edit.kind, open=edit.kind == first))
    reasons = [join(element("b", kind), ": ", own_words(reason)) for kind, reason in case.not_made.items()]
    readings = [_render_reading(task, case, name, kinds, first) for name in case.verdicts.get(ANSWER, {})]
    title = join(
        own_words(task.id, class_="id"),
        element("span", f"{largest.kind}, {largest.scheme} {signed(largest.size)}", class_="most") if largest else None,
        own_words(shorten(task.messages[-1].content, 110), class_="about"),
    )
    return fold(
        title,
        *(element("h4", "Question"), question),
        *(element("h4", "Answer", f" {case.sample}" if case.sample else None), render_text(case.answer)),
        *(element("h4", "Rewards × 100"), element("div", rewards, class_="rewards")),
        *(element("h4", "Edits"), element("div", class_="slot-controls"), shown_edits),
        fold(f"Edits that could not be made: {len(reasons)}", bullets(reasons)) if reasons else None,
        *(element("h4", "Verdicts"), element("div", class_="compare", hidden=True)),
        element("div", readings, class_="readings"),
        *(element("h4", "Compiled rubric: before and after"), _render_rubric(task)),
        class_="case",
        id=anchor,
        data_kinds=" ".join(kinds),
        data_first=first,
    )


def _render_reading(task: Task, case: StoredCase, reading: str, kinds: Sequence[str], first: str) -> Html:
    """The verdicts of one reading, item by item; the script reads those of all texts from `data-v`."""
    verdicts = [case.verdicts.get(kind, {}).get(reading, []) for kind in kinds]
    rows: list[Html] = []
    for place, (text, weight) in enumerate(_list_items(task, reading, len(verdicts[0]))):
        codes = []
        for row in verdicts:
            match row[place : place + 1]:
                case []:
                    codes.append(_NOT_JUDGED)
                case [bool(verdict)]:  # a behaviour to avoid speaks for the answer if it is absent
                    codes.append("y" if verdict == (weight is None or weight > 0) else "n")
                case [int(level) | float(level)]:
                    codes.append(f"{level:g}")
                case [{"not_applicable": _}]:
                    codes.append("n/a")
                case _:
                    codes.append("?")
        before, after = codes[0], codes[kinds.index(first)]
        cells = [element("th", own_words(text), scope="row")]
        cells.append(element("td", f"{weight:g}" if weight is not None else "", class_="n"))
        for code in (before, after):
            cells.append(element("td", _GLYPHS.get(code, code), class_=f"v {code}" if code in _GLYPHS else "v"))
        rows.append(element("tr", cells, class_="changed" if before != after else None, data_v=" ".join(codes)))
    head = [element("th", name, scope="col") for name in ("item", "weight", "before", "after")]
    inner = element("table", element("thead", element("tr", head)), element("tbody", rows), class_="verdicts")
    box = element("div", inner, class_="scroll", role="region", aria_label=reading, tabindex=0, data_reading=reading)
    reasons = Counter(str(v["unknown"]) for row in verdicts for v in row if isinstance(v, Mapping) and "unknown" in v)
    lines = [join(own_words(reason), f" × {count}") for reason, count in reasons.most_common(_MOST_REASONS)]
    if len(reasons) > _MOST_REASONS:
        lines.append(join(f"{len(reasons) - _MOST_REASONS} more reasons are in {CASES}"))
    unknown = element("div", element("p", "No verdict (?), over all texts:"), bullets(lines), class_="note")
    return fold(f"{reading}: before → after {first}", box, unknown if reasons else None)


def _list_items(task: Task, reading: str, count: int) -> list[tuple[str, float | None]]:
    try:
        found = find_reading(reading)
        if found.is_joint:
            return [("the checklist as a whole, from {:g} to {:g}".format(*found.form.scale), None)]
        items = list_items(task, found)
    except (ConfigError, SchemeError):
        items = ()
    if len(items) != count:  # verdicts on texts that the task no longer holds
        return [(f"item {number}", None) for number in range(1, count + 1)]
    return [(f"{item.index}. {item.text}" if count > 1 else item.text, item.weight) for item in items]


def _render_rubric(task: Task) -> Html:
    criteria = [element("li", own_words(item.text), " ", _weight(item.weight)) for item in task.rubric.criteria]
    checklist = element("section", element("h5", f"Checklist: {len(task.rubric)} criteria"), element("ol", criteria))
    if task.protocol is None:
        return join(checklist, element("p", "No dimensions: the task was not compiled."))
    dimensions: list[Html] = []
    for dimension in task.protocol.dimensions:
        clauses = split_clauses(dimension.description)
        description = [(element("mark", part.text) if part.is_failure else part.text, " ") for part in clauses]
        name = (own_words(dimension.name, "b"), " ", _weight(dimension.weight))
        source = element("small", f"from criteria {', '.join(map(str, dimension.indices))}")
        dimensions.append(element("li", name, element("p", description, dir="auto"), source))
    lineage = task.meta.get(LINEAGE)
    known = lineage if isinstance(lineage, dict) else {}
    parts = [(key, known.get(key)) for key in ("generator", "state", "repairs", "prompt")]
    compiled = "; ".join(f"{key}: {shorten(str(value))}" for key, value in parts if value)
    section = element(
        "section",
        element("h5", f"Dimensions: {len(dimensions)}; failure clauses are marked"),
        element("ul", dimensions, class_="dimensions"),
        note("Compiled: ", own_words(compiled)) if compiled else None,
    )
    return element("div", checklist, section, class_="pair")


def _weight(weight: float) -> Html:
    return element("span", f"{weight:g}".replace("-", "−"), class_="weight", title="weight")
