"""`healthbench`: the upstream jsonl (`prompt_id`, `rubrics`) and parquet in verl's columns (`reward_model.rubrics`).

Negative points are behaviours to avoid and a true verdict subtracts, as with us. Level, axis and cluster are kept as
tags (`level:cluster` marks the physician-consensus criteria), the theme tags of the example in `meta`. The canary of
the data travels along in `meta` where the file has it: evaluate on this data, never train on it.
"""

from collections.abc import Mapping
from typing import Any

from prorubric.datasets.ids import make_id
from prorubric.datasets.shapes import make_rubric, parse_messages, read_object
from prorubric.rubric.records import Task

NAME = "healthbench"
CONSENSUS_TAG = "level:cluster"


def fits(row: Mapping[str, Any]) -> bool:
    """Upstream rows name a prompt id; the others say where they come from."""
    return {"prompt_id", "rubrics"} <= row.keys() or (
        "reward_model" in row and "healthbench_prompt_id" in read_object(row.get("extra_info"))
    )


def parse(row: Mapping[str, Any]) -> Task:
    """A row of either shape."""
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
