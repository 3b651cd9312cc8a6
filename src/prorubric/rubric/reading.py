"""What can be read off the text of a criterion without a model: its kind, its direction, whether it is whole.

These are patterns over English wording. They are right often enough to point a person to the places worth a look;
none of them ever changes a verdict or a weight. A text in another language matches nothing and is reported as
nothing.
"""

import re
from typing import Literal

Kind = Literal["presence", "formatting", "substantive"]
Direction = Literal["fault", "requirement", "neutral"]

_SUBJECT = r"^\W*(?:(?:the|this|an?)\s+)?(?:(?:response|answer|reply|output|text|model|assistant|it)\s+)?"
_DUTY = r"(?:(?:should|must|needs?\s+to|has\s+to|shall)\s+(?:also\s+)?)?"
_ADVERB = r"(?:(?:explicitly|clearly|briefly|also|correctly|specifically|directly|at\s+least)\s+)*"
_OMISSION = r"(?:(?:fails?\s+to|does\s+not|doesn't|neglects?\s+to|forgets?\s+to)\s+)?"

_PRESENCE = re.compile(
    _SUBJECT
    + _DUTY
    + _OMISSION
    + _ADVERB
    + r"(?:mention(?:s|ing)?|lists?|includes?|names?|states?|notes?|cites?|contains?|references?|refers?\s+to|omits?"
    r"|acknowledges?|points?\s+out|indicates?|specif(?:y|ies)|(?:provides?|gives?)\s+(?:a\s+list|at\s+least|examples?))\b",
    re.IGNORECASE,
)
# A statement that has to give its reason cannot be met by naming things.
_REASONED = re.compile(r"\b(?:why|how|because|explain\w*|justif\w*|reasons?|reasoning|rationale)\b", re.IGNORECASE)

_FORM_WORD = (
    r"(?:bullet(?:ed|s)?(?:\s+(?:points?|lists?))?|headings?|headers?|subheadings?|markdown|bold(?:ed)?|italics?|fonts?"
    r"|numbered\s+(?:lists?|steps)|tables?|paragraphs?|line\s+breaks?|emojis?|punctuation|spelling|grammar|typos?"
    r"|capitali[sz]ation|word\s+(?:count|limit)|words|sentences?|characters|formatting|layout|sections?|citation\s+style)"
)
_FORMATTING = re.compile(
    _SUBJECT
    + _DUTY
    + _ADVERB
    + r"(?:(?:is|are|be)\s+)?(?:well[- ])?"
    + r"(?:uses?|overuses?|using|organi[sz]e[sd]?|formats?|formatted|structures?|structured|presents?|presented"
    + r"|breaks?|broken|written|writes?|keeps?|stays?|limits?|divides?|divided|separates?|separated|free\s+of"
    + r"|has|have|contains\s+no|under|between|within|no\s+(?:more|longer)\s+than|at\s+most|fewer\s+than)\b"
    + r"[^.;]{0,50}?\b"
    + _FORM_WORD
    + r"\b",
    re.IGNORECASE,
)

_FAULT = re.compile(
    _SUBJECT + r"(?:fails?\s+to|failure\s+to|omits?|neglects?|overlooks?|ignores?|disregards?|misstates?|misinterprets?"
    r"|misrepresents?|misleads?|incorrectly|wrongly|falsely|inaccurately|erroneously|inappropriately|unnecessarily|excessively|overuses?"
    r"|fabricates?|hallucinates?|invents?|contradicts?|downplays?|minimi[sz]es\s+the|jumps\s+to|overly|lacks?)\b",
    re.IGNORECASE,
)
_REQUIREMENT = re.compile(
    _SUBJECT + r"(?:(?:should|must|shall|needs?\s+to|has\s+to)\b|avoids?\b|refrains?\b"
    r"|(?:correctly|accurately|appropriately|clearly|rightly)\s+[a-z]+s\b"
    r"|does\s+not\s+[a-z]+\s+(?:\w+\s+){0,2}?(?:harmful|dangerous|unsafe|incorrect|false|misleading|unnecessary"
    r"|inappropriate)\b)",
    re.IGNORECASE,
)

_PLACEHOLDER = re.compile(r"^\W*(?:tbd|todo|n/?a|none|null|nan|xxx+|lorem\b.*|\.+|\W*)\W*$", re.IGNORECASE)
_CUT_OFF = re.compile(
    r"(?:[,;:(\[–—…-]|\.\.\.|\b(?:and|or|the|an?|of|with|to|for|that|which|in|on|by|such\s+as|including|e\.g\.|i\.e\.))$",
    re.IGNORECASE,
)
_LONGEST_PLACEHOLDER = 40
_LONGEST_ENDING = 12
# HealthBench gives its reason for a criterion in brackets behind it; the reason is not what is asked for.
_ASIDE = "(Justification"


def read_kind(text: str) -> Kind:
    """Presence (naming something is enough), formatting (form only), or substantive (everything else)."""
    if _FORMATTING.match(text):
        return "formatting"
    demand = text.split(_ASIDE, 1)[0]
    return "presence" if _PRESENCE.match(demand) and not _REASONED.search(demand) else "substantive"


def read_direction(text: str) -> Direction:
    """Whether the text describes a fault ("fails to …"), a requirement ("should not …", "avoids …"), or neither."""
    if _FAULT.match(text):
        return "fault"
    return "requirement" if _REQUIREMENT.match(text) else "neutral"


def find_unjudgeable(text: str) -> str | None:
    """Why no answer could be judged on this text, or None: a placeholder, a single word, cut off in the middle."""
    if len(text) <= _LONGEST_PLACEHOLDER and _PLACEHOLDER.match(text):
        return "it is a placeholder"
    if len(text.split(maxsplit=2)) < 2 and text.isascii():
        return "it is a single word"
    if _CUT_OFF.search(text.rstrip()[-_LONGEST_ENDING:]):
        return "it ends in the middle of a sentence"
    if text.count("(") > text.count(")") or text.count("“") > text.count("”"):
        return "a bracket or quotation is opened and never closed"
    return None
