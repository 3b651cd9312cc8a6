"""Replies as they come, read without guessing.

A reply may be fenced, have prose around it, be wrapped in an object, be cut off, have trailing commas and other
spellings of keys and values. What has one meaning is read. Everything else is left out with its reason, for the judge
to ask again. Nothing here ever fills in a value, and these rules keep it from reading one that was not meant:

- Verdicts stand on lines of their own, or in a code fence. An object in the middle of a sentence is not read, and if it
  looks like verdicts, neither is the rest.
- A reply that is cut off is read only if it is one object and nothing else: among prose that may be a draft.
- Thinking before the reply is dropped. Where another mark of thinking stands among prose, nothing is read.
- Only the object under the key that was asked for counts; whatever else reads as a verdict must not contradict it.
- A reply that names an item before the last that was not asked about counts in another way: none is taken. Nor is one
  from a reply that names items behind the last and lacks some that were asked about.
- Where the material holds something like a verdict, a reply is read only if it is one object and nothing else, and says
  something else than the material. Otherwise it may be a quotation, and the judge is asked again for a key that the
  material cannot contain: what lies under that one is read in any case.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import orjson

from prorubric.llm.fence import flatten, make_mark
from prorubric.llm.json_text import Pairs, find_roots
from prorubric.llm.thinking import drop_thinking, has_thinking_mark
from prorubric.text.show import shorten

_INDEX = re.compile(r"(?:(?:criterion|item|dimension|index|no\.?)[\s_#.:-]{0,3}|#\s?)?(\d{1,4})\.?", re.IGNORECASE)
_BARE_MARK = re.compile(r"[\s*]*(\d{1,2})(?: ?/ ?10)?[\s*.]*")
# Flattened text that verdicts can be read from: in an object, in words that a judge may make an object of, by itself.
_LIKE_OBJECT = re.compile(
    r"(?<![^\W_])(?:satisfied|levels|mark|better)[\W_]{0,20}:"
    r"|(?<![^\W_])(?:index|id|number|criterion|item)[\W_]{0,10}:[\W_]{0,10}(?:[a-z]{2,9}[\W_]{0,10})?\d"
    r"|[{,\"'`“”„‘’«][\W_]{0,10}(?:(?:criterion|item|dimension|index|no)[\W_]{0,10})?\d{1,4}[\W_]{0,10}:"
)
_LIKE_VERDICT = re.compile(
    r"(?<![^\W_])(?:satisfied|levels|mark|better)[\W_]{0,9}[:=|][\W_]{0,20}(?:\d|true|false|yes|no|first|second|equal)"
    r"|(?<![^\W_])levels[\W_]{0,9}\d{1,4}[\W_]{0,9}[:=|]|(?<![^\W_])\d{1,4}[\W_]{1,10}(?:true|false)(?![^\W_])"
)
_LIKE_BARE_MARK = re.compile(r"\d\s{0,9}/\s{0,9}10\b|^[ \t*]*\d{1,2}[ \t*.]*$", re.MULTILINE)
_WORD = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)|[^\W_]+")

_INNER_KEY = re.compile(
    r"(?:satisfied|levels?|verdict|met|present|value|criteria_met)(?:_[0-9a-f]{16})?", re.IGNORECASE
)
_INDEX_KEYS = ("index", "id", "criterion_index", "criterion_number", "number", "criterion", "item")
_REASON_KEYS = ("reason", "explanation", "rationale")
_ASIDE = {*_INDEX_KEYS, *_REASON_KEYS, "confidence", "evidence", "polarity", "quote", "weight", "weights"}
_ASIDE |= {"comment", "draft", "example", "max", "note", "notes", "out_of"}
"""What may stand next to a verdict and is none, whatever it says."""

_TRUE = frozenset({"true", "yes", "y", "present", "met", "satisfied", "fulfilled", "1", "pass", "passed"})
_FALSE = frozenset(
    {"false", "no", "n", "absent", "not present", "not met", "unmet", "not satisfied", "unsatisfied", "0", "fail"}
    | {"failed"}
)

_FRAME = {"satisfied", "levels", "level", "verdict", "met", "present", "value", "index", "id", "number", "item"}
_FRAME |= {"criteria", "criterion"}
"""Words that only hold verdicts together."""
_MOST_OBJECTS = 100
"""With verdicts, in one reply; comparing each with the material takes time."""

EMPTY, NO_VERDICTS, NOT_NAMED = "the reply is empty", "the reply has no verdicts", "no verdict for it"
OTHER_ITEMS = "the reply names other items than those asked about"
TWO_VERDICTS = "the reply gives two verdicts"
THINKING = "the reply mixes thinking with what it says"
UNFINISHED = "the reply ends before it is finished"
QUOTED = "the verdicts may be a quotation from the material"


@dataclass(slots=True)
class Readout:
    """What one reply says: a value for each item that can be read, a reason for each that cannot."""

    values: dict[int, float | bool] = field(default_factory=dict)
    faults: dict[int, str] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    """What the reply said in support of a verdict, where it was asked to."""


ReadValue = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a reply is asked for: the name that verdicts lie under, and how one is read."""

    name: str
    read: ReadValue
    is_bare: bool = False
    """True where a reply that is nothing but a number, or a number of ten, is one."""
    key: str | None = None
    """From `make_key`, where the reply is asked to use it in place of the name."""


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
    """A whole mark from 1 to 10, as in `7` and `"7/10"`, or None."""
    bare = _BARE_MARK.fullmatch(value) if isinstance(value, str) else None
    return _read_whole(bare[1] if bare else value, 1, 10)


