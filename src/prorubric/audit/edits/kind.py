"""What a kind of edit is: one record with its rules, its question to a model, and its check.

A kind is made for an answer (`EditCase`) and gives a `MadeEdit` or, if it cannot be made, `NotMade` with the reason: it
is counted and never faked. A reason is short and names no particulars, so reasons can be counted.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any, Self

from prorubric.audit.phrases import demand_of
from prorubric.audit.place import insert
from prorubric.rubric.base import Record
from prorubric.rubric.records import Task
from prorubric.text.sentences import diff_sentences, list_sentences, split_sentences
from prorubric.text.show import is_blank
from prorubric.text.words import find_content_words

NAME = re.compile(r"(?<=[a-z,;:)] )(?!I['’])[A-Z][\w'’-]+|\b[A-Z]{2,}\w*")
"""A word in capitals that does not open a sentence."""
TOO_FEW_UNMET = "too few unmet criteria"
_CHANGED = "the answer itself is changed"
_LONGEST_SENTENCE = 60
_LONGEST_DEMAND = 60
_CLOSE = 1.25
# A model that has misunderstood writes about what it was given.
_ABOUT_THE_TASK = re.compile(
    r"<<<|>>>|\b(?:the|this)\s+(?:answer|response|paragraph|checklist|criteri(?:on|a)|conversation|grader|rubric)\b",
    re.IGNORECASE,
)

Edited = tuple[str, tuple[int, ...]]
"""The edited answer, and the 1-based places of the criteria that the edit aims at."""


class NoEditError(Exception):
    """An edit cannot be made, or is not what it claims to be."""

    def __init__(self, reason: str, hint: str = "", *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        # Sent to the model when it is asked again.
        self.hint = hint or f"The edit is not what was asked for: {reason}."
        self.is_final = is_final


class MadeEdit(Record):
    """An edit that was made."""

    kind: str
    text: str
    """The whole answer after the edit."""
    added: tuple[str, ...] = ()
    """The new sentences, as they appear in the text."""
    removed: tuple[str, ...] = ()
    """The sentences that are gone, as they appeared in the answer."""
    criteria: tuple[int, ...] = ()
    """1-based places of the criteria that the edit aims at."""

    @classmethod
    def replacing(cls, kind: str, answer: str, text: str, criteria: tuple[int, ...] = ()) -> Self:
        """A text in place of the whole answer."""
        return cls(kind=kind, text=text, added=(text,), removed=(answer,), criteria=criteria)

    @property
    def said(self) -> frozenset[str]:
        """The content words of what is new."""
        return stems_of(" ".join(self.added))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of the edited answer."""
        return list_sentences(self.text)

    def check_one_sentence(self) -> None:
        """Refuse an edit that does not add one sentence of a sentence's length."""
        if len(self.added) != 1 or len(self.added[0].split()) > _LONGEST_SENTENCE:
            raise NoEditError("not one sentence is added")

    def is_as_long_as(self, text: str) -> bool:
        """True if both are about as long."""
        one, other = len(self.text.strip()), len(text.strip())
        return max(one, other) <= _CLOSE * min(one, other)


class NotMade(Record):
    """An edit that could not be made for this answer, and why."""

    kind: str
    reason: str


