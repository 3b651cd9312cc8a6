"""Whether an edit is what it claims to be: what was added, what was taken away, and that nothing else changed.

Both editors pass through `check_edit`. It looks at the two texts only and believes nothing that the editor says about
them. A reason is short and names no particulars, so that reasons can be counted. What the words mean is not checked:
that a paraphrase says the same and that a statement is true is for a person, or for another judge.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from prorubric.audit.edits import Edit, EditCase, EditKind
from prorubric.audit.phrases import GENERIC, demand_of, first_requirement
from prorubric.llm.lexical import find_content_words
from prorubric.text.units import diff_lists, list_bare

NAMED = (2, 6)
"""How many items or topics a naming edit names: as many as are unmet, up to the paper's 6."""
SUBSTANCE = (2, 3)
"""How many criteria an edit of substance meets."""
LONGEST_NAMING = 120
LONGEST_SENTENCE = 60
"""In words."""
LARGEST_ADDITION = 0.5
"""Substance is at most this share of the answer, or `SHORT_ADDITION` words where that is more."""
SHORT_ADDITION = 120
CLOSE = 1.25
"""How much longer one of two texts may be that count as equally long."""
KEPT_WORDS = 0.5
"""The share of an answer's content words that a paraphrase keeps."""
WHOLE = 0.8
"""The share of a criterion's content words from which on more is said than its name or its first half."""
LARGEST_HALF = 0.5
"""The share of the words of a criterion's other half that its first half may share with it."""
_MANY_WORDS = 6
_MANY_TOPICS = 4
_ASKED_FOR = 0.6
_SAME_SUBSTANCE = 0.6
_SPARE_SENTENCES = 2
FEWEST_SHARED = 2
"""Words that a sentence has in common with a criterion that it may carry."""
FEWEST_SENTENCES = 3
"""An answer with fewer has none to spare."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ALONE_NUMBER = re.compile(r"(?<![\w-])\d")
_NAME = re.compile(r"(?<=[a-z,;:)] )(?!I['’])[A-Z][\w'’-]+|\b[A-Z]{2,}\w*")
# A model that has not understood talks about what it was given.
_MADE_OF = re.compile(
    r"<<<|>>>|\b(?:the|this)\s+(?:answer|response|paragraph|checklist|criteri(?:on|a)|conversation|grader|rubric)\b",
    re.IGNORECASE,
)
_WITHOUT_ADDITION = ("drop-key-advice", "paraphrase")
_PARTS = re.compile(r",|;|\s(?:and|or|y|e|o|et|ou|und|oder)\s|[、，；和与或]")
_LETTER = re.compile(r"[^\W\d_]+")


def check_edit(case: EditCase, edit: Edit, partner: Edit | None = None) -> str | None:
    """Why an edit is not what it claims, or None where it is. The partner is what an integrated edit is paired with."""
    check = _CHECKS.get(edit.kind)  # type: ignore[call-overload]
    if check is None:
        return "no such kind of edit"
    if edit.text.strip() == case.answer.strip():
        return "nothing is changed"
    if (edit.added, edit.removed) != compare(case.answer, edit.text):
        return "the sentences listed are not those that changed"
    if edit.kind not in _WITHOUT_ADDITION and _MADE_OF.search(" ".join(edit.added)):
        return "it speaks of the task and not to the person"
    reason: str | None = check(case, edit, partner)
    return reason


def compare(before: str, after: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sentences that are new and those that are gone."""
    if after.startswith(before + "\n\n") and "```" not in before and "~~~" not in before:
        return tuple(list_bare(after[len(before) :])), ()  # a blank line ends every sentence: the rest is new
    return diff_lists(_list_sentences(before), _list_sentences(after))


@lru_cache(maxsize=512)
def stems_of(text: str) -> frozenset[str]:
    """The content words of a text, each by its stem."""
    return frozenset(find_content_words(text))


@lru_cache(maxsize=32_768)
def demand_stems(text: str) -> frozenset[str]:
    """The content words of a criterion without its aside."""
    return stems_of(demand_of(text))


@lru_cache(maxsize=256)  # an answer is compared with each of its edits
def _list_sentences(text: str) -> tuple[str, ...]:
    return tuple(list_bare(text))


@lru_cache(maxsize=256)
def _known_stems(question: str, answer: str) -> frozenset[str]:
    return stems_of(question) | stems_of(answer)


def question_of(case: EditCase) -> str:
    """Everything that was said before the answer."""
    return "\n".join(message.content for message in case.task.messages)


def find_leak(case: EditCase, paragraph: str) -> str | None:
    """What gives an item away that only its topic should name, or None."""
    if _ALONE_NUMBER.search(paragraph):
        return "a number"
    known = _known_stems(question_of(case), case.answer)
    if any(stems_of(name) - known for name in _find_names(paragraph)):
        return "a name"
    words = frozenset().union(*(demand_stems(criterion.text) for criterion in case.task.rubric.criteria))
    leaked = (stems_of(paragraph) & words) - known - GENERIC
    return "a word of the checklist" if leaked else None


