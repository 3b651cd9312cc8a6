"""`plan_study`: the calls, tokens, money and hours of every stage of a study, without a call.

What is not here yet has a stand-in: tasks of an assumed size, groups that a rule makes, benchmarks of their published
size. What cannot be planned is listed with the reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import Field

from prorubric.audit.config import AuditConfig
from prorubric.audit.estimate import AuditEstimate
from prorubric.compile.compiler import RULES
from prorubric.compile.work import Group
from prorubric.datasets.load import TaskOptions
from prorubric.errors import ConfigError, ProRubricError
from prorubric.evaluate.benchmarks.base import Benchmark
from prorubric.evaluate.benchmarks.registry import find_benchmark, find_missing, require_files
from prorubric.evaluate.instruments import INSTRUMENTS
from prorubric.llm.http import HttpConfig
from prorubric.rubric.base import Record
from prorubric.rubric.labels import LABEL_TAG
from prorubric.rubric.records import Criterion, Message, ProtocolRubric, Response, Rubric, Task
from prorubric.rubric.save import save_responses, save_tasks
from prorubric.runs.estimate import Estimate
from prorubric.train.plan import Money, Plan, TaskFiles, plan_training
from prorubric.train.recipe import Recipe, list_runs
from prorubric.verbs.audit import estimate_audit, find_audit
from prorubric.verbs.compile import CompileConfig, CompileEstimate, compile_rubrics, estimate_compile, find_compiled
from prorubric.verbs.evaluate import EvaluateConfig, EvaluationEstimate, estimate_evaluation
from prorubric.verbs.study_file import (
    Assumed,
    Stage,
    StudyConfig,
    StudyDomain,
    check_axes,
    choose_parts,
    load_study,
    order_arms,
)

_FIRST_TOKEN_SECONDS, _TOKENS_A_SECOND = 1.0, 50
"""Of one reply over HTTP; a guess for the hours of a plan."""


class StagePlan(Record):
    """What one stage of a study will take, as one row of its plan."""

    name: str
    runs: int | None = None
    """Of a training."""
    calls: int
    tokens: int
    """Read and written, at usual lengths; none for models that are not asked in text."""
    cost: float | None
    """US dollars at list price; None if a price is not known."""
    hours: float | None
    """An order of magnitude; None if the size of a policy is not known."""


class DomainPlan(Record):
    """What one domain of a study will take."""

    name: str
    stages: tuple[StagePlan, ...] = ()
    compile: dict[str, CompileEstimate] = Field(default_factory=dict)
    """By the file that is written."""
    arms: dict[str, Plan] = Field(default_factory=dict)
    """Those with runs that are not done, planned without the others."""
    audit: AuditEstimate | None = None
    """None if there is none, or if it is done."""
    evaluate: EvaluationEstimate | None = None
    missing: dict[str, str] = Field(default_factory=dict)
    """What could not be planned, with the reason."""
    assumed: bool = False
    """True if the sizes of the tasks are those that the study assumes."""
    published: tuple[str, ...] = ()
    """Benchmarks whose files are not here, planned with the sizes of the published ones."""
    not_evaluated: tuple[str, ...] = ()
    """Arms of which no run is evaluated, because `--only` leaves them out and they are not trained."""


class StudyPlan(Record):
    """What a study will take."""

    title: str
    out: str
    domains: tuple[DomainPlan, ...]
    calls: int
    """To generators, judges, editors and policies, as far as they are known; those to judges in training are exact."""
    tokens: int
    cost: float | None
    """US dollars at list price; None if a price is not known."""
    hours: float | None
    """One stage after the other, as an order of magnitude; None if the size of a policy is not known."""


def plan_study(config: StudyConfig) -> StudyPlan:
    """Count calls, tokens, money and time of a study without a call, and without a file in its folder."""
    study, domains = load_study(config.study)
    stages, chosen = choose_parts(config.only, domains)
    if "evaluate" in stages:
        check_axes(study, domains, config.study)
    with TemporaryDirectory() as place:
        files = TaskFiles()
        plans = [plan_domain(_assume_answers(domain, Path(place)), stages, files, Path(place)) for domain in chosen]
    rows = [stage for plan in plans for stage in plan.stages]
    costs, hours = [row.cost for row in rows], [row.hours for row in rows]
    return StudyPlan(
        title=study.title,
        out=str(study.out),
        domains=tuple(plans),
        calls=sum(row.calls for row in rows),
        tokens=sum(row.tokens for row in rows),
        cost=_add_known(costs),
        hours=_add_known(hours),
    )


def plan_domain(domain: StudyDomain, stages: Sequence[Stage], files: TaskFiles, place: Path) -> DomainPlan:
    """Plan some stages of one domain; what the rest depends on is planned first. Stand-ins are written to `place`."""
    missing, audit, evaluation, published = dict[str, str](), None, None, list[str]()
    assume = _find_assumed(domain)
    compiled = _plan_compile(domain, assume, missing, place) if "compile" in stages else {}
    uses_compiled = "train" in stages or ("audit" in stages and domain.audit and "tasks" not in domain.audit)
    with _noting(missing, "tasks"):
        stand_in = _stand_in_tasks(domain, assume, place) if uses_compiled else None
    recipes, arms = dict[str, Recipe](), dict[str, Plan]()
    if "train" in stages and "tasks" not in missing:
        for name in order_arms(domain):
            with _noting(missing, name):
                has_own = "compile" in domain.arms[name]
                tasks = _stand_in_tasks(domain, assume, place, name) if has_own else stand_in
                recipes[name] = domain.make_recipe(name, tasks)
        files.expect(recipes.values())
        if unread := [name for name in domain.chosen if name not in recipes]:
            rest = [part for part in ("audit", "evaluate") if part in stages and getattr(domain, part)]
            missing |= dict.fromkeys(rest, f"the arm {unread[0]} is not planned")
    for name, recipe in recipes.items():
        with _noting(missing, name):
            domain.check_runs(name, list_runs(recipe))
            if left := domain.list_left(name, list_runs(recipe)):
                arms[name] = plan_training(recipe, only=left, files=files)
    if "audit" in stages and domain.audit and missing.keys().isdisjoint(("tasks", "audit")):
        with _noting(missing, "audit"):
            is_own = "tasks" in domain.audit
            audit = _estimate_audit(domain.make_audit(None if is_own else stand_in), None if is_own else assume)
    if "evaluate" in stages and domain.evaluate and "evaluate" not in missing:
        with _noting(missing, "evaluate"):
            evaluation = _plan_evaluation(domain.make_suite(planned=True), missing, published)
    return DomainPlan(
        name=domain.name,
        stages=tuple(_list_stages(compiled, arms, {"audit": audit, "evaluate": evaluation})),
        compile=compiled,
        arms=arms,
        audit=audit,
        evaluate=evaluation,
        missing=missing,
        assumed=assume is not None,
        published=tuple(published),
        not_evaluated=tuple(domain.list_not_evaluated()) if evaluation else (),
    )


def _list_stages(
    compiled: Mapping[str, CompileEstimate], arms: Mapping[str, Plan], others: Mapping[str, Estimate | None]
) -> Iterator[StagePlan]:
    """The rows of a plan. Calls wait for a first token, then for the rest of the reply, many at once."""
    asked: list[tuple[str, int, Estimate | Money]] = [(f"compile {name}", e.calls, e) for name, e in compiled.items()]
    asked += [(f"train {name}", plan.calls, plan.usual) for name, plan in arms.items()]
    asked += [(name, part.calls, part) for name, part in others.items() if part is not None]
    plans = {f"train {name}": plan for name, plan in arms.items()}
    for name, calls, used in asked:
        runs = plans[name].runs if name in plans else ()
        # Calls to what counts no tokens, such as `lexical`, take next to no time.
        waited = calls * _FIRST_TOKEN_SECONDS + used.completion_tokens / _TOKENS_A_SECOND if used.prompt_tokens else 0.0
        trained = [run.resources.hours if run.resources else None for run in runs]
        yield StagePlan(
            name=name,
            runs=len(runs) or None,
            calls=calls,
            tokens=used.prompt_tokens + used.completion_tokens,
            cost=used.cost,
            hours=_add_known([waited / HttpConfig().concurrency / 3600, *trained]),
        )


def _add_known(values: Sequence[float | None]) -> float | None:
    """The sum; None if one of the values is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _find_assumed(domain: StudyDomain) -> Assumed | None:
    """The sizes that a domain is planned with; None if its tasks are here."""
    tasks, assume = domain.compile.get("tasks") or domain.train.get("tasks"), domain.assume
    if assume is None or tasks is None or Path(str(tasks)).exists():
        return None
    return replace(assume, tasks=min(assume.tasks, domain.compile.get("limit") or assume.tasks))


