"""Streams of tasks and responses: every kind of file, every kind of bad row, and what is said of it."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prorubric import LintConfig, Response, Task, load_responses, load_tasks, save_tasks
from prorubric.datasets.load import open_tasks
from prorubric.datasets.rejects import Reject, Rejects, RejectWarning
from prorubric.datasets.sources import FORMATS
from prorubric.datasets.sources.plain import EXAMPLE
from prorubric.errors import ConfigError, RowError, SourceError
from prorubric.rubric.forms import parse_task, render_task
from prorubric.rubric.save import TASK_SCHEMA
from tests.datasets.rows import HEALTHBENCH, ROWS, RUBRICHUB_SFT, TASK, read, write_jsonl

SUFFIXES = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".json.gz", ".jsonl.zst", ".json.zst", ".parquet")


def named(task_id: str) -> dict[str, Any]:
    return {**TASK, "id": task_id}


def line_of(task_id: str) -> bytes:
    return json.dumps(named(task_id)).encode() + b"\n"


def ids(path: Path) -> list[str]:
    return [task.id for task in load_tasks(path, strict=True)]


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


def write_parquet(path: Path, count: int, group: int) -> Path:
    rows = [{**named(f"t{i}"), "meta": json.dumps({"n": i})} for i in range(count)]
    pq.write_table(pa.Table.from_pylist(rows, schema=TASK_SCHEMA), path, row_group_size=group)
    return path


class TestFiles:
    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_every_kind_of_file_gives_the_tasks_in_order(self, tmp_path: Path, suffix: str) -> None:
        expected = [parse_task(named(f"t{i}")) for i in range(7)]
        save_tasks(tmp_path / f"x{suffix}", expected)
        assert list(load_tasks(tmp_path / f"x{suffix}")) == expected

    def test_several_gzip_members_are_one_file(self, tmp_path: Path) -> None:
        path = tmp_path / "x.jsonl.gz"
        path.write_bytes(gzip.compress(line_of("a") + line_of("b")) + gzip.compress(line_of("c")))
        assert ids(path) == ["a", "b", "c"]

    def test_several_zstd_frames_are_one_file(self, tmp_path: Path) -> None:
        path = tmp_path / "x.jsonl.zst"
        path.write_bytes(zstd(line_of("a") + line_of("b")) + zstd(line_of("c")))
        assert ids(path) == ["a", "b", "c"]

    def test_a_line_may_be_split_between_two_members(self, tmp_path: Path) -> None:
        whole = line_of("a") + line_of("b")
        path = tmp_path / "x.jsonl.gz"
        path.write_bytes(gzip.compress(whole[:100]) + gzip.compress(whole[100:]))
        assert ids(path) == ["a", "b"]

    @pytest.mark.parametrize("name", ["x.jsonl", "x.json"])
    def test_a_byte_order_mark_is_not_part_of_the_first_row(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        path.write_bytes(b"\xef\xbb\xbf" + line_of("a") + line_of("b"))
        assert ids(path) == ["a", "b"]

    def test_a_json_array_may_start_with_a_byte_order_mark(self, tmp_path: Path) -> None:
        path = tmp_path / "x.json"
        path.write_bytes(b"\xef\xbb\xbf[" + line_of("a") + b"," + line_of("b") + b"]")
        assert ids(path) == ["a", "b"]

    def test_carriage_returns_and_a_missing_last_newline_are_read(self, tmp_path: Path) -> None:
        path = tmp_path / "x.jsonl"
        path.write_bytes(line_of("a").replace(b"\n", b"\r\n") + line_of("b").rstrip(b"\n"))
        assert ids(path) == ["a", "b"]

    def test_parquet_with_several_row_groups_is_read_through(self, tmp_path: Path) -> None:
        path = write_parquet(tmp_path / "x.parquet", count=1000, group=300)
        assert pq.ParquetFile(path).num_row_groups == 4
        assert ids(path) == [f"t{i}" for i in range(1000)]

    def test_a_json_object_in_a_parquet_column_becomes_meta(self, tmp_path: Path) -> None:
        path = write_parquet(tmp_path / "x.parquet", count=3, group=3)
        assert [task.meta for task in load_tasks(path)] == [{"n": 0}, {"n": 1}, {"n": 2}]

    def test_the_name_of_a_file_may_be_a_string(self, tmp_path: Path) -> None:
        assert ids(Path(str(write_jsonl(tmp_path / "x.jsonl", TASK)))) == ["task-1"]
        assert [task.id for task in load_tasks(str(tmp_path / "x.jsonl"))] == ["task-1"]

    def test_an_empty_file_of_a_named_format_has_no_tasks(self, tmp_path: Path) -> None:
        assert read(write_jsonl(tmp_path / "x.jsonl"), "tasks") == ([], [])

    def test_rows_are_read_only_when_asked_for(self, tmp_path: Path) -> None:
        path = tmp_path / "x.jsonl"
        path.write_bytes(line_of("a") + b"not json\n")
        assert next(iter(load_tasks(path, strict=True))).id == "a"

    def test_the_stream_counts_rows_and_tasks_and_knows_its_line(self, tmp_path: Path) -> None:
        path = tmp_path / "x.jsonl"
        path.write_bytes(b"\n" + line_of("a") + b"[]\n" + line_of("b"))
        stream = load_tasks(path, on_reject=lambda _: None)
        assert [(task.id, stream.line) for task in stream] == [("a", 2), ("b", 4)]
        assert (stream.read, stream.loaded, stream.skipped) == (3, 2, 0)


def with_weight(weight: object) -> bytes:
    return json.dumps({**TASK, "protocol": None, "rubric": [{"criterion": "c", "weight": weight}]}).encode()


def with_dimensions(*groups: list[int]) -> bytes:
    parts = [{"name": "n", "description": "d", "indices": group} for group in groups]
    return json.dumps({**TASK, "protocol": parts}).encode()


# What stands in line 4, and what has to be said of it besides file and line: the value, and what to do.
BAD_LINES: dict[str, tuple[bytes, str, str]] = {
    "invalid-json": (b'{"id": "a",', '{"id": "a",', "a row is one JSON object"),
    "a-list": (b"[1, 2]", "[1, 2]", "a row is one JSON object"),
    "a-number": (b"17", "17", "a row is one JSON object"),
    "a-string": (b'"text"', "'text'", "a row is one JSON object"),
    "null": (b"null", "None", "a row is one JSON object"),
    "invalid-utf-8": (b'{"id": "caf\xe9"}', 'byte 0xe9 in \'{"id": "café"}', "save the file as UTF-8"),
    "weight-nan": (
        with_weight(float("nan")),
        "must be finite and not 0 (got nan)",
        "give it a sign or drop the criterion",
    ),
    "weight-inf": (
        with_weight(float("inf")),
        "must be finite and not 0 (got inf)",
        "give it a sign or drop the criterion",
    ),
    "weight-minus-inf": (
        with_weight(float("-inf")),
        "must be finite and not 0 (got -inf)",
        "give it a sign or drop the criterion",
    ),
    "weight-zero": (with_weight(0), "must be finite and not 0 (got 0)", "give it a sign or drop the criterion"),
    "weight-text": (with_weight("3"), "got '3'", "give a finite number other than 0"),
    "weight-true": (with_weight(True), "got True", "give a finite number other than 0"),
    "weight-missing": (with_weight(None), "got None", "give a finite number other than 0"),
    "blank-text": (
        json.dumps({**TASK, "protocol": None, "rubric": [{"criterion": " \t", "weight": 1}]}).encode(),
        r"got ' \t'",
        "write what the judge should check, or drop the criterion",
    ),
    "no-criteria": (json.dumps({**TASK, "rubric": []}).encode(), "Rubric", "needs at least 1 criterion"),
    "blank-id": (json.dumps({**TASK, "id": " "}).encode(), "got ' '", "give each task its own name"),
    "no-prompt": (json.dumps({**TASK, "messages": []}).encode(), "got ()", "give at least one message"),
    "unknown-key": (json.dumps({**TASK, "protocoll": []}).encode(), "'protocoll'", "allowed: id, messages"),
    "index-too-large": (with_dimensions([1, 3], [2]), "index 3", "use 1..2, each exactly once"),
    "index-zero": (with_dimensions([0], [1, 2]), "index 0", "use 1..2, each exactly once"),
    "index-in-two-dimensions": (with_dimensions([1, 2], [2]), "index 2", "use 1..2, each exactly once"),
    "index-in-no-dimension": (
        with_dimensions([1]),
        "in no dimension (criterion 2, 1 missing)",
        "use 1..2, each exactly once",
    ),
}


@pytest.fixture(params=list(BAD_LINES))
def bad(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str, str]:
    """A file with a good line, two blank ones, a bad line and another good one; and what is said of the bad one."""
    line, value, remedy = BAD_LINES[request.param]
    path = tmp_path / "x.jsonl"
    path.write_bytes(line_of("a") + b"\n  \n" + line + b"\n" + line_of("b"))
    return path, value, remedy


class TestRejects:
    def test_a_bad_row_is_named_by_file_line_value_and_remedy(self, bad: tuple[Path, str, str]) -> None:
        path, value, remedy = bad
        _, (reject,) = read(path)
        assert str(reject).startswith(f"{path}:4: ")
        assert value in reject.reason
        assert remedy in reject.reason

    def test_the_rows_around_a_bad_row_are_loaded(self, bad: tuple[Path, str, str]) -> None:
        assert [task.id for task in read(bad[0])[0]] == ["a", "b"]

    def test_strict_loading_stops_at_the_first_bad_row(self, bad: tuple[Path, str, str]) -> None:
        stream: Iterator[Task] = iter(load_tasks(bad[0], strict=True))
        assert next(stream).id == "a"
        with pytest.raises(RowError, match=r"x\.jsonl:4: "):
            next(stream)

    def test_without_on_reject_a_warning_counts_the_rows(self, tmp_path: Path) -> None:
        path = tmp_path / "x.jsonl"
        path.write_bytes(line_of("a") + b"[]\n" + line_of("b") + b"{\n17\n")
        stream = load_tasks(path)
        with pytest.warns(RejectWarning, match=r"^3 rows of .*x\.jsonl rejected, first: .*x\.jsonl:2: not a JSON"):
            assert [task.id for task in stream] == ["a", "b"]
        assert [reject.line for reject in stream.rejects] == [2, 4, 5]

    def test_a_warning_about_one_row_is_in_the_singular(self, tmp_path: Path) -> None:
        path = tmp_path / "x.jsonl"
        path.write_bytes(line_of("a") + b"[]\n")
        with pytest.warns(RejectWarning, match=r"^1 row of .*x\.jsonl rejected, first: .*x\.jsonl:2: not a JSON"):
            assert len(list(load_tasks(path))) == 1

    def test_with_on_reject_nothing_is_kept_and_nothing_warned(self, tmp_path: Path) -> None:
        path = tmp_path / "x.jsonl"
        path.write_bytes(line_of("a") + b"[]\n")
        seen: list[Reject] = []
        stream = load_tasks(path, on_reject=seen.append)
        assert len(list(stream)) == 1
        assert ([reject.line for reject in seen], stream.rejects) == ([2], [])

    def test_a_weight_past_every_float_is_a_reject(self, tmp_path: Path) -> None:
        (tmp_path / "x.jsonl").write_bytes(with_weight(10**400))
        _, (reject,) = read(tmp_path / "x.jsonl")
        assert "weight must be finite and not 0" in reject.reason

    def test_an_element_of_an_array_is_counted_as_a_row(self, tmp_path: Path) -> None:
        path = tmp_path / "x.json"
        path.write_text(json.dumps([named("a"), 5, named("b")], indent=2))
        _, (reject,) = read(path)
        assert str(reject).startswith(f"{path}:2: not a JSON object (5)")

    def test_a_row_of_parquet_is_named_by_its_number(self, tmp_path: Path) -> None:
        rows = [{**named(f"t{i}"), "meta": None, "reference": None} for i in range(600)]
        rows[400] = {**rows[400], "id": "  "}
        pq.write_table(pa.Table.from_pylist(rows, schema=TASK_SCHEMA), tmp_path / "x.parquet", row_group_size=250)
        loaded, (reject,) = read(tmp_path / "x.parquet")
        assert (len(loaded), reject.line) == (599, 401)

    @pytest.mark.parametrize("depth", [500, 1000, 100_000])
    def test_a_row_that_is_nested_without_end_is_a_reject(self, tmp_path: Path, depth: int) -> None:
        deep = "[" * depth + "]" * depth
        path = tmp_path / "x.jsonl"
        path.write_text(json.dumps(RUBRICHUB_SFT).replace('"rubrics": [', f'"rubrics": [{deep}, ') + "\n")
        loaded, rejects = read(path, "rubrichub")
        assert (loaded, [reject.line for reject in rejects]) == ([], [1])

    def test_brackets_without_end_in_a_prompt_are_text(self, tmp_path: Path) -> None:
        path = write_jsonl(tmp_path / "x.jsonl", {**RUBRICHUB_SFT, "query": "[" * 100_000})
        assert [task.messages[0].content for task in load_tasks(path, strict=True)] == ["[" * 100_000]

    def test_rejects_are_counted_by_kind_without_place_and_value(self, tmp_path: Path) -> None:
        bad = ("weight-zero", "weight-nan", "index-too-large", "invalid-json", "a-list", "a-number", "unknown-key")
        path = tmp_path / "x.jsonl"
        path.write_bytes(line_of("a") + b"\n".join(BAD_LINES[name][0] for name in bad) + b"\n")
        rejects = Rejects(shown=2)
        assert len(list(load_tasks(path, on_reject=rejects.add))) == 1
        assert rejects.kinds == {
            "weight must be finite and not 0": 2,
            "an index is not in the rubric": 1,
            "not JSON": 1,
            "not a JSON object": 2,
            "unknown key": 1,
        }
        assert (rejects.count, len(rejects.show()), rejects.show()[0]) == (7, 2, rejects.first(str(path)))

    def test_a_repeated_id_is_a_reject_where_ids_are_to_be_unique(self, tmp_path: Path) -> None:
        path = tmp_path / "x.jsonl"
        path.write_bytes(line_of("a") + line_of("b") + line_of("a"))
        rejects = Rejects()
        config = LintConfig(str(path), strict=True)
        assert [task.id for task in open_tasks(config, rejects.add)] == ["a", "b"]
        assert rejects.show() == (f"{path}:3: the id is already taken (got 'a'); give each task its own",)
        assert len(list(open_tasks(config, rejects.add, unique=False))) == 3


class TestSourceErrors:
    @pytest.mark.parametrize("name", ["x.xlsx", "x", "x.parquet.gz", "x.jsonl.bz2", "x.gz"])
    def test_an_unknown_suffix_is_refused_with_the_known_ones(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_bytes(line_of("a"))
        with pytest.raises(SourceError, match=r"allowed: \.jsonl, .*\.csv, .*\.yaml, .* \.gz or \.zst"):
            load_tasks(tmp_path / name)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match=r"none\.jsonl: no such file; check the path"):
            load_tasks(tmp_path / "none.jsonl")

    def test_an_unknown_format_is_refused_with_the_known_ones(self, tmp_path: Path) -> None:
        path = write_jsonl(tmp_path / "x.jsonl", TASK)
        with pytest.raises(SourceError, match=f"no format is called 'csv'; known: {', '.join(FORMATS)}"):
            load_tasks(path, "csv")  # type: ignore[arg-type]

    def test_an_unknown_subset_is_refused_with_the_known_ones(self, tmp_path: Path) -> None:
        path = write_jsonl(tmp_path / "x.jsonl", TASK)
        with pytest.raises(ConfigError, match="no subset is called 'best'; known: all, consensus, example"):
            load_tasks(path, subset="best")  # type: ignore[arg-type]

    def test_rows_of_no_known_format_are_refused_with_what_they_lack_and_a_row_that_works(self, tmp_path: Path) -> None:
        path = write_jsonl(tmp_path / "x.jsonl", {"b": 1}, {"a": 2})
        with pytest.raises(SourceError) as caught:
            load_tasks(path)
        assert str(caught.value) == (
            f"{path}: found no prompt (called prompt, question, query, messages) and no rubric "
            "(called rubric, rubrics, criteria, checklist) among a, b; "
            f"{EXAMPLE}; for another layout, prorubric convert FILE --suggest proposes a mapping"
        )

    def test_a_file_without_a_readable_row_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "x.jsonl").write_text("\n\n17\n")
        with pytest.raises(SourceError) as caught:
            load_tasks(tmp_path / "x.jsonl")
        fault = f"{tmp_path / 'x.jsonl'}:3: not a JSON object (17); a row is one JSON object"
        assert str(caught.value) == f"{tmp_path / 'x.jsonl'}: no readable row; {fault}; {EXAMPLE}"

    @pytest.mark.parametrize("suffix", [".jsonl", ".json"])
    @pytest.mark.parametrize("text", ["", "\n", " \t\n\n", "\ufeff", "[]", "\ufeff[]", "\n[ \n ]\n"])
    def test_a_file_without_any_row_is_empty(self, tmp_path: Path, suffix: str, text: str) -> None:
        path = tmp_path / f"x{suffix}"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(SourceError) as caught:
            load_tasks(path)
        assert str(caught.value) == f"{path}: the file is empty; {EXAMPLE}"

    def test_a_parquet_file_without_any_row_is_empty(self, tmp_path: Path) -> None:
        save_tasks(tmp_path / "x.parquet", [])
        with pytest.raises(SourceError, match=r"x\.parquet: the file is empty; "):
            load_tasks(tmp_path / "x.parquet")

    @pytest.mark.parametrize("suffix", [".jsonl", ".json", ".jsonl.gz"])
    @pytest.mark.parametrize("indent", [0, 2])
    @pytest.mark.parametrize("times", [1, 2])
    def test_one_object_over_many_lines_is_a_row_of_json_alone(
        self, tmp_path: Path, suffix: str, indent: int, times: int
    ) -> None:
        path = tmp_path / f"x{suffix}"
        text = (json.dumps(TASK, indent=indent) + "\n") * times
        path.write_bytes(gzip.compress(text.encode()) if suffix.endswith(".gz") else text.encode())
        if suffix == ".json" and times == 1:
            assert ids(path) == ["task-1"]
            return
        with pytest.raises(SourceError) as caught:
            load_tasks(path)
        assert str(caught.value) == f"{path}: one object over many lines is not a row; {EXAMPLE}"

    def test_a_damaged_first_line_is_not_taken_for_an_object_over_many_lines(self, tmp_path: Path) -> None:
        (tmp_path / "x.jsonl").write_text('{"id": \n{"id": \n')
        with pytest.raises(SourceError, match=r"x\.jsonl: no readable row; .*x\.jsonl:1: not JSON"):
            load_tasks(tmp_path / "x.jsonl")

    def test_a_json_array_that_is_cut_off_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "x.json").write_bytes(b"[" + line_of("a") + b",")
        with pytest.raises(SourceError, match=r"x\.json: not a JSON array .*one object per line works too"):
            load_tasks(tmp_path / "x.json")

    @pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".zst", zstd)])
    def test_a_compressed_file_that_is_cut_off_is_refused_after_its_whole_rows(
        self, tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]
    ) -> None:
        path = tmp_path / f"x.jsonl{suffix}"
        path.write_bytes(compress(b"".join(line_of(f"t{i}") for i in range(2000)))[:-12])
        with pytest.raises(SourceError, match=r"cannot be read to its end .*damaged or cut off"):
            list(load_tasks(path))

    @pytest.mark.parametrize("suffix", [".gz", ".zst"])
    def test_a_file_that_is_not_compressed_as_its_name_says_is_refused(self, tmp_path: Path, suffix: str) -> None:
        (tmp_path / f"x.jsonl{suffix}").write_bytes(line_of("a"))
        with pytest.raises(SourceError, match="cannot be read to its end"):
            load_tasks(tmp_path / f"x.jsonl{suffix}")

    def test_a_gzip_file_with_a_damaged_middle_is_refused(self, tmp_path: Path) -> None:
        content = bytearray(gzip.compress(b"".join(line_of(f"t{i}") for i in range(200))))
        content[40] ^= 255
        (tmp_path / "x.jsonl.gz").write_bytes(content)
        with pytest.raises(SourceError, match="damaged or cut off"):
            list(load_tasks(tmp_path / "x.jsonl.gz", "tasks"))

    @pytest.mark.parametrize("keep", [10, 200, -8])
    def test_a_parquet_file_that_is_cut_off_is_refused(self, tmp_path: Path, keep: int) -> None:
        whole = write_parquet(tmp_path / "x.parquet", count=50, group=50).read_bytes()
        (tmp_path / "x.parquet").write_bytes(whole[:keep])
        with pytest.raises(SourceError, match=r"x\.parquet: not readable as parquet after row 0"):
            load_tasks(tmp_path / "x.parquet")

    def test_a_parquet_file_with_a_damaged_page_is_refused(self, tmp_path: Path) -> None:
        save_tasks(tmp_path / "x.parquet", [parse_task(named(f"t{i}")) for i in range(3000)])
        content = bytearray((tmp_path / "x.parquet").read_bytes())
        content[100:400] = bytes(300)
        (tmp_path / "x.parquet").write_bytes(content)
        with pytest.raises(SourceError, match=r"x\.parquet: not readable as parquet"):
            list(load_tasks(tmp_path / "x.parquet", "tasks"))

    def test_a_parquet_file_with_text_that_is_not_utf_8_is_refused(self, tmp_path: Path) -> None:
        broken = pa.array([b"caf\xe9"], type=pa.binary()).view(pa.string())
        pq.write_table(pa.table({"query": broken, "rubrics": ["[]"]}), tmp_path / "x.parquet")
        with pytest.raises(SourceError, match=r"x\.parquet: not readable as parquet"):
            load_tasks(tmp_path / "x.parquet")


class TestAuto:
    @pytest.mark.parametrize("name", FORMATS[1:])
    def test_each_format_is_told_by_its_rows(self, tmp_path: Path, name: str) -> None:
        path = write_jsonl(tmp_path / "x.jsonl", ROWS[name])
        assert list(load_tasks(path, strict=True)) == list(load_tasks(path, name, strict=True))  # type: ignore[arg-type]

    @pytest.mark.parametrize("name", [name for name in FORMATS[1:] if name not in ("tasks", "verl", "trl", "plain")])
    def test_a_task_says_which_format_it_came_from(self, tmp_path: Path, name: str) -> None:
        assert [task.source for task in load_tasks(write_jsonl(tmp_path / "x.jsonl", ROWS[name]))] == [name]

    def test_the_rows_before_the_one_that_is_recognised_are_not_lost(self, tmp_path: Path) -> None:
        path = tmp_path / "x.jsonl"
        path.write_bytes(b'17\n{"other": 1}\n' + line_of("a"))
        loaded, rejects = read(path)
        assert [task.id for task in loaded] == ["a"]
        assert [reject.line for reject in rejects] == [1, 2]

    def test_a_row_of_another_format_further_down_is_a_reject(self, tmp_path: Path) -> None:
        _, (reject,) = read(write_jsonl(tmp_path / "x.jsonl", TASK, HEALTHBENCH))
        assert "unknown key ('prompt_id'); allowed: id, messages" in str(reject)


class TestSubset:
    def test_a_subset_keeps_its_criteria_only(self, tmp_path: Path) -> None:
        path = write_jsonl(tmp_path / "x.jsonl", HEALTHBENCH)
        texts = [[c.text for c in task.rubric.criteria] for task in load_tasks(path, subset="consensus")]
        assert texts == [["Stays calm"]]

    def test_a_task_without_a_criterion_of_the_subset_is_skipped_and_counted(self, tmp_path: Path) -> None:
        row = {**HEALTHBENCH, "rubrics": HEALTHBENCH["rubrics"][:2]}
        stream = load_tasks(write_jsonl(tmp_path / "x.jsonl", row, HEALTHBENCH), subset="consensus")
        assert [task.id for task in stream] == ["p-1"]
        assert (stream.read, stream.loaded, stream.skipped) == (2, 1, 1)

    def test_dimensions_of_the_whole_checklist_do_not_stay_with_a_part_of_it(self, tmp_path: Path) -> None:
        row = {**TASK, "rubric": [{**TASK["rubric"][0], "tags": ["level:cluster"]}, TASK["rubric"][1]]}
        (task,) = load_tasks(write_jsonl(tmp_path / "x.jsonl", row), subset="example")
        assert (len(task.rubric), task.protocol) == (1, None)

    def test_dimensions_stay_where_the_subset_is_the_whole(self, tmp_path: Path) -> None:
        (task,) = load_tasks(write_jsonl(tmp_path / "x.jsonl", TASK), subset="example")
        assert render_task(task) == TASK


RESPONSE = {"task_id": "t", "response": "No.", "sample": 2, "model": "m", "tokens": 3}


class TestResponses:
    def test_a_response_is_read_with_all_it_says(self, tmp_path: Path) -> None:
        (response,) = load_responses(write_jsonl(tmp_path / "x.jsonl", RESPONSE))
        assert response == Response(task_id="t", text="No.", sample=2, model="m", tokens=3)

    def test_an_empty_answer_is_an_answer(self, tmp_path: Path) -> None:
        (response,) = load_responses(write_jsonl(tmp_path / "x.jsonl", {"task_id": "t", "response": ""}))
        assert (response.text, response.sample) == ("", 0)

    @pytest.mark.parametrize(
        ("key", "value"), [("response", 5), ("sample", -1), ("tokens", 1.5), ("sample", 2**63), ("sample", "two")]
    )
    def test_a_response_with_a_wrong_value_is_a_reject_that_shows_it(
        self, tmp_path: Path, key: str, value: object
    ) -> None:
        rejects: list[Reject] = []
        path = write_jsonl(tmp_path / "x.jsonl", RESPONSE, {**RESPONSE, key: value})
        assert len(list(load_responses(path, on_reject=rejects.append))) == 1
        assert str(rejects[0]).startswith(f"{path}:2: Response: ")
        assert f"(got {value!r})" in str(rejects[0])
