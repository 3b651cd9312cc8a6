"""paraphrase: the answer says the same in other words, so what changes is noise.

The rules make the mildest possible paraphrase: swaps that are safe wherever they occur, contractions, or two bullets
exchanged. Numbers, names, code, tables and quotations are left alone.
"""

import re
import tomllib
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from prorubric.audit.edits.kind import NAME, EditCase, Edited, EditKind, EditQuestion, MadeEdit, NoEditError, stems_of
from prorubric.text.sentences import bullet_of, is_prose

_SPARE_SENTENCES = 2
_KEPT = 0.5
"""The least share of content words that is kept."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
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


def reword(case: EditCase) -> Edited:
    """The answer in slightly other words.

    If no word can be swapped, the first two neighbouring bullets of a list are: their order says nothing.
    """
    pieces = case.pieces
    swapped = "".join(_PATTERN.sub(_swap, piece) if is_prose(piece) else piece for piece in pieces)
    if swapped != "".join(pieces):
        return swapped, ()
    for place, (first, second) in enumerate(pairwise(pieces)):
        bullet, after = bullet_of(first), pieces[place + 2 :]
        if bullet is None or bullet != bullet_of(second) or first.rstrip() == second.rstrip():
            continue
        closed = not after or bullet_of(after[0]) == bullet or second.endswith("\n\n")
        if closed and first.endswith("\n") and not first.endswith("\n\n"):
            space = second[len(second.rstrip()) :]
            return "".join((*pieces[:place], f"{second.rstrip()}\n{first.rstrip()}{space}", *after)), ()
    raise NoEditError("nothing can be worded differently")


def _swap(match: re.Match[str]) -> str:
    found = match[0]
    other = _SWAPS.get(found.lower())
    # May is a month, and what is written in capitals is meant to be.
    if other is None or found == "May" or (len(found) > 2 and found.isupper()):
        return found
    return other[0].upper() + other[1:] if found[0].isupper() else other


def _check(case: EditCase, edit: MadeEdit) -> None:
    before, after = case.answer, edit.text
    if sorted(_NUMBER.findall(before)) != sorted(_NUMBER.findall(after)):
        raise NoEditError("a number is changed")
    if not edit.is_as_long_as(before):
        raise NoEditError("the length is not about the same")
    sentences = len(case.sentences)
    if abs(len(edit.sentences) - sentences) > max(_SPARE_SENTENCES, sentences // 4):
        raise NoEditError("the number of sentences is not about the same")
    words = stems_of(before)
    if len(words & stems_of(after)) < _KEPT * len(words):
        raise NoEditError("most words are other words")
    # A word that was there in small letters may open a line now.
    if any(name.lower() not in before.lower() for name in NAME.findall(after)):
        raise NoEditError("a new name is there")


PARAPHRASE = EditKind(
    name="paraphrase",
    meaning="says the same in other words: what changes here is noise",
    adds_text=False,
    by_rules=reword,
    question=EditQuestion(
        reply={"answer": str}, read=lambda reply: (reply.text("answer"), ()), shown=lambda _: (), is_whole=True
    ),
    check=_check,
    paper="paraphrase",
)
