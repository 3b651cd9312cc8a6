"""The words of a world, read from `worlds/*.json`: what is asked, what can be said, what a checklist says.

Nothing here has a probability. What is likely, what is right and what a judge sees is `world`, `cases` and `judges`.
"""

from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from prorubric.files.json import parse_json
from prorubric.rubric.base import Record

_FOLDER = Path(__file__).parent / "worlds"


class Part(Record):
    """One phase of a good answer: it becomes one dimension of the protocol rubric."""

    name: str
    topic: str
    """A sentence that only touches on the phase."""
    aim: str
    failure: str
    """The failure clause."""


class Texts(Record):
    """Every sentence of a world."""

    domain: str
    families: tuple[str, ...]
    opening: dict[str, str]
    unsaid: str
    findings: tuple[tuple[str, str], ...]
    """Each as it reads when it is so, and when it is not."""
    decisions: tuple[str, ...]
    """One for each severity; the last is to ask first."""
    decision_criteria: tuple[str, ...]
    parts: tuple[Part, ...]
    items: tuple[tuple[str, ...], ...]
    """What an answer can bring up, by part."""
    name: str
    explain_for: str
    explain_against: str
    presence: str
    substantive: str
    compound: str
    tests: tuple[str, ...]
    risky_tests: tuple[str, ...]
    test: str
    test_criterion: str
    test_penalty: str
    questions: tuple[str, ...]
    question_criterion: str
    manner: dict[str, str]
    """How one speaks to whom."""
    manner_criterion: dict[str, str]
    asides: dict[str, tuple[str, str]]
    """A sentence that is often wanted, and the criterion that wants it."""
    filler: tuple[str, ...]

    @property
    def item_names(self) -> tuple[str, ...]:
        """All items, part after part."""
        return tuple(name for part in self.items for name in part)

    @property
    def part_of_item(self) -> tuple[int, ...]:
        """The part that each item belongs to."""
        return tuple(number for number, part in enumerate(self.items) for _ in part)

    @property
    def all_tests(self) -> tuple[str, ...]:
        """The ordinary tests, then the risky ones."""
        return self.tests + self.risky_tests


@cache
def load_texts(name: str) -> Texts:
    """The words of a world by the name of its file."""
    return TypeAdapter(Texts).validate_python(parse_json((_FOLDER / f"{name}.json").read_bytes()))
