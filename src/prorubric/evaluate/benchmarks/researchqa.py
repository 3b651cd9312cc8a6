"""ResearchQA: the validation questions, each with up to eight questions about the answer, which all weigh the same."""

from collections.abc import Iterator, Mapping
from typing import Any

from prorubric.datasets.shapes import parse_id, read_object
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
from prorubric.rubric.records import Criterion

FILE = DataFile(
    "researchqa/valid.json",
    703,
    "MIT",
    "valid.json of the dataset realliyifei/ResearchQA on Hugging Face",
    also=("researchqa/valid.jsonl", "researchqa_valid.json"),
)
PUBLISHED = PublishedItems("researchqa", FILE.rows, 5230, prompt=140, criterion=145)


def load_researchqa(source: BenchmarkFiles) -> list[BenchmarkItem]:
    """The questions with the items that an answer should cover."""
    return source.read_items(FILE.name, _parse)


def _parse(row: Mapping[str, Any]) -> Iterator[BenchmarkItem]:
    name, entries = parse_id(row.get("id")), read_list(row, "rubric")
    criteria = tuple(Criterion(text=read_text(read_object(entry), "rubric_item"), weight=1.0) for entry in entries)
    tags = read_tags(row, general_domain="general_domain", subdomain="subdomain", field="field")
    yield BenchmarkItem(f"researchqa/{name}", ask(read_text(row, "query")), criteria, tags=tags)


BENCHMARKS = (
    Benchmark(
        "researchqa",
        "ResearchQA",
        "science",
        (FILE,),
        load_researchqa,
        "coverage",
        Sampling(),
        published=(PUBLISHED,),
    ),
)
