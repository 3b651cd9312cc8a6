"""Controls set into the tasks themselves, each a pure function from task to task.

A scheme reads a task in its own way when responses are judged. Baked into the task, the same control can be given to
any trainer or judge that knows nothing of schemes: the sum over the new criteria (`additive`), or the weighted mean
over the new dimensions (`prorubric`), is then what the control's own scheme would have given. What was replaced is kept
in `meta["baked"]`.

For `X+appropriateness` bake X and then `appropriateness`; only `weighted`, which leaves no dimensions, comes after it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pydantic import JsonValue

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
from prorubric.rubric.records import Criterion, ProtocolRubric, Rubric, Task
from prorubric.text.failures import remove_failure_clauses

Transform = Literal["raw-and", "no-failure", "k1", "k1-mechanical", "weighted", "rewritten", "appropriateness"]
BAKED = "baked"
DESCRIBING: tuple[Transform, ...] = ("raw-and", "no-failure", "k1", "k1-mechanical")
"""Those that write the descriptions anew."""
NEEDS_DIMENSIONS: tuple[Transform, ...] = ("raw-and", "no-failure", "k1-mechanical", "appropriateness")


def bake_raw_and(task: Task) -> Task:
    """Each dimension's description is its criteria word for word, under "all must hold"."""
    protocol = _require(task, "raw-and")
    texts = [render_group(task.rubric, dimension) for dimension in protocol.dimensions]
    return _with_descriptions(task, "raw-and", texts)


def bake_no_failure(task: Task) -> Task:
    """Descriptions without their explicit failure sentences; how many matched is kept."""
    stripped = [remove_failure_clauses(d.description) for d in _require(task, "no-failure").dimensions]
    about: dict[str, JsonValue] = {
        "matched": [one.matched for one in stripped],
        "removed": [one.removed for one in stripped],
        "restored": [number for number, one in enumerate(stripped, 1) if one.restored],
    }
    return _with_descriptions(task, "no-failure", [one.text for one in stripped], **about)


def bake_k1(task: Task) -> Task:
    """One dimension for everything, in the generator's own words for it."""
    one = read_one(task)
    if one is None:
        raise SchemeError(
            "k1 needs a text that is made for it; compile with --texts k1 first", place=f"task {task.id!r}"
        )
    return _with_one(task, "k1", *one)


def bake_k1_mechanical(task: Task) -> Task:
    """One dimension for everything, from the dimensions as they are."""
    return _with_one(task, "k1-mechanical", WHOLE_NAME, merge_dimensions(_require(task, "k1-mechanical")))


def bake_weighted(task: Task) -> Task:
    """Weights by label; criteria that come to weigh nothing leave the rubric and stay in the lineage."""
    kept: list[Criterion] = []
    dropped: list[JsonValue] = []
    for index, criterion in enumerate(task.rubric.criteria, 1):
        place = f"task {task.id!r}, criterion {index}"
        weight = relabel(criterion, place)
        if not math.isfinite(weight):
            raise SchemeError(
                "weighted makes the weight larger than a float can be; scale the weights down", place=place
            )
        if weight:
            kept.append(criterion.model_copy(update={"weight": weight}))
        else:
            label = find_label(criterion, place)
            dropped.append(
                {
                    "index": index,
                    "criterion": criterion.text,
                    "weight": criterion.weight,
                    "tags": [*criterion.tags],
                    "label": label,
                }
            )
    if not any(criterion.weight > 0 for criterion in kept):
        raise SchemeError(
            "weighted leaves no criterion with a positive weight; drop the task", place=f"task {task.id!r}"
        )
    before: dict[str, JsonValue] = {
        "weights": [*task.rubric.weights],
        "dropped": dropped,
        "dimensions": _list_dimensions(task),
    }
    # Dimensions hold every criterion of a rubric; of another rubric they say nothing.
    return _remember(task, "weighted", before, rubric=Rubric(criteria=tuple(kept)), protocol=None)


def bake_rewritten(task: Task) -> Task:
    """Each criterion in its restated form, with its own weight."""
    criteria = tuple(
        criterion.model_copy(update={"text": text})
        for criterion, text in zip(task.rubric.criteria, list_rewritten(task), strict=True)
    )
    before: dict[str, JsonValue] = {"criteria": [criterion.text for criterion in task.rubric.criteria]}
    return _remember(task, "rewritten", before, rubric=Rubric(criteria=criteria))


def bake_appropriateness(task: Task) -> Task:
    """The fixed criterion joins the rubric, as a dimension of its own with the mean weight of the others."""
    protocol = _require(task, "appropriateness")
    weight = task.rubric.total_weight / _count_dimensions(task, protocol)
    # To `weighted`, which may follow, it is a criterion as good as the next.
    added = Criterion(text=APPROPRIATENESS_TEXT, weight=weight, tags=("appropriateness", f"{LABEL_TAG}normal"))
    rubric = Rubric(criteria=(*task.rubric.criteria, added))
    rows = [
        {"name": dimension.name, "description": dimension.description, "indices": dimension.indices}
        for dimension in protocol.dimensions
    ]
    rows.append({"name": APPROPRIATENESS_NAME, "description": APPROPRIATENESS_DESCRIPTION, "indices": (len(rubric),)})
    return _remember(task, "appropriateness", {}, rubric=rubric, protocol=ProtocolRubric.of(rubric, rows))


