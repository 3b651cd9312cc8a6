"""Whether each dimension of a task holds, whatever the scheme read: for monitoring a training run, not for scoring."""

from collections import Counter
from collections.abc import Mapping, Sequence

from prorubric.judge.readings import find_reading
from prorubric.rubric.records import Task
from prorubric.rubric.verdict import NotApplicable, Unknown, Verdict

DimensionVerdict = bool | float | None
_HIGHEST_LEVEL = 3


def grade(verdict: DimensionVerdict) -> float | None:
    """A verdict on a dimension as a number from 0 to 1; a level is its share of the highest."""
    return verdict / _HIGHEST_LEVEL if isinstance(verdict, float) else verdict


def judge_dimensions(task: Task, verdicts: Mapping[str, Sequence[Verdict]]) -> dict[str, DimensionVerdict]:
    """The verdict on each dimension by name, None if it is unknown or not applicable; empty if no verdict is about one.

    Verdicts on dimensions are taken as they are, those on criteria joined: a dimension holds if all of its criteria
    comply and fails if one of them is known not to.
    """
    readings = (find_reading(name) for name in verdicts)
    reading = next((reading for reading in readings if reading.about in ("dimension", "criterion")), None)
    if task.protocol is None or reading is None:
        return {}
    found: dict[str, DimensionVerdict] = {}
    given, seen = verdicts[reading.name], Counter[str]()
    for place, dimension in enumerate(task.protocol.dimensions):
        verdict: DimensionVerdict
        if reading.about == "dimension":
            own = given[place]
            verdict = None if isinstance(own, Unknown | NotApplicable) else own
        else:
            members = [(given[index - 1], task.rubric.criteria[index - 1].weight < 0) for index in dimension.indices]
            members = [member for member in members if not isinstance(member[0], NotApplicable)]
            known = [said != is_penalty for said, is_penalty in members if not isinstance(said, Unknown)]
            verdict = False if not all(known) else True if members and len(known) == len(members) else None
        seen[dimension.name] += 1  # two dimensions of one task may have the same name
        count = seen[dimension.name]
        found[dimension.name if count == 1 else f"{dimension.name} ({count})"] = verdict
    return found
