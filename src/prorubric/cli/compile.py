"""`prorubric compile`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from prorubric.cli.money import DryRun, print_calls, print_estimate, say_estimate
from prorubric.cli.options import allow_off, read_http
from prorubric.cli.output import JsonFlag, count, literal, make_console, print_json, say
from prorubric.cli.progress import show_progress
from prorubric.compile.compare import CompareTasksResult, compare_tasks
from prorubric.compile.compiler import RULES, GeneratorConfig
from prorubric.errors import ConfigError
from prorubric.llm.http import HttpConfig
from prorubric.verbs.compile import (
    CompileConfig,
    CompileFiles,
    CompileResult,
    compile_rubrics,
    estimate_compile,
    name_outputs,
)

allow_off(GeneratorConfig)
_GENERATION, _HTTP = GeneratorConfig(), HttpConfig()


def compile(  # noqa: A001 - the verb's name; each option is one of the command line
    files: Annotated[CompileFiles | None, Parameter(name="*")] = None,
    *,
    generation: Annotated[GeneratorConfig, Parameter(name="*", group="Generation")] = _GENERATION,
    http: Annotated[HttpConfig, Parameter(name="*", group="Endpoint")] = _HTTP,
    dry_run: DryRun = False,
    compare: Annotated[
        tuple[Path, Path] | None, Parameter(help="Compare two compiled files instead of compiling.")
    ] = None,
    json: JsonFlag = False,
) -> int:
    """Group each checklist into two to five dimensions that must hold together."""
    if compare is not None:
        if files is not None:
            raise ConfigError("compile: --compare takes two compiled files and no tasks; leave the tasks file out")
        compared = compare_tasks(*compare)
        print_json(compared) if json else _print_comparison(compared, make_console())
        return 0 if compared.compared else 1
    if files is None:
        raise ConfigError("compile: the file of tasks is missing; see prorubric compile --help")
    config = CompileConfig(**vars(files), generation=generation, http=read_http(http))
    if dry_run:
        estimate = estimate_compile(config)
        if json:
            print_json(estimate)
            return 0
        console = make_console()
        _print_generator(estimate.generator, console)
        console.print(f"{count(estimate.tasks, 'task')}, {count(estimate.rejected, 'row')} rejected")
        print_estimate(estimate, console)
        return 0
    name_outputs(config).check(config.tasks, config.overwrite)  # before the whole file is read for the estimate
    stopping = "stopping; running the same command again starts over (Ctrl-C again to quit now)"
    if config.has_model:
        estimate = estimate_compile(config)
        say_estimate(count(estimate.tasks, "task"), estimate)
        stopping = (
            "stopping: finishing the calls in flight; run the same command again to continue (Ctrl-C again to quit now)"
        )
    with show_progress("compiling", "task", Path(config.tasks)) as on_progress:
        result = compile_rubrics(config, on_progress, lambda: say(stopping))
    print_json(result) if json else _print_result(result, make_console())
    return 1 if result.excluded or result.rejected or result.failed_texts else 0


def _print_generator(generator: str, console: Console) -> None:
    about = " (runs of neighbouring criteria, no model: a weak baseline)" if generator == RULES else ""
    if generator:
        console.print(literal(f"generator: {generator}{about}"), soft_wrap=True)


def _print_result(result: CompileResult, console: Console) -> None:
    _print_generator(result.generator, console)
    console.print(
        f"{count(result.read, 'row')}: {result.kept:,} kept, {result.repaired:,} repaired, "
        f"{result.excluded:,} excluded, {result.rejected:,} rejected",
        soft_wrap=True,
    )
    for title, counts, style in (
        ("left out", result.left_out, ""),
        ("dimensions", {f"{number} dimensions": tasks for number, tasks in result.dimensions.items()}, ""),
        ("excluded", result.reasons, "red"),
        ("faults of replies", result.faults, ""),
        ("kept with faults of the text", result.text_faults, "yellow"),
        ("failure sentences", result.failure_sentences, ""),
        ("texts not delivered", result.failed_texts, "red"),
        ("failed calls", result.failures, "red"),
    ):
        if counts:
            shown = ", ".join(f"{number:,} x {name}" for name, number in counts.items())
            console.print(literal(f"{title}: {shown}", style), soft_wrap=True)
    if result.failures:
        console.print("the same command with --overwrite asks again for what got no reply, and for nothing else")
    if result.calls:
        print_calls(result, console)
    for name, path in result.files.items():
        console.print(literal(f"{name}: {path}"), soft_wrap=True)


def _print_comparison(result: CompareTasksResult, console: Console) -> None:
    console.print(literal(f"A: {result.a.path}"), soft_wrap=True)
    console.print(literal(f"B: {result.b.path}"), soft_wrap=True)
    console.print(
        f"{count(result.compared, 'task')} compared, {result.only_in_a:,} only in A, {result.only_in_b:,} only in B"
    )
    for reason, number in result.left_out.items():
        console.print(literal(f"left out: {number:,} x {reason}", "yellow"), soft_wrap=True)
    if result.agreement is None:
        return
    agreement = result.agreement
    console.print(
        f"adjusted Rand index {agreement.mean:.3f} (from {agreement.lowest:.3f} to {agreement.highest:.3f}; "
        f"1 same, 0 chance), {result.same_partition:,} with the same groups"
    )
    table = Table("mean", box=None, pad_edge=False)
    for name in ("A", "B"):
        table.add_column(name, justify="right")
    for figure in ("dimensions", "size_balance", "weight_balance", "failure_clauses", "words"):
        means = (getattr(side, figure) for side in (result.a, result.b))
        table.add_row(figure.replace("_", " "), *("–" if mean is None else f"{mean.mean:.2f}" for mean in means))
    console.print(table)
