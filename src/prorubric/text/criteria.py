"""What the text of a criterion shows without a model: its kind, its direction, whether it is whole, what it denies.

These are patterns over English wording, right often enough to point a person to the places worth a look. A text in
another language matches nothing.
"""

import re
from typing import Literal

Kind = Literal["presence", "formatting", "substantive"]
Direction = Literal["fault", "requirement", "neutral"]

# An article belongs to its noun: "The state of the art …" is not a demand to state something.
_SUBJECT = r"^\W*(?:(?:(?:the|this|an?)\s+)?(?:response|answer|reply|output|text|model|assistant|it)\s+)?"
_DUTY = r"(?:(?:should|must|needs?\s+to|has\s+to|shall)\s+(?:also\s+)?)?"
_ADVERB = r"(?:(?:explicitly|clearly|briefly|also|correctly|specifically|directly|at\s+least)\s+)*"
_OMISSION = r"(?:(?:fails?\s+to|does\s+not|doesn't|neglects?\s+to|forgets?\s+to)\s+)?"

_PRESENCE = re.compile(
    _SUBJECT
    + _DUTY
    + _OMISSION
    + _ADVERB
    + r"(?:(?:mention(?:s|ing)?|lists?|includes?|names?|states?|notes?|cites?|contains?|references?|refers?\s+to|omits?"
    # "Lists of …", "References are …" begin with a noun.
    r"|acknowledges?|points?\s+out|indicates?|specif(?:y|ies))\b(?!\s+(?:of|is|are|was|were)\b)"
    r"|(?:provides?|gives?)\s+(?:a\s+list|at\s+least|examples?)\b)",
    re.IGNORECASE,
)
# A statement that has to give its reason cannot be met by naming things.
_REASONED = re.compile(r"\b(?:why|how|because|explain\w*|justif\w*|reasons?|reasoning|rationale)\b", re.IGNORECASE)

# Words and characters are form where they are counted: a story has characters, and plain words are style. A bold claim,
# table 2 and section 230 are not layout.
_FORM_WORD = (
    r"(?:bullet(?:ed|s)?(?:\s+(?:points?|lists?))?|headings?|headers?|subheadings?|markdown"
    r"|bold(?:ed)?(?!\s+(?:claim|statement|assertion|language|colou?r)s?\b)|italics?|fonts?"
    r"|numbered\s+(?:lists?|steps)|(?<!periodic\s)tables?(?!\s+\d)|paragraphs?|line\s+breaks?|emojis?|punctuation"
    r"|spelling|grammar|typos?|capitali[sz]ation|word\s+(?:count|limit)|\d[\d,]*\s+(?:words|characters)|sentences?"
    r"|formatting|layout|sections?(?!\s+\d)|citation\s+style)"
)
_FORMATTING = re.compile(
    _SUBJECT
    + _DUTY
    + _ADVERB
    + r"(?:(?:is|are|be)\s+)?(?:well[- ])?"
    + r"(?:uses?|overuses?|using|organi[sz]e[sd]?|formats?|formatted|structures?|structured|presents?|presented"
    + r"|breaks?|broken|written|writes?|keeps?|stays?|limits?|divides?|divided|separates?|separated|free\s+of"
    + r"|has|have|contains\s+no|under|between|within|at\s+(?:least|most)|(?:does\s+)?not\s+exceed"
    + r"|(?:not?\s+)?(?:more|less|fewer|longer|shorter)\s+than)\b"
    + r"[^.;]{0,50}?\b"
    + _FORM_WORD
    + r"\b",
    re.IGNORECASE,
)

_UNWANTED = (
    r"(?:errors?|mistakes?|typos?|jargon|fillers?|fluff|clich\w+|profanity|spoilers?|bias(?:es|ed)?|distract\w+|repetiti\w+"
    r"|redundan\w+|myths?|misconceptions?|misinformation|unnecessary|needless|irrelevant|unrelated|personal|harmful"
    r"|dangerous|unsafe|incorrect|wrong|false|misleading|inappropriate|offensive)"
)
_FAULT = re.compile(
    _SUBJECT
    + r"(?:fails?\s+to|failure\s+to(?!\s+thrive)|misstates?|misinterprets?|misrepresents?|misleads?|incorrectly"
    r"|wrongly|falsely|inaccurately|erroneously|inappropriately|unnecessarily|excessively|overuses?|fabricates?"
    r"|hallucinates?|downplays?|overly|jumps\s+to\s+(?:a\s+)?conclusions?"
    # What a story invents, or what is made small, may be what was asked for.
    r"|invents?\s+(?:\w+\s+)?(?:facts?|sources?|citations?|references?|quot\w+|data|statistics|studies|figures)"
    r"|minimi[sz]es\s+the\s+(?:severity|seriousness|importance|significance|dangers?|symptoms?)"
    # To leave out what is unwanted is not a fault, and "omit", without its s, is an instruction.
    r"|(?:omits|neglects|overlooks|ignores|disregards|lacks|contradicts)(?![^.;]{0,40}?\b" + _UNWANTED + r"\b))\b",
    re.IGNORECASE,
)
_DODGES = (
    r"(?!\s+(?:from\s+)?(?:answering|addressing|engaging|responding|committing|taking\s+a"
    r"|(?:the|this|that)\s+(?:question|issue|topic|subject|request)))"
)
_REQUIREMENT = re.compile(
    _SUBJECT
    + r"(?:(?:should|must|shall|needs?\s+to|has\s+to)\b(?!\s+be\s+(?:asked|prompted|reminded|told|corrected)\b)"
    r"|(?:avoids?|refrains?)\b" + _DODGES +
    # What is right and yet falls short is a fault.
    r"|(?:correctly|accurately|appropriately|rightly)\s+[a-z]+s\b(?![^.;]*\b(?:but|without|however|yet|only)\b)"
    # Only verbs that give: what does not warn of danger is a fault.
    r"|does\s+not\s+(?:advise|advocate|contain|encourage|endorse|give|include|introduce|make|offer|present|promote|provide"
    r"|recommend|repeat|spread|state|suggest|use)\s+(?:\w+\s+){0,2}?"
    r"(?:harmful|dangerous|unsafe|incorrect|false|misleading|unnecessary|inappropriate)\b)",
    re.IGNORECASE,
)

