"""Where output goes: results on stdout, the rest on stderr; with `--json` only the result record is on stdout."""

import sys
from typing import Annotated

from cyclopts import Parameter
from pydantic import BaseModel
from rich.console import Console

from prorubric.rubric.files import render_json

JsonFlag = Annotated[bool, Parameter(help="Print the result record as JSON and nothing else.", negative="")]

_PLAIN_WIDTH = 120


def make_console() -> Console:
    """A console for results. In a pipe or a file lines are wide and never coloured."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _PLAIN_WIDTH)


def say(message: str) -> None:
    """One line for the person at the terminal, on stderr."""
    print(message, file=sys.stderr)  # noqa: T201 - this is where printing happens


def print_json(result: BaseModel) -> None:
    """The result record on stdout."""
    sys.stdout.write(render_json(result.model_dump(mode="json")).decode() + "\n")
