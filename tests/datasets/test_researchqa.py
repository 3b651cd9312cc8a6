"""`researchqa`: rubric items without weights."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prorubric import load_tasks
from tests.datasets.rows import RESEARCHQA, read_one, reject_one


def test_every_item_weighs_one(tmp_path: Path) -> None:
    assert read_one(tmp_path, RESEARCHQA).rubric.weights == (1.0, 1.0)


def test_one_type_or_several_are_kept_as_tags(tmp_path: Path) -> None:
    criteria = read_one(tmp_path, RESEARCHQA).rubric.criteria
    assert [c.tags for c in criteria] == [("type:Explanation",), ("type:Citation", "type:Example")]


def test_a_row_is_read_with_all_it_says(tmp_path: Path) -> None:
    task = read_one(tmp_path, RESEARCHQA)
    assert (task.id, task.domain, task.source) == ("rq-1", "science", "researchqa")
    assert (task.messages[0].content, task.meta) == (
        "How do glaciers flow?",
        {"general_domain": "Earth science", "date": "2021"},
    )


def test_a_row_without_an_id_is_named_by_its_content(tmp_path: Path) -> None:
    assert len(read_one(tmp_path, {**RESEARCHQA, "id": None}).id) == 16


@pytest.mark.parametrize("layers", [1, 2])
def test_the_rubric_may_be_json_text(tmp_path: Path, layers: int) -> None:
    rubric: Any = RESEARCHQA["rubric"]
    for _ in range(layers):
        rubric = json.dumps(rubric)
    criteria = read_one(tmp_path, {**RESEARCHQA, "rubric": rubric}).rubric.criteria
    assert [c.tags for c in criteria] == [("type:Explanation",), ("type:Citation", "type:Example")]


def test_a_weight_that_is_given_counts(tmp_path: Path) -> None:
    row = {**RESEARCHQA, "rubric": [{"rubric_item": "a", "weight": 2}, {"rubric_item": "b"}]}
    assert read_one(tmp_path, row).rubric.weights == (2.0, 1.0)


@pytest.mark.parametrize("value", [None, 5, True, "text", [], {}])
def test_what_is_not_a_list_of_items_is_a_reject(tmp_path: Path, value: object) -> None:
    said = reject_one(tmp_path, {**RESEARCHQA, "rubric": value}, "researchqa")
    assert any(part in said for part in ("there are no criteria", "no text", "text without items"))


def test_a_date_in_parquet_becomes_text(tmp_path: Path) -> None:
    row = {**RESEARCHQA, "date": date(2021, 3, 4), "rubric": [{"rubric_item": "a", "type": "Citation"}]}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "x.parquet")
    (task,) = load_tasks(tmp_path / "x.parquet", strict=True)
    assert task.meta["date"] == "2021-03-04"
