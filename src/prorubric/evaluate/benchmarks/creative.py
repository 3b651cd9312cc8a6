"""Creative Writing v3: 32 prompts, each asked with its first three modifiers. The 96 items have 32 clusters.

The published file is one object; its keys are the ids of the prompts. `<SEED>` in a prompt stands for the modifier.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from prorubric.datasets.shapes import read_object
from prorubric.errors import RubricError
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

FILE = DataFile(
    "creative-v3/creative_writing_prompts_v3.json",
    32,
    "none stated (the site's repository says MIT)",
    "EQ-bench/creative-writing-bench on GitHub, data/creative_writing_prompts_v3.json",
    also=("creative_writing_prompts_v3.json", "creative_v3/creative_writing_prompts_v3.json"),
)
ITERATIONS = 3
PUBLISHED = PublishedItems("creative-v3", FILE.rows * ITERATIONS)

_PLACE = "<SEED>"


def load_creative(source: BenchmarkFiles) -> list[BenchmarkItem]:
    """Every prompt with each of its modifiers."""
    items = source.read_items(FILE.name, _parse)
    source.rows[FILE.name] = len(items) // ITERATIONS  # the file is one object
    return items


def _parse(prompts: Mapping[str, Any]) -> Iterator[BenchmarkItem]:
    for name, value in prompts.items():
        try:
            entry = read_object(value)
            text, modifiers = read_text(entry, "writing_prompt"), read_list(entry, "seed_modifiers")
        except RubricError as error:
            raise error.at(f"prompt {name}") from None
        if len(modifiers) < ITERATIONS or not all(isinstance(each, str) for each in modifiers):
            fault = RubricError(f"not {ITERATIONS} modifiers", show(modifiers), remedy="is this the published file?")
            raise fault.at(f"prompt {name}")
        cluster, tags = f"creative-v3/{name}", read_tags(entry, category="category")
        for number, modifier in enumerate(modifiers[:ITERATIONS], 1):
            yield BenchmarkItem(f"{cluster}/{number}", ask(text.replace(_PLACE, modifier)), cluster=cluster, tags=tags)


BENCHMARKS = (
    Benchmark(
        "creative-v3",
        "Creative Writing v3",
        "writing",
        (FILE,),
        load_creative,
        "creative",
        Sampling(temperature=0.7, top_p=1.0, top_k=None, min_p=0.1, max_tokens=4000),
        published=(PUBLISHED,),
    ),
)
