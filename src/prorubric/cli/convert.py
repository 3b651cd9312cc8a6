"""`prorubric convert`."""

from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from prorubric.cli.output import JsonFlag, count, literal, make_console, print_json
from prorubric.verbs.convert import ConvertConfig, convert_tasks


def convert(config: Annotated[ConvertConfig, Parameter(name="*")], *, json: JsonFlag = False) -> int:
    """Convert a rubric file of any supported format into a tasks file or a trainer's format, with a manifest."""
    result = convert_tasks(config)
    if json:
        print_json(result)
        return 0
    console = make_console()
    made = f"{count(result.read, 'row')} read, {count(result.written, 'task')} written, {result.held_out:,} held out"
    console.print(made)
    for kind, reasons in (("rejected", result.rejected), ("left out", result.left_out)):
        for reason, found in reasons.items():
            console.print(Text.assemble(f"  {found:,} {kind}: ", literal(reason)), soft_wrap=True)
    for name, path in result.files.items():
        console.print(Text.assemble(f"{name.replace('_', '-')}: ", literal(path)), soft_wrap=True)
    return 0
