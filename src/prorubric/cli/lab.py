"""`prorubric lab run`, `lab compare`, `lab read` and `lab worlds`."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from prorubric.cli.options import allow_off
from prorubric.cli.output import JsonFlag, literal, make_console, print_hanging, print_json, say
from prorubric.cli.progress import show_progress
from prorubric.lab.engine import LabConfig
from prorubric.lab.goals import ENOUGH_ROWS
from prorubric.lab.measure import WITHOUT, Measure
from prorubric.lab.read import ReadAnswer, ReadConfig, Reading, read_case
from prorubric.lab.rows import SchemeRow
from prorubric.lab.statistics import Spread
from prorubric.lab.summary import LabResult
from prorubric.lab.worlds import WorldsConfig, WorldsResult, compare_worlds
from prorubric.verbs.lab import CompareConfig, compare_schemes, run_lab

allow_off(CompareConfig)
lab = App(
    name="lab",
    help="Watch a policy score higher and answer worse, in a small simulated world.",
    help_format="plaintext",
)

_RUN, _COMPARE, _READ = LabConfig(scheme=("additive",)), CompareConfig(), ReadConfig()
_SHOWN_WITHOUT = ("length", "clauses")
_SIGNS = {"met": ("+", "green"), "named": ("~", "yellow"), "wrong": ("x", "red"), "absent": (" ", "dim")}


@lab.command
def run(config: Annotated[LabConfig, Parameter(name="*")] = _RUN, *, json: JsonFlag = False) -> int:
    """Train a policy on a reward and measure coverage g and appropriateness c; finished runs are kept."""
    with show_progress("lab", "step") as show:
        result = run_lab(config, show)
    if json:
        print_json(result)
    else:
        _print_result(result, make_console())
    return 0


@lab.command
def compare(config: Annotated[CompareConfig, Parameter(name="*")] = _COMPARE, *, json: JsonFlag = False) -> int:
    """Compare all schemes over several seeds; figures and a report page are written to the folder."""
    with show_progress("lab", "step") as show:
        result = compare_schemes(config, show)
    if json:
        print_json(result)
    else:
        _print_result(result, make_console())
        _print_goals(result, make_console())
    say(f"lab: tables and figures are in {config.out}/report.html")
    return 0


@lab.command
def read(config: Annotated[ReadConfig, Parameter(name="*")] = _READ, *, json: JsonFlag = False) -> int:
    """Read one case with the untrained and the trained answers side by side."""
    reading = read_case(config)
    if json:
        print_json(reading)
    else:
        _print_reading(reading, make_console())
    return 0


@lab.command
def worlds(config: Annotated[WorldsConfig, Parameter(name="*")], *, json: JsonFlag = False) -> int:
    """Compare worlds with the paper's domains: what naming pays and how far c fell."""
    result = compare_worlds(config)
    if json:
        print_json(result)
    else:
        _print_worlds(result, make_console())
    return 0


def _print_worlds(result: WorldsResult, console: Console) -> None:
    table = Table("world", box=None, pad_edge=False)
    for name in ("naming/substance", "paper", "c under additive", "paper", "prorubric over it", "paper"):
        table.add_column(name, justify="right")
    for row in result.worlds:
        table.add_row(
            literal(row.world),
            *(f"{share:.2f}" if share is not None else "" for share in (row.naming_share, row.paper_naming_share)),
            f"{row.fall.mean:+.1f}",
            _signed(row.paper_fall),
            _signed(row.lead.mean if row.lead else None),
            _signed(row.paper_lead),
        )
    console.print(table)
    found = result.pays_and_falls
    if found.rho is not None:
        console.print(f"naming/substance and how far c fell: {found.rho:+.2f} over {len(found.rows)} worlds")


def _signed(figure: float | None) -> str:
    return "" if figure is None else f"{figure:+.1f}"


def _print_result(result: LabResult, console: Console) -> None:
    console.print(f"world {result.world}, {result.steps} steps, seeds {', '.join(map(str, result.seeds))}; × 100")
    console.print("A miniature with a programmed judge: it shows a mechanism and is not evidence about any real model.")
    table = Table("scheme", box=None, pad_edge=False)
    for name in ("g", "c", "c greedy", "without length", "without clauses", "tokens", "right", "ties", "paper g", "c"):
        table.add_column(name, justify="right")
    _add_base(table, result)
    for row in result.rows:
        _add_row(table, row, result)
    console.print(table)
    _print_paired(result, console)
    _print_correlations(result, console)


