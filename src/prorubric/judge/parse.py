"""Replies as they come, read without guessing.

A reply may be fenced, have prose around it, be wrapped in an object, be cut off, have trailing commas and other
spellings of keys and values. What has one meaning is read. Everything else is left out with its reason, for the judge
to ask again. Nothing here ever fills in a value, and these rules keep it from reading one that was not meant:

- Verdicts stand on lines of their own, or in a code fence; an object in the middle of a sentence is a quotation.
- Only the object under the key that was asked for counts, not its neighbours. Two such objects must say the same.
- A reply that names items that were not asked about, and lacks some that were, counts in another way: none is taken.
- What can be found word for word in the response is an echo of the response.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from prorubric.llm.json_text import Pairs, find_roots
from prorubric.rubric.record import shorten

_INDEX = re.compile(r"(?:(?:criterion|item|dimension|index|no\.?)[\s_#.:-]*|#\s*)?(\d{1,4})\.?", re.IGNORECASE)
_BARE_MARK = re.compile(r"\s*(\d{1,2})\s*(?:/\s*10)?\s*")

_INNER_KEYS = ("satisfied", "levels", "verdict", "met", "present", "level", "value", "criteria_met")
_INDEX_KEYS = ("index", "id", "criterion_index", "criterion_number", "number")
_REASON_KEYS = ("reason", "explanation", "rationale")
_DEEPEST_WRAPPER = 2

_TRUE = frozenset({"true", "yes", "y", "present", "met", "satisfied", "fulfilled", "1", "pass", "passed"})
_FALSE = frozenset(
    {"false", "no", "n", "absent", "not present", "not met", "unmet", "not satisfied", "unsatisfied", "0", "fail"}
    | {"failed"}
)

EMPTY, NO_VERDICTS, NOT_NAMED = "the reply is empty", "the reply has no verdicts", "no verdict for it"
OTHER_ITEMS = "the reply names other items than those asked about"
TWO_VERDICTS = "the reply gives two verdicts"


@dataclass(slots=True)
class Readout:
    """What one reply says: a value for each item that can be read, a reason for each that cannot."""

    values: dict[int, float | bool] = field(default_factory=dict)
    faults: dict[int, str] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    """What the reply said in support of a verdict, where it was asked to."""


ReadValue = Callable[[Any], Any]


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


def parse_items(text: str, asked: Sequence[int], name: str, read: ReadValue, material: str = "") -> Readout:
    """Read a verdict for each item that was asked about, from the object under `name`.

    `material` is the response under judgement: verdicts that stand in it word for word are its own.
    """
    echo = name in material
    plain = _parse_plain(text, asked) if name == "satisfied" and not echo else None
    if plain is not None:
        return Readout(values=plain)
    if not text.strip():
        return _fail(asked, EMPTY)
    found = [list(_list_verdicts(box)) for box in _find_boxes(text, name, material if echo else "")]
    boxes = [pairs for pairs in found if pairs]
    if not boxes:
        return _fail(asked, NO_VERDICTS)
    named = [{index for index, _ in pairs} for pairs in boxes]
    if any(items != named[0] for items in named):
        return _fail(asked, TWO_VERDICTS)
    if not named[0] <= set(asked) and not set(asked) <= named[0]:
        return _fail(asked, OTHER_ITEMS)
    return _settle([pair for pairs in boxes for pair in pairs], asked, read)


def parse_one(text: str, name: str, read: ReadValue, bare: bool = False) -> Any:
    """The one value under `name`, as in `{"mark": 6}`; None where it is missing, contradicted or unreadable.

    With `bare` a reply that is nothing but a number, or a number of ten, is that number.
    """
    alone = _BARE_MARK.fullmatch(text) if bare else None
    if alone:
        return read(int(alone[1]))
    values = {read(value) for root in find_roots(text, "") for value in _find_named(root, name, 0)}
    return values.pop() if len(values) == 1 else None


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


def _fail(asked: Sequence[int], reason: str) -> Readout:
    return Readout(faults=dict.fromkeys(asked, reason))


def _settle(pairs: list[tuple[int, Any]], asked: Sequence[int], read: ReadValue) -> Readout:
    found, wanted = Readout(), set(asked)
    for index, value in pairs:
        if index in wanted and index not in found.faults:
            _take(found, index, value, read)
    for index in asked:
        if index not in found.values and index not in found.faults:
            found.faults[index] = NOT_NAMED
    return found


def _take(found: Readout, index: int, value: Any, read: ReadValue) -> None:
    known = read(_unwrap(value))
    spoken = [str(part) for key, part in value if key.lower() in _REASON_KEYS] if isinstance(value, Pairs) else []
    if spoken:
        found.reasons[index] = spoken[0]
    if known is None:
        found.values.pop(index, None)
        found.faults[index] = f"the verdict is {shorten(repr(_plain(value)), 40)}"
    elif found.values.setdefault(index, known) != known:
        del found.values[index]
        found.faults[index] = TWO_VERDICTS


def _find_boxes(text: str, name: str, material: str) -> Iterator[Any]:
    """What holds the verdicts: every value under `name`, or, where that key is nowhere, objects of indices."""
    roots = list(find_roots(text, material))
    named = [value for root in roots for value in _find_named(root, name, 0) if isinstance(value, list)]
    yield from named or roots


def _find_named(node: Any, name: str, depth: int) -> Iterator[Any]:
    """Every value under a key, in an object or in objects wrapped around it; a list of rows is a value of its own."""
    if not isinstance(node, Pairs) or depth > _DEEPEST_WRAPPER:
        return
    here = [value for key, value in node if key.lower() == name]
    yield from here
    if not here:
        for _, value in node:
            yield from _find_named(value, name, depth + 1)


def _list_verdicts(box: Any) -> Iterator[tuple[int, Any]]:
    """The (index, value) pairs of `{"1": true}` or of `[{"index": 1, "satisfied": true}]`; nothing for other shapes."""
    if isinstance(box, Pairs):
        indices = [_read_index(key) for key, _ in box]
        if None not in indices:
            yield from ((index, value) for index, (_, value) in zip(indices, box, strict=True) if index is not None)
    elif isinstance(box, list):
        for row in box:
            own = (
                [_read_index(str(value)) for key, value in row if key in _INDEX_KEYS] if isinstance(row, Pairs) else []
            )
            if len(own) == 1 and own[0] is not None:
                yield own[0], row


def _unwrap(value: Any) -> Any:
    """The verdict inside `{"satisfied": true, "reason": …}`; two of them are no verdict."""
    if not isinstance(value, Pairs):
        return value
    inner = [part for key, part in value if key.lower() in _INNER_KEYS]
    return inner[0] if len(inner) == 1 else None


def _read_index(key: str) -> int | None:
    match = _INDEX.fullmatch(key.strip())
    return int(match[1]) if match else None


def _read_whole(value: Any, low: int, high: int) -> float | None:
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,2}\s*", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if low <= value <= high and value == int(value) else None


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Pairs) else value
