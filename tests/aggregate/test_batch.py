"""Scores over arrays are the scores one at a time, bit by bit, for ragged rubrics and with unknowns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric import SCHEMES, NotApplicable, Task, Unknown, score
from prorubric.aggregate.batch import PlanTable, score_batch
from prorubric.aggregate.plan import make_scoring_plan
from prorubric.errors import SchemeError
from prorubric.rubric.verdict import Verdict
from tests.aggregate.test_schemes import make_task, scheme_names, verdicts_for
from tests.strategies import tasks


@given(st.lists(tasks(), min_size=1, max_size=4), scheme_names, st.booleans(), st.booleans(), st.data())
def test_a_batch_gives_the_same_bits_as_one_response_at_a_time(
    drawn: list[Task], name: str, unknowns: bool, not_applicable: bool, data: st.DataObject
) -> None:
    picked = data.draw(st.lists(st.integers(0, len(drawn) - 1), min_size=1, max_size=6))
    rows = [data.draw(verdicts_for(make_scoring_plan(drawn[t], name), unknowns, not_applicable)) for t in picked]
    alone = [score(row, drawn[t], name) for row, t in zip(rows, picked, strict=True)]
    values, unknown, leaves = stack(rows, padding=data.draw(st.sampled_from([0.0, 99.0, float("nan")])))
    marks = (unknown, leaves if not_applicable else None)
    batch = score_batch(values, PlanTable.of(drawn, name), np.array(picked), *marks)
    assert batch.low_R.tobytes() == np.array([found.low for found in alone]).tobytes()
    assert batch.high_R.tobytes() == np.array([found.high for found in alone]).tobytes()
    assert [None if np.isnan(value) else value for value in batch.value_R] == [found.value for found in alone]


def stack(rows: list[list[Verdict]], padding: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ragged rows of verdicts as arrays; cells without a verdict and padding hold junk on purpose."""
    width = max(map(len, rows))
    values, unknown = np.full((len(rows), width), padding), np.zeros((len(rows), width), dtype=bool)
    leaves = np.zeros_like(unknown)
    for r, row in enumerate(rows):
        for c, verdict in enumerate(row):
            unknown[r, c], leaves[r, c] = isinstance(verdict, Unknown), isinstance(verdict, NotApplicable)
            values[r, c] = -7.0 if isinstance(verdict, Unknown | NotApplicable) else float(verdict)
    return values, unknown, leaves


def test_marks_in_the_padding_are_ignored() -> None:
    table = PlanTable.of([make_task([6, 4]), make_task([3])], "additive")
    marks = np.array([[False, False], [False, True]])
    verdicts = np.array([[True, False], [True, True]])
    assert score_batch(verdicts, table, np.array([0, 1]), marks).value_R.tolist() == [0.6, 1.0]
    assert score_batch(verdicts, table, np.array([0, 1]), None, marks).value_R.tolist() == [0.6, 1.0]


def test_a_verdict_marked_twice_is_refused() -> None:
    table, both = PlanTable.of([make_task([6, 4])], "additive"), np.array([[True, False]])
    with pytest.raises(SchemeError, match="both unknown and not applicable; mark it once"):
        score_batch(np.zeros((1, 2)), table, np.array([0]), both, both)


def test_marks_of_another_shape_are_refused() -> None:
    table = PlanTable.of([make_task([6, 4])], "additive")
    with pytest.raises(SchemeError, match=r"not_applicable has shape \(2, 1\), verdicts have \(1, 2\)"):
        score_batch(np.zeros((1, 2)), table, np.array([0]), None, np.zeros((2, 1), dtype=bool))


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float32, np.float64])
def test_verdicts_may_come_as_any_kind_of_number(dtype: type) -> None:
    table = PlanTable.of([make_task([6, 4, -5], [[1, 3], [2]])], "conjunctive")
    batch = score_batch(np.array([[1, 0, 0], [1, 1, 1]], dtype=dtype), table, np.array([0, 0]))
    assert batch.value_R.tolist() == [11 / 15, 4 / 15]


def test_many_blocks_give_what_one_row_gives() -> None:
    task = make_task([0.7, 0.3, 1.0, -0.9], [[1, 2], [3, 4]])
    rng = np.random.default_rng(0)
    verdicts = rng.random((10_001, 4)) < 0.5
    for name in ("additive", "conjunctive"):
        batch = score_batch(verdicts, PlanTable.of([task], name), np.zeros(10_001, dtype=int))
        rows = {tuple(row): score([bool(v) for v in row], task, name).value for row in np.unique(verdicts, axis=0)}
        assert all(value == rows[tuple(row)] for value, row in zip(batch.value_R, verdicts, strict=True))


def test_no_responses_give_no_scores() -> None:
    batch = score_batch(np.zeros((0, 2)), PlanTable.of([make_task([1, 2])], "additive"), np.zeros(0, dtype=int))
    assert batch.value_R.shape == (0,)


def test_every_scheme_can_be_tabled() -> None:
    task = make_task([6, 4, -5], [[1, 3], [2]])
    assert [PlanTable.of([task], name).scheme.name for name in SCHEMES] == list(SCHEMES)


@pytest.mark.parametrize(
    ("verdicts", "task_numbers", "unknown", "said"),
    [
        (np.zeros((2, 2)), [0], None, "for 1 responses"),
        (np.zeros((1, 1)), [0], None, "needs 2 here"),
        (np.zeros((1, 3)), [0], None, "verdicts have 3 columns"),
        (np.zeros((1, 2)), [1], None, r"outside 0\.\.0"),
        (np.zeros((1, 2)), [-1], None, r"outside 0\.\.0"),
        (np.array([[0.5, 1]]), [0], None, "a verdict is 0.5"),
        (np.array([[np.nan, 1]]), [0], None, "a verdict is nan"),
        (np.zeros((1, 2)), [0], np.zeros((2, 1), dtype=bool), "make them the same"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    verdicts: np.ndarray, task_numbers: list[int], unknown: np.ndarray | None, said: str
) -> None:
    with pytest.raises(SchemeError, match=said):
        score_batch(verdicts, PlanTable.of([make_task([6, 4])], "additive"), np.array(task_numbers), unknown)


def test_half_an_appropriateness_is_refused_next_to_levels() -> None:
    table = PlanTable.of([make_task([6, 4], [[1], [2]])], "graded+appropriateness")
    with pytest.raises(SchemeError, match=r"a verdict is 0.5 \(column 2\)"):
        score_batch(np.array([[1.5, 3.0, 0.5]]), table, np.array([0]))


def test_a_table_needs_a_task() -> None:
    with pytest.raises(SchemeError, match="at least one"):
        PlanTable.of([], "additive")
