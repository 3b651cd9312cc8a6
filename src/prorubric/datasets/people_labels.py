"""Human labels on statements about responses, for comparing a judge with people.

Our own form, a row each: `{"prompt", "response", "criterion", "labels": [true, false, null], "tags": […]}`, where the
prompt is text or messages, a label is one person's, and null means no opinion. `kqa` reads K-QA's table of physicians'
labels: a claim is true of an answer if a physician called it entailed, and false if neutral or contradicted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pydantic import JsonValue

from prorubric.datasets.carry import MESSAGES_TYPE
from prorubric.datasets.shapes import parse_messages
from prorubric.errors import RubricError, SourceError
from prorubric.files.read import read_rows
from prorubric.rubric.records import Criterion, Message, Response
from prorubric.text.show import is_blank, show

LabelFormat = Literal["auto", "labels", "kqa"]

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
    """A statement about a response, with what each person said of it."""

    messages: tuple[Message, ...]
    """The conversation that the response replies to; empty if none was recorded."""
    response: str
    statement: str
    labels: tuple[bool | None, ...]
    tags: tuple[str, ...] = ()


def load_labels(path: Path, format: LabelFormat = "auto") -> Iterator[LabelledItem]:  # noqa: A002 - what users write
    """The labelled items of a file; a row that cannot be read is an error, because a gold standard must be complete."""
    kqa = format == "kqa" or (format == "auto" and path.suffix == ".csv")
    for row in read_rows(path):
        if row.value is None:
            raise row.explain().at(f"{path}:{row.line}")
        try:
            yield _parse_kqa(row.value) if kqa else _parse_item(row.value)
        except RubricError as error:
            raise error.turn_into(SourceError, f"{path}:{row.line}") from None


def _parse_item(row: Mapping[str, Any]) -> LabelledItem:
    prompt, response, statement = (row.get(key) for key in ("prompt", "response", "criterion"))
    labels, tags = row.get("labels"), row.get("tags") or []
    if not isinstance(response, str) or not isinstance(statement, str) or is_blank(statement):
        raise RubricError("response and criterion must be text", remedy="write both")
    messages = parse_messages(prompt) if prompt else ()
    if not isinstance(labels, list) or not labels or {type(label) for label in labels} - {bool, type(None)}:
        wrong = "labels are not a list of true, false or null"
        raise RubricError(wrong, show(labels), remedy="give one for each person")
    if not isinstance(tags, list):
        raise RubricError("tags are not a list of texts", show(tags), remedy="give one, or leave them out")
    return LabelledItem(messages, response, statement, tuple(labels), tuple(map(str, tags)))


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
