"""`rar`: Rubrics as Rewards (RaR-Medicine, RaR-Science): a `question` and a `rubric` of title, description, weight.

Its pitfalls carry a negative weight in two senses. One describes the mistake ("Recommends surgery …"): true is bad,
and the weight stays negative. The other states the duty to avoid it ("should not imply …"): true is good, so the
weight is turned positive, or the reward would punish the good answer.
"""

from collections.abc import Mapping
from typing import Any

from prorubric.datasets.ids import make_id
from prorubric.datasets.shapes import (
    CATEGORY_PREFIX,
    Item,
    make_criterion,
    make_meta,
    parse_messages,
    read_first,
    read_items,
)
from prorubric.rubric.records import Criterion, Rubric, Task
from prorubric.text.criteria import read_direction

NAME = "rar"

_KNOWN_KEYS = ("question", "prompt", "rubric", "id", "question_id", "domain", "reference_answer")


def fits(row: Mapping[str, Any]) -> bool:
    """A question with criteria that have a title and a description, or a description that begins with its tier."""
    first = read_first(row.get("rubric"))
    text = first.get("description")
    titled = text is not None and ("title" in first or (isinstance(text, str) and CATEGORY_PREFIX.match(text)))
    return ("question" in row or "prompt" in row) and bool(titled)


def parse(row: Mapping[str, Any]) -> Task:
    """One row."""
    messages = parse_messages(row["question"] if row.get("question") is not None else row.get("prompt"))
    rubric = Rubric(criteria=tuple(_read_criterion(item, i) for i, item in enumerate(read_items(row.get("rubric")), 1)))
    given = row.get("id") if row.get("id") is not None else row.get("question_id")
    return Task(
        id=str(given) if given is not None else make_id(messages, rubric),
        messages=messages,
        rubric=rubric,
        domain=row.get("domain"),
        source=NAME,
        reference=row.get("reference_answer") or None,
        meta=make_meta({key: value for key, value in row.items() if key not in _KNOWN_KEYS and value != ""}),
    )


def _read_criterion(item: Item, position: int) -> Criterion:
    criterion = make_criterion(item, position)
    pitfall = item.tier == "pitfall" or criterion.weight < 0
    if not pitfall:
        return criterion
    duty = read_direction(criterion.text) == "requirement"
    size = abs(criterion.weight)
    return Criterion(text=criterion.text, weight=size if duty else -size, tags=criterion.tags)