_PLACEHOLDER = re.compile(
    r"^\W*(?:tbd|todo|n/?a|none|null|nan|xxx+|lorem\s+ipsum(?:\s+dolor.*)?|\W*)\W*$", re.IGNORECASE
)
# In small letters only: "vitamin A" and "the OR" are whole, and so is "blood type AB-".
_CUT_OFF = re.compile(
    r"(?:[,:(\[–—…]|\.\.\.|(?:\s|\b[a-z]{3,})-|\b(?:and|or|the|an?|such\s+as|including|e\.g\.|i\.e\.))$"
)
# "Says what it is for", "signs to watch for": a sentence may end in a preposition that belongs to something before it.
_LOOSE_END = re.compile(r"\b(?:of|with|to|for|in|on|by)$")
_TAKES_LOOSE_END = re.compile(
    r"\b(?:what|whatever|who|whom|whose|which|where|when|how|that)\b|\bto\s+\w+(?:\s+\w+)?\s+\w+$", re.IGNORECASE
)
_LONGEST_PLACEHOLDER = 40
_LONGEST_ENDING = 12
# HealthBench gives its reason for a criterion in brackets behind it; the reason is not what is asked for.
_ASIDE = "(Justification"

_SPEAKER = re.compile(
    r"\W*(?:(?:(?:the|this|an?|your)\s+)?(?:response|answer|reply|output|text|model|assistant|author|it)\s+)?"
)
_PASSED_OVER = re.compile(
    r"(?:should|must|shall|will|needs?\s+to|ha(?:s|ve)\s+to|also|clearly|explicitly|correctly|appropriately|directly"
    r"|specifically|at\s+any\s+point)\s+"
)
_DENIAL = re.compile(
    r"(?:(?:do(?:es)?|did|is|are|was|has|have|can|could|should|must|shall|will)(?:\s+not|n['’]t)|cannot|can['’]t|won['’]t"
    r"|shan['’]t|not|never|fail(?:s|ed|ing|ure)?\s+to|neglect(?:s|ed|ing)?(?:\s+to)?|forget(?:s|ting)?\s+to|forgot\s+to"
    r"|omit(?:s|ted|ting)?|avoid(?:s|ed|ing)?|refrain(?:s|ed|ing)?\s+from|leaves?\s+out|left\s+out|lack(?:s|ed|ing)?"
    r"|ignor(?:es?|ed|ing)|overlook(?:s|ed|ing)?|without|is\s+free\s+(?:of|from)|no"
    r"|(?:contain|include|give|provide|offer|make|show|leave|ha)(?:s|ve)?\s+no)\s+"
)


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
    ending = text.rstrip()[-_LONGEST_ENDING:]
    if _CUT_OFF.search(ending) or (_LOOSE_END.search(ending) and not _TAKES_LOOSE_END.search(text.rstrip())):
        return "it ends in the middle of a sentence"
    # More “ than ”, and no other mark that closes it: people also write “so", “so“ and „so“.
    is_quoting = text.count("“") > text.count("”") and sum(text.count(mark) for mark in '“”„"') % 2 == 1
    if text.count("(") > text.count(")") or is_quoting:
        return "a bracket or quotation is opened and never closed"
    return None


def split_negation(statement: str) -> tuple[str, bool]:
    """What a lower-case statement is about, and whether it opens by denying it."""
    opening = _SPEAKER.match(statement)
    position, negated = opening.end() if opening else 0, False
    while True:
        if match := _DENIAL.match(statement, position):
            negated = not negated
        elif not (match := _PASSED_OVER.match(statement, position)):
            return statement[position:], negated
        position = match.end()
