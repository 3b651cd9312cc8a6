"""A plan: what one scheme does with the verdicts on one task, worked out and checked before any verdict exists.

Making the plan is where misuse is found (no protocol rubric, no positive weight, no labels), before anything is paid
for. A plan holds numbers only: `ScoringPlan.value` is the scheme itself, and `batch` stacks many plans into arrays.
"""

import math
import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import ne

from prorubric.aggregate.gates import Gates
from prorubric.aggregate.own import OwnPlan
from prorubric.aggregate.schemes import Scheme, find_scheme
from prorubric.errors import SchemeError
from prorubric.judge.forms import BOOLEAN
from prorubric.rubric.records import Task


@dataclass(frozen=True, slots=True)
class ScoringPlan:
    """How verdicts become one number: scale each to [0, 1], join groups, gate, take `clip01(Σ w·v / Σ_{w>0} w)`.

    Over positive weights that is the weighted mean, so every scheme ends in this one formula.
    """

    task_id: str
    scheme: Scheme
    ranges: tuple[tuple[float, float], ...]
    """For each verdict, in order, the lowest and the highest it can be."""
    is_boolean: bool
    """True if every verdict is true or false."""
    penalties: tuple[bool, ...]
    """For each verdict whether it describes a behaviour to avoid."""
    groups: tuple[tuple[int, ...], ...] | None
    """0-based positions of verdicts that must hold together, or None if each counts by itself."""
    weights: tuple[float, ...]
    """The weight of each group, or of each verdict."""
    positive_weight: float
    """What the weighted sum is divided by."""
    gates: Gates | None = None
    """Which verdicts others depend on."""
    own: OwnPlan | None = None
    """The user's function, which is called in place of the formula."""

    def weigh_without(self, left_out: Collection[int]) -> tuple[float, ...]:
        """The weights once the verdicts at these 0-based positions have left: 0 for a part with no verdict left."""
        parts = self.groups or [(position,) for position in range(len(self.weights))]
        return tuple(
            0.0 if all(position in left_out for position in part) else weight
            for part, weight in zip(parts, self.weights, strict=True)
        )

    def list_dropped(self, step: int) -> frozenset[int]:
        """The 0-based positions of the verdicts that `dropout` leaves out at a step; at least one that adds stays."""
        count = len(self.ranges) - self.scheme.appropriateness
        adds = [not penalty for penalty in self.penalties] if self.groups else [weight > 0 for weight in self.weights]
        places = [place for place in range(count) if adds[place]]
        dropped = min(round(self.scheme.dropout * len(places)), len(places) - 1)
        draw = random.Random(f"{step} {self.task_id}")  # noqa: S311 - nothing secret
        return frozenset(draw.sample(places, max(dropped, 0)))

    def has_left(self, left_out: Collection[int]) -> bool:
        """True if there is something to score without the verdicts at these 0-based positions."""
        if self.own is not None:
            return len(left_out) < len(self.ranges)
        return any(weight > 0 for weight in self.weigh_without(left_out))

    def value(self, verdicts: Sequence[float], left_out: Collection[int] = ()) -> float:
        """The reward for verdicts that are all known and in range, without those that are not applicable.

        What is left must have a positive weight.
        """
        if self.own is not None:
            return self.own.value([bool(v) for v in verdicts] if self.is_boolean else verdicts, left_out)
        weights, positive = self.weights, self.positive_weight
        if left_out:
            weights = self.weigh_without(left_out)
            positive = _add_ascending([weight for weight in weights if weight > 0])
        scaled = verdicts
        if not self.is_boolean:
            scaled = [
                (verdict - low) / (high - low) for verdict, (low, high) in zip(verdicts, self.ranges, strict=True)
            ]
        if self.groups is not None:
            # A group holds if all of its criteria comply; a penalty complies if its verdict is false.
            complies = [*map(ne, map(bool, scaled), self.penalties)]
            for position in left_out:
                complies[position] = True
            scaled = [float(all(map(complies.__getitem__, group))) for group in self.groups]
        if self.gates is not None:
            scaled = self.gates.apply(scaled, self.penalties, left_out)
        total = _add_ascending([weight * value for weight, value in zip(weights, scaled, strict=True)])
        return min(max(total / positive, 0.0), 1.0)


def make_scoring_plan(task: Task, scheme: str | Scheme) -> ScoringPlan:
    """Work out a scheme for a task; raises `SchemeError` if the scheme cannot be applied to it."""
    found = find_scheme(scheme) if isinstance(scheme, str) else scheme
    if task.protocol is None and (found.groups_criteria or found.appropriateness):
        raise SchemeError(
            f"{found.name} needs dimensions and the task has none",
            remedy="make dimensions with prorubric compile, or use --scheme additive",
            place=f"task {task.id!r}",
        )
    dimensions = task.protocol.dimensions if task.protocol else ()
    weights = found.weigh(task)
    groups = [tuple(index - 1 for index in dimension.indices) for dimension in dimensions] if found.joins else []
    signed = task.rubric.weights if found.joins or (found.gate and found.reads_criteria) else weights
    penalties = [weight < 0 for weight in signed]
    gates = found.gate(task) if found.gate else None
    ranges = [found.readings[0].form.scale] * len(penalties)
    if found.appropriateness:
        # The mean weight of the task's dimensions, whatever the scheme, so schemes stay comparable.
        weights.append(task.rubric.total_weight / len(dimensions))
        groups = [*groups, (len(penalties),)] if groups else groups
        penalties.append(False)
        gates = gates.add_free() if gates else None
        ranges.append(BOOLEAN.scale)
    if not math.isfinite(sum(map(abs, weights))):
        raise SchemeError(f"task {task.id!r}: {found.name} adds the weights up past the largest float; scale them down")
    if found.own is None and not any(weight > 0 for weight in weights):
        raise SchemeError(
            f"task {task.id!r}: {found.name} divides by the positive weights and there are none; "
            "use a scheme that groups criteria, or drop the task"
        )
    plan = ScoringPlan(
        task.id,
        found,
        tuple(ranges),
        found.readings[0].form is BOOLEAN,
        tuple(penalties),
        tuple(groups) if groups else None,
        tuple(weights),
        _add_ascending(weight for weight in weights if weight > 0),
        gates,
        # A copy, because plans are remembered as long as their task lives.
        OwnPlan(found.own, task.model_copy()) if found.own else None,
    )
    if plan.own is not None:
        # A function that fails is found now, with every item met, and not by the first answer.
        plan.value([bounds[not penalty] for bounds, penalty in zip(ranges, penalties, strict=True)])
    return plan


def _add_ascending(terms: Iterable[float]) -> float:
    """The sum of the terms, added from the lowest to the highest.

    A reward must not depend on the order of the criteria, and floating-point addition depends on its order. Ascending
    order also keeps the sum monotone: complying with one more criterion never scores less, not even by rounding.
    """
    total = 0.0
    for term in sorted(terms):
        total += term
    return total
