"""HealthBench meta-evaluation: a judge's verdicts on one criterion, compared with those of physicians.

A row is a conversation, an answer, one criterion without points, and what two or more physicians said of it. Rows on
the same answer are one cluster.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from prorubric.datasets.shapes import parse_messages
from prorubric.errors import RubricError
from prorubric.evaluate.benchmarks.base import Benchmark, BenchmarkFiles, PublishedItems, read_list, read_text
from prorubric.evaluate.benchmarks.healthbench import DOMAIN, make_file
from prorubric.evaluate.records import BenchmarkItem, Sampling
from prorubric.files.json import render_json
from prorubric.rubric.records import Criterion
from prorubric.text.show import is_blank, show

FILE = make_file(
    "2025-05-07-06-14-12_oss_meta_eval.jsonl",
    29511,
    "6a343ed3fcb6f28353c2c6c157ae30ddf2db874c947b27ba474ad54da9c5dbac",
)
THEMES = (
    "communication",
    "complex_responses",
    "context_seeking",
    "emergency_referrals",
    "global_health",
    "health_data_tasks",
    "hedging",
)


def load_meta(source: BenchmarkFiles) -> list[BenchmarkItem]:
    """Every criterion that physicians judged, with the answer and their labels."""
    return source.read_items(FILE.name, _parse)


def _parse(row: Mapping[str, Any]) -> Iterator[BenchmarkItem]:
    criterion, answer, category = (read_text(row, key) for key in ("rubric", "completion", "category"))
    labels, raters = (read_list(row, key) for key in ("binary_labels", "anonymized_physician_ids"))
    if len(labels) != len(raters):
        detail = f"{len(labels)} labels of {len(raters)} physicians"
        raise RubricError("not one label for each physician", detail, remedy="is this the published file?")
    if wrong := [label for label in labels if not isinstance(label, bool)]:
        raise RubricError("a label is not true or false", show(wrong[0]), remedy="is this the published file?")
    name = category.removeprefix("cluster:")
    theme = next((theme for theme in THEMES if name.startswith(theme)), None)
    if theme is None:
        raise RubricError("the category has no known theme", show(category), remedy=f"known are {', '.join(THEMES)}")
    messages, raters = parse_messages(row.get("prompt")), list(map(str, raters))
    if all(is_blank(message.content) for message in messages):
        raise RubricError("the conversation is empty", remedy="is this the published file?")
    cluster = _hash([[message.role, message.content] for message in messages], answer)
    yield BenchmarkItem(
        f"healthbench-meta/{cluster}/{_hash(name, criterion, raters, labels)}",
        messages,
        (Criterion(text=criterion, weight=1.0),),
        cluster=f"healthbench-meta/{cluster}",
        tags=(f"theme:{theme}",),
        category=name,
        answer=answer,
        labels=tuple(zip(raters, labels, strict=True)),
    )


def _hash(*parts: object) -> str:
    return hashlib.sha256(render_json(parts)).hexdigest()[:16]


BENCHMARKS = (
    Benchmark(
        "healthbench-meta",
        "HealthBench meta-evaluation",
        DOMAIN,
        (FILE,),
        load_meta,
        "healthbench-meta",
        Sampling(),
        published=(PublishedItems("healthbench-meta", FILE.rows, FILE.rows, prompt=670),),
    ),
)