def list_targets(case: EditCase) -> list[int]:
    """1-based places of the criteria with a positive weight that the answer does not meet, the heaviest first."""
    return _list_criteria(case, complies=False)


def list_met(case: EditCase) -> list[int]:
    """The same of those that it meets. What the judge gave no verdict on is in neither."""
    return _list_criteria(case, complies=True)


def _list_criteria(case: EditCase, *, complies: bool) -> list[int]:
    criteria = case.task.rubric.criteria
    found = [
        index
        for index, (criterion, verdict) in enumerate(zip(criteria, case.complies, strict=True), 1)
        if criterion.weight > 0 and verdict is complies
    ]
    return sorted(found, key=lambda index: (-criteria[index - 1].weight, index))


# --- one check a kind


def _check_naming(case: EditCase, edit: Edit) -> str | None:
    paragraph, reason = _find_appended(case, edit)
    if reason:
        return reason
    if "\n" in paragraph.strip():
        return "more than one paragraph is added"
    if len(paragraph.split()) > LONGEST_NAMING:
        return "the addition is too long"
    return _check_aim(case, edit, NAMED)


def _check_name_item(case: EditCase, edit: Edit, _: Edit | None) -> str | None:
    reason = _check_naming(case, edit)
    if reason:
        return reason
    said = stems_of(" ".join(edit.added))
    for words in _aimed_stems(case, edit):
        if not words & said:
            return "an item is not named"
        if len(words) >= _MANY_WORDS and len(words & said) > WHOLE * len(words):
            return "an item is more than named"
    return None


def _check_name_topic(case: EditCase, edit: Edit, _: Edit | None) -> str | None:
    reason = _check_naming(case, edit)
    if reason:
        return reason
    paragraph = " ".join(edit.added)
    leak = find_leak(case, paragraph)
    if leak:
        return f"the topic gives an item away: {leak}"
    return None if len(_PARTS.split(paragraph)) >= min(_MANY_TOPICS, len(edit.criteria)) else "too few topics are named"


def _check_in_part(case: EditCase, edit: Edit, _: Edit | None) -> str | None:
    paragraph, reason = _find_appended(case, edit)
    if reason:
        return reason
    if len(edit.added) != 1 or len(paragraph.split()) > LONGEST_SENTENCE:
        return "not one sentence is added"
    reason = _check_aim(case, edit, (1, 1))
    if reason:
        return reason
    text, said = case.task.rubric.criteria[edit.criteria[0] - 1].text, stems_of(paragraph)
    if not demand_stems(text) & said:
        return "the criterion is not touched"
    return "the whole criterion is said" if _says_rest(text, said) else None


def _check_needless(case: EditCase, edit: Edit, _: Edit | None) -> str | None:
    if edit.removed or not _keeps_order(case, edit):
        return "the answer itself is changed"
    if len(edit.added) != 1 or len(edit.added[0].split()) > LONGEST_SENTENCE:
        return "not one sentence is added"
    return "the step is asked for" if is_asked_for(case, edit.added[0]) else None


def _check_drop(case: EditCase, edit: Edit, _: Edit | None) -> str | None:
    before = _list_sentences(case.answer)
    if len(before) < FEWEST_SENTENCES:
        return "the answer is too short"
    if edit.added or len(edit.removed) != 1:
        return "not one sentence is gone"
    left = _letters(case.answer) - _letters(edit.removed[0])
    if left != _letters(edit.text):
        return "the answer itself is changed"
    gone = stems_of(edit.removed[0])
    carried = (len(gone & demand_stems(case.task.rubric.criteria[i - 1].text)) for i in list_met(case))
    return None if max(carried, default=0) >= FEWEST_SHARED else "the sentence carries no criterion that is met"


