"""What a draft must be before it becomes a protocol rubric: a partition with whole fields, in texts that can be judged.

Structural faults keep a draft from being used. Faults of the text are a matter of degree: they are told to the
generator and reported, and a draft that still has them when the retries are used up is kept with them on record.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from prorubric.compile.draft import Draft, DraftDimension, Fault
from prorubric.compile.repair import counts_from_zero
from prorubric.compile.transforms import has_failure_clause, split_sentences
from prorubric.llm.lexical import list_content_words
from prorubric.rubric.record import is_blank
from prorubric.rubric.records import Task

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
_INLINE_NUMBER = re.compile(r"\(\d{1,2}\)|\([a-h]\)|\b\d\)\s")
_MENTION = re.compile(
    r"\b(?:mentions?|names?|lists?|includes?|contains?|cites?|refers?\s+to|touches?\s+on|references?|mentioning|listing)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")


def find_faults(draft: Draft, n: int) -> list[Fault]:
    """What keeps a draft from being a protocol rubric of n criteria."""
    return [*_check_fields(draft), *_check_count(len(draft.dimensions), n), *_check_partition(draft, n)]


def find_text_faults(draft: Draft, task: Task, checks: Sequence[TextCheck] = TEXT_CHECKS) -> list[Fault]:
    """What is wrong with the texts, by the checks that are wanted."""
    own_words = list_content_words(_gather_text(task)) if "generic" in checks else frozenset()
    faults = []
    for number, dimension in enumerate(draft.dimensions, 1):
        for check, message in _check_text(dimension, task, own_words):
            if check in checks:
                faults.append(Fault(check, f"Criterion {number}: {message}"))
    return faults


def find_exclusion(draft: Draft, n: int) -> str | None:
    """Why a repaired draft cannot be kept, or None."""
    empty = [number for number, dimension in enumerate(draft.dimensions, 1) if not dimension.indices]
    if empty:
        return "a dimension without criteria"
    left = find_faults(draft, n)
    return _EXCLUSIONS.get(left[0].kind, left[0].kind) if left else None


_EXCLUSIONS = {
    "no name": "a dimension without a name",
    "no description": "a dimension without a description",
    "too many": "more than five dimensions",
    "too few": "fewer than two dimensions",
    "left out": "criteria in no dimension",
}


def _check_fields(draft: Draft) -> Iterator[Fault]:
    for number, dimension in enumerate(draft.dimensions, 1):
        if is_blank(dimension.name):
            yield Fault("no name", f"Criterion {number} has no name.")
        if is_blank(dimension.description):
            yield Fault("no description", f"Criterion {number} has no description.")


def _check_count(count: int, n: int) -> Iterator[Fault]:
    if count > MOST:
        yield Fault("too many", f"There are {count} criteria; write {FEWEST} to {min(MOST, n)}.")
    elif count < FEWEST:
        yield Fault("too few", f"There is {count} criterion; write {FEWEST} to {min(MOST, n)}.")


def _check_partition(draft: Draft, n: int) -> Iterator[Fault]:
    if counts_from_zero(draft, n):
        yield Fault("from zero", f"The indices count from 0; the items are numbered from 1 to {n}.")
        return
    for number, dimension in enumerate(draft.dimensions, 1):
        if dimension.unreadable:
            yield Fault("no index", f"Criterion {number}: {dimension.unreadable[0]} is no index.")
        if not dimension.indices:
            yield Fault("no items", f"Criterion {number} has no items.")
    used = Counter(index for dimension in draft.dimensions for index in dimension.indices)
    outside = sorted(index for index in used if not 1 <= index <= n)
    if outside:
        yield Fault("out of range", f"There is no item {_show(outside)}; the items are numbered from 1 to {n}.")
    repeated = sorted(index for index, count in used.items() if count > 1 and 1 <= index <= n)
    if repeated:
        yield Fault("twice", f"Item {_show(repeated)} is used more than once; each belongs to one criterion.")
    missing = [index for index in range(1, n + 1) if index not in used]
    if missing:
        yield Fault("left out", f"Item {_show(missing)} is in no criterion; each belongs to one.")


def _check_text(dimension: DraftDimension, task: Task, own_words: frozenset[str]) -> Iterator[tuple[TextCheck, str]]:
    text = dimension.description
    if len(dimension.name.split()) > _LONGEST_NAME:
        yield "name", f"the name has {len(dimension.name.split())} words; use at most {_LONGEST_NAME}."
    if is_blank(text):
        return
    if not has_failure_clause(text):
        yield "clause", 'the description does not say what makes an answer fail; end with a sentence "Fails if …".'
    sentences = split_sentences(text)
    if not _SENTENCES[0] <= len(sentences) <= _SENTENCES[1]:
        yield "sentences", f"the description has {len(sentences)} sentence(s); write 2 to 5."
    if _is_checklist(text, sentences):
        yield "mentions", "the description is a list of things to mention; say what a good answer achieves."
    if _measure_quoting(dimension, task) > _MOST_QUOTED:
        yield "quotes", "the description repeats items word for word; say in other words what they demand together."
    if own_words and len(list_content_words(text) & own_words) < _FEWEST_SHARED:
        yield "generic", "the description would fit any question; say what it means for this one."


def _is_checklist(text: str, sentences: Sequence[str]) -> bool:
    """Bullets, numbered parts, or sentences of which most demand a mention."""
    if len(_BULLET.findall(text)) >= 2 or len(_INLINE_NUMBER.findall(text)) >= 3:
        return True
    demands = [sentence for sentence in sentences if not has_failure_clause(sentence)]
    mentions = sum(bool(_MENTION.search(sentence)) for sentence in demands)
    return mentions >= 2 and mentions * 2 > len(demands)


def _measure_quoting(dimension: DraftDimension, task: Task) -> float:
    """The share of runs of five words that stand in one of the dimension's items word for word."""
    runs = _list_runs(dimension.description)
    if len(runs) < _QUOTED_RUN:
        return 0.0
    items = [index for index in dimension.indices if 1 <= index <= len(task.rubric)]
    theirs = {run for index in items for run in _list_runs(task.rubric.criteria[index - 1].text)}
    return sum(run in theirs for run in runs) / len(runs)


def _list_runs(text: str) -> list[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return [tuple(words[start : start + _QUOTED_RUN]) for start in range(len(words) - _QUOTED_RUN + 1)]


def _gather_text(task: Task) -> str:
    return "\n".join([*(m.content for m in task.messages), *(c.text for c in task.rubric.criteria)])


def _show(indices: Sequence[int]) -> str:
    shown = ", ".join(map(str, indices[:_SHOWN_INDICES]))
    return shown + (f" and {len(indices) - _SHOWN_INDICES} more" if len(indices) > _SHOWN_INDICES else "")
