"""Replies as they come, read without guessing.

A reply may be fenced, have prose around it, be wrapped in an object, be cut off, have trailing commas and other
spellings of keys and values. What has one meaning is read. Everything else is left out with its reason, for the judge
to ask again. Nothing here ever fills in a value, and these rules keep it from reading one that was not meant:

- Verdicts are on separate lines, or in a code fence. An object in the middle of a sentence is not read, and if it
  looks like verdicts, neither is the rest.
- A reply that is cut off is read only if it is one object and nothing else: among prose that may be a draft.
- Thinking before the reply is dropped. If there is another mark of thinking among prose, nothing is read.
- Only the object under the key that was asked for counts; whatever else reads as a verdict must not contradict it.
- A reply that names an item before the last that was not asked about numbers them differently: none of its verdicts
  is taken. Nor is one from a reply that names items after the last and lacks some that were asked about.
- If the material holds something like a verdict, a reply is read only if it is one object and nothing else, and says
  something else than the material. Otherwise it may be a quotation, and the judge is asked again for a key that the
  material cannot contain: what lies under that one is read in any case.
"""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import orjson

from prorubric.judge.forms import (
    APPLICABLE,
    BARE_MARK,
    BOOLEAN,
    EXTENT,
    EXTENTS,
    FORMS,
    MET,
    SCORE,
    VerdictForm,
)
from prorubric.llm.fence import flatten, make_mark
from prorubric.llm.json_text import Pairs, find_roots
from prorubric.llm.thinking import drop_thinking, has_thinking_mark
from prorubric.rubric.verdict import Unknown, Verdict, are_boolean
from prorubric.text.show import shorten

_KEYS = tuple(dict.fromkeys(form.key for form in FORMS))
_INDEX = re.compile(r"(?:(?:criterion|item|dimension|index|no\.?)[\s_#.:-]{0,3}|#\s?)?(\d{1,4})\.?", re.IGNORECASE)
# Flattened text that verdicts can be read from: in an object, in words that a judge may make an object of, by itself.
_LIKE_OBJECT = re.compile(
    rf"(?<![^\W_])(?:{'|'.join(_KEYS)})[\W_]{{0,20}}:"
    r"|(?<![^\W_])(?:index|id|number|criterion|item)[\W_]{0,10}:[\W_]{0,10}(?:[a-z]{2,9}[\W_]{0,10})?\d"
    r"|[{,\"'`“”„‘’«][\W_]{0,10}(?:(?:criterion|item|dimension|index|no)[\W_]{0,10})?\d{1,4}[\W_]{0,10}:"
)
# Each with words of which a match has one: looking for these takes far less time. Each begins with a letter or a digit,
# which is found fast; that it is the first of its word is tested after it.
_LIKE_VERDICT = (
    (
        _KEYS,
        re.compile(
            "|".join(
                rf"{key}(?<![^\W_]{key})[\W_]{{0,9}}[:=|][\W_]{{0,20}}(?:\d|true|false|yes|no|first|second|equal)"
                for key in _KEYS
            )
            + r"|levels(?<![^\W_]levels)[\W_]{0,9}\d{1,4}[\W_]{0,9}[:=|]"
        ),
    ),
    (("true", "false"), re.compile(r"\d(?<![^\W_]\d)\d{0,3}[\W_]{1,10}(?:true|false)(?![^\W_])")),
)
_LIKE_NOT_APPLICABLE = re.compile(
    rf"(?<![^\W_])(?:{'|'.join(_KEYS)}|\d{{1,4}})[\W_]{{1,20}}(?:not[\W_]{{1,9}}applicable|n/a)(?![^\W_])"
)
_LIKE_BARE_MARK = re.compile(r"\d\s{0,9}/\s{0,9}10\b|^[ \t*]*\d{1,2}[ \t*.]*$", re.MULTILINE)
# A key that only benchmarks ask for would be found in too much that is judged otherwise.
_LIKE_OWN = {
    form.key: re.compile(
        rf"{form.key}(?<![^\W_]{form.key})[\W_]{{0,9}}[:=|][\W_]{{0,20}}(?:\d|true|false|{'|'.join(EXTENTS)})"
    )
    for form in (MET, SCORE, EXTENT)
}
_WORD = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)|[^\W_]+")

