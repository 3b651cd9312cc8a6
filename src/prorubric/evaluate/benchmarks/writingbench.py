"""WritingBench: queries with five criteria each, and what counts as 1-2, 3-4 … 9-10 points of ten.

The published subsets of requirements (style, format, length) become tags `requirement:style` …: on an item if its query
is in the subset, on a criterion if it is one of those on the requirement. Without those files there are no such tags.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from prorubric.datasets.shapes import parse_id, read_object
from prorubric.errors import ProRubricError, RubricError, SourceError
from prorubric.evaluate.benchmarks.base import Benchmark, BenchmarkFiles, PublishedItems, ask, read_list, read_text
from prorubric.evaluate.records import BenchmarkItem, DataFile, Sampling
from prorubric.rubric.records import Criterion

_GET = "X-PLUG/WritingBench on GitHub, folder benchmark_query"
FILE = DataFile(
    "writingbench/benchmark_all.jsonl",
    1000,
    "Apache-2.0",
    _GET,
    "6399939db8e24b56c0e8063b4bc4ac30d6828204257a564ce9dd6a01282eb782",
    ("benchmark_all.jsonl",),
)
REQUIREMENTS = ("style", "format", "length")
BANDS = ("1-2", "3-4", "5-6", "7-8", "9-10")

_CRITERIA = 5
PUBLISHED = PublishedItems("writingbench", FILE.rows, FILE.rows * _CRITERIA, prompt=4700, criterion=1070)
_SUBSETS = {
    (requirement, whole): DataFile(
        f"writingbench/requirement/{requirement}/{requirement}_subset{'' if whole else '_C'}.jsonl",
        0,
        "Apache-2.0",
        f"{_GET}/requirement",
        also=(f"requirement/{requirement}/{requirement}_subset{'' if whole else '_C'}.jsonl",),
        is_optional=True,
    )
    for requirement in REQUIREMENTS
    for whole in (True, False)
}


def load_writingbench(source: BenchmarkFiles) -> list[BenchmarkItem]:
    """The queries with their criteria."""
    named = _read_subsets(source)

    def parse(row: Mapping[str, Any]) -> Iterator[BenchmarkItem]:
        index, entries = parse_id(row.get("index")), read_list(row, "checklist")
        if len(entries) != _CRITERIA:
            detail = f"query {index} has {len(entries)}"
            raise RubricError(f"not {_CRITERIA} criteria", detail, remedy="is this the published file?")
        criteria = []
        for entry in map(read_object, entries):
            name, bands = read_text(entry, "name"), "\n".join(f"{band}: {read_text(entry, band)}" for band in BANDS)
            text = f"{name}: {read_text(entry, 'criteria_description')}\n{bands}"
            criteria.append(Criterion(text=text, weight=1.0, tags=named.pop((index, name), ())))
        domains = tuple(f"{key}:{read_text(row, key)}" for key in ("domain1", "domain2"))
        tags = domains + named.pop((index, None), ())
        yield BenchmarkItem(f"writingbench/{index}", ask(read_text(row, "query")), tuple(criteria), tags=tags)

    items = source.read_items(FILE.name, parse)
    if named:
        source.left_out["requirements of queries or criteria that are not in the benchmark"] = len(named)
    return items


_Named = dict[tuple[str, str | None], tuple[str, ...]]


def _read_subsets(source: BenchmarkFiles) -> _Named:
    """The requirement tags of queries, by index, and of criteria, by index and name."""
    named: _Named = {}
    for (requirement, whole), file in _SUBSETS.items():
        for place, row in source.read(file.name) if file.name in source.paths else ():
            try:
                index = parse_id(row.get("index"))
                entries = [] if whole else map(read_object, read_list(row, "checklist"))
                keys = [None] if whole else [read_text(entry, "name") for entry in entries]
            except ProRubricError as error:
                raise error.turn_into(SourceError, place) from None
            for key in keys:
                named[index, key] = (*named.get((index, key), ()), f"requirement:{requirement}")
    return named


BENCHMARKS = (
    Benchmark(
        "writingbench",
        "WritingBench",
        "writing",
        (FILE, *_SUBSETS.values()),
        load_writingbench,
        "writing",
        Sampling(temperature=0.7, top_p=0.8, top_k=20, max_tokens=16_000),
        published=(PUBLISHED,),
    ),
)
