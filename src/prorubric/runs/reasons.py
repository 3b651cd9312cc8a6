"""Reasons of unknown verdicts, counted without their particulars, and no more than so many kinds of them."""

import re
from collections import Counter

from prorubric.text.show import shorten

_MOST_REASONS = 50
_LONGEST_REASON = 120
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_NUMBER = re.compile(r"(\bHTTP \d+)|\d[\d.,]*")


class Reasons(Counter[str]):
    """Counts reasons. Servers put numbers and names into theirs, which would make every one of them its own kind.

    Quoted names are left out, and numbers where they differ between reasons that are otherwise alike; never a status.
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown: dict[str, str] = {}

    def count(self, reason: str) -> None:
        """Count one reason."""
        whole = _QUOTED.sub("…", shorten(reason, _LONGEST_REASON))
        kind = _NUMBER.sub(lambda found: found[1] or "…", whole)
        if kind not in self._shown and len(self._shown) >= _MOST_REASONS:
            self["other reasons"] += 1
            return
        shown = self._shown.setdefault(kind, whole)
        if shown not in (whole, kind):
            self._shown[kind] = kind
            self[kind] = self.pop(shown)
        self[self._shown[kind]] += 1
