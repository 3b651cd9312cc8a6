"""`prorubric score`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from prorubric.cli.judge import Rows, print_schemes, print_worst
from prorubric.cli.output import JsonFlag, describe_judge, make_table, print_line, show_figure, show_result
from prorubric.text.show import count
from prorubric.verbs.cascade import CascadeResult, replay_cascade
from prorubric.verbs.score import ScoreConfig, ScoredRun, score_run

_CASCADE = "Run of a dearer judge on the same responses: show what a cascade of the two would send on to it."


def score(
    config: Annotated[ScoreConfig, Parameter(name="*")],
    *,
    cascade: Annotated[Path | None, Parameter(help=_CASCADE)] = None,
    rows: Rows = 10,
    json: JsonFlag = False,
) -> int:
    """Score the stored verdicts of a run again, without calling a model."""
    if cascade is not None:
        show_result(replay_cascade(config.run, cascade), _print_cascade, json=json)
        return 0

    def print_result(result: ScoredRun, console: Console) -> None:
        print_line(console, f"{count(result.responses, 'response')} of {result.folder}")
        print_line(console, f"judge: {describe_judge(result.judge)}")
        print_schemes(result, console)
        print_worst(result, rows, console)
        if config.out:
            print_line(console, f"scores: {config.out}")

    show_result(score_run(config), print_result, json=json)
    return 0


def _print_cascade(result: CascadeResult, console: Console) -> None:
    print_line(console, f"first judge: {describe_judge(result.first)}")
    print_line(console, f"second judge: {describe_judge(result.second)}")
    left_out = f"; {count(result.only_in_one, 'response')} in one run only" if result.only_in_one else ""
    unknown = f"; {count(result.unknown, 'item')} unknown to the second" if result.unknown else ""
    console.print(f"{count(result.items, 'item')} of {count(result.responses, 'response')}{unknown}{left_out}")
    table = make_table("sent on if less sure than", "items sent", "share", "agreement with the second")
    for step in result.steps:
        sent = (f"{step.sent:,}", f"{step.share_sent:.1%}")
        table.add_row(f"{step.threshold:g}", *sent, show_figure(step.agreement, ".3f"))
    console.print(table)
