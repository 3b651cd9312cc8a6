"""`prorubric lint`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from prorubric.cli.output import (
    JsonFlag,
    describe_judge,
    literal,
    make_console,
    make_table,
    print_hanging,
    print_json,
    print_line,
    show_figure,
)
from prorubric.datasets.load import show_example
from prorubric.rubric.lint import CHECKS
from prorubric.text.show import count, shorten
from prorubric.verbs.lint import ItemsResult, LintConfig, LintResult, lint_tasks

_MEANING = {
    "unreadable row": "not a task",
    "duplicate id": "an earlier task has the id; only the first is read",
    "unjudgeable": "criteria no answer could be judged on",
    "contradiction": "criteria that cannot both be met",
    "polarity": "text and sign point in opposite directions",
    "duplicate": "the same criterion twice",
    "other-points": "the same criterion twice, with different points",
    "near-duplicate": "criteria that say nearly the same",
    "outlier": "a weight far from the others",
    "no-positive-weight": "nothing is asked for, only forbidden",
    "mirrored": "one thing paid and punished: it counts twice",
    "formatting-only": "criteria about form only",
    "unread": "tasks with criteria in another language",
}
COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}
_CHECK_WIDTH = max(map(len, CHECKS)) + 1
_CRITERION_WIDTH = 40
LintConfig.__annotations__["run"] = Annotated[Path | None, Parameter(name="--with")]


def lint(config: Annotated[LintConfig, Parameter(name="*")], *, json: JsonFlag = False) -> int:
    """Check a rubric file without calling a model."""
    result = lint_tasks(config)
    code = 0 if result.passed else 1
    if json:
        print_json(result)
        return code
    console = make_console()
    criteria = f"{count(result.criteria, 'criterion')}, {result.negative:,} of them negative"
    about = f": {count(result.tasks, 'task')}, {criteria}"
    console.print(Text.assemble(literal(config.tasks, "bold"), about), soft_wrap=True)
    _print_tables(result, console)
    if result.rejects:
        console.print()
    for reject in result.rejects:
        print_hanging(console, Text("rejected  ", "red"), literal(reject))
    more = sum(result.rejected.values()) - len(result.rejects)
    if more:
        console.print(f"[red]rejected[/]  {more:,} more; --show {more + len(result.rejects)} shows all")
    if result.rejected and not result.tasks:
        print_line(console, show_example(config.tasks))
    for task in result.worst:
        title = Text.assemble(literal(task.task_id, "bold"), f"  {count(task.criteria, 'criterion')}")
        console.print()
        console.print(title, soft_wrap=True)
        for finding in task.findings:
            check = Text(f"  {finding.check:{_CHECK_WIDTH}}", COLOURS[finding.severity])
            print_hanging(console, check, literal(finding.message))
    if result.worst and result.affected > len(result.worst):
        unseen = count(result.affected - len(result.worst), "more task")
        console.print(f"\n{unseen} with findings; --show {result.affected} shows all")
    if result.items:
        _print_items(result.items, console, config.show)
    found = ", ".join(count(result.severities[name], name) for name in ("error", "warning", "note"))
    verdict = Text("passed", "green") if result.passed else Text("failed", "red")
    if result.too_compensable:
        found += f", {count(result.too_compensable, 'task')} above the limit on compensation"
    console.print()
    console.print(Text.assemble(verdict, f": {found}"))
    return code


def _print_items(items: ItemsResult, console: Console, shown: int) -> None:
    console.print()
    about = f"{count(items.responses, 'response')} to {count(items.tasks, 'task')}"
    print_line(console, f"{items.run}: {about}; judge: {describe_judge(items.judge)}")
    missing = f"{items.unknown:,} unknown and {items.not_applicable:,} not applicable left out"
    kinds = {
        "always met": items.always_met,
        "never met": items.never_met,
        "moved no advantage": items.never_moved,
        "redundant (κ 0.8 or more)": items.redundant,
        "suppressed": items.suppressed,
    }
    if items.scheme != "additive":
        print_line(console, f"advantages of {items.scheme or 'the rewards of the training'}")
    found = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
    console.print(f"{count(len(items.criteria), 'criterion')}: {found}; verdicts: {missing}")
    for reason, number in items.left_out.items():
        console.print(f"left out: {number:,} {reason}", style="yellow")
    worst = [item for item in items.criteria[:shown] if item.suppressed or item.discrimination is not None]
    if not worst:
        return
    table = make_table("worst criteria", "weight", "met", "discrimination", "most like", "κ", "moved", "if met")
    for item in worst:
        text = literal(f"{item.task_id} {item.index}: {shorten(item.criterion, _CRITERION_WIDTH)}")
        figures = (item.discrimination, ".2f"), (item.redundant_with, "d"), (item.redundancy, ".2f")
        shares = (item.moved_share, ".0%"), (item.advantage_if_met, "+.2f")
        cells = [show_figure(*figure) for figure in (*figures, *shares)]
        table.add_row(text, f"{item.weight:+g}", show_figure(item.pass_rate, ".0%"), *cells)
    console.print(table)


def _print_tables(result: LintResult, console: Console) -> None:
    """What was found by check, and what the criteria are made of."""
    table = Table("check", "severity", "found", "what it means", box=None, pad_edge=False)
    table.columns[2].justify = "right"
    unreadable = sum(result.rejected.values()) - result.duplicate_ids
    checks = {"unreadable row": unreadable, "duplicate id": result.duplicate_ids, **result.findings}
    for name, number in checks.items():
        if number:
            severity = CHECKS.get(name, "error")
            table.add_row(name, Text(severity, COLOURS[severity]), f"{number:,}", _MEANING[name])
    console.print(table if table.row_count else "nothing found")
    if not result.criteria:
        return
    console.print()
    table = make_table("kind of criterion", "found", "share")
    kinds = {
        "presence-style: met by naming something": result.presence,
        "formatting-only: about form": result.formatting,
        "substantive: all others": result.substantive,
        **({"unread: in another language": result.unread} if result.unread else {}),
    }
    for kind, found in kinds.items():
        table.add_row(kind, f"{found:,}", f"{found / result.criteria:.1%}")
    console.print(table)
    console.print()
    table = make_table("figure, by task", "mean", "range", "tasks")
    figures = {
        "weight on presence-style criteria": result.presence_share,
        "compensation: reachable without the heaviest criterion": result.compensation,
        "compensation with dimensions": result.compensation_grouped,
    }
    for name, spread in figures.items():
        if spread:
            bounds = f"{spread.lowest:.2f}–{spread.highest:.2f}"
            table.add_row(name, Text(f"{spread.mean:.2f}", "bold"), bounds, f"{spread.tasks:,}")
    console.print(table)