def holds_verdict(material: str, name: str) -> bool:
    """True where something in the material could be read as a verdict once it is quoted."""
    shown = flatten(material)
    return bool(
        _looks_like_object(shown)
        or _LIKE_VERDICT.search(shown)
        or (name == "mark" and _LIKE_BARE_MARK.search(shown))
        or has_thinking_mark(shown)
    )


def make_key(name: str, material: str) -> str:
    """A key for verdicts that the material cannot contain."""
    return f"{name}_{make_mark(flatten(material)).lower()}"


def parse_items(text: str, asked: Sequence[int], wanted: Wanted, material: str = "", is_cut: bool = False) -> Readout:
    """Read a verdict for each item that was asked about; `material` is all in the prompt that could be quoted."""
    name, read = wanted.name, wanted.read
    is_safe = wanted.key is not None or not holds_verdict(material, name)
    plain = _parse_plain(text, asked, wanted.key or name) if read is read_boolean and is_safe else None
    if plain is not None:
        return Readout(values=plain)
    reply = _open(text, wanted, material, is_cut)
    if reply.fault:
        return _fail(asked, reply.fault)
    lists = [(own, value) for own, value in _walk(reply.roots) if isinstance(value, list)]
    places = [value for own, value in lists if own == reply.key]
    if not places and reply.key == name:
        places = [*reply.roots, *(value for _, value in lists if not isinstance(value, Pairs)), reply.roots]
    boxes = [place for place in places if any(_list_verdicts(place))]
    named = [{index for index, _ in _list_verdicts(box)} for box in boxes] or [set()]
    others = named[0] - set(asked)
    fault = ""
    if not boxes:
        fault = NO_VERDICTS
    elif len(boxes) > _MOST_OBJECTS or any(items != named[0] for items in named):
        fault = TWO_VERDICTS
    elif reply.may_quote and _is_any_in(material, boxes, _FRAME):
        fault = QUOTED
    elif others and (min(others) < max(asked) or not set(asked) <= named[0]):
        fault = OTHER_ITEMS
    if fault:
        return _fail(asked, fault)
    found = _settle([pair for box in boxes for pair in _list_verdicts(box)], asked, read)
    for _, value in lists:
        for index, verdict in _list_claims(value):
            said = _read_verdict(verdict, read)
            if said is not None and found.values.get(index, said) != said:
                del found.values[index]
                found.faults[index] = TWO_VERDICTS
    return found


def parse_one(text: str, wanted: Wanted, material: str = "", is_cut: bool = False) -> Any:
    """The one value, as in `{"mark": 6}`; None where it is missing, contradicted or unreadable."""
    name, read = wanted.name, wanted.read
    bare = _BARE_MARK.fullmatch(drop_thinking(text, material)) if wanted.is_bare and wanted.key is None else None
    if bare and not holds_verdict(material, name):
        return read(int(bare[1]))
    reply = _open(text, wanted, material, is_cut)
    said = [(own, value) for own, value in _walk(reply.roots) if not isinstance(value, list)]
    values = {read(value) for own, value in said if own == reply.key}
    value = values.pop() if len(values) == 1 else None
    if value is None or any(read(other) not in (None, value) for _, other in said):
        return None
    if reply.may_quote and _is_any_in(material, [pair for pair in said if pair[0] == name]):
        return None
    return value


@dataclass(slots=True)
class _Opened:
    """What of a reply may hold verdicts, and the key that they lie under; or why nothing does."""

    key: str
    roots: list[Any] = field(default_factory=list)
    may_quote: bool = False
    """True where it has to be compared with the material."""
    fault: str = ""


def _open(text: str, wanted: Wanted, material: str, is_cut: bool) -> _Opened:
    name, key = wanted.name, wanted.key
    said = drop_thinking(text, material)
    roots, prose = find_roots(said)
    if not roots:
        return _Opened(name, fault=NO_VERDICTS if said.strip() else EMPTY)
    is_alone = len(roots) == 1 and not prose.strip()
    own = [root for root in roots if key and any(other == key for other, _ in _walk([root]))]
    may_quote = not own and (key is not None or holds_verdict(material, name))
    shown = flatten(prose)
    fault = ""
    if has_thinking_mark(prose) and not (own and has_thinking_mark(material)):
        fault = THINKING
    elif is_cut and not is_alone:
        fault = UNFINISHED
    elif may_quote and not is_alone:
        fault = QUOTED
    elif re.search(rf"{key}[\W_]{{0,20}}:", shown) if own else _looks_like_object(shown):
        fault = TWO_VERDICTS
    if fault:
        return _Opened(name, fault=fault)
    return _Opened(key, own) if key and own else _Opened(name, roots, may_quote)


