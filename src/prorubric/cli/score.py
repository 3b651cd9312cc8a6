"""`prorubric score`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from prorubric.cli.judge import Rows, print_schemes, print_worst
from prorubric.cli.output import JsonFlag, describe_judge, make_console, make_table, print_json, print_line, show_figure
from prorubric.text.show import count
from prorubric.verbs.cascade import replay_cascade
from prorubric.verbs.score import ScoreConfig, score_run

_CASCADE = "Run of a more expensive judge on the same responses: show what a cascade would send on to it."


def score(
    config: Annotated[ScoreConfig, Parameter(name="*")],
    *,
    cascade: Annotated[Path | None, Parameter(help=_CASCADE)] = None,
    rows: Rows = 10,
    json: JsonFlag = False,
) -> int:
    """Score the stored verdicts of a run again, without calling a model."""
    if cascade is not None:
        replayed = replay_cascade(config.run, cascade)
        if json:
            print_json(replayed)
            return 0
        console = make_console()
        print_line(console, f"first judge: {describe_judge(replayed.first)}")
        print_line(console, f"second judge: {describe_judge(replayed.second)}")
        left_out = f"; {count(replayed.only_in_one, 'response')} in one run only" if replayed.only_in_one else ""
        unknown = f"; {count(replayed.unknown, 'item')} unknown to the second" if replayed.unknown else ""
        console.print(f"{count(replayed.items, 'item')} of {count(replayed.responses, 'response')}{unknown}{left_out}")
        table = make_table("sent on if less sure than", "items sent", "share", "agreement with the second")
        for step in replayed.steps:
            sent = (f"{step.sent:,}", f"{step.share_sent:.1%}")
            table.add_row(f"{step.threshold:g}", *sent, show_figure(step.agreement, ".3f"))
        console.print(table)
        return 0
    result = score_run(config)
    if json:
        print_json(result)
        return 0
    console = make_console()
    print_line(console, f"{count(result.responses, 'response')} of {result.folder}")
    print_line(console, f"judge: {describe_judge(result.judge)}")
    print_schemes(result, console)
    print_worst(result, rows, console)
    if config.out:
        print_line(console, f"scores: {config.out}")
    return 0
