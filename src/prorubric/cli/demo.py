"""`prorubric demo`."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from prorubric.cli.lint import print_lint
from prorubric.cli.output import JsonFlag, literal, make_console, print_hanging, print_json
from prorubric.datasets.samples import ANSWER_KINDS, AnswerKind
from prorubric.report.demo import DemoConfig, DemoResult, run_demo

_DEFAULT = DemoConfig()

_LEGEND = {
    "focused": "does what was asked and leaves out what nobody needs",
    "padded": "names nearly everything on the checklist and misses the decision",
    "thin": "starts well and stops too early",
    "needless": "answers, and also recommends something nobody needs",
    "sum": "the weighted sum of the criteria (scheme additive)",
    "dims": "dimensions of criteria that must hold together (scheme prorubric)",
    "0.00*": "the padded answer scores above the focused one",
}
# Narrow gaps: the widest line has to fit into a terminal of 80 columns; a narrower one gets half of the table.
_GAP = (0, 1, 0, 0)
_WHOLE_TABLE = 80


def demo(config: Annotated[DemoConfig, Parameter(name="*")] = _DEFAULT, *, json: JsonFlag = False) -> int:
    """Lint the sample pack and score its answers under every scheme, offline."""
    result = run_demo(config)
    if json:
        print_json(result)
    else:
        _print_demo(result, make_console())
    return 0


def _print_demo(result: DemoResult, console: Console) -> None:
    count = len(result.tasks)
    _print_heading(console, "1. What lint says of the sample pack")
    print_lint(result.lint, console, "sample pack")
    console.print()
    _print_heading(console, f"2. Four kinds of answer to each of {count} prompts")
    for word, meaning in _LEGEND.items():
        print_hanging(console, Text(f"{word:10}"), Text(meaning))
    console.print()
    console.print(_make_task_table(result, ANSWER_KINDS if console.width >= _WHOLE_TABLE else ANSWER_KINDS[:2]))
    console.print()
    _print_heading(console, f"3. Every scheme: mean score over the {count} prompts, and where padding wins")
    console.print(_make_scheme_table(result))
    console.print()
    console.print(
        f"Under the sum the padded answer beats the focused one on {result.padded_first['additive']} of {count}"
        f" prompts, under ProRubric on {result.padded_first['prorubric']}."
    )
    console.print("The pack is written to illustrate, with verdicts given by hand; it is no measurement.")
    folder = literal(f"{result.folder}/", "bold")
    console.print(Text.assemble("The run is in ", folder, " (begin with summary.json)."), soft_wrap=True)


def _print_heading(console: Console, text: str) -> None:
    console.print(Text(text, "bold green"))
    console.print()


def _make_task_table(result: DemoResult, kinds: Sequence[AnswerKind]) -> Table:
    table = Table("\nprompt", box=None, pad_edge=False, padding=_GAP)
    for scheme in ("sum", "dims"):
        for kind in kinds:
            table.add_column(
                f"{scheme}\n{kind}", justify="right", min_width=len(kind) + (kind == "focused"), no_wrap=True
            )
    domain = None
    for task in result.tasks:
        if task.domain != domain:
            domain = task.domain
            table.add_row(literal(domain or "other", "bold"))
        name = task.task_id.removeprefix(f"{domain}-")
        table.add_row(literal(f" {name}"), *_mark(task.additive, kinds), *_mark(task.prorubric, kinds))
    return table


def _mark(row: dict[str, float], kinds: Sequence[AnswerKind]) -> list[Text]:
    """The scores of one prompt; the best is bold, a padded answer above the focused one is red and has a star."""
    best = max(row.values())
    cells = {kind: Text(f"{value:.2f}", "bold" if value == best else "") for kind, value in row.items()}
    wins = row["padded"] > row["focused"]
    cells["padded"] = Text(f"{row['padded']:.2f}*", "bold red") if wins else cells["padded"] + " "
    return [cells[kind] for kind in kinds]


def _make_scheme_table(result: DemoResult) -> Table:
    table = Table("scheme", box=None, pad_edge=False, padding=_GAP)
    for kind in ANSWER_KINDS:
        table.add_column(kind, justify="right", no_wrap=True)
    table.add_column("padded wins", justify="right", no_wrap=True)
    for scheme, means in result.means.items():
        first = result.padded_first[scheme]
        shown = Text(f"{first} of {len(result.tasks)}", "red" if first else "")
        table.add_row(scheme, *(f"{means[kind]:.2f}" for kind in ANSWER_KINDS), shown)
    return table
