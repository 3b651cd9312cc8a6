"""The file of a study: what it holds, and which of its parts a command is about.

What all domains share is added to each of them, and their recipes, audits and evaluations are made from the result.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from prorubric.audit.config import AuditConfig
from prorubric.errors import ConfigError
from prorubric.evaluate.records import Policy
from prorubric.files.settings import check_names, read_settings
from prorubric.files.write import open_whole
from prorubric.report.study_results import PaperName, name_paper_domains
from prorubric.rubric.base import config_record, split_commas
from prorubric.text.show import shorten
from prorubric.train.recipe import Recipe, TrainRun, list_runs, make_recipe
from prorubric.train.run_folder import RunFolder, read_state
from prorubric.verbs.compile import CompileConfig
from prorubric.verbs.evaluate import EvaluateConfig, make_suite, read_policies
from prorubric.verbs.train import check_run

Stage = Literal["compile", "train", "audit", "evaluate", "report"]
STAGES: tuple[Stage, ...] = ("compile", "train", "audit", "evaluate", "report")
PARTS = ("compile", "train", "arms", "audit", "evaluate")
COMPILED = "compiled.jsonl"
COPY = "study"
"""The study file in the folder of the study, with its own suffix."""
AXES = {"coverage": "healthbench", "appropriateness": "healthbench-consensus"}
_LONGEST_NAME = 100
_OF_THE_REPORT = ("tables", "figures")
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


@dataclass(frozen=True, slots=True)
class StudyDomain:
    """One domain with its parts, the shared ones included."""

    name: str
    folder: Path
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
    lent: "Mapping[str, StudyDomain]" = field(default_factory=dict)
    """The domains where other arms are trained that are evaluated here too, by the names of these arms."""

    def name_compiled(self, arm: str = "") -> tuple[Path, Part] | None:
        """The file of compiled tasks that an arm, or else the domain, uses, and how it is made; None without one."""
        own = self.arms[arm].get("compile") if arm else None
        if own is not None:
            return self.folder / f"compiled-{arm}.jsonl", {**self.compile, **own}
        return (self.folder / COMPILED, self.compile) if self.compile else None

    def list_compiled(self) -> dict[Path, Part]:
        """The files that have to be compiled, and how: one for all arms, and one for each arm that has its own."""
        return dict(filter(None, map(self.name_compiled, ("", *self.chosen))))

    def make_compile(self, out: Path, options: Part) -> CompileConfig:
        """The options of one compilation."""
        _refuse_out(options, "compile")
        check_names(options, [option.name for option in fields(CompileConfig)], "compile")
        tasks = options.get("tasks") or self.train.get("tasks")
        if tasks is None:
            raise ConfigError("compile has no tasks", remedy="name the file in compile.tasks or train.tasks")
        return CompileConfig(**{**options, "tasks": tasks, "out": out})

    def _describe_recipe(self, name: str, tasks: Path | None = None) -> dict[str, Any]:
        """The fields of the recipe of an arm."""
        arm = self.arms[name]
        found = {**self.train, **{key: value for key, value in arm.items() if key not in _OWN_FIELDS}}
        _refuse_out(found)
        if "sweep" in found:
            raise ConfigError(f"the arm {name} has a sweep", remedy="make each of its values an arm")
        if compiled := self.name_compiled(name):
            found["tasks"] = str(compiled[0])
        if not (tasks or found.get("tasks")):
            raise ConfigError("there are no tasks", remedy="name the file in train.tasks")
        found["tasks"] = str(tasks or found["tasks"])
        found["model"] = arm.get("model") or self.train.get("model")
        if not arm.get("model") and (after := arm.get("after")) is not None:
            if after not in self.arms or after == name:
                known = ", ".join(other for other in self.arms if other != name)
                fault = "itself" if after == name else f"{after!r}, which is not an arm"
                remedy = f"name one of {known}" if known else "leave it out"
                raise ConfigError(f"the arm {name} comes after {fault}", remedy=remedy)
            checkpoints = self.find_first(after)[1].find_checkpoints()
            before = self.arms[after].get("model") or self.train.get("model")
            found["model"] = str(checkpoints[-1].path) if checkpoints else before
        found["out"] = str(self.folder / "train" / name)
        return found

    def write_recipe(self, name: str) -> Path:
        """The recipe of an arm as the verb `train` reads it."""
        path = self.folder / "recipes" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_whole(path) as stream:  # JSON is YAML
            stream.write(json.dumps(self._describe_recipe(name), indent=2, default=str).encode())
        return path

    def find_first(self, name: str) -> tuple[TrainRun, RunFolder]:
        """The first run of an arm, from which others go on."""
        run = list_runs(self.make_recipe(name))[0]
        return run, RunFolder(self.folder / "train" / name / run.name)

    def make_recipe(self, name: str, tasks: Path | None = None) -> Recipe:
        """The recipe of an arm; a plan may give other `tasks`."""
        try:
            recipe = make_recipe(self._describe_recipe(name, tasks), self.folder / "train" / name)
            list_runs(recipe)  # finds what a field cannot be together with others
        except ConfigError as error:
            raise error.at(name) from None
        return recipe

    def list_policies(self) -> list[Policy]:
        """Every run of the chosen arms, and of others that are trained: its last checkpoint, or a plan of one."""
        policies = []
        for name in self.arms:
            runs = list_runs(self.make_recipe(name))
            left = self.list_left(name, runs)
            if name not in self.chosen and left:
                continue
            if runs[0].settings.kind == "best-of-n":
                continue  # it only chooses answers, which another arm is trained on
            for run in runs:
                folder = RunFolder(self.folder / "train" / name / run.name)
                found = [] if run.name in left else folder.find_checkpoints()
                policy = f"{name} {run.seed}"
                policies.append(Policy(policy, str(found[-1].path) if found else f"planned:{policy}", name, run.seed))
        for name, home in self.lent.items():
            policies += [policy for policy in home.list_policies() if policy.group == name]
        return policies

    def list_left(self, name: str, runs: Iterable[TrainRun]) -> list[str]:
        """The runs of an arm that are not done."""
        folder = self.folder / "train" / name
        return [run.name for run in runs if read_state(folder / run.name).state != "done"]

    def find_obstacle(self, name: str) -> str:
        """Why an arm cannot go on from the one that it comes after; empty if it can."""
        after = self.arms[name].get("after")
        if after is None or self.arms[name].get("model"):
            return ""
        run, first = self.find_first(after)
        if read_state(first.path).state != "done":
            return f"waits for {after}"
        if first.find_checkpoints() or run.settings.kind == "best-of-n":
            return ""
        return f"{first.path} has no checkpoint; put it back, or remove that folder to train {after} again"

    def check_runs(self, name: str, runs: Iterable[TrainRun]) -> None:
        """Raise `ConfigError` if a run of an arm was made with another setting."""
        for run in runs:
            check_run(run, self.folder / "train" / name / run.name)

    def make_audit(self, tasks: Path | None = None) -> AuditConfig:
        """The audit; a plan may give other `tasks`, and a policy that does not exist yet is planned."""
        _refuse_out(self.audit, "audit")
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
        _refuse_out(self.evaluate, "evaluate")
        policies = self.list_policies()
        if missing := [policy.name for policy in policies if policy.spec.startswith("planned:")] if not planned else []:
            raise ConfigError(f"{missing[0]} is not trained", remedy="train it first, or leave the arm out")
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


def load_study(path: Path, out: Path | None = None) -> tuple[Study, tuple[StudyDomain, ...]]:
    """The study in a file with its folder, or another one, and its domains with everything that they share."""
    found = read_settings(path, "study", "arms: {ProRubric: {method: prorubric}}")
    try:
        check_names(found, [option.name for option in fields(Study)], "a study")
        study = Study(**found)
        _check_arms(study.arms, "")
        for name, own in study.domains.items():
            check_names(own, (*PARTS, "assume"), f"the domain {name}")
            _check_mappings(own, own, f"the domain {name}")
            check_names(own.get("assume", {}), [option.name for option in fields(Assumed)], "assume")
            _check_arms(own.get("arms", {}), f" of the domain {name}")
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
        domains.append(StudyDomain(name, folder, **parts, assume=assume, chosen=every, asked=every))
    try:
        _check_given_names(domains)
        name_paper_domains([domain.name for domain in domains], study.paper)
    except ConfigError as error:
        raise error.at(path) from None
    if not any(domain.compile or domain.arms or domain.audit or domain.evaluate for domain in domains):
        raise ConfigError("the study has no part", remedy="give compile, arms, audit or evaluate", place=path)
    try:
        return replace(study, out=out), tuple(_lend_arms(domains))
    except ConfigError as error:
        raise error.at(path) from None


def _lend_arms(domains: Sequence[StudyDomain]) -> Iterator[StudyDomain]:
    """The domains, each without the arms that another one trains for it."""
    homes: dict[str, StudyDomain] = {}
    for domain in domains:
        own = {name: arm for name, arm in domain.arms.items() if "domain" not in arm}
        homes[domain.name] = replace(domain, arms=own, chosen=tuple(own), asked=tuple(own))
    for domain in domains:
        lent = {name: arm["domain"] for name, arm in domain.arms.items() if "domain" in arm}
        for name, home in lent.items():
            if len(domain.arms[name]) > 1 or home not in homes or name not in homes[home].arms:
                known = ", ".join(other for other in homes if name in homes[other].arms) or "none"
                line = f"the arm {name} of the domain {domain.name} has domain: {home}"
                raise ConfigError(line, remedy=f"name one that trains it ({known}), and give it no other field")
        yield replace(homes[domain.name], lent={name: homes[home] for name, home in lent.items()})


def _refuse_out(part: Part, name: str = "") -> None:
    if "out" in part:
        raise ConfigError("out is given", remedy="leave it out: the study decides where its parts are", place=name)


def _check_arms(arms: Part, where: str) -> None:
    """Refuse arms that are written in another form."""
    _check_mappings(arms, arms, f"the arms{where}")
    for name, arm in arms.items():
        _check_mappings(arm, ("compile", "sft"), f"the arm {name}{where}")
        if not isinstance(after := arm.get("after", ""), str):
            raise ConfigError(f"after of the arm {name}{where} is {after!r}", remedy="give the name of one arm")


def _check_mappings(found: Part, names: Iterable[str], what: str) -> None:
    """Refuse a part that has no fields, such as one that is empty."""
    for name in names:
        if not isinstance(value := found.get(name, {}), dict):
            line = f"{what}: {name} is {'empty' if value is None else shorten(repr(value))}"
            raise ConfigError(line, remedy="give its fields, or leave it out")


def check_axes(study: Study, domains: Sequence[StudyDomain], path: Path) -> None:
    """Refuse measures that the evaluation does not give; a report alone takes what there is."""
    asked = {str(name) for domain in domains for name in domain.evaluate.get("benchmarks", ())}
    for axis in AXES:
        if (name := getattr(study, axis)) and name not in asked:
            remedy = f"name one of evaluate.benchmarks: {', '.join(sorted(asked)) or 'none'}"
            raise ConfigError(f"{axis} is {name!r}, which is not evaluated", remedy=remedy, place=path)


def _check_given_names(domains: Sequence[StudyDomain]) -> None:
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
        if name in named and name in _OF_THE_REPORT:
            raise ConfigError(f"{name!r} is a folder of the report", remedy="choose another name for the domain")
        if name in named and name in arms:
            raise ConfigError(f"{name!r} is a domain and an arm", remedy="rename one: --only takes both")


def choose_parts(only: Sequence[str], domains: Sequence[StudyDomain]) -> tuple[tuple[Stage, ...], list[StudyDomain]]:
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


def _has_part(domain: StudyDomain, stage: str) -> bool:
    if stage == "compile":
        return bool(domain.list_compiled())
    return bool(domain.arms if stage == "train" else getattr(domain, stage))


def order_arms(domain: StudyDomain) -> list[str]:
    """The arms that are trained, each after the one that it goes on from."""
    ordered, arms = list[str](), domain.arms
    while waiting := [name for name in domain.chosen if name not in ordered]:
        # An arm that comes after one that does not exist is refused when its recipe is written.
        ready = [name for name in waiting if arms[name].get("after") in ordered or arms[name].get("after") not in arms]
        if not ready:
            raise ConfigError(f"the arms {', '.join(waiting)} come after each other", remedy="let one of them begin")
        ordered += ready
    return ordered
