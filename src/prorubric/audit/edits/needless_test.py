"""needless-test: a sentence inside the answer recommends a plausible step that was not asked for."""

import tomllib
from pathlib import Path

from prorubric.audit.edits.kind import (
    EditCase,
    Edited,
    EditKind,
    EditQuestion,
    MadeEdit,
    NoEditError,
    draw_number,
    stems_of,
)
from prorubric.audit.place import append, find_slots, insert
from prorubric.compile.prompt import find_domain

STEPS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""Needless steps by domain, recommended without a reason."""
_ASKED_FOR = 0.6
_INTO = 0.6
"""How far into the answer the rules put the step."""


def _insert_step(case: EditCase) -> Edited:
    steps = STEPS[find_domain(case.task.domain)]
    start = draw_number(case.task.id, "needless-test") % len(steps)
    for step in steps[start:] + steps[:start]:
        if not stems_of(step) <= stems_of(case.answer) and not is_asked_for(case, step):
            break
    else:
        raise NoEditError("every step of the table is asked for")
    pieces, slots = case.pieces, find_slots(case.pieces)
    prose = [place for place in slots if not pieces[place].lstrip().startswith(("-", "*", "•", "+"))]
    if not prose:
        return append(case.answer, step), ()
    place = min(prose, key=lambda place: (abs(place - _INTO * len(pieces)), place))
    return insert(pieces, {place: [step]}), ()


def is_asked_for(case: EditCase, sentence: str) -> bool:
    """True if a criterion or the question speaks of the same step."""
    step = stems_of(sentence)
    return any(len(step & words) > _ASKED_FOR * len(step) for words in (*case.every_demand, case.asked))


def _check(case: EditCase, edit: MadeEdit) -> None:
    case.check_inserted(edit)
    edit.check_one_sentence()
    if is_asked_for(case, edit.added[0]):
        raise NoEditError("the step is asked for")


NEEDLESS_TEST = EditKind(
    name="needless-test",
    meaning="recommends one plausible but unnecessary test or step",
    is_worthless=True,
    is_padding=True,
    by_rules=_insert_step,
    question=EditQuestion(
        reply={"after": int, "sentence": str},
        read=lambda reply: (reply.insert(reply), ()),
        shown=lambda case: range(1, len(case.task.rubric) + 1),
        most=None,
        is_numbered=True,
    ),
    check=_check,
    paper="needless_test",
)
