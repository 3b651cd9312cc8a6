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

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, asdict, dataclass, field, fields, replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from prorubric.audit.config import AuditConfig
from prorubric.audit.estimate import AuditEstimate
from prorubric.audit.records import AuditResult
from prorubric.errors import ConfigError, ProRubricError
from prorubric.evaluate.benchmarks.base import Benchmark
from prorubric.evaluate.benchmarks.registry import find_benchmark, find_missing, require_files
from prorubric.evaluate.instruments import INSTRUMENTS
from prorubric.evaluate.records import Policy
from prorubric.files.json import parse_json
from prorubric.files.read import count_rows
from prorubric.files.settings import check_names, read_settings
from prorubric.files.write import hash_file, open_whole, write_json
from prorubric.judge.panel import list_judges
from prorubric.llm.http import HttpConfig
from prorubric.llm.make import make_model
from prorubric.report.study_page import StudyReport, write_study_report
from prorubric.report.study_results import DomainPlace, PaperName, load_study_results
from prorubric.rubric.base import Record, config_record, split_commas
from prorubric.rubric.labels import LABEL_TAG
from prorubric.rubric.records import Criterion, Message, ProtocolRubric, Response, Rubric, Task
from prorubric.rubric.save import save_responses, save_tasks
from prorubric.runs.estimate import Estimate
from prorubric.runs.folder import CONFIG, SUMMARY, Setting, describe_run, read_setting
from prorubric.runs.run import OnProgress, Progress
from prorubric.text.show import shorten
from prorubric.train.plan import Money, Plan, TaskFiles, plan_training
from prorubric.train.recipe import Recipe, TrainRun, list_runs, load_recipe
from prorubric.train.run_folder import RunFolder, read_state
from prorubric.verbs.audit import audit_rewards, estimate_audit, make_audit_setting
from prorubric.verbs.compile import CompileConfig, CompileEstimate, compile_rubrics, estimate_compile, name_outputs
from prorubric.verbs.evaluate import (
    EvaluateConfig,
    EvaluationEstimate,
    EvaluationResult,
    check_evaluation,
    estimate_evaluation,
    evaluate_policies,
    make_suite,
    read_policies,
)
from prorubric.verbs.train import TrainConfig, TrainResult, check_run, train_policies

Stage = Literal["compile", "train", "audit", "evaluate", "report"]
STAGES: tuple[Stage, ...] = ("compile", "train", "audit", "evaluate", "report")
PARTS = ("compile", "train", "arms", "audit", "evaluate")
COMPILED = "compiled.jsonl"
_DONE = ".done"
"""The suffix of the file that is next to a compiled one when that is complete."""
COPY = "study"
"""The study file in the folder of the study, with its own suffix."""
_AXES = {"coverage": "healthbench", "appropriateness": "healthbench-consensus"}
_FIRST_TOKEN_SECONDS, _TOKENS_A_SECOND = 1.0, 50
"""Of one reply over HTTP; a guess for the hours of a plan."""
_LONGEST_NAME = 100
_OWN_FIELDS = ("after", "compile")
"""What an arm has besides the fields of a recipe."""

Part = dict[str, Any]


@config_record
class Assumed:
    """How large a file of tasks is that is not here, to plan without it."""

    _: KW_ONLY
    tasks: Annotated[int, Field(ge=2)]
    criteria: Annotated[int, Field(ge=1)] = 20
    """Of each task."""
    characters: Annotated[int, Field(ge=1)] = 400
    """Of each prompt."""
    answers: Annotated[int, Field(ge=1)] | None = None
    """Rows of a file that an arm is fine-tuned on and that is not here."""


@config_record
class Study:
    """A study as its file has it."""

    _: KW_ONLY
    title: str = ""
    compile: Part = field(default_factory=dict)
    train: Part = field(default_factory=dict)
    arms: dict[str, Part] = field(default_factory=dict)
    audit: Part = field(default_factory=dict)
    evaluate: Part = field(default_factory=dict)
    domains: dict[str, Part] = field(default_factory=dict)
    assume: Assumed | None = None
    """For plans, if the tasks are not here yet; a domain may set other sizes."""
    paper: PaperName | None = None
    """The part of the paper whose figures the report shows next to ours."""
    coverage: str = ""
    """The benchmark that measures coverage; by default HealthBench."""
    appropriateness: str = ""
    """The benchmark that measures appropriateness; by default the consensus part of HealthBench."""
    out: Path | None = None
    """Folder; by default runs/ and the name of the file."""


