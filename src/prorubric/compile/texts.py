"""Texts that some schemes read instead of the dimensions; the generator writes each for one question.

`k1` is one standard for the whole checklist (in `meta["k1"]`), `rewritten` restates the criteria one by one (in
`meta["rewritten"]`), `labels` says how much each criterion matters (as tags, for `weighted`), `required` which ones an
answer cannot do without (as tags, for `licensed`, `required-first` and `veto`). A text that the generator does not
deliver stays missing, and the task says why.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, Literal

from pydantic import JsonValue

from prorubric.compile.check import show_indices
from prorubric.compile.compiler import Compiled, Compiler, add_lineage
from prorubric.compile.draft import Fault, find_object, make_object_schema
from prorubric.compile.prompt import Question
from prorubric.llm.model import Reply
from prorubric.rubric.labels import LABEL_TAG, LABELS, NEED_TAGS, NEEDS, is_label
from prorubric.rubric.records import Rubric, Task
from prorubric.text.failures import has_failure_clause
from prorubric.text.show import is_blank, shorten

TextName = Literal["k1", "rewritten", "labels", "required"]
QUESTIONS: dict[TextName, Question] = {"k1": "one", "rewritten": "restate", "labels": "label", "required": "require"}
_KEYS: dict[TextName, str] = {"k1": "description", "rewritten": "criteria", "labels": "labels", "required": "labels"}
_ALLOWED: dict[TextName, tuple[str, ...]] = {"labels": LABELS, "required": NEEDS}


async def add_texts(compiler: Compiler, done: Compiled, names: tuple[TextName, ...]) -> Compiled:
    """Ask for each text and add it to the task."""
    task, n = done.task, len(done.task.rubric)
    faults, failed, failure = [*done.faults], dict(done.failed_texts), done.failure
    lineage: dict[str, JsonValue] = {}
    for name in names:
        question = QUESTIONS[name]
        asked = await compiler.ask(question, task, partial(_read_text, name=name, n=n), make_text_schema(name, n))
        about: dict[str, JsonValue] = {
            "generator": compiler.name,
            "prompt_sha256": compiler.prompt_for(question, task.domain).sha256,
            "attempts": asked.attempts,
        }
        if asked.faults:
            about["faults"] = [[fault.detail for fault in attempt] for attempt in asked.faults]
        lineage[name] = about
        faults += chain.from_iterable(asked.faults)
        if asked.found is not None:
            task = _set_text(task, name, asked.found)
        elif asked.failure is not None:
            failure = asked.failure
            failed[name] = Fault(failure.kind, failure.reason)
        else:
            failed[name] = asked.faults[-1][0]
    task = add_lineage(task, {"texts": lineage})
    if failed:
        task = add_lineage(task, {"failed_texts": {name: fault.detail for name, fault in failed.items()}})
    return replace(done, task=task, faults=tuple(faults), failed_texts=failed, failure=failure)


async def _read_text(reply: Reply, name: TextName, n: int) -> dict[str, str] | Fault:
    return parse_text(reply, name, n)


def parse_text(reply: Reply, name: TextName, n: int) -> dict[str, str] | Fault:
    """The text in a reply: name and description for `k1`, else one entry for each of the n items."""
    found = find_object(reply, (_KEYS[name],))
    if isinstance(found, Fault):
        return found
    if name != "k1":
        return _read_each(found, name, n)
    texts = {key: found.get(key) for key in ("name", "description")}
    for key, text in texts.items():
        if not isinstance(text, str) or is_blank(text):
            return Fault(f"no {key}", f"There is no {key}.")
    if not has_failure_clause(str(texts["description"])):
        return Fault("clause", 'The description does not say what makes an answer fail; end with "Fails if …".')
    return {key: str(text).strip() for key, text in texts.items()}


def _read_each(found: Mapping[str, Any], name: TextName, n: int) -> dict[str, str] | Fault:
    rows = found.get(_KEYS[name])
    if not isinstance(rows, dict):
        return Fault("no object", f'There is no object under "{_KEYS[name]}".')
    wanted = [str(index) for index in range(1, n + 1)]
    if missing := [int(index) for index in wanted if index not in rows]:
        return Fault("left out", f"Item {show_indices(missing)} is left out; every item needs its own.")
    for index, value in rows.items():
        if index not in wanted:
            return Fault("out of range", f"There is no item {shorten(index)}; they are numbered from 1 to {n}.")
        is_text = isinstance(value, str) and not is_blank(value)
        labels = _ALLOWED.get(name)
        if not is_text or (labels and value.strip().lower() not in labels):
            allowed = f"one of {', '.join(labels)}" if labels else "a text"
            return Fault("not allowed", f"Item {index} has {shorten(repr(value), 40)}; give {allowed}.")
    texts = {index: rows[index].strip() for index in wanted}
    if name == "required" and all(label.lower() == "optional" for label in texts.values()):
        return Fault("nothing required", "No item is required; an answer that meets none of them is not an answer.")
    return texts


def _set_text(task: Task, name: TextName, found: dict[str, str]) -> Task:
    if name not in _ALLOWED:
        value: JsonValue = {**found} if name == "k1" else [*found.values()]
        return task.model_copy(update={"meta": {**task.meta, name: value}})
    criteria = []
    for criterion, label in zip(task.rubric.criteria, found.values(), strict=True):
        others = (tag for tag in criterion.tags if not (is_label(tag) if name == "labels" else tag in NEED_TAGS))
        criteria.append(criterion.model_copy(update={"tags": (*others, LABEL_TAG + label.lower())}))
    return task.model_copy(update={"rubric": Rubric(criteria=tuple(criteria))})


def make_text_schema(name: TextName, n: int) -> dict[str, Any]:
    """The JSON schema of a reply with a text for n criteria."""
    text: dict[str, Any] = {"type": "string"}
    if name == "k1":
        return make_object_schema({"name": text, "description": text})
    if name in _ALLOWED:
        text = {"type": "string", "enum": [*_ALLOWED[name]]}
    return make_object_schema({_KEYS[name]: make_object_schema({str(index): text for index in range(1, n + 1)})})
