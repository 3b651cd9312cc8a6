"""Failure clauses: the sentences of a description that say in explicit words what voids an answer ("Fails if …").

The wordings are English, German, French, Spanish and Chinese, and each is narrow. A sentence of subject matter must not
pass for a clause: the control without failure clauses would lose a demand. Other wordings are not recognised.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from prorubric.text.patterns import load_patterns
from prorubric.text.sentences import split_sentences

SHORTEST_DESCRIPTION = 40
"""A description that would be shorter than this without its failure clauses keeps them."""

_LINE_BREAK = re.compile(r"\s*\n\s*")
_TABLES = load_patterns("failures")
_PATTERNS = _TABLES["patterns"]
_HINTS = ("not ", *"fail n't n’t unmet score reject zero credit void unacceptable disqualif invalidate".split())
"""What no English clause can do without: the patterns would look at each word of a sentence to find that out."""


class Sentence(NamedTuple):
    """A sentence of a description."""

    text: str
    opens_failure: bool
    """It has failure wording itself."""
    is_failure: bool
    """It has failure wording, is listed under such a sentence or goes on from one."""
    is_rest: bool = False
    """It is the failure clause of a sentence that begins with a demand."""


@dataclass(frozen=True, slots=True)
class WithoutFailure:
    """A description without its explicit failure sentences."""

    text: str
    removed: int
    """How many sentences matched and were removed, with what was listed under them."""
    restored: bool
    """Too little would have been left, so the description is whole."""
    matched: int = field(default=0, compare=False)
    """How many sentences have failure wording, removed or not."""


def has_failure_clause(text: str) -> bool:
    """Whether a text says in explicit words what voids an answer."""
    return any(sentence.opens_failure for sentence in split_clauses(text))


def remove_failure_clauses(description: str) -> WithoutFailure:
    """Remove the sentences with explicit failure wording."""
    sentences = split_clauses(description)
    removed = sum(sentence.opens_failure for sentence in sentences)
    kept: list[str] = []
    for sentence in sentences:
        if sentence.is_rest:
            demand = kept[-1].rstrip(";；—–， \n")
            kept[-1] = demand + ("。" if "㐀" <= demand[-1] <= "鿿" else ".")
        elif not sentence.is_failure:
            kept.append(sentence.text)
    text = " ".join(kept)
    if removed and len(text) < SHORTEST_DESCRIPTION:
        return WithoutFailure(description, 0, restored=True, matched=removed)
    return WithoutFailure(text if removed else description, removed, restored=False, matched=removed)


def split_clauses(description: str) -> list[Sentence]:
    """The sentences of a description, each on one line; a failure clause is split from a demand before it.

    What is listed under "Fails if:" belongs to that clause, and so does a sentence that goes on from it.
    """
    found: list[Sentence] = []
    is_listing = False
    for piece in split_sentences(description):
        whole = _LINE_BREAK.sub(" ", piece.strip()) if "\n" in piece else piece.strip()
        if not whole:
            continue
        is_item = is_listing and bool(_PATTERNS["item"].match(whole.lower()))
        demand, text = ("", whole) if is_item else _split_demand(whole)
        if demand:
            found.append(Sentence(demand, opens_failure=False, is_failure=False))
        opens = bool(demand) or _is_failure(text)
        goes_on = bool(found) and found[-1].is_failure and bool(_PATTERNS["follows"].match(text.lower()))
        is_listing = is_item or ((opens or goes_on) and text.endswith((":", "：")))
        found.append(Sentence(text, opens, opens or goes_on or is_item, bool(demand)))
    return found


def _split_demand(sentence: str) -> tuple[str, str]:
    """The demand before a failure clause of the same sentence, and the clause; without a demand, the whole sentence."""
    for cut in _PATTERNS["break"].finditer(sentence):
        demand, clause = sentence[: cut.end()].rstrip(), sentence[cut.end() :]
        opens = any(_PATTERNS[name].match(clause.lower()) for name in ("own_clause", "latin"))
        if not opens or not _is_failure(clause):
            continue
        # "An answer – even a kind one – fails if …" has its subject before the dashes.
        is_aside = demand.endswith(("—", "–")) and any(dash in demand[:-1] for dash in (" — ", " – "))
        if not is_aside and not _PATTERNS["condition"].match(demand.lower()) and not _is_failure(demand):
            return demand, clause
    return "", sentence


def _is_failure(sentence: str) -> bool:
    shown = sentence.lower()
    if any(map(shown.__contains__, _HINTS)) and (
        _PATTERNS["opening"].match(shown)
        or _has_wording(shown, "wordings")
        or (_has_wording(shown, "unless_told") and not _PATTERNS["told"].match(shown))
    ):
        return True
    return bool(_PATTERNS["latin"].match(shown)) or (not shown.isascii() and bool(_PATTERNS["han"].search(shown)))


def _has_wording(shown: str, table: str) -> bool:
    return any(hint in shown and pattern.search(shown) for hint, pattern in _TABLES[table].items())
