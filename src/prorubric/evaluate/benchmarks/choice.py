"""Multiple choice: MedQA (US, four options) and GPQA-Diamond.

The prompt is our own: reasoning first, then the letter on the last line. The options of GPQA are permuted by a
generator seeded with the record's id, so a question looks the same in every run and in every order of rows.
"""

import hashlib
import random
from collections.abc import Iterator, Mapping
from typing import Any

from prorubric.datasets.shapes import read_object
from prorubric.errors import RubricError
from prorubric.evaluate.benchmarks.base import Benchmark, BenchmarkFiles, PublishedItems, ask, read_tags, read_text
from prorubric.evaluate.records import BenchmarkItem, DataFile, Sampling
from prorubric.files.json import render_json
from prorubric.text.show import show

LETTERS = "ABCD"
MEDQA = DataFile(
    "medqa/phrases_no_exclude_test.jsonl",
    1273,
    "MIT",
    "jind11/MedQA on GitHub links it; the file is in data_clean/questions/US/4_options",
    "c3b905ccfa66152dc25afbcb2c10e86c0bdb208824f0658fcdb2c040f60a2beb",
    ("phrases_no_exclude_test.jsonl", "medqa/test_4_options.jsonl"),
)
GPQA = DataFile(
    "gpqa/gpqa_diamond.csv",
    198,
    "CC BY 4.0",
    "dataset.zip of idavidrein/gpqa on GitHub holds it; its README has the password",
    "41d1213cd7a4998605a26c2798500652572007161b3a92817ba46b35befcd305",
    ("gpqa_diamond.csv",),
    is_protected=True,
)

_PROMPT = """{question}

{options}

Only one option is right. Reason first, then give your choice on the last line, on its own, as `Answer: X`, where X is \
one of {letters}."""
_CORRECT, *_WRONG = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")


def load_medqa(source: BenchmarkFiles) -> list[BenchmarkItem]:
    """The questions of the US test set."""
    return source.read_items(MEDQA.name, _parse_medqa)


def load_gpqa(source: BenchmarkFiles) -> list[BenchmarkItem]:
    """The questions of the Diamond set, each with its options in its own order."""
    return source.read_items(GPQA.name, _parse_gpqa)


def _parse_medqa(row: Mapping[str, Any]) -> Iterator[BenchmarkItem]:
    question, letter, options = (
        read_text(row, "question"),
        read_text(row, "answer_idx"),
        read_object(row.get("options")),
    )
    if sorted(options) != list(LETTERS):
        raise RubricError("the options are not A to D", show(options), remedy="is this the file with four options?")
    if letter not in options:
        raise RubricError("the answer is not one of the options", show(letter), remedy="answer_idx is one of A to D")
    texts = [read_text(options, each) for each in LETTERS]
    # The file has no ids, and all questions differ.
    name = hashlib.sha256(render_json([question, texts])).hexdigest()[:16]
    yield BenchmarkItem(
        f"medqa/{name}", ask(_render(question, texts)), tags=read_tags(row, exam="meta_info"), letter=letter
    )


def _parse_gpqa(row: Mapping[str, Any]) -> Iterator[BenchmarkItem]:
    name, question, right = (read_text(row, key).strip() for key in ("Record ID", "Question", _CORRECT))
    texts = [right, *(read_text(row, key).strip() for key in _WRONG)]
    order = list(range(len(LETTERS)))
    random.Random(hashlib.sha256(name.encode()).digest()).shuffle(order)  # noqa: S311 - nothing secret
    asked, tags = ask(_render(question, [texts[place] for place in order])), read_tags(row, domain="High-level domain")
    yield BenchmarkItem(f"gpqa-diamond/{name}", asked, tags=tags, letter=LETTERS[order.index(0)])


def _render(question: str, options: list[str]) -> str:
    lines = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, options, strict=True))
    return _PROMPT.format(question=question.strip(), options=lines, letters=", ".join(LETTERS))


BENCHMARKS = (
    Benchmark(
        "medqa",
        "MedQA",
        "medical",
        (MEDQA,),
        load_medqa,
        "choice",
        Sampling(),
        published=(PublishedItems("medqa", MEDQA.rows),),
    ),
    Benchmark(
        "gpqa-diamond",
        "GPQA-Diamond",
        "science",
        (GPQA,),
        load_gpqa,
        "choice",
        Sampling(temperature=0.5, top_p=1.0, top_k=None, max_tokens=2048),
        samples=4,
        published=(PublishedItems("gpqa-diamond", GPQA.rows),),
    ),
)
