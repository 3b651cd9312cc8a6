"""The same scores over arrays: many responses to many tasks at once, identical to `score` to the last bit.

Rubrics may be ragged. Axes are named in suffixes: T tasks, R responses, M verdicts of a response (padded to the
longest), N weights of a task. Values in the padding are ignored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from prorubric.aggregate.gates import NO_GATE
from prorubric.aggregate.plan import ScoringPlan, make_scoring_plan
from prorubric.aggregate.schemes import Scheme
from prorubric.aggregate.score import share_for_length
from prorubric.errors import SchemeError
from prorubric.rubric.records import Task

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.intp]

# Responses scored at a time: keeps the working arrays inside the processor's cache.
_BLOCK = 2048


@dataclass(frozen=True, slots=True)
class PlanTable:
    """One scheme worked out for many tasks, as arrays."""

    scheme: Scheme
    plans: tuple[ScoringPlan, ...]
    is_boolean: bool
    counts_T: Integers
    """How many verdicts a response to the task has."""
    low_T_M: Floats
    high_T_M: Floats
    penalty_T_M: Booleans
    padding_T_M: Booleans
    """True in the padding: the task has fewer verdicts than others."""
    group_T_M: npt.NDArray[np.int16] | None
    """The group of each verdict; the padding belongs to none."""
    weight_T_N: Floats
    positive_T: Floats
    member_T_M: npt.NDArray[np.int16] | None
    """The gate that each verdict belongs to; `behind_T_N` has the gate that each part is behind."""
    behind_T_N: npt.NDArray[np.int16] | None
    shares: Floats
    """What a part keeps after 0, 1, 2 … failures in its gate."""

    @classmethod
    def of(cls, tasks: Sequence[Task], scheme: str | Scheme) -> Self:
        """Work out a scheme for these tasks; their order gives them the row numbers used in `score_batch`."""
        if not tasks:
            raise SchemeError("no tasks to score; give at least one")
        plans = [make_scoring_plan(task, scheme) for task in tasks]
        gates = [plan.gates for plan in plans if plan.gates is not None]
        groups: list[list[int]] = []
        for plan in plans:
            if plan.groups is not None:
                members = [(position, number) for number, group in enumerate(plan.groups) for position in group]
                groups.append([number for _, number in sorted(members)])
        if plans[0].own is not None:
            name = plans[0].scheme.name
            raise SchemeError(f"{name} is a function for one response at a time; use score or score_plan for each")
        return cls(
            scheme=plans[0].scheme,
            plans=tuple(plans),
            is_boolean=plans[0].is_boolean,
            counts_T=np.array([len(plan.ranges) for plan in plans]),
            low_T_M=_pad([[low for low, _ in plan.ranges] for plan in plans], 0.0),
            high_T_M=_pad([[high for _, high in plan.ranges] for plan in plans], 1.0),
            penalty_T_M=_pad([plan.penalties for plan in plans], False),
            padding_T_M=_pad([[False] * len(plan.ranges) for plan in plans], True),
            group_T_M=_pad(groups, -1).astype(np.int16) if groups else None,
            weight_T_N=_pad([plan.weights for plan in plans], 0.0),
            positive_T=np.array([plan.positive_weight for plan in plans]),
            member_T_M=_pad([gate.members for gate in gates], NO_GATE).astype(np.int16) if gates else None,
            behind_T_N=_pad([gate.behind for gate in gates], NO_GATE).astype(np.int16) if gates else None,
            shares=np.array(max((gate.shares for gate in gates), key=len, default=(1.0,))),
        )


@dataclass(frozen=True, slots=True)
class BatchScore:
    """Scores of many responses. An open value is NaN, because an array has no None; `low` and `high` always exist."""

    value_R: Floats
    low_R: Floats
    high_R: Floats


def score_batch(
    verdicts_R_M: npt.NDArray[Any],
    table: PlanTable,
    task_R: Integers,
    unknown_R_M: Booleans | None = None,
    not_applicable_R_M: Booleans | None = None,
    *,
    length_R: Floats | None = None,
    step: int | None = None,
) -> BatchScore:
    """Score many responses at once.

    `verdicts_R_M` holds booleans or numbers in the scheme's range, `task_R` the row of each response's task in the
    table, `unknown_R_M` is true for missing verdicts and `not_applicable_R_M` for those that leave the score (their
    values in `verdicts_R_M` are ignored). A response with nothing positive left is open from 0 to 1.
    `length_R` and `step` are for `focused(…)` and `dropout(…)`, as in `score`.
    """
    if verdicts_R_M.ndim != 2 or len(verdicts_R_M) != len(task_R):
        shape = verdicts_R_M.shape
        raise SchemeError(f"verdicts have shape {shape} for {len(task_R)} responses; give one row for each")
    for marks, name in ((unknown_R_M, "unknown"), (not_applicable_R_M, "not_applicable")):
        if marks is not None and marks.shape != verdicts_R_M.shape:
            shapes = f"{name} has shape {marks.shape}, verdicts have {verdicts_R_M.shape}"
            raise SchemeError(shapes, remedy="make them the same")
    if unknown_R_M is not None and not_applicable_R_M is not None and (unknown_R_M & not_applicable_R_M).any():
        raise SchemeError("a verdict is marked both unknown and not applicable; mark it once")
    if len(task_R) and (task_R.min() < 0 or task_R.max() >= len(table.counts_T)):
        raise SchemeError(f"a response names a task outside 0..{len(table.counts_T) - 1}; check the task numbers")
    needed, columns = int(table.counts_T[task_R].max(initial=0)), verdicts_R_M.shape[1]
    if not needed <= columns <= table.low_T_M.shape[1]:
        raise SchemeError(f"verdicts have {columns} columns, {table.scheme.name} needs {needed} here")
    if table.scheme.dropout and step is not None:
        dropped_R_M = _mark_dropped(table, task_R, columns, step)
        not_applicable_R_M = dropped_R_M if not_applicable_R_M is None else not_applicable_R_M | dropped_R_M
        unknown_R_M = None if unknown_R_M is None else unknown_R_M & ~dropped_R_M
    low_R, high_R = np.empty(len(task_R)), np.empty(len(task_R))
    for start in range(0, len(task_R), _BLOCK):
        part = slice(start, start + _BLOCK)
        unknown, left_out = (None if marks is None else marks[part] for marks in (unknown_R_M, not_applicable_R_M))
        low_R[part], high_R[part] = _score_block(verdicts_R_M[part], table, task_R[part], unknown, left_out)
    if not_applicable_R_M is not None:  # NaN: nothing positive was left
        low_R, high_R = np.nan_to_num(low_R, nan=0.0), np.nan_to_num(high_R, nan=1.0)
    if table.scheme.focus:
        lengths = [None] * len(task_R) if length_R is None else length_R.tolist()
        share_R = np.array([share_for_length(table.scheme, length) for length in lengths])
        low_R, high_R = low_R * share_R, high_R * share_R
    return BatchScore(np.where(low_R == high_R, low_R, np.nan), low_R, high_R)


def _mark_dropped(table: PlanTable, task_R: Integers, columns: int, step: int) -> Booleans:
    marks_T_M = np.zeros((len(table.plans), columns), dtype=bool)
    for row in np.unique(task_R):
        marks_T_M[row, list(table.plans[row].list_dropped(step))] = True
    return marks_T_M[task_R]


def _score_block(
    verdicts: npt.NDArray[Any],
    table: PlanTable,
    task: Integers,
    unknown: Booleans | None,
    left_out: Booleans | None,
) -> tuple[Floats, Floats]:
    width = verdicts.shape[1]
    padding = _rows(table.padding_T_M, task, width)
    ignored = padding if left_out is None else padding | left_out
    if unknown is not None:
        unknown = unknown & ~padding
        ignored = ignored | unknown
    known = _scale(verdicts, ignored, table, task)
    # The padding is 0 out of [0, 1] and weighs nothing, so only real unknowns are settled.
    if unknown is None or not unknown.any():
        value = _value(known, table, task, left_out)
        return value, value
    penalty = _rows(table.penalty_T_M, task, width)
    against = np.where(unknown, penalty, known)
    in_favour = np.where(unknown, ~penalty, known)
    return _value(against, table, task, left_out), _value(in_favour, table, task, left_out)


def _scale(verdicts: npt.NDArray[Any], ignored: Booleans, table: PlanTable, task: Integers) -> Floats | Booleans:
    """Each verdict as a number in [0, 1], and 0 for a missing one."""
    if table.is_boolean and verdicts.dtype == np.bool_:
        # Booleans need no check, and 0 or 1 times a weight is what the float would give.
        plain: Booleans = np.logical_and(verdicts, ~ignored)
        return plain
    low, high = _rows(table.low_T_M, task, verdicts.shape[1]), _rows(table.high_T_M, task, verdicts.shape[1])
    values = np.where(ignored, low, verdicts)
    # A verdict whose range is 0..1 is a boolean; one with a wider range may lie anywhere in it.
    fine = (values >= low) & (values <= high) & ((high != 1) | (values == 0) | (values == 1))
    if not fine.all():
        row, column = (int(axis[0]) for axis in np.nonzero(~fine))
        numbers = "levels 0 to 3, marks 1 to 10, appropriateness 0 or 1"
        raise SchemeError(
            f"{table.scheme.name}: a verdict is {float(verdicts[row, column])} (column {column}); allowed: "
            f"{'true or false (1 or 0)' if table.is_boolean else numbers}, with unknowns marked in unknown_R_M"
        )
    scaled: Floats = (values - low) / (high - low)
    return scaled


def _value(values: Floats | Booleans, table: PlanTable, task: Integers, left_out: Booleans | None) -> Floats:
    """What `ScoringPlan.value` does with scaled verdicts, operation by operation, over rows; NaN if nothing is left."""
    leaves = left_out
    if table.group_T_M is not None:
        width, numbers = values.shape[1], range(table.weight_T_N.shape[1])
        # Verdicts by rows and responses by columns: then whole columns are compared at once.
        fails = ((values != 0) == _rows(table.penalty_T_M, task, width)).T.copy()
        group = _rows(table.group_T_M, task, width).T.copy()
        if left_out is not None:
            fails &= ~left_out.T
            leaves = np.stack([~(~left_out.T & (group == number)).any(axis=0) for number in numbers], axis=1)
        held = [~(fails & (group == number)).any(axis=0) for number in numbers]
        values = np.stack(held, axis=1).astype(np.float64)
    if table.member_T_M is not None and table.behind_T_N is not None:
        width = values.shape[1]
        member, behind = _rows(table.member_T_M, task, width), _rows(table.behind_T_N, task, width)
        fails = (values != 0) == _rows(table.penalty_T_M, task, width)
        if left_out is not None:
            fails &= ~left_out
        counts = [(fails & (member == gate)).sum(axis=1) for gate in range(int(member.max(initial=NO_GATE)) + 1)]
        # A part without a gate looks into the last column, which counts nothing.
        failed_R_G = np.stack([*counts, np.zeros(len(values), dtype=np.intp)], axis=1)
        values = values * table.shares[np.take_along_axis(failed_R_G, behind.astype(np.intp), axis=1)]
    weight, positive = _rows(table.weight_T_N, task, values.shape[1]), table.positive_T[task]
    if leaves is not None:
        weight = np.where(leaves, 0.0, weight)
        positive = _add_ascending(np.maximum(weight, 0.0))
        positive[positive == 0] = np.nan
    return np.minimum(np.maximum(_add_ascending(weight * values) / positive, 0.0), 1.0)


def _add_ascending(terms_R_N: Floats) -> Floats:
    """The sum of each row, added from its lowest term to its highest, as for one response."""
    total = np.zeros(len(terms_R_N))
    for column in np.sort(terms_R_N, axis=1).T:
        total += column
    return total


def _rows(array: npt.NDArray[Any], task: Integers, width: int) -> npt.NDArray[Any]:
    """The rows of these tasks, cut to the columns in use."""
    return array.take(task, axis=0)[:, :width]


def _pad(rows: Sequence[Sequence[Any]], filling: Any) -> npt.NDArray[Any]:
    width = max(len(row) for row in rows)
    return np.array([[*row, *[filling] * (width - len(row))] for row in rows])
