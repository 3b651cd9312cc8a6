"""The shapes that criteria, tags and conversations take in real files, read into records.

Real files disagree on everything: lists inside JSON strings inside columns, tags as lists, structs or verifier
settings, points as numbers, tiers or a prefix of the text, weights per dimension and per criterion. A shape is read
here only where it has one meaning. What has none raises `RubricError` and becomes a reject. Whether a negative weight
means "true is bad" is not decided here: polarity belongs to the source.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, time
from typing import Any

from prorubric.errors import RubricError
from prorubric.rubric.files import parse_json, render_json
from prorubric.rubric.record import shorten
from prorubric.rubric.records import Criterion, Message, Rubric

TIER_WEIGHTS = {
    # Rubrics as Rewards names four tiers and gives these numbers.
    "essential": 1.0,
    "important": 0.7,
    "optional": 0.3,
    "pitfall": -0.9,
    # OpenRubrics names two and gives none: what the request states outright counts as essential, the rest as important.
    "hard rule": 1.0,
    "principle": 0.7,
}

_TEXT_KEYS = ("criterion", "description", "text", "rubric_item", "item", "requirement", "rubric", "title")
_WEIGHT_KEYS = ("weight", "points", "score", "max_points")
_TIER_KEYS = ("tier", "category", "importance", "importance_level", "level")
_PARTS_KEYS = ("criteria", "items", "rubrics", "rubric")

_POINTS_PREFIX = re.compile(
    r"^\s*points?\s*:\s*(?P<points>[+-]?\d+(?:\.\d+)?)\s*[,;]\s*(?:item|criterion)\s*:\s*", re.IGNORECASE
)
_TIER = rf"\[(?P<tier>{'|'.join(TIER_WEIGHTS)})\]"
# At either end of the text, where it is a mark; in the middle it belongs to the sentence.
_LEADING_TIER = re.compile(rf"^\s*(?:\d+[.)]\s*|[-*•]\s*)?{_TIER}[\s:]*", re.IGNORECASE)
_TRAILING_TIER = re.compile(rf"\s*{_TIER}[\s.]*$", re.IGNORECASE)
_CATEGORY_PREFIX = re.compile(
    r"^\s*(?P<tier>essential|important|optional|pitfall)(?:\s+criteri(?:on|a))?\s*:\s*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Item:
    """A criterion as a file has it, with its parts told apart."""

    text: str
    weight: float | None
    """The number the file gives, or None."""
    tier: str | None
    """The tier the file names, in lower case, or None."""
    tags: tuple[str, ...]


def unwrap_json(value: Any) -> Any:
    """A value that some files keep as JSON text, even twice over; text that is not JSON stays text."""
    for _ in range(3):
        if not isinstance(value, str) or not value.strip().startswith(("[", "{", '"')):
            break
        try:
            value = parse_json(value)
        except (ValueError, RecursionError):
            break
    return value


def read_object(value: Any) -> Mapping[str, Any]:
    """An object, or JSON text of one; empty where the file has anything else in its place."""
    value = unwrap_json(value)
    return value if isinstance(value, Mapping) else {}


def read_items(value: Any) -> Iterator[Item]:
    """The criteria of one prompt: a list of objects, texts or dimensions that hold criteria, or JSON text of it."""
    value = unwrap_json(value)
    if isinstance(value, Mapping):
        value = _entries(value)
    if not isinstance(value, list) or not value:
        raise RubricError(f"the rubric is not a list of criteria: {shorten(repr(value))}; give at least one in a list")
    for position, entry in enumerate(value, 1):
        yield from _read_entry(unwrap_json(entry), position)


def make_rubric(value: Any) -> Rubric:
    """Criteria whose sign means what ours means, negative a behaviour to avoid; tiers stand in for weights."""
    return Rubric(criteria=tuple(make_criterion(item, i) for i, item in enumerate(read_items(value), 1)))


def make_criterion(item: Item, position: int, default: float | None = None) -> Criterion:
    """One criterion; refused where the file gives neither a weight nor a tier, nor the source a default."""
    weight = item.weight if item.weight is not None else TIER_WEIGHTS.get(item.tier or "", default)
    if weight is None:
        raise RubricError(
            f"criterion {position} has no weight ({shorten(repr(item.text))}); give one of {', '.join(_WEIGHT_KEYS)}"
        )
    try:
        return Criterion(text=item.text, weight=weight, tags=item.tags)
    except RubricError as error:
        raise RubricError(f"criterion {position}: {error}") from None


def parse_messages(value: Any) -> tuple[Message, ...]:
    """A conversation: a list of messages, JSON text of one, or plain text as a single user message."""
    turns = unwrap_json(value)
    if isinstance(value, str) and not _is_conversation(turns):
        return (Message(role="user", content=value),)
    if not isinstance(turns, list) or not all(isinstance(turn, Mapping) for turn in turns):
        raise RubricError(f"the prompt is no conversation: {shorten(repr(turns))}; give text or a list of messages")
    return tuple(Message(role=turn.get("role"), content=_read_content(turn.get("content"))) for turn in turns)


def parse_tags(value: Any) -> tuple[str, ...]:
    """Tags as `key:value` or plain text, from a list, a struct, verifier settings, JSON text of those, or nothing."""
    value = unwrap_json(value)
    if isinstance(value, Mapping):
        return tuple(f"{key}:{_render_tag(part)}" for key, part in value.items() if not _is_empty(part))
    if isinstance(value, list):
        return tuple(_render_tag(part) for part in value if not _is_empty(part))
    return () if _is_empty(value) else (_render_tag(value),)


def make_meta(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What else a row says, without what is missing; dates, which parquet knows and JSON does not, as text."""
    return {key: _as_json(value) for key, value in fields.items() if value is not None}


