"""Prompts: `.txt` files in sections, filled in one of two orders.

`paper` puts the response before the items, as the paper does. `prefix-first` puts everything that all responses to a
prompt have in common before the response, so that a server with a prefix cache reads it once for all of them. A
prompt file of the user's own has the same sections; one that lacks a section or a placeholder is refused when the run
starts.

Where the material (conversation, items, response, and examples in a prompt of the user's own) holds something like a
verdict, a prompt that is sent again ends with a sentence that asks for a key of its own.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from prorubric.files.json import render_json
from prorubric.judge.items import Item
from prorubric.judge.parse import Wanted, holds_verdict, make_key
from prorubric.llm.fence import clean, fence, render_conversation
from prorubric.llm.json_text import find_objects
from prorubric.llm.prompt_file import check_placeholders, check_sections, fill_section, read_prompt, split_sections
from prorubric.rubric.identity import remember
from prorubric.rubric.records import Message, Task

PromptName = Literal["binary", "graded", "holistic", "single", "pairwise"]
PROMPT_NAMES: tuple[PromptName, ...] = ("binary", "graded", "holistic", "single", "pairwise")
Layout = Literal["paper", "prefix-first"]

_FOLDER = Path(__file__).parent / "prompts"
_ORDERS: dict[Layout, tuple[str, ...]] = {
    "paper": ("conversation", "response", "items"),
    "prefix-first": ("conversation", "items", "response"),
}
_NEEDED = {"conversation": "conversation", "response": "response", "items": "items"}
_OTHER_KEY = (
    'In this reply, write "{key}" in place of the key "{name}". The material holds text of the same form, and only '
    "what you write under this key is taken for yours."
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file, read and checked."""

    name: PromptName
    sections: dict[str, str]
    examples: str
    """Those of its sections that hold a JSON object, which a reply could repeat."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a prompt is laid out and what it shows."""

    layout: Layout = "paper"
    show_weights: bool = True
    reasons: bool = False


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt that is ready to be sent."""

    messages: tuple[Message, ...]
    shared_characters: int
    """How much of it, from the start, is the same for every response to the task."""
    material: str
    """Everything in it that could be quoted in the reply."""


def ask_for_key(rendered: Rendered, wanted: Wanted) -> tuple[Rendered, Wanted]:
    """A prompt for asking again: with a key of its own where the material holds something like a verdict."""
    if not holds_verdict(rendered.material, wanted.name):
        return rendered, wanted
    key = make_key(wanted.name, rendered.material)
    *before, last = rendered.messages
    asking = Message(role=last.role, content=f"{last.content}\n\n{_OTHER_KEY.format(key=key, name=wanted.name)}")
    return replace(rendered, messages=(*before, asking)), replace(wanted, key=key)


def load_prompt(name: PromptName, path: Path | None = None, reasons: bool = False) -> Prompt:
    """One of our prompts, or the user's in its place; raises `ConfigError` where something is missing.

    With `reasons` a prompt for several items needs a section that asks for them.
    """
    place = path or _FOLDER / f"{name}.txt"
    sections = split_sections(read_prompt(place), place)
    asking = ["reasons"] if reasons and name in ("binary", "graded") else []
    check_sections(place, name, sections, ["instructions", *_needed_sections(name), *asking, "closing"])
    check_placeholders(place, sections, _needed_sections(name))
    return Prompt(name, sections, "\n".join(text for text in sections.values() if find_objects(text)[0]))


def render_prompt(prompt: Prompt, task: Task, response: str, items: tuple[Item, ...], style: Style) -> Rendered:
    """Fill a prompt for one response and the items that are asked about."""
    filled = {
        "conversation": fill_section(prompt.sections, "conversation", render_conversation(task)),
        "items": fill_section(prompt.sections, "items", _render_items(task, prompt.name, items, style.show_weights)),
        "response": fill_section(prompt.sections, "response", fence("ANSWER", response)),
    }
    closing = prompt.sections["reasons" if style.reasons else "closing"]
    order = _ORDERS[style.layout]
    shared = len(prompt.sections["instructions"]) + sum(
        len(filled[part]) + 2 for part in order[: order.index("response")]
    )
    material = [response, *(message.content for message in task.messages), *(item.text for item in items)]
    return _finish(prompt, [*(filled[part] for part in order), closing], shared, material)


def render_pair(prompt: Prompt, task: Task, first: str, second: str) -> Rendered:
    """Fill the pairwise prompt with two answers, in this order."""
    both = f"The first answer:\n{fence('FIRST', first)}\n\nThe second answer:\n{fence('SECOND', second)}"
    conversation = fill_section(prompt.sections, "conversation", render_conversation(task))
    parts = [conversation, fill_section(prompt.sections, "response", both), prompt.sections["closing"]]
    material = [first, second, *(message.content for message in task.messages)]
    return _finish(prompt, parts, len(prompt.sections["instructions"]) + len(conversation), material)


def _finish(prompt: Prompt, parts: list[str], shared: int, material: list[str]) -> Rendered:
    instructions = Message(role="system", content=prompt.sections["instructions"])
    messages = (instructions, Message(role="user", content="\n\n".join(parts)))
    return Rendered(messages, shared, "\n".join([*material, prompt.examples]))


@remember(1024)
def _render_items(_: Task, name: PromptName, items: tuple[Item, ...], show_weights: bool) -> str:
    if name == "single":
        return clean(items[0].text)
    rows = [
        {"index": item.index, "criterion": item.text}
        | ({"weight": item.weight} if show_weights else {})
        | {"polarity": item.polarity}
        for item in items
    ]
    return "[\n" + ",\n".join(clean(render_json(row).decode()) for row in rows) + "\n]"


def _needed_sections(name: PromptName) -> list[str]:
    return [section for section in _NEEDED if not (name == "pairwise" and section == "items")]
