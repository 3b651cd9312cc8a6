"""`tasks`: our own format, one task per line."""

from collections.abc import Mapping
from typing import Any

from prorubric.rubric.forms import CRITERION_KEYS, TASK_KEYS, parse_task, render_task
from prorubric.rubric.save import TASK_SCHEMA

NAME = "tasks"
USED = frozenset(TASK_KEYS)
SCHEMA = TASK_SCHEMA

parse = parse_task
render = render_task


def fits(row: Mapping[str, Any]) -> bool:
    """Our names and no others, down to the criteria; a row that only resembles ours is read as `plain`."""
    rubric = row.get("rubric")
    return (
        {"id", "messages", "rubric"} <= row.keys() <= set(TASK_KEYS)
        and isinstance(row["id"], str)
        and isinstance(row["messages"], list)
        and isinstance(rubric, list)
        and all(isinstance(c, Mapping) and {"criterion", "weight"} <= c.keys() <= set(CRITERION_KEYS) for c in rubric)
    )
