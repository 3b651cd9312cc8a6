"""Answers as people write them: a task's name, a text or a transcript, and other fields, which are kept in `meta`.

A row may have `messages` next to its text. They are the prompt, and kept in `meta`, if they end with the user's turn
or the text is called `response`; otherwise it is unclear which of the two is the answer, and the row is refused.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from prorubric.datasets.shapes import find_keys, keep_rest, parse_id, unwrap_json
from prorubric.errors import RubricError
from prorubric.rubric.records import Response
from prorubric.rubric.transcript import parse_transcript

_TEXT_NAMES = ("response", "completion", "answer", "output")
_NEEDED = {"task_id": ("task_id", "id", "prompt_id", "question_id"), "response": _TEXT_NAMES}
_OTHERS = {"messages": ("transcript", "messages")} | {name: (name,) for name in ("sample", "model", "tokens", "meta")}
_FIELDS, _TEXTS = _NEEDED | _OTHERS, {name: (name,) for name in _TEXT_NAMES}
_PROMPT_ENDS = ("user", "system", "developer")

EXAMPLE = 'a row that works: {"task_id": "fever", "response": "Go in now."}'


def parse_response(row: Mapping[str, Any], seen: Counter[str]) -> Response:
    """One row. `seen` counts the rows of each task, and numbers those that do not say which sample they are."""
    keys = find_keys(row, _FIELDS)
    if "response" in keys and "messages" in keys:
        _leave_to_text(row, keys)
    for field, names in _NEEDED.items():
        if field not in keys and not (field == "response" and "messages" in keys):
            if null := next((key for key in row if str(key).strip().lower() in names), None):
                raise RubricError(f"{null} is null", remedy="give text, or leave the row out")
            found, remedy = f"among {', '.join(map(str, row))}", f"call it {', '.join(names[:-1])} or {names[-1]}"
            also = ", or messages for a transcript" if field == "response" else ""
            raise RubricError(f"no {field}", found, remedy=remedy + also)
    others = find_keys(row, _TEXTS) if keys.get("response", "response") != "response" else {}
    if "response" not in others and len(others) > 1:
        found = " and ".join(others.values())
        raise RubricError("several fields could be the response", found, remedy="call the right one response")
    task_id = parse_id(row[keys["task_id"]])
    numbers = {field: _read_number(row[keys[field]]) for field in ("sample", "tokens") if field in keys}
    model = row[keys["model"]] if isinstance(row.get(keys.get("model", "")), str) else None
    used = {key for field, key in keys.items() if field != "meta" and (field != "model" or model is not None)}
    is_text = "response" in keys
    turns = None if is_text else parse_transcript(unwrap_json(row[keys["messages"]]))
    if turns is not None and not any(turn.role == "assistant" for turn in turns):
        remedy = "add its turns, or give the answer as response"
        raise RubricError("the transcript has no assistant turn", f"in {keys['messages']}", remedy=remedy)
    response = Response(
        task_id=task_id,
        text=row[keys["response"]] if is_text else None,
        messages=turns,
        sample=seen[task_id] if numbers.get("sample") is None else numbers["sample"],
        model=model or None,
        tokens=numbers.get("tokens"),
        meta=keep_rest(row, used, keys.get("meta")),
    )
    seen[task_id] += 1
    return response


def _leave_to_text(row: Mapping[str, Any], keys: dict[str, str]) -> None:
    """Take the messages of a row that also has a text for its prompt, or refuse the row if they may be the answer."""
    text, messages = keys["response"], keys["messages"]
    turns = unwrap_json(row[messages])
    last = turns[-1] if isinstance(turns, list) and turns and isinstance(turns[-1], Mapping) else {}
    is_prompt = messages.strip().lower() == "messages" and (
        text.strip().lower() == "response" or last.get("role") in _PROMPT_ENDS
    )
    if not is_prompt:
        found = f"{text} and {messages}"
        raise RubricError("several fields could be the response", found, remedy="call the text response, or keep one")
    del keys["messages"]


def _read_number(value: Any) -> Any:
    """A whole number as csv and pandas write it; anything else stays as it is, for the record to refuse."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and not value.strip():
        return None
    is_digits = isinstance(value, str) and value.isascii() and value.strip().isdigit() and len(value) < 20
    return int(value) if is_digits else value
