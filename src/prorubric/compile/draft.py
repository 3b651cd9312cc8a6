"""Read a generator's reply as a draft of dimensions, without guessing.

Code fences, prose around the object and numbers written as text have one meaning and are read. Anything else is a
`Fault` whose detail tells the generator what to correct when it is asked again. A reply that was cut off is not read:
its last dimensions are missing.
"""

import re
from collections.abc import Collection
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
    """What is wrong with a reply, or why a task or a text had to be left out."""

    kind: str
    """A short phrase, for counting."""
    detail: str = ""
    """What is wrong in this case; for a reply, in words that the generator can act on."""


_CUT_SHORT = {
    "length": Fault("cut off", "The reply was cut off before the JSON object ended; write shorter descriptions."),
    "content_filter": Fault("filtered", "The reply was filtered before the JSON object ended."),
}


@dataclass(frozen=True, slots=True)
class DraftDimension:
    """A dimension as the generator wrote it."""

    name: str
    description: str
    indices: tuple[int, ...]
    weight: float | None = None
    """What the generator said it weighs; kept as information, never used."""
    unreadable: tuple[str, ...] = ()
    """Assignments that are not whole numbers."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The dimensions of one reply; only their form has been checked."""

    dimensions: tuple[DraftDimension, ...]
    notes: tuple[str, ...] = ()
    """Where the reader was lenient."""

    @property
    def indices(self) -> list[int]:
        """Every assigned index, in the order of the dimensions."""
        return [index for dimension in self.dimensions for index in dimension.indices]


def find_object(reply: Reply, keys: Collection[str] = ()) -> dict[str, Any] | Fault:
    """The one JSON object of a reply, or what is wrong with it. Objects with one of the keys take precedence.

    Text after the object may be cut off; the object itself, or a second one, may not.
    """
    every, is_open = find_objects(reply.text)
    if is_open or not every:
        if reply.finish in _CUT_SHORT:
            return _CUT_SHORT[reply.finish]
        if not reply.text.strip():
            return Fault("empty reply", "The reply is empty.")
        return Fault("no object", "There is no complete JSON object in the reply.")
    chosen = [root for root in every if any(key in keys for key, _ in root)] or every
    try:
        objects: list[dict[str, Any]] = [_read_value(root) for root in chosen]
    except _UnclearError as unclear:
        return Fault(*unclear.args)
    if any(other != objects[0] for other in objects[1:]):
        return Fault("two objects", "The reply holds JSON objects that differ; give one.")
    return objects[0]


def make_object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with exactly these properties."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


class _UnclearError(Exception):
    """Raised with a kind and a detail."""


def _read_value(value: Any, depth: int = 0) -> Any:
    """A parsed value with objects as dictionaries; raises `_UnclearError` if that would lose or break something."""
    if depth > _DEEPEST:
        raise _UnclearError("too deep", "The JSON object has too many levels; keep to the form that was asked for.")
    if isinstance(value, str) and _HALF_PAIR.search(value):
        raise _UnclearError("broken text", "A text holds half of a character; write the character, not an escape.")
    if isinstance(value, Pairs):
        merged: dict[str, Any] = {}
        for key, inner in value:
            name, found = _read_value(key), _read_value(inner, depth + 1)
            if name in merged and merged[name] != found:
                raise _UnclearError("key twice", f"The key {shorten(repr(name))} has two values; give it one.")
            merged[name] = found
        return merged
    return [_read_value(inner, depth + 1) for inner in value] if isinstance(value, list) else value


def parse_draft(reply: Reply) -> Draft | Fault:
    """The dimensions in a reply, or why it cannot be read."""
    found = _read_plain(reply.text) or find_object(reply, _LIST_KEYS)
    if isinstance(found, Fault):
        return found
    rows = next((found[key] for key in _LIST_KEYS if key in found), None)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return Fault("no list", 'The object has no list of objects under "criteria".')
    dimensions, as_text = [], False
    for row in rows:
        assigned: Any = next((row[key] for key in _INDEX_KEYS if key in row), [])
        values = assigned if isinstance(assigned, list) else [assigned]
        read = [(value, read_index(value)) for value in values]
        as_text = as_text or any(isinstance(value, str) for value in values)
        name, description = row.get("name"), row.get("description")
        dimensions.append(
            DraftDimension(
                name=name.strip() if isinstance(name, str) else "",
                description=description.strip() if isinstance(description, str) else "",
                indices=tuple(index for _, index in read if index is not None),
                weight=_read_weight(row.get("weight")),
                unreadable=tuple(shorten(repr(value), 40) for value, index in read if index is None),
            )
        )
    return Draft(tuple(dimensions), ("indices were written as text",) if as_text else ())


def _read_plain(text: str) -> dict[str, Any] | None:
    """The reply that most models give, read fast: one object with its list of objects and nothing around it."""
    try:
        found = orjson.loads(text)
        rows = found["criteria"]
        values = sum(map(len, rows))
    except (ValueError, TypeError, KeyError):
        return None
    # As many colons after quotation marks as keys: no key came twice, which the fast reader would not notice. As many
    # opening brackets as the list, its objects and one list in each: nothing is nested deeper. If a text contains such
    # characters too, the careful reader finds the same.
    once = len(found) == 1 and text.count('":') == 1 + values and not _SPACE_BEFORE_COLON.search(text)
    flat = text.count("{") == text.count("[") == 1 + len(rows)
    return found if once and flat else None


def read_index(value: Any) -> int | None:
    """A whole number, also one written as text."""
    if isinstance(value, str):
        match = _WHOLE.fullmatch(value)
        return int(match[1]) if match else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and abs(value) <= _LARGEST_INDEX and value == int(value) else None


def _read_weight(value: Any) -> float | None:
    try:
        weight = None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return weight if weight is not None and isfinite(weight) else None
