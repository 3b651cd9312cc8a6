"""What became of each dimension of a task, whatever the scheme read: to watch a training by, not to score it."""

from collections import Counter
from collections.abc import Mapping, Sequence

from prorubric.judge.readings import find_reading
from prorubric.rubric.records import Dimension, Rubric, Task
from prorubric.rubric.verdict import Unknown, Verdict

DimensionVerdict = bool | float | None


def judge_dimensions(task: Task, verdicts: Mapping[str, Sequence[Verdict]]) -> dict[str, DimensionVerdict]:
    """The verdict on each dimension by name, None if it is unknown; empty if no verdict is about one.

    Verdicts on dimensions are taken as they are, those on criteria joined: a dimension holds if all of its criteria
    comply and fails if one of them is known not to.
    """
    readings = (find_reading(name) for name in verdicts)
    reading = next((reading for reading in readings if reading.about in ("dimension", "criterion")), None)
    if task.protocol is None or reading is None:
        return {}
    dimensions, given = task.protocol.dimensions, verdicts[reading.name]
    if reading.about == "dimension":
        found = [None if isinstance(verdict, Unknown) else verdict for verdict in given]
    else:
        found = [_join(dimension, task.rubric, given) for dimension in dimensions]
    by_name: dict[str, DimensionVerdict] = {}
    seen: Counter[str] = Counter()
    for dimension, verdict in zip(dimensions, found, strict=True):
        seen[dimension.name] += 1  # two dimensions of one task may have the same name
        name = dimension.name if seen[dimension.name] == 1 else f"{dimension.name} ({seen[dimension.name]})"
        by_name[name] = verdict
    return by_name


def _join(dimension: Dimension, rubric: Rubric, verdicts: Sequence[Verdict]) -> bool | None:
    members = [(verdicts[index - 1], rubric.criteria[index - 1].weight < 0) for index in dimension.indices]
    if any(verdict == is_penalty for verdict, is_penalty in members if not isinstance(verdict, Unknown)):
        return False
    return None if any(isinstance(verdict, Unknown) for verdict, _ in members) else True