def _plan_compile(
    domain: StudyDomain, assume: Assumed | None, missing: dict[str, str], place: Path
) -> dict[str, CompileEstimate]:
    """By file, what compiling it will take; nothing if that is done."""
    found: dict[str, CompileEstimate] = {}
    for out, options in domain.list_compiled().items():
        with _noting(missing, out.name):
            if assume is None:
                config = domain.make_compile(out, options)
                done = find_compiled(config)
                if done is None or done.lost:
                    found[out.name] = estimate_compile(config)
                continue
            one = place / "one.jsonl"  # one task is like the others
            save_tasks(one, islice(_assume_tasks(assume), 1))
            estimate = estimate_compile(domain.make_compile(out, {**options, "tasks": str(one)}))
            counts = {name: getattr(estimate, name) for name in ("tasks", *Estimate.model_fields)}
            many = {name: number and number * assume.tasks for name, number in counts.items()}
            found[out.name] = estimate.model_copy(update=many)
    return found


def _stand_in_tasks(domain: StudyDomain, assume: Assumed | None, place: Path, arm: str = "") -> Path | None:
    """Tasks to plan a domain or an arm with while its own are not here or not compiled; None if they are."""
    if assume is not None:
        sizes = f"{assume.tasks}-{assume.criteria}-{assume.characters}"
        path = place / f"assumed-{sizes}.jsonl"  # for all domains of this size
        if not path.exists():
            save_tasks(path, _assume_tasks(assume))
        return path
    compiled = domain.name_compiled(arm)
    if compiled is None:
        return None
    config, path = domain.make_compile(*compiled), place / domain.name / compiled[0].name
    if (done := find_compiled(config)) and not done.lost:
        return None
    # What a judge is asked does not depend on what the dimensions say.
    rows = {option.name: getattr(config, option.name) for option in fields(TaskOptions)}
    group: Group = "missing" if config.group in ("missing", "none") else "all"
    compile_rubrics(
        CompileConfig(config.tasks, out=path, generator=RULES, group=group, limit=config.limit, overwrite=True, **rows)
    )
    return path


