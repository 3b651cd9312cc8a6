"""`prorubric train`."""

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from prorubric.cli.output import (
    JsonFlag,
    make_console,
    make_table,
    print_line,
    show_figure,
    show_result,
    write_json_line,
)
from prorubric.cli.progress import show_progress
from prorubric.errors import ConfigError
from prorubric.rubric.base import render_config
from prorubric.text.show import count
from prorubric.train.methods import METHODS, find_method
from prorubric.train.plan import Plan, plan_training
from prorubric.verbs.train import TrainConfig, TrainResult, train_policies

_SET = Parameter(help="Change a field of the recipe, as in --set rollouts=4 --set validate.limit=20.", negative="")
_ONLY = Parameter(help="Comma-separated seeds, methods or runs; by default all.", negative="")


def train(
    recipe: Annotated[Path | None, Parameter(help="Recipe file, YAML or TOML.")] = None,
    *,
    set: Annotated[tuple[str, ...], _SET] = (),  # noqa: A002 - the name of the option
    only: Annotated[tuple[str, ...], _ONLY] = (),
    dry_run: Annotated[bool, Parameter(help="Only plan: runs, judge calls, cost, memory, time, commands.")] = False,
    list: Annotated[bool, Parameter(help="List the methods.")] = False,  # noqa: A002 - the name of the option
    show: Annotated[str | None, Parameter(help="Show all settings of a method.")] = None,
    json: JsonFlag = False,
) -> int:
    """Train every run of a recipe, or what is missing of it."""
    if list or show is not None:
        shown = METHODS if show is None else {show: find_method(show)}
        if json:
            write_json_line({name: render_config(method) for name, method in shown.items()})
        elif show is None:
            print_methods(make_console())
        else:
            print_settings(show, make_console())
        return 0
    if recipe is None:
        raise ConfigError("no recipe is named; write one, or see the methods with: prorubric train --list")
    config = TrainConfig(recipe, set=set, only=only)
    if dry_run:
        show_result(plan_training(config.recipe, config.set, config.only), print_plan, json=json)
        return 0
    with show_progress("train", "step") as on_progress:
        result = train_policies(config, on_progress)
    show_result(result, print_runs, json=json)
    return 1 if any(run.state == "stopped" for run in result.runs) else 0


def print_methods(console: Console) -> None:
    """Every method with what makes it different."""
    table = make_table("method", "trained by", "scheme", "rollouts", "prompts × responses", "rate", "KL")
    for name, method in METHODS.items():
        size = f"{method.prompts} × {method.responses}"
        figures = ("", "") if method.kind in ("sft", "best-of-n") else (str(method.rollouts), size)
        table.add_row(name, method.kind, method.scheme or "–", *figures, f"{method.rate:g}", f"{method.kl:g}")
    console.print(table)
    console.print("add +appropriateness to a method with a scheme, or name your own scheme: pkg.module:function")


def print_settings(name: str, console: Console) -> None:
    """The settings of a method, as a recipe has them."""
    print_line(console, f"method: {name}")
    for field, value in render_config(find_method(name)).items():
        if field != "kind" and value is not None:
            shown = (
                ", ".join(f"{key}: {_show(inner)}" for key, inner in value.items()) if isinstance(value, dict) else ""
            )
            print_line(console, f"{field}: {f'{{{shown}}}' if shown else _show(value)}")


def _show(value: object) -> str:
    words = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def print_plan(plan: Plan, console: Console) -> None:
    """What a training will do."""
    judged = f", judged for {' and '.join(plan.measured)}" if plan.measured else ", not judged"
    held = f"{count(plan.held_out, 'prompt')} held out"
    held += f", answered at {count(plan.validations, 'validation')} of a run{judged}" if plan.validations else ""
    print_line(console, f"{count(len(plan.runs), 'run')} into {plan.out}: {count(plan.tasks, 'task')}, {held}")
    for reason, number in plan.left_out.items():
        print_line(console, f"{count(number, 'task')} left out: {reason}", "yellow")
    table = make_table("run", "steps", "judge calls", "for validation", "GB a card", "hours")
    for run in plan.runs:
        found = run.resources
        sizes = ("–", "–") if found is None else (f"{found.gigabytes:,.0f}", f"{found.hours:,.1f}")
        table.add_row(run.name, f"{run.steps:,}", f"{run.calls:,}", f"{run.validation_calls:,}", *sizes)
    console.print(table)
    how = "exact, unless replies have to be asked for again" if plan.is_exact else "the second judge is asked if needed"
    print_line(console, f"{'' if plan.is_exact else 'at most '}{count(plan.calls, 'judge call')} in all ({how})")
    for name, money in (("short", plan.low), ("usual", plan.usual), ("longest", plan.high)):
        tokens = f"{money.prompt_tokens / 1e6:,.1f} M tokens in, {money.completion_tokens / 1e6:,.1f} M out"
        cost = "price not known; give prices: 0.15,0.60" if money.cost is None else f"{money.cost:,.2f} $"
        print_line(console, f"  {name} responses ({money.response_tokens:,} tokens): about {tokens}, {cost}")
    print_line(console, "memory and hours are an order of magnitude, without the judge:")
    for formula in plan.formulas:
        print_line(console, f"  {formula}")
    print_line(console, "departures from the paper:" if plan.departures else "no departures from the paper")
    for departure in plan.departures:
        print_line(console, f"  {departure}")
    for run in plan.runs:
        if run.command:
            print_line(console, f"{run.name}: {shlex.join(run.command)}")


def print_runs(result: TrainResult, console: Console) -> None:
    """How each run ended."""
    table = make_table("run", "state", "step", "coverage", "appropriateness", "at step 0")
    for run in result.runs:
        first, last = run.validations[:1], run.validations[-1:]
        figures = [
            [found.coverage for found in last],
            [found.appropriateness for found in last],
            [found.appropriateness for found in first],
        ]
        table.add_row(
            run.name, run.state, f"{run.step:,}", *(show_figure(next(iter(figure), None), ".3f") for figure in figures)
        )
    console.print(table)
    for run in result.runs:
        said = [f"stopped: {run.reason}"] if run.state == "stopped" else []
        if run.chosen is not None:
            said.append(f"the best answer to {count(run.chosen, 'prompt')}, {run.left_out} without a known score")
            said += [f"{count(run.unknown, 'answer')} without a known score"] if run.unknown else []
            said += [f"{count(number, 'answer')} not judged: {reason}" for reason, number in run.not_judged.items()]
        if run.late:
            why = f"could not be judged ({next(iter(run.late.values()))})"
            said.append(f"{count(len(run.late), 'validation')} {why}; run the same command again")
        for line in said:
            print_line(console, f"{run.name}: {line}", "yellow")
    cost = "price not known" if result.cost is None else f"{result.cost:,.2f} $"
    print_line(console, f"{count(result.calls, 'reply')} of judges so far, {cost}; see {result.out}/report.html")
