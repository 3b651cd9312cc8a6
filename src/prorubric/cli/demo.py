"""`prorubric demo`."""

from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from prorubric.cli.lint import print_lint
from prorubric.cli.output import JsonFlag, make_console, print_json
from prorubric.datasets.samples import ANSWER_KINDS
from prorubric.report.demo import DemoConfig, DemoResult, run_demo

_DEFAULT = DemoConfig()


def demo(config: Annotated[DemoConfig, Parameter(name="*")] = _DEFAULT, *, json: JsonFlag = False) -> int:
    """Lint the sample pack and score its answers under every scheme, offline."""
    result = run_demo(config)
    if json:
        print_json(result)
    else:
        _print_demo(result, make_console())
    return 0


def _print_demo(result: DemoResult, console: Console) -> None:
    console.rule("1. What lint says of the sample pack", align="left")
    print_lint(result.lint, console, "sample pack")
    console.rule("2. Four kinds of answer to each prompt: the sum beside the dimensions", align="left")
    console.print(_make_task_table(result))
    console.rule("3. Every scheme: mean over the 12 prompts", align="left")
    console.print(_make_scheme_table(result))
    count = len(result.tasks)
    console.print(
        f"\nUnder the sum the padded answer beats the focused one on {result.padded_first['additive']} of {count}"
        f" prompts, under ProRubric on {result.padded_first['prorubric']}."
        "\nThe pack is written to illustrate, with verdicts given by hand; it is no measurement."
    )
    console.print(
        f"The run is in [bold]{result.folder}/[/] (summary.json, scores.jsonl, verdicts.jsonl).", soft_wrap=True
    )


def _make_task_table(result: DemoResult) -> Table:
    table = Table("prompt", box=None, pad_edge=False)
    for scheme in ("sum", "dims"):
        for kind in ANSWER_KINDS:
            table.add_column(f"{scheme}\n{kind}", justify="right")
    for task in result.tasks:
        table.add_row(task.task_id, *_mark(task.additive), *_mark(task.prorubric))
    return table


def _mark(row: dict[str, float]) -> list[str]:
    """The scores of one prompt; the best is bold, a padded answer above the focused one is red."""
    best = max(row.values())
    cells = {kind: f"[bold]{value:.2f}[/]" if value == best else f"{value:.2f}" for kind, value in row.items()}
    if row["padded"] > row["focused"]:
        cells["padded"] = f"[bold red]{row['padded']:.2f}[/]"
    return [cells[kind] for kind in ANSWER_KINDS]


def _make_scheme_table(result: DemoResult) -> Table:
    table = Table("scheme", box=None, pad_edge=False)
    for kind in ANSWER_KINDS:
        table.add_column(kind, justify="right")
    table.add_column("padded first", justify="right")
    for scheme, means in result.means.items():
        first = result.padded_first[scheme]
        shown = f"[red]{first} of {len(result.tasks)}[/]" if first else f"0 of {len(result.tasks)}"
        table.add_row(scheme, *(f"{means[kind]:.2f}" for kind in ANSWER_KINDS), shown)
    return table
