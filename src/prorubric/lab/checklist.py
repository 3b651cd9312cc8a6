"""The checklist of a case as the project's own records, and the same as arrays for judges that read thousands at once.

A criterion asks for one or two *targets*, each known by the number of a move: for an item the move that names it, for
a test, a question, a manner, an aside or a decision the move itself. So a judge looks a criterion up by number.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from prorubric.lab.cases import Cases, render_case
from prorubric.lab.world import Floats, Indices, World, make_world
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
class Entry:
    """One criterion before it is a record: its text and what a judge has to look for."""

    text: str
    kind: str
    role: str  # what it weighs as: decision, core, peripheral, act or penalty
    part: int
    target: int
    label: str = "normal"
    other: int | None = None  # the second target of a compound


class Checklists:
    """Cases with their checklists. Axes: T cases, N criteria (padded to the longest), K parts."""

    def __init__(self, world: World, count: int, seed: int) -> None:
        self.cases = cases = Cases(world, count, seed)
        rng = np.random.default_rng([world.spec.seed, 3, seed])
        lists = [list(_write_entries(world, cases, row, rng)) for row in range(count)]
        self.tasks = tuple(_make_task(world, cases, row, entries, rng) for row, entries in enumerate(lists))
        self.kind_T_N: Indices = _pad([[KINDS.index(entry.kind) for entry in entries] for entries in lists], PADDING)
        self.target_T_N: Indices = _pad([[entry.target for entry in entries] for entries in lists], 0)
        others = [[e.target if e.other is None else e.other for e in entries] for entries in lists]
        self.other_T_N: Indices = _pad(others, 0)
        self.weight_T_N: Floats = _pad([task.rubric.weights for task in self.tasks], 0.0)
        # The part behind each dimension of the protocol rubric, and for each criterion the number of its dimension.
        parts = [sorted({entry.part for entry in entries}) for entries in lists]
        self.part_T_K: Indices = _pad(parts, -1)
        numbers = [[used.index(e.part) for e in entries] for used, entries in zip(parts, lists, strict=True)]
        self.dimension_T_N: Indices = _pad(numbers, -1)


@cache
def make_checklists(world_name: str, count: int, seed: int) -> Checklists:
    """Draw cases and write their checklists; the same world, count and seed give the same, to the letter."""
    return Checklists(make_world(world_name), count, seed)


def _write_entries(world: World, cases: Cases, row: int, rng: np.random.Generator) -> Iterator[Entry]:
    spec, texts, number = world.spec, world.texts, world.moves.number
    family, level = cases.family_T[row], int(cases.level_T[row])
    yield Entry(texts.decision_criteria[level], "decision", "decision", 2, number("decide", level), "critical")

    core, pool = np.flatnonzero(world.core_F_V_I[family, level]), np.flatnonzero(world.pool_F_I[family])
    names, parts = [*texts.part_of_item], [*texts.part_of_item.values()]
    for item in core.tolist():
        text = texts.substantive.format(item=names[item])
        yield Entry(text, "explain", "core", parts[item], number("name", item), "critical")
    for item in rng.permutation(np.setdiff1d(pool, core))[: spec.peripheral].tolist():
        kind = "presence" if rng.random() < spec.presence_share else "explain"
        template = texts.presence if kind == "presence" else texts.substantive
        yield Entry(template.format(item=names[item]), kind, "peripheral", parts[item], number("name", item))
    for _ in range(spec.compounds):
        item, other = rng.choice(pool, 2, replace=False).tolist()
        text = texts.compound.format(item=names[item], other=names[other])
        targets = number("name", item), number("name", other)
        yield Entry(text, "compound", "peripheral", parts[item], targets[0], other=targets[1])

    needed = world.needed_F_V_X[family, level]
    idle = rng.permutation(np.flatnonzero(~needed[: len(texts.tests)])).tolist()
    needless, penalized = idle[: spec.needless_criteria], idle[spec.needless_criteria :][: spec.penalties]
    for test in [*np.flatnonzero(needed).tolist(), *needless]:
        text, label = texts.test_criterion.format(test=texts.tests[test]), "needless" if test in needless else "normal"
        yield Entry(text, "act", "act", 1, number("test", test), label)
    for test in penalized:
        yield Entry(texts.test_penalty.format(test=texts.tests[test]), "act", "penalty", 1, number("test", test))

    key = int(world.key_question_F[family])
    others = rng.permutation([question for question in range(len(texts.questions)) if question != key]).tolist()
    for question in [key, *others][: spec.asked_questions]:
        text = texts.question_criterion.format(question=texts.questions[question])
        yield Entry(text, "act", "act", 3, number("ask", question))

    if spec.style_criteria:
        asker = "expert" if cases.expert_T[row] else "lay"
        manner = number("manner", list(texts.manner).index(asker))
        yield Entry(texts.manner_criterion[asker], "act", "act", 3, manner, "formatting")
        for aside, (_, criterion) in enumerate(texts.asides.values()):
            yield Entry(criterion, "act", "act", 3, number("aside", aside), "formatting")


def _make_task(world: World, cases: Cases, row: int, entries: Sequence[Entry], rng: np.random.Generator) -> Task:
    spec, criteria = world.spec, []
    for entry in entries:
        low, high = (_TIERS if spec.tiers else _POINTS)[entry.role]
        weight = float(rng.choice([low, high])) if spec.tiers else float(rng.integers(int(low), int(high) + 1))
        label = str(rng.choice(LABELS)) if rng.random() < spec.label_errors else entry.label
        sign = -1 if entry.role == "penalty" else 1
        criteria.append(Criterion(text=entry.text, weight=sign * weight, tags=(LABEL_TAG + label,)))
    dimensions: list[dict[str, object]] = []
    for number in sorted({entry.part for entry in entries}):
        part = world.texts.parts[number]
        indices = [index for index, entry in enumerate(entries, 1) if entry.part == number]
        dimensions.append({"name": part.name, "description": f"{part.aim} {part.failure}", "indices": indices})
    rubric = Rubric(criteria=tuple(criteria))
    return Task(
        id=f"{spec.name}-{row}",
        messages=(Message(role="user", content=render_case(world, cases, row)),),
        rubric=rubric,
        protocol=ProtocolRubric.of(rubric, dimensions),
        domain=world.texts.domain,
    )


def _pad(rows: Sequence[Sequence[float]], filling: float) -> npt.NDArray[Any]:
    width = max(map(len, rows))
    return np.array([[*row, *[filling] * (width - len(row))] for row in rows])
