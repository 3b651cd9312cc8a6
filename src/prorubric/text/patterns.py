"""Regular expressions kept in data files, where long lists of wordings are easier to read and to extend.

In `data/NAME.toml` a list is a set of alternatives, and `{part}` stands for an earlier entry of the table `parts`.
White space in a pattern is ignored, and so is a comment at the end of a line.
"""

import re
import tomllib
from pathlib import Path

_PART = re.compile(r"\{([a-z_]+)\}")


def load_patterns(name: str, flags: re.RegexFlag = re.NOFLAG) -> dict[str, dict[str, re.Pattern[str]]]:
    """The tables of patterns of a file."""
    tables = tomllib.loads((Path(__file__).parent / "data" / f"{name}.toml").read_text(encoding="utf-8"))
    parts: dict[str, str] = {}

    def fill(value: str | list[str]) -> str:
        text = value if isinstance(value, str) else "|".join(value)
        return _PART.sub(lambda found: f"(?:{parts[found[1]]})", text)

    for key, value in tables.pop("parts").items():
        parts[key] = fill(value)
    return {
        table: {key: re.compile(fill(value), flags | re.VERBOSE) for key, value in entries.items()}
        for table, entries in tables.items()
    }
