"""Counts and contents of the real files, where they are next to the checkout."""

from pathlib import Path

import pytest

from prorubric.evaluate.benchmarks.base import Loaded
from prorubric.evaluate.benchmarks.registry import find_benchmark, load_benchmark
from prorubric.files.read import read_rows


def load(shared_data: Path, name: str, limit: int | None = None) -> Loaded:
    return load_benchmark(find_benchmark(name), shared_data, limit)


@pytest.mark.parametrize(
    ("name", "items", "criteria", "published"),
    [
        ("healthbench", 500, 5965, [False]),
        ("healthbench-consensus", 104, 208, [False]),
        ("medqa", 1273, 0, [True]),
        ("writingbench", 1000, 5000, [True]),
        ("arena-hard-v2", 500, 0, [True, True]),
        ("researchqa", 703, 5230, [None]),
        ("probe-chat", 200, 0, [True]),
        ("probe-science", 200, 0, [None]),
        ("pairs-writing", 104, 0, [True]),
    ],
)
def test_every_item_and_criterion_is_read(
    shared_data: Path, name: str, items: int, criteria: int, published: list[bool | None]
) -> None:
    loaded = load(shared_data, name)
    assert (len(loaded.items), sum(len(item.criteria) for item in loaded.items)) == (items, criteria)
    assert [file.is_published for file in loaded.files] == published
    assert len({item.id for item in loaded.items}) == items


def test_a_file_of_all_prompts_serves_the_consensus(shared_data: Path, tmp_path: Path) -> None:
    (tmp_path / "healthbench_500").symlink_to(shared_data / "healthbench_500")
    loaded = load(tmp_path, "healthbench-consensus")
    assert (len(loaded.items), loaded.left_out) == (384, {"no consensus criterion": 116})
    assert {criterion.weight for item in loaded.items for criterion in item.criteria} == {5.0}
    assert sum(len(item.criteria) for item in loaded.items) == 849


def test_questions_without_the_answers_of_their_baseline_are_left_out_and_counted(shared_data: Path) -> None:
    loaded = load(shared_data, "arena-hard-v2")
    assert {item.category for item in loaded.items} == {"hard_prompt"}
    assert loaded.left_out == {"creative_writing: no arena-hard-v2/gemini-2.0-flash-001.jsonl": 250}
    assert [(file.path.name, file.rows) for file in loaded.files] == [
        ("question.jsonl", 750),
        ("o3-mini-2025-01-31.jsonl", 750),
    ]
    assert all(item.baseline for item in loaded.items)


def test_prompts_that_a_probe_lacks_are_counted(shared_data: Path) -> None:
    assert load(shared_data, "probe-medical").left_out == {
        "context_seeking_consensus_hard_104.jsonl has too few prompts": 96
    }
    assert load(shared_data, "probe-writing").left_out == {"no creative-v3/creative_writing_prompts_v3.json": 96}


def test_a_writing_query_has_its_domains_and_the_bands_of_its_criteria(shared_data: Path) -> None:
    item = next(item for item in load(shared_data, "writingbench").items if item.id == "writingbench/1")
    assert item.tags == ("domain1:Academic & Engineering", "domain2:Paper Outline")
    lines = item.criteria[0].text.splitlines()
    assert [line.partition(":")[0] for line in lines[-5:]] == ["1-2", "3-4", "5-6", "7-8", "9-10"]


def test_the_same_prompts_are_chosen_for_benchmarks_that_share_them(shared_data: Path) -> None:
    probed, paired = load(shared_data, "probe-chat", 20), load(shared_data, "pairs-chat-2048", 20)
    assert (probed.items, probed.pool) == (paired.items, 200)
    few = {item.id for item in load(shared_data, "arena-hard-v2", 20).items}
    assert few <= {item.id for item in load(shared_data, "arena-hard-v2", 21).items}


def test_the_canary_of_real_rows_is_in_no_item(shared_data: Path) -> None:
    loaded = load(shared_data, "healthbench-consensus")
    canaries = {row.value["canary"] for row in read_rows(loaded.files[0].path) if row.value}
    assert len(canaries) == 1
    assert not any(canary in repr(item) for canary in canaries for item in loaded.items)
