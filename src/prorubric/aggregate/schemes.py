"""The schemes by name: what each one asks a judge to read, and what kind of verdict it gets back.

A scheme is a way to turn verdicts into one number in [0, 1]. Any of them can carry `+appropriateness`: one fixed
criterion (answers what was asked, stays in scope, suits the asker) is judged on its own, as the last verdict, and joins
the weighted mean; failing it zeroes nothing else.
"""

from dataclasses import dataclass
from typing import Literal

from prorubric.errors import SchemeError

Reads = Literal[
    "criteria",
    "criteria-rewritten",
    "groups",
    "dimensions",
    "dimensions-no-failure",
    "one-dimension",
    "checklist",
]
"""What the judge reads: the criteria one by one (as they are, or restated), each group's criteria under "all must
hold", the dimensions (with or without failure clauses), one dimension for everything, or the checklist as a whole."""

VerdictKind = Literal["boolean", "level", "mark"]

APPROPRIATENESS = "appropriateness"
_SUFFIX = f"+{APPROPRIATENESS}"


@dataclass(frozen=True, slots=True)
class Scheme:
    """One way to turn verdicts into a number."""

    base: str
    reads: Reads
    verdict: VerdictKind = "boolean"
    needs_protocol: bool = False
    appropriateness: bool = False

    @property
    def name(self) -> str:
        """The name a user writes."""
        return self.base + (_SUFFIX if self.appropriateness else "")

    @property
    def readings(self) -> tuple[str, ...]:
        """The sets of verdicts it is computed from, in order; schemes that share one share the judge's call."""
        main = {"level": "levels", "mark": "mark"}.get(self.verdict, self.reads)
        return (main, APPROPRIATENESS) if self.appropriateness else (main,)


_BASES = {
    scheme.base: scheme
    for scheme in (
        Scheme("additive", reads="criteria"),
        Scheme("conjunctive", reads="criteria", needs_protocol=True),
        Scheme("raw-and", reads="groups", needs_protocol=True),
        Scheme("prorubric", reads="dimensions", needs_protocol=True),
        Scheme("prorubric-no-failure", reads="dimensions-no-failure", needs_protocol=True),
        Scheme("graded", reads="dimensions", verdict="level", needs_protocol=True),
        Scheme("k1", reads="one-dimension"),
        Scheme("implicit", reads="checklist", verdict="mark"),
        Scheme("weighted", reads="criteria"),
        Scheme("rewritten", reads="criteria-rewritten"),
    )
}

BASE_SCHEMES = tuple(_BASES)
"""The names of all schemes without `+appropriateness`."""

SCHEMES = tuple(base + suffix for suffix in ("", _SUFFIX) for base in BASE_SCHEMES)
"""Every name that `find_scheme` knows."""


def find_scheme(name: str) -> Scheme:
    """The scheme with this name; raises `SchemeError` with the names that exist."""
    base = name.removesuffix(_SUFFIX)
    if base not in _BASES:
        known = ", ".join(BASE_SCHEMES)
        raise SchemeError(f"no scheme is called {name!r}; known: {known}, each also as <name>{_SUFFIX}")
    found = _BASES[base]
    if base == name:
        return found
    return Scheme(found.base, found.reads, found.verdict, found.needs_protocol, appropriateness=True)
