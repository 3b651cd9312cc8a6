"""`rar`: Rubrics as Rewards (RaR-Medicine, RaR-Science): a `question` and a `rubric` of title, description, weight.

Its pitfalls carry a negative weight in two senses. One describes the mistake ("Recommends surgery …"): true is bad,
and the weight stays negative. The other states the duty to avoid it ("should not imply …"): true is good, so the
weight is turned positive, or the reward would punish the good answer.
"""

from collections.abc import Mapping
from typing import Any

from prorubric.datasets.ids import make_id
from prorubric.datasets.shapes import Item, make_criterion, parse_messages, read_items, unwrap_json
from prorubric.rubric.reading import read_direction
from prorubric.rubric.records import Criterion, Rubric, Task

NAME = "rar"


def fits(row: Mapping[str, Any]) -> bool:
    """A question with criteria that have a title or a description."""
    items = unwrap_json(row.get("rubric"))
    return ("question" in row or "prompt" in row) and _is_titled(items)


def parse(row: Mapping[str, Any]) -> Task:
    """One row."""
    messages = parse_messages(row["question"] if row.get("question") is not None else row.get("prompt"))
    rubric = Rubric(criteria=tuple(_read_criterion(item, i) for i, item in enumerate(read_items(row.get("rubric")), 1)))
    origin = str(row.get("question_source") or "")
    given = row.get("id") if row.get("id") is not None else row.get("question_id")
    return Task(
        id=str(given) if given is not None else make_id(messages, rubric),
        messages=messages,
        rubric=rubric,
        domain=row.get("domain"),
        source=NAME,
        reference=row.get("reference_answer") or None,
        meta={"question_source": origin} if origin else {},
    )


def _read_criterion(item: Item, position: int) -> Criterion:
    criterion = make_criterion(item, position)
    pitfall = item.tier == "pitfall" or criterion.weight < 0
    if not pitfall:
        return criterion
    duty = read_direction(criterion.text) == "requirement"
    size = abs(criterion.weight)
    return Criterion(text=criterion.text, weight=size if duty else -size, tags=criterion.tags)


def _is_titled(items: Any) -> bool:
    return (
        isinstance(items, list)
        and bool(items)
        and isinstance(items[0], Mapping)
        and ("description" in items[0] or "title" in items[0])
    )
