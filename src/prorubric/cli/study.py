"""`prorubric study`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from prorubric.cli.output import JsonFlag, make_table, print_line, say, show_result
from prorubric.cli.progress import show_progress
from prorubric.errors import ConfigError
from prorubric.text.show import count
from prorubric.verbs.study import DomainPlan, DomainResult, StudyConfig, StudyPlan, StudyResult, plan_study, run_study

_TEMPLATE = Path(__file__).with_name("study_template.yaml")
_ONLY = Parameter(
    help="Comma-separated stages (compile, train, evaluate), domains or arms; by default all.", negative=""
)


def study(
    study: Annotated[Path, Parameter(help="Study file, YAML or TOML.")],
    *,
    only: Annotated[tuple[str, ...], _ONLY] = (),
    dry_run: Annotated[bool, Parameter(help="Only plan: calls, tokens, money and time of every stage.")] = False,
    init: Annotated[bool, Parameter(help="Write a commented study file to start from.")] = False,
    json: JsonFlag = False,
) -> int:
    """Compile, train and evaluate everything that a study file describes."""
    if init:
        if study.exists():
            raise ConfigError("exists already", remedy="name another file", place=study)
        study.write_bytes(_TEMPLATE.read_bytes())
        say(f"{study}: fill in your tasks, judge and policy, then run: prorubric study {study} --dry-run")
        return 0
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
        _print_domain(domain, console)
    cost = "cost not known" if plan.cost is None else f"about ${plan.cost:,.2f}"
    print_line(console, f"in all {count(plan.calls, 'call')}, {cost}")


def _print_domain(domain: DomainPlan, console: Console) -> None:
    if domain.assumed:
        print_line(console, f"{domain.name or 'tasks'}: planned with the sizes that the study assumes", "yellow")
    table = make_table(domain.name or "stage", "runs", "calls", "cost")
    for name, estimate in domain.compile.items():
        table.add_row(f"compile {name}", "", f"{estimate.calls:,}", _show_cost(estimate.cost))
    for name, plan in domain.arms.items():
        table.add_row(f"train {name}", f"{len(plan.runs):,}", f"{plan.calls:,}", _show_cost(plan.usual.cost))
    if domain.evaluate is not None:
        table.add_row("evaluate", "", f"{domain.evaluate.calls:,}", _show_cost(domain.evaluate.cost))
    console.print(table)
    for name, reason in domain.missing.items():
        print_line(console, f"not planned, {name}: {reason}", "yellow")


def _print_result(result: StudyResult, console: Console) -> None:
    for domain in result.domains:
        _print_stages(domain, console)
    for name in result.unfinished:
        print_line(console, f"unfinished: {name}; the same command goes on", "yellow")
    print_line(console, f"The study is in {result.out}/.")


def _print_stages(domain: DomainResult, console: Console) -> None:
    for name, tasks in domain.compiled.items():
        print_line(console, f"{domain.name} {name}: {count(tasks, 'task')}".strip())
    for name, trained in domain.arms.items():
        states = ", ".join(f"{run.name} {run.state} at step {run.step}" for run in trained.runs)
        print_line(console, f"{domain.name} {name}: {states}".strip())
    if domain.evaluation is not None and domain.evaluation.page is not None:
        print_line(console, f"evaluation: {domain.evaluation.page}")


def _show_cost(cost: float | None) -> str:
    return "not known" if cost is None else f"${cost:,.2f}"
