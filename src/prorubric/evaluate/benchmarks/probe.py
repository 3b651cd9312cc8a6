"""The appropriateness probe and blind pairs: 200 prompts of each domain, chosen by a hash of their ids.

The prompts are those of other benchmarks under the same ids, so an answer serves all of them; criteria and baselines
are left behind. Writing has all 96 of Creative Writing v3 and 104 of WritingBench. What a file lacks is counted.
`pairs-…-2048` are the same pairs with at most 2,048 tokens for every answer.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from prorubric.evaluate.benchmarks import arena, creative, healthbench, researchqa, writingbench
from prorubric.evaluate.benchmarks.base import Benchmark, BenchmarkFiles, choose
from prorubric.evaluate.records import BenchmarkItem, DataFile, Sampling

BUDGET = 2048

Part = tuple[DataFile, Callable[[BenchmarkFiles], list[BenchmarkItem]], int]
"""A file, what loads its items, and how many of them are used."""

_load_consensus = partial(healthbench.load_healthbench, healthbench.CONSENSUS.name, True)
POOLS: dict[str, tuple[Part, ...]] = {
    "medical": ((healthbench.CONSENSUS, _load_consensus, 200),),
    "chat": ((arena.QUESTIONS, arena.load_questions, 200),),
    "science": ((researchqa.FILE, researchqa.load_researchqa, 200),),
    "writing": (
        (replace(creative.FILE, is_optional=True), creative.load_creative, 96),
        (writingbench.FILE, writingbench.load_writingbench, 104),
    ),
}


def load_pool(parts: Iterable[Part], source: BenchmarkFiles) -> list[BenchmarkItem]:
    """The prompts of one domain."""
    items: list[BenchmarkItem] = []
    for file, load, wanted in parts:
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
        tuple(file for file, _, _ in parts),
        partial(load_pool, parts),
        instrument,
        Sampling(max_tokens=budget) if budget else Sampling(),
        budget=budget,
    )
    for name, title, instrument, budget in (
        ("probe-{}", "Probe, {}", "probe", None),
        ("pairs-{}", "Blind pairs, {}", "pairs", None),
        (f"pairs-{{}}-{BUDGET}", f"Blind pairs, {{}}, {BUDGET:,} tokens", "pairs", BUDGET),
    )
    for domain, parts in POOLS.items()
)
