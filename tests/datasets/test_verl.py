"""`verl`: the rubric inside `extra_info`, with dimensions and a name where it has them."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prorubric import load_tasks
from tests.datasets.rows import VERL, read_one, reject_one


def with_extra(**fields: Any) -> dict[str, Any]:
    return {**VERL, "extra_info": {**VERL["extra_info"], **fields}}


def test_a_row_is_read_with_all_it_says(tmp_path: Path) -> None:
    task = read_one(tmp_path, VERL)
    assert (task.id, task.domain, task.source, task.reference) == ("v-1", "medicine", "our-clinic", "No.")
    assert (task.rubric.weights, task.meta) == ((3.0, -2.0), {"split": "train"})


@pytest.mark.parametrize("layers", [0, 1, 2])
@pytest.mark.parametrize("key", ["rubric", "rubrics", "criteria"])
def test_the_rubric_may_be_a_list_or_json_text_under_three_names(tmp_path: Path, key: str, layers: int) -> None:
    rubric: Any = VERL["extra_info"]["rubric"]
    for _ in range(layers):
        rubric = json.dumps(rubric)
    row = {**VERL, "extra_info": {key: rubric}}
    assert read_one(tmp_path, row).rubric.weights == (3.0, -2.0)


def test_extra_info_as_a_whole_may_be_json_text(tmp_path: Path) -> None:
    task = read_one(tmp_path, {**VERL, "extra_info": json.dumps(VERL["extra_info"])})
    assert task == read_one(tmp_path, VERL)


@pytest.mark.parametrize("as_text", [False, True])
def test_the_protocol_is_made_against_the_rubric(tmp_path: Path, as_text: bool) -> None:
    protocol = VERL["extra_info"]["protocol"]
    made = read_one(tmp_path, with_extra(protocol=json.dumps(protocol) if as_text else protocol)).protocol
    assert made is not None
    assert [(d.name, d.indices, d.weight) for d in made.dimensions] == [("Answer", (1, 2), 5.0)]


@pytest.mark.parametrize("absent", [None, [], "", "[]"])
def test_a_row_may_have_no_protocol(tmp_path: Path, absent: object) -> None:
    assert read_one(tmp_path, with_extra(protocol=absent)).protocol is None


@pytest.mark.parametrize("protocol", ["text", 5, True, {"name": "A"}, ["A"], [None], [[1, 2]]])
def test_a_protocol_that_is_not_a_list_of_dimensions_is_a_reject(tmp_path: Path, protocol: object) -> None:
    said = reject_one(tmp_path, with_extra(protocol=protocol))
    assert "the protocol is not a list of dimensions (" in said
    assert said.endswith("; give each a name, a description and indices")


@pytest.mark.parametrize(
    ("indices", "said"),
    [
        ([1], "a criterion is in no dimension (criterion 2, 1 missing)"),
        ([1, 2, 3], "index 3"),
        ([0, 1, 2], "index 0"),
        ([1, 2, 2], "index 2"),
        (["1", "2"], "indices are not a list of whole numbers (['1', '2'])"),
        (None, "indices are not a list of whole numbers (None)"),
    ],
)
def test_a_protocol_that_is_not_a_partition_is_a_reject(tmp_path: Path, indices: Any, said: str) -> None:
    row = with_extra(protocol=[{"name": "A", "description": "Says no.", "indices": indices}])
    assert said in reject_one(tmp_path, row)


@pytest.mark.parametrize(
    ("extra", "name"), [({"id": 7}, "7"), ({"id": None, "task_id": "t"}, "t"), ({"id": "a", "task_id": "t"}, "a")]
)
def test_the_name_is_id_or_task_id(tmp_path: Path, extra: dict[str, Any], name: str) -> None:
    assert read_one(tmp_path, with_extra(**extra)).id == name


def test_a_row_without_a_name_is_named_by_its_content(tmp_path: Path) -> None:
    assert len(read_one(tmp_path, with_extra(id=None)).id) == 16


@pytest.mark.parametrize("extra", [None, {}, "text", 5, [1]])
def test_a_row_without_extra_info_is_a_reject(tmp_path: Path, extra: object) -> None:
    said = reject_one(tmp_path, {**VERL, "extra_info": extra}, "verl")
    assert said.endswith("extra_info is missing; verl rows keep the rubric there")


@pytest.mark.parametrize("reward_model", [None, "text", 5, [1], {"ground_truth": ""}, {}])
def test_a_row_without_ground_truth_has_no_reference(tmp_path: Path, reward_model: object) -> None:
    assert read_one(tmp_path, {**VERL, "reward_model": reward_model}).reference is None


def test_a_row_that_does_not_say_its_source_comes_from_verl(tmp_path: Path) -> None:
    assert read_one(tmp_path, {**VERL, "data_source": None}).source == "verl"


def test_parquet_as_verl_writes_it_is_read(tmp_path: Path) -> None:
    row = with_extra(index=4, made=datetime(2026, 1, 2))
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "train.parquet")
    (task,) = load_tasks(tmp_path / "train.parquet", strict=True)
    assert (task.id, task.rubric.weights) == ("v-1", (3.0, -2.0))
    assert task.meta == {"split": "train", "index": 4, "made": "2026-01-02T00:00:00"}