def _looks_like_object(shown: str) -> bool:
    return "{" in shown and _LIKE_OBJECT.search(" ".join(shown.split())) is not None


def _walk(roots: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Every value in some roots with the key that it lies under, in lower case; without what stands aside."""
    waiting = [("", root) for root in roots]
    while waiting:
        key, value = waiting.pop()
        yield key, value
        if isinstance(value, Pairs):
            waiting += [(own.lower(), part) for own, part in value if own.lower() not in _ASIDE]
        elif isinstance(value, list):
            waiting += [(key, part) for part in value]


def _is_any_in(material: str, values: Sequence[Any], frame: AbstractSet[str] = frozenset()) -> bool:
    """True where the material has the words of a value in their order, with only signs or the frame between them."""
    shown = _join_words(material, frame)
    texts = set()
    for value in values:
        parts: list[str] = []
        waiting = [value]
        while waiting:
            part = waiting.pop()
            if isinstance(part, list | tuple):
                waiting += reversed(part)
            else:
                parts.append(str(part))
        texts.add(_join_words(" ".join(parts), frame))
    return any(text in shown for text in texts)


def _join_words(text: str, frame: AbstractSet[str]) -> str:
    """The words of a text; a number is the same word however it is written, such as 1, 1.0 and 1e0."""
    found = _WORD.finditer(flatten(text))
    words = (f"{float(word[1]):g}" if word[1] else word[0] for word in found if word[0] not in frame)
    return f" {' '.join(words)} "


def _parse_plain(text: str, asked: Sequence[int], key: str) -> dict[int, float | bool] | None:
    """The reply that most models give, read fast: `{"satisfied": {…}}`, every item once, nothing else."""
    try:
        verdicts = orjson.loads(text)[key]
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
        if index not in wanted or index in found.faults:
            continue
        known = _read_verdict(value, read)
        spoken = [str(part) for key, part in value if key.lower() in _REASON_KEYS] if isinstance(value, Pairs) else []
        if spoken:
            found.reasons[index] = spoken[0]
        if known is None:
            found.values.pop(index, None)
            found.faults[index] = f"the verdict is {_show(value)}"
        elif found.values.setdefault(index, known) != known:
            del found.values[index]
            found.faults[index] = TWO_VERDICTS
    for index in asked:
        if index not in found.values and index not in found.faults:
            found.faults[index] = NOT_NAMED
    return found


def _read_verdict(value: Any, read: ReadValue) -> Any:
    """A verdict, or the one inside `{"satisfied": true, "reason": …}`; None where a neighbour says otherwise."""
    if not isinstance(value, Pairs):
        return read(value)
    inner = [part for key, part in value if _INNER_KEY.fullmatch(key)]
    known = read(inner[0]) if len(inner) == 1 else None
    beside = [part for key, part in value if key.lower() not in _ASIDE]
    return None if any(isinstance(part, list) or read(part) not in (None, known) for part in beside) else known


def _list_verdicts(box: Any) -> Iterator[tuple[int, Any]]:
    """The (index, value) pairs of `{"1": true}` or of `[{"index": 1, "satisfied": true}]`; nothing for other shapes."""
    if isinstance(box, Pairs):
        indices = [(_read_index(key), value) for key, value in box if key.lower() not in _ASIDE]
        if all(index is not None for index, _ in indices):
            yield from ((index, value) for index, value in indices if index is not None)
    elif isinstance(box, list):
        for row in box:
            index = _read_row_index(row)
            if index is not None:
                yield index, row


def _list_claims(value: Any) -> Iterator[tuple[int, Any]]:
    """Everything in an object that could be meant as a verdict on an item, also next to other things."""
    if isinstance(value, Pairs):
        index = _read_row_index(value)
        numbered = ((_read_index(key), part) for key, part in value)
        yield from ((own, part) for own, part in ((index, value), *numbered) if own is not None)


def _read_row_index(row: Any) -> int | None:
    """The one index of `{"index": 1, "criterion": "Names a dose", "satisfied": true}`."""
    if not isinstance(row, Pairs):
        return None
    own = {_read_index(str(value)) for key, value in row if key.lower() in _INDEX_KEYS} - {None}
    return own.pop() if len(own) == 1 else None


def _read_index(key: str) -> int | None:
    match = _INDEX.fullmatch(key.strip())
    return int(match[1]) if match else None


def _read_whole(value: Any, low: int, high: int) -> float | None:
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,2}\s*", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if low <= value <= high and value == int(value) else None


def _show(value: Any) -> str:
    try:
        return shorten(repr(dict(value) if isinstance(value, Pairs) else value), 40)
    except RecursionError:
        return "nested too deeply"
