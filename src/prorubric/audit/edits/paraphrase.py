"""paraphrase: the answer says the same in other words, so what changes is noise."""

import re

from prorubric.audit.edits.kind import NAME, EditCase, Edited, EditKind, MadeEdit, NoEditError, Question, stems_of
from prorubric.audit.rewording import reword

_SPARE_SENTENCES = 2
_KEPT = 0.5
"""The least share of content words that is kept."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def _reword(case: EditCase) -> Edited:
    text = reword(case.pieces.pieces)
    if text is None:
        raise NoEditError("nothing can be worded differently")
    return text, ()


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
    by_rules=_reword,
    question=Question(
        reply={"answer": str}, read=lambda reply: (reply.text("answer"), ()), shown=lambda _: (), is_whole=True
    ),
    check=_check,
    paper="paraphrase",
)
