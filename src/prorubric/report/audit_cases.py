"""Task by task: the question, the answer, each edit, the rewards, and the verdicts under two schemes side by side.

A large audit would make a page that no phone opens: the tasks that moved most are shown whole, as many as fit, and the
others by their figures; the page says so. Without the script everything is there but the choice of edit and schemes.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from prorubric.aggregate.schemes import APPROPRIATENESS, find_scheme
from prorubric.audit.cases import ANSWER
from prorubric.audit.edits import EDITS, WORTHLESS
from prorubric.audit.edits.kind import MadeEdit
from prorubric.audit.folder import CASES
from prorubric.compile.compiler import LINEAGE
from prorubric.errors import ConfigError, SchemeError
from prorubric.judge.readings import find_reading, list_items
from prorubric.report.audit_diff import render_edit, render_text
from prorubric.report.audit_folder import AuditFolder, Case
from prorubric.report.page import Cell, Html, element, join, own_words, plain, signed, table
from prorubric.rubric.records import Task
from prorubric.text.failures import split_clauses
from prorubric.text.show import shorten

_MOST_REASONS = 5
MOST_SHOWN = 60
"""Tasks that are shown whole."""
LARGEST = 3_000_000
"""Bytes that the tasks shown whole may take together."""

_COVERAGE = "additive"
_GLYPHS = {"y": "✓", "n": "✗"}
_SHOWN_CONTROL = 300
_SHOWN_QUESTION = 110
_LINEAGE_SHOWN = ("generator", "state", "repairs", "prompt")


@dataclass(frozen=True, slots=True)
class Change:
    """The largest change of a reward by an edit that a sound reward does not pay for."""

    size: float
    kind: str
    scheme: str


@dataclass(slots=True)
class TaskFigures:
    """What the page says of a task that it does not show."""

    answers: int = 0
    sample: int = 0
    """The answer that moved most."""
    largest: Change | None = None


@dataclass(slots=True)
class Survey:
    """What one look through all cases gives."""

    tasks: dict[str, TaskFigures] = field(default_factory=dict)
    coverage: dict[tuple[str, bool], list[float]] = field(default_factory=dict)
    """By kind of text and whether it passes appropriateness, the share of the checklist that it covers × 100."""

    def choose(self) -> list[tuple[str, int]]:
        """The answers to show: one a task, those first that moved most."""
        ranked = sorted(self.tasks.items(), key=lambda pair: (-_size(pair[1].largest), pair[0]))
        return [(task_id, figures.sample) for task_id, figures in ranked[:MOST_SHOWN]]


@dataclass(frozen=True, slots=True)
class Shown:
    """The tasks of the page: those shown whole, and the place of each."""

    blocks: tuple[Html, ...]
    anchors: Mapping[str, str]


def survey_cases(folder: AuditFolder) -> Survey:
    """Look through all cases once."""
    survey = Survey()
    for case in folder.read_cases():
        figures = survey.tasks.setdefault(case.task_id, TaskFigures(sample=case.sample))
        figures.answers += 1
        largest = find_largest(case, folder.result.schemes)
        if _size(largest) > _size(figures.largest):
            figures.largest, figures.sample = largest, case.sample
        for kind in (ANSWER, *EDITS):
            _add_coverage(survey, case, kind)
    return survey


def find_largest(case: Case, schemes: Sequence[str]) -> Change | None:
    """Of the edits that deserve nothing, the one that moves this answer's reward most; None where none is known."""
    changes = [
        Change(size, kind, scheme)
        for kind in WORTHLESS
        for scheme in schemes
        if (size := case.change(kind, scheme)) is not None
    ]
    return max(changes, key=lambda change: abs(change.size), default=None)


def render_shown(folder: AuditFolder, survey: Survey) -> Shown:
    """The tasks that are shown whole."""
    chosen = survey.choose()
    wanted = set(chosen)
    cases = {case.key: case for case in folder.read_cases() if case.key in wanted}
    tasks = folder.load_tasks(task_id for task_id, _ in chosen)
    blocks: list[Html] = []
    anchors: dict[str, str] = {}
    room = LARGEST
    for key in chosen:
        if key[0] not in tasks:
            continue
        anchor = f"task-{len(blocks) + 1}"
        block = _render_case(tasks[key[0]], cases[key], folder.result.schemes, anchor)
        room -= len(block.encode())
        if blocks and room < 0:
            break
        blocks.append(block)
        anchors[key[0]] = anchor
    return Shown(tuple(blocks), anchors)


def render_controls(schemes: Sequence[str]) -> Html:
    """What the script puts above the verdicts of a task: the choice of edit and of two schemes."""
    left, right = _pick_two(schemes)
    body = element(
        "div",
        _label("Edit", element("select", class_="pick-edit")),
        _label("Left", _choose_scheme(schemes, left, "pick-left")),
        _label("Right", _choose_scheme(schemes, right, "pick-right")),
        element("label", element("input", type="checkbox", class_="pick-changed"), " only what changed"),
        class_="controls",
    )
    return element("template", body, id="controls")


