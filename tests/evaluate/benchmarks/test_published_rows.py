"""What rows of the published shapes become."""

import gzip
import shutil
from collections import Counter
from pathlib import Path

import pytest

from prorubric.evaluate.benchmarks.base import Loaded
from prorubric.evaluate.benchmarks.registry import BENCHMARKS, find_benchmark, load_benchmark
from prorubric.evaluate.records import Sampling
from tests.evaluate.benchmarks import published
from tests.evaluate.benchmarks.published import CANARY, write, write_all


def load(folder: Path, name: str, limit: int | None = None) -> Loaded:
    return load_benchmark(find_benchmark(name), folder, limit)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def reversed_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all(tmp_path_factory.mktemp("reversed"), range(6, 0, -1))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_order_of_rows_changes_nothing(data: Path, reversed_data: Path, name: str) -> None:
    for limit in (None, 3):
        assert load(data, name, limit).items == load(reversed_data, name, limit).items


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_item_is_a_task_for_the_judge_and_hides_the_canary(data: Path, name: str) -> None:
    for item in load(data, name).items:
        assert item.task.id == item.id
        assert CANARY not in repr(item)


def test_healthbench_keeps_points_and_tags_and_text_with_line_separators(data: Path) -> None:
    item = load(data, "healthbench").items[0]
    assert (item.id, item.tags) == ("healthbench/p1", ("theme:hedging",))
    assert item.messages[0].content == "Does remedy 1 help?\u2028It is new."
    assert [(criterion.weight, criterion.tags) for criterion in item.criteria] == [
        (5.0, ("level:example", "axis:accuracy")),
        (-3.0, ("level:example", "axis:accuracy")),
    ]


def test_a_prompt_without_positive_points_is_left_out_and_counted(tmp_path: Path) -> None:
    write(tmp_path, published.OSS_EVAL, [published.healthbench(1), published.healthbench(2, -5)])
    loaded = load(tmp_path, "healthbench")
    assert ([item.id for item in loaded.items], loaded.left_out) == (["healthbench/p1"], {"no positive points": 1})


def test_benchmarks_of_the_same_prompts_share_their_ids(data: Path) -> None:
    ids = {item.id for item in load(data, "healthbench").items}
    for name in ("healthbench-hard", "healthbench-consensus", "probe-medical", "pairs-medical-2048"):
        assert {item.id for item in load(data, name).items} == ids


def test_a_meta_row_has_its_answer_its_labels_and_its_theme(data: Path) -> None:
    items = load(data, "healthbench-meta").items
    assert Counter(item.labels for item in items) == {
        (("one", True), ("two", True)): 3,
        (("one", True), ("two", False)): 3,
    }
    item = items[0]
    assert item.answer == "See a doctor if it gets worse."
    assert [(criterion.text, criterion.weight) for criterion in item.criteria] == [
        ("The answer names a warning sign.", 1.0)
    ]
    assert (item.category, item.tags) == (
        "emergency_referrals_non-emergent_context_seeking",
        ("theme:emergency_referrals",),
    )


def test_criteria_on_the_same_answer_are_one_cluster(tmp_path: Path) -> None:
    other = published.meta(1) | {"rubric": "The answer asks back.", "category": "cluster:hedging_x_seeks_context"}
    write(tmp_path, published.META, [published.meta(1), other, published.meta(2)])
    clusters = Counter(item.cluster for item in load(tmp_path, "healthbench-meta").items)
    assert sorted(clusters.values()) == [1, 2]


def test_a_question_of_medqa_asks_for_reasons_and_then_a_letter(data: Path) -> None:
    item = next(item for item in load(data, "medqa").items if "case 1?" in item.messages[0].content)
    assert item.messages[0].content == (
        "Which drug treats case 1?\n\nA. drug A of 1\nB. drug B of 1\nC. drug C of 1\nD. drug D of 1\n\n"
        "Only one option is right. Reason first, then give your choice on the last line, on its own, as `Answer: X`, "
        "where X is one of A, B, C, D."
    )
    assert (item.letter, item.tags) == ("C", ("exam:step1",))


def test_the_options_of_gpqa_are_permuted_by_record_and_the_letter_follows(data: Path) -> None:
    items = load(data, "gpqa-diamond").items
    for item in items:
        lines = item.messages[0].content.splitlines()
        assert f"{item.letter}. right" in lines
        assert sorted(line[3:] for line in lines if line[1:3] == ". ") == ["right", "wrong 1", "wrong 2", "wrong 3"]
    assert len({item.letter for item in items}) > 1
    assert find_benchmark("gpqa-diamond").samples == 4


