"""A scheme that the user wrote: `pkg.module:function`, which takes the verdicts on one answer and its task.

The function gets one verdict for each item of a reading: the criteria, or the reading that its attribute `reads` names.
It sees known verdicts only. One that is not applicable is left out, and the task comes without that item. Unknown
verdicts give bounds if the function has `monotone = True`: complying with one more item never lowers its value.

If it cannot be imported, that is a `ConfigError`; if it raises or returns anything but a finite number, a
`SchemeError`, with every item met already when a plan is made.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from prorubric.errors import ConfigError, SchemeError
from prorubric.judge.readings import READINGS, Reading
from prorubric.rubric.records import ProtocolRubric, Rubric, Task
from prorubric.text.show import shorten


@dataclass(frozen=True, slots=True)
class OwnFunction:
    """A function by its import path, with what it says about itself."""

    path: str
    function: Callable[[Sequence[Any], Task], object]
    reading: Reading
    is_monotone: bool

    def __call__(self, verdicts: Sequence[Any], task: Task) -> float:
        """What it gives for one answer, if that is a finite number."""
        try:
            value = self.function(verdicts, task)
        except Exception as error:
            line = f"{self.path} raised {_describe(error)} for task {task.id!r}; fix the function"
            raise SchemeError(line) from error
        if not isinstance(value, int | float | np.integer | np.floating) or not math.isfinite(value):
            raise SchemeError(
                f"{self.path} returned {shorten(repr(value))} for task {task.id!r}; "
                "return a finite number for every answer"
            )
        return float(value)


@dataclass(frozen=True, slots=True)
class OwnPlan:
    """A function of the user's for the answers to one task."""

    function: OwnFunction
    task: Task

    def value(self, verdicts: Sequence[Any], left_out: Collection[int]) -> float:
        """The score of an answer, without the items at these 0-based positions."""
        task, given = self.task, list(verdicts)
        if left_out:
            task = leave_out(task, self.function.reading, left_out)
            given = [verdict for position, verdict in enumerate(given) if position not in left_out]
        value = self.function(given, task)
        if not 0 <= value <= 1:
            raise SchemeError(
                f"{self.function.path} returned {value:g} for task {task.id!r}; return a number from 0 to 1 "
                "(only the lab accepts others)"
            )
        return value


def load_own(path: str) -> OwnFunction:
    """The function at an import path; raises `ConfigError` if there is none."""
    module_name, _, name = path.partition(":")
    remedy = "give your own scheme as pkg.module:function"
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a module may do anything while it is imported
        raise ConfigError(f"{path} cannot be imported: {_describe(error)}; {remedy}") from None
    if not hasattr(module, name):
        raise ConfigError(f"{path}: module {module.__name__!r} has no attribute {name!r}; {remedy}")
    function = getattr(module, name)
    if not callable(function):
        raise ConfigError(f"{path} is not a function; give one that takes verdicts and a task and returns a number")
    reads = getattr(function, "reads", "criteria")
    if reads not in READINGS:
        raise ConfigError(f"{path}: its attribute reads is {reads!r}; known readings: {', '.join(READINGS)}")
    return OwnFunction(path, function, READINGS[reads], getattr(function, "monotone", False) is True)


def leave_out(task: Task, reading: Reading, positions: Collection[int]) -> Task:
    """The task without the items of a reading at these 0-based positions: criteria, or dimensions with theirs."""
    dimensions = task.protocol.dimensions if task.protocol else ()
    gone = {position + 1 for position in positions}
    if reading.about == "dimension":
        gone = {index for position in positions for index in dimensions[position].indices}
    kept = [index for index in range(1, len(task.rubric) + 1) if index not in gone]
    place = {index: number for number, index in enumerate(kept, 1)}
    rubric = Rubric(criteria=tuple(task.rubric.criteria[index - 1] for index in kept))
    parts = [
        {"name": dimension.name, "description": dimension.description, "indices": indices}
        for dimension in dimensions
        if (indices := [place[index] for index in dimension.indices if index in place])
    ]
    protocol = ProtocolRubric.of(rubric, parts) if parts else None
    return task.model_copy(update={"rubric": rubric, "protocol": protocol})


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {shorten(str(error), 200)}"
