"""Regular expressions kept in data files, where long lists of wordings are easier to read and to extend.

In `data/NAME.toml` a list is a set of alternatives, and `{part}` stands for an earlier entry of the table `parts`.
White space in a pattern is ignored, and so is a comment at the end of a line.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

_PART = re.compile(r"\{([a-z_]+)\}")


class Patterns(Mapping[str, re.Pattern[str]]):
    """Patterns by name, each compiled when it is first used: a run needs few of them, and starts sooner."""

    def __init__(self, sources: Mapping[str, str], flags: re.RegexFlag) -> None:
        self._sources, self._flags = sources, flags
        self._compiled: dict[str, re.Pattern[str]] = {}

    def __getitem__(self, name: str) -> re.Pattern[str]:
        found = self._compiled.get(name)
        if found is None:
            found = self._compiled[name] = re.compile(self._sources[name], self._flags)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


@cache
def load_patterns(name: str, flags: re.RegexFlag = re.NOFLAG) -> Mapping[str, Patterns]:
    """The tables of patterns of a file."""
    tables = tomllib.loads((Path(__file__).parent / "data" / f"{name}.toml").read_text(encoding="utf-8"))
    parts: dict[str, str] = {}

    def fill(value: str | list[str]) -> str:
        text = value if isinstance(value, str) else "|".join(value)
        return _PART.sub(lambda found: f"(?:{parts[found[1]]})", text)

    for key, value in tables.pop("parts").items():
        parts[key] = fill(value)
    return {
        table: Patterns({key: fill(value) for key, value in entries.items()}, flags | re.VERBOSE)
        for table, entries in tables.items()
    }
