"""A reply of the generator, read as a draft of dimensions without guessing.

What has one meaning is read: code fences, prose around the object, numbers written as text. What has not is a
`Fault` that says what is wrong in words for the generator, which is told of it and asked again. A reply that is cut
off is not read at all: its last dimensions are missing, and nobody knows what they said.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import orjson

from prorubric.llm.json_text import Pairs, find_objects
from prorubric.llm.model import Reply
from prorubric.text.show import shorten

_WHOLE = re.compile(r"\s*#?(\d{1,6})\s*")
_LIST_KEYS = ("criteria", "dimensions")
_INDEX_KEYS = ("atomic_indices", "indices")
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_SPACE_BEFORE_COLON = re.compile(r'"\s+:')
_DEEPEST = 8
_LARGEST_INDEX = 999_999


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


def find_object(reply: Reply, keys: Collection[str] = ()) -> dict[str, Any] | Fault:
    """The one JSON object of a reply, or what is wrong with it; those that have one of the keys go before others.

    What a reply says after its object may be cut off; an object may not, and neither may a second one.
    """
    every, is_open = find_objects(reply.text)
    if is_open or not every:
        return _explain_lack(reply)
    found = [root for root in every if any(key in keys for key, _ in root)] or every
    try:
        objects: list[dict[str, Any]] = [_plain(root) for root in found]
    except _UnclearError as unclear:
        return unclear.fault
    if any(other != objects[0] for other in objects[1:]):
        return Fault("two objects", "The reply holds JSON objects that differ; give one.")
    return objects[0]


def _explain_lack(reply: Reply) -> Fault:
    """Why a reply has no whole object, as far as its end tells."""
    if reply.finish == "length":
        return Fault("cut off", "The reply was cut off before the JSON object ended; write shorter descriptions.")
    if reply.finish == "content_filter":
        return Fault("filtered", "The reply was filtered before the JSON object ended.")
    if not reply.text.strip():
        return Fault("empty reply", "The reply is empty.")
    return Fault("no object", "There is no complete JSON object in the reply.")


def _read_plain(reply: Reply) -> dict[str, Any] | None:
    """The reply that most models give, read fast: one object with its list of objects and nothing around it."""
    text = reply.text
    try:
        found = orjson.loads(text)
        rows = found["criteria"]
        values = sum(map(len, rows))
    except (ValueError, TypeError, KeyError):
        return None
    # As many colons behind quotation marks as keys: none came twice, which the fast reader would not tell. As many
    # opening marks as the list, its objects and one list in each: nothing lies deeper. Where these stand in a text as
    # well, the careful reader finds the same.
    once = len(found) == 1 and text.count('":') == 1 + values and not _SPACE_BEFORE_COLON.search(text)
    flat = text.count("{") == text.count("[") == 1 + len(rows)
    return found if once and flat else None


def parse_draft(reply: Reply) -> Draft | Fault:
    """The dimensions in a reply, or what keeps it from being read."""
    found = _read_plain(reply) or find_object(reply, _LIST_KEYS)
    if isinstance(found, Fault):
        return found
    rows = next((found[key] for key in _LIST_KEYS if key in found), None)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return Fault("no list", 'The object has no list of objects under "criteria".')
    assigned = [_list_indices(row) for row in rows]
    dimensions = tuple(map(_read_dimension, rows, assigned))
    as_text = any(isinstance(value, str) for values in assigned for value in values)
    return Draft(dimensions, ("indices were written as text",) if as_text else ())


def _read_dimension(row: Mapping[str, Any], assigned: Sequence[Any]) -> DraftDimension:
    indices = [*map(_read_index, assigned)]
    unreadable = [value for value, index in zip(assigned, indices, strict=True) if index is None]
    return DraftDimension(
        name=_read_text(row.get("name")),
        description=_read_text(row.get("description")),
        indices=tuple(index for index in indices if index is not None),
        weight=_read_weight(row.get("weight")),
        unreadable=tuple(shorten(repr(value), 40) for value in unreadable),
    )


def _list_indices(row: Mapping[str, Any]) -> list[Any]:
    value: Any = next((row[key] for key in _INDEX_KEYS if key in row), [])
    return value if isinstance(value, list) else [value]


def _read_index(value: Any) -> int | None:
    if type(value) is int and 0 <= value <= _LARGEST_INDEX:
        return value
    if isinstance(value, str):
        match = _WHOLE.fullmatch(value)
        return int(match[1]) if match else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST_INDEX:
        return None
    return int(value) if value == int(value) else None


def _read_text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _read_weight(value: Any) -> float | None:
    try:
        weight = None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return weight if weight is not None and isfinite(weight) else None


class _UnclearError(Exception):
    """An object without one meaning."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def _plain(value: Any, depth: int = 0) -> Any:
    """A parsed value with objects as dictionaries; raises `_UnclearError` where that would lose or break something."""
    if depth > _DEEPEST:
        raise _UnclearError(
            Fault("too deep", "The JSON object has too many levels; keep to the form that was asked for.")
        )
    if isinstance(value, str) and _HALF_PAIR.search(value):
        raise _UnclearError(
            Fault("broken text", "A text holds half of a character; write the character, not an escape.")
        )
    if isinstance(value, Pairs):
        return _merge([(_plain(key), _plain(inner, depth + 1)) for key, inner in value])
    return [_plain(inner, depth + 1) for inner in value] if isinstance(value, list) else value


def _merge(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for key, value in pairs:
        if key in merged and merged[key] != value:
            raise _UnclearError(Fault("key twice", f"The key {shorten(repr(key))} has two values; give it one."))
        merged[key] = value
    return merged
