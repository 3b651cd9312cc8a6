"""`prorubric compile`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from prorubric.cli.money import DryRun, print_calls, say_estimate, show_estimate
from prorubric.cli.options import flatten_options, read_http
from prorubric.cli.output import JsonFlag, make_table, print_line, say, show_figure, show_result
from prorubric.cli.progress import show_progress
from prorubric.compile.compare import CompareTasksResult, compare_tasks
from prorubric.compile.compiler import RULES
from prorubric.compile.rules import LABEL
from prorubric.errors import ConfigError
from prorubric.text.show import count
from prorubric.verbs.compile import (
    CompileConfig,
    CompileResult,
    compile_rubrics,
    estimate_compile,
    name_outputs,
)

flatten_options(CompileConfig)


def compile(  # noqa: A001 - the verb's name
    config: Annotated[CompileConfig | None, Parameter(name="*")] = None,
    *,
    dry_run: DryRun = False,
    compare: Annotated[
        tuple[Path, Path] | None, Parameter(help="Compare two compiled files instead of compiling.")
    ] = None,
    json: JsonFlag = False,
) -> int:
    """Group each checklist into two to five dimensions that must hold together."""
    if compare is not None:
        if config is not None:
            raise ConfigError("compile: --compare takes two compiled files and no tasks; leave the tasks file out")
        compared = compare_tasks(*compare)
        show_result(compared, _print_comparison, json=json)
        return 0 if compared.compared else 1
    if config is None:
        raise ConfigError("compile: the file of tasks is missing; see prorubric compile --help")
    config = read_http(config)
    if dry_run:
        planned = estimate_compile(config)
        counts = f"{count(planned.tasks, 'task')}, {count(planned.rejected, 'row')} rejected"
        show_estimate(planned, [*_name_generator(planned.generator), counts], json=json)
        return 0
    name_outputs(config).check(config.tasks, config.overwrite)  # before the whole file is read for the estimate
    stopping = "stopping; running the same command again starts over (Ctrl-C again to quit now)"
    if config.models:
        estimate = estimate_compile(config)
        say_estimate(count(estimate.tasks, "task"), estimate, exact=not config.verify)
        stopping = (
            "stopping: finishing the calls in flight; run the same command again to continue (Ctrl-C again to quit now)"
        )
    with show_progress("compiling", "task", Path(config.tasks)) as on_progress:
        result = compile_rubrics(config, on_progress, lambda: say(stopping))
    show_result(result, _print_result, json=json)
    unverified = result.verify_faults or result.not_verified
    return 1 if result.excluded or result.rejected or result.failed_texts or unverified else 0


def _name_generator(generator: str) -> list[str]:
    return [f"generator: {LABEL if generator == RULES else generator}"] if generator else []


def _print_result(result: CompileResult, console: Console) -> None:
    made = f"{count(result.read, 'row')}: {result.kept:,} kept, {result.repaired:,} repaired"
    made += f", {result.excluded:,} excluded, {result.rejected:,} rejected"
    for line in (*_name_generator(result.generator), made):
        print_line(console, line)
    dimensions = {count(int(number), "dimension"): tasks for number, tasks in result.dimensions.items()}
    for title, counts, style in (
        ("left out", result.left_out, ""),
        ("dimensions", dimensions, ""),
        ("excluded", result.reasons, "red"),
        ("faults of replies", result.faults, ""),
        ("kept with faults of the text", result.text_faults, "yellow"),
        ("dimensions verified", {"without a fault": result.verified} if result.verified else {}, ""),
        ("dimensions kept with faults", result.verify_faults, "yellow"),
        ("dimensions not verified", result.not_verified, "red"),
        ("failure sentences", result.failure_sentences, ""),
        ("texts not delivered", result.failed_texts, "red"),
        ("failed calls", result.failures, "red"),
    ):
        if counts:
            shown = ", ".join(f"{number:,} x {name}" for name, number in counts.items())
            print_line(console, f"{title}: {shown}", style)
    if result.failures:
        console.print("run the same command with --overwrite to ask again only for what got no reply")
    if result.calls:
        print_calls(result, console)
    for name, path in result.files.items():
        print_line(console, f"{name}: {path}")


def _print_comparison(result: CompareTasksResult, console: Console) -> None:
    print_line(console, f"A: {result.a.path}")
    print_line(console, f"B: {result.b.path}")
    console.print(
        f"{count(result.compared, 'task')} compared, {result.only_in_a:,} only in A, {result.only_in_b:,} only in B"
    )
    for reason, number in result.left_out.items():
        print_line(console, f"left out: {number:,} x {reason}", "yellow")
    if result.agreement is None:
        return
    agreement = result.agreement
    console.print(
        f"adjusted Rand index {agreement.mean:.3f} (from {agreement.lowest:.3f} to {agreement.highest:.3f}; "
        f"1 same, 0 chance), {result.same_partition:,} with the same groups"
    )
    table = make_table("mean", "A", "B")
    for figure in ("dimensions", "size_balance", "weight_balance", "failure_clauses", "words"):
        means = (getattr(side, figure) for side in (result.a, result.b))
        table.add_row(figure.replace("_", " "), *(show_figure(mean and mean.mean, ".2f") for mean in means))
    console.print(table)
