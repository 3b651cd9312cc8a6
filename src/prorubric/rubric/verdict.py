"""Verdicts: what a judge said about one item. *Unknown* is a separate outcome, never met and never unmet.

A verdict is `True` or `False` (the behaviour is present or not, also for a negative weight), a level 0..3 or a mark
1..10 for the schemes that read one, `NotApplicable(reason)` if the item does not apply to the answer, or
`Unknown(reason)` if there is no verdict. In files the last two are objects, `{"not_applicable": reason}` and
`{"unknown": reason, "kind": kind}`, which no reader can mistake for a number.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, TypeGuard

from pydantic import Field, JsonValue, field_validator

from prorubric.errors import RubricError
from prorubric.rubric.base import Record
from prorubric.text.show import is_blank, shorten, show

NO_REPLY = "no reply"

_JSON_KEYS = {"unknown", "kind", "failure", "status"}
_MOST_KINDS = 50
_LONGEST_REASON = 120


class Unknown(Record):
    """A missing verdict, with the reason."""

    reason: Annotated[str, Field(strict=True)]
    kind: str = ""
    """What went wrong in a few fixed words, for counting; the reason may add details."""
    failure: str = ""
    """The kind of failure of a failed call."""
    status: int | None = None
    """The HTTP status of a failed call."""

    def __init__(self, reason: str, *, kind: str = "", failure: str = "", status: int | None = None) -> None:
        super().__init__(reason=reason, kind=kind, failure=failure, status=status)

    def __eq__(self, other: object) -> bool:
        """Equal if the reason is the same; the other fields only classify it."""
        return isinstance(other, Unknown) and other.reason == self.reason

    def __hash__(self) -> int:
        return hash(self.reason)

    @property
    def label(self) -> str:
        """What it is counted as: its kind, for a failed call with the status or the kind of failure."""
        cause = f"HTTP {self.status}" if self.status else self.failure
        return f"{self.kind}: {cause}" if cause else self.kind or self.reason

    @field_validator("reason")
    @classmethod
    def _require_reason(cls, reason: str) -> str:
        if is_blank(reason):
            raise ValueError("an unknown verdict needs its reason")
        return reason


class NotApplicable(Record):
    """A verdict: the item does not apply to this answer. It leaves the sum, and what the sum is divided by."""

    reason: Annotated[str, Field(strict=True)] = ""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason=reason)


Verdict = bool | int | float | NotApplicable | Unknown


class Evidence(Record):
    """What a judge says its verdict rests on: a passage of the answer, and the turn of a transcript."""

    quote: str
    """Empty if it names only a turn."""
    turn: int | None = None
    """The number of the turn as the judge was shown it; None if the answer is a single text."""
    founded: bool
    """False if the passage does not occur in the answer, or not in this turn."""


class UnknownCounts:
    """Counts unknown verdicts by kind: reasons name values and numbers, so most would be counted once each."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._shown: dict[str, str] = {}  # for each kind its reason, or the kind itself once it has had several

    def add(self, verdict: Unknown) -> None:
        """Count one verdict."""
        label = verdict.label
        if label not in self._shown and len(self._shown) >= _MOST_KINDS:
            label = "other reasons"
        self._counts[label] += 1
        if self._shown.setdefault(label, verdict.reason) != verdict.reason:
            self._shown[label] = label

    def summarize(self) -> dict[str, int]:
        """The counts, the most frequent first."""
        counts: Counter[str] = Counter()
        for label, count in self._counts.most_common():
            counts[shorten(self._shown[label], _LONGEST_REASON)] += count
        return dict(counts)


def are_boolean(verdicts: Iterable[Verdict]) -> bool:
    """True if all of these are true or false: the usual case, told fast, in which no verdict needs a closer look."""
    return set(map(type, verdicts)) == {bool}


def is_unknown(verdict: Verdict) -> TypeGuard[Unknown]:
    """True if the judge gave no verdict."""
    return isinstance(verdict, Unknown)


def parse_verdict(value: JsonValue) -> Verdict:
    """Read a verdict from JSON: true, false, a number, `{"not_applicable": reason}`, or `{"unknown": reason, …}`."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict) and value.keys() == {"not_applicable"} and isinstance(value["not_applicable"], str):
        return NotApplicable(str(value["not_applicable"]))
    if isinstance(value, dict) and isinstance(value.get("unknown"), str) and value.keys() <= _JSON_KEYS:
        return Unknown(value["unknown"], **{key: found for key, found in value.items() if key != "unknown"})  # type: ignore[arg-type]
    allowed = 'true, false, a number, {"not_applicable": "why"}, or {"unknown": "the reason"}'
    raise RubricError(f"a verdict is {show(value)}; allowed: {allowed}")


def render_verdict(verdict: Verdict) -> JsonValue:
    """The verdict as JSON; `parse_verdict` gives it back."""
    if isinstance(verdict, NotApplicable):
        return {"not_applicable": verdict.reason}
    if not isinstance(verdict, Unknown):
        return verdict
    return {"unknown": verdict.reason, **verdict.model_dump(exclude={"reason"}, exclude_defaults=True)}


def render_verdicts(verdicts: Sequence[Verdict]) -> list[JsonValue]:
    """Several verdicts as JSON."""
    return [*verdicts] if are_boolean(verdicts) else [*map(render_verdict, verdicts)]  # type: ignore[list-item]
