"""The forms of a verdict: the key it has in a reply, the values it can take, and how one of them is read.

A value is read only if it has one meaning; everything else is None, never a guess.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from prorubric.rubric.verdict import NotApplicable

BARE_MARK = re.compile(r"[\s*]*(\d{1,2})(?: ?/ ?10)?[\s*.]*")
"""A reply, or a value, that is nothing but a mark: `7`, `7/10`, `**7**`."""

_TRUE = {"true", "yes", "y", "present", "met", "satisfied", "fulfilled", "1", "pass", "passed"}
_FALSE = {"false", "no", "n", "absent", "not present", "not met", "unmet", "not satisfied", "unsatisfied", "0"}
_FALSE |= {"fail", "failed"}
_NOT_APPLICABLE = {"not applicable", "n/a"}
EXTENTS = {"not at all": 0.0, "barely": 0.25, "in part": 0.5, "for the most part": 0.75, "in full": 1.0}
"""The five phrases for how far an answer covers something, and what each is worth."""
LARGEST_MARK = 20


@dataclass(frozen=True, slots=True, eq=False)
class VerdictForm:
    """One form of a verdict: its key in a reply, its JSON schema, and how a value is read (None if unreadable)."""

    key: str
    schema: Mapping[str, Any]
    read: Callable[[Any], Any]
    scale: tuple[float, float] = (0.0, 1.0)
    """The lowest and the highest verdict."""
    is_bare: bool = False
    """True if a reply that is nothing but a number counts."""
    from_probability: Callable[[float], float] | None = None
    """A verdict from the probability that a statement holds; None: true from the judge's threshold on."""
    is_exact: bool = False
    """True if a reply that names more items than were asked about gives no verdict."""
    is_text: bool = False
    """True if the reply is reasoning and then lines of text, which `text_replies.py` reads, and not JSON."""

    @property
    def is_boolean(self) -> bool:
        """True if a verdict is true or false."""
        return self.schema.get("type") == "boolean"


def read_boolean(value: Any) -> bool | None:
    """True, false, or None for what is not clearly either."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return bool(value) if value in (0, 1) else None
    if isinstance(value, str):
        word = " ".join(value.replace("_", " ").lower().split()).rstrip(".!")
        return True if word in _TRUE else False if word in _FALSE else None
    return None


def read_applicable(value: Any) -> bool | NotApplicable | None:
    """True, false, that an item does not apply, or None for what is not clearly one of them."""
    word = " ".join(value.replace("_", " ").lower().split()).rstrip(".!") if isinstance(value, str) else None
    return NotApplicable() if word in _NOT_APPLICABLE else read_boolean(value)


def read_whole(value: Any, low: int, high: int) -> float | None:
    """A whole number in a range, or None; a text of two digits counts."""
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,2}\s*", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if low <= value <= high and value == int(value) else None


def read_mark(value: Any) -> float | None:
    """A whole mark from 1 to 10, as in `7` and `"7/10"`, or None."""
    bare = BARE_MARK.fullmatch(value) if isinstance(value, str) else None
    return read_whole(bare[1] if bare else value, 1, 10)


def read_strict(value: Any) -> bool | None:
    """True or false as JSON has them; a text that says so is none of them."""
    return value if isinstance(value, bool) else None


def read_extent(value: Any) -> float | None:
    """How far something is covered, from 0 to 1, by one of the five phrases; None for any other."""
    word = " ".join(value.lower().split()).rstrip(".") if isinstance(value, str) else None
    return EXTENTS.get(word or "")


def read_side(value: Any) -> str | None:
    """Which of two responses is better, or None."""
    word = value.strip().lower() if isinstance(value, str) else None
    return word if word in ("first", "second", "equal") else None


def read_nothing(_: Any) -> None:
    """Nothing: the reply is text, and no value of a JSON object counts."""


BOOLEAN = VerdictForm("satisfied", {"type": "boolean"}, read_boolean)
APPLICABLE = VerdictForm(
    "satisfied", {"anyOf": [{"type": "boolean"}, {"type": "string", "enum": ["not applicable"]}]}, read_applicable
)
"""The form in place of `BOOLEAN` if the judge may say that an item does not apply."""
LEVEL = VerdictForm(
    "levels",
    {"type": "integer", "minimum": 0, "maximum": 3},
    partial(read_whole, low=0, high=3),
    scale=(0.0, 3.0),
    from_probability=lambda probability: round(3 * probability),
)
MARK = VerdictForm(
    "mark",
    {"type": "integer", "minimum": 1, "maximum": 10},
    read_mark,
    scale=(1.0, 10.0),
    is_bare=True,
    from_probability=lambda probability: 1 + 9 * probability,
)
SIDE = VerdictForm("better", {"type": "string", "enum": ["first", "second", "equal"]}, read_side)
STRICT = VerdictForm("satisfied", {"type": "boolean"}, read_strict)
MET = VerdictForm("criteria_met", {"type": "boolean"}, read_strict)
"""The key that HealthBench's own wording has."""
SCORE = VerdictForm(
    "score",
    {"type": "integer", "minimum": 1, "maximum": 10},
    read_mark,
    scale=(1.0, 10.0),
    from_probability=lambda probability: 1 + 9 * probability,
)
EXTENT = VerdictForm(
    "extents",
    {"type": "string", "enum": [*EXTENTS]},
    read_extent,
    from_probability=lambda probability: probability,
    is_exact=True,
)
TEXT_MARKS = VerdictForm("marks", {}, read_nothing, scale=(0.0, float(LARGEST_MARK)), is_text=True)
TEXT_LABEL = VerdictForm("label", {}, read_nothing, is_text=True)

FORMS = (BOOLEAN, APPLICABLE, LEVEL, MARK, SIDE)
