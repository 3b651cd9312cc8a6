"""The texts that a judge is shown besides a task's own criteria and dimensions, made from the task without a model.

A text that only a model can write (one standard for everything, criteria restated one by one) is read from the task;
if it is missing, the error comes before a token is spent.
"""

import tomllib
from pathlib import Path
from typing import Any, TypeGuard

from prorubric.errors import SchemeError
from prorubric.rubric.records import Dimension, ProtocolRubric, Rubric, Task
from prorubric.text.show import is_blank

_LOADED: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
PROBE_TEXTS: tuple[str, ...] = tuple(_LOADED.pop("probe"))
CREATIVE_NAMES: tuple[str, ...] = tuple(_LOADED.pop("creative"))
CREATIVE_LOWER: frozenset[str] = frozenset(_LOADED.pop("creative_lower"))
"""The criteria of which less is better."""
TEXTS: dict[str, str] = _LOADED
APPROPRIATENESS_NAME = "Appropriateness"
APPROPRIATENESS_DESCRIPTION = TEXTS["appropriateness"]
APPROPRIATENESS_TEXT = f"{APPROPRIATENESS_NAME}: {APPROPRIATENESS_DESCRIPTION}"
WHOLE_NAME = "The whole answer"
"""The name of the one dimension that is merged from all."""


def render_group(rubric: Rubric, dimension: Dimension) -> str:
    """A dimension's criteria word for word, under the instruction that all of them must hold."""
    lines = [TEXTS["group"]]
    for index in dimension.indices:
        criterion = rubric.criteria[index - 1]
        duty = "must hold" if criterion.weight > 0 else "must not occur"
        lines.append(f"- ({duty}) {criterion.text}")
    return "\n".join(lines)


def merge_dimensions(protocol: ProtocolRubric) -> str:
    """One description for the whole checklist, from the dimensions as they are: the mechanical form of K=1."""
    parts = "\n".join(f"- {dimension.name}: {dimension.description}" for dimension in protocol.dimensions)
    return TEXTS["whole"].replace("{parts}", parts)


def read_one(task: Task) -> tuple[str, str] | None:
    """Name and description of the one standard that a generator wrote for the whole checklist, if it did."""
    one = task.meta.get("k1")
    if not isinstance(one, dict):
        return None
    name, description = one.get("name"), one.get("description")
    return (name, description) if _is_text(name) and _is_text(description) else None


def describe_whole(task: Task) -> str | None:
    """What K=1 judges: the text that the generator wrote for it, else the dimensions merged, else None."""
    one = read_one(task)
    if one is not None:
        return f"{one[0]}: {one[1]}"
    return None if task.protocol is None else f"{WHOLE_NAME}: {merge_dimensions(task.protocol)}"


def list_rewritten(task: Task) -> tuple[str, ...]:
    """The criteria restated one by one, which a compiled task carries in `meta["rewritten"]`."""
    texts = task.meta.get("rewritten")
    if not isinstance(texts, list) or len(texts) != len(task.rubric) or not all(map(_is_text, texts)):
        raise SchemeError(
            f"rewritten needs one restated text for each of the {len(task.rubric)} criteria in meta['rewritten']; "
            "compile the task with that transform first",
            place=f"task {task.id!r}",
        )
    return tuple(str(text) for text in texts)


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and not is_blank(value)
