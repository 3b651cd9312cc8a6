"""Schemes that a user might write."""

from collections.abc import Sequence

from prorubric.rubric.records import Task


def share_met(verdicts: Sequence[bool], task: Task) -> float:
    """The share of the weight that complies."""
    met = [abs(w) for verdict, w in zip(verdicts, task.rubric.weights, strict=True) if verdict == (w > 0)]
    return sum(met) / task.rubric.total_weight


def declared(verdicts: Sequence[bool], task: Task) -> float:
    """The same, and it says that it is monotone."""
    return share_met(verdicts, task)


def dimensions_held(verdicts: Sequence[bool], task: Task) -> float:
    assert task.protocol is not None
    held = [d.weight for verdict, d in zip(verdicts, task.protocol.dimensions, strict=True) if verdict]
    return sum(held) / task.rubric.total_weight


def half_the_mark(verdicts: Sequence[float], task: Task) -> float:
    (mark,) = verdicts
    return mark / 20


def falling(verdicts: Sequence[bool], task: Task) -> float:
    return 1 - share_met(verdicts, task)


def too_much(verdicts: Sequence[bool], task: Task) -> float:
    return 2.0


def divides(verdicts: Sequence[bool], task: Task) -> float:
    return 1 / 0


declared.monotone = True  # type: ignore[attr-defined]
dimensions_held.reads = "dimensions"  # type: ignore[attr-defined]
dimensions_held.monotone = True  # type: ignore[attr-defined]
half_the_mark.reads = "mark"  # type: ignore[attr-defined]
falling.monotone = True  # type: ignore[attr-defined]
