"""Criteria as text inside a policy's prompt: what an answer should do, what it must not do, and the points.

Scaffolds and the teacher of self-distillation differ in the words around the list, `prompts/<name>.txt`.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from prorubric.llm.fence import clean
from prorubric.llm.prompt_file import fill_section, load_sections
from prorubric.rubric.records import Task

Chat = list[dict[str, Any]]
"""Messages as chat templates take them."""
Item = tuple[str, float]
"""The text of a criterion and its points, negative for a behaviour to avoid."""
Role = Literal["user", "system"]

_FILLED = ("include", "avoid")


def list_guidance(task: Task) -> list[Item]:
    """The criteria of a task in their order."""
    return [(criterion.text, criterion.weight) for criterion in task.rubric.criteria]


def render_guidance(prompt: str, items: Iterable[Item]) -> str:
    """The text of a prompt with these items, one to a line; empty if none has points."""
    lines: dict[str, list[str]] = {name: [] for name in _FILLED}
    for text, points in items:
        if points:
            worth = f"{abs(points):g} point{'s' * (abs(points) != 1)}"
            lines["include" if points > 0 else "avoid"].append(f"- {' '.join(clean(text).split())} ({worth})")
    if not any(lines.values()):
        return ""
    sections = _load_sections(prompt)
    lists = [fill_section(sections, name, "\n".join(found)) for name, found in lines.items() if found]
    return "\n\n".join([sections["opening"], *lists, sections["closing"]])


def add_guidance(messages: Sequence[Mapping[str, Any]], text: str, role: Role = "user") -> Chat:
    """The messages with the text at the end of the last user message, or in a system message before all others.

    A system message that is already first is joined with it, and a prompt without a user message gets one.
    """
    chat = [dict(message) for message in messages]
    if not text:
        return chat
    if role == "system":
        if chat and chat[0]["role"] in ("system", "developer"):
            return [{**chat[0], "content": f"{text}\n\n{chat[0]['content']}"}, *chat[1:]]
        return [{"role": "system", "content": text}, *chat]
    last = max((place for place, message in enumerate(chat) if message["role"] == "user"), default=None)
    if last is None:
        return [*chat, {"role": "user", "content": text}]
    chat[last]["content"] = f"{chat[last]['content']}\n\n{text}"
    return chat


@cache
def _load_sections(prompt: str) -> dict[str, str]:
    place = Path(__file__).parent / "prompts" / f"{prompt}.txt"
    return load_sections(place, ("opening", *_FILLED, "closing"), _FILLED)
