"""An answer as the judge sees it: a text behind one fence, or the turns of a transcript, each behind its own.

All fences of a transcript carry one mark, made from a hash of everything that is shown of it. No turn can contain that
mark, so none can end its own fence or fake another turn, a tool call or a result. Tool calls have their own fences: a
turn that merely writes a call out has not made it.

A long transcript is cut by whole turns. The first turn and the most recent ones are kept, at least those from the last
assistant turn on, and a line says which are left out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import orjson

from prorubric.files.json import render_json
from prorubric.judge.texts import TEXTS
from prorubric.llm.fence import clean, fence, make_mark
from prorubric.rubric.records import Answer, Task, ToolCall, Turn, find_last_text
from prorubric.rubric.transcript import drop_prompt

View = Literal["last", "full"]

_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An answer that is ready to be put into a prompt."""

    fenced: str
    text: str
    """For models that are given the answer itself: a text as it is, or the fenced turns."""
    material: str
    """What of it could be quoted in a reply."""
    turns_left_out: int = 0
    turns: Mapping[int, str] = field(default_factory=dict)
    """What is shown of each turn, by its number; empty if the answer is shown as a single text."""


def show_answer(task: Task, answer: Answer, view: View = "last", limit: int | None = None) -> ShownAnswer:
    """A text, or of a transcript the last assistant turn or all turns, cut to about this many characters.

    A prompt that the transcript repeats is left out. A single turn of the assistant is the same as a text.
    """
    if not isinstance(answer, str):
        turns = drop_prompt(answer, task)
        is_single = len(turns) == 1 and turns[0].role == "assistant" and not turns[0].tool_calls
        if view == "full" and turns and not is_single:
            return _show_turns(turns, limit)
        answer = find_last_text(turns)
    return ShownAnswer(fence("ANSWER", answer), answer, answer)


def _show_turns(turns: Sequence[Turn], limit: int | None) -> ShownAnswer:
    names = {call.id: call.name for turn in turns for call in turn.tool_calls}
    parts = [_list_parts(turn, number, names) for number, turn in enumerate(turns, 1)]
    said = [place for place, turn in enumerate(turns) if turn.role == "assistant"]
    left_out = _find_gap([sum(len(text) for _, text in part) for part in parts], (said or [len(turns) - 1])[-1], limit)
    shown = [part for place, part in enumerate(parts) if place not in left_out]
    material = "\n".join(text for part in shown for _, text in part)
    mark = make_mark("\n".join([clean(material), *(name for part in shown for name, _ in part)]))
    blocks = ["\n".join(fence(name, text, mark) for name, text in part) for part in shown]
    if left_out:
        blocks.insert(1, TEXTS["left_out"].format(first=left_out[0] + 1, last=left_out[-1] + 1))
    opening = TEXTS["transcript"].format(count=len(turns), mark=mark)
    fenced = "\n\n".join([opening, *blocks])
    texts = {
        number: "\n".join(text for _, text in part)
        for number, part in enumerate(parts, 1)
        if number - 1 not in left_out
    }
    return ShownAnswer(fenced, fenced, material, len(left_out), texts)


def _list_parts(turn: Turn, number: int, names: dict[str | None, str]) -> list[tuple[str, str]]:
    """The fences of a turn by their names: what it says, and the tools that it calls."""
    heading = f"TURN {number} {turn.role.upper()}"
    tool = turn.tool_name or names.get(turn.tool_call_id) if turn.role == "tool" else None
    source = f" {_NOT_IN_NAMES.sub('_', tool)[:_LONGEST_NAME]}" if tool else ""
    calls = "\n".join(map(_render_call, turn.tool_calls))
    said = [(heading + source, turn.content)] if turn.content or not calls else []
    return [*said, *([(f"{heading} CALLS", calls)] if calls else [])]


def _render_call(call: ToolCall) -> str:
    """A call as JSON; arguments that are not JSON are shown as the text that they are."""
    try:
        orjson.loads(call.arguments)
        arguments = call.arguments
    except ValueError:
        arguments = render_json(clean(call.arguments)).decode()
    return f'{{"tool": {render_json(clean(call.name)).decode()}, "arguments": {arguments}}}'


def _find_gap(sizes: Sequence[int], last: int, limit: int | None) -> range:
    """The turns to leave out: those after the first that do not fit, but none from the last assistant turn on."""
    if limit is None or sum(sizes) <= limit:
        return range(0)
    start, total = len(sizes), sizes[0]
    while start > 1 and (start > last or total + sizes[start - 1] <= limit):
        start -= 1
        total += sizes[start]
    return range(1, start)