@config_record
class StudyConfig:
    """Which study, and how much of it."""

    study: Path
    """Study file, YAML or TOML."""
    _: KW_ONLY
    only: Annotated[tuple[str, ...], BeforeValidator(split_commas)] = ()
    """Only these stages (compile, train, audit, evaluate, report), domains or arms, comma-separated."""


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


@dataclass(frozen=True, slots=True)
class _Domain:
    """One domain with its parts, the shared ones included."""

    name: str
    folder: Path
    recipes: Path
    """Where the recipes of its arms are written."""
    compile: Part
    train: Part
    arms: dict[str, Part]
    audit: Part
    evaluate: Part
    assume: Assumed | None
    chosen: tuple[str, ...]
    """The arms that `--only` leaves to compile for and to train."""
    asked: tuple[str, ...]
    """Those that it names; the others come before one of these, and are left alone once they are trained."""

    def list_compiled(self) -> Iterator[tuple[Path, Part]]:
        """The files that have to be compiled, and how: one for all arms, and one for each arm that has its own."""
        if self.compile:
            yield self.folder / COMPILED, self.compile
        for name in self.chosen:
            if "compile" in (arm := self.arms[name]):
                yield self.folder / f"compiled-{name}.jsonl", {**self.compile, **arm["compile"]}

    def make_compile(self, out: Path, options: Part) -> CompileConfig:
        """The options of one compilation."""
        check_names(options, [option.name for option in fields(CompileConfig)], "compile")
        tasks = options.get("tasks") or self.train.get("tasks")
        if tasks is None:
            raise ConfigError("compile has no tasks", remedy="name the file in compile.tasks or train.tasks")
        return CompileConfig(**{**options, "tasks": tasks, "out": out})

    def write_recipe(self, name: str, tasks: Path | None = None) -> Path:
        """The recipe of an arm, as the verb `train` reads it; a plan may give other `tasks`."""
        arm = self.arms[name]
        found = {**self.train, **{key: value for key, value in arm.items() if key not in _OWN_FIELDS}}
        if "sweep" in found:
            raise ConfigError(f"the arm {name} has a sweep", remedy="make each of its values an arm", place=self.name)
        if "compile" in arm or self.compile:
            found["tasks"] = str(self.folder / (f"compiled-{name}.jsonl" if "compile" in arm else COMPILED))
        if not (tasks or found.get("tasks")):
            raise ConfigError("there are no tasks", remedy="name the file in train.tasks", place=name)
        found["tasks"] = str(tasks or found["tasks"])
        found["model"] = arm.get("model") or self.train.get("model")
        if not arm.get("model") and (after := arm.get("after")) is not None:
            if after not in self.arms or after == name:
                known = ", ".join(other for other in self.arms if other != name)
                raise ConfigError(f"the arm {name} comes after {after!r}", remedy=f"the other arms are {known}")
            checkpoints = self.find_first(after)[1].find_checkpoints()
            before = self.arms[after].get("model") or self.train.get("model")
            found["model"] = str(checkpoints[-1].path) if checkpoints else before
        found["out"] = str(self.folder / "train" / name)
        path = self.recipes / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_whole(path) as stream:  # JSON is YAML
            stream.write(json.dumps(found, indent=2, default=str).encode())
        return path

    def find_first(self, name: str) -> tuple[TrainRun, RunFolder]:
        """The first run of an arm, from which others go on."""
        run = list_runs(self.load_recipe(name))[0]
        return run, RunFolder(self.folder / "train" / name / run.name)

    def load_recipe(self, name: str, tasks: Path | None = None) -> Recipe:
        """The recipe of an arm; errors name the arm, since the user did not write its file."""
        path = self.write_recipe(name, tasks)
        try:
            recipe = load_recipe(path)
            list_runs(recipe)  # finds what a field cannot be together with others
        except ConfigError as error:
            error.place = error.place.replace(str(path), name, 1) or name
            raise
        return recipe

    def list_policies(self) -> list[Policy]:
        """Every run of the chosen arms, and of others that are trained: its last checkpoint, or a plan of one."""
        policies = []
        for name in self.arms:
            runs = list_runs(self.load_recipe(name))
            if name not in self.chosen and self.list_left(name, runs):
                continue
            if runs[0].settings.kind == "best-of-n":
                continue  # it only chooses answers, which another arm is trained on
            for run in runs:
                found = RunFolder(self.folder / "train" / name / run.name).find_checkpoints()
                policy = f"{name} {run.seed}"
                policies.append(Policy(policy, str(found[-1].path) if found else f"planned:{policy}", name, run.seed))
        return policies

    def list_left(self, name: str, runs: Iterable[TrainRun]) -> list[str]:
        """The runs of an arm that are not done."""
        folder = self.folder / "train" / name
        return [run.name for run in runs if read_state(folder / run.name).state != "done"]

    def is_trained(self, name: str) -> bool:
        """True if every run of an arm is done; `ConfigError` if one was made with another setting."""
        runs = list_runs(self.load_recipe(name))
        for run in runs:
            check_run(run, self.folder / "train" / name / run.name)
        return not self.list_left(name, runs)

    def make_audit(self, tasks: Path | None = None) -> AuditConfig:
        """The audit; a plan may give other `tasks`, and a policy that does not exist yet is planned."""
        check_names(self.audit, ["of", *(option.name for option in fields(AuditConfig))], "audit")
        options = {key: value for key, value in self.audit.items() if key != "of"}
        own = options.get("tasks") or (self.folder / COMPILED if self.compile else self.train.get("tasks"))
        if own is None:
            raise ConfigError("audit has no tasks", remedy="name the file in audit.tasks or train.tasks")
        if "responses" not in options and "answers_from" not in options:
            policies = [*EvaluateConfig(policy=self.evaluate.get("policy", ())).policy, *self.list_policies()]
            before = next((arm["after"] for arm in self.arms.values() if "after" in arm), None)
            name = self.audit.get("of") or self.evaluate.get("baseline") or before
            specs = [policy.spec for policy in policies if name is not None and name in (policy.name, policy.group)]
            if not specs:
                known = ", ".join(dict.fromkeys(policy.group or policy.name for policy in policies))
                fault = "is not trained" if name in self.arms else "is not the name of a policy or an arm"
                line = f"audit.of: {name} {fault}"
                raise ConfigError(
                    "audit does not say whose answers it is about" if name is None else line,
                    remedy=f"name one of {known} in audit.of" if known else "give audit.responses",
                )
            options["responses" if Path(specs[0]).is_file() else "answers_from"] = specs[0]
        return AuditConfig(**{**options, "tasks": str(tasks or own), "out": self.folder / "audit"})

    def make_suite(self, *, planned: bool) -> EvaluateConfig:
        """The evaluation of all arms; without `planned`, arms that have not been trained are an error."""
        policies = self.list_policies()
        if missing := [policy.name for policy in policies if policy.spec.startswith("planned:")] if not planned else []:
            raise ConfigError(f"{missing[0]} has no checkpoint yet", remedy="train it first, or leave the arm out")
        given = [*read_policies(self.evaluate.get("policy", ())), *policies]
        found, absent = {**self.evaluate, "policy": given, "out": self.folder / "evaluate"}, self.list_not_evaluated()
        if found.get("baseline") in absent:
            del found["baseline"]
        if isinstance(pairs := found.get("compare"), list):
            found["compare"] = [pair for pair in pairs if not (isinstance(pair, list) and {*pair} & {*absent})]
        return make_suite(found)

    def list_not_evaluated(self) -> list[str]:
        """The arms of which no run is evaluated: `--only` leaves them out, and they are not trained."""
        present = {policy.group for policy in self.list_policies()}
        return [name for name in self.arms if name not in present and name not in self.chosen]