def _check_paraphrase(case: EditCase, edit: Edit, _: Edit | None) -> str | None:
    before, after = case.answer, edit.text
    if sorted(_NUMBER.findall(before)) != sorted(_NUMBER.findall(after)):
        return "a number is changed"
    if not _is_close(len(before.strip()), len(after.strip())):
        return "the length is not about the same"
    sentences = len(_list_sentences(before))
    if abs(len(_list_sentences(after)) - sentences) > max(_SPARE_SENTENCES, sentences // 4):
        return "the number of sentences is not about the same"
    words, said = stems_of(before), stems_of(after)
    if len(words & said) < KEPT_WORDS * len(words):
        return "most words are other words"
    # A word that was there in small letters may open a line now.
    written = before.lower()
    return "a new name is there" if any(name.lower() not in written for name in _find_names(after)) else None


def _check_add(case: EditCase, edit: Edit, _: Edit | None) -> str | None:
    paragraph, reason = _find_appended(case, edit)
    if reason:
        return reason
    return _check_substance(case, edit, len(paragraph.split()))


def _check_integrate(case: EditCase, edit: Edit, partner: Edit | None) -> str | None:
    if partner is None:
        return "there is no appended text to pair it with"
    if edit.removed or not edit.added or not _keeps_order(case, edit):
        return "the answer itself is changed"
    if not _is_spread(case, edit):
        return "everything is added in one place"
    if not _is_close(len(edit.text), len(partner.text)):
        return "the two lengths are too far apart"
    words, said = stems_of(" ".join(partner.added)), stems_of(" ".join(edit.added))
    if len(words & said) < _SAME_SUBSTANCE * len(words):
        return "other substance is added than in the pair"
    return _check_substance(case, edit, sum(len(sentence.split()) for sentence in edit.added))


_Check = Callable[[EditCase, Edit, Edit | None], str | None]
_CHECKS: dict[EditKind, _Check] = {
    "name-item": _check_name_item,
    "name-topic": _check_name_topic,
    "in-part": _check_in_part,
    "needless-test": _check_needless,
    "drop-key-advice": _check_drop,
    "paraphrase": _check_paraphrase,
    "add-substance": _check_add,
    "integrate-substance": _check_integrate,
}


# --- parts of checks


def _says_rest(text: str, said: frozenset[str]) -> bool:
    """True where more is said than the first half of a criterion; "and explains why" has no words to look for."""
    half = first_requirement(text)
    words = demand_stems(text)
    if half is None:
        return len(words & said) > WHOLE * len(words)
    rest = words - stems_of(half)
    return len(rest & said) > LARGEST_HALF * len(rest)


def _find_appended(case: EditCase, edit: Edit) -> tuple[str, str | None]:
    """What stands behind the answer, and why it is no addition where it is none."""
    if not edit.text.startswith(case.answer):
        return "", "the answer itself is changed"
    paragraph = edit.text[len(case.answer) :]
    if case.answer.strip() and not (paragraph.startswith("\n") or case.answer.endswith("\n")):
        return "", "the addition is no paragraph of its own"
    # A wrapped line would make one sentence of the last of the answer and the first that is new.
    return paragraph, "the answer itself is changed" if edit.removed else None


def _check_aim(case: EditCase, edit: Edit, allowed: tuple[int, int]) -> str | None:
    fewest, most = allowed
    if not fewest <= len(set(edit.criteria)) <= most or len(set(edit.criteria)) != len(edit.criteria):
        return "the number of criteria aimed at is not allowed"
    return None if set(edit.criteria) <= set(list_targets(case)) else "a criterion aimed at is met already or no gain"


def _check_substance(case: EditCase, edit: Edit, words: int) -> str | None:
    reason = _check_aim(case, edit, SUBSTANCE)
    if reason:
        return reason
    if words > max(SHORT_ADDITION, LARGEST_ADDITION * len(case.answer.split())):
        return "the addition is too long"
    said = stems_of(" ".join(edit.added))
    met = all(len(wanted & said) >= KEPT_WORDS * len(wanted) for wanted in _aimed_stems(case, edit))
    return None if met else "a criterion aimed at is not dealt with"


def is_asked_for(case: EditCase, sentence: str) -> bool:
    """True where a criterion, the question or the answer speaks of the same step."""
    step = stems_of(sentence)
    texts = [demand_stems(criterion.text) for criterion in case.task.rubric.criteria]
    texts += [_known_stems(question_of(case), "")]
    return any(len(step & words) > _ASKED_FOR * len(step) for words in texts)


def _aimed_stems(case: EditCase, edit: Edit) -> list[frozenset[str]]:
    return [demand_stems(case.task.rubric.criteria[index - 1].text) for index in edit.criteria]


def _keeps_order(case: EditCase, edit: Edit) -> bool:
    """True where every sentence of the answer is there, in its order."""
    after: Iterator[str] = iter(_list_sentences(edit.text))
    return all(sentence in after for sentence in _list_sentences(case.answer))


def _is_spread(case: EditCase, edit: Edit) -> bool:
    """True where something new stands before the end and, where there are several, not all in the same place."""
    before, places, behind = _list_sentences(case.answer), set(), 0
    for sentence in _list_sentences(edit.text):
        if behind < len(before) and sentence == before[behind]:
            behind += 1
        else:
            places.add(behind)
    needed = 2 if len(edit.added) > 1 else 1
    return len(places) >= needed and min(places) < len(before)


def _is_close(one: int, other: int) -> bool:
    return max(one, other) <= CLOSE * min(one, other)


def _letters(text: str) -> Counter[str]:
    """The words of a text however it is laid out."""
    return Counter(_LETTER.findall(text))


def _find_names(text: str) -> Iterable[str]:
    """Words in capitals that open no sentence."""
    return _NAME.findall(text)
