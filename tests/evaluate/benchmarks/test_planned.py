"""Benchmarks that are planned without their files."""

from pathlib import Path

import pytest

from prorubric.evaluate.benchmarks.base import Loaded
from prorubric.evaluate.benchmarks.planned import load_planned
from prorubric.evaluate.benchmarks.registry import BENCHMARKS, find_missing, load_benchmark

DATA = Path(__file__).parents[4] / "shared/data"


def count(loaded: list[Loaded]) -> tuple[int, int]:
    """The items that stand-ins stand for, and their criteria."""
    sizes = [(one.stands_for, len(item.criteria)) for one in loaded for item in one.items]
    return sum(number for number, _ in sizes), sum(number * criteria for number, criteria in sizes)


@pytest.mark.parametrize(
    ("name", "items", "criteria"),
    [
        ("healthbench", 5000, 57_250),
        ("healthbench-hard", 1000, 11_850),
        ("healthbench-consensus", 3671, 8053),
        ("healthbench-meta", 29_511, 29_511),
        ("medqa", 1273, 0),
        ("gpqa-diamond", 198, 0),
        ("writingbench", 1000, 5000),
        ("creative-v3", 96, 0),
        ("arena-hard-v2", 750, 0),
        ("researchqa", 703, 5230),
        ("probe-writing", 200, 0),
        ("pairs-medical-2048", 200, 0),
    ],
)
def test_stand_ins_have_the_published_number_of_items_and_criteria(name: str, items: int, criteria: int) -> None:
    assert count(load_planned([BENCHMARKS[name]])) == (items, criteria)


def test_every_benchmark_can_be_planned() -> None:
    assert [name for name, benchmark in BENCHMARKS.items() if not load_planned([benchmark])] == []


def test_a_limit_is_the_number_of_items() -> None:
    assert count(load_planned([BENCHMARKS["healthbench"]], 1000)) == (1000, 11_450)
    assert count(load_planned([BENCHMARKS["healthbench-consensus"]], 5000)) == (3671, 8053)
    assert count(load_planned([BENCHMARKS["probe-writing"]], 100)) == (100, 0)  # 48 and 52
    assert count(load_planned([BENCHMARKS["probe-writing"]], 1)) == (1, 0)


def test_the_consensus_is_a_part_of_healthbench_and_shares_its_answers_and_criteria() -> None:
    names = ("probe-medical", "healthbench-consensus", "healthbench")
    loaded = load_planned(BENCHMARKS[name] for name in names)
    assert [one.benchmark.name for one in loaded] == [
        *("healthbench", "healthbench", "healthbench-consensus", "healthbench-consensus", "probe-medical")
    ]
    whole, *parts = (
        {item.id: item for one in loaded if one.benchmark.name == name for item in one.items}
        for name in reversed(names)
    )
    for part in parts:
        for name, item in part.items():
            assert item.messages == whole[name].messages
            assert item.criteria == whole[name].criteria[: len(item.criteria)]


@pytest.mark.parametrize("name", ["medqa", "writingbench", "researchqa", "probe-chat"])
def test_the_published_sizes_are_those_of_the_files(name: str) -> None:
    benchmark = BENCHMARKS[name]
    if find_missing(benchmark, DATA):
        pytest.skip("the real data is not next to the checkout")
    assert count([load_benchmark(benchmark, DATA)]) == count(load_planned([benchmark]))
