"""`run_study`: tasks are compiled, arms are trained, and all of them are evaluated together, as one file describes it.

Every stage is the verb of its name with its own folder, so each goes on where it stopped, and what is done is not made
again. A study has four parts, and needs only those that it uses:

    compile:   options of `prorubric compile`; the result takes the place of `train.tasks`
    train:     fields of a recipe that all arms share
    arms:      by name, what makes an arm different; `after: NAME` goes on from the last checkpoint of another arm
    evaluate:  fields of a suite; every run of every arm is a policy

`domains` are several studies in one: each has a name, and parts that are added to those of the study.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from prorubric.errors import ConfigError, ProRubricError
from prorubric.evaluate.benchmarks.registry import find_benchmark, require_files
from prorubric.evaluate.records import Policy
from prorubric.files.read import count_rows
from prorubric.files.settings import check_names, read_settings
from prorubric.files.write import hash_file, open_whole, write_json
from prorubric.rubric.base import Record, config_record, split_commas
from prorubric.rubric.records import Criterion, Message, ProtocolRubric, Rubric, Task
from prorubric.rubric.save import save_tasks
from prorubric.runs.estimate import Estimate
from prorubric.runs.folder import SUMMARY
from prorubric.runs.run import OnProgress, Progress
from prorubric.train.plan import Plan, plan_training
from prorubric.train.recipe import list_runs, load_recipe
from prorubric.train.run_folder import RunFolder
from prorubric.verbs.compile import CompileConfig, CompileEstimate, compile_rubrics, estimate_compile, name_outputs
from prorubric.verbs.evaluate import (
    EvaluateConfig,
    EvaluationEstimate,
    EvaluationResult,
    estimate_evaluation,
    evaluate_policies,
    make_suite,
)
from prorubric.verbs.train import TrainConfig, TrainResult, train_policies

Stage = Literal["compile", "train", "evaluate"]
STAGES: tuple[Stage, ...] = ("compile", "train", "evaluate")
COMPILED = "compiled.jsonl"
_OWN_FIELDS = ("after", "compile")
"""What an arm has besides the fields of a recipe."""

Part = dict[str, Any]


@config_record
class Assumed:
    """How large a file of tasks is that is not here, so that a plan can be made without it."""

    _: KW_ONLY
    tasks: Annotated[int, Field(ge=2)]
    criteria: Annotated[int, Field(ge=1)] = 20
    """Of each task."""
    characters: Annotated[int, Field(ge=1)] = 400
    """Of each prompt."""


@config_record
class Study:
    """A study as its file has it."""

    _: KW_ONLY
    title: str = ""
    compile: Part = field(default_factory=dict)
    train: Part = field(default_factory=dict)
    arms: dict[str, Part] = field(default_factory=dict)
    evaluate: Part = field(default_factory=dict)
    domains: dict[str, Part] = field(default_factory=dict)
    assume: Assumed | None = None
    """For plans, if the tasks are not here yet."""
    out: Path | None = None
    """Folder; by default runs/ and the name of the file."""


@config_record
class StudyConfig:
    """Which study, and how much of it."""

    study: Path
    """Study file, YAML or TOML."""
    _: KW_ONLY
    only: Annotated[tuple[str, ...], BeforeValidator(split_commas)] = ()
    """Only these stages (compile, train, evaluate), domains or arms, comma-separated; by default everything."""


class DomainPlan(Record):
    """What one domain of a study will take."""

    name: str
    compile: dict[str, CompileEstimate] = Field(default_factory=dict)
    """By the file that is written."""
    arms: dict[str, Plan] = Field(default_factory=dict)
    evaluate: EvaluationEstimate | None = None
    missing: dict[str, str] = Field(default_factory=dict)
    """What could not be planned, with the reason."""
    assumed: bool = False
    """True if the sizes of the tasks are those that the study assumes."""


class StudyPlan(Record):
    """What a study will take."""

    title: str
    out: str
    domains: tuple[DomainPlan, ...]
    calls: int
    """To generators, judges and policies, as far as they are known; those to judges in training are exact."""
    cost: float | None
    """US dollars at list price; None if a price is not known."""


class DomainResult(Record):
    """What was done for one domain."""

    name: str
    compiled: dict[str, int] = Field(default_factory=dict)
    """Tasks by the file that holds them."""
    arms: dict[str, TrainResult] = Field(default_factory=dict)
    evaluation: EvaluationResult | None = None


class StudyResult(Record):
    """What a study gave."""

    title: str
    out: str
    domains: tuple[DomainResult, ...]
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
    evaluate: Part

    def list_compiled(self) -> Iterator[tuple[Path, Part]]:
        """The files that have to be compiled, and how: one for all arms, and one for each arm that has its own."""
        if self.compile:
            yield self.folder / COMPILED, self.compile
        for name, arm in self.arms.items():
            if "compile" in arm:
                yield self.folder / f"compiled-{name}.jsonl", {**self.compile, **arm["compile"]}

    def make_compile(self, out: Path, options: Part) -> CompileConfig:
        """The options of one compilation."""
        check_names(options, [option.name for option in fields(CompileConfig)], "compile")
        tasks = options.get("tasks") or self.train.get("tasks")
        if tasks is None:
            raise ConfigError("compile has no tasks", remedy="name the file in compile.tasks or train.tasks")
        return CompileConfig(**{**options, "tasks": tasks, "out": out})

    def write_recipe(self, name: str, tasks: Path | None = None) -> Path:
        """The recipe of an arm, as the verb `train` reads it; `tasks` take the place of its own in a plan."""
        arm = self.arms[name]
        found = {**self.train, **{key: value for key, value in arm.items() if key not in _OWN_FIELDS}}
        if "sweep" in found:
            raise ConfigError(f"the arm {name} has a sweep", remedy="make each of its values an arm", place=self.name)
        if "compile" in arm or self.compile:
            found["tasks"] = str(self.folder / (f"compiled-{name}.jsonl" if "compile" in arm else COMPILED))
        found["tasks"] = str(tasks or found.get("tasks"))
        found["model"] = arm.get("model") or self._find_model(name)
        found["out"] = str(self.folder / "train" / name)
        path = self.recipes / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_whole(path) as stream:  # JSON is YAML
            stream.write(json.dumps(found, indent=2, default=str).encode())
        return path

    def _find_model(self, name: str) -> object:
        """The model of an arm: the last checkpoint of the arm that it comes after, as soon as there is one."""
        after = self.arms[name].get("after")
        if after is None:
            return self.train.get("model")
        if after not in self.arms or after == name:
            known = ", ".join(other for other in self.arms if other != name)
            raise ConfigError(f"the arm {name} comes after {after!r}", remedy=f"the other arms are {known}")
        run = list_runs(load_recipe(self.write_recipe(after)))[0]
        found = RunFolder(self.folder / "train" / after / run.name).find_checkpoints()
        return str(found[-1].path) if found else self.arms[after].get("model") or self.train.get("model")

    def list_policies(self) -> list[Policy]:
        """Every run of every arm: its last checkpoint, or a plan of one."""
        policies = []
        for name in self.arms:
            for run in list_runs(load_recipe(self.write_recipe(name))):
                found = RunFolder(self.folder / "train" / name / run.name).find_checkpoints()
                policy = f"{name} {run.seed}"
                policies.append(Policy(policy, str(found[-1].path) if found else f"planned:{policy}", name, run.seed))
        return policies

    def make_suite(self, *, planned: bool) -> EvaluateConfig:
        """The evaluation of all arms; without `planned`, arms that have not been trained are an error."""
        policies = self.list_policies()
        if missing := [policy.name for policy in policies if policy.spec.startswith("planned:")] if not planned else []:
            raise ConfigError(f"{missing[0]} has no checkpoint yet", remedy="train it first, or leave the arm out")
        own = self.evaluate.get("policy", ())
        listed = [own] if isinstance(own, str | Mapping) else [*own]
        return make_suite({**self.evaluate, "policy": [*listed, *policies], "out": self.folder / "evaluate"})


def load_study(path: Path) -> tuple[Study, tuple[_Domain, ...]]:
    """The study in a file, and its domains with everything that they share."""
    found = read_settings(path, "study", "arms: {ProRubric: {method: prorubric}}")
    try:
        check_names(found, [option.name for option in fields(Study)], "a study")
        study = Study(**found)
        for name, own in study.domains.items():
            check_names(own, ("compile", "train", "arms", "evaluate"), f"the domain {name}")
    except ConfigError as error:
        raise error.at(path) from None
    out = study.out or Path("runs") / path.stem
    domains = []
    for name, own in (study.domains or {"": {}}).items():
        parts = {
            part: {**getattr(study, part), **own.get(part, {})} for part in ("compile", "train", "arms", "evaluate")
        }
        folder = out / name if name else out
        domains.append(_Domain(name, folder, folder / "recipes", **parts))
    if not any(domain.compile or domain.arms or domain.evaluate for domain in domains):
        raise ConfigError("the study has no part", remedy="give compile, arms or evaluate", place=path)
    return study, tuple(domains)


def run_study(config: StudyConfig, on_progress: OnProgress | None = None) -> StudyResult:
    """Make what is missing of a study, stage by stage."""
    study, domains = load_study(config.study)
    stages, chosen = _choose(config.only, domains)
    results, unfinished = [], list[str]()
    for domain in chosen:
        tell = partial(_tell, on_progress, domain.name)
        compiled, trained, evaluation = {}, {}, None
        for out, options in domain.list_compiled() if "compile" in stages else ():
            compiled[out.name] = _compile(domain.make_compile(out, options), tell("compile"))
        for name in _order(domain.arms) if "train" in stages else ():
            trained[name] = train_policies(TrainConfig(domain.write_recipe(name)), tell(f"train {name}"))
            unfinished += [f"{name}: {run.name}" for run in trained[name].runs if run.state != "done"]
        if "evaluate" in stages and domain.evaluate and not unfinished:
            evaluation = evaluate_policies(domain.make_suite(planned=False), tell("evaluate"))
            unfinished += [f"evaluate: {stage.stage}" for stage in evaluation.unfinished]
        results.append(DomainResult(name=domain.name, compiled=compiled, arms=trained, evaluation=evaluation))
    out = study.out or Path("runs") / config.study.stem
    found = StudyResult(title=study.title, out=str(out), domains=tuple(results), unfinished=tuple(unfinished))
    write_json(out / SUMMARY, found.model_dump(mode="json"))
    return found


def _compile(config: CompileConfig, on_progress: OnProgress | None) -> int:
    """Compile a file, unless that is done; gives the number of tasks in the result."""
    outputs = name_outputs(config)
    done, identity = outputs.tasks.with_suffix(".done"), f"{outputs.identity} {hash_file(Path(config.tasks))}"
    if not done.exists():
        compile_rubrics(config, on_progress)
        with open_whole(done) as stream:
            stream.write(identity.encode())
    elif done.read_text() != identity:
        line = "holds tasks that were compiled from another file or with other options"
        raise ConfigError(line, remedy="put these back, or choose another out", place=outputs.tasks)
    return count_rows(outputs.tasks) or 0


def plan_study(config: StudyConfig) -> StudyPlan:
    """Count calls, tokens, money and time of a study without a call, and without a file in its folder."""
    study, domains = load_study(config.study)
    stages, chosen = _choose(config.only, domains)
    with TemporaryDirectory() as place:
        plans = [
            _plan_domain(replace(domain, recipes=Path(place) / (domain.name or "study")), stages, study.assume)
            for domain in chosen
        ]
    calls, costs = 0, list[float | None]()
    for plan in plans:
        parts = [*plan.compile.values(), *([plan.evaluate] if plan.evaluate else [])]
        calls += sum(part.calls for part in parts) + sum(arm.calls for arm in plan.arms.values())
        costs += [part.cost for part in parts] + [arm.usual.cost for arm in plan.arms.values()]
    known = [cost for cost in costs if cost is not None]
    return StudyPlan(
        title=study.title,
        out=str(study.out or Path("runs") / config.study.stem),
        domains=tuple(plans),
        calls=calls,
        cost=sum(known) if len(known) == len(costs) else None,
    )


def _plan_domain(domain: _Domain, stages: Sequence[Stage], assume: Assumed | None) -> DomainPlan:
    compiled, arms, missing = dict[str, CompileEstimate](), dict[str, Plan](), dict[str, str]()
    tasks, evaluation = domain.compile.get("tasks") or domain.train.get("tasks"), None
    is_assumed = assume is not None and tasks is not None and not Path(str(tasks)).exists()
    if assume is not None and is_assumed:
        tasks = domain.recipes / "assumed.jsonl"
        save_tasks(tasks, _assume_tasks(assume))
    for out, options in domain.list_compiled() if "compile" in stages else ():
        with _noting(missing, out.name):
            if assume is not None and is_assumed:  # one task is like the others
                compiled[out.name] = _estimate_many(domain, out, options, assume)
            else:
                compiled[out.name] = estimate_compile(domain.make_compile(out, options))
    stand_in = tasks if is_assumed else None
    if domain.compile and not is_assumed and not (domain.folder / COMPILED).exists() and "train" in stages:
        # What a judge is asked does not depend on what the dimensions say.
        stand_in = domain.recipes / COMPILED
        with _noting(missing, "tasks"):
            compile_rubrics(CompileConfig(str(tasks), out=stand_in, generator="rules"))
    for name in _order(domain.arms) if "train" in stages and "tasks" not in missing else ():
        with _noting(missing, name):
            arms[name] = plan_training(domain.write_recipe(name, stand_in))
    if "evaluate" in stages and domain.evaluate:
        with _noting(missing, "evaluate"):
            suite, present = domain.make_suite(planned=True), []
            for name in suite.benchmarks:
                with _noting(missing, name):
                    require_files(find_benchmark(name), suite.data_dir)
                    present.append(name)
            if present:
                evaluation = estimate_evaluation(replace(suite, benchmarks=tuple(present)))
    return DomainPlan(
        name=domain.name, compile=compiled, arms=arms, evaluate=evaluation, missing=missing, assumed=is_assumed
    )


def _estimate_many(domain: _Domain, out: Path, options: Part, assume: Assumed) -> CompileEstimate:
    one = domain.recipes / "one.jsonl"
    save_tasks(one, islice(_assume_tasks(assume), 1))
    found = estimate_compile(domain.make_compile(out, {**options, "tasks": str(one)}))
    counts = {name: getattr(found, name) for name in ("tasks", *Estimate.model_fields)}
    return found.model_copy(update={name: n and n * assume.tasks for name, n in counts.items()})


@contextmanager
def _noting(missing: dict[str, str], name: str) -> Iterator[None]:
    """Note why something cannot be planned, and go on with the rest."""
    try:
        yield
    except ProRubricError as error:
        missing[name] = str(error).removeprefix(f"{name}: ")


def _assume_tasks(assume: Assumed) -> Iterator[Task]:
    """Tasks of the assumed size, all in two dimensions or one."""
    criteria = tuple(Criterion(text=f"The answer names point {place}.", weight=1.0) for place in range(assume.criteria))
    rubric, indices = Rubric(criteria=criteria), list(range(1, assume.criteria + 1))
    half = -(-len(indices) // 2)
    groups = [group for group in (indices[:half], indices[half:]) if group]
    texts = {"name": "Part", "description": "Fails if one of its points is missing."}
    protocol = ProtocolRubric.of(rubric, [{**texts, "indices": group} for group in groups])
    for place in range(assume.tasks):
        prompt = f"Prompt {place} ".ljust(assume.characters, "x")
        message = Message(role="user", content=prompt)
        meta: dict[str, Any] = {"rewritten": [criterion.text for criterion in criteria]}
        yield Task(id=f"assumed-{place}", messages=(message,), rubric=rubric, protocol=protocol, meta=meta)


def _choose(only: Sequence[str], domains: Sequence[_Domain]) -> tuple[tuple[Stage, ...], list[_Domain]]:
    """The stages, and the domains with the arms, that `--only` leaves."""
    known = {*STAGES, *(domain.name for domain in domains), *(name for domain in domains for name in domain.arms)}
    if unknown := [name for name in only if name not in known]:
        listed = ", ".join(sorted(filter(None, known)))
        raise ConfigError(f"--only {unknown[0]} names no stage, domain or arm", remedy=f"choose from {listed}")
    stages = tuple(stage for stage in STAGES if stage in only) or STAGES
    named = [domain for domain in domains if domain.name in only] or [*domains]
    arms = {name for domain in named for name in domain.arms if name in only}
    if not arms:
        return stages, named
    return stages, [replace(domain, arms=_with_before(domain.arms, arms)) for domain in named]


def _with_before(arms: Mapping[str, Part], wanted: set[str]) -> dict[str, Part]:
    """The arms that are wanted, and those that they come after."""
    needed = {*wanted}
    while more := {str(arms[name]["after"]) for name in needed if name in arms and "after" in arms[name]} - needed:
        needed |= more
    return {name: arm for name, arm in arms.items() if name in needed}


def _order(arms: Mapping[str, Part]) -> list[str]:
    """The arms, each after the one that it goes on from."""
    ordered: list[str] = []
    while waiting := [name for name in arms if name not in ordered]:
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
