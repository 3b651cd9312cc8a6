"""`prorubric judge`."""

from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from prorubric.cli.options import read_http
from prorubric.cli.output import JsonFlag, count, describe_calls, describe_judge, literal, make_console, print_json
from prorubric.cli.progress import show_progress
from prorubric.judge.judge import JudgeConfig
from prorubric.llm.http import HttpConfig
from prorubric.reward.folder import SchemeSummary
from prorubric.reward.run import JudgeFiles, JudgeResult, JudgeRunConfig, Progress, judge_responses

_JUDGING, _HTTP = JudgeConfig(), HttpConfig()
_SHOWN_REASONS = 5


def judge(
    files: Annotated[JudgeFiles, Parameter(name="*")],
    *,
    judging: Annotated[JudgeConfig, Parameter(name="*", group="Judging")] = _JUDGING,
    http: Annotated[HttpConfig, Parameter(name="*", group="Endpoint")] = _HTTP,
    json: JsonFlag = False,
) -> int:
    """Judge a file of responses and score them under every scheme asked for."""
    config = JudgeRunConfig(**vars(files), judging=judging, http=read_http(http))
    with show_progress("judging", "response", config.responses) as show:
        result = judge_responses(config, lambda now: show(now.responses, _describe(now)))
    if json:
        print_json(result)
    else:
        _print_result(result, make_console())
    return 1 if result.unknown_verdicts or result.rejected else 0


def _describe(now: Progress) -> str:
    failed = sum(now.usage.failures.values())
    return f"{now.unknown_verdicts:,} verdicts unknown, {failed:,} calls failed"


def _print_result(result: JudgeResult, console: Console) -> None:
    console.print(literal(f"judge: {describe_judge(result.judge)}"), soft_wrap=True)
    rejected = f"{count(result.rejected, 'row')} rejected"
    console.print(f"{count(result.responses, 'response')}, {rejected}, {count(result.verdicts, 'verdict')}")
    print_schemes(result.schemes, console)
    for name, reason in result.left_out.items():
        console.print(literal(f"left out: {name}: {reason}"), soft_wrap=True)
    _print_faults(result, console)
    failed = sum(result.failed_calls.values())
    calls = describe_calls(result.calls, result.cached, result.repeated, failed, result.retries)
    console.print(f"{calls}, {result.seconds:.1f} s", soft_wrap=True)
    if result.damaged:
        console.print(f"[yellow]damaged in the journal and asked for again: {result.damaged:,}[/]", soft_wrap=True)
    if result.prompt_tokens:
        cost = "price not known" if result.cost is None else f"about ${result.cost:.2f}"
        console.print(f"{result.prompt_tokens:,} + {result.completion_tokens:,} tokens, {cost}", soft_wrap=True)
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
            console.print(f"  and {len(reasons) - _SHOWN_REASONS} more reasons, in summary.json")
        if result.cached:
            console.print("  replies in the journal are not asked for again; raise --reasks to ask once more")
    for reject in result.rejects:
        console.print(literal(f"rejected {reject}", "red"), soft_wrap=True)
    if result.rejected > len(result.rejects):
        console.print(f"[red]and {result.rejected - len(result.rejects):,} more, in rejects.jsonl[/]")


def print_schemes(schemes: dict[str, SchemeSummary], console: Console) -> None:
    """Means and counts by scheme."""
    table = Table("scheme", box=None, pad_edge=False)
    for name in ("mean", "known", "unknown"):
        table.add_column(name, justify="right")
    for name, summary in schemes.items():
        mean = "–" if summary.mean is None else f"{summary.mean:.3f}"
        unknown = f"[yellow]{summary.unknown:,}[/]" if summary.unknown else "0"
        table.add_row(name, mean, f"{summary.known:,}", unknown)
    console.print(table)