_INNER_KEY = re.compile(
    r"(?:satisfied|levels?|extents?|verdict|met|present|value|criteria_met)(?:_[0-9a-f]{16})?", re.IGNORECASE
)
_INDEX_KEYS = ("index", "id", "criterion_index", "criterion_number", "number", "criterion", "item")
_REASON_KEYS = ("reason", "explanation", "rationale")
# Keys next to a verdict whose values are never verdicts, whatever they say.
_ASIDE = {*_INDEX_KEYS, *_REASON_KEYS, "confidence", "evidence", "polarity", "quote", "turn", "weight", "weights"}
_ASIDE |= {"comment", "draft", "example", "max", "note", "notes", "out_of"}
# Words that only hold verdicts together.
_FRAME = {"satisfied", "levels", "level", "verdict", "met", "present", "value", "index", "id", "number", "item"}
_FRAME |= {"criteria", "criterion", "extents"}
_MOST_OBJECTS = 100  # with verdicts, in one reply; comparing each with the material takes time

EMPTY = Unknown("the reply is empty", kind="empty reply")
NO_VERDICTS = Unknown("the reply has no verdicts", kind="no verdicts")
LEFT_OUT = Unknown("no verdict for it", kind="left out")
OTHER_ITEMS = Unknown("the reply names other items than those asked about", kind="other items")
TWO_VERDICTS = Unknown("the reply gives two verdicts", kind="two verdicts")
THINKING = Unknown("the reply mixes thinking with what it says", kind="thinking")
UNFINISHED = Unknown("the reply ends before it is finished", kind="cut off")
QUOTED = Unknown("the verdicts may be a quotation from the material", kind="quoted")
UNREADABLE = "unreadable"


class Quote(NamedTuple):
    """A passage that a reply quotes, and the turn that it names."""

    text: str
    turn: int | None


class ParsedItems(NamedTuple):
    """What a reply says, by the index of the item."""

    verdicts: dict[int, Verdict]
    reasons: dict[int, str]
    quotes: dict[int, Quote]


class _Opened(NamedTuple):
    """The part of a reply that may hold verdicts and the key they are under, or why no part may."""

    key: str
    roots: list[Any]
    may_quote: bool = False  # if so, it is compared with the material
    fault: Unknown | None = None


def holds_verdict(material: str, form: VerdictForm) -> bool:
    """True if something in the material could be read as a verdict once it is quoted."""
    shown = flatten(material)
    is_like_verdict = any(
        any(word in shown for word in words) and pattern.search(shown) for words, pattern in _LIKE_VERDICT
    )
    is_like_verdict |= bool(form.is_bare and _LIKE_BARE_MARK.search(shown))
    is_like_verdict |= bool(form.key in _LIKE_OWN and _LIKE_OWN[form.key].search(shown))
    is_like_verdict |= bool(form is APPLICABLE and _LIKE_NOT_APPLICABLE.search(shown))
    return is_like_verdict or _looks_like_object(shown, form) or has_thinking_mark(shown)


def make_key(form: VerdictForm, material: str) -> str:
    """A key for verdicts that the material cannot contain."""
    return f"{form.key}_{make_mark(flatten(material)).lower()}"


def parse_items(
    text: str, asked: Sequence[int], form: VerdictForm, material: str = "", key: str | None = None, is_cut: bool = False
) -> ParsedItems:
    """Read a verdict for each item that was asked about, and the reasons that the reply gives for some of them.

    `material` is all of the prompt that could be quoted, `key` one from `make_key` if the reply was asked to use it.
    """
    if form.key == BOOLEAN.key and (key is not None or not holds_verdict(material, form)):
        plain = _parse_plain(text, asked, key or form.key)
        if plain is not None:
            return ParsedItems(plain, {}, {})
    reply = _open(text, form, material, key, is_cut)
    lists = [(own, value) for own, value in _walk(reply.roots) if isinstance(value, list)]
    places = [value for own, value in lists if own == reply.key]
    if not places and reply.key == form.key:
        places = [*reply.roots, *(value for _, value in lists if not isinstance(value, Pairs)), reply.roots]
    boxes = [place for place in places if any(_list_verdicts(place))]
    fault = reply.fault or _find_fault(boxes, asked, material if reply.may_quote else None, form)
    if fault is not None:
        return ParsedItems(dict.fromkeys(asked, fault), {}, {})
    parsed = _settle([pair for box in boxes for pair in _list_verdicts(box)], asked, form)
    # Whatever else in the reply could be meant as a verdict on an item must not contradict it.
    for box in (value for _, value in lists if isinstance(value, Pairs)):
        for claimed, claim in ((_read_row_index(box), box), *((_read_index(own), part) for own, part in box)):
            said, known = _read_verdict(claim, form), parsed.verdicts.get(claimed or 0, LEFT_OUT)
            if claimed and said not in (None, known) and not isinstance(known, Unknown):
                parsed.verdicts[claimed] = TWO_VERDICTS
    return parsed