def _print_goals(result: LabResult, console: Console) -> None:
    judged = [goal for goal in result.goals if goal.met is not None]
    for goal in judged:
        console.print(literal(f"{'met' if goal.met else 'not met'}: {goal.goal}: {goal.finding}"), soft_wrap=True)
    if unjudged := len(result.goals) - len(judged):
        goals = "1 goal" if unjudged == 1 else f"{unjudged} goals"
        console.print(f"{goals} cannot be judged on these rows; report.html says why")


def _print_paired(result: LabResult, console: Console) -> None:
    rows = [row for row in result.rows if row.c_over_additive and row.scheme != "additive"]
    if not rows:
        return
    table = Table("over additive, seed by seed", "c", "g", box=None, pad_edge=False)
    for row in rows:
        differences = (row.c_over_additive, row.g_over_additive)
        table.add_row(literal(row.scheme), *(", ".join(f"{100 * d:+.1f}" for d in found) for found in differences))
    console.print(table)


def _print_correlations(result: LabResult, console: Console) -> None:
    without = {f"c without {name}": found for name, found in result.correlations_c_without.items()}
    for name, found in {"c": result.correlation_c, **without, "g": result.correlation_g}.items():
        if found.rho is not None and len(found.rows) >= ENOUGH_ROWS:
            console.print(f"rank correlation of {name} with the paper: {found.rho:.2f} over {len(found.rows)} rows")
    for prediction in result.predictions:
        if prediction.correlation.rho is not None and len(prediction.correlation.rows) >= ENOUGH_ROWS:
            pays = f"what {prediction.edit} pays before training and c after it: {prediction.correlation.rho:+.2f}"
            console.print(f"{pays} over {len(prediction.correlation.rows)} schemes")


def _add_base(table: Table, result: LabResult) -> None:
    sampled: Measure = result.base.sampled
    without = [sampled.c_without(WITHOUT[name]) for name in _SHOWN_WITHOUT]
    figures = (sampled.g, sampled.c, result.base.greedy.c, *without)
    shown = [f"{100 * figure:.1f}" for figure in figures]
    paper = [_paper(result.paper_g.get("base")), _paper(result.paper_c.get("base"))]
    table.add_row("base", *shown, f"{sampled.tokens:.0f}", f"{100 * sampled.accuracy:.0f}", "", *paper)


def _add_row(table: Table, row: SchemeRow, result: LabResult) -> None:
    spreads = (row.g, row.c, row.c_greedy, *(row.c_without[name] for name in _SHOWN_WITHOUT))
    table.add_row(
        literal(row.scheme),
        *(_spread(spread) for spread in spreads),
        f"{row.tokens.mean:.0f}",
        f"{100 * row.accuracy.mean:.0f}",
        f"{100 * row.ties_first.mean:.0f}/{100 * row.ties_last.mean:.0f}",
        _paper(result.paper_g.get(row.scheme)),
        _paper(result.paper_c.get(row.scheme)),
    )


def _spread(spread: Spread) -> str:
    return f"{100 * spread.mean:.1f}" + (f" ±{100 * spread.sd:.1f}" if spread.sd is not None else "")


def _paper(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.1f}"


def _print_reading(reading: Reading, console: Console) -> None:
    console.print(Text(f"{reading.world}, case {reading.case}", "bold"))
    print_hanging(console, Text("asked    "), literal(reading.question))
    print_hanging(console, Text("right    "), literal(reading.right_decision))
    for answer in reading.answers:
        _print_answer(answer, console)
    console.print()
    console.print("checklist: + met, ~ named only, x wrong; one column for each answer above")
    for number, (weight, text) in enumerate(zip(reading.weights, reading.criteria, strict=True)):
        signs = [Text(*_SIGNS[answer.marks[number]]) for answer in reading.answers]
        print_hanging(console, Text.assemble(*_join(signs), f"  {weight:5.1f}  "), literal(text))


def _print_answer(answer: ReadAnswer, console: Console) -> None:
    console.print()
    seed = "" if answer.seed is None else f", {answer.steps} steps, seed {answer.seed}"
    failed = [part for part, holds in answer.parts.items() if not holds]
    met = sum(mark == "met" for mark in answer.marks)
    shown = f"{answer.tokens} tokens, {met} of {len(answer.marks)} met, fails {', '.join(failed) or 'nothing'}"
    console.print(Text.assemble(literal(answer.scheme, "bold"), f"{seed}: {shown}"), soft_wrap=True)
    print_hanging(console, Text("   "), literal(" ".join(answer.sentences)))


def _join(signs: Sequence[Text]) -> list[Text | str]:
    return [part for sign in signs for part in (sign, " ")]
