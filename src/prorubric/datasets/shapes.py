"""The shapes that criteria, tags and conversations take in real files, read into records.

A shape is read here only where it has one meaning. Anything else raises `RubricError` and becomes a reject. Whether a
negative weight means "true is bad" is not decided here: polarity belongs to the source.
"""

import json
import math
import re
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, time
from difflib import get_close_matches
from types import NoneType
from typing import Any

from prorubric.errors import RubricError
from prorubric.files.json import parse_json, render_json
from prorubric.rubric.records import Criterion, Message, ProtocolRubric, Rubric
from prorubric.text.show import show

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

TEXT_KEYS = ("criterion", "description", "text", "rubric_item", "item", "requirement", "rubric", "criteria", "title")
# Not `score`: that is what an answer got.
WEIGHT_KEYS = ("weight", "points", "max_points")
TIER_KEYS = ("tier", "category", "importance", "importance_level", "level")
DETAIL_KEYS = ("explanation", "details")
LEVEL_KEYS = ("levels", "level_descriptions")
_GOOD = ("is_positive", "positive")
_BAD = ("is_negative", "negative", "is_pitfall", "pitfall")
_NOTHING_ELSE = ("polarity", "is_positive", "is_negative")
"""Flags whose names can mean nothing else; the others may be texts."""
SIGN_KEYS = ("polarity", *_GOOD, *_BAD)
"""Flags that say whether a criterion describes something good or something bad."""
_YES_NO = {"true": True, "yes": True, "1": True, "1.0": True, "false": False, "no": False, "0": False, "0.0": False}
_PARTS_KEYS = ("criteria", "items", "rubrics", "rubric")

_NO_NUMBERS = frozenset((*TEXT_KEYS, *DETAIL_KEYS, *SIGN_KEYS))

