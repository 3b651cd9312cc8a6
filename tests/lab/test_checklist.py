import numpy as np
import pytest

from prorubric.lab.checklist import KINDS, PADDING, make_checklists
from prorubric.lab.world import WORLDS, make_world
from prorubric.rubric.labels import find_label
from prorubric.text.criteria import read_kind
from prorubric.text.failures import has_failure_clause
from tests.lab.answering import CASES


def test_medical_checklists_are_as_long_as_real_ones_and_as_often_met_by_a_mention() -> None:
    lists = make_checklists("triage-v1", CASES, 0)
    criteria = [criterion for task in lists.tasks for criterion in task.rubric.criteria]
    assert {len(task.rubric) for task in lists.tasks} <= set(range(27, 33))
    assert all(criterion.weight > 0 for criterion in criteria)
    presence = np.mean([read_kind(criterion.text) == "presence" for criterion in criteria])
    assert presence == pytest.approx(0.21, abs=0.02)


def test_scientific_checklists_are_short_tiered_substantive_and_penalise() -> None:
    lists = make_checklists("science-v1", CASES, 0)
    criteria = [criterion for task in lists.tasks for criterion in task.rubric.criteria]
    assert len(criteria) / CASES == pytest.approx(7.6, abs=0.1)
    assert {criterion.weight for criterion in criteria} == {1.0, 0.7, 0.3, -0.9}
    assert {read_kind(criterion.text) for criterion in criteria} == {"substantive"}


@pytest.mark.parametrize("name", WORLDS)
def test_the_arrays_say_what_the_records_say(name: str) -> None:
    lists, moves = make_checklists(name, CASES, 0), make_world(name).moves
    for row, task in enumerate(lists.tasks):
        count = len(task.rubric)
        assert tuple(lists.weight_T_N[row, :count]) == task.rubric.weights
        assert (lists.kind_T_N[row, count:] == PADDING).all()
        assert lists.target_T_N[row, :count].min() > 0
        assert lists.target_T_N[row, :count].max() < len(moves.sentences)
        assert task.protocol is not None
        for number, dimension in enumerate(task.protocol.dimensions):
            inside = np.flatnonzero(lists.dimension_T_N[row] == number) + 1
            assert tuple(inside) == dimension.indices


def test_every_dimension_ends_in_a_failure_clause_that_the_project_recognises() -> None:
    for name in WORLDS:
        task = make_checklists(name, CASES, 0).tasks[0]
        assert task.protocol is not None
        assert all(has_failure_clause(dimension.description) for dimension in task.protocol.dimensions)


def test_the_decision_asked_for_is_the_one_that_the_case_calls_for() -> None:
    lists = make_checklists("triage-v1", CASES, 0)
    texts = make_world("triage-v1").texts
    for row, task in enumerate(lists.tasks):
        assert task.rubric.criteria[0].text == texts.decision_criteria[lists.cases.level_T[row]]
        assert KINDS[lists.kind_T_N[row, 0]] == "decision"


def test_labels_are_wrong_about_as_often_as_stated() -> None:
    lists = make_checklists("triage-v1", CASES, 0)
    decisions = [find_label(task.rubric.criteria[0], task.id) for task in lists.tasks]
    # 30 of 100 are drawn anew from five labels, one of which is right.
    assert np.mean([label != "critical" for label in decisions]) == pytest.approx(0.24, abs=0.08)


def test_the_same_seed_writes_the_same_checklists() -> None:
    first = make_checklists("triage-v1", 30, 5)
    make_checklists.cache_clear()
    assert make_checklists("triage-v1", 30, 5).tasks == first.tasks
