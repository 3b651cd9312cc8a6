"""`prorubric calibrate`."""

from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from prorubric.cli.options import read_http
from prorubric.cli.output import JsonFlag, count, describe_judge, literal, make_console, print_json
from prorubric.judge.agreement import Agreement
from prorubric.judge.judge import JudgeConfig
from prorubric.llm.http import HttpConfig
from prorubric.verbs.calibrate import CalibrateConfig, CalibrateFiles, CalibrateResult, calibrate_judge

_JUDGING, _HTTP = JudgeConfig(), HttpConfig()


def calibrate(
    files: Annotated[CalibrateFiles, Parameter(name="*")],
    *,
    judging: Annotated[JudgeConfig, Parameter(name="*", group="Judging")] = _JUDGING,
    http: Annotated[HttpConfig, Parameter(name="*", group="Endpoint")] = _HTTP,
    json: JsonFlag = False,
) -> int:
    """Compare a judge with people on statements that people have labelled."""
    result = calibrate_judge(CalibrateConfig(**vars(files), judging=judging, http=read_http(http)))
    if json:
        print_json(result)
    else:
        _print_result(result, make_console())
    return 1 if result.unknown else 0


def _print_result(result: CalibrateResult, console: Console) -> None:
    console.print(
        literal(
            f"judge {describe_judge(result.judge)} on {count(result.items, 'item')} labelled by "
            f"{result.people} {'person' if result.people == 1 else 'people'}; "
            f"{result.unknown:,} without a verdict"
        ),
        soft_wrap=True,
    )
    console.print(f"says true of {_percent(result.said_true)}, people of {_percent(result.labelled_true)}")
    table = Table("", "items", box=None, pad_edge=False)
    for name in ("balanced F1", "κ", "accuracy", "pairs"):
        table.add_column(name, justify="right")
    table.columns[1].justify = "right"
    _add(table, "judge against each label", result.judge_agreement)
    _add(table, "people against each other", result.human_agreement)
    for tag, both in result.by_tag.items():
        _add(table, f"{tag}: judge", both["judge"])
        _add(table, f"{tag}: people", both["human"])
    console.print(table)
    for reason, number in result.unknown_reasons.items():
        console.print(literal(f"unknown: {number:,} x {reason}"), soft_wrap=True)
    if result.damaged:
        console.print(f"[yellow]damaged in the journal and asked for again: {result.damaged:,}[/]", soft_wrap=True)


def _add(table: Table, name: str, found: Agreement) -> None:
    figures = (found.balanced_f1, found.kappa, found.accuracy)
    shown = ["–" if figure is None else f"{figure:.3f}" for figure in figures]
    table.add_row(literal(name), f"{found.items:,}", *shown, f"{found.pairs:,}")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