def parse_one(text: str, form: VerdictForm, material: str = "", key: str | None = None, is_cut: bool = False) -> Any:
    """The one value, as in `{"mark": 6}`, or `Unknown` if it is missing, contradicted or unreadable."""
    unreadable = Unknown(f"no readable {form.key} in the reply", kind=UNREADABLE) if text.strip() else EMPTY
    bare = BARE_MARK.fullmatch(drop_thinking(text, material)) if form.is_bare and key is None else None
    if bare and not holds_verdict(material, form):
        mark = form.read(int(bare[1]))
        return unreadable if mark is None else mark
    reply = _open(text, form, material, key, is_cut)
    said = [(own, value) for own, value in _walk(reply.roots) if not isinstance(value, list)]
    values = {form.read(value) for own, value in said if own == reply.key}
    value = values.pop() if len(values) == 1 else None
    if value is None or any(form.read(other) not in (None, value) for _, other in said):
        return unreadable
    if reply.may_quote and _is_any_in(material, [pair for pair in said if pair[0] == form.key]):
        return unreadable
    return value


def _parse_plain(text: str, asked: Sequence[int], key: str) -> dict[int, Verdict] | None:
    """The reply that most models give, read fast: `{"satisfied": {…}}`, every item once, nothing else."""
    try:
        verdicts = orjson.loads(text)[key]
    except (ValueError, TypeError, KeyError):
        return None
    # As many colons as keys: no key came twice, which the fast reader would not tell.
    if not isinstance(verdicts, dict) or len(verdicts) != len(asked) or text.count(":") != len(asked) + 1:
        return None
    values: dict[int, Any] = dict(zip(asked, map(verdicts.get, map(str, asked)), strict=True))
    return values if are_boolean(values.values()) else None


def _open(text: str, form: VerdictForm, material: str, key: str | None, is_cut: bool) -> _Opened:
    said = drop_thinking(text, material)
    roots, prose = find_roots(said)
    if not roots:
        return _Opened(form.key, [], fault=NO_VERDICTS if said.strip() else EMPTY)
    is_alone = len(roots) == 1 and not prose.strip()
    own = [root for root in roots if key and any(other == key for other, _ in _walk([root]))]
    may_quote = not own and (key is not None or holds_verdict(material, form))
    shown = flatten(prose)
    fault = None
    if has_thinking_mark(prose) and not (own and has_thinking_mark(material)):
        fault = THINKING
    elif is_cut and not is_alone:
        fault = UNFINISHED
    elif may_quote and not is_alone:
        fault = QUOTED
    elif re.search(rf"{key}[\W_]{{0,20}}:", shown) if own else _looks_like_object(shown, form):
        fault = TWO_VERDICTS
    if fault is not None:
        return _Opened(form.key, [], fault=fault)
    return _Opened(key, own) if key and own else _Opened(form.key, roots, may_quote)


def _find_fault(boxes: Sequence[Any], asked: Sequence[int], material: str | None, form: VerdictForm) -> Unknown | None:
    """Why none of these objects with verdicts can be taken; `material` if they may be a quotation from it."""
    if not boxes:
        return NO_VERDICTS
    named = [{index for index, _ in _list_verdicts(box)} for box in boxes]
    if len(boxes) > _MOST_OBJECTS or any(items != named[0] for items in named):
        return TWO_VERDICTS
    if material is not None and _is_any_in(material, boxes, _FRAME):
        return QUOTED
    if form.is_exact and any(len([*_list_verdicts(box)]) > len(asked) for box in boxes):
        return OTHER_ITEMS
    others = named[0] - set(asked)
    is_shifted = others and (min(others) < max(asked) or not set(asked) <= named[0])
    return OTHER_ITEMS if is_shifted else None


