"""`save_tasks` and `save_responses`: records into a file in our own form; the suffix of the name decides how."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from prorubric.files.write import open_rows
from prorubric.rubric.forms import render_response, render_task
from prorubric.rubric.records import Response, Task

TASK_SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "messages": pa.list_(pa.struct({"role": pa.string(), "content": pa.string()})),
        "domain": pa.string(),
        "source": pa.string(),
        "rubric": pa.list_(
            pa.struct({"criterion": pa.string(), "weight": pa.float64(), "tags": pa.list_(pa.string())})
        ),
        "protocol": pa.list_(
            pa.struct(
                {
                    "name": pa.string(),
                    "description": pa.string(),
                    "indices": pa.list_(pa.int64()),
                    "weight": pa.float64(),
                }
            )
        ),
        "reference": pa.string(),
        "meta": pa.string(),
    }
)
RESPONSE_SCHEMA = pa.schema(
    {
        "task_id": pa.string(),
        "response": pa.string(),
        "sample": pa.int64(),
        "model": pa.string(),
        "tokens": pa.int64(),
        "meta": pa.string(),
    }
)


def save_tasks(path: str | Path, tasks: Iterable[Task]) -> int:
    """Write tasks to .jsonl, .json (both also .gz, .zst) or .parquet; gives how many. Whole or not at all."""
    count = 0
    with open_rows(Path(path), TASK_SCHEMA) as write:
        for task in tasks:
            write(render_task(task))
            count += 1
    return count


def save_responses(path: str | Path, responses: Iterable[Response]) -> int:
    """Write responses; gives how many."""
    count = 0
    with open_rows(Path(path), RESPONSE_SCHEMA) as write:
        for response in responses:
            write(render_response(response))
            count += 1
    return count
