"""`score`: verdicts, a task and a scheme give a `Score`, in which an unknown verdict is never met and never unmet.

`low` and `high` are the scheme's values with all unknowns set against and for the response; every scheme is monotone in
each compliance, so nothing lies outside. `value` is given only where the two agree: the unknown
member of a group that has already failed makes no difference.

A verdict that is not applicable leaves the sum with its weight, and what the sum is divided by; a group leaves when all
of its members do. If nothing with a positive weight is left the score is open, from 0 to 1, with the reason: one
response must not stop a run.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Self, cast

import numpy as np
from pydantic import Field, model_validator

from prorubric.aggregate.plan import ScoringPlan, make_scoring_plan
from prorubric.aggregate.schemes import Scheme
from prorubric.errors import SchemeError
from prorubric.rubric.base import Record
from prorubric.rubric.records import Task
from prorubric.rubric.verdict import NotApplicable, Unknown, Verdict, are_boolean, is_unknown
from prorubric.text.show import shorten

NOTHING_LEFT = "every item with a positive weight is not applicable"
"""Why a response has no score though none of its verdicts is unknown."""

_Fraction = Annotated[float, Field(ge=0, le=1)]


class Score(Record):
    """What a response earned, or what it could still have earned."""

    value: _Fraction | None
    """The score, or None if unknown verdicts leave it open."""
    low: _Fraction
    """The score with every unknown verdict set against the response."""
    high: _Fraction
    """The score with every unknown verdict set for the response."""
    unknown: tuple[int, ...] = ()
    """1-based positions of the unknown verdicts."""
    not_applicable: tuple[int, ...] = ()
    """1-based positions of the verdicts that left the score."""
    reason: str = ""
    """Why the score is open, where that is not because of unknown verdicts alone."""

    @model_validator(mode="after")
    def _value_lies_between(self) -> Self:
        if self.value is None and self.low >= self.high:
            raise ValueError(f"low {self.low} and high {self.high} agree, so the value is known; give it")
        if self.value is not None and not self.low == self.value == self.high:
            raise ValueError(f"value {self.value} is given, so low {self.low} and high {self.high} must equal it")
        return self


def score(
    verdicts: Sequence[Verdict],
    task: Task,
    scheme: str | Scheme,
    *,
    length: float | None = None,
    step: int | None = None,
) -> Score:
    """Score one response: one verdict for each item that the scheme reads, in order, `+appropriateness` last.

    `focused(…)` needs the length of the response as a multiple of the mean of its group; `dropout(…)` leaves something
    out only if it is given the step of the training.
    """
    return score_plan(verdicts, make_scoring_plan(task, scheme), length=length, step=step)


def score_plan(
    verdicts: Sequence[Verdict], plan: ScoringPlan, *, length: float | None = None, step: int | None = None
) -> Score:
    """Score one response against a plan that was made before: for many responses to the same task."""
    if plan.scheme.dropout and step is not None:
        _check_verdicts(verdicts, plan)
        dropped = plan.list_dropped(step)
        reason = NotApplicable(f"left out at step {step}")
        verdicts = [reason if place in dropped else verdict for place, verdict in enumerate(verdicts)]
    found = _score_whole(verdicts, plan)
    if not plan.scheme.focus:
        return found
    share = share_for_length(plan.scheme, length)
    scaled = {name: None if end is None else end * share for name, end in found if name in ("value", "low", "high")}
    return found.model_copy(update=scaled)


def share_for_length(scheme: Scheme, length: float | None) -> float:
    """What `focused(…)` leaves of a score; `length` is a multiple of the group's mean."""
    if length is None:
        raise SchemeError(
            f"{scheme.name} compares the length of an answer with the others in its group, but there is no group here; "
            "it works in a reward, in the lab, or with length=…"
        )
    if not 0 <= length < math.inf:
        raise SchemeError(f"{scheme.name}: length is {length}; give a multiple of the group's mean, 0 or more")
    return 1 / (1 + scheme.focus * length)


def _score_whole(verdicts: Sequence[Verdict], plan: ScoringPlan) -> Score:
    # The usual case, one plain boolean for each item, needs no closer look.
    if plan.is_boolean and len(verdicts) == len(plan.ranges) and are_boolean(verdicts):
        return _make_known(plan.value(cast("Sequence[bool]", verdicts)))
    _check_verdicts(verdicts, plan)
    unknown = tuple(position for position, verdict in enumerate(verdicts, 1) if is_unknown(verdict))
    left_out = {position for position, verdict in enumerate(verdicts) if isinstance(verdict, NotApplicable)}
    about = {"unknown": unknown, "not_applicable": tuple(position + 1 for position in sorted(left_out))}
    if left_out and not plan.has_left(left_out):
        return Score(value=None, low=0.0, high=1.0, **about, reason=NOTHING_LEFT)
    if unknown and plan.own is not None and not plan.own.function.is_monotone:
        reason = f"{plan.scheme.name} gives no bounds: it does not set monotone = True"
        return Score(value=None, low=0.0, high=1.0, **about, reason=reason)
    low = plan.value(_settle(verdicts, plan, in_favour=False), left_out)
    high = plan.value(_settle(verdicts, plan, in_favour=True), left_out) if unknown else low
    if low > high:
        raise SchemeError(
            f"{plan.scheme.name} sets monotone = True but gives {low:g} with the unknown verdicts against the answer, "
            f"{high:g} with them for it; remove that or fix the function",
            place=f"task {plan.task_id!r}",
        )
    return Score(value=low if low == high else None, low=low, high=high, **about)


@lru_cache(maxsize=1024)  # a scheme gives few different values, and a record takes longer to make than to find
def _make_known(value: float) -> Score:
    return Score(value=value, low=value, high=value)


def _settle(verdicts: Sequence[Verdict], plan: ScoringPlan, in_favour: bool) -> list[float]:
    """The verdicts as numbers, each without one at the end of its range that is for or against the response."""
    return [
        bounds[in_favour != penalty] if isinstance(verdict, Unknown | NotApplicable) else float(verdict)
        for verdict, bounds, penalty in zip(verdicts, plan.ranges, plan.penalties, strict=True)
    ]


def _check_verdicts(verdicts: Sequence[Verdict], plan: ScoringPlan) -> None:
    place = f"task {plan.task_id!r}, scheme {plan.scheme.name}"
    if len(verdicts) != len(plan.ranges):
        raise SchemeError(
            f"{place}: {len(verdicts)} verdicts for {len(plan.ranges)} items; give one for each, in order"
        )
    given: Sequence[object] = verdicts  # a file or a caller may have put anything here
    for position, (verdict, (low, high)) in enumerate(zip(given, plan.ranges, strict=True), 1):
        if isinstance(verdict, Unknown | NotApplicable):
            continue
        boolean = isinstance(verdict, bool | np.bool_)
        is_number = isinstance(verdict, int | float | np.number) and low <= float(verdict) <= high
        if boolean != (high == 1) or not (boolean or is_number):
            allowed = "true or false" if high == 1 else f"a number from {low:g} to {high:g}"
            raise SchemeError(
                f"{place}: verdict {position} is {shorten(repr(verdict))}; allowed: {allowed}, "
                "NotApplicable(reason) or Unknown(reason)"
            )
