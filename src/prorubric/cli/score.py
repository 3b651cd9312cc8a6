"""`prorubric score`."""

from typing import Annotated

from cyclopts import Parameter

from prorubric.cli.judge import Rows, print_schemes, print_worst
from prorubric.cli.output import JsonFlag, count, describe_judge, literal, make_console, print_json
from prorubric.verbs.score import ScoreConfig, score_run


def score(config: Annotated[ScoreConfig, Parameter(name="*")], *, rows: Rows = 10, json: JsonFlag = False) -> int:
    """Score the stored verdicts of a run again, without calling a model."""
    result = score_run(config)
    if json:
        print_json(result)
        return 0
    console = make_console()
    console.print(literal(f"{count(result.responses, 'response')} of {result.folder}"), soft_wrap=True)
    console.print(literal(f"judge: {describe_judge(result.judge)}"), soft_wrap=True)
    print_schemes(result, console)
    print_worst(result, rows, console)
    if config.out:
        console.print(literal(f"scores: {config.out}"), soft_wrap=True)
    return 0
