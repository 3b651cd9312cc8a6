"""Tasks in the form that somebody else reads: they come back exactly, and those others can read them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prorubric import (
    SAMPLE_TASKS,
    ConvertConfig,
    Criterion,
    Message,
    Rubric,
    Task,
    convert_tasks,
    load_tasks,
    save_tasks,
)
from prorubric.cli.app import run
from prorubric.datasets.export import TARGETS, Target, export_tasks, open_export
from prorubric.datasets.sources import FORMATS, healthbench, trl, verl
from prorubric.errors import ConfigError, RubricError
from prorubric.rubric.forms import TASK_KEYS, parse_task, render_task
from prorubric.verbs.convert import ConvertResult
from tests.datasets.rows import HEALTHBENCH, ROWS, TASK, VERL, read, read_one, reject_one, write_jsonl
from tests.datasets.test_load_junk import spoilt
from tests.datasets.test_load_memory import make_task
from tests.strategies import tasks
from tests.thorough import few_or, parametrize_sparingly

FOREIGN = ("verl", "trl", "healthbench")
SUFFIXES = (".jsonl", ".json", ".jsonl.gz", ".jsonl.zst", ".parquet")
RENDER: dict[str, Callable[[Task], Any]] = {
    "verl": verl.render,
    "trl": trl.render,
    "healthbench": healthbench.render,
}

whole = parse_task(TASK)
bare = Task(
    id="bare",
    messages=(Message(role="user", content="?"),),
    rubric=Rubric(criteria=(Criterion(text="Answers", weight=0.25),)),
)

# What the reader of a foreign file would take apart: marks in texts, tags that look like JSON, white space at the ends.
TREACHEROUS = Task(
    id="[1]",
    messages=(
        Message(role="developer", content='[{"role": "user", "content": "no"}]'),
        Message(role="assistant", content=""),
        Message(role="tool", content="{}"),
    ),
    rubric=Rubric(
        criteria=(
            Criterion(text="Points: -9, Item: says no [Hard Rule]", weight=0.1 + 0.2, tags=("", "{}", "[]", '"x"')),
            Criterion(text="  Essential Criteria: \n\u2028 spaces \x00 ", weight=-1e-300, tags=("title:x", "title:x")),
            Criterion(text='[{"criterion": "a", "weight": 2}]', weight=1e300),
        )
    ),
    domain="",
    source="prorubric",
    reference="",
    meta={"example_tags": "text", "canary": 5, "prorubric": {"domain": 1}, "id": None, "": [1.0, 1, True, -0.0, {}]},
)


def make_meta(**meta: Any) -> Task:
    return Task(**{**dict(bare), "meta": meta})


def trip(folder: Path, given_tasks: list[Task], to: Target, suffix: str) -> list[Task]:
    """The tasks after a file, recognised by its rows."""
    assert export_tasks(folder / f"x{suffix}", given_tasks, to) == len(given_tasks)
    return list(load_tasks(folder / f"x{suffix}", strict=True))


def convert(source: Path, out: Path, **options: Any) -> ConvertResult:
    return convert_tasks(ConvertConfig(str(source), out, **options))


class TestRoundTrips:
    @pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
    @pytest.mark.parametrize("to", TARGETS)
    @settings(
        max_examples=few_or(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    )
    @given(drawn=st.lists(tasks(positive=False, with_protocol=None), min_size=1, max_size=3))
    def test_any_tasks_come_back_exactly(
        self, tmp_path_factory: pytest.TempPathFactory, to: Target, suffix: str, drawn: list[Task]
    ) -> None:
        assert trip(tmp_path_factory.getbasetemp(), drawn, to, suffix) == drawn

    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("to", TARGETS)
    def test_the_sample_pack_comes_back_from_every_kind_of_file(self, tmp_path: Path, to: Target, suffix: str) -> None:
        pack = list(load_tasks(SAMPLE_TASKS, strict=True))
        assert len(pack) == 12
        assert trip(tmp_path, pack, to, suffix) == pack

    @pytest.mark.parametrize("suffix", [".jsonl.zst", ".parquet"])
    @pytest.mark.parametrize("to", TARGETS)
    def test_the_500_of_healthbench_come_back(
        self, tmp_path: Path, healthbench_file: Path, to: Target, suffix: str
    ) -> None:
        real = list(load_tasks(healthbench_file, strict=True))
        assert len(real) == 500
        assert trip(tmp_path, real, to, suffix) == real

    @pytest.mark.parametrize("to", TARGETS)
    def test_scholarqa_with_its_fractional_weights_comes_back(
        self, tmp_path: Path, scholarqa_file: Path, to: Target
    ) -> None:
        real = list(load_tasks(scholarqa_file, strict=True))
        assert any(not weight.is_integer() for task in real for weight in task.rubric.weights)
        assert trip(tmp_path, real, to, ".parquet") == real

    @parametrize_sparingly(("name", "to"), list(product(FORMATS[1:], TARGETS)), 3)
    def test_a_row_of_every_source_comes_back(self, tmp_path: Path, to: Target, name: str) -> None:
        task = read_one(tmp_path, ROWS[name])
        assert trip(tmp_path, [task], to, ".jsonl") == [task]

    @pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
    @pytest.mark.parametrize("to", TARGETS)
    def test_what_a_reader_of_foreign_files_would_take_apart_stays_whole(
        self, tmp_path: Path, to: Target, suffix: str
    ) -> None:
        (task,) = trip(tmp_path, [TREACHEROUS], to, suffix)
        assert task == TREACHEROUS
        # Equality does not tell 1 from 1.0 and True, or None from what is missing.
        assert json.dumps(render_task(task), sort_keys=True) == json.dumps(render_task(TREACHEROUS), sort_keys=True)

    @pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
    @pytest.mark.parametrize("to", TARGETS)
    def test_tasks_with_and_without_everything_may_share_a_file(self, tmp_path: Path, to: Target, suffix: str) -> None:
        mixed = [bare, whole, make_meta(a=1), make_meta(b={"c": None})]
        assert trip(tmp_path, mixed, to, suffix) == mixed

    @pytest.mark.parametrize("to", FOREIGN)
    def test_from_one_form_into_the_next_and_home_again_nothing_changes(self, tmp_path: Path, to: Target) -> None:
        save_tasks(tmp_path / "in.jsonl", [bare, TREACHEROUS, whole])
        convert(tmp_path / "in.jsonl", tmp_path / "there.parquet", to=to)
        convert(tmp_path / "there.parquet", tmp_path / "on.jsonl", to=FOREIGN[FOREIGN.index(to) - 1])
        convert(tmp_path / "on.jsonl", tmp_path / "back.jsonl")
        assert (tmp_path / "back.jsonl").read_bytes() == (tmp_path / "in.jsonl").read_bytes()

    @pytest.mark.parametrize(
        "meta",
        [
            {},
            {"example_tags": []},
            {"example_tags": ["theme:hedging"]},
            {"example_tags": ["theme:hedging", 1]},
            {"example_tags": None, "canary": None},
            {"example_tags": {"a": 1}, "canary": ["a"]},
            {"canary": ""},
            {"canary": "c", "example_tags": [""], "year": 2026},
        ],
    )
    @pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
    def test_themes_and_canary_come_back_as_what_they_were(
        self, tmp_path: Path, suffix: str, meta: dict[str, Any]
    ) -> None:
        assert trip(tmp_path, [make_meta(**meta)], "healthbench", suffix)[0].meta == meta


def test_a_task_has_no_field_that_these_forms_were_not_made_for() -> None:
    # A new one has to be carried by verl, trl and healthbench before it may stand here.
    assert TASK_KEYS == ("id", "messages", "domain", "source", "rubric", "protocol", "reference", "meta")
    assert set(Task.model_fields) == set(TASK_KEYS)


class TestVerlRows:
    def test_a_row_has_what_verl_reads_and_the_task_in_extra_info(self) -> None:
        row = verl.render(whole)
        extra = cast("dict[str, Any]", row.pop("extra_info"))
        assert row == {
            "data_source": "by-hand",
            "prompt": TASK["messages"],
            "ability": "medicine",
            "reward_model": {"style": "rubric", "ground_truth": "task-1"},
        }
        assert {key: json.loads(extra[key]) for key in ("messages", "rubric", "protocol", "meta", "prorubric")} == {
            **{key: TASK[key] for key in ("messages", "rubric", "protocol", "meta")},
            "prorubric": {"domain": "medicine", "source": "by-hand"},
        }
        assert (extra["id"], extra["reference"], len(extra)) == ("task-1", "No.", 7)

    def test_a_task_without_a_source_has_one_for_verl_only(self, tmp_path: Path) -> None:
        assert verl.render(bare)["data_source"] == "prorubric"
        assert trip(tmp_path, [bare], "verl", ".parquet")[0].source is None

    def test_pyarrow_reads_the_columns_that_verl_asks_for(self, tmp_path: Path) -> None:
        export_tasks(tmp_path / "train.parquet", [whole, bare], "verl")
        table = pq.read_table(tmp_path / "train.parquet")
        assert table.column_names == ["data_source", "prompt", "ability", "reward_model", "extra_info"]
        first, second = table.to_pylist()
        assert json.loads(first["extra_info"]["rubric"]) == TASK["rubric"]
        assert (second["extra_info"]["protocol"], second["ability"], second["extra_info"]["meta"]) == (None, None, "{}")

    def test_a_reward_function_gets_the_whole_task_from_extra_info_alone(self) -> None:
        extra = cast("dict[str, Any]", verl.render(TREACHEROUS)["extra_info"])
        assert verl.parse_extra_info(extra) == TREACHEROUS
        assert verl.parse_extra_info({**extra, "num_turns": 2, "scores": object()}) == TREACHEROUS

    def test_what_a_trainer_adds_to_extra_info_is_kept_in_meta(self, tmp_path: Path) -> None:
        row = verl.render(whole)
        extra = {**cast("dict[str, Any]", row["extra_info"]), "index": 4, "split": None}
        task = read_one(tmp_path, {**row, "extra_info": extra})
        assert task == Task(**{**dict(whole), "meta": {"year": 2026, "index": 4}})

    def test_what_would_hide_a_part_of_meta_is_a_reject(self, tmp_path: Path) -> None:
        row = verl.render(whole)
        extra = {**cast("dict[str, Any]", row["extra_info"]), "year": 2027}
        said = reject_one(tmp_path, {**row, "extra_info": extra})
        assert said.endswith("a key is both in extra_info and in its meta ('year'); keep one")

    def test_labels_that_verl_needs_may_be_changed(self, tmp_path: Path) -> None:
        assert read_one(tmp_path, {**verl.render(whole), "data_source": "mine", "ability": "any"}) == whole


class TestTrlRows:
    def test_a_row_has_the_conversation_the_name_and_the_task(self) -> None:
        row = trl.render(whole)
        assert (list(row), row["prompt"], row["task_id"]) == (["prompt", "task_id", "task"], TASK["messages"], "task-1")
        assert json.loads(cast("str", row["task"])) == TASK

    @pytest.mark.parametrize(("kind", "suffix"), [("json", ".jsonl"), ("parquet", ".parquet")])
    def test_the_datasets_library_reads_the_columns(self, tmp_path: Path, kind: str, suffix: str) -> None:
        from datasets import load_dataset

        pack = list(load_tasks(SAMPLE_TASKS, strict=True))
        export_tasks(tmp_path / f"train{suffix}", [*pack, bare], "trl")
        data = load_dataset(kind, data_files=str(tmp_path / f"train{suffix}"), split="train", cache_dir=str(tmp_path))
        assert data.column_names == ["prompt", "task_id", "task"]
        assert data["task_id"][:] == [task.id for task in [*pack, bare]]
        assert data[12]["prompt"] == [{"role": "user", "content": "?"}]
        assert [parse_task(json.loads(text)) for text in data["task"]] == [*pack, bare]

    def test_columns_that_somebody_added_are_left_alone(self, tmp_path: Path) -> None:
        assert read_one(tmp_path, {**trl.render(whole), "difficulty": 3, "solution": "x"}) == whole

    def test_the_task_alone_is_enough(self, tmp_path: Path) -> None:
        assert read_one(tmp_path, {"task": trl.render(whole)["task"]}) == whole

    @pytest.mark.parametrize("task", [None, 5, "", "text", "[]", "{", '"{}"', {"a": 1}])
    def test_a_row_without_a_task_is_a_reject(self, tmp_path: Path, task: object) -> None:
        said = reject_one(tmp_path, {**trl.render(whole), "task": task}, "trl")
        assert "one.jsonl:1: task" in said


class TestHealthBenchRows:
    def test_a_row_of_upstream_has_the_same_columns_after_a_round_trip(self, tmp_path: Path) -> None:
        row = healthbench.render(read_one(tmp_path, HEALTHBENCH))
        rest = json.loads(cast("str", row.pop("prorubric")))
        assert rest == {"domain": "medicine", "source": "healthbench", "protocol": None, "meta": {}}
        ideal = {
            "ideal_completion": "Did you fall?",
            "ideal_completions_group": None,
            "ideal_completions_ref_completions": None,
        }
        assert row == {**HEALTHBENCH, "ideal_completions_data": ideal}

    def test_points_are_the_weights_also_where_they_are_not_whole(self) -> None:
        (item,) = cast("list[Any]", healthbench.render(bare)["rubrics"])
        assert item == {"criterion": "Answers", "points": 0.25, "tags": []}

    def test_a_task_without_a_reference_has_no_ideal_completion(self) -> None:
        row = healthbench.render(bare)
        assert (row["ideal_completions_data"], row["example_tags"], "canary" in row) == (None, [], False)

    def test_a_row_without_our_column_is_read_as_upstream(self, tmp_path: Path) -> None:
        row = healthbench.render(whole)
        for absent in ({**row, "prorubric": None}, {key: row[key] for key in row if key != "prorubric"}):
            task = read_one(tmp_path, absent)
            assert (task.domain, task.source, task.protocol) == ("medicine", "healthbench", None)

    def test_a_criterion_that_an_upstream_tool_took_away_is_missed_by_the_protocol(self, tmp_path: Path) -> None:
        row = healthbench.render(whole)
        said = reject_one(tmp_path, {**row, "rubrics": cast("list[Any]", row["rubrics"])[:1]})
        assert "an index is not in the rubric (dimension 1 lists index 2)" in said


def edit(row: dict[str, Any], place: str, value: object) -> dict[str, Any]:
    first, _, second = place.partition(".")
    return {**row, first: {**row[first], second: value} if second else value}


class TestContradictions:
    @pytest.mark.parametrize(
        ("to", "place", "value", "said"),
        [
            ("verl", "prompt", [{"role": "user", "content": "Other?"}], "the prompt is not the conversation of the"),
            (
                "verl",
                "reward_model",
                {"ground_truth": "b"},
                "the ground truth: not the id of the task in the row ('b',",
            ),
            ("verl", "extra_info.id", "b", "the ground truth: not the id of the task in the row ('task-1',"),
            ("verl", "extra_info.rubric", "[", "rubric: not JSON text ('['); convert the tasks again"),
            ("verl", "extra_info.rubric", "{}", "rubric is not a list of objects ({}); give one"),
            ("verl", "extra_info.protocol", "5", "protocol is not a list of objects (5); give one"),
            ("verl", "extra_info.prorubric", "text", "prorubric: not JSON text ('text')"),
            ("verl", "extra_info.prorubric", "[]", "prorubric: not JSON text of an object ('[]')"),
            ("trl", "prompt", "Other?", "the prompt is not the conversation of the task in the row; change both or"),
            (
                "trl",
                "task_id",
                "b",
                "task_id: not the id of the task in the row ('b', the task is 'task-1'); change",
            ),
            ("trl", "task", '{"id": "a", "messages": [], "rubric": [], "x": 1}', "task: unknown key ('x')"),
            ("healthbench", "prorubric", "{", "prorubric: not JSON text ('{')"),
            ("healthbench", "prorubric", '{"meta": null}', "meta: not JSON text of an object (None)"),
            (
                "healthbench",
                "rubrics",
                [{"criterion": "a", "points": 1, "note": "n"}],
                "criterion 1: unknown key ('note')",
            ),
            ("healthbench", "rubrics", None, "rubric is not a list of objects (None); give one"),
        ],
    )
    def test_a_row_that_was_edited_into_a_contradiction_is_a_reject(
        self, tmp_path: Path, to: str, place: str, value: object, said: str
    ) -> None:
        row = edit(RENDER[to](whole), place, value)
        assert f"one.jsonl:1: {said}" in reject_one(tmp_path, row, to)

    @pytest.mark.parametrize("to", FOREIGN)
    @settings(max_examples=few_or(100), suppress_health_check=[HealthCheck.too_slow])
    @given(data=st.data())
    def test_a_row_of_ours_with_junk_in_it_is_a_task_or_a_reject(
        self, tmp_path_factory: pytest.TempPathFactory, to: str, data: st.DataObject
    ) -> None:
        row = data.draw(spoilt(RENDER[to](whole)))
        loaded, rejects = read(write_jsonl(tmp_path_factory.getbasetemp() / "junk.jsonl", row), to)
        assert len(loaded) + len(rejects) == 1


class TestRecognition:
    @pytest.mark.parametrize(
        "row",
        [
            {"task": "translate", "task_id": 1, "prompt": "?", "Rubrics": ROWS["rubrichub"]["Rubrics"]},
            {**VERL, "task": "[1]", "task_id": "x"},
            {**ROWS["rar"], "task": '{"id": 1, "messages": []}'},
            {**HEALTHBENCH, "task": json.dumps(TASK)},
            {**VERL, "extra_info": {**VERL["extra_info"], "messages": "[]", "meta": "{}", "reference": "r"}},
        ],
        ids=["rubrichub", "verl", "rar", "healthbench", "verl-with-our-names"],
    )
    def test_a_foreign_row_with_names_of_ours_is_read_as_before(self, tmp_path: Path, row: dict[str, Any]) -> None:
        task = read_one(tmp_path, row)
        assert task.source in ("rubrichub", "our-clinic", "rar", "healthbench")
        assert task.id != TASK["id"]

    def test_columns_called_task_with_anything_else_in_them_are_no_known_format(self, tmp_path: Path) -> None:
        path = write_jsonl(tmp_path / "x.jsonl", {"prompt": "?", "task_id": "a", "task": "{}"})
        assert run(["lint", str(path)]) == 2

    def test_a_foreign_row_below_one_of_ours_is_read_as_foreign(self, tmp_path: Path) -> None:
        path = write_jsonl(tmp_path / "x.jsonl", verl.render(whole), VERL)
        assert [(task.id, task.reference) for task in load_tasks(path, strict=True)] == [
            ("task-1", "No."),
            ("v-1", "No."),
        ]


class TestRefusals:
    @pytest.mark.parametrize("place", ["id", "messages"])
    @pytest.mark.parametrize("to", TARGETS)
    def test_text_that_parquet_cannot_hold_is_refused_by_the_name_of_its_task(
        self, tmp_path: Path, to: Target, place: str
    ) -> None:
        value: Any = "half \ud83d"
        broken = Task(**{**dict(bare), place: (Message(role="user", content=value),) if place == "messages" else value})
        with pytest.raises(
            RubricError, match=r"the task '.*' has half of a surrogate pair .*; write \.jsonl, or change"
        ):
            export_tasks(tmp_path / "x.parquet", [bare, broken], to)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "value", [float("nan"), [float("inf")], {"a": -float("inf")}, [float("nan"), "half \ud83d"]]
    )
    @pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
    @pytest.mark.parametrize("to", TARGETS)
    def test_meta_that_json_cannot_hold_is_refused_by_the_name_of_its_task(
        self, tmp_path: Path, to: Target, suffix: str, value: Any
    ) -> None:
        changed = bare.model_copy(update={"meta": {"a": value}})  # a copy is not checked
        with pytest.raises(RubricError, match=r"the task 'bare' cannot be written: NaN and infinities are not JSON \("):
            export_tasks(tmp_path / f"x{suffix}", [whole, changed], to)
        assert list(tmp_path.iterdir()) == []

    def test_inside_json_text_the_same_text_fits_into_parquet(self, tmp_path: Path) -> None:
        criteria = (Criterion(text="half \ud83d", weight=1.0),)
        broken = Task(**{**dict(bare), "rubric": Rubric(criteria=criteria)})
        assert trip(tmp_path, [broken], "verl", ".parquet") == [broken]

    @pytest.mark.parametrize("to", TARGETS)
    def test_the_same_text_survives_jsonl(self, tmp_path: Path, to: Target) -> None:
        broken = Task(**{**dict(bare), "reference": "half \ud83d", "id": "a\ud83d"})
        assert trip(tmp_path, [broken], to, ".jsonl") == [broken]

    def test_an_unknown_form_is_refused_with_the_known_ones(self, tmp_path: Path) -> None:
        with (
            pytest.raises(ConfigError, match="'csv'; known: tasks, verl, trl, healthbench"),
            open_export(tmp_path / "x.jsonl", "csv"),  # type: ignore[arg-type]
        ):
            pass
        with pytest.raises(ConfigError, match=r"ConvertConfig: to: .*'tasks', 'verl', 'trl' or 'healthbench'"):
            ConvertConfig("a", tmp_path / "x.jsonl", to="csv")  # type: ignore[arg-type]


class TestConvert:
    @pytest.mark.parametrize("to", TARGETS)
    def test_the_command_writes_the_form_with_a_manifest(
        self, tmp_path: Path, to: Target, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = tmp_path / "out.parquet"
        assert run(["convert", str(SAMPLE_TASKS), str(out), "--to", to]) == 0
        assert capsys.readouterr().out.startswith("12 rows read, 12 tasks written, 0 held out\n")
        assert list(load_tasks(out, to, strict=True)) == list(load_tasks(SAMPLE_TASKS))
        manifest = json.loads((tmp_path / "out.manifest.json").read_text())
        assert (manifest["config"]["to"], manifest["written"]) == (to, 12)

    def test_a_form_that_is_not_known_is_one_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["convert", str(SAMPLE_TASKS), str(tmp_path / "out.jsonl"), "--to", "csv"]) == 2
        assert capsys.readouterr().err == (
            "prorubric convert: --to: Input should be 'tasks', 'verl', 'trl' or 'healthbench' (got 'csv'); "
            "see prorubric convert --help\n"
        )

    @pytest.mark.parametrize("to", FOREIGN)
    def test_both_parts_of_a_split_have_the_form(self, tmp_path: Path, to: Target) -> None:
        for name, form in (("own", "tasks"), ("out", to)):
            result = convert(SAMPLE_TASKS, tmp_path / f"{name}.jsonl", held_out=3, prepare=True, to=form)
            assert (result.written, result.held_out) == (9, 3)
        for part in ("", ".held-out"):
            expected = list(load_tasks(tmp_path / f"own{part}.jsonl", "tasks", strict=True))
            assert list(load_tasks(tmp_path / f"out{part}.jsonl", to, strict=True)) == expected

    @pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
    @pytest.mark.parametrize("to", FOREIGN)
    def test_the_same_tasks_give_the_same_bytes(self, tmp_path: Path, to: Target, suffix: str) -> None:
        for name in ("a", "b"):
            convert(SAMPLE_TASKS, tmp_path / f"{name}{suffix}", to=to)
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()

    def test_a_task_that_does_not_fit_leaves_nothing_behind(self, tmp_path: Path) -> None:
        save_tasks(tmp_path / "in.jsonl", [whole, Task(**{**dict(bare), "id": "a\ud83d"})])
        with pytest.raises(RubricError, match=r"out\.parquet: the task 'a\\ud83d' has half of a surrogate pair"):
            convert(tmp_path / "in.jsonl", tmp_path / "out.parquet", to="verl")
        assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


CONVERT_ALL = """
import sys
from pathlib import Path
from prorubric import ConvertConfig, convert_tasks

