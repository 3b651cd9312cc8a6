"""`prorubric lab run`, `lab compare`, `lab read`, `lab mini` and `lab worlds`."""

from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from prorubric.cli.options import flatten_options
from prorubric.cli.output import JsonFlag, literal, make_table, print_hanging, print_line, say, show_figure, show_result
from prorubric.cli.progress import show_progress
from prorubric.lab.goals import ENOUGH_ROWS
from prorubric.lab.results import SchemeRow
from prorubric.lab.summary import LabResult
from prorubric.lab.world import WORLDS
from prorubric.text.show import count
from prorubric.verbs.lab import (
    LabCompareConfig,
    LabConfig,
    MiniConfig,
    MiniResult,
    ReadConfig,
    ReadResult,
    WorldsConfig,
    WorldsResult,
    compare_schemes,
    compare_worlds,
    make_mini_files,
    read_case,
    run_lab,
)

flatten_options(LabCompareConfig)
LabConfig.__annotations__["world"] = Annotated[str, Parameter(help=f"Name of the world: {', '.join(WORLDS)}.")]
lab = App(
    name="lab",
    help="Watch a policy score higher and answer worse, in a small simulated world.",
    help_format="plaintext",
)

_RUN, _COMPARE, _READ, _MINI = LabConfig(scheme=("additive",)), LabCompareConfig(), ReadConfig(), MiniConfig()
_SIGNS = {"met": ("+", "green"), "named": ("~", "yellow"), "wrong": ("x", "red"), "absent": (" ", "dim")}


@lab.command
def run(config: Annotated[LabConfig, Parameter(name="*")] = _RUN, *, json: JsonFlag = False) -> int:
    """Train a policy on a reward and measure coverage g and appropriateness c; finished runs are kept."""
    with show_progress("lab", "step") as on_progress:
        result = run_lab(config, on_progress)
    show_result(result, print_tables, json=json)
    return 0


@lab.command
def compare(config: Annotated[LabCompareConfig, Parameter(name="*")] = _COMPARE, *, json: JsonFlag = False) -> int:
    """Compare all schemes over several seeds; figures and a report page are written to the folder."""
    with show_progress("lab", "step") as on_progress:
        result = compare_schemes(config, on_progress)
    show_result(result, print_comparison, json=json)
    say(f"lab: tables and figures are in {config.out}/report.html")
    return 0


@lab.command
def read(config: Annotated[ReadConfig, Parameter(name="*")] = _READ, *, json: JsonFlag = False) -> int:
    """Read one case with the untrained and the trained answers side by side."""
    show_result(read_case(config), print_case, json=json)
    return 0


@lab.command
def mini(config: Annotated[MiniConfig, Parameter(name="*")] = _MINI, *, json: JsonFlag = False) -> int:
    """Write the tasks, demonstrations and recipes for training a small language model in a world."""
    show_result(make_mini_files(config), print_files, json=json)
    return 0


@lab.command
def worlds(config: Annotated[WorldsConfig, Parameter(name="*")], *, json: JsonFlag = False) -> int:
    """Compare worlds with the paper's domains: what naming pays and how far c fell."""
    show_result(compare_worlds(config), print_worlds, json=json)
    return 0


