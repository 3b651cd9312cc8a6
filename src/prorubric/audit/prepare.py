"""What an audit starts from: its models, tasks with dimensions, the schemes that they allow, and answers."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from prorubric.aggregate.choose import (
    ALL,
    AUTO,
    READS_WORDS,
    check_alone,
    check_judging,
    choose_schemes,
    split_by_words,
)
from prorubric.aggregate.schemes import find_scheme
from prorubric.audit.answers import find_answers
from prorubric.audit.cases import AuditCase
from prorubric.audit.config import AuditConfig
from prorubric.audit.editors import RULES as EDIT_BY_RULES
from prorubric.audit.editors import Editor, make_editor
from prorubric.audit.edits import EDITS
from prorubric.audit.edits.hacks import load_phrases, make_own_hacks
from prorubric.audit.edits.kind import EditKind
from prorubric.compile.compiler import LINEAGE, RULES, Compiler
from prorubric.compile.rules import LABEL
from prorubric.datasets.rejects import Reject, Rejects
from prorubric.errors import SchemeError, SourceError
from prorubric.judge.judge import MOST_REASKS
from prorubric.judge.panel import list_judges, make_judge
from prorubric.llm.journal import Journal
from prorubric.llm.make import require_text
from prorubric.llm.model import Model
from prorubric.llm.together import run_in_order
from prorubric.rubric.records import Task
from prorubric.runs.models import AnyModel, Models

NO_DIMENSIONS = "none: no scheme reads them"
# Far above any draw that a judge makes by itself, and a first attempt as theirs are.
ANOTHER_DRAW = 100_000 * (MOST_REASKS + 1)


@dataclass(frozen=True, slots=True)
class AuditModels:
    """Every model that takes part."""

    judges: Mapping[str, AnyModel]
    """By name: one, or a panel or cascade of several."""
    judges_again: Mapping[str, AnyModel]
    """The same, asked afresh: none of their replies come from the journal of the first time."""
    editor: Editor
    generator: Model | None
    """None: the rules."""
    answers: Model | None
    """None: the answers are given or composed."""


@dataclass(frozen=True, slots=True)
class Start:
    """What an audit starts from."""

    tasks: dict[str, Task]
    dimensions_from: str
    schemes: tuple[str, ...]
    left_out: dict[str, str]
    cases: list[AuditCase]
    answers_from: str


def check_asked(config: AuditConfig) -> None:
    """Find mistakes in the options before dimensions are made, which may cost tokens."""
    for name in _split_names(_name_schemes(config)):
        check_alone(name)
    if config.responses is not None and not config.responses.is_file():
        raise SourceError(f"{config.responses}: no such file; check the path")


def choose_kinds(config: AuditConfig) -> dict[str, EditKind]:
    """The edits to make by name: those of the options, and one for each phrase of the user's."""
    own = make_own_hacks(load_phrases(config.hacks_file)) if config.hacks_file else {}
    return {name: EDITS[name] for name in config.edits} | own


def check_models(config: AuditConfig, models: Models) -> None:
    """Make every model that the options name; raises before there is a folder."""
    make_judge({name: models.make(name) for name in list_judges(config.judge)}, config.judging)
    for spec in (config.editor, config.generator, config.answers_from):
        if spec is not None and spec not in (EDIT_BY_RULES, RULES):
            require_text(models.make(spec))


def open_models(config: AuditConfig, models: Models, journal: Journal) -> AuditModels:
    """The models with their replies kept in a journal."""
    names = list_judges(config.judge)

    def open_text(spec: str) -> Model:
        return require_text(models.open(spec, journal))

    return AuditModels(
        judges={name: models.open(name, journal) for name in names},
        judges_again={name: models.open(name, journal, ANOTHER_DRAW) for name in names},
        editor=make_editor(config.editor, open_text),
        generator=None if config.generator == RULES else open_text(config.generator),
        answers=open_text(config.answers_from) if config.answers_from else None,
    )


