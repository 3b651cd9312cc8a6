"""What a change of dimensions does to the scores of stored verdicts."""

from pathlib import Path
from typing import Any

import pytest

from prorubric.errors import SourceError
from prorubric.rubric.records import Task
from prorubric.view.impact import OTHER_CHECKLIST, StoredRun
from prorubric.view.review import Reviewed, parse_operation, try_operation

from .reviewing import CRITERIA, make_task, write_run

# Two answers: the first rests the knee and says nothing of an examination, the second meets everything.
VERDICTS = [
    {"criteria": [True, False, True, False], "dimensions": [False, True]},
    {"criteria": [True, True, True, False], "dimensions": [True, True]},
]


def change(task: Task, **operation: Any) -> Task:
    return try_operation(Reviewed(task), parse_operation(operation)).task


def measure(run: StoredRun, after: Task) -> dict[str, tuple[float | None, float | None, int]]:
    return {one.scheme: (one.before, one.after, one.unknown) for one in run.measure(make_task(), after)}


@pytest.fixture
def run(tmp_path: Path) -> StoredRun:
    return StoredRun(write_run(tmp_path / "run", [make_task()], {"knee": VERDICTS}))


def test_groups_of_verdicts_on_criteria_are_scored_anew(run: StoredRun) -> None:
    # Of 14, the first dimension weighs 8 and fails; without criterion 2 it weighs 5 and holds, and the second fails.
    found = measure(run, change(make_task(), op="move", criterion=2, to=2))
    assert found["conjunctive"] == (pytest.approx((6 / 14 + 1) / 2), pytest.approx((5 / 14 + 1) / 2), 0)
    assert found["additive"][0] == found["additive"][1] is not None


def test_a_verdict_on_a_dimension_that_changed_is_unknown(run: StoredRun) -> None:
    after = change(make_task(), op="move", criterion=2, to=2)
    (found,) = [one for one in run.measure(make_task(), after) if one.scheme == "prorubric"]
    assert (found.before, found.after, found.known, found.unknown) == (None, None, 0, 2)
    assert [(one.before.value, one.after.value) for one in found.changes] == [
        (pytest.approx(6 / 14), None),
        (1.0, None),
    ]
    assert [(one.after.low, one.after.high) for one in found.changes] == [(0, 1), (0, 1)]


def test_verdicts_on_dimensions_that_stay_are_kept(run: StoredRun) -> None:
    after = change(make_task(), op="reword", dimension=1, description="The knee rests. Fails if it does not.")
    (found,) = [one for one in run.measure(make_task(), after) if one.scheme == "prorubric"]
    assert [(one.after.low, one.after.high) for one in found.changes] == [(pytest.approx(6 / 14), 1.0)] * 2


def test_a_run_on_another_checklist_says_nothing(run: StoredRun) -> None:
    other = make_task(criteria=[*CRITERIA[:3], ("Recommends a scan", -2.0)])
    assert (run.find_fault(other), run.measure(other, other)) == (OTHER_CHECKLIST, [])
    assert run.find_fault(make_task("hip")) == "the run has no verdicts on this task"


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not the folder of a finished run"):
        StoredRun(tmp_path)
