"""Text in an answer that is addressed to its judge, found by patterns and without a model.

A judge may be persuaded, and no reader of its reply can tell; what can be told is that the answer tried. The patterns
are `text/data/addressing.toml`, and are compared with the answer as a person sees it. They are English, and point to
what is worth a look: an answer *about* prompts or grading may match, and a new phrase may not.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from prorubric.llm.fence import flatten
from prorubric.text.patterns import load_patterns
from prorubric.text.show import shorten

Addressing = Literal["flag", "unknown", "ignore"]

_TABLES = load_patterns("addressing", re.DOTALL)
# What tells of most answers, in one look, that there is nothing to find.
_ANY = {
    table: re.compile("|".join(pattern.pattern for pattern in _TABLES[table].values()), re.DOTALL | re.VERBOSE)
    for table in ("wordings", "forms")
}
# Every form has one of these, and most answers have none: looking for them takes far less time than a pattern.
_SIGNS_OF_FORMS = ("{", "[", "<", "answer", "conversation", "true", "#", "human")
_HIDDEN = _TABLES["signs"]["hidden"].pattern[1:-1]
_AROUND = 30


@lru_cache(maxsize=256)  # every reading of a response asks
def find_addressing(answer: str) -> Mapping[str, str]:
    """What an answer says to its judge: `instruction`, `verdict`, `role` or `hidden`, each with its first place."""
    found = {}
    shown = f"\n{flatten(answer)}"
    tables = _ANY if any(sign in shown for sign in _SIGNS_OF_FORMS) else ("wordings",)
    looks = [(table, shown) for table in tables if _ANY[table].search(shown)]
    looks += [("signs", answer)] if any(sign in answer for sign in _HIDDEN) else []
    for table, text in looks:
        for kind, pattern in _TABLES[table].items():
            if match := pattern.search(text):
                place = text[max(0, match.start() - _AROUND) : match.end() + _AROUND]
                found[kind] = shorten(place.encode("utf-8", "replace").decode(), 120)
    return found
