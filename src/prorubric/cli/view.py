"""`prorubric view`."""

import sys
from typing import Annotated

from cyclopts import Parameter

from prorubric.cli.options import flatten_options, read_http
from prorubric.cli.output import JsonFlag, make_console, print_json, print_line
from prorubric.text.show import count
from prorubric.verbs.view import Viewing, export_view, view_runs
from prorubric.view.config import ViewConfig

flatten_options(ViewConfig)
ViewConfig.__annotations__["judge"] = Annotated[tuple[str, ...] | None, Parameter(negative="")]
_USUAL = ViewConfig()


def view(config: Annotated[ViewConfig, Parameter(name="*")] = _USUAL, *, json: JsonFlag = False) -> int:
    """Look at runs in the browser, compare them, and review compiled rubrics."""
    if config.export is not None:
        exported = export_view(config)
        code = int(bool(exported.unapplied or exported.unreadable))
        if json:
            print_json(exported)
            return code
        console = make_console()
        print_line(console, f"{exported.files['tasks']}: {count(exported.tasks, 'task')}")
        print_line(
            console, f"{exported.accepted:,} accepted, {exported.open:,} not decided, {exported.changed:,} changed"
        )
        if exported.rejected:
            print_line(console, f"{exported.files['rejected']}: {exported.rejected:,} rejected, each with its reason")
        if exported.left_out:
            print_line(console, f"{exported.left_out:,} without a decision left out")
        for reason, number in exported.unreadable.items():
            print_line(console, f"not read: {number:,} x {reason}")
        if exported.unapplied:
            steps = count(exported.unapplied, "step")
            print_line(console, f"not applied: {steps} made on tasks or dimensions that the file does not have")
        return code

    def print_viewing(viewing: Viewing) -> None:
        print_line(make_console(), f"{viewing.url}  {viewing.path}; Ctrl-C ends it")
        sys.stdout.flush()

    view_runs(read_http(config), print_json if json else print_viewing)
    return 0