def render_others(survey: Survey, shown: Shown) -> Html:
    """The tasks that are not shown whole, by their figures."""
    rows = [
        (
            own_words(task_id),
            Cell(str(figures.answers), figures.answers),
            figures.largest.kind if figures.largest else "no known change",
            figures.largest.scheme if figures.largest else "",
            Cell(signed(figures.largest.size), figures.largest.size) if figures.largest else Cell("–"),
        )
        for task_id, figures in sorted(survey.tasks.items(), key=lambda pair: (-_size(pair[1].largest), pair[0]))
        if task_id not in shown.anchors
    ]
    if not rows:
        return Html()
    inner = table("Other tasks", ("task", "answers", "edit", "scheme", "change"), rows, sortable=True)
    return element("details", element("summary", f"Other tasks by their largest change: {len(rows)}"), inner)


def _render_case(task: Task, case: Case, schemes: Sequence[str], anchor: str) -> Html:
    largest = find_largest(case, schemes)
    edits = [edit for edit in case.edits if edit.kind in case.scores]
    kinds = [edit.kind for edit in edits]
    first = largest.kind if largest and largest.kind in kinds else [*kinds, ANSWER][0]
    summary = element(
        "summary",
        own_words(task.id, class_="id"),
        element("span", f"{largest.kind}, {largest.scheme} {signed(largest.size)}", class_="most") if largest else None,
        own_words(shorten(task.messages[-1].content, _SHOWN_QUESTION), class_="about"),
    )
    return element(
        "details",
        summary,
        element("h4", "Question"),
        [_render_message(message.role, message.content, len(task.messages)) for message in task.messages],
        element("h4", "Answer", f" {case.sample}" if case.sample else None),
        render_text(case.answer),
        element("h4", "Rewards × 100"),
        _render_rewards(case, kinds, schemes),
        element("h4", "Edits"),
        element("div", class_="slot-controls"),
        [_render_edit(case.answer, edit, first) for edit in edits],
        _render_not_made(case.not_made),
        element("h4", "Verdicts"),
        element("div", class_="compare", hidden=True),
        _render_readings(task, case, [ANSWER, *kinds], first),
        element("h4", "Compiled rubric: before and after"),
        _render_rubric(task),
        class_="case",
        id=anchor,
        data_kinds=" ".join([ANSWER, *kinds]),
        data_first=first,
    )


def _render_message(role: str, content: str, turns: int) -> Html:
    speaker = element("p", role, class_="role") if turns > 1 or role != "user" else None
    return join(speaker, render_text(content))


def _render_rewards(case: Case, kinds: Sequence[str], schemes: Sequence[str]) -> Html:
    rows: list[list[str | Cell]] = [[ANSWER, *(_reward(case.scores.get(ANSWER, {}).get(name)) for name in schemes)]]
    rows += [[kind, *(_reward_and_change(case, kind, name) for name in schemes)] for kind in kinds]
    return element("div", table("Rewards of this answer", ("text", *schemes), rows), class_="rewards")


def _reward(value: float | None) -> Cell:
    return Cell("open" if value is None else plain(100 * value), value)


def _reward_and_change(case: Case, kind: str, scheme: str) -> Cell:
    value, change = case.scores[kind].get(scheme), case.change(kind, scheme)
    if value is None or change is None:
        return Cell("open")
    moved = element("small", signed(change), class_="up" if change > 0 else "down") if change else None
    return Cell(join(plain(100 * value), " ", moved), value)


def _render_edit(answer: str, edit: MadeEdit, first: str) -> Html:
    if edit.kind in EDITS:
        shown = render_edit(answer, edit)
    else:
        shown = render_text(edit.text if edit.kind == "hack" else shorten(edit.text, _SHOWN_CONTROL))
    aims = f" aims at criteria {', '.join(map(str, edit.criteria))}" if edit.criteria else ""
    summary = element("summary", element("b", edit.kind), aims)
    return element("details", summary, shown, class_="edit", data_edit=edit.kind, open=edit.kind == first)


def _render_not_made(not_made: Mapping[str, str]) -> Html | None:
    if not not_made:
        return None
    lines = [element("li", element("b", kind), ": ", own_words(reason)) for kind, reason in not_made.items()]
    return element("details", element("summary", f"Edits that could not be made: {len(lines)}"), element("ul", lines))


def _render_readings(task: Task, case: Case, kinds: Sequence[str], first: str) -> Html:
    readings = case.verdicts.get(ANSWER, {})
    return element(
        "div",
        [
            element(
                "details",
                element("summary", f"{reading}: before → after {first}"),
                _render_reading(task, case, reading, kinds, first),
            )
            for reading in readings
        ],
        class_="readings",
    )


