"""Transcripts in the form that chat APIs use, and back: `parse_transcript(render_transcript(turns)) == turns`.

A message has a role and a content: text, parts of text, or nothing. An assistant's may call tools, and a tool's names
the call that it answers. What cannot be shown to a judge, such as an image, is refused with its place. The thinking of
a model (`reasoning_content`) and other keys are not read.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import JsonValue

from prorubric.errors import RubricError
from prorubric.files.json import render_json
from prorubric.rubric.records import Message, Task, ToolCall, Turn
from prorubric.text.show import show

_TEXT_PARTS = ("text", "input_text", "output_text", "refusal")


def parse_transcript(messages: Any) -> tuple[Turn, ...]:
    """Messages as turns; raises `RubricError` with the number of the turn."""
    if not isinstance(messages, Iterable) or isinstance(messages, str | bytes | Mapping):
        raise RubricError("the transcript is not a list of messages", show(messages), remedy="give one")
    turns = []
    for number, message in enumerate(messages, 1):
        try:
            turns.append(parse_turn(message))
        except RubricError as error:
            raise error.at(f"turn {number}") from None
    return tuple(turns)


def parse_turn(message: Any) -> Turn:
    """One message as a turn."""
    if isinstance(message, Turn):
        return message
    if isinstance(message, Message):
        return Turn(role=message.role, content=message.content)
    if not isinstance(message, Mapping):
        raise RubricError("not a message", show(message), remedy="give an object with role and content")
    given = list(message.get("tool_calls") or ())
    if message.get("function_call"):  # what chat APIs had before tools
        given.append(message["function_call"])
    calls = []
    for call in given:
        if not isinstance(call, Mapping):
            remedy = "give its function, a name and arguments"
            raise RubricError("a tool call is not an object", show(call), remedy=remedy)
        function = call["function"] if isinstance(call.get("function"), Mapping) else call
        arguments = function.get("arguments")
        try:
            arguments = (
                arguments
                if isinstance(arguments, str)
                else render_json({} if arguments is None else arguments).decode()
            )
        except TypeError:
            raise RubricError("the arguments have no JSON form", show(arguments), remedy="give JSON values") from None
        calls.append(ToolCall(name=function.get("name"), arguments=arguments, id=call.get("id")))
    return Turn(
        role=message.get("role"),
        content=parse_content(message.get("content")) or message.get("refusal") or "",
        tool_calls=tuple(calls),
        tool_name=message.get("name") if message.get("role") == "tool" else None,
        tool_call_id=message.get("tool_call_id"),
    )


def parse_content(content: Any) -> str:
    """The text of a message, whose parts are joined; nothing is an empty text."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, Iterable) or isinstance(content, bytes | Mapping):
        raise RubricError("the content is not text", show(content), remedy="give text, or a list of parts of text")
    texts = []
    for part in content:
        kind = part.get("type", "text") if isinstance(part, Mapping) else "text"
        text = part.get("text", part.get("refusal")) if isinstance(part, Mapping) else part
        if kind not in _TEXT_PARTS or not isinstance(text, str):
            raise RubricError("a part cannot be judged", f"type {kind}", remedy="leave out what is not text")
        texts.append(text)
    return "".join(texts)


def render_transcript(turns: Iterable[Turn]) -> list[JsonValue]:
    """Turns as messages; what is absent is left out."""
    messages: list[JsonValue] = []
    for turn in turns:
        calls: list[JsonValue] = []
        for call in turn.tool_calls:
            function: JsonValue = {"name": call.name, "arguments": call.arguments}
            named: dict[str, JsonValue] = {} if call.id is None else {"id": call.id}
            calls.append(named | {"type": "function", "function": function})
        message: dict[str, JsonValue] = {"role": turn.role, "content": turn.content}
        if calls:
            message["tool_calls"] = calls
        more = {"name": turn.tool_name, "tool_call_id": turn.tool_call_id}
        messages.append(message | {key: value for key, value in more.items() if value is not None})
    return messages


def drop_prompt(turns: tuple[Turn, ...], task: Task) -> tuple[Turn, ...]:
    """What follows the conversation of the task, if the transcript begins with all of it; else the whole transcript."""
    prompt = [(message.role, message.content) for message in task.messages]
    opening = [(turn.role, turn.content) for turn in turns[: len(prompt)]]
    return turns[len(prompt) :] if opening == prompt else turns
