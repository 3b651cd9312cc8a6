"""What the text of a criterion shows without a model: its kind, its direction, whether it is whole, what it denies.

These are patterns over English wording, right often enough to point a person to the places worth a look. A question is
read as the statement it asks about. A text in another language matches nothing.
"""

import re
from typing import Literal

from prorubric.text.patterns import load_patterns
from prorubric.text.questions import to_statement
from prorubric.text.words import load_words

Kind = Literal["presence", "formatting", "substantive"]
Direction = Literal["fault", "requirement", "neutral"]

_PATTERNS = load_patterns("criteria", re.IGNORECASE)["patterns"]
_LONGEST_PLACEHOLDER = 40
_LONGEST_ENDING = 12
_WHOLE = (".", "!", "?", ";", "。", "！", "？", "；")
# HealthBench gives its reason for a criterion in brackets behind it; the reason is not what is asked for.
_ASIDE = "(Justification"
_FOREIGN, _ENGLISH = load_words("foreign"), load_words("english")


def read_kind(text: str) -> Kind:
    """Presence (naming something is enough), formatting (form only), or substantive (everything else)."""
    demand = to_statement(text).split(_ASIDE, 1)[0]
    if _PATTERNS["formatting"].match(demand):
        return "formatting"
    is_naming = _PATTERNS["presence"].match(demand) and not _PATTERNS["reasoned"].search(demand)
    return "presence" if is_naming else "substantive"


def read_direction(text: str) -> Direction:
    """Whether the text describes a fault ("fails to …"), a requirement ("should not …", "avoids …"), or neither."""
    statement = to_statement(text)
    if _PATTERNS["fault"].match(statement):
        return "fault"
    return "requirement" if _PATTERNS["requirement"].match(statement) else "neutral"


def find_unjudgeable(text: str) -> str | None:
    """Why no answer could be judged on this text, or None: a placeholder, a single word, cut off in the middle."""
    if len(text) <= _LONGEST_PLACEHOLDER and _PATTERNS["placeholder"].match(text):
        return "it is a placeholder"
    if len(text.split(maxsplit=2)) < 2 and text.isascii():
        return "it is a single word"
    shown = _PATTERNS["no_bracket"].sub("0", text).rstrip()
    ending = shown[-_LONGEST_ENDING:]
    is_loose = _PATTERNS["loose_end"].search(ending) and not _PATTERNS["takes_loose_end"].search(shown)
    if is_loose or _PATTERNS["cut_off"].search(ending):
        words = text.lower().split()
        is_foreign = sum(word in _FOREIGN for word in words) > sum(word in _ENGLISH for word in words)
        if not (ending[-1:].isalpha() and is_foreign):  # "Gibt die Dosis an" is whole
            return "it ends in the middle of a sentence"
    if shown.endswith(_WHOLE):  # what is not closed in a whole sentence was forgotten, and can be judged
        return None
    # More “ than ”, and no other mark that closes it: people also write “so", “so“ and „so“.
    is_quoting = text.count("“") > text.count("”") and sum(text.count(mark) for mark in '“”„"') % 2 == 1
    if is_quoting or sum(map(shown.count, "([（【")) > sum(map(shown.count, ")]）】")):
        return "a bracket or quotation is opened and never closed"
    return None


def split_negation(text: str) -> tuple[str, bool]:
    """What a criterion is about, in lower case, and whether it opens by denying it."""
    statement = to_statement(text).lower()
    opening = _PATTERNS["speaker"].match(statement)
    position, negated = opening.end() if opening else 0, False
    while True:
        if match := _PATTERNS["denial"].match(statement, position):
            negated = not negated
        elif not (match := _PATTERNS["passed_over"].match(statement, position)):
            return statement[position:], negated
        position = match.end()
