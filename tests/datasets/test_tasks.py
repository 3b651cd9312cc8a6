"""`tasks`: our own form, which refuses what it does not know."""

from pathlib import Path
from typing import Any

import pytest

from prorubric.datasets.sources import tasks
from prorubric.rubric.forms import render_task
from tests.datasets.rows import ROWS, TASK, read_one, reject_one


def test_a_task_is_read_with_all_it_says(tmp_path: Path) -> None:
    assert render_task(read_one(tmp_path, TASK)) == TASK


def test_only_id_messages_and_rubric_are_needed(tmp_path: Path) -> None:
    task = read_one(tmp_path, {key: TASK[key] for key in ("id", "messages", "rubric")})
    assert (task.protocol, task.domain, task.source, task.reference, task.meta) == (None, None, None, None, {})


def test_the_weight_of_a_dimension_is_derived_and_not_believed(tmp_path: Path) -> None:
    row = {**TASK, "protocol": [{**TASK["protocol"][0], "weight": 99}]}
    protocol = read_one(tmp_path, row).protocol
    assert protocol is not None
    assert [dimension.weight for dimension in protocol.dimensions] == [5.0]


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_other_formats_are_not_taken_for_ours(name: str) -> None:
    assert tasks.fits(ROWS[name]) == (name == "tasks")


@pytest.mark.parametrize(
    "change",
    [
        {"id": 7},
        {"messages": "Is it safe?"},
        {"rubric": ["Says no"]},
        {"rubric": [{"criterion": "Says no"}]},
        {"rubric": [{"criterion": "Says no", "weight": 3, "axis": "safety"}]},
        {"difficulty": "easy"},
    ],
)
def test_a_row_that_only_resembles_ours_is_read_as_plain(tmp_path: Path, change: dict[str, Any]) -> None:
    row = {**TASK, "protocol": None, **change}
    assert reject_one(tmp_path, row, "tasks")
    assert read_one(tmp_path, row) == read_one(tmp_path, row, "plain")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("messages", "Is it safe?", "messages is not a list of objects ('Is it safe?'); give one"),
        ("rubric", {"criterion": "a"}, "rubric is not a list of objects ({'criterion': 'a'}); give one"),
        ("protocol", [5], "protocol is not a list of objects ([5]); give one"),
        ("meta", [1], "meta is not an object ([1]); give a JSON object"),
        ("meta", "no json", "meta is not an object ('no json'); give a JSON object"),
        ("id", 7, "id: Input should be a valid string (got 7)"),
    ],
)
def test_a_wrong_value_is_a_reject_that_shows_it(tmp_path: Path, key: str, value: Any, said: str) -> None:
    assert said in reject_one(tmp_path, {**TASK, key: value}, "tasks")


@pytest.mark.parametrize("tags", ["label:critical", 5, {"a": 1}, [1]])
def test_tags_that_are_no_list_of_texts_are_a_reject(tmp_path: Path, tags: object) -> None:
    row = {**TASK, "rubric": [{"criterion": "a", "weight": 1, "tags": tags}], "protocol": None}
    assert "criterion 1: Criterion: tags" in reject_one(tmp_path, row)