def _read_entry(entry: Any, position: int) -> Iterator[Item]:
    if isinstance(entry, str):
        yield _split_text(entry, weight=None, tier=None, tags=())
        return
    if not isinstance(entry, Mapping):
        raise RubricError(
            f"criterion {position} is neither text nor an object: {shorten(repr(entry))}; give its text and weight"
        )
    parts = _find_parts(entry)
    if parts is None:
        yield _read_object(entry, position)
        return
    outer = _read_weight(entry, position)
    name = entry.get("name") or entry.get("dimension")
    for part in parts:
        for item in _read_entry(unwrap_json(part), position):
            weight = _multiply(outer, item, position)
            yield Item(item.text, weight, item.tier, (*item.tags, *([f"dimension:{name}"] if name else [])))


def _multiply(outer: float | None, item: Item, position: int) -> float | None:
    """Weight of the dimension times weight or tier of the criterion inside it; one of the two may be missing."""
    inner = item.weight if item.weight is not None else TIER_WEIGHTS.get(item.tier or "")
    if outer is None or inner is None:
        return outer if inner is None else inner
    if outer < 0 and inner < 0:
        raise RubricError(
            f"criterion {position}: dimension and criterion are both negative: {outer:g} × {inner:g}; keep one minus"
        )
    return outer * inner


def _find_parts(entry: Mapping[str, Any]) -> list[Any] | None:
    """The criteria that a dimension holds, or None for a criterion."""
    for key in _PARTS_KEYS:
        if key in entry:
            parts = unwrap_json(entry[key])
            if isinstance(parts, list) and parts:
                return parts
    return None


def _read_object(entry: Mapping[str, Any], position: int) -> Item:
    text = next((entry[key] for key in _TEXT_KEYS if isinstance(entry.get(key), str) and entry[key].strip()), None)
    if text is None:
        raise RubricError(f"criterion {position} has no text; expected one of {', '.join(_TEXT_KEYS[:4])}")
    named = (entry[key].strip().lower() for key in _TIER_KEYS if isinstance(entry.get(key), str))
    tier = next((name for name in named if name in TIER_WEIGHTS), None)
    tags = parse_tags(entry.get("tags"))
    if entry.get("title") and entry["title"] != text:
        tags = (*tags, f"title:{entry['title']}")
    if "verifier" in entry:
        tags = (*tags, *parse_tags({key: entry.get(key) for key in ("verifier", "function", "parameters")}))
    return _split_text(text, _read_weight(entry, position), tier, tags)


def _split_text(text: str, weight: float | None, tier: str | None, tags: tuple[str, ...]) -> Item:
    """Take weights and tiers that are written into the text out of it."""
    points = _POINTS_PREFIX.match(text)
    if points:
        weight, text = float(points["points"]) if weight is None else weight, text[points.end() :]
    found = _CATEGORY_PREFIX.match(text) or _LEADING_TIER.match(text)
    if not found and "[" in text:
        found = _TRAILING_TIER.search(text)
    if found:
        tier, text = found["tier"].lower(), text[: found.start()] + text[found.end() :]
    if tier:
        tags = (*tags, f"tier:{tier}")
    return Item(text.strip(), weight, tier, tags)


def _read_weight(entry: Mapping[str, Any], position: int) -> float | None:
    value = next((entry[key] for key in _WEIGHT_KEYS if entry.get(key) is not None and entry[key] != ""), None)
    if value is None:
        return None
    if isinstance(value, str) and value.strip().lower() in TIER_WEIGHTS:
        return TIER_WEIGHTS[value.strip().lower()]
    refusal = RubricError(
        f"criterion {position}: the weight is not a number: {shorten(repr(value))}; give a number other than 0"
    )
    if isinstance(value, bool):
        raise refusal
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise refusal from None


def _entries(value: Mapping[str, Any]) -> Any:
    """A rubric as an object: either it holds the list under one of the known names, or each key names a dimension."""
    parts = _find_parts(value)
    if parts is not None:
        return parts
    return [{"name": name, **part} if isinstance(part, Mapping) else part for name, part in value.items()]


def _is_conversation(turns: Any) -> bool:
    """True for messages; a text that merely looks like JSON, such as a list to be sorted, is a prompt."""
    return isinstance(turns, list) and bool(turns) and all(isinstance(t, Mapping) and "role" in t for t in turns)


def _read_content(content: Any) -> str:
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) < len(parts):
            raise RubricError("a message has parts that are not text; only text can be judged")
        return "\n".join(texts)
    if not isinstance(content, str):
        raise RubricError(f"the content of a message is not text: {shorten(repr(content))}; only text can be judged")
    return content


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", "{}", "[]", {}, [])


def _render_tag(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return render_json(value).decode()
    except (TypeError, ValueError):
        raise RubricError(f"a tag has no JSON form: {shorten(repr(value))}; give text") from None


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _as_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_as_json(inner) for inner in value]
    return value.isoformat() if isinstance(value, date | time) else value
