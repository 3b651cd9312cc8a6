"""A scheme of one's own: the sum, written by hand."""

from collections.abc import Sequence
from functools import partial

from prorubric.rubric.records import Task


def share_of_weight(verdicts: Sequence[bool], task: Task) -> float:
    return sum(weight for met, weight in zip(verdicts, task.rubric.weights, strict=True) if met) / sum(
        task.rubric.weights
    )


def nothing(verdicts: Sequence[bool], task: Task) -> float:
    return float("nan")


def by_dimension(verdicts: Sequence[bool], task: Task) -> float:
    assert task.protocol is not None
    assert len(verdicts) == len(task.protocol)
    return sum(verdicts) / len(verdicts)


def constant(verdicts: Sequence[bool], task: Task) -> float:
    return 0.5


def divide(verdicts: Sequence[bool], task: Task) -> float:
    return 1 / 0


def with_bonus(verdicts: Sequence[bool], task: Task, bonus: float) -> float:
    return sum(verdicts) + bonus


def read_stars(verdicts: Sequence[bool], task: Task) -> float:
    return 0.0


read_stars.reads = "stars"  # type: ignore[attr-defined]
three_more = partial(with_bonus, bonus=3.0)
nothing_more = partial(nothing)
by_dimension.reads = "dimensions"  # type: ignore[attr-defined]
NUMBER = 3
