"""What a generator is asked: the prompt of each question and domain, the checklist, the anchor, and a reply's faults.

There are five questions: group the checklist (`group`), write one standard for it (`one`), restate its items one by one
(`restate`), say how much each matters (`label`) and which are required (`require`). Each has one prompt file, into
which the words of the domain are inserted. A user's prompt file replaces the prompt for `group`, in every domain.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from prorubric.errors import ConfigError
from prorubric.files.json import render_json
from prorubric.llm.fence import clean, fence, render_conversation
from prorubric.llm.prompt_file import check_placeholders, check_sections, fill_section, read_prompt, split_sections
from prorubric.rubric.records import Message, Task
from prorubric.text.show import is_blank

Question = Literal["group", "one", "restate", "label", "require"]
Domain = Literal["medicine", "writing", "dialogue", "science", "general"]
DOMAINS: tuple[Domain, ...] = ("medicine", "writing", "dialogue", "science", "general")

PROMPTS = Path(__file__).parent / "prompts"
_SECTIONS = ("instructions", "conversation", "items", "anchor", "closing")
_FILLED = ("conversation", "items", "anchor")
# How the words begin that datasets use for their domains.
_SYNONYMS: dict[Domain, tuple[str, ...]] = {
    "medicine": ("medic", "biomedic", "health", "clinic"),
    "writing": ("writ", "creative"),
    "dialogue": ("dialog", "chat", "conversation", "multi-turn"),
    "science": ("scien", "research", "physic", "chem", "biolog"),
}


@dataclass(frozen=True, slots=True)
class GeneratorPrompt:
    """A prompt for a generator, read and checked."""

    question: Question
    domain: Domain
    sections: dict[str, str]
    instructions: Message
    """The system message."""
    sha256: str
    """Of the prompt without a task in it; a compiled task names it."""


def load_generator_prompt(
    question: Question, domain: Domain, own: str | None = None, path: Path | None = None
) -> GeneratorPrompt:
    """Our prompt for a question and a domain, or the user's text (`own`, from the file `path`) in its place."""
    text = read_prompt(PROMPTS / f"{question}.txt") if own is None else own
    # A domain's words on grouping are for the questions that group.
    about, _, grouping = read_prompt(PROMPTS / f"{domain}.txt").partition("[grouping]")
    text = text.replace(" {{grouping}}", grouping and f" {grouping.strip()}").replace("{{domain}}", about.strip())
    place = question if own is None or path is None else path
    sections = split_sections(text, place)
    check_sections(place, question, sections, _SECTIONS)
    for section in sections:
        if section not in _SECTIONS:  # its text would never be sent
            allowed = f"allowed: {', '.join(_SECTIONS)}"
            raise ConfigError(f"no section is called [{section}]", remedy=allowed, place=place)
    check_placeholders(place, sections, _FILLED)
    instructions = Message(role="system", content=sections["instructions"])
    return GeneratorPrompt(question, domain, sections, instructions, hashlib.sha256(text.encode()).hexdigest())


@lru_cache(maxsize=1024)  # a file has many tasks and few domains
def find_domain(name: str | None) -> Domain:
    """Our domain for what a dataset calls its own; general if it is not known."""
    words = re.split(r"[^a-z-]+", (name or "").casefold())
    return next((ours for ours, starts in _SYNONYMS.items() if any(w.startswith(starts) for w in words)), "general")


def render_generator_prompt(prompt: GeneratorPrompt, task: Task) -> tuple[Message, ...]:
    """The question about one task."""
    parts = [
        fill_section(prompt.sections, "conversation", render_conversation(task)),
        fill_section(
            prompt.sections, "items", fence("CHECKLIST", render_checklist(task, range(1, len(task.rubric) + 1)))
        ),
        fill_section(prompt.sections, "anchor", fence("REFERENCE", render_anchor(task))),
        prompt.sections["closing"],
    ]
    return (prompt.instructions, Message(role="user", content="\n\n".join(parts)))


def render_checklist(task: Task, indices: Sequence[int]) -> str:
    """These criteria with their weights, one a line."""
    criteria = task.rubric.criteria
    rows = (
        {"index": index, "weight": criteria[index - 1].weight, "criterion": criteria[index - 1].text}
        for index in indices
    )
    return b"\n".join(map(render_json, rows)).decode()


def render_retry(messages: tuple[Message, ...], reply: str, faults: Sequence[str]) -> tuple[Message, ...]:
    """The question again, with the last reply and what was wrong with it."""
    said = () if is_blank(reply) else (Message(role="assistant", content=clean(reply)),)
    wrong = "\n".join(f"- {fault}" for fault in faults)
    again = (
        f"This cannot be used as it is:\n{wrong}\n\n"
        "Write the whole JSON object again with this put right, and nothing else."
    )
    return (*messages, *said, Message(role="user", content=again))


def render_anchor(task: Task) -> str:
    """What settles contradictions: the task's reference or, without one, its checklist as a plain list."""
    if task.reference and not is_blank(task.reference):
        return task.reference
    return "\n".join(f"- ({criterion.weight:+g}) {criterion.text}" for criterion in task.rubric.criteria)
