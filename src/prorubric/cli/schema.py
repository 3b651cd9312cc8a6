"""`prorubric schema`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from prorubric.cli.output import make_console, print_line, write_json_line
from prorubric.errors import ConfigError
from prorubric.verbs.schema import NAMES, SchemaName, make_schema, write_schemas


def schema(
    name: Annotated[SchemaName | None, Parameter(help="Schema to print; without it, the names are listed.")] = None,
    *,
    out: Annotated[Path | None, Parameter(help="Write all schemas to this folder.")] = None,
) -> int:
    """Print the JSON Schema of a kind of file, or write all of them into a folder."""
    if name and out:
        raise ConfigError("--out writes every schema", remedy=f"leave {name} or --out out")
    if name:
        write_json_line(make_schema(name))
    else:
        console = make_console()
        for line in write_schemas(out).files if out else NAMES:
            print_line(console, line)
    return 0
