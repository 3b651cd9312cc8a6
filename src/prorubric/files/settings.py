"""Settings that people write: one YAML or TOML file of named fields."""

import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from prorubric.errors import ConfigError, SourceError
from prorubric.files.yaml_rows import read_yaml


def read_settings(path: Path, what: str, example: str) -> dict[str, Any]:
    """The fields of a file; `what` it should be and an `example` of a line are for the errors."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise SourceError(f"{path}: {why}; give a {what} in YAML or TOML") from None
    if path.suffix == ".toml":
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SourceError(f"{path}: not readable as toml ({error}); check the text") from None
    rows = list(read_yaml(path, text))
    if len(rows) != 1 or rows[0].value is None:
        raise SourceError(f"{path}: not a {what}; write one field per line, for example {example}")
    return dict(rows[0].value)


def check_names(given: Mapping[str, Any], known: Sequence[str], place: str) -> None:
    """Raise `ConfigError` with the nearest name if a field is not known."""
    for name in given:
        if name not in known:
            close = get_close_matches(str(name), known, 1)
            hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"
            raise ConfigError(f"{place} has no field {name!r}", remedy=hint)
