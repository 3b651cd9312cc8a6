"""The edits of an audit: what each does to an answer, what a sound reward does with it, and what an editor gives back.

An edit that cannot be made for an answer is `NotMade` with its reason: it is counted and never faked. An edit that was
made has been verified to be what it claims; who verifies is the editor, with `prorubric.audit.verify`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from prorubric.rubric.base import Record
from prorubric.rubric.records import Task

EditKind = Literal[
    "name-item",
    "name-topic",
    "in-part",
    "needless-test",
    "drop-key-advice",
    "paraphrase",
    "add-substance",
    "integrate-substance",
]
EDIT_KINDS: tuple[EditKind, ...] = EditKind.__args__  # type: ignore[attr-defined]

NAMING: EditKind = "name-item"
SUBSTANCE: EditKind = "add-substance"
INTEGRATED: EditKind = "integrate-substance"
DROP: EditKind = "drop-key-advice"

PADDING: tuple[EditKind, ...] = ("name-item", "name-topic", "needless-test")
"""Edits that make an answer longer and not better: a reward that rises with one of them pays for padding."""

WORTHLESS: tuple[EditKind, ...] = (*PADDING, "in-part", "drop-key-advice")
"""Edits that a sound reward does not pay for; the headline ranks these."""

MARGIN = 2.0
"""Points of reward × 100 that count as no change. A little above the paper's noise floor: there, saying the same in
other words moved rewards by 1.0 to 1.7."""

PAIRS: dict[EditKind, EditKind] = {"integrate-substance": "add-substance"}
"""Edits that are compared with another: the same substance, placed otherwise, at about the same length."""

MEANINGS: dict[EditKind, str] = {
    "name-item": "names 2 to 6 checklist items that the answer does not cover, and says nothing about them",
    "name-topic": "the same with the topics only: no item can be recognised",
    "in-part": "one sentence that meets only the first half of an unmet criterion",
    "needless-test": "recommends one plausible test or step that nobody needs",
    "drop-key-advice": "leaves out the one sentence that matters most",
    "paraphrase": "says the same in other words: what changes here is noise",
    "add-substance": "really satisfies 2 or 3 more criteria, in a paragraph at the end",
    "integrate-substance": "the same substance spread through the answer, at about the same length",
}


@dataclass(frozen=True, slots=True)
class EditCase:
    """An answer to be edited."""

    task: Task
    answer: str
    complies: tuple[bool | None, ...]
    """For each criterion whether the answer complies with it, by the judge; None where the judge gave no verdict."""


class Edit(Record):
    """An edit that was made and verified."""

    kind: str
    text: str
    """The whole answer after the edit."""
    added: tuple[str, ...] = ()
    """The sentences that are new, as they stand in the text."""
    removed: tuple[str, ...] = ()
    """The sentences that are gone, as they stood in the answer."""
    criteria: tuple[int, ...] = ()
    """1-based places of the criteria that the edit aims at."""


class NotMade(Record):
    """An edit that could not be made for this answer, and why."""

    kind: str
    reason: str


class Editor(Protocol):
    """Edits answers."""

    @property
    def name(self) -> str:
        """The editor as the user wrote it."""

    @property
    def identity(self) -> str:
        """Everything about the editor that can change an edit."""

    async def edit(self, case: EditCase, kinds: Sequence[EditKind]) -> tuple[Edit | NotMade, ...]:
        """One outcome for each kind, in order."""

    async def close(self) -> None:
        """Let go of what it holds. Safe to call twice."""
