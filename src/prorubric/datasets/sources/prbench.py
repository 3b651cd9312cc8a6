"""`prbench`: PRBench: up to ten turns in numbered columns, and weights in one column for each class of weight.

The weight of a criterion is the one of its `weight_class`; other columns of weights may hold stale numbers. The texts
that a turn refers to come in front of it.
"""

from collections.abc import Mapping
from itertools import count
from typing import Any

from prorubric.datasets.shapes import keep_rest, make_meta, parse_id, parse_tags, unwrap_json
from prorubric.errors import RubricError
from prorubric.rubric.records import Criterion, Message, Rubric, Task
from prorubric.text.show import shorten

NAME = "prbench"

_TURN_KEYS = tuple(f"{name}_{i}" for name in ("prompt", "response", "model", "reference_texts") for i in range(10))
USED = frozenset(("task", "rubric", "field", "turns", "canary", *_TURN_KEYS))


def fits(row: Mapping[str, Any]) -> bool:
    """Numbered prompts with a rubric."""
    return {"prompt_0", "rubric"} <= row.keys()


def parse(row: Mapping[str, Any]) -> Task:
    """One row."""
    messages = []
    for turn in count():
        prompt, reply = row.get(f"prompt_{turn}"), row.get(f"response_{turn}")
        if not prompt:
            break
        if not isinstance(prompt, str):
            raise RubricError(
                f"prompt_{turn} is not text", shorten(repr(prompt)), remedy="expected PRBench's own layout"
            )
        texts = unwrap_json(row.get(f"reference_texts_{turn}"))
        listed = texts if isinstance(texts, list) else [texts] if texts else []
        shown = [f"Reference text {number}:\n{text}" for number, text in enumerate(listed, 1)]
        messages.append(Message(role="user", content="\n\n".join([*shown, prompt])))
        if reply and row.get(f"prompt_{turn + 1}"):
            messages.append(Message(role="assistant", content=reply))
    entries = unwrap_json(row.get("rubric"))
    if not isinstance(entries, list):
        raise RubricError("the rubric is not a list of criteria", remedy="expected PRBench's own layout")
    criteria = []
    for position, entry in enumerate(map(unwrap_json, entries), 1):
        notes = entry.get("annotations") if isinstance(entry, Mapping) else None
        if not isinstance(notes, Mapping):
            raise RubricError("no annotations", remedy="expected PRBench's own layout", place=f"criterion {position}")
        weight = notes.get(f"{str(notes.get('weight_class')).replace(' ', '_')}_weight")
        rest = {key: value for key, value in notes.items() if not key.endswith("_weight") and key != "weight_class"}
        try:
            criteria.append(Criterion(text=entry.get("title"), weight=weight, tags=parse_tags(make_meta(rest))))
        except RubricError as error:
            raise error.at(f"criterion {position}") from None
    return Task(
        id=parse_id(row.get("task")),
        messages=tuple(messages),
        rubric=Rubric(criteria=tuple(criteria)),
        domain=str(row["field"]).lower() if row.get("field") else None,
        source=NAME,
        meta=keep_rest(row, USED),
    )
