"""A task inside a row of another format: anything without a field there is stored as JSON text.

As objects, readers that give every column a type (parquet, `datasets`) would fill it up with the keys of other rows.
What a row holds twice, because the foreign reader looks in another place, has to agree, or the row is refused.
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


def render_json_text(value: object) -> str:
    """A value as JSON text."""
    return render_json(value).decode()


def parse_json_text(value: Any, place: str) -> Any:
    """Parse JSON text; anything but text is returned unchanged, for the records to refuse."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except (ValueError, RecursionError):
        raise RubricError("not JSON text", show(value), remedy="convert the tasks again", place=place) from None


def parse_object(value: Any, place: str) -> dict[str, Any]:
    """JSON text of an object."""
    parsed = parse_json_text(value, place)
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
