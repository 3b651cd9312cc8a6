"""A reply of the generator, read as a draft of dimensions without guessing.

What has one meaning is read: code fences, prose around the object, whole numbers written as text. What has not is a
`Fault` that says what is wrong in words for the generator, which is told of it and asked again. A reply that is cut
off is not read at all: its last dimensions are missing, and nobody knows what they said.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prorubric.llm.json_text import Pairs, find_roots
from prorubric.llm.model import Reply
from prorubric.rubric.record import shorten

_WHOLE = re.compile(r"\s*#?(\d{1,6})\s*")
_LIST_KEYS = ("criteria", "dimensions")
_INDEX_KEYS = ("atomic_indices", "indices")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a reply."""

    kind: str
    """A short name, for counting."""
    message: str
    """What is wrong, in words that the generator can act on."""


@dataclass(frozen=True, slots=True)
class DraftDimension:
    """A dimension as the generator wrote it."""

    name: str
    description: str
    indices: tuple[int, ...]
    weight: float | None = None
    """What the generator said it weighs; kept as information, never used."""
    unreadable: tuple[str, ...] = ()
    """Assignments that are no whole numbers."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The dimensions of one reply, checked for nothing but their form."""

    dimensions: tuple[DraftDimension, ...]
    notes: tuple[str, ...] = ()
    """What was read with leniency."""


def find_object(reply: Reply) -> dict[str, Any] | Fault:
    """The one JSON object of a reply, or what is wrong with it."""
    if not reply.text.strip():
        return Fault("empty reply", "The reply is empty.")
    roots = [_plain(root) for root in find_roots(reply.text, whole=True)]
    objects = [root for root in roots if isinstance(root, dict)]
    if not objects:
        if reply.finish == "length":
            return Fault("cut off", "The reply was cut off before the JSON object ended; write shorter descriptions.")
        return Fault("no object", "There is no complete JSON object on lines of its own in the reply.")
    if any(other != objects[0] for other in objects[1:]):
        return Fault("two objects", f"The reply holds {len(objects)} different JSON objects; give one.")
    return objects[0]


def parse_draft(reply: Reply) -> Draft | Fault:
    """The dimensions in a reply, or what keeps it from being read."""
    found = find_object(reply)
    if isinstance(found, Fault):
        return found
    rows = next((found[key] for key in _LIST_KEYS if key in found), None)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return Fault("no list", 'The object has no list of objects under "criteria".')
    dimensions = tuple(_read_dimension(row) for row in rows)
    as_text = any(isinstance(index, str) for row in rows for index in _list_indices(row))
    return Draft(dimensions, ("indices were written as text",) if as_text else ())


def _read_dimension(row: Mapping[str, Any]) -> DraftDimension:
    read = [(_read_index(value), value) for value in _list_indices(row)]
    weight = row.get("weight")
    return DraftDimension(
        name=_read_text(row.get("name")),
        description=_read_text(row.get("description")),
        indices=tuple(index for index, _ in read if index is not None),
        weight=float(weight) if isinstance(weight, int | float) and not isinstance(weight, bool) else None,
        unreadable=tuple(shorten(repr(value), 40) for index, value in read if index is None),
    )


def _list_indices(row: Mapping[str, Any]) -> list[Any]:
    value: Any = next((row[key] for key in _INDEX_KEYS if key in row), [])
    return value if isinstance(value, list) else [value]


def _read_index(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        match = _WHOLE.fullmatch(value)
        return int(match[1]) if match else None
    return value if isinstance(value, int) else None


def _read_text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _plain(value: Any) -> Any:
    """A parsed value with objects as dictionaries. A key that comes twice keeps its last value, as JSON readers do."""
    if isinstance(value, Pairs):
        return {key: _plain(inner) for key, inner in value}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
