"""add-substance and integrate-substance: two or three more criteria are really met, at the end or inside."""

from prorubric.audit.edits.kind import EditCase, Edited, EditKind, EditQuestion, MadeEdit, NoEditError, stems_of
from prorubric.audit.phrases import statement_of
from prorubric.audit.place import append, find_slots, insert

_FEWEST, _MOST = 2, 3
"""How many criteria are met."""
_SHARE = 0.5
"""What is added is at most this share of the answer, or `_SHORT` words if that is more."""
_SHORT = 120
_DEALT_WITH = 0.5
"""The least share of a criterion's content words that what meets it has."""
_SAME_SUBSTANCE = 0.6


def _choose_statements(case: EditCase) -> dict[int, str]:
    """By criterion, statements that meet the heaviest, as many as there is room for, and at least two."""
    stated = {index: statement for index in case.unmet if (statement := statement_of(case.criterion(index)))}
    wanted = _SHARE * len(case.answer.split())
    chosen: dict[int, str] = {}
    # The larger limit is for the second statement only: an edit needs at least two.
    for room, most in ((wanted, _MOST), (max(_SHORT, wanted), _FEWEST)):
        for index, statement in stated.items():
            words = sum(len(text.split()) for text in (*chosen.values(), statement))
            if len(chosen) < most and index not in chosen and words <= room and statement not in chosen.values():
                chosen[index] = statement
    if len(chosen) < _FEWEST:
        raise NoEditError("too few unmet criteria can be stated")
    return chosen


def _append_statements(case: EditCase) -> Edited:
    chosen = _choose_statements(case)
    return append(case.answer, " ".join(chosen.values())), tuple(chosen)


def _spread_statements(case: EditCase) -> Edited:
    """Each statement behind the sentence that shares most words with it; two share a place only if they must."""
    chosen = _choose_statements(case)
    pieces, places = case.pieces, find_slots(case.pieces)
    if len(places) < 2:
        raise NoEditError("the answer has no place inside")
    fitted: dict[int, list[str]] = {}
    for number, statement in enumerate(chosen.values()):
        words = stems_of(statement)
        even = places[number * (len(places) - 1) // len(chosen)]  # those that share nothing are spread evenly
        best = max(
            [place for place in places if place not in fitted] or places,
            key=lambda place: (len(words & stems_of(pieces[place])), -abs(place - even), -place),
        )
        fitted.setdefault(best, []).append(statement)
    return insert(pieces, fitted), tuple(chosen)


def _check_substance(case: EditCase, edit: MadeEdit, words: int) -> None:
    case.check_aim(edit, _FEWEST, _MOST)
    if words > max(_SHORT, _SHARE * len(case.answer.split())):
        raise NoEditError("the addition is too long")
    for wanted in map(case.demand, edit.criteria):
        if len(wanted & edit.said) < _DEALT_WITH * len(wanted):
            raise NoEditError("a criterion aimed at is not dealt with")


def _check_integrated(case: EditCase, edit: MadeEdit) -> None:
    partner = case.partner
    if partner is None:
        raise NoEditError("there is no appended text to pair it with")
    case.check_inserted(edit)
    # Something new must come before the end and, if there are several, not all in the same place.
    before, places, behind = case.sentences, set(), 0
    for sentence in edit.sentences:
        if behind < len(before) and sentence == before[behind]:
            behind += 1
        else:
            places.add(behind)
    if len(places) < min(len(edit.added), 2) or min(places) == len(before):
        raise NoEditError("everything is added in one place")
    if not edit.is_as_long_as(partner.text):
        raise NoEditError("the two lengths are too far apart")
    if len(partner.said & edit.said) < _SAME_SUBSTANCE * len(partner.said):
        raise NoEditError("other substance is added than in the pair")
    _check_substance(case, edit, sum(len(sentence.split()) for sentence in edit.added))


ADD_SUBSTANCE = EditKind(
    name="add-substance",
    meaning="really satisfies 2 or 3 more criteria, in a paragraph at the end",
    by_rules=_append_statements,
    question=EditQuestion(
        reply={"paragraph": str},
        read=lambda reply: (append(reply.case.answer, reply.text("paragraph")), reply.criteria),
        fewest=_FEWEST,
        most=_MOST,
        # Half of the answer, and enough for two sentences in any case.
        budget=lambda case: max(int(_SHARE * len(case.answer.split())), _SHORT // 2),
    ),
    check=lambda case, edit: _check_substance(case, edit, len(case.find_appended(edit).split())),
    paper="add_substance",
    paper_redundancy="redundancy_change_substance",
)
INTEGRATE_SUBSTANCE = EditKind(
    name="integrate-substance",
    meaning="the same substance spread through the answer, at about the same length",
    pair=ADD_SUBSTANCE,
    by_rules=_spread_statements,
    question=EditQuestion(
        reply={"insertions": [{"after": int, "sentence": str}]},
        read=lambda reply: (reply.insert(*reply.rows("insertions")), reply.criteria),
        is_numbered=True,
    ),
    check=_check_integrated,
)
