"""What a change of dimensions does to the scores of verdicts that are stored already.

Verdicts on criteria stay what they are, however the criteria are grouped. A verdict on a dimension is about its text
and stands for its criteria; if either has changed since it was given, the verdict is unknown, and the score has bounds.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from prorubric.aggregate.choose import score_readings
from prorubric.aggregate.schemes import BASE_SCHEMES, find_scheme
from prorubric.aggregate.score import Score
from prorubric.datasets.load import load_tasks
from prorubric.errors import SchemeError, SourceError
from prorubric.judge.readings import list_items, list_members
from prorubric.rubric.base import Record
from prorubric.rubric.records import Task
from prorubric.rubric.verdict import Unknown, Verdict
from prorubric.runs.folder import TASKS
from prorubric.runs.verdicts import StoredVerdicts, read_judge, read_verdicts

NOT_JUDGED = "its text or its criteria have changed since it was judged"
OTHER_CHECKLIST = "the run judged another checklist for this task"


class ScoreChange(Record):
    """A score of one response before and after a change."""

    sample: int
    before: Score
    after: Score


class Impact(Record):
    """What one scheme says about the stored responses to a task."""

    scheme: str
    before: float | None
    """The mean over the responses whose scores are known both before and after; None if there are none."""
    after: float | None
    known: int
    unknown: int
    """Responses whose score is not known before, after, or both."""
    changes: tuple[ScoreChange, ...]


class StoredRun:
    """The verdicts of a judge run, by task."""

    def __init__(self, folder: Path) -> None:
        if not (folder / TASKS).is_file():
            raise SourceError(f"{folder}: not the folder of a finished run; name one that judge has written")
        self.judge = read_judge(folder)
        self._tasks = {task.id: task for task in load_tasks(folder / TASKS, "tasks", strict=True)}
        self._verdicts: dict[str, list[StoredVerdicts]] = defaultdict(list)
        for stored in read_verdicts(folder):
            self._verdicts[stored.task_id].append(stored)

    def find_fault(self, task: Task) -> str:
        """Why nothing can be said about a task; empty if something can."""
        judged = self._tasks.get(task.id)
        if judged is None or not self._verdicts[task.id]:
            return "the run has no verdicts on this task"
        lists = [[(one.text, one.weight) for one in part.rubric.criteria] for part in (judged, task)]
        return "" if lists[0] == lists[1] else OTHER_CHECKLIST

    def measure(self, before: Task, after: Task) -> list[Impact]:
        """The scores of a task's responses before and after a change, by scheme; empty if there are no verdicts."""
        if self.find_fault(before):
            return []
        judged, stored = self._tasks[before.id], self._verdicts[before.id]
        there = {name for row in stored for name in row.verdicts}
        found = []
        for name in BASE_SCHEMES:
            if not {reading.name for reading in find_scheme(name).readings} <= there:
                continue
            try:
                changes = [
                    ScoreChange(
                        sample=row.sample,
                        before=_score(row.verdicts, judged, before, name),
                        after=_score(row.verdicts, judged, after, name),
                    )
                    for row in stored
                ]
            except SchemeError:  # the scheme cannot be used with this task, before the change or after it
                continue
            found.append(_summarize(name, changes))
        return found


def _score(verdicts: Mapping[str, Sequence[Verdict]], judged: Task, task: Task, scheme: str) -> Score:
    """The score of a task, from verdicts of which some may have been given on other items."""
    carried: dict[str, Sequence[Verdict]] = {}
    for reading in find_scheme(scheme).readings:
        old, new = (
            [*zip((item.text for item in items), list_members(one, reading) or [()] * len(items), strict=True)]
            for one, items in ((one, list_items(one, reading)) for one in (judged, task))
        )
        given = verdicts[reading.name]
        if reading.is_joint:
            carried[reading.name] = given if old == new else [Unknown(NOT_JUDGED)] * len(given)
        else:
            known = dict(zip(old, given, strict=True))
            carried[reading.name] = [known.get(item, Unknown(NOT_JUDGED)) for item in new]
    return score_readings(carried, task, [scheme])[scheme]


def _summarize(scheme: str, changes: Sequence[ScoreChange]) -> Impact:
    pairs = [(one.before.value, one.after.value) for one in changes]
    known = [(before, after) for before, after in pairs if before is not None and after is not None]
    mean = [sum(values) / len(known) for values in zip(*known, strict=True)] if known else [None, None]
    return Impact(
        scheme=scheme,
        before=mean[0],
        after=mean[1],
        known=len(known),
        unknown=len(changes) - len(known),
        changes=tuple(changes),
    )
