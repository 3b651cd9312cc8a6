"""A task inside a row of a foreign form: what the form has no place for travels as JSON text.

It is text rather than an object because a reader that gives every column a type (parquet, `datasets`) fills objects up
with the keys of other rows, and a task would come back with keys it never had. If a row holds something twice, because
the foreign reader looks in a different place than we do, the two have to agree: a row in which only one was edited is
refused as ambiguous.
"""

from typing import Any

from prorubric.datasets.shapes import parse_messages
from prorubric.errors import RubricError
from prorubric.files.json import parse_json, render_json
from prorubric.rubric.records import Task
from prorubric.rubric.save import TASK_SCHEMA
from prorubric.text.show import show

OWN_KEY = "prorubric"
"""The key that marks a row as written by us and holds what is left over; no foreign file has it."""

MESSAGES_TYPE = TASK_SCHEMA.field("messages").type


def render_text(value: object) -> str:
    """A value as JSON text."""
    return render_json(value).decode()


def parse_text(value: Any, place: str) -> Any:
    """Parse JSON text; anything but text is returned unchanged, for the records to refuse."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except (ValueError, RecursionError):
        raise RubricError("not JSON text", show(value), remedy="convert the tasks again", place=place) from None


def parse_object(value: Any, place: str) -> dict[str, Any]:
    """JSON text of an object."""
    parsed = parse_text(value, place)
    if not isinstance(parsed, dict):
        raise RubricError("not JSON text of an object", show(value), remedy="convert the tasks again", place=place)
    return parsed


def check_row(task: Task, prompt: Any, place: str, given: Any) -> None:
    """Refuse a row whose prompt, or the id given at a place, is not that of the task it carries."""
    if prompt is not None and parse_messages(prompt) != task.messages:
        raise RubricError("the prompt is not the conversation of the task in the row", remedy="change both or neither")
    if given is not None and given != task.id:
        detail = f"{show(given)}, the task is {task.id!r}"
        raise RubricError("not the id of the task in the row", detail, remedy="change both or neither", place=place)
