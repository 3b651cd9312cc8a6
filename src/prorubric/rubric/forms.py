"""Tasks and responses as rows of a file, and tasks back: `parse_task(render_task(task)) == task`.

A task has `id`, `messages`, `rubric` and, if present, `protocol`, `domain`, `source`, `reference`, `meta`. A key
that is not known is refused, since a misspelt `protocol` would otherwise be lost silently. Weights of dimensions
are written for readers and derived again when read.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from prorubric.errors import RubricError
from prorubric.files.json import parse_json
from prorubric.rubric.records import Criterion, Message, ProtocolRubric, Response, Rubric, Task
from prorubric.rubric.transcript import render_transcript
from prorubric.text.show import show

TASK_KEYS = ("id", "messages", "domain", "source", "rubric", "protocol", "reference", "meta")
CRITERION_KEYS = ("criterion", "weight", "tags", "check")
_DIMENSION_KEYS = ("name", "description", "indices", "weight")
_MESSAGE_KEYS = ("role", "content")


def parse_task(row: Mapping[str, Any]) -> Task:
    """A row in our own form as a task; raises `RubricError` with the place inside the row."""
    _check_keys(row, TASK_KEYS, "task")
    criteria = []
    for position, item in enumerate(_items(row, "rubric", CRITERION_KEYS, "criterion"), 1):
        tags = item["tags"] if item.get("tags") is not None else ()
        try:
            check = _parse_object(item.get("check"), "check")
            criteria.append(Criterion(text=item.get("criterion"), weight=item.get("weight"), tags=tags, check=check))
        except RubricError as error:
            raise error.at(f"criterion {position}") from None
    rubric = Rubric(criteria=tuple(criteria))
    protocol = None
    if row.get("protocol") is not None:
        protocol = ProtocolRubric.of(rubric, _items(row, "protocol", _DIMENSION_KEYS, "dimension"))
    turns = _items(row, "messages", _MESSAGE_KEYS, "message")
    messages = tuple(Message(role=turn.get("role"), content=turn.get("content")) for turn in turns)
    texts = {key: row.get(key) for key in ("id", "domain", "source", "reference")}
    return Task(
        **texts, messages=messages, rubric=rubric, protocol=protocol, meta=_parse_object(row.get("meta"), "meta") or {}
    )


def render_task(task: Task) -> dict[str, JsonValue]:
    """The task as a row in our own form; what is absent is left out."""
    row: dict[str, JsonValue] = {
        "id": task.id,
        "messages": [{"role": message.role, "content": message.content} for message in task.messages],
        "domain": task.domain,
        "source": task.source,
        "rubric": [
            {
                "criterion": criterion.text,
                "weight": _render_weight(criterion.weight),
                "tags": list(criterion.tags),
                **({"check": criterion.check.rules} if criterion.check else {}),
            }
            for criterion in task.rubric.criteria
        ],
        "reference": task.reference,
        "meta": dict(task.meta) or None,
    }
    if task.protocol:
        row["protocol"] = [
            {**dict(dimension), "indices": list(dimension.indices), "weight": _render_weight(dimension.weight)}
            for dimension in task.protocol.dimensions
        ]
    return {key: row[key] for key in TASK_KEYS if row.get(key) is not None}


def render_response(response: Response) -> dict[str, JsonValue]:
    """The response as a row in our own form."""
    row: dict[str, JsonValue] = {
        "task_id": response.task_id,
        "response": response.text if response.messages is None else None,
        "messages": None if response.messages is None else render_transcript(response.messages),
        "sample": response.sample,
        "model": response.model,
        "tokens": response.tokens,
        "meta": dict(response.meta) or None,
    }
    return {key: value for key, value in row.items() if value is not None}


def _parse_object(value: object, name: str) -> dict[str, Any] | None:
    """Meta and checks are objects, in parquet JSON text of one, or absent."""
    if value is None or value == "":
        return None
    try:
        parsed = parse_json(value) if isinstance(value, str) else value
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise RubricError(f"{name} is not an object", show(value), remedy="give a JSON object or leave it out")
    return parsed


def _items(row: Mapping[str, Any], key: str, allowed: tuple[str, ...], name: str) -> list[Mapping[str, Any]]:
    """A list of objects with known keys."""
    value = row.get(key)
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise RubricError(f"{key} is not a list of objects", show(value), remedy="give one")
    for position, item in enumerate(value, 1):
        _check_keys(item, allowed, f"{name} {position}")
    return value


def _check_keys(row: Mapping[str, Any], allowed: tuple[str, ...], place: str) -> None:
    unknown = [key for key in row if key not in allowed]
    if unknown:
        raise RubricError("unknown key", repr(unknown[0]), remedy=f"allowed: {', '.join(allowed)}", place=place)


def _render_weight(weight: float) -> float:
    """Whole numbers as whole numbers: people read these files."""
    return int(weight) if weight.is_integer() and abs(weight) < 2**53 else weight
