"""What became of each dimension, from verdicts on dimensions and from verdicts on criteria."""

import pytest

from prorubric import Unknown
from prorubric.reward.dimensions import judge_dimensions
from prorubric.rubric.verdict import NotApplicable, Verdict
from tests.aggregate.test_schemes import make_task

TASK = make_task([5, 3, -2, 1], [[1, 3], [2, 4]])
OPEN = Unknown("no reply")


@pytest.mark.parametrize("reading", ["dimensions", "dimensions-no-failure", "groups"])
def test_verdicts_on_dimensions_are_taken_as_they_are(reading: str) -> None:
    assert judge_dimensions(TASK, {reading: [True, OPEN]}) == {"dimension 0": True, "dimension 1": None}


def test_a_level_stays_a_level() -> None:
    assert judge_dimensions(TASK, {"levels": [2.5, 0]}) == {"dimension 0": 2.5, "dimension 1": 0}


@pytest.mark.parametrize(
    ("verdicts", "held"),
    [
        # The third criterion describes a behaviour to avoid.
        ([True, True, False, True], (True, True)),
        ([True, True, True, False], (False, False)),
        ([OPEN, True, True, OPEN], (False, None)),
        ([OPEN, False, False, OPEN], (None, False)),
        ([NotApplicable(), True, NotApplicable(), NotApplicable()], (None, True)),
    ],
)
@pytest.mark.parametrize("reading", ["criteria", "criteria-rewritten"])
def test_verdicts_on_criteria_are_joined(
    reading: str, verdicts: list[Verdict], held: tuple[bool | None, bool | None]
) -> None:
    assert tuple(judge_dimensions(TASK, {reading: verdicts}).values()) == held


def test_the_scheme_s_own_reading_comes_before_that_of_a_shadow() -> None:
    verdicts: dict[str, list[Verdict]] = {"criteria": [True, True, False, True], "dimensions": [False, False]}
    assert judge_dimensions(TASK, verdicts) == {"dimension 0": True, "dimension 1": True}
    assert judge_dimensions(TASK, {"mark": [7], **verdicts}) == {"dimension 0": True, "dimension 1": True}


def test_nothing_is_said_where_there_are_no_dimensions_or_no_verdicts_on_them() -> None:
    assert judge_dimensions(make_task([1, 2]), {"criteria": [True, True]}) == {}
    assert judge_dimensions(TASK, {"mark": [7], "appropriateness": [True]}) == {}


def test_two_dimensions_of_one_name_are_told_apart() -> None:
    assert TASK.protocol is not None
    same = [dimension.model_copy(update={"name": "Safety"}) for dimension in TASK.protocol.dimensions]
    task = TASK.model_copy(update={"protocol": TASK.protocol.model_copy(update={"dimensions": tuple(same)})})
    assert judge_dimensions(task, {"dimensions": [True, False]}) == {"Safety": True, "Safety (2)": False}
