"""Files that are missing, other files, rows that cannot be read: each is one line; and the list of benchmarks."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prorubric.errors import ConfigError, SourceError
from prorubric.evaluate.benchmarks.registry import (
    BENCHMARKS,
    describe_benchmarks,
    find_benchmark,
    find_files,
    load_benchmark,
)
from tests.evaluate.benchmarks import published
from tests.evaluate.benchmarks.published import write, write_all

_IS_IT = "is this the published file?"


def test_an_unknown_benchmark_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        ConfigError, match=r"^unknown benchmark \('gsm8k'\); choose from healthbench, healthbench-hard, "
    ):
        find_benchmark("gsm8k")


def test_a_missing_file_is_named_with_its_places_and_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_benchmark(find_benchmark("gpqa-diamond"), tmp_path)
    assert str(caught.value) == (
        f"gpqa-diamond: a file is missing (looked for {tmp_path}/gpqa/gpqa_diamond.csv, or there as gpqa_diamond.csv); "
        "get it: dataset.zip of idavidrein/gpqa on GitHub holds it; its README has the password"
    )


def test_the_first_of_its_names_is_found(tmp_path: Path) -> None:
    benchmark = find_benchmark("healthbench")
    name = published.OSS_EVAL
    assert find_files(benchmark, tmp_path) == {name: None}
    other = write(tmp_path, Path(name).name, [published.healthbench(1)])
    assert find_files(benchmark, tmp_path) == {name: other}
    first = write(tmp_path, name, [published.healthbench(1)])
    assert find_files(benchmark, tmp_path) == {name: first}


def change(row: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {key: value for key, value in (row | fields).items() if value is not ...}


_FAULTS: list[tuple[str, str, Callable[[], list[dict[str, Any]]], str]] = [
    (
        "healthbench",
        published.OSS_EVAL,
        lambda: [change(published.healthbench(1), rubrics=...)],
        ":1: not a row of HealthBench (its fields are ['canary', 'example_tags', 'ideal_completions_data', 'promp…); "
        "a row has prompt, prompt_id and rubrics",
    ),
    (
        "healthbench",
        published.OSS_EVAL,
        lambda: [published.healthbench(1), published.healthbench(2), published.healthbench(1)],
        ":3: an id appears twice (healthbench/p1, first in line 1); keep one of the rows",
    ),
    (
        "healthbench-consensus",
        published.CONSENSUS,
        lambda: [published.healthbench(1)],
        ": no item is in it; is this the right file?",
    ),
    (
        "healthbench-meta",
        published.META,
        lambda: [change(published.meta(1), binary_labels=[True])],
        f":1: not one label for each physician (1 labels of 2 physicians); {_IS_IT}",
    ),
    (
        "healthbench-meta",
        published.META,
        lambda: [change(published.meta(1), binary_labels=[True, "true"])],
        f":1: a label is not true or false ('true'); {_IS_IT}",
    ),
    (
        "healthbench-meta",
        published.META,
        lambda: [change(published.meta(1), prompt=[])],
        f":1: the conversation is empty; {_IS_IT}",
    ),
    (
        "healthbench-meta",
        published.META,
        lambda: [change(published.meta(1), category="cluster:dentistry")],
        ":1: the category has no known theme ('cluster:dentistry'); known are communication, complex_responses, "
        "context_seeking, emergency_referrals, global_health, health_data_tasks, hedging",
    ),
    (
        "medqa",
        published.MEDQA,
        lambda: [published.medqa(1), change(published.medqa(2), options={"A": "one", "B": "two"})],
        ":2: the options are not A to D ({'A': 'one', 'B': 'two'}); is this the file with four options?",
    ),
    (
        "medqa",
        published.MEDQA,
        lambda: [change(published.medqa(1), answer_idx="E")],
        ":1: the answer is not one of the options ('E'); answer_idx is one of A to D",
    ),
    (
        "gpqa-diamond",
        published.GPQA,
        lambda: [published.gpqa(1), change(published.gpqa(2), **{"Incorrect Answer 2": " "})],
        f":5: a field is not a text (Incorrect Answer 2 is ' '); {_IS_IT}",
    ),
    (
        "writingbench",
        published.WRITING,
        lambda: [change(published.writing(7), checklist=published.writing(7)["checklist"][:4])],
        f":1: not 5 criteria (query 7 has 4); {_IS_IT}",
    ),
    (
        "writingbench",
        published.WRITING,
        lambda: [change(published.writing(7), checklist=["Trait"] * 5)],
        f":1: a field is not a text (name is missing); {_IS_IT}",
    ),
    (
        "creative-v3",
        published.CREATIVE,
        lambda: [{"4": change(published.creative(4)["4"], seed_modifiers=["Add rain."])}],
        f":1: prompt 4: not 3 modifiers (['Add rain.']); {_IS_IT}",
    ),
    (
        "creative-v3",
        published.CREATIVE,
        lambda: [{"4": "Write a scene."}],
        f":1: prompt 4: a field is not a text (writing_prompt is missing); {_IS_IT}",
    ),
    (
        "arena-hard-v2",
        published.QUESTIONS,
        lambda: [change(published.question(1), category="easy")],
        ":1: unknown category ('easy'); known are hard_prompt, creative_writing",
    ),
    (
        "arena-hard-v2",
        published.O3_MINI,
        lambda: [published.baseline(1, "o3")],
        f": no answer to arena-hard-v2/u2; {_IS_IT}",
    ),
    (
        "arena-hard-v2",
        published.O3_MINI,
        lambda: [change(published.baseline(1, "o3"), messages=[{"role": "assistant", "content": None}])],
        f":1: a field is not a text (answer is None); {_IS_IT}",
    ),
    (
        "researchqa",
        published.RESEARCHQA,
        lambda: [change(published.research(1), rubric=[])],
        f":1: a field is not a list with entries (rubric is []); {_IS_IT}",
    ),
    (
        "researchqa",
        published.RESEARCHQA,
        lambda: [change(published.research(1), id=...)],
        ":1: the id is not a name (None); give text or a whole number",
    ),
]


@pytest.mark.parametrize(
    ("name", "file", "make", "message"), _FAULTS, ids=[f"{name}: {message[:40]}" for name, _, _, message in _FAULTS]
)
def test_a_row_that_cannot_be_read_is_one_line_with_its_place(
    tmp_path: Path, name: str, file: str, make: Callable[[], list[dict[str, Any]]], message: str
) -> None:
    write_all(tmp_path)
    path = write(tmp_path, file, make())
    with pytest.raises(SourceError) as caught:
        load_benchmark(find_benchmark(name), tmp_path)
    assert str(caught.value) == f"{path}{message}"


def test_a_line_that_is_not_json_is_an_error_with_its_number(tmp_path: Path) -> None:
    path = write(tmp_path, published.MEDQA, [published.medqa(1)])
    path.write_text(path.read_text() + '{"question": \n', encoding="utf-8")
    with pytest.raises(SourceError, match=rf"^{path}:2: not JSON "):
        load_benchmark(find_benchmark("medqa"), tmp_path)


def test_the_list_says_of_every_file_whether_it_is_there_and_the_published_one(tmp_path: Path) -> None:
    path = write(tmp_path, published.WRITING, [published.writing(1)])
    listed = {(file.benchmark, file.place): file for file in describe_benchmarks(tmp_path)}
    assert {name for name, _ in listed} == set(BENCHMARKS)
    found, missing = listed["writingbench", path], listed["medqa", tmp_path / published.MEDQA]
    assert (found.rows, found.licence, found.path, found.is_published) == (1000, "Apache-2.0", path, False)
    assert (missing.rows, missing.path, missing.is_published) == (1273, None, None)
    assert missing.get == "jind11/MedQA on GitHub links it; the file is in data_clean/questions/US/4_options"
    assert [file.path for file in listed.values() if file.benchmark == "probe-writing"] == [None, path]


def test_every_file_has_a_licence_a_source_and_a_whole_checksum_or_none() -> None:
    for file in (file for benchmark in BENCHMARKS.values() for file in benchmark.files):
        assert min(len(file.licence), len(file.get.splitlines())) >= 1
        assert "\n" not in file.get
        assert len(file.sha256) in (0, 64)
        assert file.is_protected == file.name.startswith(("healthbench/", "gpqa/"))


def test_the_published_files_that_are_here_have_their_checksums(shared_data: Path) -> None:
    listed = [file for file in describe_benchmarks(shared_data) if file.path]
    assert {file.place.name for file in listed if file.is_published} == {
        "phrases_no_exclude_test.jsonl",
        "benchmark_all.jsonl",
        "question.jsonl",
        "o3-mini-2025-01-31.jsonl",
    }


def test_a_json_file_of_one_object_a_line_is_read_too(tmp_path: Path) -> None:
    path = write(tmp_path, published.RESEARCHQA, [published.research(1)])
    path.write_text("".join(f"{json.dumps(published.research(number))}\n" for number in (1, 2)), encoding="utf-8")
    assert len(load_benchmark(find_benchmark("researchqa"), tmp_path).items) == 2
