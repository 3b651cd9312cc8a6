"""Which task a row means: every form that trainers hand over, and a refusal in one line for everything else."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prorubric import RewardConfig, Task, load_tasks
from prorubric.datasets.sources import trl, verl
from prorubric.errors import ConfigError, RubricError, SchemeError, SourceError
from prorubric.reward import lookup
from prorubric.reward.reward import RubricReward
from prorubric.rubric.forms import render_task
from tests.aggregate.test_schemes import make_task
from tests.datasets.rows import VERL, read_one, write_jsonl
from tests.reward.rewarding import make_tasks, write_tasks

TASK = make_task([5, 3, -2, 1], [[1, 3], [2, 4]]).model_copy(update={"id": "carried"})
ROW = render_task(TASK)
TEXT = json.dumps(ROW)


@pytest.fixture
def by_id(tmp_path: Path) -> RubricReward:
    return RubricReward(RewardConfig("lexical", tasks=write_tasks(tmp_path)))


@pytest.fixture
def carried() -> RubricReward:
    return RubricReward(RewardConfig("lexical"))


@pytest.mark.parametrize(
    "row",
    [
        "task 1",
        {"task_id": "task 1"},
        {"task_id": "task 1", "prompt": "?", "rubric": "the file wins over what the row carries"},
        {"task_id": "task 1", "task": TEXT},
        {"extra_info": {"task_id": "task 1", "index": 7}},
        {"extra_info": json.dumps({"task_id": "task 1"})},
        {"data_source": "x", "ground_truth": "task 1", "extra_info": None},
        {"reward_model": {"style": "rubric", "ground_truth": "task 1"}},
    ],
)
def test_a_task_of_the_file_by_its_id(by_id: RubricReward, row: object) -> None:
    assert by_id.find_task(row) is by_id.tasks["task 1"]
    assert by_id.find_task(row) == make_tasks()[1]


def test_the_column_that_names_the_task_is_configurable(tmp_path: Path) -> None:
    reward = RubricReward(RewardConfig("lexical", tasks=write_tasks(tmp_path), column="uid"))
    assert reward.find_task({"uid": "task 2", "task_id": "task 1"}).id == "task 2"
    with pytest.raises(ConfigError, match=r"no task matches a row with the keys task_id \("):
        reward.find_task({"task_id": "task 1"})


def test_an_id_may_be_a_number_in_the_row(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "tasks.jsonl", {**ROW, "id": "17"})
    reward = RubricReward(RewardConfig("lexical", tasks=str(path)))
    assert reward.find_task({"task_id": 17}).id == reward.find_task({"task_id": np.int64(17)}).id == "17"


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"task_id": "no such task", "ground_truth": "task 1"}, "'no such task'"),
        ({"task_id": 9, "reward_model": {"ground_truth": "task 1"}}, "9"),
        ({"task_id": "", "ground_truth": "task 1"}, "''"),
        ({"task_id": '{"a": 1}', "ground_truth": "task 1"}, "'{\"a\": 1}'"),
        ({"extra_info": {"task_id": "no such task"}, "ground_truth": "task 1"}, "'no such task'"),
        ({"task_id": "no such task", "task": json.dumps({**ROW, "id": "task 1"})}, "'no such task'"),
    ],
)
def test_a_task_that_the_column_names_and_nobody_has_is_not_replaced_by_another(
    by_id: RubricReward, row: dict[str, Any], name: str
) -> None:
    with pytest.raises(ConfigError) as told:
        by_id.find_task(row)
    assert str(told.value) == (
        f"no task matches a row with {name} in 'task_id', although it names 'task 1' elsewhere (tasks.jsonl has "
        "3 others); put a task id into the column 'task_id', or a prompt and a rubric into the row"
    )


def test_other_places_are_looked_at_where_the_column_is_empty(by_id: RubricReward) -> None:
    assert by_id.find_task({"task_id": None, "ground_truth": "task 1"}).id == "task 1"


@pytest.mark.parametrize(
    "row",
    [
        TASK,
        ROW,
        TEXT,
        f"  {TEXT}",
        {"task_id": ROW},
        {"task_id": TEXT},
        {"task_id": "carried", "task": TEXT},
        {"task_id": "carried", "ground_truth": TEXT},
        {**ROW, "completion": "a column of the trainer's", "step": 3},
        {**ROW, "messages": json.dumps(ROW["messages"]), "rubric": json.dumps(ROW["rubric"])},
        trl.render(TASK),
        verl.render(TASK),
        {"extra_info": {**verl.render(TASK)["extra_info"], "num_turns": 2}},  # type: ignore[dict-item]
        {"data_source": "x", "ground_truth": "carried", "extra_info": verl.render(TASK)["extra_info"]},
        {"ground_truth": TEXT},
        {"reward_model": {"ground_truth": TEXT}},
        {"extra_info": {"task": TEXT}},
    ],
    ids=lambda row: str(row)[:40],
)
def test_a_task_that_the_row_carries(carried: RubricReward, row: object) -> None:
    assert carried.find_task(row) == TASK


def test_a_row_of_verl_s_own_making_is_read_as_the_loader_reads_it(carried: RubricReward, tmp_path: Path) -> None:
    found = read_one(tmp_path, VERL)
    assert carried.find_task({**VERL, "uid": "a1"}) == found.model_copy(update={"meta": {}})
    # What a reward function of verl is given has no prompt in it; extra_info may.
    seen = {"ground_truth": "No.", "extra_info": {**VERL["extra_info"], "prompt": VERL["prompt"]}}
    assert carried.find_task(seen).messages == found.messages
    text = {**VERL["extra_info"], "rubric": json.dumps(VERL["extra_info"]["rubric"])}
    assert carried.find_task({**VERL, "extra_info": text}).rubric == found.rubric


def test_a_prompt_and_a_rubric_in_columns_of_their_own_are_enough(carried: RubricReward) -> None:
    columns = {"prompt": "Is it safe?", "rubric": ROW["rubric"], "protocol": ROW["protocol"]}
    found = carried.find_task(columns)
    assert (found.messages[0].content, found.rubric, found.protocol) == ("Is it safe?", TASK.rubric, TASK.protocol)
    assert found.id == carried.find_task({**columns, "completion": "x"}).id


def test_rows_out_of_parquet_have_arrays_for_lists(carried: RubricReward, tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([ROW]), tmp_path / "rows.parquet")
    (row,) = pq.read_table(tmp_path / "rows.parquet").to_pylist()
    row = {**row, "messages": np.array(row["messages"], dtype=object), "rubric": np.array(row["rubric"], dtype=object)}
    row["protocol"] = np.array([{**one, "indices": np.array(one["indices"])} for one in row["protocol"]], dtype=object)
    assert carried.find_task(row) == TASK


def test_a_carried_task_is_read_once(carried: RubricReward) -> None:
    first = carried.find_task({"task": TEXT, "completion": "one"})
    assert carried.find_task({"task": TEXT, "completion": "two"}) is first
    assert carried.find_task({**ROW, "completion": "three"}) is carried.find_task({**ROW, "completion": "four"})
    assert carried.find_task(TASK) is TASK


def test_of_carried_tasks_those_asked_for_last_are_kept_up_to_a_number_and_a_size(
    carried: RubricReward, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{**ROW, "id": str(number), "meta": {"text": "x" * 100_000}} for number in range(4)]
    size = 3 * len(json.dumps(rows[0]))
    for limit, value in (("REMEMBERED_BYTES", 2 * size + size // 2), ("REMEMBERED", 2)):
        with monkeypatch.context() as patch:
            patch.setattr(lookup, limit, value)
            first, second = map(carried.find_task, rows[:2])
            assert carried.find_task(rows[0]) is first
            carried.find_task(rows[2])
            assert carried.find_task(rows[0]) is first
            assert carried.find_task(rows[1]) is not second


def test_a_task_beyond_the_size_is_found_and_not_kept(carried: RubricReward, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "REMEMBERED_BYTES", 100)
    assert carried.find_task(ROW) == TASK
    assert carried.find_task(ROW) is not carried.find_task(ROW)


@pytest.mark.parametrize(
    ("shape", "tasks"),
    [
        ("conversation", 22),
        pytest.param("criteria", 3, marks=pytest.mark.extended),
        pytest.param("meta", 2, marks=pytest.mark.extended),
    ],
)
def test_what_is_worked_out_for_carried_tasks_goes_with_them(shape: str, tasks: int) -> None:
    script = Path(__file__).parent / "scripts/carry_many.py"
    ran = subprocess.run([sys.executable, script, shape, str(32 * 2**20)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    kept = json.loads(ran.stdout)
    assert kept["tasks"] == tasks
    assert kept["megabytes"] < kept["early_megabytes"] + 40


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("task 9", "'task 9'"),
        ("", "''"),
        ("{not json", "'{not json'"),
        ("[1, 2]", "'[1, 2]'"),
        ('{"a": 1}', "'{\"a\": 1}'"),
        (None, "None"),
        (True, "True"),
        (4.5, "4.5"),
        (["task 1"], "['task 1']"),
        ({}, "a row with the keys "),
        ({"task_id": "task 9"}, "a row with 'task 9' in 'task_id'"),
        ({"task_id": None, "prompt": "?"}, "a row with the keys task_id, prompt"),
        ({"rubric": ROW["rubric"]}, "a row with the keys rubric"),
        ({"extra_info": {"rubric": "[]"}}, "a row with the keys extra_info"),
        ({"ground_truth": "42"}, "a row with the keys ground_truth"),
    ],
)
def test_a_row_that_means_no_task_is_refused_in_one_line(by_id: RubricReward, row: object, what: str) -> None:
    with pytest.raises(ConfigError) as told:
        by_id.find_task(row)
    assert str(told.value) == (
        f"no task matches {what} (tasks.jsonl has 3 others); "
        "put a task id into the column 'task_id', or a prompt and a rubric into the row"
    )


def test_an_id_without_a_file_says_that_there_is_no_file(carried: RubricReward) -> None:
    with pytest.raises(ConfigError, match=r"no task matches 'task 1' \(there is no tasks file\); put a task id into"):
        carried.find_task("task 1")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rubric": []}, "a rubric needs at least 1 criterion"),
        ({"rubric": [{"criterion": "x", "weight": 0}]}, "criterion 1: Criterion: weight: weight must be finite"),
        ({"protocol": [{"name": "a", "description": "b", "indices": [1]}]}, "a criterion is in no dimension"),
        ({"messages": []}, "the conversation is empty"),
    ],
)
def test_a_carried_task_that_is_not_sound_is_refused(carried: RubricReward, change: dict[str, Any], said: str) -> None:
    with pytest.raises(RubricError, match=f"^the task in the row: .*{said}"):
        carried.find_task({**ROW, **change})


def test_a_carried_task_that_the_scheme_does_not_fit_is_refused(carried: RubricReward) -> None:
    plain = make_task([1, 2])
    for row in (plain, render_task(plain), json.dumps(render_task(plain))):
        with pytest.raises(SchemeError, match="task 't': prorubric needs dimensions and the task has none"):
            carried.find_task(row)


def test_a_file_may_repeat_a_task_but_not_give_its_name_to_another(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "tasks.jsonl", ROW, ROW)
    assert list(RubricReward(RewardConfig("lexical", tasks=str(path))).tasks.values()) == [TASK]
    write_jsonl(path, ROW, {**ROW, "domain": "other"})
    with pytest.raises(SourceError, match=r"tasks\.jsonl:2: the id 'carried' already belongs to another task"):
        RubricReward(RewardConfig("lexical", tasks=str(path)))


def test_a_row_of_the_file_that_cannot_be_read_is_refused_with_its_line(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "tasks.jsonl", ROW, {**ROW, "id": "other", "rubric": []})
    with pytest.raises(SourceError, match=r"tasks\.jsonl:2: Rubric: a rubric needs at least 1 criterion"):
        RubricReward(RewardConfig("lexical", tasks=str(path)))


def test_a_file_of_another_form_is_looked_up_by_the_ids_that_the_loader_gives(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "rows.jsonl", VERL)
    tasks: list[Task] = list(load_tasks(path))
    assert RubricReward(RewardConfig("lexical", tasks=str(path))).find_task({"task_id": "v-1"}) == tasks[0]
