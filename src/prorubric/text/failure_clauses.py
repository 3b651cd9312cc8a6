"""The demands of a description and its failure clauses, told apart."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from prorubric.text.failure_wording import LATIN_CLAUSE, REPLY, REPLY_HAN, THIS, is_failure_sentence
from prorubric.text.sentences import split_sentences

SHORTEST_DESCRIPTION = 40
"""A description that loses its failure clauses and ends up shorter than this keeps them."""

_ITEM = re.compile(r"\W{0,2}(?:[-*•·–—]|\(?(?:\d{1,2}|[a-h])[.)、])\s*\S", re.IGNORECASE)
"""A line of a list."""
# What goes on from the clause before it. "So the parent knows …", "Even if …, she goes" and "It includes …" do not.
_MAIN_CLAUSE = r"(?!.*,\s+(?:then\s+)?(?:the|it|this|that|she|he|they|there|an?)\s)"
_FOLLOWS = re.compile(
    r"\W*(?:"
    r"(?:this|that)\s+(?:(?:also|equally|would|can|even)\s+)*includes?\b"
    r"|(?:this|that)\s+(?:also\s+|equally\s+)?(?:applies|holds)\b"
    r"|(?:this|that)\s+is\s+(?:so|true|the\s+case)\s+(?:even|also|whether|if|when|however|no\s+matter)\b"
    r"|(?:the\s+)?same\s+(?:is\s+true|holds|applies|goes|if|when|for)\b"
    r"|so\s+(?:do|does|is|are|would)\b"
    rf"|(?:likewise|similarly|equally|also|or),?\s+(?:if|when|where|unless)\b{_MAIN_CLAUSE}"
    rf"|(?:nor|neither)\s+(?:do|does|is|are|can|will)\s+(?:one|those|(?:an?\s+|any\s+)?{REPLY})\b"
    r"|(?:nor|neither)\s+(?:does|is|can|will)\s+(?:it|this)\s+(?:pass|count|met|satisfied|acceptable)\b"
    r"|(?:dies|das)\s+gilt\s+auch\b|(?:dasselbe|gleiches)\s+gilt\b|dazu\s+gehört\b|(?:ebenso|auch),?\s+(?:wenn|falls)\b"
    r"|(?:cela|ceci)\s+(?:inclut|comprend|vaut\s+aussi)\b|il\s+en\s+va\s+de\s+même\b|de\s+même,?\s+si\b"
    r"|(?:esto|eso)\s+incluye\b|lo\s+mismo\s+(?:si|ocurre|vale|se\s+aplica)\b|también\s+si\b"
    r"|(?:这|此|其中)(?:也|还|同样)?包括|(?:这|此)?(?:同样|也)适用于|(?:以下|下列)情况亦然"
    r")",
    re.IGNORECASE,
)
# One set of signs first, as for the end of a sentence.
_BREAK = re.compile(r"[;；—–，](?:(?<=[;；])|(?<=\s[—–])(?=\s)|(?<=——)|(?<=，)(?=否则))\s*")
# A clause that stands by itself after such a break: the verdict comes first and its own condition after it. "It waits
# or gives aspirin; either fails" is one clause from its beginning.
_OWN_CLAUSE = re.compile(
    rf"\W*(?:(?:and|but|it|also|{THIS}|(?:the|an?|any)\s+{REPLY}|is|are|does|an?)\s+){{0,4}}"
    r"(?:fails?|failed|failure|automatic|failing|not\s+(?:met|satisfied|fulfilled|acceptable|pass|meet)|unmet|no\s+credit|"
    r"unacceptable|void|disqualified|score|reject)\b(?=.*(?::|\b(?:if|when|where|whenever|unless|by|for|that|which)\b))"
    rf"|\W*(?:(?:an?|any)\s+{REPLY}\s+(?:that|which)|otherwise)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\W*(?:(?:if|when|unless)\b[^,]*$|若|如果|如有|倘若|一旦|凡|只要|$)", re.IGNORECASE)
"""What is no demand: a first half that waits for its verdict, and one without words."""
_OWN_CLAUSE_HAN = re.compile(rf"\W*(?:否则|{REPLY_HAN}?(?:若|如果|如有|倘若|一旦|凡|只要))")


class Sentence(NamedTuple):
    """A sentence of a description."""

    text: str
    opens_failure: bool
    """True where it has failure wording itself."""
    is_failure: bool
    """True for that, for what is listed under it and for what goes on from it."""
    is_rest: bool = False
    """True for a failure clause that stands after a semicolon or a dash, behind the demand of the same sentence."""


@dataclass(frozen=True, slots=True)
class WithoutFailure:
    """A description without its explicit failure sentences."""

    text: str
    removed: int
    """How many sentences matched and were taken out, with what was listed under them."""
    restored: bool
    """True where too little would have been left, so that the description is whole again."""
    matched: int = field(default=0, compare=False)
    """How many sentences have failure wording, taken out or not."""


def has_failure_clause(text: str) -> bool:
    """True where a text says in explicit words what voids it."""
    return any(sentence.opens_failure for sentence in split_clauses(text))


def split_clauses(description: str) -> list[Sentence]:
    """The sentences of a description, where a failure clause is told from the demand before it in the same sentence.

    What is listed under "Fails if:" belongs to that clause, and so does a sentence that goes on from it.
    """
    found: list[Sentence] = []
    is_listing = False
    for whole in split_sentences(description):
        is_item = is_listing and bool(_ITEM.match(whole))
        demand, text = ("", whole) if is_item else _cut_clause(whole)
        if demand:
            found.append(Sentence(demand, opens_failure=False, is_failure=False))
        opens = bool(demand) or is_failure_sentence(text)
        is_clause = opens or _goes_on_from(found, text)
        is_listing = is_item or (is_clause and text.endswith((":", "：")))
        found.append(Sentence(text, opens, is_clause or is_item, bool(demand)))
    return found


def _goes_on_from(sentences: list[Sentence], text: str) -> bool:
    return bool(sentences) and sentences[-1].is_failure and bool(_FOLLOWS.match(text))


def _cut_clause(sentence: str) -> tuple[str, str]:
    """The demand before a failure clause of the same sentence, and the clause; without such a demand, all of it."""
    if sentence.isascii() and ";" not in sentence:
        return "", sentence
    for cut in _BREAK.finditer(sentence):
        demand, clause = sentence[: cut.end()].rstrip(), sentence[cut.end() :]
        if _is_own_clause(clause) and _is_demand(demand):
            return demand, clause
    return "", sentence


def _is_own_clause(text: str) -> bool:
    opens = _OWN_CLAUSE.match(text) or LATIN_CLAUSE.match(text.lower()) or _OWN_CLAUSE_HAN.match(text)
    return bool(opens) and is_failure_sentence(text)


def _is_demand(text: str) -> bool:
    """False for half of a clause: "An answer – even a kind one – fails if …" has its subject before the dashes."""
    between_dashes = text.endswith(("—", "–")) and any(dash in text[:-1] for dash in (" — ", " – "))
    return not between_dashes and not _CONDITION.match(text) and not is_failure_sentence(text)


def remove_failure_clauses(description: str) -> WithoutFailure:
    """Take out the sentences with explicit failure wording; what is worded otherwise stays."""
    sentences = split_clauses(description)
    removed = sum(sentence.opens_failure for sentence in sentences)
    kept: list[str] = []
    for sentence in sentences:
        if sentence.is_rest:
            kept[-1] = _close(kept[-1])
        elif not sentence.is_failure:
            kept.append(sentence.text)
    text = " ".join(kept)
    if removed and len(text) < SHORTEST_DESCRIPTION:
        return WithoutFailure(description, 0, restored=True, matched=removed)
    return WithoutFailure(text if removed else description, removed, restored=False, matched=removed)


def _close(demand: str) -> str:
    """A demand that ends where its sentence went on."""
    bare = demand.rstrip(";；—–， \n")
    return bare + ("。" if "㐀" <= bare[-1] <= "鿿" else ".")
