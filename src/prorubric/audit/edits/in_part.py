"""in-part: the answer ends with a sentence that meets the first half of an unmet criterion."""

from prorubric.audit.edits.kind import (
    LONGEST_SENTENCE,
    MOST_SHOWN,
    NUMBER,
    TEXT,
    WHOLE,
    CannotEditError,
    Change,
    EditCase,
    EditKind,
    EditReply,
    MadeEdit,
    Question,
    demand_stems,
    stems_of,
)
from prorubric.audit.phrases import first_requirement, statement_of

_LARGEST_HALF = 0.5
"""The share of the words of a criterion's other half that its first half may share with it."""


def _state_half(case: EditCase) -> Change:
    for index in case.unmet:
        half = first_requirement(case.criterion(index))
        sentence = statement_of(half) if half else None
        if sentence is not None:
            text = case.append(sentence)
            try:
                IN_PART.verify(case, MadeEdit.of(IN_PART.name, case.answer, text, (index,)))
            except CannotEditError:
                continue
            return text, (index,)
    raise CannotEditError("no unmet criterion has two parts of which one can be stated")


def _read(reply: EditReply) -> Change:
    number = reply.found.get("criterion")
    if number == 0 and not isinstance(number, bool):
        raise CannotEditError("no unmet criterion has two parts", is_final=True)
    index = reply.criterion("criterion")
    return reply.case.append(reply.text("sentence")), (index,)


def _check(case: EditCase, edit: MadeEdit) -> None:
    sentence = case.find_appended(edit)
    if len(edit.added) != 1 or len(sentence.split()) > LONGEST_SENTENCE:
        raise CannotEditError("not one sentence is added")
    case.check_aim(edit, 1, 1)
    criterion = case.criterion(edit.criteria[0])
    said, words, half = stems_of(sentence), demand_stems(criterion), first_requirement(criterion)
    if not words & said:
        raise CannotEditError("the criterion is not touched")
    # "and explains why" has no words to look for; then what counts is how much of the criterion is said.
    rest, most = (words, WHOLE) if half is None else (words - stems_of(half), _LARGEST_HALF)
    if len(rest & said) > most * len(rest):
        raise CannotEditError("the whole criterion is said")


IN_PART = EditKind(
    name="in-part",
    meaning="one sentence that meets only the first half of an unmet criterion",
    is_worthless=True,
    by_rules=_state_half,
    question=Question(reply={"criterion": NUMBER, "sentence": TEXT}, read=_read, fewest=1, most=MOST_SHOWN),
    check=_check,
    paper="satisfy_in_part",
)