def load_study(path: Path, out: Path | None = None) -> tuple[Study, tuple[_Domain, ...]]:
    """The study in a file with its folder, or another one, and its domains with everything that they share."""
    found = read_settings(path, "study", "arms: {ProRubric: {method: prorubric}}")
    try:
        check_names(found, [option.name for option in fields(Study)], "a study")
        study = Study(**found)
        for name, own in study.domains.items():
            check_names(own, (*PARTS, "assume"), f"the domain {name}")
            check_names(own.get("assume", {}), [option.name for option in fields(Assumed)], "assume")
    except ConfigError as error:
        raise error.at(path) from None
    out = out or study.out or Path("runs") / path.stem
    domains = []
    for name, own in (study.domains or {"": {}}).items():
        parts = {part: {**getattr(study, part), **own.get(part, {})} for part in PARTS}
        folder = out / name if name else out
        shared = asdict(study.assume) if study.assume else {}
        assume = Assumed(**shared | own.get("assume", {})) if shared or "assume" in own else None
        every = tuple(parts["arms"])
        domains.append(_Domain(name, folder, folder / "recipes", **parts, assume=assume, chosen=every, asked=every))
    try:
        _check_given_names(domains)
    except ConfigError as error:
        raise error.at(path) from None
    if not any(domain.compile or domain.arms or domain.audit or domain.evaluate for domain in domains):
        raise ConfigError("the study has no part", remedy="give compile, arms, audit or evaluate", place=path)
    return replace(study, out=out), tuple(domains)


