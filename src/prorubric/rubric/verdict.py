"""Verdicts: what a judge said of one item, where *unknown* is an outcome of its own.

A verdict is `True` or `False` (the behaviour is present or not, also for a negative weight), a level 0..3 or a mark
1..10 for the schemes that read one, or `Unknown(reason)`. An unknown is never met and never unmet. In files it is the
object `{"unknown": reason}`, which no reader can mistake for a number.
"""

from typing import Annotated, TypeGuard

from pydantic import Field, JsonValue, field_validator

from prorubric.errors import RubricError
from prorubric.rubric.base import Record
from prorubric.text.show import is_blank, shorten


class Unknown(Record):
    """No verdict could be had, and why."""

    reason: Annotated[str, Field(strict=True)]

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)

    @field_validator("reason")
    @classmethod
    def _reason_says_something(cls, reason: str) -> str:
        if is_blank(reason):
            raise ValueError("an unknown verdict needs its reason")
        return reason


Verdict = bool | int | float | Unknown


def is_unknown(verdict: Verdict) -> TypeGuard[Unknown]:
    """True where the judge gave no verdict."""
    return isinstance(verdict, Unknown)


def parse_verdict(value: JsonValue) -> Verdict:
    """Read a verdict from JSON: true, false, a number, or `{"unknown": reason}`."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict) and set(value) == {"unknown"} and isinstance(value["unknown"], str):
        return Unknown(value["unknown"])
    raise RubricError(
        f'a verdict is {shorten(repr(value))}; allowed: true, false, a number, or {{"unknown": "the reason"}}'
    )


def render_verdict(verdict: Verdict) -> JsonValue:
    """The verdict as JSON; `parse_verdict` gives it back."""
    return {"unknown": verdict.reason} if isinstance(verdict, Unknown) else verdict
