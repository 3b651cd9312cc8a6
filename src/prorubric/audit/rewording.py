"""The same in slightly other words: swaps that are safe wherever they occur, contractions, two bullets exchanged.

It is the mildest possible paraphrase and measures how much a reward moves for no reason. Numbers, names, code,
tables and quotations are left alone. The result is None if nothing can be changed.
"""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

from prorubric.text.sentences import bullet_of, is_prose

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_SWAPS: dict[str, str] = {phrase: other for table in _TABLES.values() for phrase, other in table.items()}


def _either(phrases: Iterable[str]) -> str:
    """Any of the phrases, the longer ones first."""
    return "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True))


# Quotations, code and addresses match as a whole and are not changed.
_PATTERN = re.compile(
    r"`[^`\n]*`|“[^“”\n]*”|\"[^\"\n]*\"|\bhttps?://\S+"
    rf"|\b(?:{_either(_TABLES['anywhere'])})\b(?!['’-]\w)"
    rf"|(?<!\bof )(?<!\bas )(?<!\bwhat )\b(?:{_either(_TABLES['before_a_word'])})(?=\s+[a-z])"
    r"|\bbecause\b(?!\s+of\b)"
    r"|\bimmediately\b(?!\s+(?:after|before|following|below|above|available|life)\b)"
    r"|\bshould\b(?!\s+(?:not|I|you|we|he|she|they|it|the|a|an|this|that|my|your|also|have)\b|n['’]t)",
    re.IGNORECASE,
)


def reword(pieces: tuple[str, ...]) -> str | None:
    """The sentences in slightly other words, joined; None if nothing in them can be changed."""
    after = "".join(_PATTERN.sub(_swap, piece) if is_prose(piece) else piece for piece in pieces)
    return after if after != "".join(pieces) else _exchange_bullets(pieces)


def _swap(match: re.Match[str]) -> str:
    found = match[0]
    other = _SWAPS.get(found.lower())
    # May is a month, and what is written in capitals is meant to be.
    if other is None or found == "May" or (len(found) > 2 and found.isupper()):
        return found
    return other[0].upper() + other[1:] if found[0].isupper() else other


def _exchange_bullets(pieces: tuple[str, ...]) -> str | None:
    """The text with the first two neighbouring bullets of one list exchanged: their order says nothing."""
    for place in range(len(pieces) - 1):
        first, second, after = pieces[place], pieces[place + 1], pieces[place + 2 :]
        bullet = bullet_of(first)
        if bullet is None or bullet != bullet_of(second) or first.rstrip() == second.rstrip():
            continue
        closed = not after or bullet_of(after[0]) == bullet or second.endswith("\n\n")
        if closed and first.endswith("\n") and not first.endswith("\n\n"):
            space = second[len(second.rstrip()) :]
            return "".join((*pieces[:place], f"{second.rstrip()}\n{first.rstrip()}{space}", *after))
    return None
