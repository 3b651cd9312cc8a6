"""What became of each dimension of a task, whatever the scheme read: to watch a training by; no score is made of it."""

from collections.abc import Mapping, Sequence

from prorubric.rubric.records import Dimension, Rubric, Task
from prorubric.rubric.verdict import Unknown, Verdict

_BY_DIMENSION = ("dimensions", "dimensions-no-failure", "groups", "levels")
_BY_CRITERION = ("criteria", "criteria-rewritten")

DimensionVerdict = bool | float | None


def judge_dimensions(task: Task, verdicts: Mapping[str, Sequence[Verdict]]) -> dict[str, DimensionVerdict]:
    """The verdict on each dimension by name, None where it is unknown; empty where nothing can be said of any.

    Verdicts on dimensions are taken as they are, those on criteria joined: a dimension holds where all of its criteria
    comply and fails where one of them is known not to.
    """
    reading = next((name for name in verdicts if name in (*_BY_DIMENSION, *_BY_CRITERION)), None)
    if task.protocol is None or reading is None:
        return {}
    dimensions = task.protocol.dimensions
    if reading in _BY_DIMENSION:
        found = [None if isinstance(verdict, Unknown) else verdict for verdict in verdicts[reading]]
    else:
        found = [_join(dimension, task.rubric, verdicts[reading]) for dimension in dimensions]
    return dict(zip(_tell_apart([dimension.name for dimension in dimensions]), found, strict=True))


def _join(dimension: Dimension, rubric: Rubric, verdicts: Sequence[Verdict]) -> bool | None:
    members = [(verdicts[index - 1], rubric.criteria[index - 1].weight < 0) for index in dimension.indices]
    if any(verdict == is_penalty for verdict, is_penalty in members if not isinstance(verdict, Unknown)):
        return False
    return None if any(isinstance(verdict, Unknown) for verdict, _ in members) else True


def _tell_apart(names: Sequence[str]) -> list[str]:
    """Two dimensions of one task may have the same name."""
    return [
        name if name not in names[:place] else f"{name} ({names[: place + 1].count(name)})"
        for place, name in enumerate(names)
    ]
