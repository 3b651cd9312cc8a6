"""A task inside a row of a foreign form: what the form has no place for travels as JSON text.

Text, and not an object: a reader that gives every column a type (parquet, `datasets`) fills an object up with the keys
of its neighbours, and a task would come back with keys that it never had. Where a row says something twice, because
the foreign reader looks in another place than we do, the two have to agree: an edit of one of them is refused, since
nobody could say which was meant.
"""

from typing import Any

from prorubric.datasets.shapes import parse_messages
from prorubric.errors import RubricError
from prorubric.files.json import parse_json, render_json
from prorubric.rubric.records import Task
from prorubric.rubric.save import TASK_SCHEMA
from prorubric.text.show import shorten

OWN_KEY = "prorubric"
"""The key that marks a row as written by us and holds what is left over; no foreign file has it."""

MESSAGES_TYPE = TASK_SCHEMA.field("messages").type


def render_text(value: object) -> str:
    """A value as JSON text."""
    return render_json(value).decode()


def parse_text(value: Any, place: str) -> Any:
    """JSON text as the value that it holds; what is no text stays what it is, for the records to refuse."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except (ValueError, RecursionError):
        raise RubricError(
            "not JSON text", shorten(repr(value)), remedy="convert the tasks again", place=place
        ) from None


def parse_object(value: Any, place: str) -> dict[str, Any]:
    """JSON text of an object."""
    parsed = parse_text(value, place)
    if not isinstance(parsed, dict):
        raise RubricError(
            "not JSON text of an object", shorten(repr(value)), remedy="convert the tasks again", place=place
        )
    return parsed


def check_prompt(prompt: Any, task: Task) -> None:
    """Refuse a row whose prompt is another than that of the task it carries."""
    if prompt is not None and parse_messages(prompt) != task.messages:
        raise RubricError("the prompt is not the conversation of the task in the row", remedy="change both or neither")


def check_id(place: str, given: Any, task: Task) -> None:
    """Refuse a row that gives its task a second name."""
    if given is not None and given != task.id:
        raise RubricError(
            "not the id of the task in the row",
            f"{shorten(repr(given))}, the task is {task.id!r}",
            remedy="change both or neither",
            place=place,
        )