def print_tables(result: LabResult, console: Console) -> None:
    """What each scheme ended with, over additive, and rank correlations over enough rows."""
    console.print(
        f"world {result.world}, {count(result.steps, 'step')}, seeds {', '.join(map(str, result.seeds))}; × 100"
    )
    console.print("A miniature with a programmed judge: it shows a mechanism and is not evidence about any real model.")
    heads = ("g", "c", "c greedy", "without length", "without clauses", "tokens", "right", "ties", "paper g", "c")
    table = make_table("scheme", *heads)
    for row in (result.base_row, *result.rows):
        spreads = (row.g, row.c, row.c_greedy, row.c_without["length"], row.c_without["clauses"])
        ties = f"{100 * row.ties_first.mean:.0f}/{100 * row.ties_last.mean:.0f}" if isinstance(row, SchemeRow) else ""
        table.add_row(
            literal(row.scheme),
            *(spread.render() for spread in spreads),
            f"{row.tokens.mean:.0f}",
            f"{100 * row.accuracy.mean:.0f}",
            ties,
            *(show_figure(figures.get(row.scheme), ".1f", "") for figures in (result.paper_g, result.paper_c)),
        )
    console.print(table)
    paired = Table("over additive, seed by seed", "c", "g", box=None, pad_edge=False)
    for scheme in result.rows:
        if scheme.c_over_additive and scheme.scheme != "additive":
            leads = (scheme.c_over_additive, scheme.g_over_additive)
            paired.add_row(literal(scheme.scheme), *(", ".join(f"{100 * d:+.1f}" for d in found) for found in leads))
    if paired.row_count:
        console.print(paired)
    without = {f"c without {name}": found for name, found in result.correlations_c_without.items()}
    for name, found in {"c": result.correlation_c, **without, "g": result.correlation_g}.items():
        if found.rho is not None and len(found.rows) >= ENOUGH_ROWS:
            console.print(f"rank correlation of {name} with the paper: {found.rho:.2f} over {len(found.rows)} rows")
    for prediction in result.predictions:
        found, pays = prediction.correlation, f"what {prediction.edit} pays before training and c after it"
        if found.rho is not None and len(found.rows) >= ENOUGH_ROWS:
            console.print(f"{pays}: {found.rho:+.2f} over {len(found.rows)} schemes")


def print_comparison(result: LabResult, console: Console) -> None:
    """The tables, and the goals that the rows of a comparison can judge."""
    print_tables(result, console)
    judged = [goal for goal in result.goals if goal.met is not None]
    for goal in judged:
        print_line(console, f"{'met' if goal.met else 'not met'}: {goal.goal}: {goal.finding}")
    if unjudged := len(result.goals) - len(judged):
        console.print(f"{count(unjudged, 'goal')} cannot be judged on these rows; report.html says why")


def print_case(result: ReadResult, console: Console) -> None:
    """A case, the answers to it and a column of marks for each."""
    console.print(Text(f"{result.world}, case {result.case}", "bold"))
    print_hanging(console, Text("asked    "), literal(result.question))
    print_hanging(console, Text("right    "), literal(result.right_decision))
    for answer in result.answers:
        seed = "" if answer.seed is None else f", {count(answer.steps, 'step')}, seed {answer.seed}"
        failed = ", ".join(part for part, holds in answer.parts.items() if not holds) or "nothing"
        met = f"{answer.marks.count('met')} of {len(answer.marks)} met"
        console.print()
        line = f"{seed}: {answer.tokens} tokens, {met}, fails {failed}"
        console.print(Text.assemble(literal(answer.scheme, "bold"), line), soft_wrap=True)
        print_hanging(console, Text("   "), literal(" ".join(answer.sentences)))
    console.print()
    console.print("checklist: + met, ~ named only, x wrong; one column for each answer above")
    for number, (weight, text) in enumerate(zip(result.weights, result.criteria, strict=True)):
        signs = [part for answer in result.answers for part in (Text(*_SIGNS[answer.marks[number]]), " ")]
        print_hanging(console, Text.assemble(*signs, f"  {weight:5.1f}  "), literal(text))


def print_files(result: MiniResult, console: Console) -> None:
    """The rows of each file, and the command that goes on from here."""
    for name, rows in result.rows.items():
        console.print(literal(f"{rows:>7,} rows  {result.folder}/{name}"))
    console.print(literal(f"train with: cd {result.folder} && prorubric train base.yaml && prorubric train arms.yaml"))


def print_worlds(result: WorldsResult, console: Console) -> None:
    """A row for each world, and how the two figures go together."""
    table = make_table("world", "naming/substance", "paper", "c under additive", "paper", "prorubric over it", "paper")
    for row in result.worlds:
        table.add_row(
            literal(row.world),
            *(show_figure(share, ".2f", "") for share in (row.naming_share, row.paper_naming_share)),
            *(show_figure(change, "+.1f", "") for change in (row.fall.mean, row.paper_fall)),
            *(show_figure(lead, "+.1f", "") for lead in (row.lead.mean if row.lead else None, row.paper_lead)),
        )
    console.print(table)
    found = result.pays_and_falls
    if found.rho is not None:
        console.print(f"naming/substance and how far c fell: {found.rho:+.2f} over {len(found.rows)} worlds")
