"""The editor `rules`: all edits without a model, from the words of the checklist and of the answer. Deterministic.

What it writes is plain and at times clumsy, and it knows nothing that is not in the checklist: a criterion that demands
something without saying it cannot be met by it. It reads and writes English. What it cannot make it says it cannot, and
what it makes is verified like the edits of any other editor. The same answer gets the same edits in every process.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

from prorubric.audit.edits import PAIRS, Edit, EditCase, EditKind, NotMade
from prorubric.audit.needless import NEEDLESS
from prorubric.audit.phrases import LABELS, first_requirement, name_of, statement_of, topic_of
from prorubric.audit.place import Pieces, append, insert, remove
from prorubric.audit.rewording import reword
from prorubric.audit.verify import (
    FEWEST_SENTENCES,
    FEWEST_SHARED,
    LARGEST_ADDITION,
    NAMED,
    SHORT_ADDITION,
    SUBSTANCE,
    check_edit,
    compare,
    demand_stems,
    find_leak,
    is_asked_for,
    list_met,
    list_targets,
    stems_of,
)
from prorubric.compile.prompt import find_domain
from prorubric.llm.lexical import LETTERS, is_english
from prorubric.text.units import bullet_of, is_prose, is_whole

NAME = "rules"
IDENTITY = "rules/2"
"""Changes with anything here that changes an edit."""

_FEWEST_WORDS = 4
_SHARE_OF_CRITERION = 0.25
_INTO = 0.6
"""How far into the answer a needless step is put."""


class RulesEditor:
    """Edits answers by rules."""

    name = NAME
    identity = IDENTITY

    async def edit(self, case: EditCase, kinds: Sequence[EditKind]) -> tuple[Edit | NotMade, ...]:
        """One outcome for each kind, in order."""
        return edit_by_rules(case, kinds)

    async def close(self) -> None:
        """There is nothing to let go of."""


def edit_by_rules(case: EditCase, kinds: Sequence[EditKind]) -> tuple[Edit | NotMade, ...]:
    """One outcome for each kind, in order, each verified."""
    reason = _find_unfit(case)
    if reason:
        return tuple(NotMade(kind=kind, reason=reason) for kind in kinds)
    pieces = Pieces.of(case.answer)
    made: dict[EditKind, Edit | NotMade] = {}
    for kind in kinds:
        pair = PAIRS.get(kind)
        if pair is not None and pair not in made:
            made[pair] = _make(case, pieces, pair, None)
        if kind not in made:
            made[kind] = _make(case, pieces, kind, made.get(pair) if pair else None)
    return tuple(made[kind] for kind in kinds)


def _find_unfit(case: EditCase) -> str | None:
    if not case.answer.strip():
        return "the answer is empty"
    return None if is_english(case.answer) else "the answer is not in English"


def _make(case: EditCase, pieces: Pieces, kind: EditKind, partner: Edit | NotMade | None) -> Edit | NotMade:
    made = _MAKERS[kind](case, pieces)
    if isinstance(made, str):
        return NotMade(kind=kind, reason=made)
    text, criteria = made
    added, removed = compare(case.answer, text)
    edit = Edit(kind=kind, text=text, added=added, removed=removed, criteria=criteria)
    reason = check_edit(case, edit, partner if isinstance(partner, Edit) else None)
    return edit if reason is None else NotMade(kind=kind, reason=reason)


_Made = tuple[str, tuple[int, ...]] | str
"""The edited text and the criteria that it aims at, or why there is none."""


def _name_items(case: EditCase, _: Pieces) -> _Made:
    names: dict[str, int] = {}
    for index in list_targets(case):
        name = name_of(case.task.rubric.criteria[index - 1].text)
        if name is not None and name.lower() not in map(str.lower, names):
            names[name] = index
        if len(names) == NAMED[1]:
            break
    if len(names) < NAMED[0]:
        return "too few unmet items can be named"
    return append(case.answer, f"Other points to keep in mind here are {_join(names)}."), tuple(names.values())


def _name_topics(case: EditCase, _: Pieces) -> _Made:
    targets = list_targets(case)[: NAMED[1]]
    if len(targets) < NAMED[0]:
        return "too few unmet items can be named"
    topics = [topic_of(case.task.rubric.criteria[index - 1].text) for index in targets]
    # Where several items have one topic, others stand in: what is named must not say how many of a kind there are.
    order = [*topics, *(topic for topic in LABELS if topic not in topics)]
    labels: dict[str, None] = {}
    for topic in dict.fromkeys(order):
        label = next((label for label in LABELS[topic] if find_leak(case, label) is None), None)
        if label is not None:
            labels[label] = None
        if len(labels) == len(targets):
            break
    return append(case.answer, f"There is more to think about here: {_join(labels)}."), tuple(targets)


def _meet_in_part(case: EditCase, _: Pieces) -> _Made:
    for index in list_targets(case):
        half = first_requirement(case.task.rubric.criteria[index - 1].text)
        sentence = statement_of(half) if half else None
        if sentence is None:
            continue
        text = append(case.answer, sentence)
        added, removed = compare(case.answer, text)
        edit = Edit(kind="in-part", text=text, added=added, removed=removed, criteria=(index,))
        if check_edit(case, edit) is None:
            return text, (index,)
    return "no unmet criterion has two parts of which one can be stated"


def _add_needless(case: EditCase, pieces: Pieces) -> _Made:
    steps = NEEDLESS[find_domain(case.task.domain)]
    start = draw_number(case.task.id, "needless-test") % len(steps)
    answer = stems_of(case.answer)
    for step in steps[start:] + steps[:start]:
        known = stems_of(step) <= answer
        if not known and not is_asked_for(case, step):
            break
    else:
        return "every step of the table is asked for"
    prose = [place for place in pieces.slots if not pieces.pieces[place].lstrip().startswith(("-", "*", "•", "+"))]
    if not prose:
        return append(case.answer, step), ()
    target = _INTO * len(pieces.pieces)
    place = min(prose, key=lambda place: (abs(place - target), place))
    return insert(pieces.pieces, {place: [step]}), ()


def _drop_advice(case: EditCase, pieces: Pieces) -> _Made:
    sentences = [(place, stems_of(piece)) for place, piece in enumerate(pieces.pieces) if _is_said(piece)]
    if len(sentences) < FEWEST_SENTENCES:
        return "the answer is too short"
    for index in list_met(case):
        words = demand_stems(case.task.rubric.criteria[index - 1].text)
        place, shared = max(
            ((place, len(words & stems)) for place, stems in sentences), key=lambda found: (found[1], -found[0])
        )
        if shared >= max(FEWEST_SHARED, _SHARE_OF_CRITERION * len(words)):
            return remove(pieces.pieces, place), (index,)
    return "no sentence carries a criterion that is met"


def _is_said(piece: str) -> bool:
    """True for closed sentences and bullets of some words; a formula says what it says in signs, a line its subject."""
    closed = is_whole(piece) or bullet_of(piece) is not None
    return closed and is_prose(piece) and sum(len(word) > 1 for word in LETTERS.findall(piece)) >= _FEWEST_WORDS


def _paraphrase(_: EditCase, pieces: Pieces) -> _Made:
    text = reword(pieces.pieces)
    return "nothing can be worded differently" if text is None else (text, ())


def _choose_substance(case: EditCase) -> dict[int, str] | str:
    """Statements that meet the heaviest criteria, as many as there is room for, and at least two."""
    room = max(SHORT_ADDITION, LARGEST_ADDITION * len(case.answer.split()))
    wanted = min(room, LARGEST_ADDITION * len(case.answer.split()))
    stated = {
        index: statement
        for index in list_targets(case)
        if (statement := statement_of(case.task.rubric.criteria[index - 1].text)) is not None
    }
    chosen: dict[int, str] = {}
    for limit in (wanted, room):
        for index, statement in stated.items():
            words = sum(len(text.split()) for text in chosen.values()) + len(statement.split())
            # The larger room is for the second statement only, without which there is no edit.
            full = len(chosen) >= (SUBSTANCE[1] if limit == wanted else SUBSTANCE[0])
            if not full and index not in chosen and words <= limit and statement not in chosen.values():
                chosen[index] = statement
    return chosen if len(chosen) >= SUBSTANCE[0] else "too few unmet criteria can be stated"


def _append_substance(case: EditCase, _: Pieces) -> _Made:
    chosen = _choose_substance(case)
    if isinstance(chosen, str):
        return chosen
    return append(case.answer, " ".join(chosen.values())), tuple(chosen)


def _integrate_substance(case: EditCase, pieces: Pieces) -> _Made:
    chosen = _choose_substance(case)
    if isinstance(chosen, str):
        return chosen
    inner = [place for place in pieces.slots if place < len(pieces.pieces) - 1]
    if not inner:
        return "the answer has no place inside"
    places = sorted({*inner, *pieces.slots[-1:]})
    if len(places) < 2:
        return "the answer has no place inside"
    return insert(pieces.pieces, _fit(list(chosen.values()), pieces, places)), tuple(chosen)


def _fit(statements: Sequence[str], pieces: Pieces, places: Sequence[int]) -> dict[int, list[str]]:
    """Each statement behind the sentence that shares most words with it; no two in one place while there are others."""
    stems = {place: stems_of(pieces.pieces[place]) for place in places}
    fitted: dict[int, list[str]] = {}
    for number, statement in enumerate(statements):
        words = stems_of(statement)
        # Where nothing is shared they are spread evenly.
        even = places[number * (len(places) - 1) // len(statements)]
        free = [place for place in places if place not in fitted] or list(places)
        best = max(free, key=lambda place: (len(words & stems[place]), -abs(place - even), -place))
        fitted.setdefault(best, []).append(statement)
    return fitted


_MAKERS: dict[EditKind, Callable[[EditCase, Pieces], _Made]] = {
    "name-item": _name_items,
    "name-topic": _name_topics,
    "in-part": _meet_in_part,
    "needless-test": _add_needless,
    "drop-key-advice": _drop_advice,
    "paraphrase": _paraphrase,
    "add-substance": _append_substance,
    "integrate-substance": _integrate_substance,
}


@lru_cache(maxsize=4_096)
def draw_number(*parts: str) -> int:
    """A number that depends on the parts alone, in every process the same."""
    text = "\x00".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


def _join(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
