"""What a run does to each task, on any engine: group, add texts, bake, in this order."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import JsonValue

from prorubric.compile.bake import Transform, bake, count_failure_sentences, forget_descriptions, list_baked
from prorubric.compile.compiler import LINEAGE, Compiled, Compiler, GeneratorConfig, add_lineage
from prorubric.compile.draft import Fault
from prorubric.compile.texts import TextName, add_texts
from prorubric.compile.verify import find_unverified
from prorubric.errors import SchemeError
from prorubric.judge.texts import read_one
from prorubric.rubric.labels import is_labelled
from prorubric.rubric.records import Task

Group = Literal["all", "missing", "none"]

# Transforms that bake a text, which a generator has to write first.
TEXT_OF: Mapping[Transform, TextName] = {"k1": "k1", "weighted": "labels", "rewritten": "rewritten"}
_HAS_TEXT: Mapping[TextName, Callable[[Task], bool]] = {
    "k1": lambda task: read_one(task) is not None,
    "labels": lambda task: all(map(is_labelled, task.rubric.criteria)),
    "rewritten": lambda task: "rewritten" in task.meta,
}


@dataclass(frozen=True, slots=True)
class CompilePlan:
    """What is done to every task."""

    group: Group = "all"
    texts: tuple[TextName, ...] = ()
    transforms: tuple[Transform, ...] = ()
    generation: GeneratorConfig = field(default_factory=GeneratorConfig)
    own_prompt: str | None = None
    """The text of the prompt file, which other machines may not have."""
    verify: bool = False
    """Ask a second model about each new dimension."""
    verify_strict: bool = False
    """Exclude tasks that have a dimension with a fault, or one that is not verified."""

    def needs_grouping(self, task: Task) -> bool:
        """True if the task gets new dimensions."""
        return self.group == "all" or (self.group == "missing" and task.protocol is None)

    def list_texts(self, task: Task) -> tuple[TextName, ...]:
        """The texts that a generator has to write for a task: those asked for, and those to bake that are missing."""
        baked = [TEXT_OF[name] for name in self.transforms if name in TEXT_OF]
        return tuple(dict.fromkeys([*self.texts, *(name for name in baked if not _HAS_TEXT[name](task))]))


@dataclass(frozen=True, slots=True)
class CompileWorker:
    """Does to tasks what the plan says."""

    compiler: Compiler
    plan: CompilePlan

    async def run(self, task: Task) -> Compiled:
        """Group one task, add its texts and bake it; if a step cannot be done, the task is excluded."""
        compiler, plan = self.compiler, self.plan
        earlier = task.meta.get(LINEAGE)
        was_repaired = isinstance(earlier, dict) and earlier.get("state") == "repaired"
        done = Compiled(task, "repaired" if was_repaired else "kept")
        if plan.needs_grouping(task):
            if "appropriateness" in list_baked(task):
                # Grouping the fixed criterion with the others would undo its effect.
                return _exclude(done, Fault("appropriateness is applied already; compile the file it was made from"))
            done = await compiler.compile(forget_descriptions(task))
        if plan.verify_strict and (fault := find_unverified(done.verified)):
            done = _exclude(done, fault)
        if done.state == "excluded":
            return done
        names = plan.list_texts(done.task)
        if names and compiler.model is None:
            missing = ", ".join(names)
            return _exclude(done, Fault(f"no text {missing}, and no model to write it; name one with --generator"))
        if names:
            done = await add_texts(compiler, done, names)
        for name in plan.transforms:
            if TEXT_OF.get(name) in done.failed_texts:
                return _exclude(done, Fault(f"no text for {name}"))
        try:
            task = bake(done.task, plan.transforms)
        except SchemeError as error:
            # The place differs from task to task and is not counted.
            kind = f"{error.kind}; {error.remedy}" if error.remedy else error.kind
            return _exclude(done, Fault(kind, f"{error.place}: {error.detail}" if error.detail else ""))
        found = count_failure_sentences(task) if "no-failure" in plan.transforms else {}
        return replace(done, task=task, failure_sentences=found)


def _exclude(done: Compiled, exclusion: Fault) -> Compiled:
    lineage: dict[str, JsonValue] = {"state": "excluded", "reason": exclusion.kind}
    if exclusion.detail:
        lineage["detail"] = exclusion.detail
    task = add_lineage(done.task, lineage)
    # Repairs and faults of a draft that is not kept are not counted.
    return replace(done, task=task, state="excluded", exclusion=exclusion, repairs=(), text_faults=(), verified=())
