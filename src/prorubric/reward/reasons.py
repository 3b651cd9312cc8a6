"""Reasons of unknown verdicts, counted without their particulars, and no more than so many kinds of them."""

import re
from collections import Counter

from prorubric.rubric.record import shorten

_MOST_REASONS = 50
_LONGEST_REASON = 120
_PARTICULARS = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\d.,]*")


class Reasons(Counter[str]):
    """Counts reasons. Servers put numbers and names into theirs, which would make every one of them its own kind."""

    def count(self, reason: str) -> None:
        """Count one reason."""
        kind = _PARTICULARS.sub("…", shorten(reason, _LONGEST_REASON))
        self[kind if kind in self or len(self) < _MOST_REASONS else "other reasons"] += 1
