"""A scheme of one's own: the sum, written by hand."""

from collections.abc import Sequence

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


by_dimension.reads = "dimensions"  # type: ignore[attr-defined]
NUMBER = 3
