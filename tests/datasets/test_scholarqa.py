"""`scholarqa`: weighted ingredients, and questions that two annotators answered."""

from collections import Counter
from pathlib import Path

import pytest

from prorubric import Task, load_tasks
from tests.datasets.rows import SCHOLARQA, read_one, reject_one


def test_the_annotator_is_part_of_the_name(tmp_path: Path) -> None:
    assert read_one(tmp_path, SCHOLARQA).id == "case-1/Annotator 1"
    assert read_one(tmp_path, {**SCHOLARQA, "annotator": None}).id == "case-1"


def test_ingredients_are_criteria_and_settings_of_the_scorer_are_not(tmp_path: Path) -> None:
    task = read_one(tmp_path, SCHOLARQA)
    assert [(c.text, c.weight) for c in task.rubric.criteria] == [("Lists the corpora", 0.4)]
    assert task.meta["scorer"] == {"low_length": 300, "length_weight": 0.05}


def test_question_domain_and_agreement_are_kept(tmp_path: Path) -> None:
    task = read_one(tmp_path, SCHOLARQA)
    assert (task.messages[0].content, task.domain, task.source) == ("Which corpora exist?", "science", "scholarqa")
    assert (task.meta["annotator"], task.meta["agreement"]) == ("Annotator 1", True)


@pytest.mark.parametrize("value", [None, "text", [], {}, {"config": None}, {"config": "text"}])
def test_a_row_without_config_is_a_reject(tmp_path: Path, value: object) -> None:
    said = reject_one(tmp_path, {**SCHOLARQA, "metric_config": value})
    assert "metric_config has no config; expected ScholarQA's own layout" in said


@pytest.mark.parametrize("value", [None, [], "text", 5])
def test_a_config_without_ingredients_is_a_reject(tmp_path: Path, value: object) -> None:
    row = {**SCHOLARQA, "metric_config": {"config": {"other_properties": value}}}
    assert "the rubric is not a list of criteria" in reject_one(tmp_path, row)


@pytest.fixture(scope="module")
def tasks(scholarqa_file: Path) -> list[Task]:
    return list(load_tasks(scholarqa_file, strict=True))


class TestRealFile:
    def test_110_tasks_have_484_criteria(self, tasks: list[Task]) -> None:
        assert (len(tasks), sum(len(task.rubric) for task in tasks)) == (110, 484)

    def test_ten_questions_come_twice_and_still_every_id_is_unique(self, tasks: list[Task]) -> None:
        assert Counter(Counter(task.messages for task in tasks).values()) == {1: 90, 2: 10}
        assert len({task.id for task in tasks}) == 110

    def test_every_weight_is_positive_and_at_most_one(self, tasks: list[Task]) -> None:
        assert all(0 < weight <= 1 for task in tasks for weight in task.rubric.weights)
