"""The checklist of a case as the project's own records, and the same as arrays for judges that read thousands at once.

A criterion asks for one or two *targets*: an item, a test, a question, a manner, an aside, the right decision. Targets
of all kinds stand in one row (`Targets`), so that a judge looks a criterion up instead of knowing its kind.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from prorubric.lab.cases import Cases, draw_cases, render_case
from prorubric.lab.texts import Texts
from prorubric.lab.world import World, make_world
from prorubric.rubric.labels import LABEL_TAG, LABELS
from prorubric.rubric.records import Criterion, Message, ProtocolRubric, Rubric, Task

KINDS = ("presence", "explain", "compound", "act", "decision", "padding")
PADDING = KINDS.index("padding")

_TIERS = {
    "decision": (1.0, 1.0),
    "core": (0.7, 1.0),
    "peripheral": (0.3, 0.3),
    "act": (0.3, 0.7),
    "penalty": (0.9, 0.9),
}
# Points as HealthBench gives them: up to 10 for the decision, and for a mention not much less than for an explanation.
_POINTS = {"decision": (8, 10), "core": (5, 9), "peripheral": (3, 7), "act": (3, 7), "penalty": (6, 9)}


@dataclass(frozen=True)
class Targets:
    """Where each kind of target stands in the row of all targets."""

    item: int
    test: int
    question: int
    manner: int
    aside: int
    decision: int
    count: int

    @classmethod
    def of(cls, texts: Texts) -> "Targets":
        """The row of a world's targets."""
        sizes = [len(texts.item_names), len(texts.all_tests), len(texts.questions), len(texts.manner)]
        starts = np.cumsum([0, *sizes, len(texts.asides), 1]).tolist()
        return cls(*starts)


@dataclass(frozen=True)
class Entry:
    """One criterion before it is a record: its text and what a judge has to look for."""

    text: str
    kind: str
    role: str
    """What it weighs as: decision, core, peripheral, act or penalty."""
    part: int
    target: int
    other: int
    label: str

    @property
    def sign(self) -> int:
        """-1 for a behaviour to avoid."""
        return -1 if self.role == "penalty" else 1


@dataclass(frozen=True)
class Checklists:
    """Cases with their checklists. Axes: T cases, N criteria (padded to the longest), K parts."""

    cases: Cases
    tasks: tuple[Task, ...]
    kind_T_N: npt.NDArray[np.intp]
    target_T_N: npt.NDArray[np.intp]
    other_T_N: npt.NDArray[np.intp]
    weight_T_N: npt.NDArray[np.float64]
    """Signed; 0 in the padding."""
    dimension_T_N: npt.NDArray[np.intp]
    """The number of the criterion's dimension in the task's protocol rubric; -1 in the padding."""
    part_T_K: npt.NDArray[np.intp]
    """The part behind each dimension of the protocol rubric; -1 where a task has fewer."""


@cache
def make_checklists(world_name: str, count: int, seed: int) -> Checklists:
    """Draw cases and write their checklists; the same world, count and seed give the same, to the letter."""
    world = make_world(world_name)
    cases = draw_cases(world, count, seed)
    rng = np.random.default_rng([world.spec.seed, 3, seed])
    lists = [list(_write_entries(world, cases, row, rng)) for row in range(count)]
    tasks = [_make_task(world, cases, row, entries, rng) for row, entries in enumerate(lists)]
    used = [sorted({entry.part for entry in entries}) for entries in lists]
    return Checklists(
        cases=cases,
        tasks=tuple(tasks),
        kind_T_N=_pad([[KINDS.index(entry.kind) for entry in entries] for entries in lists], PADDING),
        target_T_N=_pad([[entry.target for entry in entries] for entries in lists], 0),
        other_T_N=_pad([[entry.other for entry in entries] for entries in lists], 0),
        weight_T_N=_pad([task.rubric.weights for task in tasks], 0.0),
        dimension_T_N=_pad(
            [[parts.index(entry.part) for entry in entries] for parts, entries in zip(used, lists, strict=True)], -1
        ),
        part_T_K=_pad(used, -1),
    )


def _write_entries(world: World, cases: Cases, row: int, rng: np.random.Generator) -> Iterator[Entry]:
    texts, targets = world.texts, Targets.of(world.texts)
    level = int(cases.level_T[row])
    yield Entry(
        texts.decision_criteria[level], "decision", "decision", 2, targets.decision, targets.decision, "critical"
    )
    yield from _write_items(world, cases, row, rng)
    yield from _write_tests(world, cases, row, rng)
    yield from _write_questions(world, cases, row, rng)
    if world.spec.style_criteria:
        yield from _write_style(texts, targets, bool(cases.expert_T[row]))


