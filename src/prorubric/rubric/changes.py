"""What became of a task between two versions of a rubric file: findings new and gone, figures before and after.

A finding is recognised by its check and the texts of its criteria, so a criterion that only moved is not a new one.
"""

from collections import Counter
from typing import Literal

from prorubric.rubric.base import Record
from prorubric.rubric.lint import Finding, TaskLint, lint_task
from prorubric.rubric.records import Task

FIGURES = ("compensation", "compensation_grouped", "presence_share")
"""What says how hackable a task is; each is a share of the weight, and higher is worse."""
_DIGITS = 2


class TaskChange(Record):
    """One task in two versions of a file; `before` is None for a task that was added, `after` for one removed."""

    task_id: str
    line: int = 0
    """Where the task is in the new file; 0 if it was removed."""
    kind: Literal["added", "removed", "changed"]
    before: TaskLint | None
    after: TaskLint | None
    new: tuple[Finding, ...]
    gone: tuple[Finding, ...]

    @property
    def rises(self) -> dict[str, float]:
        """By how much each figure rose, as far as two digits show it. An added task has nothing to compare it with.

        If the dimensions were dropped, the sum takes their place.
        """
        if self.before is None or self.after is None:
            return {}
        rises = {}
        for name in FIGURES:
            was, now = getattr(self.before, name), getattr(self.after, name)
            if name == "compensation_grouped" and now is None:
                now = self.after.compensation
            if was is not None and now is not None and round(now, _DIGITS) > round(was, _DIGITS):
                rises[name] = now - was
        return rises


def compare_versions(before: Task | None, after: Task | None, line: int = 0) -> TaskChange | None:
    """What changed, or None if the rubric and its dimensions are the same."""
    if before and after and (before.rubric, before.protocol) == (after.rubric, after.protocol):
        return None
    was, now = (None if task is None else lint_task(task) for task in (before, after))
    old, new = _key_findings(before, was), _key_findings(after, now)
    task = after or before
    assert task is not None, "one of the two is a task"  # noqa: S101 - for the type checker
    return TaskChange(
        task_id=task.id,
        line=line if after else 0,
        kind="added" if before is None else "removed" if after is None else "changed",
        before=was,
        after=now,
        new=_subtract(new, old),
        gone=_subtract(old, new),
    )


_Keyed = list[tuple[tuple[str, ...], Finding]]


def _key_findings(task: Task | None, found: TaskLint | None) -> _Keyed:
    if task is None or found is None:
        return []
    texts = [criterion.text for criterion in task.rubric.criteria]
    return [((finding.check, *(texts[index - 1] for index in finding.criteria)), finding) for finding in found.findings]


def _subtract(findings: _Keyed, others: _Keyed) -> tuple[Finding, ...]:
    """The findings without a counterpart among the others."""
    left, kept = Counter(key for key, _ in others), []
    for key, finding in findings:
        if left[key]:
            left[key] -= 1
        else:
            kept.append(finding)
    return tuple(kept)
