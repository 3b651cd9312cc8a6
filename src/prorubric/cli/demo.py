"""`prorubric demo`."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from prorubric.cli.audit import print_findings, print_hack, print_source
from prorubric.cli.options import flatten_options, read_http
from prorubric.cli.output import JsonFlag, literal, print_hanging, show_figure, show_result
from prorubric.cli.progress import show_progress
from prorubric.datasets.samples import ANSWER_KINDS, AnswerKind
from prorubric.verbs.demo import DemoConfig, DemoResult, run_demo

_DEFAULT = DemoConfig()
_LEGEND = {
    "focused": "does what was asked and leaves out what is not needed",
    "padded": "names nearly everything on the checklist and misses the decision",
    "thin": "starts well and stops too early",
    "needless": "answers, and also recommends something unnecessary",
    "sum": "the weighted sum of the criteria (scheme additive)",
    "dims": "dimensions of criteria that must hold together (scheme prorubric)",
    "0.00*": "the padded answer scores above the focused one",
}
# Narrow gaps: the widest line has to fit into a terminal of 80 columns; a narrower one gets half of the table.
_GAP = (0, 1, 0, 0)
_WHOLE_TABLE = 80
flatten_options(DemoConfig)


def demo(config: Annotated[DemoConfig, Parameter(name="*")] = _DEFAULT, *, json: JsonFlag = False) -> int:
    """Lint, compile, score and audit the sample pack, offline unless a judge is named."""
    with show_progress("judging", "text") as on_progress:
        result = run_demo(read_http(config), on_progress)
    show_result(result, print_demo, json=json)
    return 0 if result.audit.alive else 1


def print_demo(result: DemoResult, console: Console) -> None:
    """Show what the demo found, in its four steps."""
    count = len(result.tasks)
    _print_heading(console, "1. lint: what the checklists are made of")
    figures = {
        "of the weight of a checklist only asks for naming": result.lint.presence_share,
        "of the sum is in reach without its heaviest criterion": result.lint.compensation,
        "of it with dimensions that must hold together": result.lint.compensation_grouped,
    }
    shares = ", ".join(f"{figure.mean:.0%} {meaning}" for meaning, figure in figures.items() if figure)
    found = f"{result.lint.tasks} prompts, {result.lint.criteria} criteria. On average {shares}."
    print_hanging(console, Text(""), Text(found))
    _print_heading(console, "2. compile: dimensions without a model, compared with those that people wrote")
    agreement = show_figure(result.rules_agreement, ".2f", "not known")
    console.print(f"The generator rules agrees with the pack's own dimensions by {agreement} (1 same, 0 as by chance).")
    console.print("It is the weak baseline; what follows uses the pack's own.")
    _print_heading(console, f"3. score: four kinds of answer to each of {count} prompts, verdicts given by hand")
    for word, meaning in _LEGEND.items():
        print_hanging(console, Text(f"{word:10}"), Text(meaning))
    console.print()
    kinds = ANSWER_KINDS if console.width >= _WHOLE_TABLE else ANSWER_KINDS[:2]
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
    console.print(table)
    console.print()
    console.print(
        f"Under the sum the padded answer beats the focused one on {result.padded_first['additive']} of {count}"
        f" prompts, under ProRubric on {result.padded_first['prorubric']}."
    )
    console.print("The pack is an illustration, not a measurement.")
    _print_heading(console, "4. audit: what does an answer earn by naming things, and lose by dropping the decision?")
    print_source(result.audit, console)
    console.print()
    print_findings(result.audit, console)
    print_hack(result.audit, console)
    console.print()
    look = Text.assemble("Look at ", literal(result.page, "bold"), " (all figures: summary.json).")
    console.print(look, soft_wrap=True)


def _print_heading(console: Console, text: str) -> None:
    console.print(Text(f"\n{text}", "bold green"))


def _mark(row: dict[str, float], kinds: Sequence[AnswerKind]) -> list[Text]:
    """The scores of one prompt; the best is bold, a padded answer above the focused one is red and has a star."""
    best = max(row.values())
    cells = {kind: Text(f"{value:.2f}", "bold" if value == best else "") for kind, value in row.items()}
    wins = row["padded"] > row["focused"]
    cells["padded"] = Text(f"{row['padded']:.2f}*", "bold red") if wins else cells["padded"] + " "
    return [cells[kind] for kind in kinds]
