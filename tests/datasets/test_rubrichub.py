"""`rubrichub`: the shapes that its RL and SFT files, and files like them, come in."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prorubric import load_tasks
from tests.datasets.rows import RUBRICHUB, RUBRICHUB_SFT, read_one, reject_one

TWO = [{"criterion": "Rhymes", "points": 4}, {"criterion": "Swears", "points": -2}]


def with_tags(tags: Any) -> dict[str, Any]:
    return {**RUBRICHUB, "Rubrics": [{"criterion": "Rhymes", "points": 4, "tags": tags}]}


def nested(value: Any, layers: int) -> Any:
    for _ in range(layers):
        value = json.dumps(value)
    return value


class TestRlRows:
    def test_a_row_is_read_with_all_it_says(self, tmp_path: Path) -> None:
        task = read_one(tmp_path, RUBRICHUB)
        assert (task.id, task.domain, task.source, task.reference) == ("rh-1", "dialogue", "rubrichub", "Roses are red")
        assert task.meta == {"ability": "chat"}

    def test_the_rubrics_may_lie_in_the_reward_model(self, tmp_path: Path) -> None:
        row = {"prompt": "Write a poem.", "reward_model": {"rubrics": TWO}}
        assert read_one(tmp_path, row).rubric.weights == (4.0, -2.0)

    def test_the_rubrics_may_lie_in_the_copy_inside_extra_info(self, tmp_path: Path) -> None:
        row = {"prompt": "Write a poem.", "extra_info": {"reward_model": {"rubrics": TWO}}, "reward_model": None}
        assert read_one(tmp_path, row).rubric.weights == (4.0, -2.0)

    @pytest.mark.parametrize("layers", [1, 2])
    def test_reward_model_and_extra_info_may_be_json_text(self, tmp_path: Path, layers: int) -> None:
        row = {
            "prompt": "Write a poem.",
            "reward_model": nested({"rubrics": TWO, "ground_truth": "Roses"}, layers),
            "extra_info": nested({"sample_id": 17}, layers),
        }
        task = read_one(tmp_path, row)
        assert (task.id, task.reference, task.rubric.weights) == ("17", "Roses", (4.0, -2.0))

    @pytest.mark.parametrize(
        ("ability", "domain"),
        [
            ("chat", "dialogue"),
            ("Medical", "medicine"),
            ("medical_chat", "medicine"),
            ("Writing", "writing"),
            ("science", "science"),
            ("IF", None),
        ],
    )
    def test_the_ability_gives_the_domain(self, tmp_path: Path, ability: str, domain: str | None) -> None:
        assert read_one(tmp_path, {**RUBRICHUB, "ability": ability}).domain == domain

    def test_a_row_without_an_id_is_named_by_prompt_and_checklist(self, tmp_path: Path) -> None:
        rows = [{"prompt": "Write a poem.", "Rubrics": rubrics} for rubrics in (TWO, TWO[:1], TWO)]
        first, second, third = (read_one(tmp_path, row).id for row in rows)
        assert first == third != second
        assert len(first) == 16

    def test_prompts_that_repeat_are_all_loaded(self, tmp_path: Path) -> None:
        path = tmp_path / "x.jsonl"
        path.write_text((json.dumps(RUBRICHUB) + "\n") * 3)
        assert [task.id for task in load_tasks(path)] == ["rh-1"] * 3


class TestSftRows:
    def test_the_query_is_the_prompt(self, tmp_path: Path) -> None:
        task = read_one(tmp_path, RUBRICHUB_SFT)
        assert [(m.role, m.content) for m in task.messages] == [("user", "Write a poem.")]
        assert (task.rubric.weights, task.source) == ((4.0,), "rubrichub")

    def test_the_rubrics_may_be_json_text_twice_over(self, tmp_path: Path) -> None:
        assert read_one(tmp_path, {**RUBRICHUB_SFT, "rubrics": nested(TWO, 2)}).rubric.weights == (4.0, -2.0)

    def test_an_empty_prompt_column_does_not_hide_the_query(self, tmp_path: Path) -> None:
        assert read_one(tmp_path, {**RUBRICHUB_SFT, "prompt": None}).messages[0].content == "Write a poem."


class TestShapes:
    @pytest.mark.parametrize(
        ("tags", "expected"),
        [
            (["a", "b"], ("a", "b")),
            ({"axis": "form", "level": None}, ("axis:form",)),
            ({"verifier": "rule", "function": "count", "parameters": ""}, ("verifier:rule", "function:count")),
            ({"verifier": "rule", "function": "count", "parameters": "{}"}, ("verifier:rule", "function:count")),
            ({"verifier": "rule", "function": None, "parameters": {"n": 3}}, ("verifier:rule", 'parameters:{"n":3}')),
            ('{"verifier": "llm", "function": "", "parameters": {}}', ("verifier:llm",)),
            (None, ()),
        ],
    )
    def test_tags_of_every_shape_are_kept(self, tmp_path: Path, tags: Any, expected: tuple[str, ...]) -> None:
        assert read_one(tmp_path, with_tags(tags)).rubric.criteria[0].tags == expected

    def test_tags_may_be_absent(self, tmp_path: Path) -> None:
        assert read_one(tmp_path, RUBRICHUB_SFT).rubric.criteria[0].tags == ()

    @pytest.mark.parametrize("layers", [0, 1, 2])
    def test_rubrics_may_be_json_text_in_the_column(self, tmp_path: Path, layers: int) -> None:
        assert read_one(tmp_path, {**RUBRICHUB, "Rubrics": nested(TWO, layers)}).rubric.weights == (4.0, -2.0)

    @pytest.mark.parametrize("points", [3, 3.0, "3", "3.0"])
    def test_points_may_be_whole_broken_or_text(self, tmp_path: Path, points: object) -> None:
        row = {**RUBRICHUB, "Rubrics": [{"criterion": "Rhymes", "points": points}]}
        assert read_one(tmp_path, row).rubric.weights == (3.0,)

    @pytest.mark.parametrize("entry", [{"criterion": "Rhymes"}, {"criterion": "Rhymes", "points": None}, "Rhymes"])
    def test_a_missing_weight_is_a_reject_with_the_text_and_what_to_give(self, tmp_path: Path, entry: Any) -> None:
        said = reject_one(tmp_path, {**RUBRICHUB, "Rubrics": [TWO[0], entry]})
        assert said.endswith(
            ":1: criterion 2: the weight is missing ('Rhymes'); give one of weight, points, max_points"
        )

    def test_tiers_stand_in_for_weights(self, tmp_path: Path) -> None:
        row = {**RUBRICHUB, "Rubrics": ["The poem rhymes [Hard Rule]", "[Principle] The poem moves"]}
        criteria = read_one(tmp_path, row).rubric.criteria
        assert [(c.text, c.weight) for c in criteria] == [("The poem rhymes", 1.0), ("The poem moves", 0.7)]

    def test_points_before_the_text_are_its_weight(self, tmp_path: Path) -> None:
        row = {**RUBRICHUB, "Rubrics": ["Points: -9, Item: Swears", "Points: 4.5, Item: Rhymes"]}
        criteria = read_one(tmp_path, row).rubric.criteria
        assert [(c.text, c.weight) for c in criteria] == [("Swears", -9.0), ("Rhymes", 4.5)]

    def test_dimensions_multiply_their_criteria(self, tmp_path: Path) -> None:
        row = {**RUBRICHUB, "Rubrics": [{"dimension": "Form", "weight": 0.5, "criteria": TWO}]}
        criteria = read_one(tmp_path, row).rubric.criteria
        assert [(c.weight, c.tags) for c in criteria] == [(2.0, ("dimension:Form",)), (-1.0, ("dimension:Form",))]

    def test_a_criterion_that_repeats_with_other_points_is_kept_by_position(self, tmp_path: Path) -> None:
        row = {**RUBRICHUB, "Rubrics": [*TWO, {"criterion": "Rhymes", "points": 9}, TWO[0]]}
        criteria = read_one(tmp_path, row).rubric.criteria
        assert [(c.text, c.weight) for c in criteria] == [("Rhymes", 4), ("Swears", -2), ("Rhymes", 9), ("Rhymes", 4)]

    def test_stray_white_space_around_a_text_is_dropped(self, tmp_path: Path) -> None:
        row = {**RUBRICHUB, "Rubrics": [{"criterion": "\n\t Rhymes,\n\nalways \r\n", "points": 1}]}
        assert read_one(tmp_path, row).rubric.criteria[0].text == "Rhymes,\n\nalways"

    def test_a_huge_whole_number_is_a_reject(self, tmp_path: Path) -> None:
        row = {**RUBRICHUB, "Rubrics": [{"criterion": "Rhymes", "points": 10**400}]}
        assert "criterion 1: the weight is too large (1000" in reject_one(tmp_path, row)


@pytest.mark.parametrize("format", ["auto", "rubrichub"])
def test_parquet_with_json_text_and_structs_is_read(tmp_path: Path, format: Any) -> None:  # noqa: A002
    table = pa.table(
        {
            "prompt": [[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]],
            "Rubrics": [json.dumps(TWO), json.dumps(json.dumps(TWO[:1]))],
            "ability": ["chat", "Medical"],
            "extra_info": [{"id": 1, "other": None}, {"id": 2, "other": "x"}],
        }
    )
    pq.write_table(table, tmp_path / "rurbichub_v1_Chat.parquet")
    tasks = list(load_tasks(tmp_path / "rurbichub_v1_Chat.parquet", format, strict=True))
    assert [(task.id, task.domain, task.rubric.weights) for task in tasks] == [
        ("1", "dialogue", (4.0, -2.0)),
        ("2", "medicine", (4.0,)),
    ]
