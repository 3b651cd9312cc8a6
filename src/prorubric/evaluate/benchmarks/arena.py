"""Arena-Hard v2: questions, and for each the answer of its category's baseline model.

Without the answers of a baseline the questions of its category are left out, and counted. A baseline file that lacks an
answer to one of its questions is refused.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from prorubric.datasets.shapes import read_object
from prorubric.errors import ProRubricError, RubricError, SourceError
from prorubric.evaluate.benchmarks.base import (
    Benchmark,
    BenchmarkFiles,
    PublishedItems,
    ask,
    read_list,
    read_tags,
    read_text,
)
from prorubric.evaluate.records import BenchmarkItem, DataFile, Sampling
from prorubric.text.show import show

_LICENCE = "Apache-2.0"
_GET = "dataset lmarena-ai/arena-hard-auto on Hugging Face, folder data/arena-hard-v2.0"
QUESTIONS = DataFile(
    "arena-hard-v2/question.jsonl",
    750,
    _LICENCE,
    _GET,
    "a75cef6623db6b27aec810497b059f0659705d7ff48dcbccc5bd5b130728ac73",
    ("arena-hard-v2.0/question.jsonl", "arena_hard_v2/question.jsonl"),
)
PUBLISHED = PublishedItems("arena-hard-v2", QUESTIONS.rows, prompt=1200)


def _make_baseline(model: str, sha256: str = "", *, is_optional: bool = False) -> DataFile:
    also = (f"arena-hard-v2.0/model_answer/{model}.jsonl", f"arena_hard_v2/{model}.jsonl")
    get = f"{_GET}/model_answer"
    return DataFile(f"arena-hard-v2/{model}.jsonl", 750, _LICENCE, get, sha256, also, is_optional=is_optional)


BASELINES = {
    "hard_prompt": _make_baseline(
        "o3-mini-2025-01-31", "c23a7c255eead99f7f86ad48aa1d8ccdb5b3334f2097e0e1e09184df87265e03"
    ),
    "creative_writing": _make_baseline("gemini-2.0-flash-001", is_optional=True),
}


def load_questions(source: BenchmarkFiles) -> list[BenchmarkItem]:
    """All questions, without answers to beat."""
    return source.read_items(QUESTIONS.name, _parse_question)


def load_arena(source: BenchmarkFiles) -> list[BenchmarkItem]:
    """The questions whose baseline has answered."""
    questions = load_questions(source)
    answers: dict[str, dict[str, str]] = {}
    for category, file in BASELINES.items():
        if file.name not in source.paths:
            continue
        known = answers[category] = {}
        for place, row in source.read(file.name):
            try:
                name, last = f"arena-hard-v2/{read_text(row, 'uid')}", read_object(read_list(row, "messages")[-1])
                if name in known:
                    raise RubricError("an id appears twice", name, remedy="keep one of the rows")
                content = last.get("content")
                known[name] = read_text(content if isinstance(content, Mapping) else {"answer": content}, "answer")
            except ProRubricError as error:
                raise error.turn_into(SourceError, place) from None
    items = []
    for item in questions:
        file = BASELINES[item.category]
        if item.category not in answers:
            source.left_out[f"{item.category}: no {file.name}"] += 1
        elif item.id not in answers[item.category]:
            raise SourceError(f"{source.paths[file.name]}: no answer to {item.id}; is this the published file?")
        else:
            items.append(replace(item, baseline=answers[item.category][item.id]))
    return items


def _parse_question(row: Mapping[str, Any]) -> Iterator[BenchmarkItem]:
    name, category = read_text(row, "uid"), read_text(row, "category")
    if category not in BASELINES:
        raise RubricError("unknown category", show(category), remedy=f"known are {', '.join(BASELINES)}")
    tags, asked = read_tags(row, subcategory="subcategory"), ask(read_text(row, "prompt"))
    yield BenchmarkItem(f"arena-hard-v2/{name}", asked, tags=tags, category=category)


BENCHMARKS = (
    Benchmark(
        "arena-hard-v2",
        "Arena-Hard v2",
        "chat",
        (QUESTIONS, *BASELINES.values()),
        load_arena,
        "arena",
        Sampling(temperature=0.0, top_p=1.0, top_k=None, max_tokens=4096),
        published=(PUBLISHED,),
    ),
)
