"""The texts that each scheme puts before a judge, made from a task by pure functions.

Nothing here calls a model. A text that only a model can write (one standard for everything, criteria restated one by
one, labels) is read from the task, and its absence is refused before a token is spent.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from prorubric.errors import SchemeError
from prorubric.rubric.record import is_blank
from prorubric.rubric.records import Dimension, ProtocolRubric, Rubric, Task

APPROPRIATENESS_NAME = "Appropriateness"
APPROPRIATENESS_DESCRIPTION = (
    "The answer deals first and directly with what this person asked, keeps to what serves that request, and is "
    "pitched at the knowledge and the situation the person has shown. It fails if the request has to be searched for "
    "among other material, if it adds advice, tests or topics that this person does not need, or if it speaks to "
    "somebody else."
)
APPROPRIATENESS_TEXT = f"{APPROPRIATENESS_NAME}: {APPROPRIATENESS_DESCRIPTION}"
"""The fixed criterion behind every scheme with `+appropriateness`, as a judge reads it."""

WHOLE_NAME = "The whole answer"
"""The name of the one dimension that is merged from all."""

SHORTEST_DESCRIPTION = 40
"""A description that loses its failure clauses and ends up shorter than this keeps them."""

# One set of signs first, so that the search runs from end to end of a sentence without looking at what is between.
_SENTENCE_END = re.compile(r"[.!?。！？\n](?:(?<=[.!?])[\"'”’)]?(?=\s)|(?<=[。！？])[”’」』）]?|(?<=\n))\s*")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|cf|approx|ca|al|dr|mr|mrs|ms|st|prof|fig|resp|incl)\.$", re.IGNORECASE)
_LIST_MARK = re.compile(r"\W*(?:\d{1,2}|[a-z])\.", re.IGNORECASE)
# "Peter J." and "U.S." go on; "vitamin C." and "etc." end a sentence where the next word is written large.
_INITIAL = re.compile(r"(?:\b[A-Z]\w*[.,]?\s|\.)[A-Z]\.$")
_OPENS = re.compile(r"fails?\b", re.IGNORECASE)
_LONGEST_TAIL = 32
_LONGEST_ABBREVIATION = len("approx.")

# Clause wording, not the noun: "heart failure changes the choice of drug" is what a good answer explains, and so is
# what to do when the first drug fails, what a post-void residual is and where a law does not hold.
_ANSWER = r"(?:answer|response|reply|criterion|dimension|standard)s?"
_THIS = r"(?:this|the|that)\s+(?:criteri(?:on|a)|dimension|standard|requirement)"
_WHERE = r"(?:if|when|where|whenever|unless)\b"
_FAILURE = re.compile(
    "|".join(
        (
            r"^\W*(?:it\s+(?:also\s+)?)?fails?\b",
            rf"^\W*failure(?:\s*:|\s+(?:occurs|means|conditions?|{_WHERE}))",
            rf"(?<!may )(?<!can )(?<!might )(?<!could )\bfails?\s+(?:{_WHERE}|by\b|to\s+meet\b)",
            rf"\bfails?\s+{_THIS}\b",
            rf"\b{_ANSWER}\s+(?:(?:also|would|should|must|then)\s+)?fails?\b",
            rf"\b{_ANSWER}\s+(?:that|which)\b.{{0,300}}\bfails?\b(?!\s+to\b)",
            rf"\b(?:is|are)\s+(?:failed|a\s+failure)\s+(?:{_WHERE}|by\b|to\b)",
            r"\b(?:counts?|marked|judged|treated|considered|deemed)\s+(?:as\s+)?(?:a\s+)?fail(?:ing|ed|ure)?\b",
            r"\b(?:is|are)\s+not\s+(?:met|satisfied|fulfilled)\b(?!\s+by\b)",
            rf"\b(?:not\s+(?:met|satisfied|fulfilled)|unmet|unacceptable|no\s+credit)\s+(?:{_WHERE}|for\b)",
            r"\b(?:earns?|gets?|receives?|deserves?)\s+no\s+credit\b",
            rf"\bdo(?:es)?\s+not\s+(?:meet|satisfy|fulfill?)\s+{_THIS}\b",
            rf"\b{_ANSWER}\b.{{0,300}}\b(?:do(?:es)?\s+not|cannot)\s+(?:count|pass)\b(?!\s+(?:as|on|through)\b)",
            rf"\bvoids?\s+(?:it|this|all|everything|the\s+(?:whole|rest|{_ANSWER}))\b",
            rf"\b(?:{_ANSWER}|it|this)\s+(?:is|are)\s+(?:void(?:ed)?|unacceptable|disqualified)\b",
            rf"\bdisqualif(?:ies|y)\s+(?:it\b|(?:the|an|any)\s+{_ANSWER}\b)",
        )
    ),
    re.IGNORECASE,
)
_FAILURE_HINTS = (
    "fail",
    "met",
    "satisf",
    "fulfil",
    "credit",
    "count",
    "pass",
    "void",
    "unacceptable",
    "disqualif",
    "meet",
)
"""What the pattern above cannot do without."""
# In Chinese: "if …, it does not pass", "an answer that … counts as failed", at the end of the sentence. A blood sugar
# that does not reach its target and a treatment that fails are what an answer speaks of.
_FAILED_HAN = r"(?:不予?通过|不合格|不达标|不予?得分|得?[零0]分|失败|不(?:满足|符合|成立)(?:(?:本|该|此)\w{1,4})?)"
_FAILURE_HAN = re.compile(
    rf"失败条件|(?:若|如果|如有|一旦|凡|只要|未能?|没有|除非).{{0,200}}[，,则即就均判视算].{{0,6}}{_FAILED_HAN}\W*$"
    rf"|(?:回答|答案|答复|回复|[本该此][项条维标要]).{{0,200}}{_FAILED_HAN}\W*$"
)
_ITEM = re.compile(r"\W{0,2}(?:[-*•·–—]|\(?(?:\d{1,2}|[a-h])[.)、])\s*\S", re.IGNORECASE)
"""A line of a list."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a description."""

    text: str
    opens_failure: bool
    """True where it has failure wording itself."""
    is_failure: bool
    """True for that, and for what is listed under it."""


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


