"""Options that the command line can only give as text, read as what they mean."""

from dataclasses import replace
from typing import Any

from prorubric.llm.http import HttpConfig
from prorubric.rubric.files import parse_json


def read_http(http: HttpConfig) -> HttpConfig:
    """The endpoint's options with the leaves of `--extra-body.a.b value` as JSON: false is no text."""
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
