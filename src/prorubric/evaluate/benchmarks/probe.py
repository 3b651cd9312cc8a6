"""The appropriateness probe and blind pairs: 200 prompts of each domain, chosen by a hash of their ids.

The prompts are those of other benchmarks under the same ids, so an answer serves all of them; criteria and baselines
are left behind. Writing has all 96 of Creative Writing v3 and 104 of WritingBench. What a file lacks is counted.
`pairs-…-2048` are the same pairs with at most 2,048 tokens for every answer.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from prorubric.evaluate.benchmarks import arena, creative, healthbench, researchqa, writingbench
from prorubric.evaluate.benchmarks.base import Benchmark, BenchmarkFiles, PublishedItems, choose
from prorubric.evaluate.records import BenchmarkItem, DataFile, Sampling

BUDGET = 2048


class PoolPart(NamedTuple):
    """The prompts of one file that are used."""

    file: DataFile
    load: Callable[[BenchmarkFiles], list[BenchmarkItem]]
    published: PublishedItems
    """Of the whole file."""
    wanted: int


_load_consensus = partial(healthbench.load_healthbench, healthbench.CONSENSUS.name, True)
POOLS: dict[str, tuple[PoolPart, ...]] = {
    "medical": (PoolPart(healthbench.CONSENSUS, _load_consensus, healthbench.PUBLISHED[healthbench.CONSENSUS], 200),),
    "chat": (PoolPart(arena.QUESTIONS, arena.load_questions, arena.PUBLISHED, 200),),
    "science": (PoolPart(researchqa.FILE, researchqa.load_researchqa, researchqa.PUBLISHED, 200),),
    "writing": (
        PoolPart(replace(creative.FILE, is_optional=True), creative.load_creative, creative.PUBLISHED, 96),
        PoolPart(writingbench.FILE, writingbench.load_writingbench, writingbench.PUBLISHED, 104),
    ),
}


def load_pool(parts: Iterable[PoolPart], source: BenchmarkFiles) -> list[BenchmarkItem]:
    """The prompts of one domain."""
    items: list[BenchmarkItem] = []
    for file, load, _, wanted in parts:
        found = choose(load(source), wanted) if file.name in source.paths else []
        if len(found) < wanted:
            why = f"{source.paths[file.name].name} has too few prompts" if found else f"no {file.name}"
            source.left_out[why] += wanted - len(found)
        items += [replace(item, criteria=(), baseline=None) for item in found]
    return items


BENCHMARKS = tuple(
    Benchmark(
        name.format(domain),
        title.format(domain),
        domain,
        tuple(part.file for part in parts),
        partial(load_pool, parts),
        instrument,
        Sampling(max_tokens=budget) if budget else Sampling(),
        budget=budget,
        published=tuple(part.published._replace(items=part.wanted, criteria=0) for part in parts),
    )
    for name, title, instrument, budget in (
        ("probe-{}", "Probe, {}", "probe", None),
        ("pairs-{}", "Blind pairs, {}", "pairs", None),
        (f"pairs-{{}}-{BUDGET}", f"Blind pairs, {{}}, {BUDGET:,} tokens", "pairs", BUDGET),
    )
    for domain, parts in POOLS.items()
)