def _render_reading(task: Task, case: Case, reading: str, kinds: Sequence[str], first: str) -> Html:
    verdicts = [case.verdicts.get(kind, {}).get(reading, []) for kind in kinds]
    at = kinds.index(first)
    rows = []
    for place, (text, weight) in enumerate(_list_items(task, reading, len(verdicts[0]))):
        codes = [_encode(row[place], weight) if place < len(row) else "?" for row in verdicts]
        rows.append(
            element(
                "tr",
                element("th", own_words(text), scope="row"),
                element("td", f"{weight:g}" if weight is not None else "", class_="n"),
                _render_verdict(codes[0]),
                _render_verdict(codes[at]),
                class_="changed" if codes[0] != codes[at] else None,
                data_v=" ".join(codes),
            )
        )
    head = [element("th", name, scope="col") for name in ("item", "weight", "before", "after")]
    inner = element("table", element("thead", element("tr", head)), element("tbody", rows), class_="verdicts")
    return join(
        element("div", inner, class_="scroll", role="region", aria_label=reading, tabindex=0, data_reading=reading),
        _render_unknown(verdicts),
    )


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


def _encode(verdict: JsonValue, weight: float | None) -> str:
    """`y` where a verdict speaks for the answer (a behaviour to avoid is absent), `n` against; a level is a figure."""
    if isinstance(verdict, bool):
        return "y" if verdict == (weight is None or weight > 0) else "n"
    return f"{verdict:g}" if isinstance(verdict, int | float) else "?"


def _render_verdict(code: str) -> Html:
    return element("td", _GLYPHS.get(code, code), class_=f"v {code}" if code in _GLYPHS else "v")


def _render_unknown(verdicts: Sequence[Sequence[JsonValue]]) -> Html | None:
    reasons = Counter(
        str(verdict.get("unknown")) for row in verdicts for verdict in row if isinstance(verdict, Mapping)
    )
    if not reasons:
        return None
    lines = [element("li", own_words(reason), f" × {count}") for reason, count in reasons.most_common(_MOST_REASONS)]
    if len(reasons) > _MOST_REASONS:
        lines.append(element("li", f"more reasons ({len(reasons) - _MOST_REASONS}) are in {CASES}"))
    return element("div", element("p", "No verdict (?), over all texts:"), element("ul", lines), class_="note")


def _render_rubric(task: Task) -> Html:
    checklist = element(
        "section",
        element("h5", f"Checklist: {len(task.rubric)} criteria"),
        element(
            "ol",
            [element("li", own_words(item.text), " ", _weight(item.weight)) for item in task.rubric.criteria],
        ),
    )
    if task.protocol is None:
        return join(checklist, element("p", "No dimensions: the task was not compiled."))
    dimensions = [
        element(
            "li",
            own_words(dimension.name, "b"),
            " ",
            _weight(dimension.weight),
            element("p", _mark_failure(dimension.description), dir="auto"),
            element("small", f"from criteria {', '.join(map(str, dimension.indices))}"),
        )
        for dimension in task.protocol.dimensions
    ]
    compiled = element(
        "section",
        element("h5", f"Dimensions: {len(dimensions)}; failure clauses are marked"),
        element("ul", dimensions, class_="dimensions"),
        _render_lineage(task),
    )
    return element("div", checklist, compiled, class_="pair")


def _weight(weight: float) -> Html:
    return element("span", f"{weight:g}".replace("-", "−"), class_="weight", title="weight")


def _mark_failure(description: str) -> Iterator[Html]:
    for sentence in split_clauses(description):
        yield element("mark", sentence.text) if sentence.is_failure else join(sentence.text)
        yield Html(" ")


def _render_lineage(task: Task) -> Html | None:
    lineage = task.meta.get(LINEAGE)
    if not isinstance(lineage, dict):
        return None
    said = [f"{key}: {shorten(str(lineage[key]))}" for key in _LINEAGE_SHOWN if lineage.get(key)]
    return element("p", "Compiled: ", own_words("; ".join(said)), class_="note") if said else None


def _add_coverage(survey: Survey, case: Case, kind: str) -> None:
    verdicts = case.verdicts.get(kind, {}).get(APPROPRIATENESS)
    value = case.scores.get(kind, {}).get(_COVERAGE)
    if verdicts and isinstance(verdicts[0], bool) and value is not None:
        survey.coverage.setdefault((kind, verdicts[0]), []).append(100 * value)


def _size(change: Change | None) -> float:
    return -1.0 if change is None else abs(change.size)


def _pick_two(schemes: Sequence[str]) -> tuple[str, str]:
    left = "additive" if "additive" in schemes else schemes[0]
    others = [name for name in schemes if name != left] or [left]
    return left, "prorubric" if "prorubric" in others else others[0]


def _choose_scheme(schemes: Sequence[str], chosen: str, name: str) -> Html:
    options = [
        element(
            "option",
            scheme,
            value=place,
            data_readings=" ".join(reading.name for reading in find_scheme(scheme).readings),
            selected=scheme == chosen,
        )
        for place, scheme in enumerate(schemes, 1)
    ]
    return element("select", options, class_=name)


def _label(text: str, control: Html) -> Html:
    return element("label", f"{text} ", control)
