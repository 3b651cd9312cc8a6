"""The prompts of the judge: `.txt` files in sections, filled in one of two orders.

`paper` puts the response before the items, as the paper does. `prefix-first` puts everything that all responses to a
task have in common before the response, so a server with a prefix cache reads it once for all of them.

If the material (conversation, items, response, and examples in a user's prompt) holds something like a verdict, a
prompt that is sent again ends with a sentence that asks for another key.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from prorubric.errors import ConfigError
from prorubric.files.json import render_json
from prorubric.judge.answer import ShownAnswer
from prorubric.judge.forms import VerdictForm
from prorubric.judge.parse import holds_verdict, make_key
from prorubric.judge.readings import READINGS, Item
from prorubric.judge.text_replies import holds_text
from prorubric.judge.texts import TEXTS
from prorubric.llm.fence import clean, fence, render_conversation
from prorubric.llm.json_text import find_objects
from prorubric.llm.prompt_file import check_placeholders, check_sections, fill_section, read_prompt, split_sections
from prorubric.rubric.identity import remember
from prorubric.rubric.records import Message, Task

PAIR_PROMPTS = ("pairwise", "arena", "arena-creative")
"""Those for two responses."""
PROMPT_NAMES = tuple(dict.fromkeys([*(reading.prompt for reading in READINGS.values()), *PAIR_PROMPTS]))
"""Those of the readings, and those for two responses."""
_ONE_ITEM = {reading.prompt for reading in READINGS.values() if reading.is_single}
_ASKS_BY_ITEM = {reading.prompt for reading in READINGS.values() if reading.asks_by_item}

Layout = Literal["paper", "prefix-first"]
_FOLDER = Path(__file__).parent / "prompts"


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """A prompt file, read and checked."""

    name: str
    instructions: Message
    sections: dict[str, str]
    closing: str
    """Its last section, which asks for reasons if these are wanted."""
    examples: str
    """Those of its sections that hold a JSON object, which a reply could repeat."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt that is ready to be sent."""

    messages: tuple[Message, ...]
    shared_characters: int
    """How much of it, from the start, is the same for every response to the task."""
    material: str
    """Everything in it that could be quoted in the reply."""
    answer: ShownAnswer | None = None
    """The response in it; None if there are two."""


def load_judge_prompts(files: Mapping[str, Path], reasons: bool = False) -> dict[str, JudgePrompt]:
    """All our prompts by name, with the user's files in place of some."""
    if unknown_names := sorted(files.keys() - set(PROMPT_NAMES)):
        raise ConfigError(f"no prompt is called {unknown_names[0]!r}; known: {', '.join(PROMPT_NAMES)}")
    return {
        name: load_judge_prompt(name, files[name], reasons) if name in files else _load_ours(name, reasons)
        for name in PROMPT_NAMES
    }


def list_parts(name: str) -> list[str]:
    """The sections of a prompt that are filled in: a pair has no items, and coverage is judged without the query."""
    if name in PAIR_PROMPTS:
        return ["conversation", "response"]
    return ["response", "items"] if name == "coverage" else ["conversation", "response", "items"]


def load_judge_prompt(name: str, path: Path | None = None, reasons: bool = False) -> JudgePrompt:
    """One of our prompts, or the user's in its place; raises `ConfigError` if a section or placeholder is missing."""
    place = path or _FOLDER / f"{name}.txt"
    sections = split_sections(read_prompt(place), place)
    filled = list_parts(name)
    asks_reasons = reasons and name in _ASKS_BY_ITEM
    check_sections(place, name, sections, ["instructions", *filled, *["reasons"] * asks_reasons, "closing"])
    check_placeholders(place, sections, filled)
    examples = "\n".join(text for text in sections.values() if find_objects(text)[0])
    instructions = Message(role="system", content=sections["instructions"])
    return JudgePrompt(name, instructions, sections, sections["reasons" if asks_reasons else "closing"], examples)


