"""`verl`: parquet as verl trains on it, with the rubric inside `extra_info` (a list, or JSON text of one).

`extra_info` may also hold the dimensions as `protocol` and the task's name as `id` or `task_id`; what else it holds
is kept in `meta`.
"""

from collections.abc import Mapping
from typing import Any

from prorubric.datasets.ids import make_id
from prorubric.datasets.shapes import make_rubric, parse_messages, unwrap_json
from prorubric.errors import RubricError
from prorubric.rubric.records import ProtocolRubric, Task

NAME = "verl"

_RUBRIC_KEYS = ("rubric", "rubrics", "criteria")
_OWN_KEYS = {*_RUBRIC_KEYS, "protocol", "id", "task_id", "prompt", "reward_model"}


def fits(row: Mapping[str, Any]) -> bool:
    """A rubric inside `extra_info`."""
    extra = unwrap_json(row.get("extra_info"))
    return isinstance(extra, Mapping) and any(extra.get(key) is not None for key in _RUBRIC_KEYS)


def parse(row: Mapping[str, Any]) -> Task:
    """One row."""
    extra = unwrap_json(row.get("extra_info"))
    if not isinstance(extra, Mapping):
        raise RubricError("extra_info is missing; verl rows keep the rubric there")
    messages = parse_messages(row.get("prompt"))
    rubric = make_rubric(next((extra[key] for key in _RUBRIC_KEYS if extra.get(key) is not None), None))
    dimensions = unwrap_json(extra.get("protocol"))
    reward_model = unwrap_json(row.get("reward_model"))
    reference = reward_model.get("ground_truth") if isinstance(reward_model, Mapping) else None
    given = next((extra[key] for key in ("id", "task_id") if extra.get(key) is not None), None)
    return Task(
        id=str(given) if given is not None else make_id(messages, rubric),
        messages=messages,
        rubric=rubric,
        protocol=ProtocolRubric.of(rubric, dimensions) if dimensions else None,
        domain=row.get("ability") or None,
        source=row.get("data_source") or NAME,
        reference=reference or None,
        meta={key: value for key, value in extra.items() if key not in _OWN_KEYS and value is not None},
    )
