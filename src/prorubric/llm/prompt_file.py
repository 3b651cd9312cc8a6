"""Prompt files: text in sections, `[name]` on a line of its own, each with at most the placeholders it may have.

A file that lacks a section or a placeholder is refused when a run starts, before a token is spent.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from prorubric.errors import ConfigError

_SECTION = re.compile(r"^\[(\w+)\]\s*$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")

Sections = Mapping[str, str]


def read_prompt(path: Path) -> str:
    """The text of a prompt file."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the prompt file cannot be read ({error})") from None


def split_sections(text: str) -> dict[str, str]:
    """The sections of a prompt by name."""
    pieces = _SECTION.split(text)
    return {key: body.strip() for key, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def check_sections(place: str | Path, kind: str, sections: Sections, required: Sequence[str]) -> None:
    """Refuse a prompt that lacks a section."""
    for section in required:
        if not sections.get(section):
            raise ConfigError(f"{place}: the section [{section}] is missing; a {kind} prompt has {', '.join(required)}")


def check_placeholders(place: str | Path, sections: Sections, names: Sequence[str]) -> None:
    """Refuse a prompt in which a section does not hold its own placeholder once and no other."""
    for section in names:
        if _PLACEHOLDER.findall(sections[section]) != [section]:
            raise ConfigError(
                f"{place}: the section [{section}] must hold {{{{{section}}}}} once and no other placeholder"
            )


def fill_section(sections: Sections, section: str, text: str) -> str:
    """A section with the text in the place of its placeholder."""
    before, after = sections[section].split(f"{{{{{section}}}}}")
    return before + text + after
