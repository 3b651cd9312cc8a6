"""`prorubric judge`."""

from typing import Annotated

from cyclopts import Parameter, validators
from rich.console import Console
from rich.table import Table

from prorubric.aggregate.score import Score
from prorubric.cli.money import DryRun, may_cost, print_calls, print_estimate, say_estimate
from prorubric.cli.options import read_http
from prorubric.cli.output import JsonFlag, count, describe_judge, literal, make_console, print_json
from prorubric.cli.progress import show_progress
from prorubric.judge.judge import MOST_REASKS, JudgeConfig
from prorubric.llm.http import HttpConfig
from prorubric.verbs.judge import (
    JudgeEstimate,
    JudgeFiles,
    JudgeResult,
    JudgeRunConfig,
    estimate_judging,
    judge_responses,
)
from prorubric.verbs.score import ScoredRun

Rows = Annotated[int, Parameter(help="Number of responses to show, worst first.", validator=validators.Number(gte=0))]

_JUDGING, _HTTP = JudgeConfig(), HttpConfig()
_SHOWN_ROWS, _SHOWN_REASONS, _SHOWN_SCHEMES = 10, 5, 4


def judge(
    files: Annotated[JudgeFiles, Parameter(name="*")],
    *,
    judging: Annotated[JudgeConfig, Parameter(name="*", group="Judging")] = _JUDGING,
    http: Annotated[HttpConfig, Parameter(name="*", group="Endpoint")] = _HTTP,
    dry_run: DryRun = False,
    rows: Rows = _SHOWN_ROWS,
    json: JsonFlag = False,
) -> int:
    """Judge a file of responses and score them under one or more schemes."""
    config = JudgeRunConfig(**vars(files), judging=judging, http=read_http(http))
    if dry_run:
        estimate = estimate_judging(config)
        print_json(estimate) if json else _print_estimate(estimate, make_console())
        return 0
    if may_cost(config.judge, config.prices):
        estimate = estimate_judging(config)
        say_estimate(count(estimate.responses, "response"), estimate)
    with show_progress("judging", "response", config.responses if config.limit is None else None) as on_progress:
        result = judge_responses(config, on_progress)
    if json:
        print_json(result)
    else:
        _print_result(result, rows, make_console())
    return 1 if result.unknown_verdicts or result.rejected or result.stopped else 0


def _print_estimate(estimate: JudgeEstimate, console: Console) -> None:
    console.print(literal(f"judge: {describe_judge(estimate.judge)}"), soft_wrap=True)
    rejected = f"{count(estimate.rejected, 'row')} rejected"
    console.print(f"{count(estimate.responses, 'response')}, {rejected}, schemes: {', '.join(estimate.schemes)}")
    print_left_out(estimate.left_out, console)
    print_estimate(estimate, console)


def _print_result(result: JudgeResult, rows: int, console: Console) -> None:
    console.print(literal(f"judge: {describe_judge(result.judge)}"), soft_wrap=True)
    rejected = f"{count(result.rejected, 'row')} rejected"
    console.print(f"{count(result.responses, 'response')}, {rejected}, {count(result.verdicts, 'verdict')}")
    if result.unanswered:
        console.print(f"[yellow]{count(result.unanswered, 'task')} without a response[/]")
    print_schemes(result, console)
    if result.unread:
        reason = next(iter(result.unread.values()))
        warning = f"warning: the scores under {', '.join(result.unread)} mean nothing: {reason}"
        console.print(literal(warning, "yellow"), soft_wrap=True)
    print_worst(result, rows, console)
    _print_faults(result, console)
    print_calls(result, console)
    if result.shareable_share is not None:
        tokens = f"about {result.shareable_prompt_tokens:,} ({result.shareable_share:.0%})"
        console.print(f"prompt tokens that a prefix cache can share: {tokens}", soft_wrap=True)
    console.print(literal(f"The run is in {result.folder}/."), soft_wrap=True)


def _print_faults(result: JudgeResult, console: Console) -> None:
    if result.unknown_verdicts:
        console.print(f"[yellow]{count(result.unknown_verdicts, 'verdict')} unknown[/]:")
        reasons = list(result.unknown_reasons.items())
        for reason, number in reasons[:_SHOWN_REASONS]:
            console.print(literal(f"  {number:,} x {reason}"), soft_wrap=True)
        if len(reasons) > _SHOWN_REASONS:
            console.print(f"  and {count(len(reasons) - _SHOWN_REASONS, 'more reason')}, in summary.json")
        if result.failed_calls:
            console.print("  the same command again makes the calls that failed, and no others")
        elif result.reasks is not None and result.reasks < MOST_REASKS:
            console.print(
                f"  the same command with --reasks {result.reasks + 1} asks once more for these, and no others"
            )
    for reject in result.rejects:
        console.print(literal(f"rejected {reject}", "red"), soft_wrap=True)
    if result.rejected > len(result.rejects):
        console.print(f"[red]and {result.rejected - len(result.rejects):,} more, in rejects.jsonl[/]")


def print_schemes(result: ScoredRun, console: Console) -> None:
    """Means and counts by scheme, and what was left out."""
    table = Table("scheme", box=None, pad_edge=False)
    for name in ("mean", "known", "unknown"):
        table.add_column(name, justify="right")
    for name, summary in result.schemes.items():
        mean = "–" if summary.mean is None else f"{summary.mean:.3f}"
        unknown = f"[yellow]{summary.unknown:,}[/]" if summary.unknown else "0"
        table.add_row(name, mean, f"{summary.known:,}", unknown)
    console.print(table)
    print_left_out(result.left_out, console)


def print_left_out(left_out: dict[str, str], console: Console) -> None:
    """One line a reason, with the first schemes that it keeps out."""
    for reason in dict.fromkeys(left_out.values()):
        names = [name for name, why in left_out.items() if why == reason]
        more = f" and {len(names) - _SHOWN_SCHEMES} more" if len(names) > _SHOWN_SCHEMES else ""
        console.print(literal(f"left out: {', '.join(names[:_SHOWN_SCHEMES])}{more}: {reason}"), soft_wrap=True)


def print_worst(result: ScoredRun, rows: int, console: Console) -> None:
    """The responses with the lowest scores; an unknown score is shown by its bounds."""
    worst = result.list_worst(rows)
    if not worst:
        return
    console.print(f"\nlowest {len(worst):,} of {count(result.responses, 'response')}, by {result.order[0]}:")
    table = Table("task", box=None, pad_edge=False)
    for name in ("sample", *result.schemes):
        table.add_column(name, justify="right")
    for response in worst:
        scores = (_show_score(response.scores[name]) for name in result.schemes)
        table.add_row(literal(response.task_id), f"{response.sample:,}", *scores)
    console.print(table)
    console.print()


def _show_score(score: Score) -> str:
    return f"{score.value:.3f}" if score.value is not None else f"[yellow]{score.low:.2f} to {score.high:.2f}[/]"
