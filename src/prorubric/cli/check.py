"""`prorubric check`."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from prorubric.cli.check_output import (
    HEADS,
    MOST_SHOWN,
    NAMING_NOTE,
    NOTES,
    describe_file,
    describe_total,
    describe_unmeasured,
    render_annotations,
    render_comment,
    show_figures,
)
from prorubric.cli.lint import COLOURS
from prorubric.cli.output import JsonFlag, literal, make_table, print_hanging, print_line, show_result
from prorubric.text.show import count
from prorubric.verbs.check import CheckConfig, CheckResult, FileCheck, check_files

OutputFormat = Annotated[
    Literal["text", "github", "markdown"],
    Parameter(help="Text for a terminal, GitHub annotations, or a Markdown comment."),
]
CommentFile = Annotated[Path | None, Parameter(help="Also write the Markdown comment to this file.")]


def check(
    config: Annotated[CheckConfig, Parameter(name="*")],
    *,
    output_format: OutputFormat = "text",
    comment: CommentFile = None,
    json: JsonFlag = False,
) -> int:
    """Check rubric files, whole or compared with an earlier commit."""
    result = check_files(config)
    if comment:
        comment.parent.mkdir(parents=True, exist_ok=True)
        comment.write_text(render_comment(result), encoding="utf-8", errors="replace")
    if json or output_format == "text":
        show_result(result, _print_check, json=json)
    else:
        sys.stdout.write(render_comment(result) if output_format == "markdown" else render_annotations(result))
    return 0 if result.passed else 1


def _print_check(result: CheckResult, console: Console) -> None:
    if result.base:
        console.print(f"compared with {result.base[:10]}")
    for file in result.files:
        _print_file(file, console, is_compared=result.base is not None)
    if any(change.rises for file in result.files for change in file.changes):
        console.print()
        for note in NOTES:
            console.print(note, soft_wrap=True)
    if any(file.naming for file in result.files):
        print_line(console, f"{NAMING_NOTE}; answers: {result.answers}")
    verdict = Text("passed", "green") if result.passed else Text("failed", "red")
    console.print(Text.assemble(verdict, f": {describe_total(result)}"))


def _print_file(file: FileCheck, console: Console, *, is_compared: bool) -> None:
    about = describe_file(file) if is_compared else count(file.tasks, "task")
    renamed = literal(f" (was {file.renamed_from})" if file.renamed_from else "")
    console.print(Text.assemble(literal(file.path, "bold"), renamed, "  ", about), soft_wrap=True)
    for reject in file.rejects:
        print_hanging(console, Text("  rejected  ", "red"), literal(reject))
    for change in file.changes:
        for word, findings in (("new " * is_compared, change.new), ("gone: ", change.gone)):
            for finding in findings:
                lead = Text(f"  {word}{finding.severity} {finding.check}  ", COLOURS[finding.severity])
                print_hanging(console, lead, literal(f"{change.task_id}: {finding.message}"))
    risen = [change for change in file.changes if change.rises]
    if risen:
        table = make_table("  more hackable", *HEADS)
        for change in risen[:MOST_SHOWN]:
            table.add_row(literal(f"  {change.task_id}"), *show_figures(change))
        console.print(table)
        if len(risen) > MOST_SHOWN:
            console.print(f"  {count(len(risen) - MOST_SHOWN, 'more task')}; --json has all")
    for one in file.naming:
        prompts = count(one.after.prompts, "prompt")
        console.print(f"  what naming pays, {one.scheme}: {one.before.shown} → {one.after.shown}, {prompts}")
    if file.unmeasured:
        console.print(f"  {describe_unmeasured(file)}")
