"""The sample pack: what it promises to hold, it holds."""

import re
from collections import Counter

import pytest

from prorubric import SAMPLE_TASKS, LintConfig, Task, lint_tasks, load_samples, load_tasks
from prorubric.datasets.samples import ANSWER_KINDS, SampleAnswer
from prorubric.rubric.labels import LABELS
from prorubric.rubric.verdict import is_unknown
from prorubric.text.show import is_blank


@pytest.fixture(scope="module")
def pack() -> list[Task]:
    return list(load_tasks(SAMPLE_TASKS, "tasks", strict=True))


@pytest.fixture(scope="module")
def answers() -> list[SampleAnswer]:
    return list(load_samples())


class TestTasks:
    def test_twelve_tasks_are_three_of_each_domain(self, pack: list[Task]) -> None:
        domains = Counter(task.domain for task in pack)
        assert domains == {"medicine": 3, "science": 3, "writing": 3, "dialogue": 3}
        assert len({task.id for task in pack}) == 12

    def test_a_checklist_has_8_to_30_criteria(self, pack: list[Task]) -> None:
        assert all(8 <= len(task.rubric) <= 30 for task in pack)

    def test_exactly_two_tasks_have_penalties(self, pack: list[Task]) -> None:
        assert sum(any(weight < 0 for weight in task.rubric.weights) for task in pack) == 2

    def test_exactly_one_task_has_several_turns_and_it_ends_with_the_user(self, pack: list[Task]) -> None:
        (conversation,) = (task.messages for task in pack if len(task.messages) > 1)
        assert conversation[-1].role == "user"

    def test_every_criterion_has_exactly_one_label(self, pack: list[Task]) -> None:
        allowed = {f"label:{label}" for label in LABELS}
        for criterion in (criterion for task in pack for criterion in task.rubric.criteria):
            assert sum(tag.startswith("label:") for tag in criterion.tags) == 1
            assert allowed.issuperset(tag for tag in criterion.tags if tag.startswith("label:"))

    def test_every_task_has_dimensions_that_end_in_a_failure_clause(self, pack: list[Task]) -> None:
        for dimension in (
            dimension for task in pack for dimension in (task.protocol or pytest.fail(task.id)).dimensions
        ):
            last = re.split(r"(?<=[.!?])\s+", dimension.description.strip())[-1]
            assert last.startswith("Fails if "), (dimension.name, last)

    def test_lint_finds_nothing_that_is_wrong_with_the_pack(self) -> None:
        result = lint_tasks(LintConfig(str(SAMPLE_TASKS), fail_on="warning"))
        assert (result.passed, result.tasks, result.rejected) == (True, 12, {})


class TestAnswers:
    def test_48_answers_are_four_of_each_task_and_twelve_of_each_kind(self, answers: list[SampleAnswer]) -> None:
        assert len(answers) == 48
        assert Counter(answer.kind for answer in answers) == dict.fromkeys(ANSWER_KINDS, 12)
        assert Counter((answer.task.id, answer.kind) for answer in answers).most_common(1)[0][1] == 1

    def test_an_answer_belongs_to_its_task_and_says_something(self, answers: list[SampleAnswer]) -> None:
        assert all(answer.response.task_id == answer.task.id for answer in answers)
        assert not any(is_blank(answer.response.text) or is_blank(answer.note) for answer in answers)

    def test_the_sample_numbers_the_kinds_in_order(self, answers: list[SampleAnswer]) -> None:
        assert all(ANSWER_KINDS[answer.response.sample] == answer.kind for answer in answers)

    def test_there_is_a_verdict_for_each_criterion_and_each_dimension(self, answers: list[SampleAnswer]) -> None:
        for answer in answers:
            criteria, dimensions = len(answer.task.rubric), len(answer.task.protocol or ())
            assert {key: len(given) for key, given in answer.verdicts.items()} == {
                "criteria": criteria,
                "criteria-rewritten": criteria,
                "dimensions": dimensions,
                "dimensions-no-failure": dimensions,
                "levels": dimensions,
                "groups": dimensions,
                "one-dimension": 1,
                "mark": 1,
                "appropriateness": 1,
            }

    def test_no_verdict_is_unknown(self, answers: list[SampleAnswer]) -> None:
        assert not any(
            is_unknown(verdict) for answer in answers for given in answer.verdicts.values() for verdict in given
        )

    def test_verdicts_are_of_the_kind_that_is_read(self, answers: list[SampleAnswer]) -> None:
        for answer in answers:
            kinds = {key: {type(verdict) for verdict in given} for key, given in answer.verdicts.items()}
            assert kinds.pop("levels") == kinds.pop("mark") == {int}
            assert set(map(frozenset, kinds.values())) == {frozenset({bool})}

    def test_levels_lie_in_0_to_3_and_marks_in_1_to_10(self, answers: list[SampleAnswer]) -> None:
        assert {level for answer in answers for level in answer.verdicts["levels"]} <= {0, 1, 2, 3}
        assert {mark for answer in answers for mark in answer.verdicts["mark"]} <= set(range(1, 11))

    def test_a_group_holds_where_all_its_criteria_comply(self, answers: list[SampleAnswer]) -> None:
        for answer in answers:
            weights, met = answer.task.rubric.weights, answer.verdicts["criteria"]
            comply = [verdict == (weight > 0) for verdict, weight in zip(met, weights, strict=True)]
            assert answer.task.protocol is not None
            dimensions = answer.task.protocol.dimensions
            assert answer.verdicts["groups"] == tuple(all(comply[i - 1] for i in d.indices) for d in dimensions)

    def test_one_dimension_holds_where_all_dimensions_hold(self, answers: list[SampleAnswer]) -> None:
        assert all(answer.verdicts["one-dimension"] == (all(answer.verdicts["dimensions"]),) for answer in answers)
