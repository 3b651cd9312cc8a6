"""`tasks`: our own form, one task a line."""

from collections.abc import Mapping
from typing import Any

from prorubric.rubric.arrow import TASK_SCHEMA
from prorubric.rubric.forms import parse_task, render_task

NAME = "tasks"
SCHEMA = TASK_SCHEMA

parse = parse_task
render = render_task


def fits(row: Mapping[str, Any]) -> bool:
    """Our rows have exactly these three names for what every task has."""
    return {"id", "messages", "rubric"} <= row.keys()