TRANSFORMS: dict[Transform, Callable[[Task], Task]] = {
    "raw-and": bake_raw_and,
    "no-failure": bake_no_failure,
    "k1": bake_k1,
    "k1-mechanical": bake_k1_mechanical,
    "weighted": bake_weighted,
    "rewritten": bake_rewritten,
    "appropriateness": bake_appropriateness,
}


def find_conflict(before: Sequence[str], name: str) -> str | None:
    """Why a transform cannot follow those that are set into a task already, or None."""
    if name in before:
        return f"{name} is set into the task already"
    if "weighted" in before:
        return f"weighted has dropped criteria, of which {name} must see all"
    if name not in DESCRIBING:
        return None
    other = next((one for one in before if one in DESCRIBING), None)
    if other is not None:
        return f"{name} and {other} both write the descriptions"
    return f"{name} would change the appropriateness text" if "appropriateness" in before else None


def forget_descriptions(task: Task) -> Task:
    """The task without a word of transforms whose descriptions are about to be written anew."""
    if BAKED not in task.meta:
        return task
    kept: list[JsonValue] = [one for one in _list_baked(task) if one.get("transform") not in DESCRIBING]
    meta = {key: value for key, value in task.meta.items() if key != BAKED}
    return task.model_copy(update={"meta": {**meta, BAKED: kept} if kept else meta})


def list_baked(task: Task) -> list[str]:
    """The transforms that were set into a task."""
    baked = task.meta.get(BAKED)
    entries = baked if isinstance(baked, list) else []
    return [str(entry.get("transform")) for entry in entries if isinstance(entry, dict)]


def count_failure_sentences(meta: Mapping[str, JsonValue]) -> dict[str, int]:
    """What `no-failure` found in a task that it was set into, by the task's `meta`; nothing for any other."""
    baked = meta.get(BAKED)
    for entry in baked if isinstance(baked, list) else ():
        if isinstance(entry, dict) and entry.get("transform") == "no-failure":
            matched, removed, restored = (entry.get(key) for key in ("matched", "removed", "restored"))
            if isinstance(matched, list) and isinstance(removed, list) and isinstance(restored, list):
                return {"matched": _add_up(matched), "removed": _add_up(removed), "restored": len(restored)}
    return {}


def _add_up(values: list[JsonValue]) -> int:
    return sum(value for value in values if isinstance(value, int))


def _require(task: Task, name: str) -> ProtocolRubric:
    if task.protocol is None:
        raise SchemeError(
            f"{name} needs dimensions and the task has none; compile them first", place=f"task {task.id!r}"
        )
    return task.protocol


def _with_descriptions(task: Task, name: str, texts: list[str], **about: JsonValue) -> Task:
    protocol = _require(task, name)
    rows = [
        {"name": dimension.name, "description": text, "indices": dimension.indices}
        for dimension, text in zip(protocol.dimensions, texts, strict=True)
    ]
    before: dict[str, JsonValue] = {"descriptions": [d.description for d in protocol.dimensions], **about}
    return _remember(task, name, before, protocol=ProtocolRubric.of(task.rubric, rows))


def _with_one(task: Task, name: str, title: str, description: str) -> Task:
    indices = tuple(range(1, len(task.rubric) + 1))
    row = {"name": title, "description": description, "indices": indices}
    before: dict[str, JsonValue] = {"dimensions": _list_dimensions(task)}
    return _remember(task, name, before, protocol=ProtocolRubric.of(task.rubric, [row]))


def _list_dimensions(task: Task) -> list[JsonValue]:
    dimensions = () if task.protocol is None else task.protocol.dimensions
    return [{"name": d.name, "description": d.description, "indices": [*d.indices]} for d in dimensions]


def _count_dimensions(task: Task, protocol: ProtocolRubric) -> int:
    """How many dimensions the task has, or had before all became one: the mean weight is that of the task's own."""
    for before in _list_baked(task):
        dimensions = before.get("dimensions")
        if str(before.get("transform")).startswith("k1") and isinstance(dimensions, list) and dimensions:
            return len(dimensions)
    return len(protocol)


def _list_baked(task: Task) -> list[dict[str, JsonValue]]:
    earlier = task.meta.get(BAKED)
    return [one for one in earlier if isinstance(one, dict)] if isinstance(earlier, list) else []


def _remember(task: Task, name: str, before: dict[str, JsonValue], **update: object) -> Task:
    baked: list[JsonValue] = [*_list_baked(task), {"transform": name, **before}]
    return task.model_copy(update={**update, "meta": {**task.meta, BAKED: baked}})