def _write_items(world: World, cases: Cases, row: int, rng: np.random.Generator) -> Iterator[Entry]:
    spec, texts = world.spec, world.texts
    core = np.flatnonzero(world.core_F_V_I[cases.family_T[row], cases.level_T[row]])
    pool = np.flatnonzero(world.pool_F_I[cases.family_T[row]])
    for item in core:
        yield _write_item(texts, int(item), "explain", "core")
    for item in rng.permutation(np.setdiff1d(pool, core))[: spec.peripheral]:
        kind = "presence" if rng.random() < spec.presence_share else "explain"
        yield _write_item(texts, int(item), kind, "peripheral")
    for _ in range(spec.compounds):
        item, other = rng.choice(pool, 2, replace=False)
        text = texts.compound.format(item=texts.item_names[item], other=texts.item_names[other])
        yield Entry(text, "compound", "peripheral", texts.part_of_item[item], int(item), int(other), "normal")


def _write_item(texts: Texts, item: int, kind: str, role: str) -> Entry:
    template = texts.presence if kind == "presence" else texts.substantive
    label = "critical" if role == "core" else "normal"
    return Entry(template.format(item=texts.item_names[item]), kind, role, texts.part_of_item[item], item, item, label)


def _write_tests(world: World, cases: Cases, row: int, rng: np.random.Generator) -> Iterator[Entry]:
    spec, texts = world.spec, world.texts
    first = Targets.of(texts).test
    needed = world.needed_F_V_X[cases.family_T[row], cases.level_T[row]]
    idle = rng.permutation(np.flatnonzero(~needed[: len(texts.tests)])).tolist()
    wanted = [(int(test), "normal") for test in np.flatnonzero(needed)]
    wanted += [(test, "needless") for test in idle[: spec.needless_criteria]]
    for test, label in wanted:
        text = texts.test_criterion.format(test=texts.tests[test])
        yield Entry(text, "act", "act", 1, first + test, first + test, label)
    for test in idle[spec.needless_criteria : spec.needless_criteria + spec.penalties]:
        text = texts.test_penalty.format(test=texts.tests[test])
        yield Entry(text, "act", "penalty", 1, first + test, first + test, "normal")


def _write_questions(world: World, cases: Cases, row: int, rng: np.random.Generator) -> Iterator[Entry]:
    texts, first = world.texts, Targets.of(world.texts).question
    key = int(world.key_question_F[cases.family_T[row]])
    others = rng.permutation([number for number in range(len(texts.questions)) if number != key]).tolist()
    for question in [key, *others][: world.spec.asked_questions]:
        text = texts.question_criterion.format(question=texts.questions[question])
        yield Entry(text, "act", "act", 3, first + question, first + question, "normal")


def _write_style(texts: Texts, targets: Targets, expert: bool) -> Iterator[Entry]:
    manner = targets.manner + list(texts.manner).index("expert" if expert else "lay")
    text = texts.manner_criterion["expert" if expert else "lay"]
    yield Entry(text, "act", "act", 3, manner, manner, "formatting")
    for number, (_, criterion) in enumerate(texts.asides.values()):
        yield Entry(criterion, "act", "act", 3, targets.aside + number, targets.aside + number, "formatting")


def _make_task(world: World, cases: Cases, row: int, entries: Sequence[Entry], rng: np.random.Generator) -> Task:
    rubric = Rubric(criteria=tuple(_make_criterion(world, entry, rng) for entry in entries))
    parts = sorted({entry.part for entry in entries})
    return Task(
        id=f"{world.spec.name}-{row}",
        messages=(Message(role="user", content=render_case(world, cases, row)),),
        rubric=rubric,
        protocol=ProtocolRubric.of(rubric, [_describe(world.texts, part, entries) for part in parts]),
        domain=world.texts.domain,
    )


def _make_criterion(world: World, entry: Entry, rng: np.random.Generator) -> Criterion:
    low, high = (_TIERS if world.spec.tiers else _POINTS)[entry.role]
    weight = float(rng.choice([low, high])) if world.spec.tiers else float(rng.integers(int(low), int(high) + 1))
    wrong = rng.random() < world.spec.label_errors
    label = str(rng.choice(LABELS)) if wrong else entry.label
    return Criterion(text=entry.text, weight=entry.sign * weight, tags=(LABEL_TAG + label,))


def _describe(texts: Texts, part: int, entries: Sequence[Entry]) -> dict[str, object]:
    chosen = texts.parts[part]
    return {
        "name": chosen.name,
        "description": f"{chosen.aim} {chosen.failure}",
        "indices": [number for number, entry in enumerate(entries, 1) if entry.part == part],
    }


def _pad(rows: Sequence[Sequence[float]], filling: float) -> npt.NDArray[Any]:
    width = max(map(len, rows))
    return np.array([[*row, *[filling] * (width - len(row))] for row in rows])