def _check_axes(study: Study, domains: Sequence[_Domain], path: Path) -> None:
    """Refuse measures that the evaluation does not give; a report alone takes what there is."""
    asked = {str(name) for domain in domains for name in domain.evaluate.get("benchmarks", ())}
    for axis in _AXES:
        if (name := getattr(study, axis)) and name not in asked:
            remedy = f"name one of evaluate.benchmarks: {', '.join(sorted(asked)) or 'none'}"
            raise ConfigError(f"{axis} is {name!r}, which is not evaluated", remedy=remedy, place=path)


def _check_given_names(domains: Sequence[_Domain]) -> None:
    """Refuse names that are not one folder, or that `--only` could not tell apart."""
    named = {domain.name for domain in domains if domain.name or len(domains) > 1}
    arms = dict.fromkeys(arm for domain in domains for arm in domain.arms)
    for name in (*named, *arms):
        if name != name.strip() or not name.isprintable() or name in ("", ".", "..") or len(name) > _LONGEST_NAME:
            remedy = f"write one of 1 to {_LONGEST_NAME} visible characters that does not begin or end with a space"
            raise ConfigError(f"{shorten(repr(name))} cannot be the name of an arm or a domain", remedy=remedy)
        if "," in name:
            remedy = "leave it out: --only takes names with commas between them"
            raise ConfigError(f"the name {name!r} has a comma", remedy=remedy)
        if "/" in name:
            raise ConfigError(f"the name {name!r} has a slash", remedy="leave it out: it is the name of a folder")
        if name in STAGES:
            raise ConfigError(f"{name!r} is the name of a stage", remedy="choose another: --only takes both")
        if name in named and name in arms:
            raise ConfigError(f"{name!r} is a domain and an arm", remedy="rename one: --only takes both")
    for domain in domains:
        for name, arm in domain.arms.items():
            if not isinstance(after := arm.get("after", ""), str):
                raise ConfigError(f"after is {after!r}", remedy="give the name of one arm", place=name)


def run_study(config: StudyConfig, on_progress: OnProgress | None = None) -> StudyResult:
    """Make what is missing of a study, stage by stage."""
    study, domains = load_study(config.study)
    stages, chosen = _choose(config.only, domains)
    if "evaluate" in stages:
        _check_axes(study, domains, config.study)
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


def _check_domain(domain: _Domain, stages: Sequence[Stage]) -> None:
    """Refuse before the first call what a later stage would refuse after hours of work."""
    for out, options in domain.list_compiled():
        if "compile" in stages:
            domain.make_compile(out, options)
        elif "train" in stages and not out.with_suffix(_DONE).exists():
            raise ConfigError(f"{out} has not been compiled", remedy="run the stage compile first")
    with TemporaryDirectory() as place:
        # A run refuses what its plan could not count, and assumes nothing.
        planned = replace(domain, recipes=Path(place), assume=None)
        spending = [stage for stage in stages if stage in ("compile", "train")]
        for name, reason in _plan_domain(planned, spending, TaskFiles()).missing.items():
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
    domain: _Domain, stages: Sequence[Stage], tell: Callable[[str], OnProgress | None]
) -> tuple[DomainResult, list[str]]:
    """Run the stages of one domain; gives what is not finished by name, too."""
    compiled, trained, audit, evaluation, unfinished = {}, {}, None, None, list[str]()
    for out, options in domain.list_compiled() if "compile" in stages else ():
        compiled[out.name] = _compile(domain.make_compile(out, options), tell("compile"))
    for name in _order(domain) if "train" in stages else ():
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
        if _is_audited(audited):
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


def report_study(study: Study, domains: Sequence[_Domain], out: Path) -> StudyReport:
    """Make every table and figure, and the page, of what the folders of a study hold."""
    places = []
    for domain in domains:
        given = domain.evaluate.get("judge", ())
        axes = {name: getattr(study, name) or usual for name, usual in _AXES.items()}
        places.append(DomainPlace(domain.name, domain.folder, (*domain.arms,), **axes, judges=list_judges(given)))
    return write_study_report(out, load_study_results(study.title, study.paper, places))


