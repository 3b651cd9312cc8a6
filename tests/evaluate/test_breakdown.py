"""Scores by tag, worked out by hand."""

import pytest

from prorubric import Criterion, Message
from prorubric.evaluate.benchmarks.base import Loaded
from prorubric.evaluate.benchmarks.registry import BENCHMARKS
from prorubric.evaluate.breakdown import Said, break_down
from prorubric.evaluate.records import BenchmarkItem, ItemScore


def load(benchmark: str, *items: BenchmarkItem) -> Loaded:
    return Loaded(BENCHMARKS[benchmark], items, len(items), (), {})


def make_item(name: str, *criteria: Criterion, tags: tuple[str, ...] = ()) -> BenchmarkItem:
    return BenchmarkItem(name, (Message(role="user", content="A question?"),), criteria, tags=tags)


def make_score(benchmark: str, item: str, value: float, *, sample: int = 0, weight: float = 1.0) -> ItemScore:
    about = {"benchmark": benchmark, "judge": "j", "policy": "p", "item": item, "sample": sample}
    return ItemScore(**about, value=value, low=value, high=value, weight=weight)


def find_tags(loaded: Loaded, scores: list[ItemScore], said: Said | None = None) -> dict[str, tuple[float, int]]:
    found = break_down([loaded], scores, {(loaded.benchmark.name, "j", "p"): said or {}})
    return {row.tag: (row.mean, row.n) for row in found}


def test_questions_of_arena_hard_count_by_their_rows_as_in_the_score() -> None:
    items = [make_item(name, tags=("subcategory:math",)) for name in ("a", "b")]
    scores = [make_score("arena-hard-v2", "a", 1.0, weight=6), make_score("arena-hard-v2", "b", 0.0, weight=2)]
    assert find_tags(load("arena-hard-v2", *items), scores) == {"subcategory:math": (75.0, 2)}


def test_a_requirement_of_writingbench_is_scored_over_whole_answers_and_over_its_criteria() -> None:
    style = "requirement:style"
    criteria = (Criterion(text="a", weight=1, tags=(style,)), Criterion(text="b", weight=1))
    scores = [make_score("writingbench", "w", 0.5, sample=0), make_score("writingbench", "w", 0.7, sample=1)]
    said = {("w", 0): (8.0, 2.0), ("w", 1): (9.0, 5.0)}
    found = find_tags(load("writingbench", make_item("w", *criteria, tags=(style,))), scores, said)
    assert found == {style: (pytest.approx(60.0), 1), f"{style}, only its criteria": (pytest.approx(85.0), 1)}


def test_tags_of_healthbench_are_over_all_answers_and_count_the_items_behind_them() -> None:
    good, bad = Criterion(text="a", weight=4, tags=("axis:x",)), Criterion(text="b", weight=-2, tags=("axis:y",))
    both = Criterion(text="c", weight=4, tags=("axis:y",))
    items = [make_item("healthbench/1", good, bad, tags=("theme:t",)), make_item("healthbench/2", good, both)]
    scores = [make_score("healthbench", item.id, 0.5, sample=sample) for item in items for sample in (0, 1)]
    said = {
        ("healthbench/1", 0): (True, True),
        ("healthbench/1", 1): (False, False),
        ("healthbench/2", 0): (True, False),
        ("healthbench/2", 1): (True, True),
    }
    assert find_tags(load("healthbench", *items), scores, said) == {
        "axis:x": (75.0, 2),
        "axis:y": (50.0, 1),  # the first item has no positive points under it
        "theme:t": (25.0, 1),
    }
