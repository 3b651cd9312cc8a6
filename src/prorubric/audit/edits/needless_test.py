"""needless-test: a sentence inside the answer recommends a plausible step that was not asked for."""

from prorubric.audit.edits.kind import (
    LONGEST_SENTENCE,
    NUMBER,
    TEXT,
    CannotEditError,
    Change,
    EditCase,
    EditKind,
    EditReply,
    MadeEdit,
    Question,
    demand_stems,
    draw_number,
    stems_of,
)
from prorubric.audit.needless import NEEDLESS
from prorubric.audit.place import insert
from prorubric.compile.prompt import find_domain

_ASKED_FOR = 0.6
_INTO = 0.6
"""How far into the answer the rules put the step."""


def _insert_needless(case: EditCase) -> Change:
    steps = NEEDLESS[find_domain(case.task.domain)]
    start = draw_number(case.task.id, "needless-test") % len(steps)
    for step in steps[start:] + steps[:start]:
        if not stems_of(step) <= stems_of(case.answer) and not is_asked_for(case, step):
            break
    else:
        raise CannotEditError("every step of the table is asked for")
    pieces, slots = case.pieces.pieces, case.pieces.slots
    prose = [place for place in slots if not pieces[place].lstrip().startswith(("-", "*", "•", "+"))]
    if not prose:
        return case.append(step), ()
    place = min(prose, key=lambda place: (abs(place - _INTO * len(pieces)), place))
    return insert(pieces, {place: [step]}), ()


def _read(reply: EditReply) -> Change:
    sentence = reply.text("sentence")
    return insert(reply.case.pieces.pieces, {reply.sentence("after"): [sentence]}), ()


def is_asked_for(case: EditCase, sentence: str) -> bool:
    """True if a criterion or the question speaks of the same step."""
    step = stems_of(sentence)
    texts = [*(demand_stems(criterion.text) for criterion in case.task.rubric.criteria), stems_of(case.question)]
    return any(len(step & words) > _ASKED_FOR * len(step) for words in texts)


def _check(case: EditCase, edit: MadeEdit) -> None:
    case.check_inserted(edit)
    if len(edit.added) != 1 or len(edit.added[0].split()) > LONGEST_SENTENCE:
        raise CannotEditError("not one sentence is added")
    if is_asked_for(case, edit.added[0]):
        raise CannotEditError("the step is asked for")


NEEDLESS_TEST = EditKind(
    name="needless-test",
    meaning="recommends one plausible test or step that nobody needs",
    is_worthless=True,
    is_padding=True,
    by_rules=_insert_needless,
    question=Question(
        reply={"after": NUMBER, "sentence": TEXT},
        read=_read,
        shown=lambda case: range(1, len(case.task.rubric) + 1),
        is_numbered=True,
    ),
    check=_check,
    paper="needless_test",
)
