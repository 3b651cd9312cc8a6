"""What is done to each task of a file, whichever engine does it: group, add texts, bake, in this order."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Generic, Literal, TypeVar

from pydantic import JsonValue

from prorubric.compile.bake import (
    TRANSFORMS,
    Transform,
    count_failure_sentences,
    find_conflict,
    forget_descriptions,
    list_baked,
)
from prorubric.compile.compiler import LINEAGE, STATES, Compiler, GeneratorConfig, State
from prorubric.compile.draft import Fault
from prorubric.compile.texts import TextName, add_texts
from prorubric.errors import SchemeError
from prorubric.judge.texts import read_one
from prorubric.llm.make import require_text
from prorubric.llm.model import Failure, Model, YesNoModel
from prorubric.rubric.forms import render_task
from prorubric.rubric.labels import is_labelled
from prorubric.rubric.records import Task
from prorubric.text.show import shorten

Group = Literal["all", "missing", "none"]
Row = dict[str, JsonValue]
TaskT = TypeVar("TaskT", Task, Row)
_LONGEST_FAILURE = 120

# Transforms that bake a text which a generator has to write first.
TEXT_OF: Mapping[Transform, TextName] = {"k1": "k1", "weighted": "labels", "rewritten": "rewritten"}


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done to every task."""

    group: Group = "all"
    texts: tuple[TextName, ...] = ()
    transforms: tuple[Transform, ...] = ()
    generation: GeneratorConfig = field(default_factory=GeneratorConfig)
    own_prompt: str | None = None
    """The text of the prompt file: another machine may have no such file, or another one."""


@dataclass(frozen=True, slots=True)
class Done(Generic[TaskT]):
    """What became of one task, and what is counted about it."""

    task: TaskT
    """A record while it is worked on, and at the end the row to write: plain values, which travel fast."""
    state: State
    reason: str | None = None
    attempts: int = 0
    faults: Mapping[str, int] = field(default_factory=dict)
    text_faults: Mapping[str, int] = field(default_factory=dict)
    repairs: int = 0
    failed_texts: Mapping[str, str] = field(default_factory=dict)
    failure: Failure | None = None
    """What the failed call said, where a task got no reply."""
    failure_sentences: Mapping[str, int] = field(default_factory=dict)
    """What no-failure found, where it was set in."""


@dataclass(frozen=True, slots=True)
class CompileJob:
    """What is done to every task of a run, for an engine to do anywhere."""

    model: str
    plan: Plan

    def start(self, model: Model | YesNoModel) -> "CompileWorker":
        """A worker that asks this generator."""
        return CompileWorker(Compiler(require_text(model), self.plan.generation, self.plan.own_prompt), self.plan)


@dataclass(frozen=True, slots=True)
class CompileWorker:
    """Does to tasks what the plan says."""

    compiler: Compiler
    plan: Plan

    async def run(self, task: Task) -> Done[Row]:
        """One task, up to the row that is written."""
        done = await process(self.compiler, task, self.plan)
        about = {part.name: getattr(done, part.name) for part in fields(done)}
        return Done(**about | {"task": render_task(done.task)})

    def stop(self) -> None:
        """Ask the generator nothing more."""
        self.compiler.stop()


async def process(compiler: Compiler, task: Task, plan: Plan) -> Done[Task]:
    """Do to one task what the plan says. It comes out again in any case."""
    done = Done(task, _read_state(task))
    if needs_grouping(task, plan):
        done = await _group(compiler, task)
    if done.state == "excluded":
        return done
    done = await _add_texts(compiler, done, plan)
    return _bake(done, plan.transforms) if plan.transforms and done.state != "excluded" else done


def needs_grouping(task: Task, plan: Plan) -> bool:
    """True where the task gets new dimensions."""
    return plan.group == "all" or (plan.group == "missing" and task.protocol is None)


def list_texts(task: Task, plan: Plan) -> tuple[TextName, ...]:
    """The texts that a generator has to write for a task: those that are wanted, and those to be baked and missing."""
    needed = [TEXT_OF[name] for name in plan.transforms if name in TEXT_OF and not _has(task, TEXT_OF[name])]
    return tuple(dict.fromkeys([*plan.texts, *needed]))


def _read_state(task: Task) -> State:
    """What became of a task when its dimensions were made."""
    lineage = task.meta.get(LINEAGE)
    return "repaired" if isinstance(lineage, dict) and lineage.get("state") == "repaired" else "kept"


