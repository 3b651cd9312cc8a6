"""drop-key-advice: the sentence that matters most is taken out of the answer."""

from collections import Counter

from prorubric.audit.edits.kind import EditCase, Edited, EditKind, EditQuestion, MadeEdit, NoEditError, stems_of
from prorubric.audit.place import remove
from prorubric.text.sentences import bullet_of, is_prose, is_whole
from prorubric.text.words import LETTERS

_FEWEST_SENTENCES = 3
"""An answer with fewer has none to spare."""
_FEWEST_WORDS = 4
_FEWEST_SHARED = 2
"""Words that a sentence must share with a criterion that it carries."""
_SHARE_OF_CRITERION = 0.25


def _drop_heaviest(case: EditCase) -> Edited:
    # Closed sentences and bullets of some words. A formula says what it says in signs.
    sentences = [
        (place, stems_of(piece))
        for place, piece in enumerate(case.pieces)
        if (is_whole(piece) or bullet_of(piece) is not None)
        and is_prose(piece)
        and sum(len(word) > 1 for word in LETTERS.findall(piece)) >= _FEWEST_WORDS
    ]
    if len(sentences) < _FEWEST_SENTENCES:
        raise NoEditError("the answer is too short")
    for index in case.met:
        words = case.demand(index)
        place, stems = max(sentences, key=lambda sentence: len(words & sentence[1]))
        if len(words & stems) >= max(_FEWEST_SHARED, _SHARE_OF_CRITERION * len(words)):
            return remove(case.pieces, place), (index,)
    raise NoEditError("no sentence carries a criterion that is met")


def _check(case: EditCase, edit: MadeEdit) -> None:
    if len(case.sentences) < _FEWEST_SENTENCES:
        raise NoEditError("the answer is too short")
    if edit.added or len(edit.removed) != 1:
        raise NoEditError("not one sentence is gone")
    # The layout may change around the gap, the words may not.
    before, gone, after = (Counter(LETTERS.findall(text)) for text in (case.answer, edit.removed[0], edit.text))
    if before - gone != after:
        raise NoEditError("the answer itself is changed")
    words = stems_of(edit.removed[0])
    if not any(len(words & case.demand(index)) >= _FEWEST_SHARED for index in case.met):
        raise NoEditError("the sentence carries no criterion that is met")


DROP_KEY_ADVICE = EditKind(
    name="drop-key-advice",
    meaning="leaves out the one sentence that matters most",
    is_worthless=True,
    adds_text=False,
    by_rules=_drop_heaviest,
    question=EditQuestion(
        reply={"sentence": int},
        read=lambda reply: (remove(reply.case.pieces, reply.place("sentence", len(reply.case.pieces))), ()),
        shown=lambda case: case.met,
        fewest=1,
        too_few="no criterion is met",
        is_numbered=True,
    ),
    check=_check,
    paper="drop_key_advice",
)
