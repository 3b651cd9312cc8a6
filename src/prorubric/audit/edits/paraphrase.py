"""paraphrase: the answer says the same in other words, so what changes is noise."""

import re

from prorubric.audit.edits.kind import (
    KEPT_WORDS,
    NAME,
    TEXT,
    CannotEditError,
    Change,
    EditCase,
    EditKind,
    MadeEdit,
    Question,
    is_close,
    stems_of,
)
from prorubric.audit.rewording import reword
from prorubric.text.sentences import list_sentences

_SPARE_SENTENCES = 2
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def _reword(case: EditCase) -> Change:
    text = reword(case.pieces.pieces)
    if text is None:
        raise CannotEditError("nothing can be worded differently")
    return text, ()


def _check(case: EditCase, edit: MadeEdit) -> None:
    before, after = case.answer, edit.text
    if sorted(_NUMBER.findall(before)) != sorted(_NUMBER.findall(after)):
        raise CannotEditError("a number is changed")
    if not is_close(len(before.strip()), len(after.strip())):
        raise CannotEditError("the length is not about the same")
    sentences = len(list_sentences(before))
    if abs(len(list_sentences(after)) - sentences) > max(_SPARE_SENTENCES, sentences // 4):
        raise CannotEditError("the number of sentences is not about the same")
    words = stems_of(before)
    if len(words & stems_of(after)) < KEPT_WORDS * len(words):
        raise CannotEditError("most words are other words")
    # A word that was there in small letters may open a line now.
    if any(name.lower() not in before.lower() for name in NAME.findall(after)):
        raise CannotEditError("a new name is there")


PARAPHRASE = EditKind(
    name="paraphrase",
    meaning="says the same in other words: what changes here is noise",
    adds_text=False,
    by_rules=_reword,
    question=Question(
        reply={"answer": TEXT},
        read=lambda reply: (reply.text("answer"), ()),
        shown=lambda _: (),
        is_whole=True,
    ),
    check=_check,
    paper="paraphrase",
)