def _plan_evaluation(suite: EvaluateConfig, missing: dict[str, str], published: list[str]) -> EvaluationEstimate | None:
    """What all benchmarks take, by their published sizes if files are missing; what cannot be planned is noted."""
    if not suite.benchmarks:
        raise ConfigError("no benchmark is named", remedy="list them in evaluate.benchmarks")
    found, absent = dict[str, Benchmark](), set[str]()
    for name in suite.benchmarks:
        with _noting(missing, name):
            benchmark = find_benchmark(name)
            if find_missing(benchmark, suite.data_dir):
                # Which answers are judged twice depends on the items.
                is_repeated = suite.repeat_judging and INSTRUMENTS[benchmark.instrument].kind in ("answers", "baseline")
                if is_repeated or not benchmark.published:
                    require_files(benchmark, suite.data_dir)
                absent |= _list_families(benchmark)
            found[name] = benchmark
    planned = list[str]()
    # Benchmarks share answers, so one that is here is planned like those of its family that are not.
    while more := [name for name, one in found.items() if name not in planned and absent & _list_families(one)]:
        planned += more
        absent |= {family for name in more for family in _list_families(found[name])}
    estimate = estimate_evaluation(replace(suite, benchmarks=tuple(found)), planned) if found else None
    published += [name for name in found if name in planned]
    return estimate


def _list_families(benchmark: Benchmark) -> set[str]:
    return {part.family for part in benchmark.published}


def _estimate_audit(config: AuditConfig, assume: Assumed | None) -> AuditEstimate | None:
    """What an audit will take, None if it is done. Of assumed tasks, each takes what the second adds to the first."""
    done = find_audit(config)
    if done is not None and not done.failed_calls:
        return None
    if assume is None:
        return estimate_audit(config)
    size = min(config.limit or assume.tasks, assume.tasks)
    first, second = (estimate_audit(replace(config, limit=limit)) for limit in (1, 2))
    found: dict[str, Any] = {}
    for name in ("tasks", "answers", *Estimate.model_fields):
        one, two = getattr(first, name), getattr(second, name)
        found[name] = None if one is None or two is None else one + (size - 1) * (two - one)
    return first.model_copy(update=found)


@contextmanager
def _noting(missing: dict[str, str], name: str) -> Iterator[None]:
    """Note why something cannot be planned, and go on with the rest."""
    try:
        yield
    except ProRubricError as error:
        missing[name] = str(error).removeprefix(f"{name}: ")


def _assume_tasks(assume: Assumed) -> Iterator[Task]:
    """Tasks of the assumed size, all in two dimensions or one, with every text that compiling can add."""
    named = [f"The answer names point {place}." for place in range(assume.criteria)]
    criteria = tuple(Criterion(text=text, weight=1.0, tags=(f"{LABEL_TAG}normal",)) for text in named)
    rubric, indices = Rubric(criteria=criteria), list(range(1, assume.criteria + 1))
    half = -(-len(indices) // 2)
    groups = [group for group in (indices[:half], indices[half:]) if group]
    texts = {"name": "Part", "description": "Fails if one of its points is missing."}
    protocol = ProtocolRubric.of(rubric, [{**texts, "indices": group} for group in groups])
    for place in range(assume.tasks):
        prompt = f"Prompt {place} ".ljust(assume.characters, "x")
        message = Message(role="user", content=prompt)
        meta: dict[str, Any] = {"rewritten": named}
        yield Task(id=f"assumed-{place}", messages=(message,), rubric=rubric, protocol=protocol, meta=meta)


def _assume_answers(domain: StudyDomain, place: Path) -> StudyDomain:
    """The domain as it is planned in a folder, with stand-ins for files of answers that are not here."""
    assume, arms = domain.assume, dict(domain.arms)
    for name, arm in domain.arms.items():
        given = (arm.get("sft") or {}).get("data")
        if assume is None or assume.answers is None or given is None or Path(given).exists():
            continue
        stand_in = place / f"answers-{assume.tasks}-{assume.answers}.jsonl"
        if not stand_in.exists():
            rows = (divmod(number, assume.tasks) for number in range(assume.answers))
            save_responses(stand_in, (Response(task_id=f"assumed-{n}", sample=k, text="Yes.") for k, n in rows))
        arms[name] = {**arm, "sft": {**arm["sft"], "data": str(stand_in)}}
    return replace(domain, arms=arms)
