"""`prorubric study`."""

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape

from prorubric.cli.output import JsonFlag, literal, make_table, print_line, say, show_result
from prorubric.cli.progress import show_progress
from prorubric.errors import ConfigError
from prorubric.text.show import count
from prorubric.verbs.study import StudyResult, run_study
from prorubric.verbs.study_file import StudyConfig
from prorubric.verbs.study_plan import StudyPlan, plan_study

_TEMPLATE = Path(__file__).with_name("study_template.yaml")
_ONLY = Parameter(
    help="Run only these stages (compile, train, audit, evaluate, report), domains or arms, comma-separated.",
    negative="",
)


def study(
    study: Annotated[Path, Parameter(help="Study file, YAML or TOML.")],
    *,
    only: Annotated[tuple[str, ...], _ONLY] = (),
    dry_run: Annotated[bool, Parameter(help="Count the calls and the cost of every stage, and run nothing.")] = False,
    init: Annotated[bool, Parameter(help="Write a commented study file to start from, and run nothing.")] = False,
    json: JsonFlag = False,
) -> int:
    """Compile, train, audit and evaluate everything that a study file describes."""
    if init:
        if study.suffix not in (".yaml", ".yml"):
            raise ConfigError("--init writes YAML", remedy="give a name that ends in .yaml", place=study)
        if study.exists():
            raise ConfigError("exists already", remedy="name another file", place=study)
        study.parent.mkdir(parents=True, exist_ok=True)
        study.write_bytes(_TEMPLATE.read_bytes())
        command = f"prorubric study {shlex.quote(str(study))} --dry-run"
        say(f"{study}: fill in your tasks, judge and policy, then run: {command}")
        return 0
    if only and not any(name.strip(" ,") for name in only):
        raise ConfigError("--only names nothing", remedy="name stages, domains or arms, or leave it out")
    config = StudyConfig(study, only=only)
    if dry_run:
        plan = plan_study(config)
        show_result(plan, _print_plan, json=json)
        return 1 if any(domain.missing for domain in plan.domains) else 0
    with show_progress("study", "step") as on_progress:
        result = run_study(config, on_progress)
    show_result(result, _print_result, json=json)
    return 1 if result.unfinished else 0


def _print_plan(plan: StudyPlan, console: Console) -> None:
    print_line(console, f"{plan.title or 'study'} into {plan.out}", "bold")
    for domain in plan.domains:
        if domain.assumed:
            print_line(console, f"{domain.name or 'tasks'}: planned with the sizes that the study assumes", "yellow")
        table = make_table(escape(domain.name or "stage"), "runs", "calls", "tokens", "cost", "hours")
        for stage in domain.stages:
            runs, hours = ("" if stage.runs is None else f"{stage.runs:,}"), _show_hours(stage.hours)
            tokens, cost = _show_tokens(stage.tokens), _show_cost(stage.cost)
            table.add_row(literal(stage.name), runs, f"{stage.calls:,}", tokens, cost, hours)
        console.print(table)
        if domain.published:
            line = f"{', '.join(domain.published)}: planned with the published sizes, since the files are not here"
            print_line(console, line, "yellow")
        if domain.not_evaluated:
            line = f"evaluate: without {', '.join(domain.not_evaluated)}, which --only leaves out"
            print_line(console, line, "yellow")
        for name, reason in domain.missing.items():
            print_line(console, f"not planned, {name}: {reason}", "yellow")
    cost = "cost not known" if plan.cost is None else f"about ${plan.cost:,.2f}"
    hours = "hours not known" if plan.hours is None else f"about {_show_hours(plan.hours)} hours"
    partly = ", without what is not planned" if any(domain.missing for domain in plan.domains) else ""
    print_line(
        console, f"in all {count(plan.calls, 'call')}, {_show_tokens(plan.tokens)} tokens, {cost}, {hours}{partly}"
    )


def _print_result(result: StudyResult, console: Console) -> None:
    for domain in result.domains:
        for name, found in domain.compiled.items():
            excluded = f", {found.excluded:,} excluded" if found.excluded else ""
            line = f"{domain.name} {name}: {count(found.kept + found.repaired, 'task')}{excluded}"
            print_line(console, line.strip())
        for name, trained in domain.arms.items():
            states = ", ".join(f"{run.name} {run.state} at step {run.step}" for run in trained.runs)
            print_line(console, f"{domain.name} {name}: {states}".strip())
        if domain.audit is not None:
            print_line(console, f"{domain.name} audit: {domain.audit.folder}/report.html".strip())
        if domain.evaluation is not None and domain.evaluation.page is not None:
            print_line(console, f"evaluation: {domain.evaluation.page}")
        if domain.not_evaluated:
            line = f"evaluated without {', '.join(domain.not_evaluated)}, which --only leaves out"
            print_line(console, line, "yellow")
    for name in result.unfinished:
        print_line(console, f"unfinished: {name}", "yellow")
    if result.unfinished:
        print_line(console, "Run the same command to continue.")
    if result.report is not None:
        print_line(console, f"tables and figures: {result.report.page}")
    print_line(console, f"The study is in {result.out}/.")


def _show_cost(cost: float | None) -> str:
    return "not known" if cost is None else f"${cost:,.2f}"


def _show_tokens(tokens: int) -> str:
    return f"{tokens / 1e6:,.1f} M" if tokens >= 100_000 else f"{tokens:,}"


def _show_hours(hours: float | None) -> str:
    return "not known" if hours is None else f"{hours:,.1f}"
