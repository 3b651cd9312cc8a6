"""`rubrichub`: RubricHub v1, its rows for RL (`Rubrics`, `reward_model.rubrics`) and for SFT (`query`, `rubrics`).

Points are positive for what is asked for; a negative one is a behaviour to avoid.
"""

from collections.abc import Mapping
from typing import Any

from prorubric.datasets.ids import make_id
from prorubric.datasets.shapes import make_rubric, parse_messages, read_first, read_object
from prorubric.rubric.records import Task

NAME = "rubrichub"
USED = frozenset(
    ("prompt", "query", "rubrics", "reward_model", "extra_info", "id", "sample_id", "ability", "data_source", "source")
)

_DOMAINS = {"medical": "medicine", "chat": "dialogue", "writing": "writing", "science": "science"}


def fits(row: Mapping[str, Any]) -> bool:
    """RL rows have rubrics next to the prompt or in `reward_model`, SFT rows next to a `query` and its `response`."""
    if "prompt" in row and ("Rubrics" in row or _nested(row) is not None):
        return True
    return {"query", "response", "rubrics"} <= row.keys() and bool(read_first(row["rubrics"]))


def parse(row: Mapping[str, Any]) -> Task:
    """A row of either kind."""
    rubrics = next((row[key] for key in ("Rubrics", "rubrics") if row.get(key) is not None), None)
    messages = parse_messages(row["prompt"] if row.get("prompt") is not None else row.get("query"))
    rubric = make_rubric(rubrics if rubrics is not None else _nested(row))
    places = (row, read_object(row.get("extra_info")))
    given = next((place[key] for place in places for key in ("id", "sample_id") if place.get(key) is not None), None)
    ability = str(row.get("ability") or row.get("data_source") or row.get("source") or "")
    return Task(
        id=str(given) if given is not None else make_id(messages, rubric),
        messages=messages,
        rubric=rubric,
        domain=next((domain for key, domain in _DOMAINS.items() if key in ability.lower()), None),
        source=NAME,
        reference=read_object(row.get("reward_model")).get("ground_truth") or None,
        meta={"ability": ability} if ability else {},
    )


def _nested(row: Mapping[str, Any]) -> Any:
    """The rubrics inside `reward_model`, or inside the copy of it that `extra_info` holds."""
    copies = (row.get("reward_model"), read_object(row.get("extra_info")).get("reward_model"))
    return next((rubrics for copy in copies if (rubrics := read_object(copy).get("rubrics")) is not None), None)
