"""Prompt files: text in sections, each under a line `[name]`, each with the placeholder it is filled by.

A file that lacks a section or a placeholder, or has one twice or in the wrong place, is refused when a run starts,
before any token is spent.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from prorubric.errors import ConfigError
from prorubric.text.show import is_blank, shorten

_SECTION = re.compile(r"^\[(\w+)\]\s*$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")

Sections = Mapping[str, str]


def read_prompt(path: Path) -> str:
    """The text of a prompt file, without the byte order mark that some editors write."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the prompt file cannot be read ({error})") from None


def split_sections(text: str, place: str | Path = "the prompt") -> dict[str, str]:
    """The sections of a prompt by name; refuses a repeated section and text before the first one."""
    before, *pieces = _SECTION.split(text)
    names = pieces[0::2]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ConfigError(f"{place}: the section [{repeated}] appears twice; join the two")
    if not is_blank(before):
        raise ConfigError(f"{place}: {shorten(before, 40)!r} is before the first section; move it into [instructions]")
    return {name: body.strip() for name, body in zip(names, pieces[1::2], strict=True)}


def check_sections(place: str | Path, kind: str, sections: Sections, required: Sequence[str]) -> None:
    """Refuse a prompt that lacks a section."""
    for section in required:
        if not sections.get(section):
            raise ConfigError(f"{place}: the section [{section}] is missing; a {kind} prompt has {', '.join(required)}")


def check_placeholders(place: str | Path, sections: Sections, names: Sequence[str]) -> None:
    """Refuse a section that lacks its own placeholder, and a placeholder that nothing would fill."""
    for section, text in sections.items():
        found = _PLACEHOLDER.findall(text)
        where = f"{place}: the section [{section}]"
        if section in names and found != [section]:
            raise ConfigError(f"{where} must contain {{{{{section}}}}} once and no other placeholder")
        if section not in names and found:
            raise ConfigError(f"{where} contains {{{{{found[0]}}}}}, which nothing fills; remove it")


def load_sections(path: Path, required: Sequence[str], filled: Sequence[str]) -> dict[str, str]:
    """The sections of a prompt file by name, checked; those in `filled` have a placeholder."""
    sections = split_sections(read_prompt(path), path)
    check_sections(path, path.stem, sections, required)
    check_placeholders(path, sections, filled)
    return sections


def fill_section(sections: Sections, section: str, text: str) -> str:
    """A section with the text in place of its placeholder."""
    before, after = sections[section].split(f"{{{{{section}}}}}")
    return before + text + after
