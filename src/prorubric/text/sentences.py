"""Sentences: one way to split any text, without losing a character.

`"".join(split_sentences(text))` is the text. White space, bullets, headings and table rows belong to their sentence,
and a code block is one sentence. The full stop of an abbreviation, a number, an initial or a list mark ends nothing,
and neither does one before a small letter.
"""

import re
from collections import Counter
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

LARGEST_TABLE = 250_000
"""Pairs of sentences; comparing more would take minutes."""

_CODE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*(?:\n\s*|\Z)|\Z)", re.MULTILINE | re.DOTALL)
# One set of signs first, which is what `re` can search for fast. A run of full stops is looked at once, from its first:
# a text may consist of nothing else.
_END = re.compile(
    r"[.!?…。！？\n](?:(?<=\n)\s*|(?<=[。！？])[。！？]*[”’」』）】]*\s*"
    r"|(?<=[.!?…])(?<![.!?…]{2})[.!?…]*+[\"'”’»)\]*_]*\s+)"
)
_ENDS = tuple(".!?…。！？")
_CLOSING = "\"'”’»)]*_」』）】"
# "Peter J." and "U.S." go on; "vitamin C." and "etc." end a sentence if a capital letter follows.
_OPEN_END = re.compile(
    r"(?:\b(?i:e\.g|i\.e|vs|cf|approx|ca|al|dr|mr|mrs|ms|st|prof|fig|resp|incl)\.|\b[Nn]o\.(?=\s+\d)"
    r"|(?:\b[A-Z]\w*[.,]?\s|\.)[A-Z]\.)\W*\w?$"
)
_LONGEST_TAIL = 32
_LONGEST_ABBREVIATION = 7
_FAILS = re.compile(r"fails?\b", re.IGNORECASE)
_HEADING_OR_ROW = re.compile(r"\s*([#|])")
_LIST_MARK = re.compile(r"\W*(?:\d{1,3}|[a-zA-Z])[.)]\s+")
_MARK = re.compile(r"\s*(?:>\s*)*(?:(?:[-*+•·–—]|\d{1,3}[.)]|[a-zA-Z][.)]|#{1,6})[ \t]+)?")
_BULLET = re.compile(r"[ \t]*[-*+•·][ \t]+")


def split_sentences(text: str) -> list[str]:
    """The sentences with everything between them; `"".join` of them is the text."""
    blocks = [block.span() for block in _CODE.finditer(text)] if "```" in text or "~~~" in text else []
    cuts, start = [0], 0
    for block_start, block_end in [*blocks, (len(text), len(text))]:
        for end in _END.finditer(text, start, block_start):
            if end.end() == block_start or not _goes_on(text, cuts[-1], end):
                cuts.append(end.end())
        cuts += (block_start, block_end)
        start = block_end
    pieces: list[str] = []
    for piece_start, piece_end in pairwise(cuts):
        piece = text[piece_start:piece_end]
        # White space alone belongs to the sentence before it, or at the beginning to the first one.
        if pieces and (not piece.strip() or not pieces[-1].strip()):
            pieces[-1] += piece
        elif piece:
            pieces.append(piece)
    return pieces


def _goes_on(text: str, start: int, end: re.Match[str]) -> bool:
    """Whether a sentence that begins at `start` continues after what looks like its end."""
    shape = _HEADING_OR_ROW.match(text, start)
    following = text[end.end() : end.end() + 2]
    # "pH" and "eGFR" can open a sentence; other small letters cannot, except those of "fails if …".
    is_clause = _FAILS.match(text, end.end()) is not None
    continues = following[0].islower() and not following[1:].isupper() and not is_clause
    if "\n" in end[0]:
        return continues and not shape and end[0].strip() == "" and end[0].count("\n") == 1
    if shape and shape[1] == "|":
        return True
    if continues or is_clause or end[0][0] not in ".…":
        return continues
    # Only an initial needs the name before it.
    length = _LONGEST_TAIL if text[end.start() - 1].isupper() else _LONGEST_ABBREVIATION
    tail = text[max(start, end.start() - length) : end.end() + 1]
    return bool(_OPEN_END.search(tail) or _LIST_MARK.fullmatch(text, start, end.end()))


def bare(piece: str) -> str:
    """A sentence without the white space, bullet, number or heading mark around it."""
    return piece[mark_end(piece) :].strip()


def mark_end(piece: str) -> int:
    """Where the sentence itself begins, after its bullet or number."""
    return match.end() if (match := _MARK.match(piece)) else 0


def bullet_of(piece: str) -> str | None:
    """The bullet that a sentence opens with; None for numbers, headings and prose."""
    return match[0] if (match := _BULLET.match(piece)) else None


def is_whole(piece: str) -> bool:
    """Whether a mark closes the sentence, so another can follow it on the same line."""
    return piece.rstrip().rstrip(_CLOSING).endswith(_ENDS)


def can_follow(piece: str) -> bool:
    """Whether a sentence after this one would be read as a sentence and not as part of this one."""
    return is_whole(piece) and not _OPEN_END.search(piece.rstrip()[-_LONGEST_TAIL:])


def is_prose(piece: str) -> bool:
    """Whether this is prose: not a heading, a table row, code or a rule."""
    shown = piece.lstrip()
    return not shown.startswith(("#", "|", "```", "~~~", "<")) and any(map(str.isalnum, shown))


@lru_cache(maxsize=256)  # an answer is compared with each of its edits
def list_sentences(text: str) -> tuple[str, ...]:
    """The sentences without bullets, numbers and white space around them; those without any text are left out."""
    return tuple(sentence for piece in split_sentences(text) if (sentence := bare(piece)))


def diff_sentences(before: str, after: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sentences that are new and those that are gone; white space, bullets and numbers make no difference."""
    old, new = list_sentences(before), list_sentences(after)
    start, shorter = 0, min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if len(old) * len(new) > LARGEST_TABLE:
        # Too long to align: compare what they hold, wherever it is.
        return tuple((Counter(new) - Counter(old)).elements()), tuple((Counter(old) - Counter(new)).elements())
    added: list[str] = []
    removed: list[str] = []
    for operation, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if operation != "equal":
            removed += old[i:j]
            added += new[k:m]
    return tuple(added), tuple(removed)
