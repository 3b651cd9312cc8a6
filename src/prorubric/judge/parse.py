"""Replies as they come, read without guessing.

A reply may be fenced, wrapped, cut off, have prose around it, trailing commas, keys and values in many spellings.
What has one meaning is read. An item that is missing, contradicted within the reply or not understandable is left out
with its reason, for the judge to ask again. Nothing here ever fills in a value.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from prorubric.rubric.record import shorten

_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_PAIR = re.compile(
    r'"?(?P<key>\d+)"?\s*:\s*(?P<value>true|false|-?\d+(?:\.\d+)?|"[^"\\\n]{0,40}")\s*(?=[,}])', re.IGNORECASE
)
_ONE_NUMBER = re.compile(r"\D*(\d+)\D*")
_INNER_KEYS = ("satisfied", "levels", "verdict", "met", "present", "level", "score", "value", "answer", "criteria_met")
_INDEX_KEYS = ("index", "id", "criterion_index", "item", "number")
_REASON_KEYS = ("reason", "explanation", "rationale")
_DEEPEST = 4

_TRUE = frozenset({"true", "yes", "y", "present", "met", "satisfied", "fulfilled", "1", "pass", "passed"})
_FALSE = frozenset(
    {
        "false",
        "no",
        "n",
        "absent",
        "not present",
        "not met",
        "unmet",
        "not satisfied",
        "unsatisfied",
        "0",
        "fail",
        "failed",
    }
)


@dataclass(slots=True)
class Readout:
    """What one reply says: a value for each item that can be read, a reason for each that cannot."""

    values: dict[int, float | bool] = field(default_factory=dict)
    faults: dict[int, str] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    """What the reply said in support of a verdict, where it was asked to."""


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs in order, so that a key that comes twice is seen."""


ReadValue = Callable[[Any], float | bool | None]


