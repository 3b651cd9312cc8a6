"""`convert_tasks`: our own form out of anything, with an account of every row, whole or not at all."""

import hashlib
import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prorubric import ConvertConfig, Task, convert_tasks, load_tasks, save_tasks
from prorubric.datasets.ids import hash_prompt
from prorubric.datasets.sources import FORMATS
from prorubric.datasets.sources.plain import EXAMPLE
from prorubric.errors import ConfigError, RowError, SourceError
from prorubric.verbs.convert import ConvertResult
from tests.datasets.rows import HEALTHBENCH, ROWS, TASK, write_jsonl
from tests.strategies import tasks
from tests.thorough import few_or, parametrize_sparingly

SUFFIXES = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".json.gz", ".jsonl.zst", ".json.zst", ".parquet")
BAD_ROWS = (
    '{"id": "broken"',
    "[1]",
    json.dumps({**TASK, "rubric": [{"criterion": "a", "weight": 0}], "protocol": None}),
    json.dumps({**TASK, "rubric": [{"criterion": "a", "weight": 1}, {"criterion": "b", "weight": 0}]}),
)


def make_row(number: int, criteria: int = 5, weight: float = 1, prompt: str | None = None) -> dict[str, Any]:
    return {
        "id": f"t{number}",
        "messages": [{"role": "user", "content": prompt or f"question {number}"}],
        "rubric": [{"criterion": f"c{i}", "weight": weight} for i in range(criteria)],
    }


def convert(source: Path, out: Path, **options: Any) -> ConvertResult:
    return convert_tasks(ConvertConfig(str(source), out, **options))


def ids(path: Path) -> list[str]:
    return [task.id for task in load_tasks(path, "tasks", strict=True)]


