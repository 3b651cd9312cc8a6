"""`python -m tests.llms` writes llms.txt: every page of the docs with its first sentence, by the navigation."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
INTRODUCTION = """# ProRubric

> Rubric rewards for post-training: read, lint, group, judge, score, audit, train and evaluate with rubrics. A judge's
> verdicts on weighted criteria become a reward; criteria are grouped into dimensions that must hold together, so
> padding pays less.

Python 3.11 or newer; `prorubric demo` needs no API key and no GPU. `prorubric --help` lists the commands.
Unknown verdicts are never numbers. See also the [README](README.md), the [changelog](CHANGELOG.md) and
[how to contribute](CONTRIBUTING.md).
"""


def render_llms() -> str:
    """The whole file."""
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2])
    single = [entry for entry in navigation if isinstance(next(iter(entry.values())), str)]
    groups = [entry for entry in navigation if entry not in single]
    sections = [{"Docs": single}, *groups]
    return INTRODUCTION + "".join(line for section in sections for line in _render_section(section))


def _render_section(section: dict[str, Any]) -> Iterator[str]:
    ((name, entries),) = section.items()
    yield f"\n## {name}\n\n"
    for entry in entries:
        ((title, page),) = entry.items()
        about = _read_first_sentence(ROOT / "docs" / page)
        yield f"- [{title}](docs/{page})" + (f": {about}\n" if about else "\n")


def _read_first_sentence(page: Path) -> str:
    """The first sentence under the heading, without mark-up."""
    paragraphs = page.read_text().split("\n\n")
    text = next((one for one in paragraphs if re.match(r"[A-Z*]|`(?!``)", one)), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(text.split())).replace("**", "")
    return re.split(r"(?<=[.?]) (?=[A-Z`])|:$", plain)[0]


if __name__ == "__main__":
    (ROOT / "llms.txt").write_text(render_llms())
