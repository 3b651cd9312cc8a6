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

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import Field

from prorubric.audit.records import AuditResult
from prorubric.errors import ConfigError
from prorubric.files.json import parse_json
from prorubric.files.read import count_rows
from prorubric.files.write import open_whole, write_json
from prorubric.judge.panel import list_judges
from prorubric.llm.make import make_model
from prorubric.report.study_page import StudyReport, write_study_report
from prorubric.report.study_results import DomainPlace, load_study_results
from prorubric.rubric.base import Record
from prorubric.runs.folder import CONFIG, SUMMARY, Setting, describe_run
from prorubric.runs.run import OnProgress, Progress
from prorubric.train.plan import TaskFiles
from prorubric.train.run_folder import read_state
from prorubric.verbs.audit import audit_rewards
from prorubric.verbs.compile import CompileConfig, compile_rubrics, name_outputs
from prorubric.verbs.evaluate import (
    EvaluationResult,
    check_evaluation,
    evaluate_policies,
)
from prorubric.verbs.study_file import (
    AXES,
    COPY,
    DONE,
    Stage,
    Study,
    StudyConfig,
    StudyDomain,
    check_axes,
    choose_parts,
    identify_compiled,
    is_audited,
    is_compiled,
    load_study,
    order_arms,
)
from prorubric.verbs.study_plan import (
    plan_domain,
)
from prorubric.verbs.train import TrainConfig, TrainResult, train_policies


class DomainResult(Record):
    """What was done for one domain."""

    name: str
    compiled: dict[str, int] = Field(default_factory=dict)
    """Tasks by the file that holds them."""
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
    """Stages that stopped early or are not complete; the same command goes on."""


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
    with open_whole(place / f"{COPY}{config.study.suffix}") as stream:
        stream.write(config.study.read_bytes())
    write_json(place / CONFIG, describe_run(Setting("study", config, {}, {"study": config.study})))
    results, unfinished = [], list[str]()
    for domain in chosen:
        result, left = _run_domain(domain, stages, partial(_tell, on_progress, domain.name))
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
    for out, options in domain.list_compiled():
        if "compile" in stages:
            domain.make_compile(out, options)
        elif "train" in stages and not out.with_suffix(DONE).exists():
            raise ConfigError(f"{out} has not been compiled", remedy="run the stage compile first")
    with TemporaryDirectory() as place:
        # A run refuses what its plan could not count, and assumes nothing.
        planned = replace(domain, recipes=Path(place), assume=None)
        spending = [stage for stage in stages if stage in ("compile", "train")]
        for name, reason in plan_domain(planned, spending, TaskFiles()).missing.items():
            raise ConfigError(reason, place=name)
    if "audit" in stages and domain.audit:
        audited = domain.make_audit()
        for name in (*list_judges(audited.judge), *([audited.editor] if audited.editor != "rules" else [])):
            make_model(name)
    if "evaluate" in stages and domain.evaluate:
        suite, own = domain.make_suite(planned="train" in stages), {policy.name for policy in domain.list_policies()}
        # Checkpoints are slow to load, and most do not exist yet.
        stand_ins = (replace(one, spec=f"planned:{one.name}") if one.name in own else one for one in suite.policy)
        check_evaluation(replace(suite, policy=tuple(stand_ins)))


def _run_domain(
    domain: StudyDomain, stages: Sequence[Stage], tell: Callable[[str], OnProgress | None]
) -> tuple[DomainResult, list[str]]:
    """Run the stages of one domain; gives what is not finished by name, too."""
    compiled, trained, audit, evaluation, unfinished = {}, {}, None, None, list[str]()
    for out, options in domain.list_compiled() if "compile" in stages else ():
        compiled[out.name] = _compile(domain.make_compile(out, options), tell("compile"))
    for name in order_arms(domain) if "train" in stages else ():
        if name not in domain.asked and domain.is_trained(name):
            continue  # another process may go on from it at the same time
        if (after := domain.arms[name].get("after")) and not domain.arms[name].get("model"):
            run, first = domain.find_first(after)
            if read_state(first.path).state != "done":
                unfinished.append(f"{name}: waits for {after}")
                continue
            if not first.find_checkpoints() and run.settings.kind != "best-of-n":
                line = f"{after} is trained, and has no checkpoint for {name} to go on from"
                raise ConfigError(line, remedy="put it back, or remove its folder to train it again", place=first.path)
        trained[name] = train_policies(TrainConfig(domain.write_recipe(name)), tell(f"train {name}"))
        unfinished += [f"{name}: {run.name}" for run in trained[name].runs if run.state != "done"]
    if "audit" in stages and domain.audit and not unfinished:
        audited = domain.make_audit()
        name = audited.answers_from or ""
        if name.startswith("planned:"):
            line = f"{name.removeprefix('planned:')} has no checkpoint yet"
            raise ConfigError(line, remedy="train it first, or name another in audit.of")
        if is_audited(audited):
            audit = AuditResult(**parse_json((audited.out / SUMMARY).read_bytes()))
        else:
            audit = audit_rewards(audited, tell("audit"))
    if "evaluate" in stages and domain.evaluate and not unfinished:
        evaluation = evaluate_policies(domain.make_suite(planned=False), tell("evaluate"))
        unfinished += [f"evaluate: {stage.stage}" for stage in evaluation.unfinished]
    found = DomainResult(
        name=domain.name,
        compiled=compiled,
        arms=trained,
        audit=audit,
        evaluation=evaluation,
        not_evaluated=tuple(domain.list_not_evaluated()) if evaluation else (),
    )
    return found, unfinished


def report_study(study: Study, domains: Sequence[StudyDomain], out: Path) -> StudyReport:
    """Make every table and figure, and the page, of what the folders of a study hold."""
    places = []
    for domain in domains:
        given = domain.evaluate.get("judge", ())
        axes = {name: getattr(study, name) or usual for name, usual in AXES.items()}
        places.append(DomainPlace(domain.name, domain.folder, (*domain.arms,), **axes, judges=list_judges(given)))
    return write_study_report(out, load_study_results(study.title, study.paper, places))


def _compile(config: CompileConfig, on_progress: OnProgress | None) -> int:
    """Compile a file, unless that is done; gives the number of tasks in the result."""
    outputs = name_outputs(config)
    if not is_compiled(config):
        # Files that are there are those of a run that was killed before it was noted as done.
        compile_rubrics(replace(config, overwrite=True), on_progress)
        with open_whole(outputs.tasks.with_suffix(DONE)) as stream:
            stream.write(identify_compiled(config).encode())
    return count_rows(outputs.tasks) or 0


def _tell(on_progress: OnProgress | None, domain: str, stage: str) -> OnProgress | None:
    """Progress of a stage, with its name."""
    if on_progress is None:
        return None
    place = f"{domain} {stage}".strip()

    def tell(now: Progress) -> None:
        on_progress(Progress(now.done, now.total, f"{place}: {now.note}"))

    return tell
