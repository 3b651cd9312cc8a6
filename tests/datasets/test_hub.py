"""Datasets by their id, through the real `datasets` library, from folders laid out as on the hub."""

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prorubric import ConvertConfig, convert_tasks, load_tasks
from prorubric.datasets.hub import is_hub_id
from prorubric.datasets.sources import FORMATS
from prorubric.errors import MissingExtraError, SourceError
from tests.datasets.rows import RESEARCHQA, ROWS, TASK, read, write_jsonl


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The dataset owner/name with two splits, in the working directory."""
    folder = tmp_path / "owner/name"
    folder.mkdir(parents=True)
    write_jsonl(folder / "train.jsonl", *({**TASK, "id": f"train-{i}"} for i in range(3)))
    write_jsonl(folder / "test.jsonl", *({**TASK, "id": f"test-{i}"} for i in range(2)))
    monkeypatch.chdir(tmp_path)
    return folder


def ids(name: str | Path, **options: Any) -> list[str]:
    return [task.id for task in load_tasks(name, strict=True, **options)]


@pytest.mark.parametrize("name", ["owner/name", "a/b", "open-ai/health.bench_v1", "0x/1"])
def test_owner_and_name_are_an_id(name: str) -> None:
    assert is_hub_id(name)


@pytest.mark.parametrize(
    "name", ["name", "/a/b", "./a/b", "../a", "a/b/c", "a/", "/b", "a b/c", "", "data/x.jsonl", "data/x.json.gz"]
)
def test_paths_and_names_of_files_are_no_ids(name: str) -> None:
    assert not is_hub_id(name)


def test_the_rows_of_the_training_split_are_read_unless_another_is_named(hub: Path) -> None:
    assert ids("owner/name") == ["train-0", "train-1", "train-2"]
    assert ids("owner/name", split="test") == ["test-0", "test-1"]


def test_a_folder_may_be_given_by_its_path(hub: Path) -> None:
    assert ids(hub, split="test") == ["test-0", "test-1"]


def test_a_task_from_a_dataset_is_the_task_from_its_file(hub: Path) -> None:
    assert list(load_tasks("owner/name")) == list(load_tasks(hub / "train.jsonl"))


def test_parquet_files_of_a_dataset_are_read(tmp_path: Path) -> None:
    rows = [{**TASK, "id": f"t{i}", "meta": None} for i in range(3)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "train-00000-of-00001.parquet")
    assert ids(tmp_path) == ["t0", "t1", "t2"]


@pytest.mark.parametrize("name", FORMATS[1:])
def test_every_format_is_recognised_in_a_dataset(tmp_path: Path, name: str) -> None:
    file = write_jsonl(tmp_path / "train.jsonl", ROWS[name])
    assert [task.rubric for task in load_tasks(tmp_path, strict=True)] == [task.rubric for task in load_tasks(file)]


def test_a_date_that_the_library_recognises_becomes_text_again(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "train.jsonl", {**RESEARCHQA, "date": "2021-03-04", "rubric": [{"rubric_item": "a"}]})
    (task,) = load_tasks(tmp_path, strict=True)
    assert str(task.meta["date"]).startswith("2021-03-04")


def test_a_bad_row_of_a_dataset_is_a_reject_with_its_number(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "train.jsonl", TASK, {**TASK, "id": " "}, TASK)
    tasks, (reject,) = read(tmp_path)
    assert (len(tasks), reject.path, reject.line) == (2, str(tmp_path), 2)


def test_an_unknown_split_is_refused_with_the_known_ones(hub: Path) -> None:
    with pytest.raises(SourceError, match=r"owner/name: the dataset cannot be opened .*'train', 'test'.*; check name"):
        ids("owner/name", split="validation")


def test_a_dataset_that_cannot_be_found_is_refused(hub: Path) -> None:
    with pytest.raises(SourceError, match=r"nobody/nothing: the dataset cannot be opened .*; check name and split"):
        ids("nobody/nothing")


def test_a_folder_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"the dataset cannot be opened .*; it is a folder: name a file in it"):
        ids(tmp_path)


def test_a_damaged_file_of_a_dataset_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(json.dumps(TASK) + '\n{"id": \n')
    with pytest.raises(SourceError, match="the dataset cannot be read past row 0"):
        ids(tmp_path)


def test_without_the_library_the_command_that_installs_it_is_named(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"'owner/name' from the hub .*pip install '\.\[hub\]' in a checkout"):
        ids("owner/name")


def test_without_the_library_a_folder_is_answered_with_what_to_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(SourceError, match=rf"^{tmp_path}: is a folder; name a file "):
        ids(tmp_path)


def test_a_dataset_can_be_converted_and_its_input_has_no_hash(hub: Path, tmp_path: Path) -> None:
    result = convert_tasks(ConvertConfig("owner/name", tmp_path / "out.jsonl", split="test"))
    assert (result.read, result.written, result.sha256["input"]) == (2, 2, None)
    assert ids(tmp_path / "out.jsonl") == ["test-0", "test-1"]