_POINTS_PREFIX = re.compile(
    r"^\s*points?\s*:\s*(?P<points>[+-]?\d+(?:\.\d+)?)\s*[,;]\s*(?:item|criterion)\s*:\s*", re.IGNORECASE
)
_TIER = rf"\[(?P<tier>{'|'.join(TIER_WEIGHTS)})\]"
# Only at either end of the text; in the middle it belongs to the sentence.
_LEADING_TIER = re.compile(rf"^\s*(?:\d+[.)]\s*|[-*•]\s*)?{_TIER}[\s:]*", re.IGNORECASE)
_TRAILING_TIER = re.compile(rf"\s*{_TIER}[\s.]*$", re.IGNORECASE)
CATEGORY_PREFIX = re.compile(
    r"^\s*(?P<tier>essential|important|optional|pitfall)(?:\s+criteri(?:on|a))?\s*:\s*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class RawCriterion:
    """A criterion as a file has it, with its parts told apart."""

    text: str
    weight: float | None
    tier: str | None
    """In lower case."""
    tags: tuple[str, ...]
    check: Any = None
    """The rules of its check, if it has one."""
    is_good: bool | None = None
    """What a flag says about it, if it has one."""


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
    """An object, or JSON text of one; empty if the file has anything else there."""
    value = unwrap_json(value)
    return value if isinstance(value, Mapping) else {}


def read_first(value: Any) -> Mapping[str, Any]:
    """The first criterion of a list, or of JSON text of one, if it is an object; it tells formats apart."""
    value = unwrap_json(value)
    return value[0] if isinstance(value, list) and value and isinstance(value[0], Mapping) else {}


def find_keys(row: Mapping[str, Any], fields: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The key of a row that holds each field: of the names that a field may have, the first with a value."""
    spelt = {key.strip().lower(): key for key, value in row.items() if value is not None and isinstance(key, str)}
    return {field: spelt[name] for field, names in fields.items() for name in reversed(names) if name in spelt}


def parse_id(value: Any) -> str:
    """A name given as text or as a whole number, which some tools write as 7.0."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RubricError("the id is not a name", show(value), remedy="give text or a whole number")
    return str(value)


def read_items(value: Any) -> Iterator[RawCriterion]:
    """The criteria of one prompt: a list of objects, texts or dimensions that hold criteria, or JSON text of it."""
    value = list_entries(value)
    if not isinstance(value, list) or not value:
        raise RubricError("the rubric is not a list of criteria", show(value), remedy="give at least one in a list")
    for position, entry in enumerate(value, 1):
        try:
            yield from _read_entry(unwrap_json(entry))
        except RubricError as error:
            raise error.at(f"criterion {position}") from None


def list_entries(value: Any) -> Any:
    """A rubric as a list; an object has it under a known name, or gives weights by text, or dimensions by name."""
    value = unwrap_json(value)
    if not isinstance(value, Mapping):
        return value
    if parts := _find_parts(value):
        return parts
    if all(isinstance(part, int | float) for part in value.values()):
        return [{"criterion": text, "weight": weight} for text, weight in value.items()]
    return [{"name": name, **part} if isinstance(part, Mapping) else part for name, part in value.items()]


def find_numbers(entries: Any) -> Iterator[tuple[str, float]]:
    """Every field of criteria, and of dimensions that hold some, whose value is a number or text of one."""
    for entry in map(unwrap_json, entries if isinstance(entries, list) else ()):
        if isinstance(entry, Mapping):
            for key, value in entry.items():
                if isinstance(value, int | float | str) and not isinstance(value, bool) and key not in _NO_NUMBERS:
                    with suppress(ValueError, OverflowError):
                        yield str(key), float(value)
            yield from find_numbers(_find_parts(entry))


def make_rubric(value: Any) -> Rubric:
    """Criteria whose sign means what ours means, negative a behaviour to avoid; tiers become weights."""
    return Rubric(criteria=tuple(make_criterion(item, i) for i, item in enumerate(read_items(value), 1)))


def make_criterion(item: RawCriterion, position: int, default: float | None = None) -> Criterion:
    """One criterion; refused if it has neither a weight nor a tier and the source has no default."""
    weight = item.weight if item.weight is not None else TIER_WEIGHTS.get(item.tier or "", default)
    place = f"criterion {position}"
    if weight is None:
        remedy = f"give one of {', '.join(WEIGHT_KEYS)}"
        raise RubricError("the weight is missing", show(item.text), remedy=remedy, place=place)
    if item.is_good and weight < 0:
        found = f"{weight:g} for {show(item.text)}"
        raise RubricError("a flag says good and the weight says bad", found, remedy="correct one of them", place=place)
    weight = -abs(weight) if item.is_good is False else weight
    try:
        return Criterion(text=item.text, weight=weight, tags=item.tags, check=item.check)
    except RubricError as error:
        raise error.at(place) from None


def parse_messages(value: Any) -> tuple[Message, ...]:
    """A conversation: a list of messages, JSON text of one, or plain text as a single user message."""
    turns = unwrap_json(value)
    are_objects = isinstance(turns, list) and all(isinstance(turn, Mapping) for turn in turns)
    # A text that merely looks like JSON, such as a list to be sorted, is a prompt.
    if isinstance(value, str) and not (turns and are_objects and all("role" in turn for turn in turns)):
        return (Message(role="user", content=value),)
    if not are_objects:
        raise RubricError("the prompt is not a conversation", show(turns), remedy="give text or a list of messages")
    messages = []
    for turn in turns:
        content = turn.get("content")
        if isinstance(content, list):
            parts: list[Any] = [part.get("text") if isinstance(part, Mapping) else part for part in content]
            if not all(isinstance(part, str) for part in parts):
                raise RubricError("a message has parts that are not text", remedy="only text can be judged")
            content = "\n".join(parts)
        elif not isinstance(content, str):
            raise RubricError("the content of a message is not text", show(content), remedy="only text can be judged")
        messages.append(Message(role=turn.get("role"), content=content))
    return tuple(messages)


def parse_protocol(rubric: Rubric, value: Any) -> ProtocolRubric | None:
    """Dimensions as a list of objects or JSON text of one, or nothing."""
    dimensions = unwrap_json(value)
    if not dimensions:
        return None
    if not isinstance(dimensions, list) or not all(isinstance(dimension, Mapping) for dimension in dimensions):
        remedy = "give each a name, a description and indices"
        raise RubricError("the protocol is not a list of dimensions", show(dimensions), remedy=remedy)
    return ProtocolRubric.of(rubric, dimensions)


def parse_tags(value: Any) -> tuple[str, ...]:
    """Tags as `key:value` or plain text, from a list, a struct, verifier settings, JSON text of those, or nothing."""
    value = unwrap_json(value)
    if isinstance(value, Mapping):
        return tuple(f"{key}:{_render_tag(part)}" for key, part in value.items() if not _is_empty(part))
    parts = value if isinstance(value, list) else [value]
    return tuple(_render_tag(part) for part in parts if not _is_empty(part))


def make_meta(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The other fields of a row, without nulls; values that JSON does not have, such as dates and NaN, as text."""
    return {key: _as_json(value) for key, value in fields.items() if value is not None}


def keep_rest(row: Mapping[str, Any], used: Container[str], meta_key: str | None = None) -> dict[str, Any]:
    """The fields that no record holds, together with the row's own meta."""
    own = read_object(row[meta_key]) if meta_key else {}
    kept = make_meta({k: v for k, v in row.items() if k not in used and not (k == meta_key and (own or not v))})
    twice = sorted(kept.keys() & own.keys())
    if twice:
        raise RubricError(f"a key is both in the row and in its {meta_key}", repr(twice[0]), remedy="keep one")
    return {**own, **kept}


def tag_rest(entry: Any, inherited: tuple[str, ...] = ()) -> Any:
    """A criterion, or a dimension that holds some, with every field that is not read from it among its tags."""
    entry = {"criterion": entry} if isinstance(entry, str) and inherited else unwrap_json(entry)
    if not isinstance(entry, Mapping):
        return entry
    given, entry = entry, {str(key).strip().lower(): value for key, value in entry.items()}
    parts = next((key for key in _PARTS_KEYS if isinstance(unwrap_json(entry.get(key)), list)), None)
    tiers = (key for key in TIER_KEYS if str(entry.get(key)).strip().lower() in TIER_WEIGHTS)
    weights = [key for key in WEIGHT_KEYS if entry.get(key) not in (None, "")]
    if len(weights) > 1:
        found = " and ".join(weights[:2])
        raise RubricError("a criterion has two weights", found, remedy="keep the one that is its weight")
    texts = [key for key in TEXT_KEYS if isinstance(entry.get(key), str) and entry[key].strip()]
    if not parts and not texts:
        return given
    described = [*_find_details(entry), *(key for key in LEVEL_KEYS if _read_levels(entry.get(key)))]
    flags = (*_NOTHING_ELSE, *_find_flags(entry))
    used = {*weights, *(("name", "dimension", parts) if parts else (texts[0], next(tiers, None), *described, *flags))}
    used |= {"check"} if not parts and _read_check(entry) else set()
    rest = {key: value for key, value in entry.items() if key not in used | {"tags", "title"}}
    for key in rest:
        if key not in WEIGHT_KEYS and get_close_matches(key, WEIGHT_KEYS, cutoff=0.8):
            remedy = "call it weight, or give it a name that is not so close to it"
            raise RubricError("a criterion has a key that looks like a misspelt weight", repr(key), remedy=remedy)
    tags = (*parse_tags(entry.get("tags")), *parse_tags(make_meta(rest)), *inherited)
    if parts:
        return {**entry, parts: [tag_rest(part, tags) for part in unwrap_json(entry[parts])]}
    return {**{key: value for key, value in entry.items() if key not in rest}, "tags": list(tags)}


def split_text(text: str, weight: float | None, tier: str | None, tags: tuple[str, ...]) -> RawCriterion:
    """Take weights and tiers that are written into the text out of it."""
    points = _POINTS_PREFIX.match(text)
    if points:
        weight, text = float(points["points"]) if weight is None else weight, text[points.end() :]
    found = CATEGORY_PREFIX.match(text) or _LEADING_TIER.match(text)
    if not found and "[" in text:
        found = _TRAILING_TIER.search(text)
    if found:
        tier, text = found["tier"].lower(), text[: found.start()] + text[found.end() :]
    if tier:
        tags = (*tags, f"tier:{tier}")
    return RawCriterion(text.strip(), weight, tier, tags)


def _read_entry(entry: Any) -> Iterator[RawCriterion]:
    """One criterion, or those of a dimension, each with the dimension's name and weight."""
    if isinstance(entry, str):
        yield split_text(entry, weight=None, tier=None, tags=())
        return
    if not isinstance(entry, Mapping):
        raise RubricError("the criterion is neither text nor an object", show(entry), remedy="give its text and weight")
    parts = _find_parts(entry)
    if parts is None:
        yield _read_object(entry)
        return
    outer = _read_weight(entry)
    name = entry.get("name") or entry.get("dimension")
    for item in (item for part in parts for item in _read_entry(unwrap_json(part))):
        # The weight of the dimension times that of the criterion inside it; one of the two may be missing.
        inner = item.weight if item.weight is not None else TIER_WEIGHTS.get(item.tier or "")
        if outer is None or inner is None:
            weight = outer if inner is None else inner
        elif outer < 0 and inner < 0:
            found = f"{outer:g} × {inner:g}"
            raise RubricError("dimension and criterion are both negative", found, remedy="keep one minus")
        else:
            weight = outer * inner
        yield replace(item, weight=weight, tags=(*item.tags, *([f"dimension:{name}"] if name else [])))


def _find_parts(entry: Mapping[str, Any]) -> list[Any] | None:
    """The criteria that a dimension holds, or None for a criterion."""
    found = (unwrap_json(entry.get(key)) for key in _PARTS_KEYS)
    return next((parts for parts in found if isinstance(parts, list) and parts), None)


def _read_object(entry: Mapping[str, Any]) -> RawCriterion:
    text = next((entry[key] for key in TEXT_KEYS if isinstance(entry.get(key), str) and entry[key].strip()), None)
    if text is None:
        keys = f"its keys: {', '.join(map(str, entry))}" if entry else "it is empty"
        hint = "; in yaml, quote a text that contains a colon" if len(entry) == 1 else ""
        raise RubricError("the text is missing", keys, remedy=f"call it criterion, text or description{hint}")
    named = (entry[key].strip().lower() for key in TIER_KEYS if isinstance(entry.get(key), str))
    tier = next((name for name in named if name in TIER_WEIGHTS), None)
    tags = parse_tags(entry.get("tags"))
    if entry.get("title") and entry["title"] != text:
        tags = (*tags, f"title:{entry['title']}")
    if "verifier" in entry:
        tags = (*tags, *parse_tags({key: entry.get(key) for key in ("verifier", "function", "parameters")}))
    item = split_text(text, _read_weight(entry), tier, tags)
    details = _find_details(entry).values()
    described = [": ".join([item.text.rstrip(":"), *details])] if details else [item.text]
    if levels := next((found for key in LEVEL_KEYS if (found := _read_levels(entry.get(key)))), None):
        described.append(f"Holds if the answer reaches this level: {levels[find_highest(levels)]}")
        item = replace(item, tags=(*item.tags, *parse_tags({"levels": levels})))
    flags = _find_flags(entry)
    if len(set(flags.values())) > 1:
        raise RubricError("the flags contradict each other", " and ".join(flags), remedy="keep one of them")
    for key in _NOTHING_ELSE:
        if key not in flags and entry.get(key) not in (None, ""):
            allowed = "positive or negative" if key == "polarity" else "true or false"
            raise RubricError(f"{key} cannot be read", show(entry[key]), remedy=f"give {allowed}")
    is_good = next(iter(flags.values()), None)
    return replace(item, text="\n".join(described), check=_read_check(entry), is_good=is_good)


def _find_details(entry: Mapping[str, Any]) -> dict[str, str]:
    """What belongs to the text of a criterion and stands next to it."""
    return {key: entry[key].strip() for key in DETAIL_KEYS if isinstance(entry.get(key), str) and entry[key].strip()}


def _read_levels(value: Any) -> dict[str, str]:
    """The descriptions of the levels of a criterion by their names."""
    value = unwrap_json(value)
    if isinstance(value, list):
        value = dict(enumerate(value, 1))
    is_described = isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values())
    return {str(name): text.strip() for name, text in value.items() if text.strip()} if is_described else {}


def find_highest(levels: Mapping[str, str]) -> str:
    """The highest level: the largest number, or the last name."""
    try:
        return max(levels, key=float)
    except ValueError:
        return [*levels][-1]


def _find_flags(entry: Mapping[str, Any]) -> dict[str, bool]:
    """The flags of a criterion that can be read, each as whether it says good."""
    flags: dict[str, bool] = {}
    for key in SIGN_KEYS:
        word = str(entry.get(key)).strip().lower()
        if key == "polarity" and word in ("positive", "negative", "+", "-", "1", "-1"):
            flags[key] = word in ("positive", "+", "1")
        elif key != "polarity" and word in _YES_NO:
            flags[key] = _YES_NO[word] == (key in _GOOD)
    return flags


def _read_check(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """An object under `check`, or JSON text of one, is a check; anything else under that name is not."""
    return read_object(entry.get("check")) or None


def _read_weight(entry: Mapping[str, Any]) -> float | None:
    value = next((entry[key] for key in WEIGHT_KEYS if entry.get(key) not in (None, "")), None)
    if value is None:
        return None
    if isinstance(value, str) and value.strip().lower() in TIER_WEIGHTS:
        return TIER_WEIGHTS[value.strip().lower()]
    wrong = "the weight is not a number"
    try:
        if not isinstance(value, bool):
            return float(value)
    except OverflowError:
        wrong = "the weight is too large"
    except (TypeError, ValueError):
        pass
    raise RubricError(wrong, show(value), remedy="give a number other than 0")


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", "{}", "[]", {}, [])


def _render_tag(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return render_json(value).decode()
    except (TypeError, RubricError):
        raise RubricError("a tag has no JSON form", show(value), remedy="give text") from None


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _as_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_as_json(inner) for inner in value]
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    is_small = isinstance(value, int) and abs(value) < 2**63
    return value if is_small or isinstance(value, str | float | NoneType) else str(value)
