"""What a run would take, what it took, and what that costs, in the same words for every verb."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from prorubric.cli.output import count, say
from prorubric.llm.accounting import find_price, load_prices
from prorubric.runs.estimate import Estimate

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
    say(f"{what}: {calls}; {tokens}, {show_cost(estimate.cost)}")


def print_estimate(estimate: Estimate, console: Console) -> None:
    """The usual and the most that a run can take."""
    table = Table("", box=None, pad_edge=False)
    for name in ("calls", "prompt tokens", "reply tokens", "cost"):
        table.add_column(name, justify="right")
    for name, calls, prompt, reply, cost in (
        ("usual", estimate.calls, estimate.prompt_tokens, estimate.completion_tokens, estimate.cost),
        (
            "at most",
            estimate.most_calls,
            estimate.most_prompt_tokens,
            estimate.most_completion_tokens,
            estimate.most_cost,
        ),
    ):
        table.add_row(name, f"{calls:,}", f"{prompt:,}", f"{reply:,}", "not known" if cost is None else _dollars(cost))
    console.print(table)
    if estimate.cost is None:
        console.print(show_cost(None))
    if estimate.cached:
        console.print(f"not counted: {_describe_cached(estimate.cached, estimate.repeated)}")


def describe_calls(calls: int, cached: int, repeated: int, failed: int, retries: int) -> str:
    """What was asked, and what did not have to be."""
    made = f"{count(calls - cached, 'call')} ({failed:,} failed, {count(retries, 'retry')})"
    return f"{made}, {_describe_cached(cached, repeated)}" if cached else made


def _describe_cached(cached: int, repeated: int) -> str:
    earlier = [f"{count(cached - repeated, 'reply')} of earlier runs"] if cached > repeated else []
    return ", ".join([*earlier, *([f"{count(repeated, 'question')} asked once already"] if repeated else [])])


def show_cost(cost: float | None, unmetered: int = 0) -> str:
    """A cost, or why there is none and what to do."""
    if cost is not None:
        return f"about {_dollars(cost)}"
    if unmetered:
        return f"cost not known: the endpoint left out the tokens of {count(unmetered, 'reply')}"
    return f"price not known ({_SET_IT})"


def _dollars(cost: float) -> str:
    return f"${cost:,.4f}" if 0 < cost < 0.1 else f"${cost:,.2f}"
