"""How a verb's config record becomes options, and options that arrive as text."""

from dataclasses import fields, replace
from typing import Annotated, Any, TypeVar

from cyclopts import Parameter

from prorubric.files.json import parse_json
from prorubric.judge.panel import Judges

ConfigT = TypeVar("ConfigT")
_HEADINGS = {"judging": "Judging", "http": "Endpoint", "generation": "Generation"}


def flatten_options(record: Any, heading: str | None = None) -> None:
    """Show a record's options under a heading, and the options of records inside it as the verb's own.

    Flags that are on by default get a `--no-` form. The others have none: `app` turns it off.
    """
    for part in fields(record):
        options: dict[str, Any] = {"group": heading} if heading else {}
        if part.name in _HEADINGS:
            flatten_options(part.type)
            options = {"name": "*", "group": _HEADINGS[part.name]}
        elif part.default is True:
            options["negative_bool"] = "no-"
        if part.type == Judges:  # the option may be given several times
            record.__annotations__[part.name] = Annotated[tuple[str, ...], Parameter(negative="", **options)]
        elif options:
            record.__annotations__[part.name] = Annotated[part.type, Parameter(**options)]


def read_http(config: ConfigT) -> ConfigT:
    """A config with the leaves of `--extra-body.a.b value` read as JSON: false is a boolean, not text."""
    http: Any = config.http  # type: ignore[attr-defined]
    return replace(config, http=replace(http, extra_body=_read_leaves(http.extra_body)))  # type: ignore[type-var]


def _read_leaves(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _read_leaves(inner) for key, inner in value.items()}
    try:
        return parse_json(value) if isinstance(value, str) else value
    except ValueError:
        return value
