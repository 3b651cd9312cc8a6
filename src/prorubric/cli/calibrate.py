"""`prorubric calibrate`."""

from typing import Annotated

from cyclopts import Parameter

from prorubric.cli.options import flatten_options, read_http
from prorubric.cli.output import (
    JsonFlag,
    describe_judge,
    literal,
    make_console,
    make_table,
    print_json,
    print_line,
    show_figure,
)
from prorubric.cli.votes import print_votes
from prorubric.text.show import count
from prorubric.verbs.calibrate import CalibrateConfig, calibrate_judge

flatten_options(CalibrateConfig)


def calibrate(config: Annotated[CalibrateConfig, Parameter(name="*")], *, json: JsonFlag = False) -> int:
    """Compare a judge with people on labelled statements and pairs of answers."""
    result = calibrate_judge(read_http(config))
    code = 1 if result.unknown or result.unknown_votes else 0
    if json:
        print_json(result)
        return code
    console = make_console()
    judge = f"judge {describe_judge(result.judge)}"
    if result.items:
        people = f"{result.people} {'person' if result.people == 1 else 'people'}"
        unknown = result.unknown - (result.pairs.unknown if result.pairs else 0)
        items = f"{count(result.items, 'item')} labelled by {people}; {unknown:,} without a verdict"
        print_line(console, f"{judge} on {items}")
        said, labelled = (show_figure(share, ".0%") for share in (result.said_true, result.labelled_true))
        console.print(f"says true for {said}, people for {labelled}")
        rows = {"judge against each label": result.judge_agreement, "people against each other": result.human_agreement}
        for tag, both in result.by_tag.items():
            rows |= {f"{tag}: judge": both["judge"], f"{tag}: people": both["human"]}
        table = make_table("", "items", "balanced F1", "κ", "accuracy", "pairs")
        for name, found in rows.items():
            figures = (show_figure(figure, ".3f") for figure in (found.balanced_f1, found.kappa, found.accuracy))
            table.add_row(literal(name), f"{found.items:,}", *figures, f"{found.pairs:,}")
        console.print(table)
    if result.pairs is not None:
        print_line(console, f"{judge} on {count(result.pairs.pairs, 'pair')} of answers")
        columns = ("agreement", "if decided", "order consistency", "ties", "inconsistent", "unknown")
        table = make_table("", "pairs", *columns)
        for name, pair in {"all pairs": result.pairs, **result.pairs_by_tag}.items():
            shares = (pair.agreement, pair.agreement_if_decided, pair.order_consistency)
            shown = [show_figure(share, ".3f") for share in shares]
            counts = (f"{number:,}" for number in (pair.ties, pair.inconsistent, pair.unknown))
            table.add_row(literal(name), f"{pair.pairs:,}", *shown, *counts)
        console.print(table)
    print_votes(result, result.items, console)
    for reason, number in result.unknown_reasons.items():
        print_line(console, f"unknown: {number:,} x {reason}")
    if result.damaged:
        print_line(console, f"damaged in the journal and asked for again: {result.damaged:,}", "yellow")
    return code