convert_tasks(ConvertConfig(sys.argv[1], Path(sys.argv[2]), to=sys.argv[3], format="tasks"))
print(next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
FEW, MANY = 2_000, 20_000
ALLOWED_GROWTH = 16_000_000
"""Bytes. The larger file holds 18,000 tasks more; their prompts alone are 27 MB, and verl's rows have them twice."""


@pytest.fixture(scope="module")
def few_and_many(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    paths = [tmp_path_factory.mktemp("tasks") / f"{count}.jsonl" for count in (FEW, MANY)]
    for path in paths:
        save_tasks(path, map(make_task, range(int(path.stem))))
    return paths


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak memory of a process is read as on Linux")
@pytest.mark.extended
@pytest.mark.parametrize(("to", "suffix"), [("verl", ".parquet"), ("trl", ".parquet"), ("healthbench", ".jsonl.zst")])
def test_ten_times_the_tasks_take_the_same_memory(
    few_and_many: list[Path], tmp_path: Path, to: str, suffix: str
) -> None:
    peaks = []
    for path in few_and_many:
        command = [sys.executable, "-c", CONVERT_ALL, str(path), f"out-{path.stem}{suffix}", to]
        environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] - peaks[0] < ALLOWED_GROWTH


@pytest.mark.parametrize("checks", ["[]", '[{"max_words": 3}]', "{}"])
def test_checks_that_do_not_match_the_criteria_of_a_healthbench_row_are_refused(tmp_path: Path, checks: str) -> None:
    row: dict[str, Any] = healthbench.render(whole)
    rest = {**json.loads(row["prorubric"]), "checks": json.loads(checks)}
    line = reject_one(tmp_path, {**row, "prorubric": json.dumps(rest)})
    assert "prorubric: not one check, or null, for each criterion" in line


def test_upstream_never_sees_a_check() -> None:
    rubric = [{"criterion": "Is short", "weight": 1, "check": {"max_words": 3}}]
    row: dict[str, Any] = healthbench.render(parse_task({**TASK, "rubric": rubric, "protocol": None}))
    assert row["rubrics"] == [{"criterion": "Is short", "points": 1, "tags": []}]