def _compile(config: CompileConfig, on_progress: OnProgress | None) -> int:
    """Compile a file, unless that is done; gives the number of tasks in the result."""
    outputs = name_outputs(config)
    if not _is_compiled(config):
        # Files that are there are those of a run that was killed before it was noted as done.
        compile_rubrics(replace(config, overwrite=True), on_progress)
        with open_whole(outputs.tasks.with_suffix(_DONE)) as stream:
            stream.write(_identify(config).encode())
    return count_rows(outputs.tasks) or 0


def _is_compiled(config: CompileConfig) -> bool:
    """True if the file is there as a whole; `ConfigError` if it was made in another way."""
    tasks = name_outputs(config).tasks
    done = tasks.with_suffix(_DONE)
    if done.exists() and done.read_text() != _identify(config):
        line = "holds tasks that were compiled from another file or with other options"
        raise ConfigError(line, remedy="put these back, or choose another out", place=tasks)
    return done.exists()


def _identify(config: CompileConfig) -> str:
    return f"{name_outputs(config).identity} {hash_file(Path(config.tasks))}"


def _is_audited(config: AuditConfig) -> bool:
    """True if the folder has the result of the same audit."""
    if not (config.out / SUMMARY).is_file():
        return False
    before, now = read_setting(config.out), describe_run(make_audit_setting(config))
    return all(before.get(key) == now[key] for key in ("config", "identity", "inputs"))


def plan_study(config: StudyConfig) -> StudyPlan:
    """Count calls, tokens, money and time of a study without a call, and without a file in its folder."""
    study, domains = load_study(config.study)
    stages, chosen = _choose(config.only, domains)
    if "evaluate" in stages:
        _check_axes(study, domains, config.study)
    with TemporaryDirectory() as place:
        files = TaskFiles()
        plans = [_plan_domain(_assume_answers(domain, Path(place)), stages, files) for domain in chosen]
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