def _settle(pairs: Sequence[tuple[int, Any]], asked: Sequence[int], form: VerdictForm) -> ParsedItems:
    verdicts: dict[int, Verdict] = {}
    reasons: dict[int, str] = {}
    quotes: dict[int, Quote] = {}
    for index, value in pairs:
        if index not in asked or isinstance(verdicts.get(index), Unknown):
            continue
        notes = {own.lower(): part for own, part in reversed(value)} if isinstance(value, Pairs) else {}
        for own in _REASON_KEYS:
            if own in notes:
                reasons.setdefault(index, str(notes[own]))
        if isinstance(quote := notes.get("quote", ""), str) and (quote.strip() or "turn" in notes):
            quotes.setdefault(index, Quote(quote, _read_index(str(notes.get("turn")))))
        known = _read_verdict(value, form)
        if known is None:
            verdicts[index] = Unknown(f"the verdict is {_show(value)}", kind=UNREADABLE)
        elif verdicts.setdefault(index, known) != known:
            verdicts[index] = TWO_VERDICTS
    return ParsedItems({index: verdicts.get(index, LEFT_OUT) for index in asked}, reasons, quotes)


def _looks_like_object(shown: str, form: VerdictForm) -> bool:
    if "{" not in shown:
        return False
    is_own = form.key in _LIKE_OWN and re.search(rf"(?<![^\W_]){form.key}[\W_]{{0,20}}:", shown)
    return bool(is_own or _LIKE_OBJECT.search(" ".join(shown.split())))


def _walk(roots: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Every value in some roots with its key in lower case, except values under keys that hold no verdicts."""
    waiting = [("", root) for root in roots]
    while waiting:
        key, value = waiting.pop()
        yield key, value
        if isinstance(value, Pairs):
            waiting += [(own.lower(), part) for own, part in value if own.lower() not in _ASIDE]
        elif isinstance(value, list):
            waiting += [(key, part) for part in value]


def _is_any_in(material: str, values: Sequence[Any], frame: AbstractSet[str] = frozenset()) -> bool:
    """True if the material has the words of a value in their order, with only signs or the frame between them."""
    shown = _join_words(material, frame)
    texts = set()
    for value in values:
        parts, waiting = [], [value]
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


def _read_verdict(value: Any, form: VerdictForm) -> Any:
    """A verdict, or the one inside `{"satisfied": true, "reason": …}`; None if another value next to it differs."""
    if not isinstance(value, Pairs):
        return form.read(value)
    inner = [part for key, part in value if _INNER_KEY.fullmatch(key)]
    known = form.read(inner[0]) if len(inner) == 1 else None
    others = [part for key, part in value if key.lower() not in _ASIDE]
    return None if any(isinstance(part, list) or form.read(part) not in (None, known) for part in others) else known


def _list_verdicts(box: Any) -> Iterator[tuple[int, Any]]:
    """The (index, value) pairs of `{"1": true}` or of `[{"index": 1, "satisfied": true}]`; nothing for other shapes."""
    if isinstance(box, Pairs):
        indices = [(_read_index(key), value) for key, value in box if key.lower() not in _ASIDE]
        if all(index is not None for index, _ in indices):
            yield from ((index, value) for index, value in indices if index is not None)
    elif isinstance(box, list):
        rows = ((_read_row_index(row), row) for row in box)
        yield from ((index, row) for index, row in rows if index is not None)


def _read_row_index(row: Any) -> int | None:
    """The one index of `{"index": 1, "criterion": "Names a dose", "satisfied": true}`."""
    if not isinstance(row, Pairs):
        return None
    own = {_read_index(str(value)) for key, value in row if key.lower() in _INDEX_KEYS} - {None}
    return own.pop() if len(own) == 1 else None


def _read_index(key: str) -> int | None:
    match = _INDEX.fullmatch(key.strip())
    return int(match[1]) if match else None


def _show(value: Any) -> str:
    try:
        return shorten(repr(dict(value) if isinstance(value, Pairs) else value), 40)
    except RecursionError:
        return "nested too deeply"
