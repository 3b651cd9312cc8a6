"""Agreement of judges and notes on the responses of a run, printed the same way by every verb."""

from collections.abc import Mapping

from rich.console import Console

from prorubric.cli.output import literal, make_table, print_line, show_figure
from prorubric.judge.votes import UNSURE_BELOW
from prorubric.runs.votes import VotedResult
from prorubric.text.show import count


def print_votes(result: VotedResult, verdicts: int, console: Console) -> None:
    """How far votes agree, what a cascade sent on, and what each judge did and cost; nothing for a single vote."""
    if result.agreement is not None:
        unsure = (
            f"{count(result.unsure, 'item')} below {UNSURE_BELOW:.0%}, {count(result.unknown_votes, 'vote')} unknown"
        )
        console.print(f"agreement of the votes: {result.agreement:.1%} on average; {unsure}")
    if result.sent_on is not None:
        share = f" ({result.sent_on / verdicts:.1%})" if verdicts else ""
        print_line(console, f"sent on to {[*result.judges][-1]}: {count(result.sent_on, 'item')}{share}")
    if not result.judges:
        return
    table = make_table("judge", "agrees", "unknown", "calls", "tokens", "cost")
    for name, one in result.judges.items():
        counts = (one.unknown, one.calls - one.cached, one.prompt_tokens + one.completion_tokens)
        figures = (show_figure(one.agreed, ".1%"), *(f"{number:,}" for number in counts))
        table.add_row(literal(name), *figures, "not known" if one.cost is None else f"${one.cost:,.4f}")
    console.print(table)
    for name, one in result.judges.items():
        for reason, number in list(one.unknown_reasons.items())[:1]:
            print_line(console, f"{name} left {count(one.unknown, 'vote')} open: {number:,} x {reason}", "yellow")


def print_addressed(number: int, what: str, kinds: Mapping[str, int], file: str, console: Console) -> None:
    """How many texts are addressed to the judge, by kind."""
    shown = ", ".join(f"{kind} {times:,}" for kind, times in kinds.items())
    address = "addresses" if number == 1 else "address"
    print_line(console, f"{count(number, what)} {address} the judge ({shown}); see addressing in {file}", "yellow")