def _add_known(values: Sequence[float | None]) -> float | None:
    """The sum; None if one of the values is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


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


def _plan_domain(domain: _Domain, stages: Sequence[Stage], files: TaskFiles) -> DomainPlan:
    missing, audit, evaluation, published = dict[str, str](), None, None, list[str]()
    assume = _find_assumed(domain)
    compiled = _plan_compile(domain, assume, missing) if "compile" in stages else {}
    uses_compiled = "train" in stages or ("audit" in stages and domain.audit and "tasks" not in domain.audit)
    with _noting(missing, "tasks"):
        stand_in = _stand_in_tasks(domain, assume) if uses_compiled else None
    recipes, arms = dict[str, Recipe](), dict[str, Plan]()
    if "train" in stages and "tasks" not in missing:
        for name in _order(domain):
            with _noting(missing, name):
                compiled_own = domain.folder / f"compiled-{name}.jsonl"
                is_compiled = "compile" not in domain.arms[name] or compiled_own.with_suffix(_DONE).exists()
                recipes[name] = domain.load_recipe(
                    name, stand_in if is_compiled else stand_in or domain.folder / COMPILED
                )
        files.expect(recipes.values())
        if unread := [name for name in domain.chosen if name not in recipes]:
            rest = [part for part in ("audit", "evaluate") if part in stages and getattr(domain, part)]
            missing |= dict.fromkeys(rest, f"the arm {unread[0]} is not planned")
    for name, recipe in recipes.items():
        with _noting(missing, name):
            if left := domain.list_left(name, list_runs(recipe)):
                arms[name] = plan_training(recipe, only=left, files=files)
    if "audit" in stages and domain.audit and missing.keys().isdisjoint(("tasks", "audit")):
        with _noting(missing, "audit"):
            own = "tasks" in domain.audit
            audit = _estimate_audit(domain.make_audit(None if own else stand_in), None if own else assume)
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


def _find_assumed(domain: _Domain) -> Assumed | None:
    """The sizes that a domain is planned with; None if its tasks are here."""
    tasks = domain.compile.get("tasks") or domain.train.get("tasks")
    return domain.assume if tasks is not None and not Path(str(tasks)).exists() else None


def _plan_compile(domain: _Domain, assume: Assumed | None, missing: dict[str, str]) -> dict[str, CompileEstimate]:
    """By file, what compiling it will take; nothing if that is done."""
    found: dict[str, CompileEstimate] = {}
    for out, options in domain.list_compiled():
        with _noting(missing, out.name):
            if assume is None:
                config = domain.make_compile(out, options)
                if not _is_compiled(config):
                    found[out.name] = estimate_compile(config)
                continue
            one = domain.recipes / "one.jsonl"  # one task is like the others
            save_tasks(one, islice(_assume_tasks(assume), 1))
            estimate = estimate_compile(domain.make_compile(out, {**options, "tasks": str(one)}))
            counts = {name: getattr(estimate, name) for name in ("tasks", *Estimate.model_fields)}
            many = {name: number and number * assume.tasks for name, number in counts.items()}
            found[out.name] = estimate.model_copy(update=many)
    return found


def _stand_in_tasks(domain: _Domain, assume: Assumed | None) -> Path | None:
    """Tasks to plan with in place of those that are not here or not compiled; None if the real ones are."""
    if assume is not None:
        sizes = f"{assume.tasks}-{assume.criteria}-{assume.characters}"
        path = domain.recipes.with_name(f"assumed-{sizes}.jsonl")  # for all domains of this size
        if not path.exists():
            save_tasks(path, _assume_tasks(assume))
        return path
    if not domain.compile or (domain.folder / COMPILED).with_suffix(_DONE).exists():
        return None
    # What a judge is asked does not depend on what the dimensions say.
    path, tasks = domain.recipes / COMPILED, domain.compile.get("tasks") or domain.train.get("tasks")
    compile_rubrics(CompileConfig(str(tasks), out=path, generator="rules"))
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
    if assume is None or _is_audited(config):
        return None if _is_audited(config) else estimate_audit(config)
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


def _assume_answers(domain: _Domain, place: Path) -> _Domain:
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
    return replace(domain, arms=arms, recipes=place / (domain.name or "study"))


def _choose(only: Sequence[str], domains: Sequence[_Domain]) -> tuple[tuple[Stage, ...], list[_Domain]]:
    """The stages, and the domains with the arms, that `--only` leaves."""
    known = {*STAGES, *(domain.name for domain in domains), *(name for domain in domains for name in domain.arms)}
    if unknown := [name for name in only if name not in known]:
        listed = ", ".join(sorted(filter(None, known)))
        raise ConfigError(f"--only {unknown[0]} names no stage, domain or arm", remedy=f"choose from {listed}")
    for stage in (stage for stage in STAGES if stage in only and stage != "report"):
        if not any(_has_part(domain, stage) for domain in domains):
            raise ConfigError(f"--only {stage}: the study has no {stage} part", remedy="leave it out")
    stages = tuple(stage for stage in STAGES if stage in only) or STAGES
    named = [domain for domain in domains if domain.name in only] or [*domains]
    wanted = {name for domain in named for name in domain.arms if name in only}
    if elsewhere := [name for domain in domains for name in domain.arms if name in only and name not in wanted]:
        remedy = "name a domain that has it, or no domain"
        raise ConfigError(f"--only {elsewhere[0]}: {named[0].name} has no such arm", remedy=remedy)
    if not wanted:
        return stages, named
    chosen = []
    for domain in named:
        needed, arms = {*wanted}, domain.arms  # and the arms that these come after
        while more := {str(arms[name]["after"]) for name in needed if name in arms and "after" in arms[name]} - needed:
            needed |= more
        asked = tuple(name for name in arms if name in wanted)
        chosen.append(replace(domain, chosen=tuple(name for name in arms if name in needed), asked=asked))
    return stages, chosen


def _has_part(domain: _Domain, stage: str) -> bool:
    if stage == "compile":
        return any(domain.list_compiled())
    return bool(domain.arms if stage == "train" else getattr(domain, stage))


def _order(domain: _Domain) -> list[str]:
    """The arms that are trained, each after the one that it goes on from."""
    ordered, arms = list[str](), domain.arms
    while waiting := [name for name in domain.chosen if name not in ordered]:
        # An arm that comes after one that does not exist is refused when its recipe is written.
        ready = [name for name in waiting if arms[name].get("after") in ordered or arms[name].get("after") not in arms]
        if not ready:
            raise ConfigError(f"the arms {', '.join(waiting)} come after each other", remedy="let one of them begin")
        ordered += ready
    return ordered


def _tell(on_progress: OnProgress | None, domain: str, stage: str) -> OnProgress | None:
    """Progress of a stage, with its name."""
    if on_progress is None:
        return None
    place = f"{domain} {stage}".strip()

    def tell(now: Progress) -> None:
        on_progress(Progress(now.done, now.total, f"{place}: {now.note}"))

    return tell
