"""`scholarqa`: ScholarQA-CS: a question with weighted "ingredients" in `metric_config.config.other_properties`.

The general weights next to them (length, expertise, citations, excerpts) are settings of its own scorer, not criteria;
they are kept in `meta`. Ten questions come twice, from two annotators: the annotator is part of the task's name.
"""

from collections.abc import Mapping
from typing import Any

from prorubric.datasets.ids import make_id
from prorubric.datasets.shapes import make_rubric, parse_messages
from prorubric.errors import RubricError
from prorubric.rubric.records import Task

NAME = "scholarqa"
USED = frozenset(("initial_prompt", "metric_config", "case_id", "annotator", "agreement"))


def fits(row: Mapping[str, Any]) -> bool:
    """No other source has this pair."""
    return {"initial_prompt", "metric_config"} <= row.keys()


def parse(row: Mapping[str, Any]) -> Task:
    """One row."""
    metric = row.get("metric_config")
    config = metric.get("config") if isinstance(metric, Mapping) else None
    if not isinstance(config, Mapping):
        raise RubricError("metric_config has no config", remedy="expected ScholarQA's own layout")
    messages, rubric = parse_messages(row.get("initial_prompt")), make_rubric(config.get("other_properties"))
    annotator = str(row.get("annotator") or "").strip()
    case = row.get("case_id") or make_id(messages, rubric)
    settings = {key: value for key, value in config.items() if key.endswith(("_weight", "_length"))}
    return Task(
        id=f"{case}/{annotator}" if annotator else str(case),
        messages=messages,
        rubric=rubric,
        domain="science",
        source=NAME,
        meta={"annotator": annotator, "agreement": row.get("agreement"), "scorer": settings},
    )
