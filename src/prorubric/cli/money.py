"""Estimates, usage and costs of a run, printed the same way by every verb."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from prorubric.cli.output import literal, make_console, make_table, print_json, print_line, say
from prorubric.llm.accounting import find_price, load_prices
from prorubric.runs.estimate import Estimate
from prorubric.runs.run import RunResult
from prorubric.text.show import count

DryRun = Annotated[
    bool, Parameter(help="Estimate calls, tokens and cost without calling the model or writing files.", negative="")
]

_SET_IT = "--prices 0.15,0.60 sets it, in dollars per million prompt and completion tokens"


def may_cost(model: str, prices: str | Path | None) -> bool:
    """True for an endpoint, and for any other model that has a price."""
    return model.startswith(("http://", "https://")) or find_price(model, load_prices(prices)) is not None


def say_estimate(what: str, estimate: Estimate, *, exact: bool = True) -> None:
    """One line on stderr before the first call."""
    calls = f"{'' if exact else 'about '}{count(estimate.calls, 'call')} to make"
    if estimate.cached:
        calls += f", {_describe_cached(estimate.cached, estimate.repeated)}"
    tokens = f"about {estimate.prompt_tokens:,} + {estimate.completion_tokens:,} tokens"
    say(f"{what}: {calls}; {tokens}, {_show_cost(estimate.cost)}")


def show_estimate(
    estimate: Estimate,
    about: Iterable[str],
    *,
    parts: Mapping[str, Estimate] | None = None,
    all_sent_on: Estimate | None = None,
    notes: Iterable[Text] = (),
    json: bool,
) -> None:
    """What a dry run found: the record as JSON, or the usual and the most that a run can take, between the lines given.

    A cascade is shown with none and with all of the items sent on.
    """
    if json:
        print_json(estimate)
        return
    console = make_console()
    for line in about:
        print_line(console, line)
    heads = ("calls", "prompt tokens", "reply tokens", "cost")
    if parts is not None:
        table = make_table("part", *heads)
        for name, part in parts.items():
            counts = (f"{number:,}" for number in (part.calls, part.prompt_tokens, part.completion_tokens))
            table.add_row(literal(name), *counts, "not known" if part.cost is None else f"${part.cost:,.2f}")
        console.print(table)
    table = make_table("", *heads)
    rows = [("usual", estimate, ""), ("at most", estimate, "most_")]
    if all_sent_on is not None:
        rows[:1] = [("nothing sent on", estimate, ""), ("everything sent on", all_sent_on, "")]
    for name, found, prefix in rows:
        counts = (getattr(found, prefix + part) for part in ("calls", "prompt_tokens", "completion_tokens"))
        cost = getattr(found, f"{prefix}cost")
        table.add_row(name, *(f"{part:,}" for part in counts), "not known" if cost is None else _dollars(cost))
    console.print(table)
    if estimate.cost is None:
        console.print(_show_cost(None))
    if estimate.cached:
        console.print(f"not counted: {_describe_cached(estimate.cached, estimate.repeated)}")
    for note in notes:
        console.print(note)


def print_calls(result: RunResult, console: Console) -> None:
    """Calls made, replies reused, the cost, and why the run stopped early."""
    if result.stopped:
        print_line(console, f"stopped: {result.stopped}; the same command with a larger budget continues", "yellow")
    failed = f"{sum(result.failed_calls.values()):,} failed, {count(result.retries, 'retry')}"
    cached = f", {_describe_cached(result.cached, result.repeated)}" if result.cached else ""
    print_line(console, f"{count(result.calls - result.cached, 'call')} ({failed}){cached}, {result.seconds:.1f} s")
    if result.damaged:
        print_line(console, f"damaged in the journal and asked for again: {result.damaged:,}", "yellow")
    for model, names in result.not_taken.items():
        print_line(console, f"{model} does not take {', '.join(names)}; its requests were sent without", "yellow")
    if result.prompt_tokens or result.unmetered:
        tokens = f"{result.prompt_tokens:,} + {result.completion_tokens:,} tokens"
        print_line(console, f"{tokens}, {_show_cost(result.cost, result.unmetered)}")


def _describe_cached(cached: int, repeated: int) -> str:
    earlier = [f"{count(cached - repeated, 'reply')} of earlier runs"] if cached > repeated else []
    return ", ".join([*earlier, *([f"{count(repeated, 'question')} asked once already"] if repeated else [])])


def _show_cost(cost: float | None, unmetered: int = 0) -> str:
    """A cost, or why it is unknown and what to do about it."""
    if cost is not None:
        return f"about {_dollars(cost)}"
    if unmetered:
        return f"cost not known: the endpoint left out the tokens of {count(unmetered, 'reply')}"
    return f"price not known ({_SET_IT})"


def _dollars(cost: float) -> str:
    return f"${cost:,.4f}" if 0 < cost < 0.1 else f"${cost:,.2f}"
