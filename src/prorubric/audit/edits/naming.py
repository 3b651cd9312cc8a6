"""name-item and name-topic: the answer ends with the names, or only the topics, of criteria that it does not meet."""

import re
from collections.abc import Sequence

from prorubric.audit.edits.kind import (
    NAME,
    TOO_FEW_UNMET,
    EditCase,
    Edited,
    EditKind,
    EditQuestion,
    MadeEdit,
    NoEditError,
    stems_of,
)
from prorubric.audit.phrases import GENERIC, LABELS, name_of, topic_of
from prorubric.audit.place import append

_FEWEST, _MOST = 2, 6
"""How many items or topics are named: as many as are unmet, up to the paper's 6."""
_LONGEST = 120
_MANY_WORDS = 6
_WHOLE = 0.8
"""Above this share of a criterion's content words, the text says more than its name."""
_MANY_TOPICS = 4
_PARTS = re.compile(r",|;|[.!?]\s|\s(?:and|or|y|e|o|et|ou|und|oder)\s|[、，；和与或]")
_NUMBER_ALONE = re.compile(r"(?<![\w-])\d")


def _name_items(case: EditCase) -> Edited:
    if len(case.unmet) < _FEWEST:
        raise NoEditError(TOO_FEW_UNMET)
    names: dict[str, int] = {}
    for index in case.unmet:
        name = name_of(case.criterion(index))
        if name is not None and name.lower() not in map(str.lower, names):
            names[name] = index
        if len(names) == _MOST:
            break
    if len(names) < _FEWEST:
        raise NoEditError("too few unmet items can be named")
    paragraph = f"Other points to keep in mind here are {_join([*names])}."
    return append(case.answer, paragraph), tuple(names.values())


def _name_topics(case: EditCase) -> Edited:
    targets = case.unmet[:_MOST]
    if len(targets) < _FEWEST:
        raise NoEditError(TOO_FEW_UNMET)
    # If several items share a topic, others are named too: the list must not show how many items of a kind there are.
    topics = dict.fromkeys([*(topic_of(case.criterion(index)) for index in targets), *LABELS])
    labels = (next((label for label in LABELS[topic] if find_leak(case, label) is None), None) for topic in topics)
    named = list(dict.fromkeys(label for label in labels if label is not None))[: len(targets)]
    return append(case.answer, f"There is more to think about here: {_join(named)}."), tuple(targets)


def _join(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def find_leak(case: EditCase, paragraph: str) -> str | None:
    """What gives away an item that only its topic should name, or None."""
    if _NUMBER_ALONE.search(paragraph):
        return "a number"
    known = case.asked | stems_of(case.answer)
    if any(stems_of(name) - known for name in NAME.findall(paragraph)):
        return "a name"
    leaked = (stems_of(paragraph) & frozenset().union(*case.every_demand)) - known - GENERIC
    return "a word of the checklist" if leaked else None


def _check_paragraph(case: EditCase, edit: MadeEdit) -> None:
    paragraph = case.find_appended(edit)
    if "\n" in paragraph.strip():
        raise NoEditError("more than one paragraph is added")
    if len(paragraph.split()) > _LONGEST:
        raise NoEditError("the addition is too long")
    case.check_aim(edit, _FEWEST, _MOST)


def _check_items(case: EditCase, edit: MadeEdit) -> None:
    _check_paragraph(case, edit)
    for words in map(case.demand, edit.criteria):
        if not words & edit.said:
            raise NoEditError("an item is not named")
        if len(words) >= _MANY_WORDS and len(words & edit.said) > _WHOLE * len(words):
            raise NoEditError("an item is more than named")


def _check_topics(case: EditCase, edit: MadeEdit) -> None:
    _check_paragraph(case, edit)
    paragraph = " ".join(edit.added)
    leak = find_leak(case, paragraph)
    if leak:
        raise NoEditError(f"the topic gives an item away: {leak}")
    if len(_PARTS.split(paragraph)) < min(_MANY_TOPICS, len(edit.criteria)):
        raise NoEditError("too few topics are named")


_QUESTION = EditQuestion(
    reply={"paragraph": str},
    read=lambda reply: (append(reply.case.answer, reply.text("paragraph")), reply.criteria),
    fewest=_FEWEST,
    most=_MOST,
)
NAME_ITEM = EditKind(
    name="name-item",
    meaning="names 2 to 6 checklist items that the answer does not cover, and says nothing about them",
    is_worthless=True,
    is_padding=True,
    by_rules=_name_items,
    question=_QUESTION,
    check=_check_items,
    paper="name_item",
    paper_redundancy="redundancy_change_name",
)
NAME_TOPIC = EditKind(
    name="name-topic",
    meaning="the same with the topics only: no item can be recognised",
    is_worthless=True,
    is_padding=True,
    by_rules=_name_topics,
    question=_QUESTION,
    check=_check_topics,
    paper="name_topic",
)
