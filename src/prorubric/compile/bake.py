"""Bake controls into the tasks themselves: each transform is a pure function from task to task.

A scheme reads a task in its own way when responses are judged. With the control baked in, any trainer or judge can use
it without knowing schemes: the sum over the new criteria (`additive`), or the weighted mean over the new dimensions
(`prorubric`), is what the control's own scheme would give. `meta["baked"]` keeps what was replaced.

For `X+appropriateness` bake X and then `appropriateness`; only `weighted`, which leaves no dimensions, comes after it.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

from prorubric.errors import SchemeError
from prorubric.judge.texts import (
    APPROPRIATENESS_DESCRIPTION,
    APPROPRIATENESS_NAME,
    APPROPRIATENESS_TEXT,
    WHOLE_NAME,
    list_rewritten,
    merge_dimensions,
    read_one,
    render_group,
)
from prorubric.rubric.labels import LABEL_TAG, find_label, relabel
from prorubric.rubric.records import Criterion, Dimension, ProtocolRubric, Rubric, Task
from prorubric.text.failures import remove_failure_clauses

Transform = Literal["raw-and", "no-failure", "k1", "k1-mechanical", "weighted", "rewritten", "appropriateness"]
BAKED = "baked"
DESCRIBING: tuple[Transform, ...] = ("raw-and", "no-failure", "k1", "k1-mechanical")
"""Transforms that write new descriptions."""
NEEDS_DIMENSIONS: tuple[Transform, ...] = ("raw-and", "no-failure", "k1-mechanical", "appropriateness")


Change = tuple[dict[str, Any], dict[str, Any]]
"""What a transform replaces, for the record, and the fields of the task that change."""


def bake(task: Task, names: Sequence[Transform]) -> Task:
    """Apply transforms in this order; `SchemeError` if one does not fit the task or those before it."""
    for name in names:
        place = f"task {task.id!r}"
        conflict = find_conflict(list_baked(task), name)
        if conflict is not None:
            raise SchemeError(conflict, place=place)
        if name in NEEDS_DIMENSIONS and task.protocol is None:
            kind = f"{name} needs dimensions and the task has none"
            raise SchemeError(kind, remedy="compile them first", place=place)
        before, update = _TRANSFORMS[name](task)
        baked = [*_read_baked(task), {"transform": name, **before}]
        task = task.model_copy(update={**update, "meta": {**task.meta, BAKED: baked}})
    return task


def _bake_raw_and(task: Task) -> Change:
    """Each dimension's description is its criteria word for word, under "all must hold"."""
    return _replace_descriptions(task, [render_group(task.rubric, dimension) for dimension in _dimensions(task)])


def _bake_no_failure(task: Task) -> Change:
    """Descriptions without their explicit failure sentences, with counts of what matched."""
    stripped = [remove_failure_clauses(dimension.description) for dimension in _dimensions(task)]
    before, update = _replace_descriptions(task, [one.text for one in stripped])
    before["matched"] = [one.matched for one in stripped]
    before["removed"] = [one.removed for one in stripped]
    before["restored"] = [number for number, one in enumerate(stripped, 1) if one.restored]
    return before, update


def _bake_k1(task: Task) -> Change:
    """One dimension for everything, in the generator's own words for it."""
    one = read_one(task)
    if one is None:
        remedy = "compile with --texts k1 first"
        raise SchemeError("k1 needs a text that is made for it", remedy=remedy, place=f"task {task.id!r}")
    return _replace_dimensions(task, *one)


def _bake_k1_mechanical(task: Task) -> Change:
    """One dimension for everything, merged from the existing dimensions."""
    return _replace_dimensions(task, WHOLE_NAME, merge_dimensions(cast("ProtocolRubric", task.protocol)))


def _bake_weighted(task: Task) -> Change:
    """Weights by label. Criteria whose weight becomes 0 leave the rubric and stay on record."""
    kept: list[Criterion] = []
    dropped: list[dict[str, Any]] = []
    for index, criterion in enumerate(task.rubric.criteria, 1):
        place = f"task {task.id!r}, criterion {index}"
        weight = relabel(criterion, place)
        if not math.isfinite(weight):
            kind = "weighted makes the weight larger than a float can be"
            raise SchemeError(kind, remedy="scale the weights down", place=place)
        if weight:
            kept.append(criterion.model_copy(update={"weight": weight}))
        else:
            about = {"index": index, "criterion": criterion.text, "weight": criterion.weight}
            dropped.append({**about, "tags": [*criterion.tags], "label": find_label(criterion, place)})
    if not any(criterion.weight > 0 for criterion in kept):
        kind = "weighted leaves no criterion with a positive weight"
        raise SchemeError(kind, remedy="drop the task", place=f"task {task.id!r}")
    before = {"weights": [*task.rubric.weights], "dropped": dropped, "dimensions": _list_dimensions(task)}
    # Dimensions are for all criteria of the old rubric; they say nothing about the new one.
    return before, {"rubric": Rubric(criteria=tuple(kept)), "protocol": None}


