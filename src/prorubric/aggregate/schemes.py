"""The schemes by name: what each one asks a judge to read, and how it weighs what the judge said.

A scheme turns verdicts into one number in [0, 1]. Any of them can carry `+appropriateness`: one fixed criterion
(answers what was asked, stays in scope, suits the asker) is judged on its own, as the last verdict, and joins the
weighted mean; failing it zeroes nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from prorubric.errors import SchemeError
from prorubric.rubric.labels import relabel
from prorubric.rubric.records import Task

APPROPRIATENESS = "appropriateness"
_SUFFIX = f"+{APPROPRIATENESS}"
_ON_CRITERIA = ("criteria", "criteria-rewritten")

BOOLEAN, LEVEL, MARK = (0.0, 1.0), (0.0, 3.0), (1.0, 10.0)
"""The lowest and the highest verdict: true or false, a level from 0 to 3, a mark from 1 to 10."""


def _by_criterion(task: Task) -> list[float]:
    return list(task.rubric.weights)


def _by_label(task: Task) -> list[float]:
    criteria = enumerate(task.rubric.criteria, 1)
    return [relabel(criterion, f"task {task.id!r}, criterion {index}") for index, criterion in criteria]


def _by_dimension(task: Task) -> list[float]:
    return [dimension.weight for dimension in task.protocol.dimensions] if task.protocol else []


def _as_a_whole(task: Task) -> list[float]:
    return [task.rubric.total_weight]


@dataclass(frozen=True, slots=True)
class Scheme:
    """One way to turn verdicts into a number."""

    name: str
    """The name a user writes."""
    reading: str
    """What the judge reads; schemes with the same reading share the judge's call."""
    weigh: Callable[[Task], list[float]]
    """The weight of each part of the weighted mean."""
    scale: tuple[float, float] = BOOLEAN
    """The lowest and the highest verdict."""
    joins: bool = False
    """Verdicts on criteria count by dimension: one that fails takes its dimension with it."""
    pays: Literal["each", "share", "together", "level"] = "each"
    """What one more criterion met is worth: its own weight, its share of all weight, something only if the rest of its
    group holds, or a part of a level."""
    needs_dimensions: bool = False
    appropriateness: bool = False

    @property
    def readings(self) -> tuple[str, ...]:
        """The sets of verdicts it is computed from, in order."""
        return (self.reading, APPROPRIATENESS) if self.appropriateness else (self.reading,)

    @property
    def reads_criteria(self) -> bool:
        """True where the judge gives a verdict on each criterion, so what a criterion pays needs no assumption."""
        return self.reading in _ON_CRITERIA


_BASES = {
    scheme.name: scheme
    for scheme in (
        Scheme("additive", "criteria", _by_criterion),
        Scheme("conjunctive", "criteria", _by_dimension, joins=True, pays="together", needs_dimensions=True),
        Scheme("raw-and", "groups", _by_dimension, pays="together", needs_dimensions=True),
        Scheme("prorubric", "dimensions", _by_dimension, pays="together", needs_dimensions=True),
        Scheme("prorubric-no-failure", "dimensions-no-failure", _by_dimension, pays="together", needs_dimensions=True),
        Scheme("graded", "levels", _by_dimension, LEVEL, pays="level", needs_dimensions=True),
        Scheme("k1", "one-dimension", _as_a_whole, pays="together"),
        Scheme("implicit", "mark", _as_a_whole, MARK, pays="share"),
        Scheme("weighted", "criteria", _by_label),
        Scheme("rewritten", "criteria-rewritten", _by_criterion),
    )
}

BASE_SCHEMES = tuple(_BASES)
"""The names of all schemes without `+appropriateness`."""

SCHEMES = tuple(base + suffix for suffix in ("", _SUFFIX) for base in BASE_SCHEMES)
"""Every name that `find_scheme` knows."""


def find_scheme(name: str) -> Scheme:
    """The scheme with this name; raises `SchemeError` with the names that exist."""
    base = _BASES.get(name.removesuffix(_SUFFIX))
    if base is None:
        known = ", ".join(BASE_SCHEMES)
        raise SchemeError(f"no scheme is called {name!r}; known: {known}, each also as <name>{_SUFFIX}")
    return base if base.name == name else replace(base, name=name, appropriateness=True)
