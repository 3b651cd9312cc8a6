"""The texts that some schemes read beside the dimensions, each from one question to the generator.

`k1` is one standard for the whole checklist (in `meta["k1"]`), `rewritten` restates the criteria one by one (in
`meta["rewritten"]`), `labels` says how much each criterion matters (as tags, for `weighted`). A text that the
generator does not deliver is not there, and the task says why; nothing is filled in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import JsonValue

from prorubric.compile.check import show_indices
from prorubric.compile.compiler import Asked, Compiler
from prorubric.compile.draft import Fault, find_object
from prorubric.compile.prompt import Question
from prorubric.llm.model import Failure, Reply
from prorubric.rubric.labels import LABEL_TAG, LABELS
from prorubric.rubric.records import Criterion, Rubric, Task
from prorubric.text.failures import has_failure_clause
from prorubric.text.show import is_blank, shorten

TextName = Literal["k1", "rewritten", "labels"]
TEXTS: tuple[TextName, ...] = ("k1", "rewritten", "labels")

QUESTIONS: dict[TextName, Question] = {"k1": "one", "rewritten": "restate", "labels": "label"}


@dataclass(frozen=True, slots=True)
class WithTexts:
    """A task with the texts that could be made, and the reasons for those that could not."""

    task: Task
    failed: Mapping[TextName, str]
    faults: tuple[Fault, ...] = ()
    lineage: Mapping[TextName, JsonValue] = field(default_factory=dict, compare=False)
    """How each text was asked for."""
    failure: Failure | None = None
    """What the last failed call said, where one got no reply."""


async def add_texts(compiler: Compiler, task: Task, names: tuple[TextName, ...]) -> WithTexts:
    """Ask for each text and set it into the task."""
    failed: dict[TextName, str] = {}
    faults: list[Fault] = []
    lineage: dict[TextName, JsonValue] = {}
    failure = None
    for name in names:
        asked = await _ask(compiler, task, name)
        lineage[name] = _describe(compiler, task, name, asked)
        faults += [fault for attempt in asked.faults for fault in attempt]
        failure = asked.failure or failure
        if asked.found is None:
            failed[name] = asked.failure.reason if asked.failure else asked.faults[-1][0].message
        else:
            task = _set(task, name, asked.found)
    return WithTexts(task, failed, tuple(faults), lineage, failure)


def _describe(compiler: Compiler, task: Task, name: TextName, asked: Asked[dict[str, str]]) -> dict[str, JsonValue]:
    about: dict[str, JsonValue] = {
        "generator": compiler.name,
        "prompt_sha256": compiler.prompt_for(QUESTIONS[name], task.domain).sha256,
        "attempts": asked.attempts,
    }
    if asked.faults:
        about["faults"] = [[fault.message for fault in faults] for faults in asked.faults]
    return about


async def _ask(compiler: Compiler, task: Task, name: TextName) -> Asked[dict[str, str]]:
    n = len(task.rubric)

    def read(reply: Reply) -> dict[str, str] | tuple[Fault, ...]:
        found = find_object(reply, (_KEYS.get(name, "description"),))
        if isinstance(found, Fault):
            return (found,)
        return _read_one(found) if name == "k1" else _read_each(found, name, n)

    return await compiler.ask(QUESTIONS[name], task, read, make_text_schema(name, n))


def _read_one(found: Mapping[str, Any]) -> dict[str, str] | tuple[Fault, ...]:
    texts = {key: found.get(key) for key in ("name", "description")}
    for key, text in texts.items():
        if not isinstance(text, str) or is_blank(text):
            return (Fault(f"no {key}", f"There is no {key}."),)
    if not has_failure_clause(str(texts["description"])):
        return (Fault("clause", 'The description does not say what makes an answer fail; end with "Fails if …".'),)
    return {key: str(text).strip() for key, text in texts.items()}


def _read_each(found: Mapping[str, Any], name: TextName, n: int) -> dict[str, str] | tuple[Fault, ...]:
    key = "criteria" if name == "rewritten" else "labels"
    rows = found.get(key)
    if not isinstance(rows, dict):
        return (Fault("no object", f'There is no object under "{key}".'),)
    wanted = {str(index) for index in range(1, n + 1)}
    missing = sorted(map(int, wanted - rows.keys()))
    if missing:
        return (Fault("left out", f"Item {show_indices(missing)} is left out; every item needs its own."),)
    strangers = [other for other in rows if other not in wanted]
    if strangers:
        return (Fault("out of range", f"There is no item {shorten(strangers[0])}; they are numbered from 1 to {n}."),)
    bad = [index for index, value in rows.items() if not _is_usable(value, name)]
    if bad:
        allowed = "a text" if name == "rewritten" else f"one of {', '.join(LABELS)}"
        value = shorten(repr(rows[bad[0]]), 40)
        return (Fault("not allowed", f"Item {bad[0]} has {value}; give {allowed}."),)
    return {index: rows[index].strip() for index in sorted(wanted, key=int)}


def _is_usable(value: object, name: TextName) -> bool:
    if not isinstance(value, str) or is_blank(value):
        return False
    return name == "rewritten" or value.strip().lower() in LABELS


def _set(task: Task, name: TextName, found: dict[str, str]) -> Task:
    if name == "labels":
        criteria = (
            _label(criterion, found[str(index)].lower()) for index, criterion in enumerate(task.rubric.criteria, 1)
        )
        return task.model_copy(update={"rubric": Rubric(criteria=tuple(criteria))})
    value: JsonValue = {**found} if name == "k1" else [*found.values()]
    return task.model_copy(update={"meta": {**task.meta, name: value}})


def _label(criterion: Criterion, label: str) -> Criterion:
    others = tuple(tag for tag in criterion.tags if not tag.startswith(LABEL_TAG))
    return criterion.model_copy(update={"tags": (*others, LABEL_TAG + label)})


def make_text_schema(name: TextName, n: int) -> dict[str, Any]:
    """The JSON schema of a reply with a text for n criteria."""
    text: dict[str, Any] = {"type": "string"}
    if name == "k1":
        return _object({"name": text, "description": text})
    if name == "labels":
        text = {"type": "string", "enum": [*LABELS]}
    return _object({_KEYS[name]: _object({str(index): text for index in range(1, n + 1)})})


_KEYS: dict[TextName, str] = {"rewritten": "criteria", "labels": "labels"}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