def test_a_creative_prompt_is_asked_with_three_modifiers_and_is_one_cluster(data: Path) -> None:
    loaded = load(data, "creative-v3")
    assert [file.rows for file in loaded.files] == [6]
    assert [(item.id, item.cluster, item.messages[0].content) for item in loaded.items[:3]] == [
        ("creative-v3/1/1", "creative-v3/1", "Write scene 1. Add rain. 100 words."),
        ("creative-v3/1/2", "creative-v3/1", "Write scene 1. Add snow. 100 words."),
        ("creative-v3/1/3", "creative-v3/1", "Write scene 1. Add sun. 100 words."),
    ]


def test_each_category_of_arena_hard_has_its_own_baseline(data: Path) -> None:
    loaded = load(data, "arena-hard-v2")
    assert {item.id: item.baseline for item in loaded.items} == {
        "arena-hard-v2/u1": "o3 did task 1.",
        "arena-hard-v2/u2": "o3 did task 2.",
        "arena-hard-v2/u3": "gemini did task 3.",
        "arena-hard-v2/u4": "o3 did task 4.",
        "arena-hard-v2/u5": "o3 did task 5.",
        "arena-hard-v2/u6": "gemini did task 6.",
    }
    assert loaded.left_out == {}


def test_requirements_of_queries_and_criteria_become_tags(tmp_path: Path) -> None:
    write(tmp_path, published.WRITING, [published.writing(1), published.writing(2)])
    write(tmp_path, "writingbench/requirement/style/style_subset.jsonl", [{"index": 2}])
    part = {"index": 2, "checklist": [{"name": "Trait 3"}, {"name": "No such trait"}]}
    write(tmp_path, "writingbench/requirement/style/style_subset_C.jsonl", [part])
    loaded = load(tmp_path, "writingbench")
    plain, styled = loaded.items
    assert plain.tags == ("domain1:Education", "domain2:Speech")
    assert styled.tags == ("domain1:Education", "domain2:Speech", "requirement:style")
    assert [criterion.tags for criterion in styled.criteria] == [(), (), (), ("requirement:style",), ()]
    assert loaded.left_out == {"requirements of queries or criteria that are not in the benchmark": 1}


def test_probes_and_pairs_have_prompts_only(data: Path) -> None:
    for name in ("probe-chat", "pairs-science", "pairs-medical-2048"):
        assert all(item.criteria == () and item.baseline is None for item in load(data, name).items)
    assert [BENCHMARKS[name].budget for name in ("pairs-chat", "pairs-chat-2048")] == [None, 2048]
    assert BENCHMARKS["pairs-chat-2048"].sampling.max_tokens == 2048


def test_the_writing_probe_has_all_pieces_and_104_queries(tmp_path: Path) -> None:
    write(tmp_path, published.CREATIVE, [published.creative(*range(32))])
    write(tmp_path, published.WRITING, [published.writing(number) for number in range(150)])
    loaded = load(tmp_path, "probe-writing")
    assert Counter(item.id.partition("/")[0] for item in loaded.items) == {"creative-v3": 96, "writingbench": 104}
    assert loaded.left_out == {}
    assert len(load(tmp_path, "probe-writing", 40).items) == 40


def test_a_compressed_file_is_read_and_is_not_the_published_one(tmp_path: Path) -> None:
    path = write(tmp_path, published.MEDQA, [published.medqa(1)])
    with path.open("rb") as plain, gzip.open(f"{path}.gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    path.unlink()
    (file,) = load(tmp_path, "medqa").files
    assert (file.path.name, file.rows, file.is_published) == ("phrases_no_exclude_test.jsonl.gz", 1, False)


def test_published_sampling_is_kept() -> None:
    plain = {"top_p": 1.0, "top_k": None}
    expected = {
        "healthbench": Sampling(temperature=0.5, max_tokens=1024, **plain),
        "gpqa-diamond": Sampling(temperature=0.5, max_tokens=2048, **plain),
        "writingbench": Sampling(temperature=0.7, top_p=0.8, top_k=20, max_tokens=16000),
        "creative-v3": Sampling(temperature=0.7, min_p=0.1, max_tokens=4000, **plain),
        "arena-hard-v2": Sampling(temperature=0.0, max_tokens=4096, **plain),
        "probe-medical": Sampling(temperature=0.7, top_p=0.8, top_k=20, max_tokens=8192),
    }
    assert {name: BENCHMARKS[name].sampling for name in expected} == expected