def prompts(path: Path) -> set[str]:
    return {hash_prompt(task.messages) for task in load_tasks(path, "tasks", strict=True)}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def twenty(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "twenty.jsonl", *map(make_row, range(20)))


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Good rows at 1, 2 and 6; bad ones at 3, 4, 5 and 8; a blank line at 7."""
    good = [json.dumps(make_row(number)) for number in range(3)]
    path = tmp_path / "mixed.jsonl"
    path.write_text("\n".join([*good[:2], *BAD_ROWS[:3], good[2], "", BAD_ROWS[3]]) + "\n")
    return path


class TestOutputs:
    @parametrize_sparingly(("name", "suffix"), list(product(FORMATS[1:], SUFFIXES)), 7)
    def test_every_format_becomes_the_same_tasks_in_every_kind_of_file(
        self, tmp_path: Path, name: str, suffix: str
    ) -> None:
        source = write_jsonl(tmp_path / "in.jsonl", ROWS[name])
        convert(source, tmp_path / f"out{suffix}")
        assert list(load_tasks(tmp_path / f"out{suffix}", "tasks")) == list(load_tasks(source))

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_the_same_input_gives_the_same_bytes_twice(self, tmp_path: Path, twenty: Path, suffix: str) -> None:
        for name in ("a", "b"):
            convert(twenty, tmp_path / f"{name}{suffix}", held_out=4, prepare=True)
        for part in ("", ".held-out"):
            first, second = (tmp_path / f"{name}{part}{suffix}" for name in ("a", "b"))
            assert first.read_bytes() == second.read_bytes()

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_what_was_converted_is_converted_into_itself(self, tmp_path: Path, suffix: str) -> None:
        source = write_jsonl(tmp_path / "in.jsonl", HEALTHBENCH, {**HEALTHBENCH, "prompt_id": "p-2"})
        convert(source, tmp_path / f"once{suffix}")
        convert(tmp_path / f"once{suffix}", tmp_path / f"twice{suffix}")
        assert (tmp_path / f"once{suffix}").read_bytes() == (tmp_path / f"twice{suffix}").read_bytes()

    @pytest.mark.parametrize("suffix", [".jsonl", ".json.gz", ".parquet"])
    @settings(max_examples=few_or(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(drawn=st.lists(tasks(positive=False, with_protocol=None), max_size=3, unique_by=lambda task: task.id))
    def test_any_tasks_survive_two_conversions(
        self, tmp_path_factory: pytest.TempPathFactory, suffix: str, drawn: list[Task]
    ) -> None:
        folder = tmp_path_factory.mktemp("trip")
        save_tasks(folder / "in.jsonl", drawn)
        convert(folder / "in.jsonl", folder / f"once{suffix}", format="tasks")
        convert(folder / f"once{suffix}", folder / "twice.jsonl", format="tasks")
        assert (folder / "twice.jsonl").read_bytes() == (folder / "in.jsonl").read_bytes()

    def test_a_folder_that_does_not_exist_is_made(self, tmp_path: Path, twenty: Path) -> None:
        convert(twenty, tmp_path / "new/folder/out.jsonl")
        assert names(tmp_path / "new/folder") == {"out.jsonl", "out.manifest.json"}

    def test_a_file_without_tasks_becomes_one_without_tasks(self, tmp_path: Path) -> None:
        result = convert(write_jsonl(tmp_path / "in.jsonl"), tmp_path / "out.json", format="tasks")
        assert (result.read, result.written, ids(tmp_path / "out.json")) == (0, 0, [])

    def test_healthbench_can_be_cut_down_to_its_consensus(self, tmp_path: Path, healthbench_file: Path) -> None:
        result = convert(healthbench_file, tmp_path / "out.parquet", subset="consensus")
        assert (result.read, result.written) == (500, 384)
        assert result.left_out == {"no criterion of the subset consensus": 116}


class TestAccount:
    def test_every_row_is_accounted_for(self, tmp_path: Path, mixed: Path) -> None:
        result = convert(mixed, tmp_path / "out.jsonl")
        assert (result.read, result.written, result.held_out, result.left_out) == (7, 3, 0, {})
        assert result.rejected == {"weight must be finite and not 0": 2, "not JSON": 1, "not a JSON object": 1}

    def test_rejected_rows_are_listed_with_line_and_reason(self, tmp_path: Path, mixed: Path) -> None:
        convert(mixed, tmp_path / "out.jsonl")
        rows = read_lines(tmp_path / "out.rejects.jsonl")
        assert [(row["path"], row["line"]) for row in rows] == [(str(mixed), line) for line in (3, 4, 5, 8)]
        assert rows[3]["reason"].startswith("criterion 2: Criterion: weight: weight must be finite and not 0")

    def test_tasks_that_are_left_out_are_listed_with_line_and_reason(self, tmp_path: Path) -> None:
        rows = [make_row(0), make_row(1, criteria=4), make_row(2, weight=-1), make_row(3, prompt="question 0")]
        result = convert(write_jsonl(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl", prepare=True)
        reasons = ["fewer than 5 criteria", "total weight is not positive", "prompt seen before"]
        assert (result.written, result.left_out, result.rejected) == (1, dict.fromkeys(reasons, 1), {})
        assert [(row["line"], row["reason"]) for row in read_lines(tmp_path / "out.rejects.jsonl")] == [
            (line, reason) for line, reason in enumerate(reasons, 2)
        ]

    def test_the_limits_of_preparation_can_be_set(self, tmp_path: Path) -> None:
        source = write_jsonl(tmp_path / "in.jsonl", *(make_row(n, criteria=n) for n in (1, 2, 3, 4)))
        result = convert(source, tmp_path / "out.jsonl", prepare=True, min_criteria=2, max_criteria=3)
        assert ids(tmp_path / "out.jsonl") == ["t2", "t3"]
        assert result.left_out == {"fewer than 2 criteria": 1, "more than 3 criteria": 1}

    def test_without_prepare_nothing_is_left_out(self, tmp_path: Path) -> None:
        source = write_jsonl(tmp_path / "in.jsonl", make_row(0, criteria=1), make_row(1, criteria=1, weight=-1))
        assert convert(source, tmp_path / "out.jsonl").written == 2

    def test_without_rejects_there_is_no_file_of_them(self, tmp_path: Path, twenty: Path) -> None:
        result = convert(twenty, tmp_path / "out.jsonl")
        assert names(tmp_path) == {"twenty.jsonl", "out.jsonl", "out.manifest.json"}
        assert set(result.files) == {"tasks", "manifest"}

    def test_the_manifest_holds_the_result_and_the_settings(self, tmp_path: Path, mixed: Path) -> None:
        result = convert(mixed, tmp_path / "out.parquet", held_out=1, prepare=True, seed=7)
        manifest = json.loads((tmp_path / "out.manifest.json").read_text())
        assert {key: manifest[key] for key in result.model_dump()} == result.model_dump()
        assert manifest["config"] == {
            "tasks": str(mixed),
            "out": str(tmp_path / "out.parquet"),
            "to": "tasks",
            "format": "auto",
            "map": [],
            "tiers": False,
            "subset": "all",
            "split": "train",
            "prepare": True,
            "min_criteria": 5,
            "max_criteria": 60,
            "held_out": 1,
            "seed": 7,
            "strict": False,
            "responses": None,
            "verdicts": None,
            "labels": None,
            "overwrite": False,
        }

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_the_hashes_are_those_of_the_files(self, tmp_path: Path, twenty: Path, suffix: str) -> None:
        result = convert(twenty, tmp_path / f"out{suffix}", held_out=5)
        parts = {"input": twenty, "tasks": tmp_path / f"out{suffix}", "held_out": tmp_path / f"out.held-out{suffix}"}
        assert result.sha256 == {name: sha256(path) for name, path in parts.items()}

    def test_the_files_that_are_named_are_the_files_that_exist(self, tmp_path: Path, mixed: Path) -> None:
        result = convert(mixed, tmp_path / "out.jsonl.gz", held_out=1)
        assert {Path(path).name for path in result.files.values()} == names(tmp_path) - {"mixed.jsonl"}
        assert set(result.files) == {"tasks", "held_out", "rejects", "manifest"}


class TestNothingToWrite:
    @pytest.mark.parametrize("held_out", [0, 1])
    def test_a_file_whose_rows_are_all_rejected_is_refused_and_leaves_nothing(
        self, tmp_path: Path, held_out: int
    ) -> None:
        bad = [{**make_row(number), "rubric": [{"criterion": "a", "weight": 0}]} for number in range(3)]
        path = write_jsonl(tmp_path / "in.jsonl", *bad)
        with pytest.raises(SourceError) as caught:
            convert(path, tmp_path / "out.jsonl", held_out=held_out)
        line = str(caught.value)
        assert line.startswith(
            f"{path}: no task to write (rows: 3 read, 3 rejected, 0 left out); "
            f"the first: {path}:1: criterion 1: Criterion: weight: weight must be finite and not 0"
        )
        assert line.endswith(EXAMPLE)
        assert names(tmp_path) == {"in.jsonl"}

    def test_a_file_that_preparation_leaves_out_as_a_whole_is_refused(self, tmp_path: Path) -> None:
        path = write_jsonl(tmp_path / "in.jsonl", make_row(1), make_row(2))
        with pytest.raises(SourceError) as caught:
            convert(path, tmp_path / "out.jsonl", prepare=True, min_criteria=50)
        assert str(caught.value) == (
            f"{path}: no task to write (rows: 2 read, 0 rejected, 2 left out); "
            f"the first: {path}:1: fewer than 50 criteria"
        )
        assert names(tmp_path) == {"in.jsonl"}


class TestHeldOut:
    def test_the_two_parts_are_disjoint_and_make_up_the_whole(self, tmp_path: Path, twenty: Path) -> None:
        result = convert(twenty, tmp_path / "out.jsonl", held_out=6)
        kept, held = ids(tmp_path / "out.jsonl"), ids(tmp_path / "out.held-out.jsonl")
        assert (len(kept), len(held), result.written, result.held_out) == (14, 6, 14, 6)
        assert sorted(kept + held) == sorted(ids(twenty))

    def test_both_parts_keep_the_order_of_the_file(self, tmp_path: Path, twenty: Path) -> None:
        convert(twenty, tmp_path / "out.jsonl", held_out=6)
        order = {name: position for position, name in enumerate(ids(twenty))}
        for path in (tmp_path / "out.jsonl", tmp_path / "out.held-out.jsonl"):
            assert ids(path) == sorted(ids(path), key=order.__getitem__)

    def test_the_order_of_the_rows_does_not_change_the_parts(self, tmp_path: Path, twenty: Path) -> None:
        backwards = write_jsonl(tmp_path / "backwards.jsonl", *map(make_row, reversed(range(20))))
        for source, name in ((twenty, "a"), (backwards, "b")):
            convert(source, tmp_path / f"{name}.jsonl", held_out=6)
        assert set(ids(tmp_path / "a.held-out.jsonl")) == set(ids(tmp_path / "b.held-out.jsonl"))

    def test_another_seed_gives_another_part(self, tmp_path: Path, twenty: Path) -> None:
        for seed in range(5):
            convert(twenty, tmp_path / f"{seed}.jsonl", held_out=6, seed=seed)
        assert len({tuple(ids(tmp_path / f"{seed}.held-out.jsonl")) for seed in range(5)}) == 5

    @pytest.mark.parametrize("size", [20, 21, 1000])
    def test_a_part_as_large_as_the_file_or_larger_is_refused(self, tmp_path: Path, twenty: Path, size: int) -> None:
        with pytest.raises(ConfigError) as caught:
            convert(twenty, tmp_path / "out.parquet", held_out=size)
        assert str(caught.value) == (
            f"--held-out {size} of 20 distinct prompts (20 tasks) leaves none to train on; hold out fewer"
        )
        assert names(tmp_path) == {"twenty.jsonl"}

    def test_it_is_distinct_prompts_that_are_held_out_and_one_has_to_be_left(self, tmp_path: Path) -> None:
        rows = [{**make_row(number), "messages": make_row(number % 2)["messages"]} for number in range(6)]
        path = write_jsonl(tmp_path / "in.jsonl", *rows)
        with pytest.raises(ConfigError, match=r"--held-out 2 of 2 distinct prompts \(6 tasks\) leaves none"):
            convert(path, tmp_path / "out.jsonl", held_out=2)
        assert names(tmp_path) == {"in.jsonl"}
        result = convert(path, tmp_path / "out.jsonl", held_out=1)
        assert (result.written, result.held_out) == (3, 3)

    def test_what_was_held_out_before_is_not_trained_on_by_a_later_run(self, tmp_path: Path, twenty: Path) -> None:
        convert(twenty, tmp_path / "out.jsonl", held_out=3)
        with pytest.raises(ConfigError, match="was held out of an earlier"):
            convert(twenty, tmp_path / "out.jsonl", overwrite=True)

    def test_limits_without_preparation_are_refused(self, tmp_path: Path, twenty: Path) -> None:
        with pytest.raises(ConfigError, match="belong to --prepare"):
            convert(twenty, tmp_path / "out.jsonl", min_criteria=9)

    def test_a_repeated_id_is_a_reject(self, tmp_path: Path) -> None:
        rows = [make_row(0), {**make_row(1), "id": make_row(0)["id"]}]
        result = convert(write_jsonl(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl")
        assert (result.written, list(result.rejected.values())) == (1, [1])

    def test_a_prompt_that_comes_twice_lies_on_one_side(self, tmp_path: Path) -> None:
        rows = [make_row(number, prompt=f"question {number % 10}") for number in range(20)]
        result = convert(write_jsonl(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl", held_out=4)
        kept, held = prompts(tmp_path / "out.jsonl"), prompts(tmp_path / "out.held-out.jsonl")
        assert (len(kept), len(held), kept & held) == (6, 4, set())
        assert (result.written, result.held_out) == (12, 8)

    def test_only_tasks_that_are_kept_take_part_in_the_draw(self, tmp_path: Path) -> None:
        rows: Iterable[dict[str, Any]] = (make_row(number, criteria=5 if number % 2 else 1) for number in range(20))
        result = convert(write_jsonl(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl", held_out=4, prepare=True)
        assert (result.written, result.held_out, result.left_out) == (6, 4, {"fewer than 5 criteria": 10})


class TestRefusals:
    @pytest.mark.parametrize("name", ["out.jsonl", "out.held-out.jsonl", "out.rejects.jsonl", "out.manifest.json"])
    def test_a_file_that_exists_is_not_replaced(self, tmp_path: Path, twenty: Path, name: str) -> None:
        (tmp_path / name).write_text("precious")
        with pytest.raises(ConfigError, match=f"{name}: already exists; choose another name or pass --overwrite"):
            convert(twenty, tmp_path / "out.jsonl", held_out=2)
        assert names(tmp_path) == {"twenty.jsonl", name}
        assert (tmp_path / name).read_text() == "precious"

    def test_with_overwrite_it_is_replaced_and_old_rejects_go(self, tmp_path: Path, mixed: Path, twenty: Path) -> None:
        convert(mixed, tmp_path / "out.jsonl")
        convert(twenty, tmp_path / "out.jsonl", overwrite=True)
        assert len(ids(tmp_path / "out.jsonl")) == 20
        assert not (tmp_path / "out.rejects.jsonl").exists()

    @pytest.mark.parametrize("overwrite", [False, True])
    def test_an_output_that_is_the_input_is_refused(self, tmp_path: Path, twenty: Path, overwrite: bool) -> None:
        before = twenty.read_bytes()
        with pytest.raises(ConfigError, match=r"the output would replace the input; choose another name"):
            convert(twenty, tmp_path / "." / "sub/../twenty.jsonl", overwrite=overwrite)
        assert twenty.read_bytes() == before

    def test_a_link_to_the_input_is_the_input(self, tmp_path: Path, twenty: Path) -> None:
        (tmp_path / "link.jsonl").symlink_to(twenty)
        with pytest.raises(ConfigError, match="the output would replace the input"):
            convert(twenty, tmp_path / "link.jsonl", overwrite=True)

    def test_an_input_that_would_be_replaced_by_the_rejects_is_refused(self, tmp_path: Path) -> None:
        source = write_jsonl(tmp_path / "x.rejects.jsonl", TASK)
        with pytest.raises(ConfigError, match=r"x\.rejects\.jsonl: the output would replace the input"):
            convert(source, tmp_path / "x.jsonl", overwrite=True)

    @pytest.mark.parametrize("held_out", [0, 2])
    @pytest.mark.parametrize("suffix", [".jsonl", ".json.gz", ".parquet"])
    def test_a_strict_run_that_fails_leaves_nothing_behind(
        self, tmp_path: Path, mixed: Path, suffix: str, held_out: int
    ) -> None:
        with pytest.raises(RowError, match=r"mixed\.jsonl:3: not JSON"):
            convert(mixed, tmp_path / f"out{suffix}", strict=True, held_out=held_out)
        assert names(tmp_path) == {"mixed.jsonl"}

    def test_a_strict_run_that_fails_leaves_the_old_output(self, tmp_path: Path, mixed: Path, twenty: Path) -> None:
        convert(twenty, tmp_path / "out.jsonl")
        with pytest.raises(RowError):
            convert(mixed, tmp_path / "out.jsonl", strict=True, overwrite=True)
        assert len(ids(tmp_path / "out.jsonl")) == 20

    @pytest.mark.parametrize("name", ["out.csv", "out", "out.parquet.gz"])
    def test_an_output_of_unknown_kind_is_refused_with_the_known_ones(
        self, tmp_path: Path, twenty: Path, name: str
    ) -> None:
        with pytest.raises(SourceError, match=rf"{name}: .*allowed: \.jsonl, \.ndjson, \.json, \.parquet"):
            convert(twenty, tmp_path / name)

    def test_a_missing_input_leaves_nothing_behind(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match=r"none\.jsonl: no such file"):
            convert(tmp_path / "none.jsonl", tmp_path / "out.jsonl", format="tasks")
        assert names(tmp_path) == set()

    def test_limits_that_no_rubric_can_meet_are_refused(self, tmp_path: Path, twenty: Path) -> None:
        with pytest.raises(ConfigError, match="criteria from 9 to 3"):
            convert(twenty, tmp_path / "out.jsonl", prepare=True, min_criteria=9, max_criteria=3)
        assert names(tmp_path) == {"twenty.jsonl"}