def read_boolean(value: Any) -> bool | None:
    """True, false, or None for what is neither beyond doubt."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return bool(value) if value in (0, 1) else None
    if isinstance(value, str):
        word = " ".join(value.replace("_", " ").lower().split()).rstrip(".!")
        return True if word in _TRUE else False if word in _FALSE else None
    return None


def read_level(value: Any) -> float | None:
    """A whole level from 0 to 3, or None."""
    return _read_whole(value, 0, 3)


def read_mark(value: Any) -> float | None:
    """A whole mark from 1 to 10, or None."""
    return _read_whole(value, 1, 10)


def parse_items(text: str, asked: Sequence[int], read: ReadValue) -> Readout:
    """Read a verdict for each item that was asked about."""
    plain = _parse_plain(text, asked) if read is read_boolean else None
    if plain is not None:
        return Readout(values=plain)
    wanted = set(asked)
    pairs = list(_find_pairs(text))
    found = Readout()
    if _counts_from_zero(pairs, wanted):
        found.faults = dict.fromkeys(asked, "the reply counts from 0")
        return found
    for index, value in pairs:
        if index in wanted:
            _take(found, index, value, read)
    blank = (
        "the reply is empty" if not text.strip() else "the reply has no verdicts" if not pairs else "no verdict for it"
    )
    for index in asked:
        if index not in found.values and index not in found.faults:
            found.faults[index] = blank
    return found


def _parse_plain(text: str, asked: Sequence[int]) -> dict[int, float | bool] | None:
    """The reply that most models give, read fast: `{"satisfied": {…}}`, every item once, nothing else."""
    try:
        verdicts = orjson.loads(text)["satisfied"]
    except (ValueError, TypeError, KeyError):
        return None
    # As many colons as keys: no key came twice, which the fast reader would not tell.
    if not isinstance(verdicts, dict) or len(verdicts) != len(asked) or text.count(":") != len(asked) + 1:
        return None
    values: dict[int, Any] = {index: verdicts.get(str(index)) for index in asked}
    return values if set(map(type, values.values())) == {bool} else None


def parse_one(text: str, names: Sequence[str], read: ReadValue) -> Any:
    """The one value of a reply such as `{"mark": 6}`; None where it is missing, contradicted or unreadable."""
    values = [value for root in _find_json(text) for value in _find_named(root, names, 0)]
    if not values and re.fullmatch(r"\s*\d{1,2}\s*(?:/\s*10)?\s*", text):
        values = [int(re.findall(r"\d+", text)[0])]
    read_values = {read(value) for value in values}
    return read_values.pop() if len(read_values) == 1 else None


def _take(found: Readout, index: int, value: Any, read: ReadValue) -> None:
    if index in found.faults:
        return
    known = read(_unwrap(value))
    if isinstance(value, _Pairs):
        spoken = [str(part) for key, part in value if key.lower() in _REASON_KEYS]
        if spoken:
            found.reasons[index] = spoken[0]
    if known is None:
        found.values.pop(index, None)
        found.faults[index] = f"the verdict is {shorten(repr(_plain(value)), 40)}"
    elif found.values.setdefault(index, known) != known:
        del found.values[index]
        found.faults[index] = "the reply gives two verdicts"


def _find_pairs(text: str) -> Iterator[tuple[int, Any]]:
    """Every (index, value) that the reply states, in whatever shape."""
    complete = False
    for root in _find_json(text):
        for index, value in _walk(root, 0):
            complete = True
            yield index, value
    if not complete:
        # Cut off in the middle: pairs that are whole, up to the comma or brace behind them, are still what was said.
        for match in _PAIR.finditer(text):
            yield int(match["key"]), json.loads(match["value"].lower())


def _walk(node: Any, depth: int) -> Iterator[tuple[int, Any]]:
    if depth > _DEEPEST:
        return
    if isinstance(node, _Pairs):
        indices = [_read_index(key) for key, _ in node]
        if node and all(index is not None for index in indices):
            yield from ((index, value) for index, (_, value) in zip(indices, node, strict=True) if index is not None)
            return
        own = [_read_index(str(value)) for key, value in node if key in _INDEX_KEYS]
        if len(own) == 1 and own[0] is not None:
            yield own[0], node
            return
        for _, value in node:
            yield from _walk(value, depth + 1)
    elif isinstance(node, list):
        for value in node:
            yield from _walk(value, depth + 1)


def _find_json(text: str) -> Iterator[Any]:
    """Every JSON value in the text that starts with a bracket, from the outside in; lenient about trailing commas."""
    lenient = _TRAILING_COMMA.sub(r"\1", text)
    decoder = json.JSONDecoder(object_pairs_hook=_Pairs)
    start = _next_bracket(lenient, 0)
    found = False
    while start >= 0:
        try:
            value, end = decoder.raw_decode(lenient, start)
        except (ValueError, RecursionError):
            start = _next_bracket(lenient, start + 1)
            continue
        found = True
        yield value
        start = _next_bracket(lenient, end)
    if not found:
        yield from _find_literal(lenient)


def _find_literal(text: str) -> Iterator[Any]:
    """A Python literal, as in `{'1': True}`: some models write those."""
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        try:
            value = ast.literal_eval(text[start : end + 1])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return
        yield _as_pairs(value)


def _as_pairs(value: Any) -> Any:
    if isinstance(value, dict):
        return _Pairs((str(key), _as_pairs(inner)) for key, inner in value.items())
    return [_as_pairs(inner) for inner in value] if isinstance(value, list) else value


def _next_bracket(text: str, start: int) -> int:
    places = [place for place in (text.find("{", start), text.find("[", start)) if place >= 0]
    return min(places, default=-1)


def _find_named(node: Any, names: Sequence[str], depth: int) -> Iterator[Any]:
    if depth > _DEEPEST:
        return
    if isinstance(node, _Pairs):
        for key, value in node:
            if key.lower() in names:
                yield value
            else:
                yield from _find_named(value, names, depth + 1)
    elif isinstance(node, list):
        for value in node:
            yield from _find_named(value, names, depth + 1)


def _unwrap(value: Any) -> Any:
    """The verdict inside `{"satisfied": true, "reason": …}`; two different ones are no verdict."""
    if not isinstance(value, _Pairs):
        return value
    inner = [part for key, part in value if key.lower() in _INNER_KEYS]
    return inner[0] if len(inner) == 1 else None


def _read_index(key: str) -> int | None:
    match = _ONE_NUMBER.fullmatch(key)
    return int(match[1]) if match and len(match[1]) <= 4 else None


def _counts_from_zero(pairs: list[tuple[int, Any]], wanted: set[int]) -> bool:
    """True for a reply on items 1..n that has a 0 and no n: every verdict in it may belong to the next item."""
    indices = {index for index, _ in pairs}
    return 0 in indices and 0 not in wanted and max(wanted) not in indices


def _read_whole(value: Any, low: int, high: int) -> float | None:
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,2}\s*", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if low <= value <= high and value == int(value) else None


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, _Pairs) else value
