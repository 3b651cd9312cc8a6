"""What a generator is asked: the prompts of each domain, the checklist, the anchor, and what was wrong with a reply.

There are four questions: group the checklist (`group`), make one standard of it (`one`), restate its items one by one
(`restate`) and say how much each matters (`label`). Each has one prompt file, into which the words of the domain are
set. A prompt file of the user's own replaces the prompt of the question that is asked, for every domain.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from prorubric.errors import ConfigError
from prorubric.files.json import render_json
from prorubric.llm.fence import clean, fence, render_conversation
from prorubric.llm.prompt_file import check_placeholders, check_sections, fill_section, read_prompt, split_sections
from prorubric.rubric.records import Message, Rubric, Task
from prorubric.text.show import is_blank

Question = Literal["group", "one", "restate", "label"]
Domain = Literal["medicine", "writing", "dialogue", "science", "general"]
DOMAINS: tuple[Domain, ...] = ("medicine", "writing", "dialogue", "science", "general")

_FOLDER = Path(__file__).parent / "prompts"
_SECTIONS = ("instructions", "conversation", "items", "anchor", "closing")
_FILLED = ("conversation", "items", "anchor")
# What datasets call their domains, by how a word of the name begins.
_SYNONYMS: tuple[tuple[str, Domain], ...] = (
    ("medic", "medicine"),
    ("biomedic", "medicine"),
    ("health", "medicine"),
    ("clinic", "medicine"),
    ("writ", "writing"),
    ("creative", "writing"),
    ("dialog", "dialogue"),
    ("chat", "dialogue"),
    ("conversation", "dialogue"),
    ("multi-turn", "dialogue"),
    ("scien", "science"),
    ("research", "science"),
    ("physic", "science"),
    ("chem", "science"),
    ("biolog", "science"),
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt for a generator, read and checked."""

    question: Question
    domain: Domain
    sections: dict[str, str]
    instructions: Message
    """What every question begins with."""
    sha256: str
    """Of the prompt without a task in it: what a compiled task says it was made with."""


def load_prompt(question: Question, domain: Domain, own: str | None = None, path: Path | None = None) -> Prompt:
    """Our prompt for a question and a domain, or the user's in its place; `ConfigError` where something is missing.

    `path` is where the user's own text is from.
    """
    text = read_prompt(_FOLDER / f"{question}.txt") if own is None else own
    # A domain's words on grouping are for the questions that group.
    about, _, grouping = read_prompt(_FOLDER / f"{domain}.txt").partition("[grouping]")
    text = text.replace(" {{grouping}}", grouping and f" {grouping.strip()}").replace("{{domain}}", about.strip())
    place = question if own is None or path is None else path
    sections = split_sections(text, place)
    check_sections(place, question, sections, _SECTIONS)
    _refuse_strangers(place, sections)
    check_placeholders(place, sections, _FILLED)
    instructions = Message(role="system", content=sections["instructions"])
    return Prompt(question, domain, sections, instructions, hashlib.sha256(text.encode()).hexdigest())


def _refuse_strangers(place: str | Path, sections: Mapping[str, str]) -> None:
    """Text in a section of another name would never be sent."""
    for section in sections:
        if section not in _SECTIONS:
            raise ConfigError(f"{place}: no section is called [{section}]; allowed: {', '.join(_SECTIONS)}")


@lru_cache(maxsize=1024)  # a file has many tasks and few domains
def find_domain(name: str | None) -> Domain:
    """Our domain for what a dataset calls its own; what is not known is general."""
    words = re.split(r"[^a-z-]+", (name or "").casefold())
    return next((domain for start, domain in _SYNONYMS if any(word.startswith(start) for word in words)), "general")


def render_prompt(prompt: Prompt, task: Task) -> tuple[Message, ...]:
    """The question about one task."""
    parts = [
        fill_section(prompt.sections, "conversation", render_conversation(task)),
        fill_section(prompt.sections, "items", fence("CHECKLIST", _render_items(task.rubric))),
        fill_section(prompt.sections, "anchor", fence("REFERENCE", render_anchor(task))),
        prompt.sections["closing"],
    ]
    return (prompt.instructions, Message(role="user", content="\n\n".join(parts)))


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
    """What settles contradictions: the task's reference, or else its checklist as a plain list."""
    if task.reference and not is_blank(task.reference):
        return task.reference
    return "\n".join(f"- ({criterion.weight:+g}) {criterion.text}" for criterion in task.rubric.criteria)


def _render_items(rubric: Rubric) -> str:
    rows = (
        {"index": index, "weight": criterion.weight, "criterion": criterion.text}
        for index, criterion in enumerate(rubric.criteria, 1)
    )
    return b"\n".join(map(render_json, rows)).decode()
