"""`save_tasks` and `save_responses`: records into a file in our own form; the suffix of the name decides how."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
from pydantic import JsonValue

from prorubric.files.write import open_rows
from prorubric.rubric.forms import render_response, render_task
from prorubric.rubric.records import Response, Task

_TEXT, _TEXTS, _COUNT, _WEIGHT = pa.string(), pa.list_(pa.string()), pa.int64(), pa.float64()
_CRITERION = {"criterion": _TEXT, "weight": _WEIGHT, "tags": _TEXTS, "check": _TEXT}
_DIMENSION = {"name": _TEXT, "description": _TEXT, "indices": pa.list_(pa.int64()), "weight": _WEIGHT}
TASK_SCHEMA = pa.schema(
    {
        "id": _TEXT,
        "messages": pa.list_(pa.struct({"role": _TEXT, "content": _TEXT})),
        "domain": _TEXT,
        "source": _TEXT,
        "rubric": pa.list_(pa.struct(_CRITERION)),
        "protocol": pa.list_(pa.struct(_DIMENSION)),
        "reference": _TEXT,
        "meta": _TEXT,
    }
)
_CALL = {"id": _TEXT, "type": _TEXT, "function": pa.struct({"name": _TEXT, "arguments": _TEXT})}
_TURN = {
    "role": _TEXT,
    "content": _TEXT,
    "tool_calls": pa.list_(pa.struct(_CALL)),
    "name": _TEXT,
    "tool_call_id": _TEXT,
}
RESPONSE_SCHEMA = pa.schema(
    {
        "task_id": _TEXT,
        "response": _TEXT,
        "messages": pa.list_(pa.struct(_TURN)),
        "sample": _COUNT,
        "model": _TEXT,
        "tokens": _COUNT,
        "meta": _TEXT,
    }
)


def save_tasks(path: str | Path, tasks: Iterable[Task]) -> int:
    """Write tasks to .jsonl, .json (both also .gz, .zst) or .parquet; gives how many. Whole or not at all."""
    return _save(path, TASK_SCHEMA, map(render_task, tasks))


def save_responses(path: str | Path, responses: Iterable[Response]) -> int:
    """Write responses; gives how many."""
    return _save(path, RESPONSE_SCHEMA, map(render_response, responses))


def _save(path: str | Path, schema: pa.Schema, rows: Iterable[Mapping[str, JsonValue]]) -> int:
    count = 0
    with open_rows(Path(path), schema) as write:
        for count, row in enumerate(rows, 1):  # noqa: B007 - the last is how many
            write(row)
    return count
