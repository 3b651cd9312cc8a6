"""`rar`: Rubrics as Rewards (RaR-Medicine, RaR-Science): a `question` and a `rubric` of title, description, weight.

Its pitfalls carry a negative weight in two senses. One describes the mistake ("Recommends surgery …"): true is bad,
and the weight stays negative. The other states the duty to avoid it ("should not imply …"): true is good, so the
weight is turned positive, or the reward would punish the good answer.
"""

from collections.abc import Mapping
from typing import Any

from prorubric.datasets.ids import make_id
from prorubric.datasets.shapes import CATEGORY_PREFIX, make_criterion, make_meta, parse_messages, read_first, read_items
from prorubric.rubric.records import Rubric, Task
from prorubric.text.criteria import read_direction

NAME = "rar"

USED = frozenset(("question", "prompt", "rubric", "id", "question_id", "domain", "reference_answer"))


def fits(row: Mapping[str, Any]) -> bool:
    """A question with criteria that have a title and a description, or a description that begins with its tier."""
    first = read_first(row.get("rubric"))
    text = first.get("description")
    titled = text is not None and ("title" in first or (isinstance(text, str) and CATEGORY_PREFIX.match(text)))
    return ("question" in row or "prompt" in row) and bool(titled)


def parse(row: Mapping[str, Any]) -> Task:
    """One row."""
    messages = parse_messages(row["question"] if row.get("question") is not None else row.get("prompt"))
    criteria = []
    for position, item in enumerate(read_items(row.get("rubric")), 1):
        criterion = make_criterion(item, position)
        if item.tier == "pitfall" or criterion.weight < 0:
            is_duty = read_direction(criterion.text) == "requirement"
            weight = abs(criterion.weight) if is_duty else -abs(criterion.weight)
            criterion = criterion.model_copy(update={"weight": weight})
        criteria.append(criterion)
    rubric = Rubric(criteria=tuple(criteria))
    given = row.get("id") if row.get("id") is not None else row.get("question_id")
    return Task(
        id=str(given) if given is not None else make_id(messages, rubric),
        messages=messages,
        rubric=rubric,
        domain=row.get("domain"),
        source=NAME,
        reference=row.get("reference_answer") or None,
        meta=make_meta({key: value for key, value in row.items() if key not in USED and value != ""}),
    )
