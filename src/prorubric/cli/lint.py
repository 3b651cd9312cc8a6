"""`prorubric lint`."""

from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from prorubric.cli.output import JsonFlag, make_console, print_json
from prorubric.datasets.lint_file import LintConfig, LintResult, Spread, lint_tasks
from prorubric.rubric.lint import CHECKS

_MEANING = {
    "unjudgeable": "criteria no answer could be judged on",
    "contradiction": "criteria that cannot both be met",
    "polarity": "text and sign point in opposite directions",
    "duplicate": "the same criterion twice",
    "other-points": "the same criterion twice, with other points",
    "near-duplicate": "criteria that say nearly the same",
    "outlier": "a weight far from the others",
    "no-positive-weight": "nothing is asked for, only forbidden",
    "mirrored": "one thing paid and punished: it counts twice",
    "formatting-only": "criteria about form only",
}
_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


def lint(config: Annotated[LintConfig, Parameter(name="*")], *, json: JsonFlag = False) -> int:
    """Look at a file of rubrics before a token is spent."""
    result = lint_tasks(config)
    if json:
        print_json(result)
    else:
        print_lint(result, make_console(), config.tasks)
    return 0 if result.passed else 1


def print_lint(result: LintResult, console: Console, name: str) -> None:
    """The result as tables for a person."""
    console.print(
        f"[bold]{escape(name)}[/]: {result.tasks:,} tasks, {result.criteria:,} criteria,"
        f" {result.negative:,} of them negative",
        soft_wrap=True,
    )
    _print_findings(result, console)
    _print_figures(result, console)
    for reject in result.rejects:
        console.print(f"[red]rejected[/] {escape(reject)}")
    for task in result.worst:
        console.print(f"\n[bold]{escape(task.task_id)}[/]  {task.criteria} criteria")
        for finding in task.findings:
            console.print(f"  [{_COLOURS[finding.severity]}]{finding.check}[/] {escape(finding.message)}")
    verdict = "[green]passed[/]" if result.passed else "[red]failed[/]"
    errors, warnings = result.severities["error"], result.severities["warning"]
    console.print(f"\n{verdict}: {errors:,} errors, {warnings:,} warnings, {result.severities['note']:,} notes")


def _print_findings(result: LintResult, console: Console) -> None:
    table = Table("check", "severity", "found", "what it means", box=None, pad_edge=False)
    table.columns[2].justify = "right"
    if result.rejected:
        table.add_row("unreadable row", "[red]error[/]", f"{sum(result.rejected.values()):,}", "not a task; see below")
    for check, count in result.findings.items():
        if count:
            severity = CHECKS[check]
            table.add_row(check, f"[{_COLOURS[severity]}]{severity}[/]", f"{count:,}", _MEANING[check])
    console.print(table if table.row_count else "nothing found")


def _print_figures(result: LintResult, console: Console) -> None:
    kinds = (
        ("presence-style", result.presence),
        ("formatting-only", result.formatting),
        ("substantive", result.substantive),
    )
    total = result.criteria or 1
    console.print(
        "\ncriteria by kind: " + ", ".join(f"{name} {count:,} ({count / total:.0%})" for name, count in kinds)
    )
    _print_spread(console, "weight on presence-style criteria", result.presence_share)
    _print_spread(console, "compensation: reachable without the heaviest criterion", result.compensation)
    _print_spread(console, "the same with dimensions", result.compensation_grouped)


def _print_spread(console: Console, name: str, spread: Spread | None) -> None:
    if spread:
        between = f"{spread.lowest:.2f} to {spread.highest:.2f} over {spread.tasks:,} tasks"
        console.print(f"{name}: mean [bold]{spread.mean:.2f}[/], {between}")
