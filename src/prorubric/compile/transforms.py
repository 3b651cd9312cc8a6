"""The texts that each scheme puts before a judge, made from a task by pure functions.

Nothing here calls a model. A text that only a model can write (one standard for everything, criteria restated one by
one, labels) is read from the task, and its absence is refused before a token is spent.
"""

import re
from dataclasses import dataclass

from prorubric.errors import SchemeError
from prorubric.rubric.records import Dimension, ProtocolRubric, Rubric, Task

APPROPRIATENESS_TEXT = (
    "The answer deals first and directly with what this person asked, keeps to what serves that request, and is "
    "pitched at the knowledge and the situation the person has shown. It fails if the request has to be searched for "
    "among other material, if it adds advice, tests or topics that this person does not need, or if it speaks to "
    "somebody else."
)
"""The fixed criterion behind every scheme with `+appropriateness`."""

SHORTEST_DESCRIPTION = 40
"""A description that loses its failure clauses and ends up shorter than this keeps them."""

_SENTENCE = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"'”’)]))\s+|(?<=[。！？])\s*|\n+")
_NO_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|dr|mr|mrs|ms|prof|fig|resp|incl|[a-z])|^\W*\d{1,2})\.$", re.IGNORECASE
)
# Clause wording, not the noun: "heart failure changes the choice of drug" is what a good answer explains.
_FAILURE = re.compile(
    r"\b(?:fails?\s+(?:if|when|where|whenever|unless|by|to\s+meet)\b|(?:answer|response|reply|it)\s+fails\b"
    r"|is\s+not\s+met\b|does\s+not\s+(?:count|pass|hold)\b|cannot\s+(?:count|pass)\b|voids?\b|is\s+void(?:ed)?\b"
    r"|is\s+unacceptable\b|no\s+credit\b|not\s+satisfied\s+(?:if|when)\b|unmet\s+(?:if|when)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class WithoutFailure:
    """A description without its explicit failure sentences."""

    text: str
    removed: int
    """How many sentences matched and were taken out."""
    restored: bool
    """True where too little would have been left, so that the description is whole again."""


def split_sentences(text: str) -> list[str]:
    """The sentences of a text; the point of an abbreviation, a number or a list mark ends none."""
    found: list[str] = []
    for piece in _SENTENCE.split(text.strip()):
        if found and (_NO_END.search(found[-1]) or piece[:1].islower()):
            found[-1] = f"{found[-1]} {piece}"
        elif piece.strip():
            found.append(piece)
    return found


def has_failure_clause(text: str) -> bool:
    """True where a text says in explicit words what voids it."""
    return bool(_FAILURE.search(text))


def remove_failure_clauses(description: str) -> WithoutFailure:
    """Take out the sentences with explicit failure wording; what is worded otherwise stays."""
    sentences = split_sentences(description)
    kept = [sentence for sentence in sentences if not _FAILURE.search(sentence)]
    removed = len(sentences) - len(kept)
    text = " ".join(kept)
    if removed and len(text) < SHORTEST_DESCRIPTION:
        return WithoutFailure(description, 0, restored=True)
    return WithoutFailure(text if removed else description, removed, restored=False)


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
    return (name, description) if isinstance(name, str) and isinstance(description, str) else None


def describe_whole(task: Task) -> str | None:
    """What K=1 judges: the generator's own text for it, else the dimensions merged, else nothing."""
    one = read_one(task)
    if one is not None:
        return f"{one[0]}: {one[1]}"
    return None if task.protocol is None else merge_dimensions(task.protocol)


def list_rewritten(task: Task) -> tuple[str, ...]:
    """The criteria restated one by one, which a compiled task carries in `meta["rewritten"]`."""
    texts = task.meta.get("rewritten")
    if (
        not isinstance(texts, list)
        or len(texts) != len(task.rubric)
        or not all(isinstance(text, str) for text in texts)
    ):
        raise SchemeError(
            f"task {task.id!r}: rewritten needs one restated text for each of the {len(task.rubric)} criteria in "
            "meta['rewritten']; compile the task with that transform first"
        )
    return tuple(str(text) for text in texts)
