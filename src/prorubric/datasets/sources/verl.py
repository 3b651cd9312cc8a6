"""`verl`: parquet as verl trains on it, with the rubric inside `extra_info` (a list, or JSON text of one).

`extra_info` may also hold the dimensions as `protocol` and the task's name as `id` or `task_id`; what else it holds
is kept in `meta`.
"""

from collections.abc import Mapping
from typing import Any

from prorubric.datasets.ids import make_id
from prorubric.datasets.shapes import make_meta, make_rubric, parse_messages, read_object, unwrap_json
from prorubric.errors import RubricError
from prorubric.rubric.record import shorten
from prorubric.rubric.records import ProtocolRubric, Rubric, Task

NAME = "verl"

_RUBRIC_KEYS = ("rubric", "rubrics", "criteria")
_OWN_KEYS = {*_RUBRIC_KEYS, "protocol", "id", "task_id", "prompt", "reward_model"}


def fits(row: Mapping[str, Any]) -> bool:
    """A rubric inside `extra_info`."""
    extra = read_object(row.get("extra_info"))
    return any(extra.get(key) is not None for key in _RUBRIC_KEYS)


def parse(row: Mapping[str, Any]) -> Task:
    """One row."""
    extra = read_object(row.get("extra_info"))
    if not extra:
        raise RubricError("extra_info is missing; verl rows keep the rubric there")
    messages = parse_messages(row.get("prompt"))
    rubric = make_rubric(next((extra[key] for key in _RUBRIC_KEYS if extra.get(key) is not None), None))
    given = next((extra[key] for key in ("id", "task_id") if extra.get(key) is not None), None)
    return Task(
        id=str(given) if given is not None else make_id(messages, rubric),
        messages=messages,
        rubric=rubric,
        protocol=_read_protocol(rubric, extra.get("protocol")),
        domain=row.get("ability") or None,
        source=row.get("data_source") or NAME,
        reference=read_object(row.get("reward_model")).get("ground_truth") or None,
        meta=make_meta({key: value for key, value in extra.items() if key not in _OWN_KEYS}),
    )


def _read_protocol(rubric: Rubric, value: Any) -> ProtocolRubric | None:
    dimensions = unwrap_json(value)
    if not dimensions:
        return None
    if not isinstance(dimensions, list) or not all(isinstance(dimension, Mapping) for dimension in dimensions):
        raise RubricError(
            f"the protocol is not a list of dimensions: {shorten(repr(dimensions))}; "
            "give each a name, a description and indices"
        )
    return ProtocolRubric.of(rubric, dimensions)
