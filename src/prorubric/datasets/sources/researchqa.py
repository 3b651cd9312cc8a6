"""`researchqa`: ResearchQA: a `query` with rubric items that carry no weights. Each weighs 1."""

from collections.abc import Mapping
from typing import Any

from prorubric.datasets.ids import make_id
from prorubric.datasets.shapes import (
    make_criterion,
    make_meta,
    parse_messages,
    parse_tags,
    read_first,
    read_items,
    unwrap_json,
)
from prorubric.rubric.records import Rubric, Task

NAME = "researchqa"


def fits(row: Mapping[str, Any]) -> bool:
    """A query whose items are called `rubric_item`."""
    return "query" in row and "rubric_item" in read_first(row.get("rubric"))


def parse(row: Mapping[str, Any]) -> Task:
    """One row."""
    messages, entries = parse_messages(row.get("query")), unwrap_json(row.get("rubric"))
    if isinstance(entries, list):
        entries = [_tag_type(unwrap_json(entry)) for entry in entries]
    items = enumerate(read_items(entries), 1)
    rubric = Rubric(criteria=tuple(make_criterion(item, position, default=1.0) for position, item in items))
    fields = ("general_domain", "subdomain", "field", "date")
    return Task(
        id=str(row["id"]) if row.get("id") is not None else make_id(messages, rubric),
        messages=messages,
        rubric=rubric,
        domain="science",
        source=NAME,
        meta=make_meta({key: row[key] for key in fields if row.get(key)}),
    )


def _tag_type(entry: Any) -> Any:
    """The entry with its `type` (one, or several) among its tags."""
    if not isinstance(entry, Mapping):
        return entry
    kinds = [f"type:{kind}" for kind in parse_tags(entry.get("type"))]
    return {**entry, "tags": [*parse_tags(entry.get("tags")), *kinds]}
