"""Options that arrive as text on the command line, parsed; flags that can be turned off."""

from dataclasses import fields, replace
from typing import Annotated, Any

from cyclopts import Parameter

from prorubric.files.json import parse_json
from prorubric.judge.judge import JudgeConfig
from prorubric.llm.http import HttpConfig


def allow_off(record: Any) -> None:
    """Give the flags of a record that are on by default a `--no-` form. The others have none: `app` turns it off."""
    for part in fields(record):
        if part.default is True:
            record.__annotations__[part.name] = Annotated[bool, Parameter(negative_bool="no-")]


allow_off(JudgeConfig)


def read_http(http: HttpConfig) -> HttpConfig:
    """The endpoint's options with the leaves of `--extra-body.a.b value` as JSON: false is a boolean, not text."""
    return replace(http, extra_body=_read_leaves(http.extra_body))


def _read_leaves(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _read_leaves(inner) for key, inner in value.items()}
    if isinstance(value, str):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value