async def _group(compiler: Compiler, task: Task) -> Done[Task]:
    if "appropriateness" in list_baked(task):
        # To group it with the others would undo what the fixed criterion is there for.
        reason = "appropriateness is set into the task; compile the file that it was made from"
        return _exclude(Done(task, "excluded"), reason)
    made = await compiler.compile(forget_descriptions(task))
    return Done(
        made.task,
        made.state,
        made.reason,
        made.attempts,
        _count(made.faults),
        _count(made.text_faults),
        len(made.repairs),
        failure=made.failure,
    )


def _count(faults: tuple[Fault, ...]) -> Counter[str]:
    return Counter([fault.kind for fault in faults])


async def _add_texts(compiler: Compiler, done: Done[Task], plan: Plan) -> Done[Task]:
    names = list_texts(done.task, plan)
    if not names:
        return done
    if compiler.model is None:
        why = f"no text {', '.join(names)}, and no model to write it; name one with --generator"
        return _exclude(done, why)
    made = await add_texts(compiler, done.task, names)
    faults = Counter(done.faults) + _count(made.faults)
    failed = {str(name): why for name, why in made.failed.items()}
    texts: dict[str, JsonValue] = {str(name): about for name, about in made.lineage.items()}
    task = _add_lineage(made.task, texts=texts)
    if failed:
        task = _add_lineage(task, failed_texts={**failed})
    done = replace(done, task=task, faults=faults, failed_texts=failed, failure=made.failure or done.failure)
    missing = next((name for name in plan.transforms if TEXT_OF.get(name) in made.failed), None)
    if missing is not None:
        return _exclude(done, f"no text for {missing}")
    return done


def _bake(done: Done[Task], transforms: tuple[Transform, ...]) -> Done[Task]:
    task = done.task
    try:
        for name in transforms:
            conflict = find_conflict(list_baked(task), name)
            if conflict is not None:
                return _exclude(done, conflict)
            task = TRANSFORMS[name](task)
    except SchemeError as error:
        return _exclude(done, error.message)  # without the place, which differs from task to task
    found = count_failure_sentences(task.meta) if "no-failure" in transforms else {}
    return replace(done, task=task, failure_sentences=found)


def _exclude(done: Done[Task], reason: str) -> Done[Task]:
    task = _add_lineage(done.task, state="excluded", reason=reason)
    # What was mended or is left at fault in a draft that is not kept is nobody's concern.
    return replace(done, task=task, state="excluded", reason=reason, repairs=0, text_faults={})


def _add_lineage(task: Task, **about: JsonValue) -> Task:
    before = task.meta.get(LINEAGE)
    lineage = {**(before if isinstance(before, dict) else {}), **about}
    return task.model_copy(update={"meta": {**task.meta, LINEAGE: lineage}})


def _has(task: Task, name: TextName) -> bool:
    if name == "labels":
        return all(is_labelled(criterion) for criterion in task.rubric.criteria)
    return read_one(task) is not None if name == "k1" else "rewritten" in task.meta


@dataclass(slots=True)
class Tally:
    """What has been counted over the tasks so far."""

    states: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(STATES, 0)))
    reasons: Counter[str] = field(default_factory=Counter)
    attempts: Counter[int] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    text_faults: Counter[str] = field(default_factory=Counter)
    dimensions: Counter[int] = field(default_factory=Counter)
    failed_texts: Counter[str] = field(default_factory=Counter)
    failure_sentences: Counter[str] = field(default_factory=Counter)
    repairs: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    last_failure: str = ""
    silent: int = 0
    """How many tasks in a row got no reply."""

    @property
    def tasks(self) -> int:
        """How many tasks came to an end."""
        return self.states.total()

    def add(self, done: Done[Row]) -> None:
        """Count one task."""
        dimensions = done.task.get("protocol")
        self.states[done.state] += 1
        if done.reason is not None:
            self.reasons[done.reason] += 1
        if done.attempts:
            self.attempts[done.attempts] += 1
        if done.faults or done.text_faults or done.failed_texts:
            self.faults.update(done.faults)
            self.text_faults.update(done.text_faults)
            self.failed_texts.update(done.failed_texts.keys())
        self.failure_sentences.update(done.failure_sentences)
        self.repairs += done.repairs
        # An endpoint that refuses a question is there, and may answer the next.
        self.silent = self.silent + 1 if done.failure and not done.failure.is_refusal else 0
        if done.failure:
            self.last_failure = shorten(done.failure.reason, _LONGEST_FAILURE)
            self.failures[self.last_failure] += 1
        if isinstance(dimensions, list) and done.state != "excluded":
            self.dimensions[len(dimensions)] += 1
