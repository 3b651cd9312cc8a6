"""`trl`: the columns that TRL and `datasets` pass on, with the whole task as JSON text in one of them.

`prompt` is the conversation, as TRL wants it; `task_id` and `task` reach the reward function with it. Further columns
are the trainer's and are not read.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pydantic import JsonValue

from prorubric.datasets.carry import MESSAGES_TYPE, check_row, parse_object, render_json_text
from prorubric.datasets.shapes import read_object
from prorubric.rubric.forms import parse_task, render_task
from prorubric.rubric.records import Task

NAME = "trl"
SCHEMA = pa.schema({"prompt": MESSAGES_TYPE, "task_id": pa.string(), "task": pa.string()})
USED = frozenset(SCHEMA.names)


def fits(row: Mapping[str, Any]) -> bool:
    """JSON text of a task in our own form; a column of that name with anything else in it is not ours."""
    task = row.get("task")
    return isinstance(task, str) and {"id", "messages", "rubric"} <= read_object(task).keys()


def parse(row: Mapping[str, Any]) -> Task:
    """One row."""
    task = parse_task(parse_object(row.get("task"), "task"))
    check_row(task, row.get("prompt"), "task_id", row.get("task_id"))
    return task


def render(task: Task) -> dict[str, JsonValue]:
    """The task as one row."""
    row = render_task(task)
    return {"prompt": row["messages"], "task_id": task.id, "task": render_json_text(row)}
