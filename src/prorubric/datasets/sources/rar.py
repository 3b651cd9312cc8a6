"""`rar`: Rubrics as Rewards (RaR-Medicine, RaR-Science): a `question` and a `rubric` of title, description, weight.

Its pitfalls carry a negative weight in two senses. One describes the mistake ("Recommends surgery …"): true is bad,
and the weight stays negative. The other states the duty to avoid it ("should not imply …"): true is good, so the
weight is turned positive, or the reward would punish the good answer. The wording decides; if it does not, the weight
stays negative and the criterion is marked, which lint shows and `strict` refuses.

Its files give each criterion a whole number for a weight; `tiers` takes the paper's weight of its tier instead.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from prorubric.datasets.ids import make_id
from prorubric.datasets.shapes import CATEGORY_PREFIX, make_criterion, make_meta, parse_messages, read_first, read_items
from prorubric.errors import RubricError
from prorubric.rubric.records import Rubric, Task
from prorubric.text.pitfalls import UNDECIDED_TAG, read_pitfall
from prorubric.text.show import show

NAME = "rar"

USED = frozenset(("question", "prompt", "rubric", "id", "question_id", "domain", "reference_answer"))


def fits(row: Mapping[str, Any]) -> bool:
    """A question with criteria that have a title and a description, or a description that begins with its tier."""
    first = read_first(row.get("rubric"))
    text = first.get("description")
    titled = text is not None and ("title" in first or (isinstance(text, str) and CATEGORY_PREFIX.match(text)))
    return ("question" in row or "prompt" in row) and bool(titled)


def parse(row: Mapping[str, Any], *, tiers: bool = False) -> Task:
    """One row, with the file's weights or with those of the paper's tiers."""
    messages = parse_messages(row["question"] if row.get("question") is not None else row.get("prompt"))
    criteria = []
    for position, item in enumerate(read_items(row.get("rubric")), 1):
        if tiers and item.tier is None:
            remedy = "begin it with Essential, Important, Optional or Pitfall, or leave --tiers out"
            raise RubricError("no tier", show(item.text), remedy=remedy, place=f"criterion {position}")
        criterion = make_criterion(replace(item, weight=None) if tiers else item, position)
        if item.tier == "pitfall" or criterion.weight < 0:
            meaning = read_pitfall(criterion.text)
            weight = abs(criterion.weight) if meaning == "requirement" else -abs(criterion.weight)
            tags = (*criterion.tags, *([UNDECIDED_TAG] if meaning == "undecided" else []))
            criterion = criterion.model_copy(update={"weight": weight, "tags": tags})
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
