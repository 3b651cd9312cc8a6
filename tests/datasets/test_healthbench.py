"""`healthbench`: both shapes of a row, and the real 500 prompts."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from prorubric import Task, load_tasks
from tests.datasets.rows import HEALTHBENCH, read_one, reject_one

VERL_COLUMNS: dict[str, Any] = {
    "prompt": HEALTHBENCH["prompt"],
    "data_source": "healthbench",
    "ability": "medical_chat",
    "reward_model": {
        "ground_truth": "",
        "rubrics": [
            {"criterion": "Asks", "points": 7, "tags": {"axis": "completeness", "cluster": None, "level": "example"}},
            {"criterion": "Calm", "points": 5, "tags": {"axis": "accuracy", "cluster": "tone", "level": "cluster"}},
        ],
        "style": "rubric",
    },
    "extra_info": {"healthbench_prompt_id": "p-2", "healthbench_example_tags": ["theme:hedging"]},
}


class TestUpstreamRows:
    def test_the_id_is_the_prompt_id(self, tmp_path: Path) -> None:
        assert read_one(tmp_path, HEALTHBENCH).id == "p-1"

    def test_every_turn_is_kept(self, tmp_path: Path) -> None:
        messages = read_one(tmp_path, HEALTHBENCH).messages
        assert [message.role for message in messages] == ["user", "assistant", "user"]
        assert messages[-1].content == "Since Monday."

    def test_negative_points_are_behaviours_to_avoid(self, tmp_path: Path) -> None:
        assert read_one(tmp_path, HEALTHBENCH).rubric.weights == (7.0, -6.0, 5.0)

    def test_level_axis_and_cluster_are_kept_as_tags(self, tmp_path: Path) -> None:
        criteria = read_one(tmp_path, HEALTHBENCH).rubric.criteria
        assert criteria[0].tags == ("level:example", "axis:completeness")
        assert criteria[2].tags == ("level:cluster", "axis:accuracy", "cluster:tone")

    def test_the_ideal_completion_is_the_reference(self, tmp_path: Path) -> None:
        assert read_one(tmp_path, HEALTHBENCH).reference == "Did you fall?"

    def test_themes_and_canary_travel_along(self, tmp_path: Path) -> None:
        task = read_one(tmp_path, HEALTHBENCH)
        assert task.meta == {"example_tags": ["theme:context_seeking"], "canary": "a canary"}
        assert (task.domain, task.source) == ("medicine", "healthbench")

    def test_an_example_without_an_ideal_completion_has_no_reference(self, tmp_path: Path) -> None:
        assert read_one(tmp_path, {**HEALTHBENCH, "ideal_completions_data": None}).reference is None


class TestVerlColumns:
    def test_id_themes_and_empty_reference_are_read(self, tmp_path: Path) -> None:
        task = read_one(tmp_path, VERL_COLUMNS)
        assert (task.id, task.reference) == ("p-2", None)
        assert task.meta == {"example_tags": ["theme:hedging"]}

    def test_tags_in_a_struct_are_the_same_tags(self, tmp_path: Path) -> None:
        criteria = read_one(tmp_path, VERL_COLUMNS).rubric.criteria
        assert [c.tags for c in criteria] == [
            ("axis:completeness", "level:example"),
            ("axis:accuracy", "cluster:tone", "level:cluster"),
        ]

    def test_a_row_without_any_id_is_named_by_its_content(self, tmp_path: Path) -> None:
        row = {**VERL_COLUMNS, "extra_info": {}}
        assert read_one(tmp_path, row, "healthbench").id == "326da9a2538c8105"


@pytest.mark.parametrize("value", [None, "text", 5, [], ["x"], {}])
@pytest.mark.parametrize("key", ["reward_model", "rubrics"])
def test_a_row_without_rubrics_is_a_reject(tmp_path: Path, key: str, value: object) -> None:
    row = {**VERL_COLUMNS, key: value}
    said = reject_one(tmp_path, row, "healthbench")
    assert "the rubric is not a list of criteria" in said or "criterion 1: the weight is missing" in said


@pytest.mark.parametrize("key", ["extra_info", "ideal_completions_data", "reward_model"])
@pytest.mark.parametrize("value", ["text", 5, ["x"], True])
def test_what_is_not_needed_may_be_anything(tmp_path: Path, key: str, value: object) -> None:
    assert read_one(tmp_path, {**HEALTHBENCH, key: value}).id == "p-1"


@pytest.fixture(scope="module")
def tasks(healthbench_file: Path) -> list[Task]:
    return list(load_tasks(healthbench_file, strict=True))


@pytest.fixture(scope="module")
def consensus(healthbench_file: Path) -> list[Task]:
    return list(load_tasks(healthbench_file, subset="consensus", strict=True))


class TestRealFile:
    def test_500_tasks_have_5965_criteria_of_which_1859_are_negative(self, tasks: list[Task]) -> None:
        weights = [weight for task in tasks for weight in task.rubric.weights]
        assert (len(tasks), len(weights), sum(weight < 0 for weight in weights)) == (500, 5965, 1859)

    def test_213_tasks_have_several_turns(self, tasks: list[Task]) -> None:
        assert sum(len(task.messages) > 1 for task in tasks) == 213

    def test_ids_are_prompt_ids_and_no_two_are_the_same(self, tasks: list[Task]) -> None:
        assert len({task.id for task in tasks}) == 500
        assert {tuple(map(len, task.id.split("-"))) for task in tasks} == {(8, 4, 4, 4, 12)}

    def test_every_criterion_has_its_level_and_axis_and_849_a_cluster(self, tasks: list[Task]) -> None:
        tags = (tag for task in tasks for criterion in task.rubric.criteria for tag in criterion.tags)
        keys = Counter(tag.split(":")[0] for tag in tags)
        assert keys == {"level": 5965, "axis": 5965, "cluster": 849}

    def test_every_task_has_its_themes_and_belongs_to_medicine(self, tasks: list[Task]) -> None:
        assert {task.domain for task in tasks} == {"medicine"}
        assert all(task.meta["example_tags"] for task in tasks)

    def test_849_consensus_criteria_lie_on_384_tasks_and_weigh_5(self, consensus: list[Task]) -> None:
        weights = [weight for task in consensus for weight in task.rubric.weights]
        assert (len(consensus), len(weights), set(weights)) == (384, 849, {5.0})

    def test_the_two_subsets_make_up_the_whole(self, healthbench_file: Path, tasks: list[Task]) -> None:
        stream = load_tasks(healthbench_file, subset="example", strict=True)
        assert sum(len(task.rubric) for task in stream) == 5965 - 849
        assert (stream.read, stream.loaded, stream.skipped) == (500, 482, 18)
