"""HealthBench: all prompts, the hard ones, and the criteria on which physicians agree.

Rows are the published ones, or parquet in verl's columns. A file of all prompts also serves the consensus: only the
criteria tagged as such are kept. A prompt without positive points has no score, so it is left out.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from prorubric.datasets.sources import healthbench
from prorubric.datasets.sources.healthbench import CONSENSUS_TAG
from prorubric.errors import RubricError
from prorubric.evaluate.benchmarks.base import Benchmark, BenchmarkFiles, PublishedItems
from prorubric.evaluate.records import BenchmarkItem, DataFile, Sampling
from prorubric.text.show import show

DOMAIN = "medical"
SAMPLING = Sampling(temperature=0.5, top_p=1.0, top_k=None, max_tokens=1024)

_STORE = "https://openaipublic.blob.core.windows.net/simple-evals/healthbench"


def make_file(name: str, rows: int, sha256: str, *also: str) -> DataFile:
    """A file of HealthBench; none of its text may be copied."""
    get = f"download {_STORE}/{name}"
    return DataFile(f"healthbench/{name}", rows, "MIT", get, sha256, (name, *also), is_protected=True)


ALL = make_file(
    "2025-05-07-06-14-12_oss_eval.jsonl",
    5000,
    "e99dd3c6372c10d6fcc5e385c5fae69d0dd40392dae56836ef9493ae324ecd2f",
    "healthbench_500/healthbench_500.parquet",
)
HARD = make_file(
    "hard_2025-05-08-21-00-10.jsonl", 1000, "b0320430e5cd974e746585594c1dd10b5a3fc2aff9c72b26106c2c4a069d74e9"
)
CONSENSUS = make_file(
    "consensus_2025-05-09-20-00-46.jsonl",
    3671,
    "fabe37553327238928b05357d8b309737b5d426d6dee432a3376da618d0969d6",
    "healthbench_104/context_seeking_consensus_hard_104.jsonl",
    ALL.name,
    *ALL.also,
)
PUBLISHED = {
    ALL: PublishedItems("healthbench", ALL.rows, 57_250, prompt=670, criterion=270),  # 11.45 per prompt, rounded
    HARD: PublishedItems("healthbench", HARD.rows, 11_850, prompt=670, criterion=270),  # estimated
    CONSENSUS: PublishedItems("healthbench", CONSENSUS.rows, 8053, prompt=670, criterion=270),
}


def load_healthbench(file: str, consensus: bool, source: BenchmarkFiles) -> list[BenchmarkItem]:
    """The prompts of a file with their criteria."""

    def parse(row: Mapping[str, Any]) -> Iterator[BenchmarkItem]:
        if not healthbench.fits(row):
            detail = f"its fields are {show(sorted(row))}"
            raise RubricError("not a row of HealthBench", detail, remedy="a row has prompt, prompt_id and rubrics")
        task = healthbench.parse(row)
        criteria = tuple(c for c in task.rubric.criteria if not consensus or CONSENSUS_TAG in c.tags)
        if not criteria:
            source.left_out["no consensus criterion"] += 1
        elif not any(criterion.weight > 0 for criterion in criteria):
            source.left_out["no positive points"] += 1
        else:
            tags = task.meta.get("example_tags")
            named = tuple(map(str, tags)) if isinstance(tags, list) else ()
            yield BenchmarkItem(f"healthbench/{task.id}", task.messages, criteria, tags=named)

    return source.read_items(file, parse)


def _make(name: str, title: str, file: DataFile, *, consensus: bool = False) -> Benchmark:
    load = partial(load_healthbench, file.name, consensus)
    return Benchmark(name, title, DOMAIN, (file,), load, "healthbench", SAMPLING, published=(PUBLISHED[file],))


BENCHMARKS = (
    _make("healthbench", "HealthBench", ALL),
    _make("healthbench-hard", "HealthBench Hard", HARD),
    _make("healthbench-consensus", "HealthBench Consensus", CONSENSUS, consensus=True),
)
