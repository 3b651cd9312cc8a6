"""`prorubric score`."""

from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from prorubric.cli.judge import Rows, print_schemes, print_worst
from prorubric.cli.output import JsonFlag, describe_judge, print_line, show
from prorubric.text.show import count
from prorubric.verbs.score import ScoreConfig, ScoredRun, score_run


def score(config: Annotated[ScoreConfig, Parameter(name="*")], *, rows: Rows = 10, json: JsonFlag = False) -> int:
    """Score the stored verdicts of a run again, without calling a model."""

    def print_result(result: ScoredRun, console: Console) -> None:
        print_line(console, f"{count(result.responses, 'response')} of {result.folder}")
        print_line(console, f"judge: {describe_judge(result.judge)}")
        print_schemes(result, console)
        print_worst(result, rows, console)
        if config.out:
            print_line(console, f"scores: {config.out}")

    show(score_run(config), print_result, json=json)
    return 0
