"""Benchmarks whose files are not here, as a plan counts them: by the sizes of the published files.

The number of calls depends almost only on the criteria per item. So one item stands for all items that have as many
criteria, and a family of items has at most two kinds of them, whose criteria add up to the published number. Items of
a family are the same in all of its benchmarks, which share answers and verdicts as far as they can. Real ones share
less under a limit, which chooses from each benchmark alone, and HealthBench Hard is not a part of the consensus: the
calls can then be somewhat more than planned.
"""

import math
from collections.abc import Iterable

from prorubric.evaluate.benchmarks.base import Benchmark, Loaded, ask
from prorubric.evaluate.instruments import INSTRUMENTS
from prorubric.evaluate.records import BenchmarkItem
from prorubric.rubric.records import Criterion

_ANSWER = 3600
"""Characters of an answer that comes with an item."""


def load_planned(benchmarks: Iterable[Benchmark], limit: int | None = None) -> list[Loaded]:
    """Stand-ins for the items of benchmarks, the largest first: smaller ones are parts of it."""
    loaded = []
    for benchmark in sorted(benchmarks, key=lambda one: -sum(part.items for part in one.published)):
        kind = INSTRUMENTS[benchmark.instrument].kind
        share = min(1.0, (limit or math.inf) / sum(part.items for part in benchmark.published))
        for part in benchmark.published:
            items, criteria = round(part.items * share), round(part.criteria * share)
            fewest, longer = divmod(criteria, max(items, 1))
            for place, number in enumerate((items - longer, longer)):
                if not number:
                    continue
                name = f"{part.family}/planned-{place}"
                texts = (f"{name}: criterion {index} ".ljust(part.criterion, "x") for index in range(fewest + place))
                item = BenchmarkItem(
                    name,
                    ask(f"{name} ".ljust(part.prompt, "x")),
                    tuple(Criterion(text=text, weight=5.0) for text in texts),
                    baseline="x" * _ANSWER if kind == "baseline" else None,
                    answer="x" * _ANSWER if kind == "labels" else None,
                )
                loaded.append(Loaded(benchmark, (item,), part.items, (), {}, stands_for=number))
    return loaded
