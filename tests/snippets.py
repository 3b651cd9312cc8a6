"""The fenced blocks of a Markdown page, in order, each with the output that the page says it has."""

import re
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_OUTPUT = 'text title="output"'


@dataclass(frozen=True)
class Snippet:
    """One block that can be run."""

    page: Path
    line: int
    language: str
    code: str
    output: str | None


def read_snippets(page: Path) -> list[Snippet]:
    """The Python and shell blocks of a page; a block titled `output` belongs to the one before it."""
    text = page.read_text(encoding="utf-8")
    found: list[Snippet] = []
    for fence in _FENCE.finditer(text):
        info, body = fence["info"].strip(), fence["body"]
        if info == _OUTPUT:
            last = found.pop()
            found.append(Snippet(last.page, last.line, last.language, last.code, body))
        elif info in ("python", "bash"):
            found.append(Snippet(page, text[: fence.start()].count("\n") + 1, info, body, None))
    return found
