"""`prorubric convert`."""

from typing import Annotated

from cyclopts import Parameter
from rich.markup import escape

from prorubric.cli.output import JsonFlag, make_console, print_json
from prorubric.datasets.convert import ConvertConfig, convert_tasks


def convert(config: Annotated[ConvertConfig, Parameter(name="*")], *, json: JsonFlag = False) -> int:
    """Turn a rubric file of any known origin into a tasks file, with a manifest."""
    result = convert_tasks(config)
    if json:
        print_json(result)
        return 0
    console = make_console()
    console.print(f"{result.read:,} rows read, {result.written:,} tasks written, {result.held_out:,} held out")
    for kind, reasons in (("rejected", result.rejected), ("left out", result.left_out)):
        for reason, count in reasons.items():
            console.print(f"  {count:,} {kind}: {escape(reason)}")
    for name, path in result.files.items():
        console.print(f"{name.replace('_', '-')}: {escape(path)}")
    return 0
