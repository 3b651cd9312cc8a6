"""`run_study`: tasks are compiled, arms trained, rewards audited and all arms evaluated, as one file describes it.

Every stage is the verb of its name with its own folder, so each goes on where it stopped, and what is done is not made
again. A study has five parts, and needs only those that it uses:

    compile:   options of `prorubric compile`; the result takes the place of `train.tasks`
    train:     fields of a recipe that all arms share
    arms:      by name, what makes an arm different; `after: NAME` goes on from the last checkpoint of another arm
    audit:     options of `prorubric audit`; `of: NAME` says whose answers are audited
    evaluate:  fields of a suite; every run of every arm is a policy

At the end, tables, figures and a page are made of what there is.

`domains` are several studies in one: each has a name, and parts that are added to those of the study.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import Field

from prorubric.audit.records import AuditResult
from prorubric.errors import ConfigError, MissingExtraError, ProRubricError
from prorubric.files.write import open_whole, write_json
from prorubric.judge.panel import list_judges
from prorubric.llm.make import make_model
from prorubric.report.study_page import StudyReport, write_study_report
from prorubric.report.study_results import DomainPlace, load_study_results
from prorubric.rubric.base import Record
from prorubric.runs.folder import CONFIG, SUMMARY, Setting, check_folder, describe_run
from prorubric.runs.run import OnProgress, Progress
from prorubric.text.show import count
from prorubric.train.plan import TaskFiles
from prorubric.train.recipe import list_runs
from prorubric.verbs.audit import audit_rewards, find_audit, make_audit_setting
from prorubric.verbs.compile import CompileConfig, CompileResult, compile_rubrics, find_compiled
from prorubric.verbs.evaluate import EvaluationResult, check_evaluation, evaluate_policies
from prorubric.verbs.study_file import (
    AXES,
    COPY,
    Stage,
    Study,
    StudyConfig,
    StudyDomain,
    check_axes,
    choose_parts,
    load_study,
    order_arms,
)
from prorubric.verbs.study_plan import plan_domain
from prorubric.verbs.train import TrainConfig, TrainResult, train_policies


class DomainResult(Record):
    """What was done for one domain."""

    name: str
    compiled: dict[str, CompileResult] = Field(default_factory=dict)
    """By the file that holds the tasks."""
    arms: dict[str, TrainResult] = Field(default_factory=dict)
    audit: AuditResult | None = None
    evaluation: EvaluationResult | None = None
    not_evaluated: tuple[str, ...] = ()
    """Arms of which no run is evaluated, because `--only` leaves them out and they are not trained."""


class StudyResult(Record):
    """What a study gave."""

    title: str
    out: str
    domains: tuple[DomainResult, ...]
    report: StudyReport | None = None
    unfinished: tuple[str, ...]
    """Stages that failed, stopped early or are not complete, with the reason; the same command continues them."""


def run_study(config: StudyConfig, on_progress: OnProgress | None = None) -> StudyResult:
    """Make what is missing of a study, stage by stage."""
    study, domains = load_study(config.study)
    stages, chosen = choose_parts(config.only, domains)
    if "evaluate" in stages:
        check_axes(study, domains, config.study)
    place = study.out or Path()
    place.mkdir(parents=True, exist_ok=True)
    for domain in chosen:
        try:
            _check_domain(domain, stages)
        except ConfigError as error:
            raise error.at(domain.name).at(config.study) from None
    for other in place.glob(f"{COPY}.*"):  # of the same study in another format
        other.unlink()
    with open_whole(place / f"{COPY}{config.study.suffix}") as stream:
        stream.write(config.study.read_bytes())
    write_json(place / CONFIG, describe_run(Setting("study", config, {}, {"study": config.study})))
    results, unfinished = [], list[str]()
    work = [part for domain in chosen for part in _list_work(domain, stages)]
    for domain in chosen:
        result, left = _run_domain(domain, stages, partial(_tell, on_progress, work, domain.name))
        results.append(result)
        unfinished += [f"{domain.name} {part}".strip() for part in left]
    found = StudyResult(
        title=study.title,
        out=str(place),
        domains=tuple(results),
        report=report_study(study, domains, place) if "report" in stages else None,
        unfinished=tuple(unfinished),
    )
    write_json(place / SUMMARY, found.model_dump(mode="json"))
    return found


def _check_domain(domain: StudyDomain, stages: Sequence[Stage]) -> None:
    """Refuse before the first call what a later stage would refuse after hours of work."""
    for out, options in domain.list_compiled().items():
        done = find_compiled(domain.make_compile(out, options))
        if "train" in stages and "compile" not in stages and (done is None or done.lost):
            raise ConfigError(f"{out} is not compiled to the end", remedy="run the stage compile first")
    with TemporaryDirectory() as place:
        # A run refuses what its plan could not count, and assumes nothing.
        spending = [stage for stage in stages if stage in ("compile", "train")]
        plan = plan_domain(replace(domain, assume=None), spending, TaskFiles(), Path(place))
        for name, reason in plan.missing.items():
            raise ConfigError(reason, place=name)
        recipes = [domain.make_recipe(name) for name in plan.arms]
    if "audit" in stages and domain.audit:
        audited = domain.make_audit()
        if (name := audited.answers_from or "").startswith("planned:") and "train" not in stages:
            line = f"audit.of: {name.removeprefix('planned:')} is not trained"
            raise ConfigError(line, remedy="train it first, or name another")
        if not name.startswith("planned:"):
            setting = make_audit_setting(audited)
            check_folder(audited.out, setting, describe_run(setting))
        for name in (*list_judges(audited.judge), *([audited.editor] if audited.editor != "rules" else [])):
            make_model(name)
    if "evaluate" in stages and domain.evaluate:
        suite, own = domain.make_suite(planned="train" in stages), {policy.name for policy in domain.list_policies()}
        # Checkpoints are slow to load, and most do not exist yet.
        stand_ins = (replace(one, spec=f"planned:{one.name}") if one.name in own else one for one in suite.policy)
        check_evaluation(replace(suite, policy=tuple(stand_ins)))
    own_trl = [recipe for recipe in recipes if recipe.trainer == "trl" and recipe.python is None]
    if find_spec("trl") is None and any(run.settings.kind != "best-of-n" for one in own_trl for run in list_runs(one)):
        raise MissingExtraError.of("Training with TRL", "trl")


def _run_domain(
    domain: StudyDomain, stages: Sequence[Stage], tell: Callable[[str], OnProgress | None]
) -> tuple[DomainResult, list[str]]:
    """Run the stages of one domain. What fails or is not finished is given with its reason; the rest goes on."""
    compiled, trained, audit, evaluation = {}, {}, None, None
    unfinished, late = list[str](), list[str]()
    for out, options in domain.list_compiled().items() if "compile" in stages else ():
        with _going_on(unfinished, out.name):
            compiled[out.name] = _compile(domain.make_compile(out, options), tell(f"compile {out.name}"))
            if lost := compiled[out.name].lost:
                unfinished.append(f"{out.name}: {count(lost, 'task')} without a reply")
    for name in order_arms(domain) if "train" in stages and not unfinished else ():
        with _going_on(unfinished, name):
            if name not in domain.asked and not domain.list_left(name, list_runs(domain.make_recipe(name))):
                continue  # another process may go on from it at the same time
            if obstacle := domain.find_obstacle(name):
                unfinished.append(f"{name}: {obstacle}")
                continue
            trained[name] = train_policies(TrainConfig(domain.write_recipe(name)), tell(f"train {name}"))
            unfinished += [f"{name}: {run.name}" for run in trained[name].runs if run.state != "done"]
            late += [f"{name}: {run.name}: step {step} not judged" for run in trained[name].runs for step in run.late]
    if "audit" in stages and domain.audit and not unfinished:
        with _going_on(late, "audit"):
            audited = domain.make_audit()
            audit = find_audit(audited)
            if audit is None or audit.failed_calls:
                audit = audit_rewards(audited, tell("audit"))
            if failed := sum(audit.failed_calls.values()):
                late.append(f"audit: {count(failed, 'call')} failed")
    if "evaluate" in stages and domain.evaluate and not unfinished:
        with _going_on(late, "evaluate"):
            evaluation = evaluate_policies(domain.make_suite(planned=False), tell("evaluate"))
            late += [f"evaluate: {stage.stage}" for stage in evaluation.unfinished]
            empty = evaluation.comparisons.empty if evaluation.comparisons else ()
            late += [f"evaluate: {name}: nothing to compare, see {evaluation.folder}" for name in empty]
    found = DomainResult(
        name=domain.name,
        compiled=compiled,
        arms=trained,
        audit=audit,
        evaluation=evaluation,
        not_evaluated=tuple(domain.list_not_evaluated()) if evaluation else (),
    )
    return found, unfinished + late


@contextmanager
def _going_on(unfinished: list[str], name: str) -> Iterator[None]:
    """Note what failed, and go on: the other parts of a study do not depend on it, or wait for it."""
    try:
        yield
    except ProRubricError as error:
        unfinished.append(f"{name}: {str(error).removeprefix(f'{name}: ')}")


def _compile(config: CompileConfig, on_progress: OnProgress | None) -> CompileResult:
    """Compile a file, or what is missing of it; replies that are there are not paid for again."""
    found = find_compiled(config)
    if found is not None and not found.lost:
        return found
    return compile_rubrics(replace(config, overwrite=True), on_progress)


def report_study(study: Study, domains: Sequence[StudyDomain], out: Path) -> StudyReport:
    """Make every table and figure, and the page, of what the folders of a study hold."""
    places = []
    for domain in domains:
        given = domain.evaluate.get("judge", ())
        axes = {name: getattr(study, name) or usual for name, usual in AXES.items()}
        places.append(
            DomainPlace(domain.name, domain.folder, (*domain.arms, *domain.lent), **axes, judges=list_judges(given))
        )
    return write_study_report(out, load_study_results(study.title, study.paper, places))


def _list_work(domain: StudyDomain, stages: Sequence[Stage]) -> list[str]:
    """What is done for one domain, in order, by the names that progress has."""
    parts = [f"compile {out.name}" for out in domain.list_compiled()] if "compile" in stages else []
    parts += [f"train {name}" for name in order_arms(domain)] if "train" in stages else []
    parts += [name for name in ("audit", "evaluate") if name in stages and getattr(domain, name)]
    return [f"{domain.name} {part}".strip() for part in parts]


def _tell(on_progress: OnProgress | None, work: Sequence[str], domain: str, stage: str) -> OnProgress | None:
    """Progress of a stage, with its name and its place among all."""
    if on_progress is None:
        return None
    name = f"{domain} {stage}".strip()
    place = f"stage {work.index(name) + 1} of {len(work)}, {name}"

    def tell(now: Progress) -> None:
        on_progress(Progress(now.done, now.total, f"{place}: {now.note}" if now.note else place))

    return tell
