"""Where output goes: results on stdout, the rest on stderr; with `--json` only the result record is on stdout.

Text from files goes through `literal`: it is never read as mark-up and never reaches the terminal as a control code.
"""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from pydantic import BaseModel, JsonValue

JsonFlag = Annotated[bool, Parameter(help="Print only the result record, as JSON.", negative="")]

ResultT = TypeVar("ResultT", bound="BaseModel")
_PLAIN_WIDTH = 1000


class ResultConsole(Console):
    """A console that stays quiet after its pipe is closed, so the exit code stays the verb's."""

    def on_broken_pipe(self) -> None:
        """Output cut off by `| head` is not an error."""
        self.quiet = True
        drop_stdout()


def make_console(plain_width: int = _PLAIN_WIDTH) -> Console:
    """A console for results. In a pipe or a file, lines are never wrapped or coloured; NO_COLOR is respected."""
    return ResultConsole(
        highlight=False,
        emoji=False,
        width=None if sys.stdout.isatty() else plain_width,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )


def literal(text: str, style: str = "") -> Text:
    """Untrusted text unchanged, on one line; characters that cannot be printed are shown by their code."""
    return Text(_visible(text), style)


def describe_judge(judge: str) -> str:
    """A judge by name, or several; lexical is labelled as not a model."""
    words = "lexical (word overlap, no model: it rewards mentioning terms)"
    return ", ".join(words if name == "lexical" else name for name in judge.split(", "))


def show_figure(figure: float | None, form: str, missing: str = "–") -> str:
    """A figure in a format such as ".2f", or a dash."""
    return missing if figure is None else f"{figure:{form}}"


def make_table(first: str, *figures: str) -> Table:
    """A table without lines: names on the left, columns of figures aligned to the right."""
    table = Table(first, box=None, pad_edge=False)
    for name in figures:
        table.add_column(name, justify="right")
    return table


def print_line(console: Console, text: str, style: str = "") -> None:
    """One line of foreign text, which the terminal may wrap and we never do."""
    console.print(literal(text, style), soft_wrap=True)


def print_hanging(console: Console, lead: Text, text: Text) -> None:
    """A paragraph next to its `lead`: all of its lines begin at the same column."""
    indent = Text(" " * lead.cell_len)
    for line in text.wrap(console, max(console.width - lead.cell_len, 1)):
        line.rstrip()
        console.print(Text.assemble(lead, line))
        lead = indent


def say(message: str) -> None:
    """One line for the person at the terminal, on stderr."""
    print(_visible(" ".join(message.split())), file=sys.stderr)  # noqa: T201 - this is where printing happens


def show_result(result: ResultT, print_result: Callable[[ResultT, Console], None], *, json: bool) -> None:
    """The result on stdout: the record as JSON, or what a person wants to see of it."""
    if json:
        print_json(result)
    else:
        print_result(result, make_console())


def print_json(result: "BaseModel") -> None:
    """The result record on stdout."""
    write_json_line(result.model_dump(mode="json"))


def write_json_line(value: "JsonValue") -> None:
    """A JSON value on stdout."""
    from prorubric.files.json import render_json  # noqa: PLC0415 - brings pyarrow, which `--help` can do without

    try:
        sys.stdout.write(render_json(value).decode() + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        drop_stdout()


def drop_stdout() -> None:
    """Discard the rest of the output: Python would complain at exit about what it could not write."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
