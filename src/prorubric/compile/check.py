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
# "(1)", "(a)" or "1)" before a word. SU(2) is no number of an item, and neither is "(stage 2)".
_INLINE_NUMBER = re.compile(r"(?<!\w)\((?:\d{1,2}|[a-h])\)\s|(?<![\w(])\d\)\s")
_REMARK = re.compile(r"\([^()]{3,}\)")
# A demand that begins with a mention, with or without its subject: "The answer lists …", "Must mention …".
_MENTION = re.compile(
    r"\W*(?:(?:the|an?|this|any)\s+)?(?:(?:good|strong|ideal|complete)\s+)?(?:(?:answer|response|reply|text|it)\s+)?"
    r"(?:(?:must|should|shall|has\s+to|needs\s+to|also|\w+ly)\s+)*"
    r"(?:mentions?|names?|lists?|includes?|contains?|cites?|references?|(?:refers?|touch(?:es)?)\s+(?:to|on))\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_GAPS = {code: " " for code in range(128) if not _WORD.match(chr(code))}


def find_faults(draft: Draft, n: int) -> list[Fault]:
    """What keeps a draft from being a protocol rubric of n criteria."""
    partition = () if _is_partition(draft, n) else _check_partition(draft, n)
    return [*_check_fields(draft), *_check_count(len(draft.dimensions), n), *partition]


def find_text_faults(draft: Draft, task: Task, checks: Sequence[TextCheck] = TEXT_CHECKS) -> list[Fault]:
    """What is wrong with the texts, by the checks that are wanted."""
    if not checks:
        return []
    subject = _Subject(task)
    return [
        Fault(check, f"Criterion {number}: {message}")
        for number, dimension in enumerate(draft.dimensions, 1)
        for check, message in _check_text(dimension, subject)
        if check in checks
    ]


def find_exclusion(draft: Draft, n: int) -> str | None:
    """Why a repaired draft cannot be kept, or None."""
    if len(draft.dimensions) > MOST:
        return _EXCLUSIONS["too many"]
    if not all(dimension.indices for dimension in draft.dimensions):
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
        there = "There is only one criterion" if count else "There are no criteria"
        yield Fault("too few", f"{there}; write {FEWEST} to {min(MOST, n)}.")


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
        yield Fault("out of range", f"There is no item {show_indices(outside)}; the items are numbered from 1 to {n}.")
    repeated = sorted(index for index, count in used.items() if count > 1 and 1 <= index <= n)
    if repeated:
        yield Fault("twice", f"Item {show_indices(repeated)} is used more than once; each belongs to one criterion.")
    missing = [index for index in range(1, n + 1) if index not in used]
    if missing:
        yield Fault("left out", f"Item {show_indices(missing)} is in no criterion; each belongs to one.")


def _is_partition(draft: Draft, n: int) -> bool:
    """True where nothing has to be looked for, as in nearly every draft."""
    used = sorted(index for dimension in draft.dimensions for index in dimension.indices)
    whole = all(dimension.indices and not dimension.unreadable for dimension in draft.dimensions)
    return whole and used == list(range(1, n + 1))


class _Subject:
    """What a task is about, in the forms that its dimensions are compared with; made once for all of them."""

    def __init__(self, task: Task) -> None:
        self.items = [criterion.text.casefold() for criterion in task.rubric.criteria]
        self.item_words = frozenset(list_words("\n".join(self.items)))
        self._messages = task.messages

    def list_content(self) -> frozenset[str]:
        """The stems of the words that say something, in the conversation and in the checklist."""
        turns = [message.content.casefold() for message in self._messages]
        return frozenset(find_content_words("\n".join([*turns, *self.items])))


def _check_text(dimension: DraftDimension, subject: _Subject) -> Iterator[tuple[TextCheck, str]]:
    text = dimension.description
    length = sum(bool(_WORD.search(part)) for part in dimension.name.split())
    if length > _LONGEST_NAME:
        yield "name", f"the name has {length} words; use at most {_LONGEST_NAME}."
    if is_blank(text):
        return
    sentences = split_clauses(text)
    demands = [sentence.text for sentence in sentences if not sentence.is_failure]
    if len(demands) == len(sentences):
        yield "clause", 'the description does not say what makes an answer fail; end with a sentence "Fails if …".'
    count = len(sentences) - sum(sentence.is_rest for sentence in sentences)
    if not _SENTENCES[0] <= count <= _SENTENCES[1]:
        yield "sentences", f"the description has {count} sentence(s); write 2 to 5."
    if _is_checklist(text, demands):
        yield "mentions", "the description is a list of things to mention; say what a good answer achieves."
    words = list_words(text.casefold())
    known = [word for word in words if word in subject.item_words]
    if _may_quote(words, known) and _measure_quoting(words, dimension, subject) > _MOST_QUOTED:
        yield "quotes", "the description repeats items word for word; say in other words what they demand together."
    if not _is_about(words, known, subject):
        yield "generic", "the description would fit any question; say what it means for this one."


def _is_checklist(text: str, demands: Sequence[str]) -> bool:
    """Bullets, numbered parts, or demands of which most are for a mention."""
    if len(_BULLET.findall(text)) >= 2 or (")" in text and len(_INLINE_NUMBER.findall(_REMARK.sub("", text))) >= 3):
        return True
    mentions = sum(bool(_MENTION.match(sentence)) for sentence in demands)
    return mentions >= 2 and mentions * 2 > len(demands)


def _may_quote(words: Sequence[str], known: Sequence[str]) -> bool:
    """Each run of words begins with another one: no more runs can stand in an item than words do."""
    count = len(words) - _QUOTED_RUN + 1
    return count >= _QUOTED_RUN and len(known) > _MOST_QUOTED * count


def _measure_quoting(words: Sequence[str], dimension: DraftDimension, subject: _Subject) -> float:
    """The share of runs of five words that stand in one of the dimension's items word for word."""
    runs = _list_runs(words)
    items = [subject.items[index - 1] for index in dimension.indices if 1 <= index <= len(subject.items)]
    theirs = {run for item in items for run in _list_runs(list_words(item))}
    return sum(run in theirs for run in runs) / len(runs)


def list_words(text: str) -> list[str]:
    """The runs of letters and digits. Plain ASCII is cut at its gaps, which takes a third of the pattern's time."""
    return text.translate(_GAPS).split() if text.isascii() else _WORD.findall(text)


def _list_runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + _QUOTED_RUN]) for start in range(len(words) - _QUOTED_RUN + 1)]


def _is_about(words: Sequence[str], known: Sequence[str], subject: _Subject) -> bool:
    """True where two words that say something, or as many as there are, occur in the conversation or the checklist."""
    if len(set(filter(is_content, known))) >= _FEWEST_SHARED:
        return True
    wanted = subject.list_content()
    return len(wanted.intersection(find_content_words(" ".join(words)))) >= min(_FEWEST_SHARED, len(wanted))


def show_indices(indices: Sequence[int]) -> str:
    """The first few, and how many more there are."""
    shown = ", ".join(map(str, indices[:_SHOWN_INDICES]))
    return shown + (f" and {len(indices) - _SHOWN_INDICES} more" if len(indices) > _SHOWN_INDICES else "")