@cache
def _load_ours(name: str, reasons: bool) -> JudgePrompt:
    return load_judge_prompt(name, reasons=reasons)


def render_judge_prompt(
    prompt: JudgePrompt,
    task: Task,
    response: ShownAnswer,
    items: tuple[Item, ...],
    layout: Layout = "paper",
    show_weights: bool = True,
    show_points: bool = False,
) -> Rendered:
    """Fill a prompt for one response and the items that are asked about."""
    shown, material = _render_items(task, prompt.name, items, show_weights, show_points)
    texts = {"conversation": render_conversation(task), "items": shown, "response": response.fenced}
    order = ("conversation", "response", "items") if layout == "paper" else ("conversation", "items", "response")
    parts = {part: texts[part] for part in order if part in list_parts(prompt.name)}
    return _fill(prompt, parts, [response.material, material], response)


def render_pair(prompt: JudgePrompt, task: Task, first: ShownAnswer, second: ShownAnswer) -> Rendered:
    """Fill a prompt for two responses, in this order; a transcript has its own fences."""
    is_plain = prompt.name == "pairwise"
    names = (
        {"The first answer": "FIRST", "The second answer": "SECOND"} if is_plain else {"Answer A": "A", "Answer B": "B"}
    )
    both = "\n\n".join(
        f"{heading}:\n{shown.fenced if shown.turns else fence(name, shown.text)}"
        for (heading, name), shown in zip(names.items(), (first, second), strict=True)
    )
    material = [first.material, second.material, *(message.content for message in task.messages)]
    return _fill(prompt, {"conversation": render_conversation(task), "response": both}, material)


def ask_for_key(rendered: Rendered, form: VerdictForm) -> tuple[Rendered, str | None]:
    """A prompt for asking again, and the key it asks for if the material holds something like a verdict."""
    if not (holds_text if form.is_text else holds_verdict)(rendered.material, form):
        return rendered, None
    key = make_key(form, rendered.material)
    *before, last = rendered.messages
    sentence = TEXTS["own_line" if form.is_text else "other_key"].format(key=key, name=form.key)
    asking = Message(role=last.role, content=f"{last.content}\n\n{sentence}")
    return replace(rendered, messages=(*before, asking)), key


def _fill(
    prompt: JudgePrompt, texts: dict[str, str], material: list[str], answer: ShownAnswer | None = None
) -> Rendered:
    """The instructions, and the sections filled with their texts, in the order of these."""
    parts: list[str] = []
    shared = 0
    for name, text in texts.items():
        if name == "response":
            shared = len(prompt.instructions.content) + sum(map(len, parts))
        parts.append(fill_section(prompt.sections, name, text) + "\n\n")
    question = Message(role="user", content="".join([*parts, prompt.closing]))
    return Rendered((prompt.instructions, question), shared, "\n".join([*material, prompt.examples]), answer)


@remember(1024)
def _render_items(
    task: Task, name: str, items: tuple[Item, ...], show_weights: bool, show_points: bool
) -> tuple[str, str]:
    """The items as the judge is shown them, and what a reply could quote besides the answer."""
    asked = [message.content for message in task.messages] if "conversation" in list_parts(name) else []
    material = "\n".join([*asked, *([] if name == "creative" else [item.text for item in items])])
    if name in _ONE_ITEM:
        points = f"[{items[0].weight:g}] " if show_points else ""
        return points + clean(items[0].text), material
    if name == "creative":
        return "\n".join(f"{item.text}{'' if item.weight > 0 else ' (less is better)'}" for item in items), material
    rows = [
        {"index": item.index, "question": item.text}
        if name == "coverage"
        else {"index": item.index, "criterion": item.text}
        | ({"weight": item.weight} if show_weights else {})
        | {"polarity": item.polarity}
        for item in items
    ]
    return "[\n" + ",\n".join(clean(render_json(row).decode()) for row in rows) + "\n]", material
