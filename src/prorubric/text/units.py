"""A text as its sentences, none of a single character lost: joined again they are the text.

White space, bullets, headings, table rows and code stay where they are: each belongs to the sentence that it stands
with. A block of code is one sentence, and so is a row of a table. The point of an abbreviation, a number, an initial or
a list mark ends nothing. Nothing here fails: a text without a full stop is one sentence, an empty one has none.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

_CODE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*(?:\n\s*|\Z)|\Z)", re.MULTILINE | re.DOTALL)
# A run of full stops is looked at once, from its first: an answer may consist of nothing else.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_]*\s+|[。！？]+[”’」』）】]*\s*|\n\s*")
_NO_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|cf|approx|ca|al|dr|mr|mrs|ms|st|prof|fig|no|resp|incl)|(?:^|\s)(?-i:[A-Z])|\.[A-Za-z])\.\W*$",
    re.IGNORECASE,
)
_ONLY_MARK = re.compile(r"\s*(?:>\s*)*(?:\d{1,3}|[a-zA-Z])[.)]\s+")
_HEADING = re.compile(r"\s*#")
_ROW = re.compile(r"\s*\|")
_LONGEST_TAIL = 24
_MARK = re.compile(r"\s*(?:>\s*)*(?:(?:[-*+•·–—]|\d{1,3}[.)]|[a-zA-Z][.)]|#{1,6})[ \t]+)?")
_BULLET = re.compile(r"[ \t]*[-*+•·][ \t]+")
LARGEST_TABLE = 250_000
"""Pairs of sentences; to compare more would take minutes."""
_ENDS = tuple(".!?…。！？")
_CLOSING = "\"'”’»)]*_」』）】"


def split_sentences(text: str) -> list[str]:
    """The sentences with everything that stands between them; `"".join` of them is the text."""
    pieces: list[str] = []
    start = 0
    for block in _CODE.finditer(text) if "```" in text or "~~~" in text else ():
        pieces += _split_prose(text[start : block.start()])
        pieces.append(block[0])
        start = block.end()
    pieces += _split_prose(text[start:])
    return _join_blank(pieces)


def _split_prose(text: str) -> list[str]:
    pieces, start = [], 0
    for end in _END.finditer(text):
        if end.end() < len(text) and _goes_on(text, start, end):
            continue
        pieces.append(text[start : end.end()])
        start = end.end()
    if start < len(text):
        pieces.append(text[start:])
    return pieces


def _goes_on(text: str, start: int, end: re.Match[str]) -> bool:
    """True where what looks like an end is none: a wrapped line, an abbreviation, a mark in front of an item."""
    following = text[end.end()]
    if "\n" in end[0]:
        wrapped = end[0].strip() == "" and end[0].count("\n") == 1 and following.islower()
        return wrapped and not _HEADING.match(text, start) and following.isascii()
    is_row = _ROW.match(text, start) is not None
    if is_row or end[0][0] not in ".…":
        return is_row
    tail = text[max(start, end.start() - _LONGEST_TAIL) : end.start() + 1]
    return following.islower() or bool(_NO_END.search(tail) or _ONLY_MARK.fullmatch(text, start, end.end()))


def _join_blank(pieces: list[str]) -> list[str]:
    """White space alone is no sentence: it belongs to the one before, or at the beginning to the one behind."""
    joined: list[str] = []
    for piece in pieces:
        if joined and (not piece.strip() or not joined[-1].strip()):
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


def bare(piece: str) -> str:
    """A sentence without the white space, the bullet, the number or the heading mark around it."""
    return piece[mark_end(piece) :].strip()


def mark_end(piece: str) -> int:
    """Where the sentence itself begins, behind its bullet or number."""
    match = _MARK.match(piece)
    return match.end() if match else 0


def bullet_of(piece: str) -> str | None:
    """The bullet that a sentence opens with, as it stands; None for numbers, headings and prose."""
    match = _BULLET.match(piece)
    return match[0] if match else None


def is_whole(piece: str) -> bool:
    """True where a sentence is closed by a mark, so that another can follow it on the same line."""
    return piece.rstrip().rstrip(_CLOSING).endswith(_ENDS)


def can_follow(piece: str) -> bool:
    """True where another sentence behind this one is not taken for a part of it."""
    return is_whole(piece) and not _NO_END.search(piece.rstrip()[-_LONGEST_TAIL:])


def is_prose(piece: str) -> bool:
    """True for what is said in words: no heading, no row of a table, no code, no rule."""
    shown = piece.lstrip()
    return not shown.startswith(("#", "|", "```", "~~~", "<")) and any(map(str.isalnum, shown))


def list_bare(text: str) -> list[str]:
    """The sentences of a text without anything around them; what is nothing but signs is left out."""
    return [sentence for piece in split_sentences(text) if (sentence := bare(piece))]


def diff_sentences(before: str, after: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sentences that are new and those that are gone; white space, bullets and numbers make no difference."""
    return diff_lists(list_bare(before), list_bare(after))


def diff_lists(before: Sequence[str], after: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The same of sentences that are listed already."""
    start, shorter = 0, min(len(before), len(after))
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if not old or not new:
        return tuple(new), tuple(old)
    if len(old) * len(new) > LARGEST_TABLE:
        return tuple(_leave_out(new, old)), tuple(_leave_out(old, new))
    added: list[str] = []
    removed: list[str] = []
    for operation, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if operation != "equal":
            removed += old[i:j]
            added += new[k:m]
    return tuple(added), tuple(removed)


def _leave_out(sentences: Sequence[str], others: Sequence[str]) -> Iterator[str]:
    """The sentences without those that the others hold as often, wherever they stand: for texts that go on and on."""
    left = Counter(others)
    for sentence in sentences:
        if left[sentence] > 0:
            left[sentence] -= 1
        else:
            yield sentence
