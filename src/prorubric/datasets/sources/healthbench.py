"""`healthbench`: the upstream jsonl (`prompt_id`, `rubrics`) and parquet in verl's columns (`reward_model.rubrics`).

Level, axis and cluster are kept as tags (`level:cluster` marks the physician-consensus criteria), the theme tags of the
example and the canary in `meta`: evaluate on this data, never train on it. Rows that we write have the upstream
columns, and the rest as JSON text in a column of our own; they come back exactly, even weights that are not whole.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pydantic import JsonValue

from prorubric.datasets.carry import MESSAGES_TYPE, OWN_KEY, parse_object, render_json_text
from prorubric.datasets.ids import make_id
from prorubric.datasets.shapes import make_rubric, parse_messages, read_first, read_object
from prorubric.errors import RubricError
from prorubric.rubric.forms import parse_task, render_task
from prorubric.rubric.records import Task
from prorubric.text.show import show

NAME = "healthbench"
CONSENSUS_TAG = "level:cluster"

_TEXTS = pa.list_(pa.string())
_IDEAL = {
    "ideal_completion": pa.string(),
    "ideal_completions_group": pa.string(),
    "ideal_completions_ref_completions": _TEXTS,
}
SCHEMA = pa.schema(
    {
        "example_tags": _TEXTS,
        "ideal_completions_data": pa.struct(_IDEAL),
        "prompt": MESSAGES_TYPE,
        "prompt_id": pa.string(),
        "rubrics": pa.list_(pa.struct({"criterion": pa.string(), "points": pa.float64(), "tags": _TEXTS})),
        "canary": pa.string(),
        OWN_KEY: pa.string(),
    }
)
USED = frozenset((*SCHEMA.names, "reward_model", "extra_info", "data_source", "ability"))


def fits(row: Mapping[str, Any]) -> bool:
    """Upstream rows name a prompt id and points; the others say where they come from."""
    if {"prompt_id", "rubrics"} <= row.keys():
        return "points" in read_first(row["rubrics"])
    return "reward_model" in row and "healthbench_prompt_id" in read_object(row.get("extra_info"))


def parse(row: Mapping[str, Any]) -> Task:
    """A row of either shape, or of ours."""
    if row.get(OWN_KEY) is not None:
        return _parse_own(row)
    extra, reward_model = read_object(row.get("extra_info")), read_object(row.get("reward_model"))
    rubrics = row["rubrics"] if "rubrics" in row else reward_model.get("rubrics")
    messages, rubric = parse_messages(row.get("prompt")), make_rubric(rubrics)
    ideal = read_object(row.get("ideal_completions_data")).get("ideal_completion")
    meta = {
        "example_tags": row.get("example_tags") or extra.get("healthbench_example_tags"),
        "canary": row.get("canary"),
    }
    return Task(
        id=row.get("prompt_id") or extra.get("healthbench_prompt_id") or make_id(messages, rubric),
        messages=messages,
        rubric=rubric,
        domain="medicine",
        source=NAME,
        reference=ideal or reward_model.get("ground_truth") or None,
        meta={key: value for key, value in meta.items() if value},
    )


def render(task: Task) -> dict[str, JsonValue]:
    """The task as one row with the upstream columns."""
    row, meta = render_task(task), dict(task.meta)
    tags, canary = meta.get("example_tags"), meta.get("canary")
    are_texts = isinstance(tags, list) and bool(tags) and all(isinstance(tag, str) for tag in tags)
    # Upstream readers ask for all three keys of an ideal completion.
    ideal: dict[str, JsonValue] = {**dict.fromkeys(_IDEAL), "ideal_completion": task.reference}
    upstream: dict[str, Any] = {
        # Only what upstream could have said as well moves into its columns; anything else stays in meta.
        "example_tags": meta.pop("example_tags") if are_texts else [],
        "ideal_completions_data": None if task.reference is None else ideal,
        "prompt": row["messages"],
        "prompt_id": task.id,
        "rubrics": _rename_key(row["rubric"], "weight", "points"),
    }
    if isinstance(canary, str):
        upstream["canary"] = meta.pop("canary")
    rest = {"domain": task.domain, "source": task.source, "protocol": row.get("protocol"), "meta": meta}
    checks = [item.pop("check", None) for item in upstream["rubrics"]]  # upstream has no place for them
    if any(checks):
        rest["checks"] = checks
    return {**upstream, OWN_KEY: render_json_text(rest)}


def _parse_own(row: Mapping[str, Any]) -> Task:
    rest = parse_object(row.get(OWN_KEY), OWN_KEY)
    meta = parse_object(rest.get("meta"), "meta")
    columns = {key: row[key] for key in ("example_tags", "canary") if row.get(key) not in (None, [])}
    rubric, checks = _rename_key(row.get("rubrics"), "points", "weight"), rest.get("checks")
    if checks is not None:
        if not isinstance(checks, list) or not isinstance(rubric, list) or len(checks) != len(rubric):
            remedy = "convert the tasks again"
            raise RubricError("not one check, or null, for each criterion", show(checks), remedy=remedy, place=OWN_KEY)
        rubric = [item | {"check": check} for item, check in zip(rubric, checks, strict=True)]
    own = {
        "id": row.get("prompt_id"),
        "messages": row.get("prompt"),
        "rubric": rubric,
        "reference": read_object(row.get("ideal_completions_data")).get("ideal_completion"),
        "meta": {**meta, **columns},
    }
    return parse_task(own | {key: rest.get(key) for key in ("protocol", "domain", "source")})


def _rename_key(items: Any, old: str, new: str) -> Any:
    """Criteria with one key under another name; anything but a list of objects is returned unchanged, to be refused."""
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        return items
    return [{new if key == old else key: value for key, value in item.items()} for item in items]