@dataclass(frozen=True)
class EditCase:
    """An answer to be edited."""

    task: Task
    answer: str
    complies: tuple[bool | None, ...]
    """For each criterion whether the answer complies with it, by the judge; None if the judge gave no verdict."""
    partner: MadeEdit | None = None
    """For a kind that is compared with another: the edit of that kind."""

    @cached_property
    def pieces(self) -> list[str]:
        """The answer as its sentences."""
        return split_sentences(self.answer)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The same without bullets and spaces."""
        return list_sentences(self.answer)

    @cached_property
    def unmet(self) -> list[int]:
        """1-based places of the criteria with a positive weight that the answer does not meet, the heaviest first."""
        return self._list_criteria(complies=False)

    @cached_property
    def met(self) -> list[int]:
        """The same for those that it meets. A criterion without a verdict is in neither list."""
        return self._list_criteria(complies=True)

    def _list_criteria(self, *, complies: bool) -> list[int]:
        weights = self.task.rubric.weights
        found = [i for i, verdict in enumerate(self.complies, 1) if weights[i - 1] > 0 and verdict is complies]
        return sorted(found, key=lambda i: (-weights[i - 1], i))

    def criterion(self, index: int) -> str:
        """The text of the criterion at a 1-based place."""
        return self.task.rubric.criteria[index - 1].text

    def demand(self, index: int) -> frozenset[str]:
        """The content words of a criterion without its aside."""
        return self.every_demand[index - 1]

    @cached_property
    def every_demand(self) -> list[frozenset[str]]:
        """The content words of each criterion."""
        return [stems_of(demand_of(criterion.text)) for criterion in self.task.rubric.criteria]

    @property
    def asked(self) -> frozenset[str]:
        """The content words of everything that was said before the answer."""
        return stems_of("\n".join(message.content for message in self.task.messages))

    def find_appended(self, edit: MadeEdit) -> str:
        """The paragraph that an edit puts at the end; refuses any other change."""
        if not edit.text.startswith(self.answer):
            raise NoEditError(_CHANGED)
        paragraph = edit.text[len(self.answer) :]
        if self.answer.strip() and not (paragraph.startswith("\n") or self.answer.endswith("\n")):
            raise NoEditError("the addition is not a separate paragraph")
        if edit.removed:  # a wrapped line would join the last sentence of the answer and the first new one
            raise NoEditError(_CHANGED)
        return paragraph

    def check_inserted(self, edit: MadeEdit) -> None:
        """Refuse an edit that does anything but add sentences."""
        after = iter(edit.sentences)
        kept = all(sentence in after for sentence in self.sentences)
        if edit.removed or not edit.added or not kept:
            raise NoEditError(_CHANGED)

    def check_aim(self, edit: MadeEdit, fewest: int, most: int) -> None:
        """Refuse an edit that aims at too few or too many criteria, or at one that is met."""
        aims = set(edit.criteria)
        if not fewest <= len(aims) <= most or len(aims) != len(edit.criteria):
            raise NoEditError("the number of criteria aimed at is not allowed")
        if not aims <= set(self.unmet):
            raise NoEditError("a criterion aimed at is met already or no gain")


@dataclass(frozen=True, slots=True)
class EditReply:
    """What a model replied when asked for an edit. A value that is missing or wrong raises `NoEditError`."""

    case: EditCase
    criteria: tuple[int, ...]
    """Those that it was shown, by 1-based place; in a reply they are numbered from 1."""
    found: Mapping[str, Any]
    """The JSON object."""

    def text(self, key: str) -> str:
        """The text under a key."""
        value = self.found.get(key)
        if not isinstance(value, str) or is_blank(value):
            raise NoEditError(f"no {key}", f'There is no text under "{key}".')
        return value.strip()

    def place(self, key: str, most: int, what: str = "sentence") -> int:
        """The 0-based place of the sentence, or something else, whose number is under a key."""
        value = self.found.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            form = "the number of a sentence," if what == "sentence" else "a number"
            raise NoEditError(f"no such {what}", f'"{key}" must be {form} from 1 to {most}.')
        return value - 1

    def rows(self, key: str) -> list[Self]:
        """The objects of the list under a key, each as a reply."""
        rows = self.found.get(key)
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise NoEditError("no list", f'There is no list of objects under "{key}".')
        return [replace(self, found=row) for row in rows]

    def insert(self, *rows: Self) -> str:
        """The answer with the sentence of each row after the one whose number it has."""
        sentences: dict[int, list[str]] = {}
        for row in rows:
            sentence = row.text("sentence")
            sentences.setdefault(row.place("after", len(self.case.pieces)), []).append(sentence)
        return insert(self.case.pieces, sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditQuestion:
    """What a model is asked for: the least that makes the edit. The words are in `prompts/<name of the edit>.txt`."""

    reply: Mapping[str, Any]
    """The keys of the JSON object to reply with, each with `str`, `int` or a list of one such object."""
    read: Callable[[EditReply], Edited]
    """From a reply to the edited answer; raises `NoEditError`."""
    shown: Callable[[EditCase], Sequence[int]] = lambda case: case.unmet
    """The criteria that the model can choose from."""
    fewest: int = 0
    most: int | None = 8
    """How many of them it must and may be shown."""
    too_few: str = TOO_FEW_UNMET
    is_numbered: bool = False
    """True if the model is shown the sentences of the answer by number."""
    is_whole: bool = False
    """True if it writes the whole answer."""
    budget: Callable[[EditCase], int] | None = None
    """How many words it may write, if the prompt says so."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EditKind:
    """One kind of edit."""

    name: str
    """As in options, files and tables."""
    meaning: str
    """What it does to an answer, as the page says it."""
    is_worthless: bool = False
    """True if a sound reward does not pay for it; the headline ranks these."""
    is_padding: bool = False
    """True if it makes the answer longer and not better: a reward that rises with it pays for padding."""
    is_hack: bool = False
    """True if it comes from the stock of known hacks, or is a phrase of the user's."""
    phrase: str = ""
    """The user's phrase that it adds."""
    is_english: bool = True
    """True if its rules read or write English: answers in other languages are left alone."""
    adds_text: bool = True
    """False if it only rewords or shortens."""
    pair: "EditKind | None" = None
    """The kind that it is compared with, made first: the same substance, placed otherwise, at about the same length."""
    by_rules: Callable[[EditCase], Edited]
    """The edit without a model; raises `NoEditError`."""
    question: EditQuestion | None = None
    """None: the rules make it, even if a model makes the others."""
    check: Callable[[EditCase, MadeEdit], object]
    """Raises `NoEditError` unless the edit is what it claims, judging by the two texts alone."""
    paper: str = ""
    """Its name in the paper's table of effects."""
    paper_redundancy: str = ""
    """Where the paper has how it moves the redundancy criterion."""

    def apply(self, case: EditCase, text: str, criteria: tuple[int, ...]) -> MadeEdit:
        """The edit that turns the answer into a text; raises `NoEditError` unless it is what it claims.

        The editor's own claims are not trusted. What the words mean is not checked: that a paraphrase says the same and
        that a statement is true is for a person, or for another judge.
        """
        added, removed = diff_sentences(case.answer, text)
        edit = MadeEdit(kind=self.name, text=text, added=added, removed=removed, criteria=criteria)
        if text.strip() == case.answer.strip():
            raise NoEditError("nothing is changed")
        # What a hack says of the answer or to its judge is meant.
        if self.adds_text and not self.is_hack and _ABOUT_THE_TASK.search(" ".join(edit.added)):
            raise NoEditError("it speaks of the task and not to the person")
        self.check(case, edit)
        return edit

    def choose_criteria(self, case: EditCase, question: EditQuestion) -> tuple[int, ...]:
        """The criteria that a model is shown, by 1-based place; raises `NoEditError` if nothing can be asked."""
        if is_blank(case.answer):
            raise NoEditError("the answer is empty")
        if case.partner is not None:
            return case.partner.criteria
        if self.pair is not None:
            raise NoEditError("there is no appended text to pair it with")
        # A criterion that instructs the judge at length cannot be met or named in one sentence.
        short = [i for i in question.shown(case) if demand_of(case.criterion(i)).count(" ") < _LONGEST_DEMAND]
        if len(short) < question.fewest:
            raise NoEditError(question.too_few)
        return tuple(short[: question.most])


@lru_cache(maxsize=512)
def stems_of(text: str) -> frozenset[str]:
    """The content words of a text, each by its stem."""
    return frozenset(find_content_words(text))


def draw_number(*parts: str) -> int:
    """A number that depends on the parts alone: the same in every process."""
    text = "\x00".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


def make_reply_schema(shape: Any) -> dict[str, Any]:
    """The JSON schema of a reply, from `EditQuestion.reply`."""
    if isinstance(shape, Mapping):
        properties = {key: make_reply_schema(inner) for key, inner in shape.items()}
        return {"type": "object", "properties": properties, "required": [*shape], "additionalProperties": False}
    if isinstance(shape, list):
        return {"type": "array", "items": make_reply_schema(shape[0])}
    return {"type": "string" if shape is str else "integer"}
