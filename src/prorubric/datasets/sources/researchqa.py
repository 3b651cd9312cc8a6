"""`researchqa`: ResearchQA: a `query` with rubric items that carry no weights. Each weighs 1."""

from collections.abc import Mapping
from typing import Any

from prorubric.datasets.ids import make_id
from prorubric.datasets.shapes import make_criterion, parse_messages, parse_tags, read_items, unwrap_json
from prorubric.rubric.records import Criterion, Rubric, Task

NAME = "researchqa"


def fits(row: Mapping[str, Any]) -> bool:
    """A query whose items are called `rubric_item`."""
    items = unwrap_json(row.get("rubric"))
    return (
        "query" in row
        and isinstance(items, list)
        and bool(items)
        and isinstance(items[0], Mapping)
        and "rubric_item" in items[0]
    )


def parse(row: Mapping[str, Any]) -> Task:
    """One row."""
    entries = unwrap_json(row.get("rubric"))
    messages = parse_messages(row.get("query"))
    types = [parse_tags(entry.get("type") if isinstance(entry, Mapping) else None) for entry in entries or ()]
    criteria = []
    for position, item in enumerate(read_items(entries), 1):
        plain = make_criterion(item, position, default=1.0)
        kinds = tuple(f"type:{kind}" for kind in types[position - 1])
        criteria.append(Criterion(text=plain.text, weight=plain.weight, tags=(*plain.tags, *kinds)))
    rubric = Rubric(criteria=tuple(criteria))
    fields = ("general_domain", "subdomain", "field", "date")
    return Task(
        id=str(row["id"]) if row.get("id") is not None else make_id(messages, rubric),
        messages=messages,
        rubric=rubric,
        domain="science",
        source=NAME,
        meta={key: row[key] for key in fields if row.get(key)},
    )
