"""Check that a draft can become a protocol rubric: a partition with whole fields, in texts that can be judged.

A draft with structural faults cannot be used. Faults of the text are a matter of degree: the generator is asked to
correct them, and a draft that still has them when the retries are used up is kept with its faults recorded.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Literal

from prorubric.compile.draft import Draft, DraftDimension, Fault
from prorubric.compile.repair import counts_from_zero
from prorubric.rubric.records import Task
from prorubric.text.failures import split_clauses
from prorubric.text.show import is_blank
from prorubric.text.words import find_content_words, is_content

FEWEST, MOST = 2, 5
TextCheck = Literal["clause", "name", "sentences", "mentions", "quotes", "generic"]
TEXT_CHECKS: tuple[TextCheck, ...] = ("clause", "name", "sentences", "mentions", "quotes", "generic")

_LONGEST_NAME = 6
_SENTENCES = (2, 5)
_MOST_QUOTED = 0.6
_QUOTED_RUN = 5
_FEWEST_SHARED = 2
_SHOWN_INDICES = 8

_BULLET = re.compile(r"^\s*(?:[-*•·]|\(?\d{1,2}[.)]|\(?[a-h]\))\s+", re.MULTILINE)
# "(1)", "(a)" or "1)" before a word. SU(2) is not the number of an item, and neither is "(stage 2)".
_INLINE_NUMBER = re.compile(r"(?<!\w)\((?:\d{1,2}|[a-h])\)\s|(?<![\w(])\d\)\s")
_REMARK = re.compile(r"\([^()]{3,}\)")
# A demand that begins with a mention, with or without its subject: "The answer lists …", "Must mention …".
_MENTION = re.compile(
    r"\W*+(?:(?:the|an?|this|any)\s+)?+(?:(?:good|strong|ideal|complete)\s+)?+(?:(?:answer|response|reply|text|it)\s+)?+"
    r"(?:(?:must|should|shall|has\s+to|needs\s+to|also|\w+ly)\s+)*+"
    r"(?:mentions?|names?|lists?|includes?|contains?|cites?|references?|(?:refers?|touch(?:es)?)\s+(?:to|on))\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_GAPS = {code: " " for code in range(128) if not _WORD.match(chr(code))}


def find_faults(draft: Draft, n: int) -> list[Fault]:
    """Why a draft cannot be a protocol rubric of n criteria."""
    faults = [
        Fault(f"no {key}", f"Criterion {number} has no {key}.")
        for number, dimension in enumerate(draft.dimensions, 1)
        for key in ("name", "description")
        if is_blank(getattr(dimension, key))
    ]
    count, allowed = len(draft.dimensions), f"write {FEWEST} to {min(MOST, n)}"
    if count > MOST:
        faults.append(Fault("too many", f"There are {count} criteria; {allowed}."))
    elif count < FEWEST:
        there = "There is only one criterion" if count else "There are no criteria"
        faults.append(Fault("too few", f"{there}; {allowed}."))
    if counts_from_zero(draft, n):
        return [*faults, Fault("from zero", f"The indices count from 0; the items are numbered from 1 to {n}.")]
    for number, dimension in enumerate(draft.dimensions, 1):
        if dimension.unreadable:
            faults.append(Fault("no index", f"Criterion {number}: {dimension.unreadable[0]} is not an index."))
        if not dimension.indices:
            faults.append(Fault("no items", f"Criterion {number} has no items."))
    used = Counter(draft.indices)
    if outside := sorted(index for index in used if not 1 <= index <= n):
        detail = f"There is no item {show_indices(outside)}; the items are numbered from 1 to {n}."
        faults.append(Fault("out of range", detail))
    if repeated := sorted(index for index, times in used.items() if times > 1 and 1 <= index <= n):
        detail = f"Item {show_indices(repeated)} is used more than once; each belongs to one criterion."
        faults.append(Fault("twice", detail))
    if missing := [index for index in range(1, n + 1) if index not in used]:
        faults.append(Fault("left out", f"Item {show_indices(missing)} is in no criterion; each belongs to one."))
    return faults


def find_exclusion(draft: Draft, n: int) -> Fault | None:
    """Why a repaired draft cannot be kept, or None."""
    # Too many dimensions, then one that lost all its criteria, say more than what else may be wrong.
    faults = sorted(find_faults(draft, n), key=lambda fault: (fault.kind != "too many", fault.kind != "no items"))
    return Fault(_EXCLUSIONS.get(faults[0].kind, faults[0].kind), faults[0].detail) if faults else None


_EXCLUSIONS = {
    "no name": "a dimension without a name",
    "no description": "a dimension without a description",
    "no items": "a dimension without criteria",
    "too many": "more than five dimensions",
    "too few": "fewer than two dimensions",
    "left out": "criteria in no dimension",
}


def find_text_faults(draft: Draft, task: Task, checks: Sequence[TextCheck] = TEXT_CHECKS) -> list[Fault]:
    """What is wrong with the texts, according to these checks."""
    return [
        Fault(fault.kind, f"Criterion {number}: {fault.detail}")
        for number, faults in enumerate(list_text_faults(draft, task), 1)
        for fault in faults
        if fault.kind in checks
    ]


def list_text_faults(draft: Draft, task: Task) -> list[list[Fault]]:
    """What is wrong with the text of each dimension."""
    items = [criterion.text.casefold() for criterion in task.rubric.criteria]
    item_words = frozenset(list_words("\n".join(items)))
    return [
        [Fault(check, detail) for check, detail in _check_text(dimension, task, items, item_words)]
        for dimension in draft.dimensions
    ]


def _check_text(
    dimension: DraftDimension, task: Task, items: Sequence[str], item_words: Collection[str]
) -> Iterator[tuple[TextCheck, str]]:
    length = sum(bool(_WORD.search(part)) for part in dimension.name.split())
    if length > _LONGEST_NAME:
        yield "name", f"the name has {length} words; use at most {_LONGEST_NAME}."
    text = dimension.description
    if is_blank(text):
        return
    sentences = split_clauses(text)
    demands = [sentence.text for sentence in sentences if not sentence.is_failure]
    if len(demands) == len(sentences):
        yield "clause", 'the description does not say what makes an answer fail; end with a sentence "Fails if …".'
    count = len(sentences) - sum(sentence.is_rest for sentence in sentences)
    if not _SENTENCES[0] <= count <= _SENTENCES[1]:
        yield "sentences", f"the description has {count} sentence(s); write 2 to 5."
    is_list = "\n" in text and len(_BULLET.findall(text)) >= 2
    is_numbered = ")" in text and len(_INLINE_NUMBER.findall(_REMARK.sub("", text))) >= 3
    mentions = sum(bool(_MENTION.match(sentence)) for sentence in demands)
    if is_list or is_numbered or (mentions >= 2 and mentions * 2 > len(demands)):
        yield "mentions", "the description is a list of things to mention; say what a good answer achieves."
    words = list_words(text.casefold())
    known = [word for word in words if word in item_words]
    own_items = [items[index - 1] for index in dimension.indices if 1 <= index <= len(items)]
    if _quotes_items(words, len(known), own_items):
        yield "quotes", "the description repeats items word for word; say in other words what they demand together."
    # Two content words, or as many as there are, must come from the checklist or else from the conversation.
    if len(set(filter(is_content, known))) < _FEWEST_SHARED:
        turns = [message.content.casefold() for message in task.messages]
        subject = frozenset(find_content_words("\n".join([*turns, *items])))
        shared = subject.intersection(find_content_words(" ".join(words)))
        if len(shared) < min(_FEWEST_SHARED, len(subject)):
            yield "generic", "the description would fit any question; say what it means for this one."


def _quotes_items(words: Sequence[str], known: int, items: Sequence[str]) -> bool:
    """True if most runs of five words are in one of the items, word for word."""
    count = len(words) - _QUOTED_RUN + 1
    # Each run begins with another word: no more runs can be quoted than words are known. Most texts stop here.
    if count < _QUOTED_RUN or known <= _MOST_QUOTED * count:
        return False
    own, *theirs = (
        [tuple(text[start : start + _QUOTED_RUN]) for start in range(len(text) - _QUOTED_RUN + 1)]
        for text in (words, *map(list_words, items))
    )
    return sum(map(set(chain.from_iterable(theirs)).__contains__, own)) / count > _MOST_QUOTED


def list_words(text: str) -> list[str]:
    """The runs of letters and digits. Splitting plain ASCII at its gaps takes a third of the pattern's time."""
    return text.translate(_GAPS).split() if text.isascii() else _WORD.findall(text)


def show_indices(indices: Sequence[int]) -> str:
    """The first few, and how many more there are."""
    shown = ", ".join(map(str, indices[:_SHOWN_INDICES]))
    return shown + (f" and {len(indices) - _SHOWN_INDICES} more" if len(indices) > _SHOWN_INDICES else "")