def split_sentences(text: str) -> list[str]:
    """The sentences of a text; the point of an abbreviation, a number or a list mark ends none."""
    found: list[str] = []
    for piece in _cut(text.strip()):
        if found and _goes_on(found[-1], piece):
            found[-1] = f"{found[-1]} {piece}"
        elif piece:
            found.append(piece)
    return found


def _cut(text: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(text):
        yield text[start : end.end()].rstrip()
        start = end.end()
    yield text[start:]


def _goes_on(sentence: str, piece: str) -> bool:
    """True where a piece is no sentence of its own: "pH" and "eGFR" may open one, other small letters may not."""
    if _OPENS.match(piece):
        return False
    written_small = piece[:1].islower() and not piece[1:2].isupper()
    if written_small or not sentence.endswith("."):
        return written_small
    # The patterns look at the last words only, and would begin with the first.
    if _ABBREVIATION.search(sentence, max(0, len(sentence) - _LONGEST_ABBREVIATION)):
        return True
    if sentence[-2:-1].isupper() and _INITIAL.search(sentence, max(0, len(sentence) - _LONGEST_TAIL)):
        return True
    return bool(_LIST_MARK.fullmatch(sentence))


def has_failure_clause(text: str) -> bool:
    """True where a text says in explicit words what voids it."""
    return any(map(is_failure_sentence, split_sentences(text)))


def is_failure_sentence(sentence: str) -> bool:
    """True where one sentence says in explicit words what voids the whole."""
    shown = sentence.lower()
    # Most sentences hold none of these; the pattern would look at each of their words to find that out.
    if any(hint in shown for hint in _FAILURE_HINTS) and _FAILURE.search(sentence):
        return True
    return not sentence.isascii() and bool(_FAILURE_HAN.search(sentence))


def split_clauses(description: str) -> list[Sentence]:
    """The sentences of a description; what is listed under "Fails if:" belongs to that clause."""
    found: list[Sentence] = []
    is_listing = False
    for text in split_sentences(description):
        opens = is_failure_sentence(text)
        is_listing = text.endswith((":", "：")) if opens else is_listing and bool(_ITEM.match(text))
        found.append(Sentence(text, opens, opens or is_listing))
    return found


def remove_failure_clauses(description: str) -> WithoutFailure:
    """Take out the sentences with explicit failure wording; what is worded otherwise stays."""
    sentences = split_clauses(description)
    removed = sum(sentence.opens_failure for sentence in sentences)
    text = " ".join(sentence.text for sentence in sentences if not sentence.is_failure)
    if removed and len(text) < SHORTEST_DESCRIPTION:
        return WithoutFailure(description, 0, restored=True, matched=removed)
    return WithoutFailure(text if removed else description, removed, restored=False, matched=removed)


def render_group(rubric: Rubric, dimension: Dimension) -> str:
    """A dimension's criteria word for word, under the instruction that all of them must hold."""
    lines = ["All of the following must hold together; if one of them does not, the whole is not met:"]
    for index in dimension.indices:
        criterion = rubric.criteria[index - 1]
        duty = "must hold" if criterion.weight > 0 else "must not occur"
        lines.append(f"- ({duty}) {criterion.text}")
    return "\n".join(lines)


def merge_dimensions(protocol: ProtocolRubric) -> str:
    """One description for the whole checklist, from the dimensions as they are: the mechanical form of K=1."""
    parts = "\n".join(f"- {dimension.name}: {dimension.description}" for dimension in protocol.dimensions)
    return (
        f"The answer achieves all of the following together:\n{parts}\n"
        "Fails if any one of these fails, however well the others are met."
    )


def read_one(task: Task) -> tuple[str, str] | None:
    """Name and description of the one standard that a generator wrote for the whole checklist, where there is one."""
    one = task.meta.get("k1")
    if not isinstance(one, dict):
        return None
    name, description = one.get("name"), one.get("description")
    return (name, description) if _is_text(name) and _is_text(description) else None


def describe_whole(task: Task) -> str | None:
    """What K=1 judges: the generator's own text for it, else the dimensions merged, else nothing."""
    one = read_one(task)
    if one is not None:
        return f"{one[0]}: {one[1]}"
    return None if task.protocol is None else f"{WHOLE_NAME}: {merge_dimensions(task.protocol)}"


def list_rewritten(task: Task) -> tuple[str, ...]:
    """The criteria restated one by one, which a compiled task carries in `meta["rewritten"]`."""
    texts = task.meta.get("rewritten")
    if not isinstance(texts, list) or len(texts) != len(task.rubric) or not all(map(_is_text, texts)):
        raise SchemeError(
            f"task {task.id!r}: rewritten needs one restated text for each of the {len(task.rubric)} criteria in "
            "meta['rewritten']; compile the task with that transform first"
        )
    return tuple(str(text) for text in texts)


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and not is_blank(value)
