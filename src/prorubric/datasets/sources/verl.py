"""`verl`: parquet as verl trains on it, with the rubric inside `extra_info` (a list, or JSON text of one).

`extra_info` may also hold the dimensions as `protocol` and the task's name as `id` or `task_id`; the rest is kept in
`meta`. Rows that we write have the whole task there, lists as JSON text, because verl's reward functions see nothing
else of a row; they come back exactly. `data_source` and `ability` are there for verl and are not read back.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pydantic import JsonValue

from prorubric.datasets.carry import MESSAGES_TYPE, OWN_KEY, check_row, parse_json_text, parse_object, render_json_text
from prorubric.datasets.ids import make_id
from prorubric.datasets.shapes import make_meta, make_rubric, parse_messages, parse_protocol, read_object
from prorubric.errors import RubricError
from prorubric.rubric.forms import parse_task, render_task
from prorubric.rubric.records import Task

NAME = "verl"

_RUBRIC_KEYS = ("rubric", "rubrics", "criteria")
_KNOWN_KEYS = {*_RUBRIC_KEYS, "protocol", "id", "task_id", "prompt", "reward_model"}
_CARRIED_KEYS = ("id", "messages", "rubric", "protocol", "reference", "meta", OWN_KEY)
USED = frozenset(("data_source", "prompt", "ability", "reward_model", "extra_info"))

SCHEMA = pa.schema(
    {
        "data_source": pa.string(),
        "prompt": MESSAGES_TYPE,
        "ability": pa.string(),
        "reward_model": pa.struct({"style": pa.string(), "ground_truth": pa.string()}),
        "extra_info": pa.struct(dict.fromkeys(_CARRIED_KEYS, pa.string())),
    }
)


def fits(row: Mapping[str, Any]) -> bool:
    """A rubric inside `extra_info`."""
    extra = read_object(row.get("extra_info"))
    return any(extra.get(key) is not None for key in _RUBRIC_KEYS)


def parse(row: Mapping[str, Any]) -> Task:
    """One row."""
    extra = read_object(row.get("extra_info"))
    if not extra:
        raise RubricError("extra_info is missing", remedy="verl rows keep the rubric there")
    reference = read_object(row.get("reward_model")).get("ground_truth")
    if extra.get(OWN_KEY) is not None:
        task = parse_extra_info(extra)
        check_row(task, row.get("prompt"), "the ground truth", reference)
        others = make_meta({key: value for key, value in extra.items() if key not in _CARRIED_KEYS})
        if twice := sorted(others.keys() & task.meta.keys()):
            raise RubricError("a key is both in extra_info and in its meta", repr(twice[0]), remedy="keep one")
        return Task(**{**dict(task), "meta": {**task.meta, **others}}) if others else task
    messages = parse_messages(row.get("prompt"))
    rubric = make_rubric(next((extra[key] for key in _RUBRIC_KEYS if extra.get(key) is not None), None))
    given = next((extra[key] for key in ("id", "task_id") if extra.get(key) is not None), None)
    return Task(
        id=str(given) if given is not None else make_id(messages, rubric),
        messages=messages,
        rubric=rubric,
        protocol=parse_protocol(rubric, extra.get("protocol")),
        domain=row.get("ability") or None,
        source=row.get("data_source") or NAME,
        reference=reference or None,
        meta=make_meta({key: value for key, value in extra.items() if key not in _KNOWN_KEYS}),
    )


def render(task: Task) -> dict[str, JsonValue]:
    """The task as one row."""
    row = render_task(task)
    return {
        "data_source": task.source or "prorubric",
        "prompt": row["messages"],
        "ability": task.domain,
        "reward_model": {"style": "rubric", "ground_truth": task.id},
        "extra_info": {
            "id": task.id,
            "messages": render_json_text(row["messages"]),
            "rubric": render_json_text(row["rubric"]),
            "protocol": render_json_text(row["protocol"]) if task.protocol else None,
            "reference": task.reference,
            "meta": render_json_text(task.meta),
            OWN_KEY: render_json_text({"domain": task.domain, "source": task.source}),
        },
    }


def parse_extra_info(extra: Mapping[str, Any]) -> Task:
    """The task that `extra_info` carries in rows that we wrote. What trainers add to it is left alone."""
    rest = parse_object(extra.get(OWN_KEY), OWN_KEY)
    lists = {key: parse_json_text(extra.get(key), key) for key in ("messages", "rubric", "protocol")}
    texts = {key: extra.get(key) for key in ("id", "reference", "meta")}
    return parse_task({**lists, **texts, "domain": rest.get("domain"), "source": rest.get("source")})
