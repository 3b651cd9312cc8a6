"""`prorubric compile`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from prorubric.cli.money import DryRun, describe_calls, print_estimate, say_estimate, show_cost
from prorubric.cli.options import allow_off, read_http
from prorubric.cli.output import JsonFlag, count, literal, make_console, print_json, say
from prorubric.cli.progress import show_progress
from prorubric.compile.compare import CompareConfig, CompareResult, Mean, SideSummary, compare_tasks
from prorubric.compile.compiler import RULES, GeneratorConfig
from prorubric.errors import ConfigError
from prorubric.llm.http import HttpConfig
from prorubric.verbs.compile import CompileResult, Progress, compile_rubrics
from prorubric.verbs.compile_config import CompileConfig, CompileFiles
from prorubric.verbs.compile_estimate import estimate_compile
from prorubric.verbs.compile_outputs import check_outputs

allow_off(GeneratorConfig)
_GENERATION, _HTTP = GeneratorConfig(), HttpConfig()
_FIGURES = ("dimensions", "size_balance", "weight_balance", "failure_clauses", "words")


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
        return _compare(files, compare, json)
    if files is None:
        raise ConfigError("compile: the file of tasks is missing; see prorubric compile --help")
    config = CompileConfig(**vars(files), generation=generation, http=read_http(http))
    if dry_run:
        estimate = estimate_compile(config)
        if json:
            print_json(estimate)
            return 0
        console = make_console()
        console.print(literal(f"generator: {_describe_generator(estimate.generator)}"), soft_wrap=True)
        console.print(f"{count(estimate.tasks, 'task')}, {count(estimate.rejected, 'row')} rejected")
        print_estimate(estimate, console)
        return 0
    check_outputs(config)  # before the whole file is read for the estimate
    if config.generator not in ("", RULES):
        estimate = estimate_compile(config)
        say_estimate(count(estimate.tasks, "task"), estimate)
    with show_progress("compiling", "task", Path(config.tasks)) as show:
        result = compile_rubrics(config, lambda now: show(now.tasks, _describe(now)), lambda: _say_stopping(config))
    print_json(result) if json else _print_result(result, make_console())
    return 1 if result.excluded or result.rejected or result.failed_texts else 0


def _compare(files: CompileFiles | None, pair: tuple[Path, Path], json: bool) -> int:
    if files is not None:
        raise ConfigError("compile: --compare takes two compiled files and no tasks; leave the tasks file out")
    result = compare_tasks(CompareConfig(*pair))
    print_json(result) if json else _print_comparison(result, make_console())
    return 0 if result.compared else 1


def _describe(now: Progress) -> str:
    return f"{now.excluded:,} excluded, {count(sum(now.usage.failures.values()), 'call')} failed"


def _say_stopping(config: CompileConfig) -> None:
    if config.generator in ("", RULES):
        say("stopping; running the same command again starts over (Ctrl-C again to quit now)")
    else:
        say(
            "stopping: finishing the calls in flight; run the same command again to continue (Ctrl-C again to quit now)"
        )


def _print_result(result: CompileResult, console: Console) -> None:
    if result.generator:
        console.print(literal(f"generator: {_describe_generator(result.generator)}"), soft_wrap=True)
    console.print(
        f"{count(result.read, 'row')}: {result.kept:,} kept, {result.repaired:,} repaired, "
        f"{result.excluded:,} excluded, {result.rejected:,} rejected",
        soft_wrap=True,
    )
    _print_counts("left out", result.left_out, console)
    _print_counts("dimensions", {f"{k} dimensions": v for k, v in result.dimensions.items()}, console)
    _print_counts("excluded", result.reasons, console, "red")
    _print_counts("faults of replies", result.faults, console)
    _print_counts("kept with faults of the text", result.text_faults, console, "yellow")
    _print_counts("failure sentences", result.failure_sentences, console)
    _print_counts("texts not delivered", result.failed_texts, console, "red")
    _print_counts("failed calls", result.failures, console, "red")
    if result.failures:
        console.print("the same command with --overwrite asks again for what got no reply, and for nothing else")
    if result.calls:
        failed = sum(result.failed_calls.values())
        calls = describe_calls(result.calls, result.cached, result.repeated, failed, result.retries)
        console.print(f"{calls}, {result.seconds:.1f} s", soft_wrap=True)
    if result.damaged:
        console.print(f"[yellow]damaged in the journal and asked for again: {result.damaged:,}[/]", soft_wrap=True)
    if result.prompt_tokens:
        tokens = f"{result.prompt_tokens:,} + {result.completion_tokens:,} tokens"
        console.print(f"{tokens}, {show_cost(result.cost)}", soft_wrap=True)
    for name, path in result.files.items():
        console.print(literal(f"{name}: {path}"), soft_wrap=True)


def _print_counts(title: str, counts: dict[str, int], console: Console, style: str = "") -> None:
    if counts:
        shown = ", ".join(f"{number:,} x {name}" for name, number in counts.items())
        console.print(literal(f"{title}: {shown}", style), soft_wrap=True)


def _print_comparison(result: CompareResult, console: Console) -> None:
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
    for figure in _FIGURES:
        table.add_row(figure.replace("_", " "), *(_show_mean(side, figure) for side in (result.a, result.b)))
    console.print(table)


def _show_mean(side: SideSummary, figure: str) -> str:
    mean: Mean | None = getattr(side, figure)
    return "–" if mean is None else f"{mean.mean:.2f}"


def _describe_generator(generator: str) -> str:
    return f"{RULES} (runs of neighbouring criteria, no model: a weak baseline)" if generator == RULES else generator
