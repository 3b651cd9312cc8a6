"""`prorubric judge`."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated

from cyclopts import Parameter, validators
from rich.console import Console

from prorubric.cli.money import DryRun, may_cost, print_calls, say_estimate, show_estimate
from prorubric.cli.options import flatten_options, read_http
from prorubric.cli.output import JsonFlag, describe_judge, literal, make_table, print_line, show_figure, show_result
from prorubric.cli.progress import show_progress
from prorubric.cli.votes import print_addressed, print_votes
from prorubric.judge.judge import MOST_REASKS
from prorubric.judge.panel import list_judges
from prorubric.text.show import count
from prorubric.verbs.judge import JudgeResult, JudgeRunConfig, estimate_judging, judge_responses
from prorubric.verbs.score import ScoredRun

Rows = Annotated[int, Parameter(help="Number of responses to show, worst first.", validator=validators.Number(gte=0))]

_SHOWN_REASONS, _SHOWN_SCHEMES = 5, 4
flatten_options(JudgeRunConfig)


def judge(
    config: Annotated[JudgeRunConfig, Parameter(name="*")],
    *,
    dry_run: DryRun = False,
    rows: Rows = 10,
    json: JsonFlag = False,
) -> int:
    """Judge a file of responses and score them under one or more schemes."""
    config = read_http(config)
    if dry_run:
        planned = estimate_judging(config)
        counts = f"{count(planned.responses, 'response')}, {count(planned.rejected, 'row')} rejected"
        about = [f"judge: {describe_judge(planned.judge)}", f"{counts}, schemes: {', '.join(planned.schemes)}"]
        show_estimate(planned, [*about, *_list_left_out(planned.left_out)], all_sent_on=planned.all_sent_on, json=json)
        return 0
    if any(may_cost(name, config.prices) for name in list_judges(config.judge)):
        estimate = estimate_judging(config)
        responses = count(estimate.responses, "response")
        if estimate.all_sent_on is None:
            say_estimate(responses, estimate)
        else:
            say_estimate(f"{responses}, if nothing is sent on", estimate)
            say_estimate(f"{responses}, if everything is sent on", estimate.all_sent_on)
    with show_progress("judging", "response", config.responses if config.limit is None else None) as on_progress:
        result = judge_responses(config, on_progress)
    show_result(result, partial(_print_result, rows=rows), json=json)
    faults = (result.unknown_verdicts, result.unknown_votes, result.rejected, result.stopped)
    return 1 if any(faults) else 0


def _print_result(result: JudgeResult, console: Console, rows: int) -> None:
    print_line(console, f"judge: {describe_judge(result.judge)}")
    rejected = f"{count(result.rejected, 'row')} rejected"
    apart = f", {result.not_applicable_verdicts:,} of them not applicable" if result.not_applicable_verdicts else ""
    console.print(f"{count(result.responses, 'response')}, {rejected}, {count(result.verdicts, 'verdict')}{apart}")
    if result.transcripts and result.view == "last":
        saw = "the judge saw the last turn of each; --view full shows it all turns"
        console.print(f"{count(result.transcripts, 'transcript')}: {saw}")
    elif result.transcripts:
        whole = f" of {result.transcripts - result.cut_transcripts:,}" if result.cut_transcripts else ""
        console.print(f"{count(result.transcripts, 'transcript')}: the judge saw all turns{whole}")
    if result.cut_transcripts:
        cut = f"{count(result.cut_transcripts, 'transcript')} cut, {count(result.turns_left_out, 'turn')} left out"
        console.print(f"[yellow]{cut}[/]; --max-transcript-characters allows more")
    if result.unanswered:
        console.print(f"[yellow]{count(result.unanswered, 'task')} without a response[/]")
    if result.quotations:
        found = f"{count(result.quotations, 'quotation')}, {result.unfounded:,} not in the answer"
        print_line(console, f"{found}; see evidence in verdicts.jsonl", "yellow" if result.unfounded else "")
        for line in result.first_unfounded:
            print_line(console, f"  {line}")
    if result.addressed:
        print_addressed(result.addressed, "response", result.addressed_kinds, "verdicts.jsonl", console)
    print_schemes(result, console)
    if result.unread:
        reason = next(iter(result.unread.values()))
        print_line(console, f"warning: the scores under {', '.join(result.unread)} mean nothing: {reason}", "yellow")
    print_worst(result, rows, console)
    print_votes(result, result.verdicts, console)
    _print_faults(result, console)
    print_calls(result, console)
    if result.shareable_share is not None:
        tokens = f"about {result.shareable_prompt_tokens:,} ({result.shareable_share:.0%})"
        print_line(console, f"prompt tokens that a prefix cache can share: {tokens}")
    print_line(console, f"The run is in {result.folder}/.")


def _print_faults(result: JudgeResult, console: Console) -> None:
    if result.unknown_verdicts:
        console.print(f"[yellow]{count(result.unknown_verdicts, 'verdict')} unknown[/]:")
        reasons = list(result.unknown_reasons.items())
        for reason, number in reasons[:_SHOWN_REASONS]:
            print_line(console, f"  {number:,} x {reason}")
        if len(reasons) > _SHOWN_REASONS:
            console.print(f"  and {count(len(reasons) - _SHOWN_REASONS, 'more reason')}, in summary.json")
        if result.failed_calls:
            console.print("  run the same command again to repeat only the failed calls")
        # If every vote was read, what is unknown is a tie, and asking again would not change it.
        elif (
            result.reasks is not None
            and result.reasks < MOST_REASKS
            and (result.agreement is None or result.unknown_votes)
        ):
            more = f"--reasks {result.reasks + 1}"
            console.print(f"  run the same command with {more} to ask again only for these")
    for reject in result.rejects:
        print_line(console, f"rejected {reject}", "red")
    if result.rejected > len(result.rejects):
        console.print(f"[red]and {result.rejected - len(result.rejects):,} more, in rejects.jsonl[/]")


def print_schemes(result: ScoredRun, console: Console) -> None:
    """Means and counts by scheme, and what was left out."""
    table = make_table("scheme", "mean", "known", "unknown")
    for name, summary in result.schemes.items():
        unknown = f"[yellow]{summary.unknown:,}[/]" if summary.unknown else "0"
        table.add_row(name, show_figure(summary.mean, ".3f"), f"{summary.known:,}", unknown)
    console.print(table)
    for line in _list_left_out(result.left_out):
        print_line(console, line)


def _list_left_out(left_out: dict[str, str]) -> Iterator[str]:
    """One line a reason, with the first schemes that it keeps out."""
    for reason in dict.fromkeys(left_out.values()):
        names = [name for name, why in left_out.items() if why == reason]
        more = f" and {len(names) - _SHOWN_SCHEMES} more" if len(names) > _SHOWN_SCHEMES else ""
        yield f"left out: {', '.join(names[:_SHOWN_SCHEMES])}{more}: {reason}"


def print_worst(result: ScoredRun, rows: int, console: Console) -> None:
    """The responses with the lowest scores; an unknown score is shown by its bounds."""
    worst = result.list_worst(rows)
    if not worst:
        return
    console.print(f"\nlowest {len(worst):,} of {count(result.responses, 'response')}, by {result.order[0]}:")
    table = make_table("task", "sample", *result.schemes)
    for response in worst:
        scores = (response.scores[name] for name in result.schemes)
        shown = (show_figure(s.value, ".3f", f"[yellow]{s.low:.2f} to {s.high:.2f}[/]") for s in scores)
        table.add_row(literal(response.task_id), f"{response.sample:,}", *shown)
    console.print(table)
    console.print()
