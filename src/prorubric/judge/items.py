"""What a judge is asked about: the items of a task for each reading.

A *reading* is one set of verdicts: on the criteria, on the dimensions with or without failure clauses, on groups of
criteria that must hold together, on the checklist as a whole, on appropriateness, on redundancy. Several schemes can
share one.
"""

from dataclasses import dataclass
from typing import Literal, NoReturn

from prorubric.errors import ConfigError, SchemeError
from prorubric.judge.texts import APPROPRIATENESS_TEXT, describe_whole, list_rewritten, render_group
from prorubric.rubric.identity import remember
from prorubric.rubric.records import ProtocolRubric, Task
from prorubric.text.failures import remove_failure_clauses

Reading = Literal[
    "criteria",
    "criteria-rewritten",
    "groups",
    "dimensions",
    "dimensions-no-failure",
    "one-dimension",
    "levels",
    "mark",
    "appropriateness",
    "redundancy",
]
READINGS: tuple[Reading, ...] = Reading.__args__  # type: ignore[attr-defined]

REDUNDANCY_TEXT = (
    "Economy: every part of the answer helps with what was asked. Nothing is said twice, nothing is listed just "
    "to be complete, and no topic is brought up that the asker has no use for. Fails if a passage could be cut "
    "without the asker losing anything."
)
"""A fixed criterion that no scheme reads: an audit watches how far an edit moves it."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to be judged, by its 1-based place."""

    index: int
    text: str
    weight: float

    @property
    def polarity(self) -> str:
        """How a true verdict is meant."""
        return "positive" if self.weight > 0 else "negative"


@remember(1024)
def list_items(task: Task, reading: Reading) -> tuple[Item, ...]:
    """The items of a reading; raises `SchemeError` where the task does not have what the reading needs."""
    if reading not in READINGS:
        raise ConfigError(f"no reading is called {reading!r}; known: {', '.join(READINGS)}")
    rubric = task.rubric
    match reading:
        case "criteria" | "mark":
            texts, weights = [criterion.text for criterion in rubric.criteria], rubric.weights
        case "criteria-rewritten":
            texts, weights = [*list_rewritten(task)], rubric.weights
        case "one-dimension":
            texts, weights = [describe_whole(task) or _refuse(task, reading)], (rubric.total_weight,)
        case "appropriateness":
            texts, weights = [APPROPRIATENESS_TEXT], (rubric.total_weight / len(_require(task, reading)),)
        case "redundancy":
            texts, weights = [REDUNDANCY_TEXT], (1.0,)
        case _:
            dimensions = _require(task, reading).dimensions
            texts = [_describe(task, number, reading) for number in range(len(dimensions))]
            weights = tuple(dimension.weight for dimension in dimensions)
    return tuple(Item(i, text, weight) for i, (text, weight) in enumerate(zip(texts, weights, strict=True), 1))


def _describe(task: Task, number: int, reading: Reading) -> str:
    """A dimension by its name, which is the same in every reading: what differs is the description."""
    dimension = _require(task, reading).dimensions[number]
    text = dimension.description
    if reading == "groups":
        text = render_group(task.rubric, dimension)
    elif reading == "dimensions-no-failure":
        text = remove_failure_clauses(text).text
    return f"{dimension.name}: {text}"


def _require(task: Task, reading: str) -> ProtocolRubric:
    return task.protocol or _refuse(task, reading)


def _refuse(task: Task, reading: str) -> NoReturn:
    raise SchemeError(f"task {task.id!r}: {reading} needs dimensions and the task has none; compile them first")
