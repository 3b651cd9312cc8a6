"""The schemes by name: what each one asks a judge to read, and how it weighs the verdicts.

A scheme turns verdicts into one number in [0, 1]. A name with a colon is a function of the user's,
`pkg.module:function` (see `own`). `focused(<scheme>)` divides the score by the length of the answer relative to its
group, `dropout(<scheme>)` leaves a share of what adds out at every step of a training. Any scheme but a function can
carry `+appropriateness`: one fixed criterion (answers what was asked, stays in scope, suits the asker) is judged on its
own, as the last verdict, and joins the weighted mean; failing it zeroes nothing else.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from prorubric.aggregate.gates import Gates, gate_critical, gate_key, gate_licensed, gate_required, weigh_halves
from prorubric.aggregate.own import OwnFunction, load_own
from prorubric.errors import SchemeError
from prorubric.judge.readings import READINGS, Reading, list_items
from prorubric.rubric.labels import relabel
from prorubric.rubric.records import Task

APPROPRIATENESS = "appropriateness"
_SUFFIX = f"+{APPROPRIATENESS}"


def _by_criterion(task: Task) -> list[float]:
    return list(task.rubric.weights)


def _without_penalties(task: Task) -> list[float]:
    return [max(weight, 0.0) for weight in task.rubric.weights]


def _by_label(task: Task) -> list[float]:
    criteria = enumerate(task.rubric.criteria, 1)
    return [relabel(criterion, f"task {task.id!r}, criterion {index}") for index, criterion in criteria]


def _by_dimension(task: Task) -> list[float]:
    return [dimension.weight for dimension in task.protocol.dimensions] if task.protocol else []


def _as_a_whole(task: Task) -> list[float]:
    return [task.rubric.total_weight]


def _by_item(reading: Reading, task: Task) -> list[float]:
    return _as_a_whole(task) if reading.is_joint else [item.weight for item in list_items(task, reading)]


@dataclass(frozen=True, slots=True)
class Scheme:
    """One way to turn verdicts into a number."""

    name: str
    """The name a user writes."""
    readings: tuple[Reading, ...]
    """What the judge reads, in the order of the verdicts; schemes with the same readings share the judge's calls."""
    weigh: Callable[[Task], list[float]]
    """The weight of each part of the weighted mean."""
    joins: bool = False
    """Verdicts on criteria count by dimension: one that fails takes its dimension with it."""
    gate: Callable[[Task], Gates] | None = None
    """Which verdicts others depend on."""
    pays: Literal["each", "share", "together", "level", "gated"] | None = "each"
    """What one more criterion met is worth: its own weight, its share of all weight, something only if the rest of its
    group holds, a part of a level, or what it opens besides its own; None if no formula says."""
    focus: float = 0.0
    """How much length costs: the score is divided by `1 + focus · length / mean length of the group`."""
    dropout: float = 0.0
    """The share of the positive items that is left out, other ones at each step, the same for all answers to a task."""
    own: OwnFunction | None = None
    """The user's function that takes the verdicts; the weights only tell penalties then."""

    @property
    def appropriateness(self) -> bool:
        """True if the last verdict is on appropriateness."""
        return self.readings[-1].name == APPROPRIATENESS

    @property
    def is_relative(self) -> bool:
        """True if a response is scored together with the others of its group."""
        return bool(self.focus or self.dropout)

    @property
    def reads_criteria(self) -> bool:
        """True if the judge gives a verdict on each criterion, so what a criterion pays needs no assumption."""
        return self.readings[0].about == "criterion"

    @property
    def groups_criteria(self) -> bool:
        """True if criteria count by dimension."""
        return self.joins or self.readings[0].about == "dimension"

    @property
    def needs(self) -> set[str]:
        """What a task must have been compiled with: `dimensions`, `restated criteria`."""
        return {reading.needs for reading in self.readings if reading.needs} | ({"dimensions"} if self.joins else set())


_BASES = {
    scheme.name: scheme
    for scheme in (
        Scheme("additive", (READINGS["criteria"],), _by_criterion),
        Scheme("conjunctive", (READINGS["criteria"],), _by_dimension, joins=True, pays="together"),
        Scheme("raw-and", (READINGS["groups"],), _by_dimension, pays="together"),
        Scheme("prorubric", (READINGS["dimensions"],), _by_dimension, pays="together"),
        Scheme("prorubric-no-failure", (READINGS["dimensions-no-failure"],), _by_dimension, pays="together"),
        Scheme("graded", (READINGS["levels"],), _by_dimension, pays="level"),
        Scheme("k1", (READINGS["one-dimension"],), _as_a_whole, pays="together"),
        Scheme("implicit", (READINGS["mark"],), _as_a_whole, pays="share"),
        Scheme("weighted", (READINGS["criteria"],), _by_label),
        Scheme("rewritten", (READINGS["criteria-rewritten"],), _by_criterion),
        Scheme("licensed", (READINGS["criteria"],), _by_criterion, gate=gate_licensed, pays="gated"),
        Scheme("required-first", (READINGS["criteria"],), weigh_halves, gate=gate_required, pays="gated"),
        Scheme("veto", (READINGS["criteria"],), _without_penalties, gate=gate_critical, pays="gated"),
        Scheme("gated", (READINGS["dimensions"],), _by_dimension, gate=gate_key, pays="gated"),
    )
}

_WRAPPERS: dict[str, dict[str, Any]] = {"focused": {"focus": 1 / 3}, "dropout": {"dropout": 0.25}}
_WRAPPED = re.compile(rf"({'|'.join(_WRAPPERS)})\((.+)\)")

BASE_SCHEMES = tuple(_BASES)
"""The names of all schemes without `+appropriateness`."""

SCHEMES = tuple(base + suffix for suffix in ("", _SUFFIX) for base in BASE_SCHEMES)
"""Every name that `find_scheme` knows."""


def find_scheme(name: str) -> Scheme:
    """The scheme with this name; raises `SchemeError` with the names that exist.

    `ConfigError` if it is the import path of a function that cannot be used.
    """
    if wrapped := _WRAPPED.fullmatch(name):
        return replace(find_scheme(wrapped[2]), name=name, pays=None, **_WRAPPERS[wrapped[1]])
    if ":" in name:
        own = load_own(name)
        return Scheme(name, (own.reading,), partial(_by_item, own.reading), pays=None, own=own)
    base = _BASES.get(name.removesuffix(_SUFFIX))
    if base is None:
        known = ", ".join(BASE_SCHEMES)
        raise SchemeError(
            f"no scheme is called {name!r}; known: {known}, each also as <name>{_SUFFIX}, "
            "your own function as pkg.module:function, and any of these as focused(<scheme>) or dropout(<scheme>)"
        )
    return base if base.name == name else replace(base, name=name, readings=(*base.readings, READINGS[APPROPRIATENESS]))


def unwrap_name(name: str) -> str:
    """The name inside `focused(…)` and `dropout(…)`."""
    wrapped = _WRAPPED.fullmatch(name)
    return unwrap_name(wrapped[2]) if wrapped else name


def list_readings(schemes: Sequence[str]) -> tuple[Reading, ...]:
    """What has to be judged for these schemes, each reading once."""
    return tuple(dict.fromkeys(reading for name in schemes for reading in find_scheme(name).readings))