def _bake_rewritten(task: Task) -> Change:
    """Each criterion in its restated form, with its own weight."""
    criteria = task.rubric.criteria
    pairs = zip(criteria, list_rewritten(task), strict=True)
    restated = tuple(criterion.model_copy(update={"text": text}) for criterion, text in pairs)
    return {"criteria": [criterion.text for criterion in criteria]}, {"rubric": Rubric(criteria=restated)}


def _bake_appropriateness(task: Task) -> Change:
    """Add the fixed criterion, as its own dimension with the mean weight of the others."""
    # The mean is over the task's own dimensions, also after k1 has merged them.
    merged = [entry for entry in _read_baked(task) if str(entry.get("transform")).startswith("k1")]
    count = len((merged[0].get("dimensions") if merged else None) or _dimensions(task))
    # A label, because `weighted` may follow and must find one on every criterion.
    tags = ("appropriateness", f"{LABEL_TAG}normal")
    added = Criterion(text=APPROPRIATENESS_TEXT, weight=task.rubric.total_weight / count, tags=tags)
    rubric = Rubric(criteria=(*task.rubric.criteria, added))
    own = {"name": APPROPRIATENESS_NAME, "description": APPROPRIATENESS_DESCRIPTION, "indices": (len(rubric),)}
    return {}, {"rubric": rubric, "protocol": ProtocolRubric.of(rubric, [*_list_dimensions(task), own])}


_TRANSFORMS: dict[Transform, Callable[[Task], Change]] = {
    "raw-and": _bake_raw_and,
    "no-failure": _bake_no_failure,
    "k1": _bake_k1,
    "k1-mechanical": _bake_k1_mechanical,
    "weighted": _bake_weighted,
    "rewritten": _bake_rewritten,
    "appropriateness": _bake_appropriateness,
}


def find_conflict(before: Sequence[str], name: str) -> str | None:
    """Why a transform cannot come after these, in one command or in several; None if it can."""
    if name in before:
        return f"{name} is applied already"
    if "weighted" in before:
        return f"weighted drops criteria that {name} needs"
    if name not in DESCRIBING:
        return None
    other = next((one for one in before if one in DESCRIBING), None)
    if other is not None:
        return f"{name} and {other} both write the descriptions"
    return f"{name} would change the appropriateness text" if "appropriateness" in before else None


def forget_descriptions(task: Task) -> Task:
    """The task without the records of transforms whose descriptions are about to be replaced."""
    if BAKED not in task.meta:
        return task
    kept = [entry for entry in _read_baked(task) if entry.get("transform") not in DESCRIBING]
    others = {key: value for key, value in task.meta.items() if key != BAKED}
    return task.model_copy(update={"meta": {**others, BAKED: kept} if kept else others})


def list_baked(task: Task) -> list[str]:
    """The transforms that were applied to a task."""
    return [str(entry.get("transform")) for entry in _read_baked(task)]


def count_failure_sentences(task: Task) -> dict[str, int]:
    """What `no-failure` found in a task to which it has just been applied; empty without it."""
    for entry in _read_baked(task):
        if entry.get("transform") == "no-failure":
            counts = {"matched": sum(entry["matched"]), "removed": sum(entry["removed"])}
            return {**counts, "restored": len(entry["restored"])}
    return {}


def _replace_descriptions(task: Task, texts: Sequence[str]) -> Change:
    old = _list_dimensions(task)
    rows = [{**row, "description": text} for row, text in zip(old, texts, strict=True)]
    before = {"descriptions": [row["description"] for row in old]}
    return before, {"protocol": ProtocolRubric.of(task.rubric, rows)}


def _replace_dimensions(task: Task, name: str, description: str) -> Change:
    row = {"name": name, "description": description, "indices": range(1, len(task.rubric) + 1)}
    return {"dimensions": _list_dimensions(task)}, {"protocol": ProtocolRubric.of(task.rubric, [row])}


def _dimensions(task: Task) -> tuple[Dimension, ...]:
    return task.protocol.dimensions if task.protocol else ()


def _list_dimensions(task: Task) -> list[dict[str, Any]]:
    return [{"name": d.name, "description": d.description, "indices": [*d.indices]} for d in _dimensions(task)]


def _read_baked(task: Task) -> list[dict[str, Any]]:
    entries = task.meta.get(BAKED)
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
