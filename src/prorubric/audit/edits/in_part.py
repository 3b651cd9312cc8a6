"""in-part: the answer ends with a sentence that meets the first half of an unmet criterion."""

from contextlib import suppress

from prorubric.audit.edits.kind import (
    EditCase,
    Edited,
    EditKind,
    EditQuestion,
    EditReply,
    MadeEdit,
    NoEditError,
    stems_of,
)
from prorubric.audit.phrases import first_requirement, statement_of
from prorubric.audit.place import append

_WHOLE = 0.8
_LARGEST_HALF = 0.5
"""The share of the words of a criterion's other half that its first half may share with it."""


def _state_half(case: EditCase) -> Edited:
    for index in case.unmet:
        half = first_requirement(case.criterion(index))
        sentence = statement_of(half) if half else None
        if sentence is not None:
            with suppress(NoEditError):
                edit = IN_PART.apply(case, append(case.answer, sentence), (index,))
                return edit.text, edit.criteria
    raise NoEditError("no unmet criterion has two parts of which one can be stated")


def _read(reply: EditReply) -> Edited:
    number = reply.found.get("criterion")
    if number == 0 and not isinstance(number, bool):
        raise NoEditError("no unmet criterion has two parts", is_final=True)
    index = reply.criteria[reply.place("criterion", len(reply.criteria), "criterion")]
    return append(reply.case.answer, reply.text("sentence")), (index,)


def _check(case: EditCase, edit: MadeEdit) -> None:
    case.find_appended(edit)
    edit.check_one_sentence()
    case.check_aim(edit, 1, 1)
    words, half = case.demand(edit.criteria[0]), first_requirement(case.criterion(edit.criteria[0]))
    if not words & edit.said:
        raise NoEditError("the criterion is not touched")
    # "and explains why" has no words to look for; then it counts how much of the criterion is covered.
    rest, most = (words, _WHOLE) if half is None else (words - stems_of(half), _LARGEST_HALF)
    if len(rest & edit.said) > most * len(rest):
        raise NoEditError("the text says the whole criterion")


IN_PART = EditKind(
    name="in-part",
    meaning="one sentence that meets only the first half of an unmet criterion",
    is_worthless=True,
    by_rules=_state_half,
    question=EditQuestion(reply={"criterion": int, "sentence": str}, read=_read, fewest=1),
    check=_check,
    paper="satisfy_in_part",
)
