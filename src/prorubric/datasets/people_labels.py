"""Human labels on statements about responses, and on pairs of responses, for comparing a judge with people.

Our own form, a row each: `{"prompt", "response", "criterion", "labels": [true, false, null], "tags": […]}`, where the
prompt is text or messages, a label is one person's, and null means no opinion; or, for a pair, `{"prompt", "first",
"second", "better": "first", "tags": […]}`, where the better one is `first`, `second` or `equal`. `kqa` reads K-QA's
table of physicians' labels: a claim is true of an answer if a physician called it entailed, and false if neutral or
contradicted. `healthbench-meta` reads HealthBench's meta-evaluation, `llmbar` the pairs of LLMBar.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa
from pydantic import JsonValue

from prorubric.datasets.carry import MESSAGES_TYPE
from prorubric.datasets.shapes import parse_messages
from prorubric.errors import RubricError, SourceError
from prorubric.files.read import read_rows
from prorubric.rubric.records import Criterion, Message, Response
from prorubric.text.show import is_blank, show

LabelFormat = Literal["auto", "labels", "pairs", "kqa", "healthbench-meta", "llmbar"]
Better = Literal["first", "second", "equal"]

LABEL_SCHEMA = pa.schema(
    {
        "prompt": MESSAGES_TYPE,
        "response": pa.string(),
        "criterion": pa.string(),
        "labels": pa.list_(pa.bool_()),
        "tags": pa.list_(pa.string()),
    }
)
_ENTAILED = {"entailment": True, "neutral": False, "contradiction": False}


@dataclass(frozen=True, slots=True)
class LabelledItem:
    """A statement about a response, with each person's label."""

    messages: tuple[Message, ...]
    """The conversation that the response replies to; empty if none was recorded."""
    response: str
    statement: str
    labels: tuple[bool | None, ...]
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two responses to the same conversation, with the one that a person prefers."""

    messages: tuple[Message, ...]
    first: str
    second: str
    better: Better
    tags: tuple[str, ...] = ()


def load_labels(
    path: Path,
    format: LabelFormat = "auto",  # noqa: A002 - what users write
) -> Iterator[LabelledItem | LabelledPair]:
    """The labelled rows of a file; one that cannot be read is an error, because a gold standard must be complete."""
    for row in read_rows(path):
        if row.value is None:
            raise row.explain().at(f"{path}:{row.line}")
        own = format
        if format == "auto":  # by the fields that only one format has; of csv files, only K-QA's are known
            named = (name for name, fields in _FIELDS.items() if fields <= row.value.keys())
            own = next(named, "kqa" if path.suffix == ".csv" else "labels")
        try:
            yield _PARSERS[own](row.value)
        except RubricError as error:
            raise error.turn_into(SourceError, f"{path}:{row.line}") from None


def _parse_item(row: Mapping[str, Any]) -> LabelledItem:
    prompt, response, statement = (row.get(key) for key in ("prompt", "response", "criterion"))
    labels = row.get("labels")
    if not isinstance(response, str) or not isinstance(statement, str) or is_blank(statement):
        raise RubricError("response and criterion must be text", remedy="write both")
    messages = parse_messages(prompt) if prompt else ()
    if not isinstance(labels, list) or not labels or {type(label) for label in labels} - {bool, type(None)}:
        wrong = "labels are not a list of true, false or null"
        raise RubricError(wrong, show(labels), remedy="give one for each person")
    return LabelledItem(messages, response, statement, tuple(labels), _parse_tags(row))


def _parse_tags(row: Mapping[str, Any]) -> tuple[str, ...]:
    tags = row.get("tags") or []
    if not isinstance(tags, list):
        raise RubricError("tags are not a list of texts", show(tags), remedy="give one, or leave them out")
    return tuple(map(str, tags))


def _parse_pair(row: Mapping[str, Any]) -> LabelledPair:
    prompt, first, second = (row.get(key) for key in ("prompt", "first", "second"))
    better: Any = row.get("better")
    if not isinstance(first, str) or not isinstance(second, str):
        raise RubricError("first and second must be text", remedy="write both answers")
    if better not in get_args(Better):
        raise RubricError("better is not known", show(better), remedy=f"allowed: {', '.join(get_args(Better))}")
    return LabelledPair(parse_messages(prompt) if prompt else (), first, second, better, _parse_tags(row))


def _parse_llmbar(row: Mapping[str, Any]) -> LabelledPair:
    """A pair of LLMBar, whose label is 1 or 2: the number of the better output."""
    sides = {1: "first", 2: "second"}
    if row.get("label") not in sides:
        raise RubricError("the label of a pair is not known", show(row.get("label")), remedy="allowed: 1 and 2")
    names = {"prompt": "input", "first": "output_1", "second": "output_2"}
    return _parse_pair({name: row.get(own) for name, own in names.items()} | {"better": sides[row["label"]]})


def _parse_meta(row: Mapping[str, Any]) -> LabelledItem:
    """A row of HealthBench's meta-evaluation: one criterion, one completion, and the labels of its physicians."""
    category = row.get("category")
    names = {"prompt": "prompt", "response": "completion", "criterion": "rubric", "labels": "binary_labels"}
    tags = [f"category:{category}"] if category else []
    return _parse_item({name: row.get(own) for name, own in names.items()} | {"tags": tags})


def render_label(
    messages: Sequence[Message], response: Response, criterion: Criterion, labels: Sequence[bool | None]
) -> dict[str, JsonValue]:
    """One row in our own form."""
    return {
        "prompt": [{"role": message.role, "content": message.content} for message in messages],
        "response": response.text,
        "criterion": criterion.text,
        "labels": [*labels],
        "tags": [*criterion.tags, *([f"model:{response.model}"] if response.model else [])],
    }


def _parse_kqa(row: Mapping[str, Any]) -> LabelledItem:
    missing = [name for name in ("Question", "answer", "claim") if not row.get(name)]
    if missing:
        raise RubricError(f"the column {missing[0]} is empty", remedy="expected K-QA's table")
    columns = sorted(name for name in row if name.startswith("label_"))
    words = [str(row[name] or "").strip().lower() for name in columns]
    if unknown := [word for word in words if word and word not in _ENTAILED]:
        allowed = f"allowed: {', '.join(_ENTAILED)}, or nothing for no opinion"
        raise RubricError("unknown label", repr(unknown[0]), remedy=allowed)
    tagged = {"category": "category_x", "model": "llm_x"}
    tags = tuple(f"{name}:{row[column]}" for name, column in tagged.items() if row.get(column))
    labels = tuple(map(_ENTAILED.get, words))
    return LabelledItem(parse_messages(row["Question"]), row["answer"], row["claim"], labels, tags)


_PARSERS: dict[LabelFormat, Callable[[Mapping[str, Any]], LabelledItem | LabelledPair]] = {
    "labels": _parse_item,
    "pairs": _parse_pair,
    "kqa": _parse_kqa,
    "healthbench-meta": _parse_meta,
    "llmbar": _parse_llmbar,
}
_FIELDS: dict[LabelFormat, set[str]] = {
    "pairs": {"first", "second"},
    "healthbench-meta": {"completion", "binary_labels"},
    "llmbar": {"output_1", "output_2"},
}
