"""HealthBench: real rows in both shapes, and rows of the published shape."""

from pathlib import Path

from prorubric.evaluate.benchmarks.registry import find_benchmark, load_benchmark


def test_the_500_prompts_have_their_criteria(shared_data: Path) -> None:
    loaded = load_benchmark(find_benchmark("healthbench"), shared_data)
    assert (len(loaded.items), sum(len(item.criteria) for item in loaded.items)) == (500, 5965)