async def prepare(
    config: AuditConfig, models: AuditModels, chosen: dict[str, Task], everything: dict[str, Task], rejects: Rejects
) -> Start:
    """Dimensions for the tasks that need some, the schemes that they allow, and answers to them."""
    asked = _name_schemes(config)
    compiled, dimensions_from = chosen, NO_DIMENSIONS
    if wants_dimensions(config):
        compiled, dimensions_from = await add_dimensions(chosen, models.generator, config, rejects)
    tasks, schemes, left_out = keep_judgeable(compiled, asked, config.tasks, rejects)
    if asked.strip() == ALL and not judges_fixed(config):
        schemes, unread = split_by_words(schemes)
        left_out |= unread
    cases, answers_from = await find_answers(tasks, everything | tasks, models.answers, config, rejects)
    return Start(tasks, dimensions_from, schemes, left_out, cases, answers_from)


def choose_tasks(tasks: dict[str, Task], limit: int | None) -> dict[str, Task]:
    """At most `limit` tasks, the same ones every time: those whose ids have the lowest hashes, in the file's order."""
    if limit is None or limit >= len(tasks):
        return tasks
    chosen = set(sorted(tasks, key=lambda name: hashlib.sha256(name.encode(errors="surrogatepass")).digest())[:limit])
    return {name: task for name, task in tasks.items() if name in chosen}


def wants_dimensions(config: AuditConfig) -> bool:
    """True if a scheme or a fixed criterion needs the tasks' dimensions."""
    return judges_fixed(config) or need_dimensions(_name_schemes(config))


def judges_fixed(config: AuditConfig) -> bool:
    """True unless a judge compares words: fixed criteria are not about words."""
    return READS_WORDS not in list_judges(config.judge)


def need_dimensions(names: str) -> bool:
    """True if one of these schemes reads dimensions, or weighs by their number."""
    return names.strip() == ALL or any("dimensions" in find_scheme(name).needs for name in _split_names(names))


def is_grouped_by_rules(task: Task) -> bool:
    """True if `rules` made the dimensions of a task, in this audit or before."""
    lineage = task.meta.get(LINEAGE)
    # The lineage has the version as well: rules/5.
    return isinstance(lineage, dict) and str(lineage.get("generator")).split("/")[0] == RULES


async def add_dimensions(
    tasks: dict[str, Task], generator: Model | None, config: AuditConfig, rejects: Rejects
) -> tuple[dict[str, Task], str]:
    """The tasks with dimensions, made for those that have none, and who made them."""
    ready = {name: task for name, task in tasks.items() if task.protocol is not None}
    by_file, compiler = len(ready), Compiler(generator)
    missing = (compiler.compile(task) for task in tasks.values() if task.protocol is None)
    async for compiled in run_in_order(missing, 2 * config.http.concurrency):
        if compiled.task.protocol is None:
            reason = f"task {compiled.task.id!r} got no dimensions ({compiled.reason}); compile it by itself"
            rejects.add(Reject(config.tasks, 0, reason, "the task got no dimensions"))
        else:
            ready[compiled.task.id] = compiled.task
    maker = LABEL if config.generator == RULES else config.generator
    by_generator = len(ready) - by_file
    if not by_generator:
        maker = "the file's own"
    elif by_file:
        maker = f"the file's own for {by_file}, {maker} for {by_generator}"
    return {name: ready[name] for name in tasks if name in ready}, maker


def keep_judgeable(
    tasks: dict[str, Task], names: str, path: str, rejects: Rejects
) -> tuple[dict[str, Task], tuple[str, ...], dict[str, str]]:
    """The tasks that can be judged under all schemes that were named, those schemes, and what `all` had to leave out.

    A task that does not fit a scheme is a reject; a scheme that fits no task is an error.
    """
    faults: dict[str, SchemeError] = {}
    for name, task in tasks.items():
        try:
            for scheme in _split_names(names):
                check_judging(task, scheme)
        except SchemeError as error:
            faults[name] = error
    fitting = {name: task for name, task in tasks.items() if name not in faults} or tasks
    for name, fault in faults.items():
        if name not in fitting:
            rejects.add(Reject.of(path, 0, fault))
    schemes, left_out = choose_schemes(names, list(fitting.values()), check_judging)
    return fitting, schemes, left_out


def _name_schemes(config: AuditConfig) -> str:
    """The sum and ProRubric. A judge that compares words cannot read a dimension; the groups hold for it as well."""
    if config.scheme.strip() != AUTO:
        return config.scheme
    return "additive,conjunctive,prorubric" if judges_fixed(config) else "additive,conjunctive"


def _split_names(names: str) -> tuple[str, ...]:
    """The schemes that are named; `all` names none in particular."""
    return () if names.strip() == ALL else tuple(name.strip() for name in names.split(",") if name.strip())
