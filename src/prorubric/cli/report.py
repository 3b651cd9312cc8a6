"""`prorubric report`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from prorubric.cli.output import JsonFlag, make_console, print_json, print_line
from prorubric.text.show import count
from prorubric.verbs.report import ReportConfig, report_results


def report(
    place: Annotated[
        Path, Parameter(help="Study file, study folder, or the folder of an audit, train, evaluate or lab run.")
    ],
    *,
    out: Annotated[Path | None, Parameter(help="Folder for the report of a study; by default the study's own.")] = None,
    json: JsonFlag = False,
) -> int:
    """Draw the tables, figures and page of a study again, or the page of another run, without a call."""
    result = report_results(ReportConfig(place, out=out))
    if json:
        print_json(result)
        return 0
    console = make_console()
    if result.study is not None:
        tables, figures = len(result.study.tables) // 2, len(result.study.figures)
        print_line(console, f"{count(tables, 'table')} and {count(figures, 'figure')}")
        for name, rows in result.study.missing.items():
            print_line(console, f"not run, {name}: {count(len(rows), 'row')}", "yellow")
    print_line(console, f"The page is {result.page}.")
    return 0
