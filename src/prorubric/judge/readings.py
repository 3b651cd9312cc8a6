"""The readings: each is one way of judging a response, and one record.

A reading says which items of a task the judge is shown, which prompt asks about them, which form its verdicts have and
what they are about. Schemes that read the same share the judge's calls. To add a reading, add its record to `READINGS`
(and its prompt file, if it needs another one).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from prorubric.errors import ConfigError, SchemeError
from prorubric.judge.forms import BOOLEAN, EXTENT, LEVEL, MARK, MET, SCORE, STRICT, TEXT_MARKS, VerdictForm
from prorubric.judge.texts import (
    APPROPRIATENESS_TEXT,
    CREATIVE_LOWER,
    CREATIVE_NAMES,
    PROBE_TEXTS,
    TEXTS,
    describe_whole,
    list_rewritten,
    render_group,
)
from prorubric.rubric.identity import remember
from prorubric.rubric.records import Dimension, Task
from prorubric.text.failures import remove_failure_clauses

Texts = Sequence[tuple[str, float]]
"""The text and the weight of each item."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to be judged, by its 1-based index."""

    index: int
    text: str
    weight: float

    def __hash__(self) -> int:
        """Of the text alone, which is faster: what is rendered of many items is remembered by their hash."""
        return hash(self.text)

    @property
    def polarity(self) -> str:
        """What a true verdict means for the response."""
        return "positive" if self.weight > 0 else "negative"


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One way of judging a response. Its verdicts are stored under its name."""

    name: str
    list_texts: Callable[[Task], Texts]
    """The items of a task; empty if the task has none."""
    about: Literal["criterion", "dimension", "response"]
    """What one verdict is about."""
    form: VerdictForm = BOOLEAN
    prompt: str = "binary"
    """One of `prompts/*.txt`."""
    is_joint: bool = False
    """True if there is one verdict on all items together."""
    is_whole: bool = False
    """True if its one item stands for all criteria together."""
    shows_criteria: bool = False
    """True if an item is nothing but criteria, so that the checks on all of them decide it."""
    is_single: bool = False
    """True if each item has its own call, with the reason before the verdict; its place does not matter then."""
    shows_points: bool = False
    """True if a single item is shown with its points in square brackets before it."""
    most_items: int | None = None
    """The most items that its prompt asks about in one call."""
    is_averaged: bool = False
    """True if a verdict is the mean of several draws."""
    is_read_by_words: bool = False
    """True if a judge that only compares words can read it."""
    needs: Literal["dimensions", "restated criteria"] | None = None
    """What a task must have been compiled with."""

    @property
    def asks_by_item(self) -> bool:
        """True if a call asks for a verdict on each of several items."""
        return not (self.is_joint or self.is_single or self.form.is_text)

    def __reduce__(self) -> tuple[Any, ...]:
        return find_reading, (self.name,)


def find_reading(reading: "str | Reading") -> Reading:
    """The reading with this name; raises `ConfigError` with the names that exist."""
    if isinstance(reading, Reading):
        return reading
    if reading not in READINGS:
        raise ConfigError(f"no reading is called {reading!r}; known: {', '.join(READINGS)}")
    return READINGS[reading]


@remember(1024)
def list_items(task: Task, reading: str | Reading) -> tuple[Item, ...]:
    """The items of a reading; raises `SchemeError` if the task does not have what the reading needs."""
    found = find_reading(reading)
    texts = found.list_texts(task)
    if not texts:
        needs = f"{found.name} needs {found.needs} and the task has none"
        raise SchemeError(needs, remedy="compile them first", place=f"task {task.id!r}")
    return tuple(Item(index, text, weight) for index, (text, weight) in enumerate(texts, 1))


def list_members(task: Task, reading: Reading) -> list[tuple[int, ...]]:
    """The indices of the criteria that each item of a reading stands for; empty if its items stand for none."""
    indices = range(1, len(task.rubric) + 1)
    if reading.is_whole:
        return [tuple(indices)]
    if reading.about == "criterion":
        return [(index,) for index in indices]
    dimensions = task.protocol.dimensions if task.protocol and reading.about == "dimension" else ()
    return [dimension.indices for dimension in dimensions]


def _list_criteria(task: Task) -> Texts:
    return [(criterion.text, criterion.weight) for criterion in task.rubric.criteria]


def _list_whole(task: Task) -> Texts:
    text = describe_whole(task)
    return [(text, task.rubric.total_weight)] if text else []


def _list_dimensions(describe: Callable[[Task, Dimension], str]) -> Callable[[Task], Texts]:
    """Dimensions by their names, which are the same in every reading; the descriptions differ."""

    def list_texts(task: Task) -> Texts:
        dimensions = task.protocol.dimensions if task.protocol else ()
        return [(f"{dimension.name}: {describe(task, dimension)}", dimension.weight) for dimension in dimensions]

    return list_texts


def _list_probe(_: Task) -> Texts:
    return [(text, 1.0) for text in PROBE_TEXTS]


_DESCRIBED = _list_dimensions(lambda _, dimension: dimension.description)

READINGS = {
    reading.name: reading
    for reading in (
        Reading("criteria", _list_criteria, "criterion", shows_criteria=True, is_read_by_words=True),
        Reading(
            "criteria-rewritten",
            lambda task: list(zip(list_rewritten(task), task.rubric.weights, strict=True)),
            "criterion",
            shows_criteria=True,
            is_read_by_words=True,
            needs="restated criteria",
        ),
        Reading(
            "groups",
            _list_dimensions(lambda task, dimension: render_group(task.rubric, dimension)),
            "dimension",
            shows_criteria=True,
            needs="dimensions",
        ),
        Reading("dimensions", _DESCRIBED, "dimension", needs="dimensions"),
        Reading(
            "dimensions-no-failure",
            _list_dimensions(lambda _, dimension: remove_failure_clauses(dimension.description).text),
            "dimension",
            needs="dimensions",
        ),
        Reading("one-dimension", _list_whole, "response", is_whole=True, needs="dimensions"),
        Reading("levels", _DESCRIBED, "dimension", LEVEL, "graded", is_averaged=True, needs="dimensions"),
        Reading("mark", _list_criteria, "response", MARK, "holistic", is_joint=True, is_read_by_words=True),
        Reading(
            "appropriateness",
            lambda task: (
                [(APPROPRIATENESS_TEXT, task.rubric.total_weight / len(task.protocol))] if task.protocol else []
            ),
            "response",
            needs="dimensions",
        ),
        Reading("redundancy", lambda _: [(TEXTS["redundancy"], 1.0)], "response"),
        Reading("probe", _list_probe, "response"),
        Reading("probe-single", _list_probe, "response", STRICT, "single", is_single=True),
        Reading("healthbench", _list_criteria, "criterion", MET, "healthbench", is_single=True, shows_points=True),
        Reading("healthbench-bare", _list_criteria, "criterion", MET, "healthbench", is_single=True),
        Reading("writing", _list_criteria, "criterion", SCORE, "writing", is_single=True),
        Reading("coverage", _list_criteria, "criterion", EXTENT, "coverage", most_items=8),
        Reading(
            "creative",
            lambda _: [(name, -1.0 if name in CREATIVE_LOWER else 1.0) for name in CREATIVE_NAMES],
            "response",
            TEXT_MARKS,
            "creative",
        ),
    )
}
"""Every reading by its name."""
