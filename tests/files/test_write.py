"""Rows in files: exact round trips, nothing half-written, faults with their line."""

import os
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prorubric import Response, Task, load_responses, load_tasks, save_responses, save_tasks
from prorubric.datasets.responses import parse_response
from prorubric.errors import RubricError, SourceError
from prorubric.files.json import parse_json, render_json
from prorubric.files.write import open_rows, split_suffix, write_json
from prorubric.rubric.forms import parse_task, render_response, render_task
from prorubric.rubric.save import TASK_SCHEMA
from tests.cli.program import run_python
from tests.strategies import json_values, responses, tasks
from tests.thorough import few_or

SUFFIXES = [".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson", ".json", ".json.gz", ".parquet"]

NO_SPACE = "{}: cannot be written (No space left on device); make room and run it again"

needs_full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")

reuse = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=few_or(80)
)


def fill_disk_under(path: Path) -> Path:
    """A path whose bytes, which are written beside it first, go to a disk without room."""
    path.with_name(f".{path.name}.partial-{os.getpid()}").symlink_to("/dev/full")
    return path


class TestRoundTrips:
    @given(tasks(positive=False, with_protocol=None))
    def test_a_task_survives_its_form(self, task: Task) -> None:
        assert parse_task(parse_json(render_json(render_task(task)))) == task

    @given(responses)
    def test_a_response_survives_its_form(self, response: Response) -> None:
        assert parse_response(parse_json(render_json(render_response(response))), Counter()) == response

    @given(json_values | st.text(st.characters(codec=None)))
    def test_json_survives_even_with_lone_surrogates(self, value: object) -> None:
        assert parse_json(render_json(value)) == value

    @pytest.mark.parametrize("value", [float("nan"), [None, float("inf")], {"a": (1, -float("inf"))}])
    def test_what_json_cannot_hold_is_refused_and_not_written_as_null(self, value: object) -> None:
        with pytest.raises(RubricError, match="NaN and infinities are not JSON"):
            render_json(value)

    @pytest.mark.parametrize("suffix", SUFFIXES)
    @given(drawn=st.lists(tasks(positive=False, with_protocol=None), max_size=4))
    @reuse
    def test_tasks_survive_a_file(self, tmp_path: Path, suffix: str, drawn: list[Task]) -> None:
        path = tmp_path / f"tasks{suffix}"
        assert save_tasks(path, drawn) == len(drawn)
        assert list(load_tasks(path, "tasks", strict=True)) == drawn

    @pytest.mark.parametrize("suffix", SUFFIXES)
    @given(drawn=st.lists(responses, max_size=4))
    @reuse
    def test_responses_survive_a_file(self, tmp_path: Path, suffix: str, drawn: list[Response]) -> None:
        path = tmp_path / f"responses{suffix}"
        assert save_responses(path, drawn) == len(drawn)
        assert list(load_responses(path, strict=True)) == drawn

    def test_a_lone_surrogate_survives_jsonl_and_is_refused_by_parquet(self, tmp_path: Path) -> None:
        odd = Response(task_id="t", text="before \ud800 after")
        save_responses(tmp_path / "r.jsonl", [odd])
        assert list(load_responses(tmp_path / "r.jsonl")) == [odd]
        with pytest.raises(RubricError, match="write jsonl"):
            save_responses(tmp_path / "r.parquet", [odd])

    @pytest.mark.parametrize("before", [0, 1, 1_500])
    def test_the_row_that_parquet_refuses_is_named(self, tmp_path: Path, before: int) -> None:
        fine = [Response(task_id=f"fine {i}", text="x") for i in range(before)]
        odd = Response(task_id="odd \ud800", text="y")
        with pytest.raises(RubricError) as caught:
            save_responses(tmp_path / "r.parquet", [*fine, odd, *fine])
        assert str(caught.value).startswith(f"row {before + 1} (task_id 'odd \\ud800') does not fit into parquet (")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("row", "named"), [({"id": "t", "n": 1}, "row 2 (id 't')"), ({"n": 2**70}, "row 2"), ({"n": "one"}, "row 2")]
    )
    def test_a_row_is_named_by_its_id_or_by_its_number_alone(
        self, tmp_path: Path, row: dict[str, object], named: str
    ) -> None:
        schema = pa.schema({"id": pa.string(), "n": pa.int64(), "text": pa.string()})
        with (  # noqa: PT012
            pytest.raises(RubricError, match=re.escape(f"{named} does not fit into parquet (")),
            open_rows(tmp_path / "r.parquet", schema) as write,
        ):
            write({"id": "fine", "n": 1})
            write({"text": "\udfff", **row})

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_the_same_rows_give_the_same_bytes(self, tmp_path: Path, suffix: str) -> None:
        rows = [Response(task_id=str(i), text="x" * i) for i in range(50)]
        for name in ("a", "b"):
            save_responses(tmp_path / f"{name}{suffix}", rows)
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()

    def test_whole_weights_are_written_as_people_write_them(self) -> None:
        row = {"id": "t", "messages": [{"role": "user", "content": "?"}], "rubric": [{"criterion": "a", "weight": 7.0}]}
        assert render_task(parse_task(row))["rubric"] == [{"criterion": "a", "weight": 7, "tags": []}]


class TestWriting:
    def test_nothing_appears_when_writing_fails(self, tmp_path: Path) -> None:
        with pytest.raises(RuntimeError), open_rows(tmp_path / "t.jsonl", TASK_SCHEMA) as write:  # noqa: PT012
            write({"id": "a"})
            raise RuntimeError
        assert list(tmp_path.iterdir()) == []

    def test_what_was_there_stays_when_writing_fails(self, tmp_path: Path) -> None:
        (tmp_path / "t.jsonl").write_text("precious")
        with pytest.raises(RuntimeError), open_rows(tmp_path / "t.jsonl", TASK_SCHEMA) as write:  # noqa: PT012
            write({"id": "a"})
            raise RuntimeError
        assert (tmp_path / "t.jsonl").read_text() == "precious"

    @needs_full_disk
    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("rows", [1, 5_000])
    def test_a_full_disk_is_an_error_that_names_the_file(self, tmp_path: Path, suffix: str, rows: int) -> None:
        path = fill_disk_under(tmp_path / f"t{suffix}")
        with pytest.raises(SourceError) as caught:
            save_responses(path, (Response(task_id=f"{i}", text=os.urandom(200).hex()) for i in range(rows)))
        assert str(caught.value) == NO_SPACE.format(path)
        assert list(tmp_path.iterdir()) == []

    @needs_full_disk
    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("error", [OSError(2, "gone", "elsewhere"), RuntimeError("mine"), KeyboardInterrupt()])
    def test_an_error_of_the_block_is_not_blamed_on_the_file_even_on_a_full_disk(
        self, tmp_path: Path, suffix: str, error: BaseException
    ) -> None:
        path = tmp_path / f"t{suffix}"
        if suffix != ".parquet":  # whose first bytes are written before the block begins
            fill_disk_under(path)
        with pytest.raises(type(error)) as caught, open_rows(path, TASK_SCHEMA) as write:  # noqa: PT012
            write({"id": "a"})
            raise error
        assert caught.value is error
        assert list(tmp_path.iterdir()) == []

    @needs_full_disk
    def test_a_full_disk_under_a_small_file_is_an_error_that_names_it(self, tmp_path: Path) -> None:
        path = fill_disk_under(tmp_path / "t.json")
        with pytest.raises(SourceError) as caught:
            write_json(path, {"a": 1})
        assert str(caught.value) == NO_SPACE.format(path)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_a_limit_on_the_size_of_files_leaves_nothing_but_one_line(self, tmp_path: Path, suffix: str) -> None:
        code = (
            "import os, resource, sys; from prorubric import Response, save_responses\n"
            "from prorubric.errors import SourceError\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
            "try:\n"
            "    rows = (Response(task_id='t', text=os.urandom(200).hex()) for _ in range(5_000))\n"
            "    save_responses(sys.argv[1], rows)\n"
            "except SourceError as error:\n"
            "    print(error)\n"
        )
        path = tmp_path / f"t{suffix}"
        done = run_python("-c", code, str(path), cwd=tmp_path)
        assert done.stdout == f"{path}: cannot be written (File too large); make room and run it again\n"
        assert (done.stderr, list(tmp_path.iterdir())) == ("", [])

    def test_another_reason_does_not_ask_for_room(self, tmp_path: Path) -> None:
        path = tmp_path / "none" / "t.json"
        with pytest.raises(SourceError) as caught:
            write_json(path, {})
        reason = "No such file or directory"
        assert str(caught.value) == f"{path}: cannot be written ({reason}); check the place and run it again"

    def test_many_rows_of_parquet_are_written_in_batches(self, tmp_path: Path) -> None:
        rows = [Response(task_id=str(i), text="x") for i in range(3_000)]
        save_responses(tmp_path / "r.parquet", rows)
        assert list(load_responses(tmp_path / "r.parquet")) == rows


ROW = {"id": "t", "messages": [{"role": "user", "content": "?"}], "rubric": [{"criterion": "a", "weight": 1}]}


class TestNames:
    @pytest.mark.parametrize("name", ["t.txt", "t", "t.parquet.gz", "t.gz", "t.csv"])
    def test_a_name_that_says_no_format_is_refused_with_those_that_do(self, name: str) -> None:
        with pytest.raises(SourceError, match=r"allowed: \.jsonl, \.ndjson, \.json, \.parquet"):
            split_suffix(Path(name))


class TestForms:
    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"protocl": []}, "task: unknown key ('protocl'); allowed: id, messages"),
            (
                {"rubric": [{"text": "a", "weight": 1}]},
                "criterion 1: unknown key ('text'); allowed: criterion, weight, tags",
            ),
            ({"rubric": "a"}, "rubric is not a list of objects ('a'); give one"),
            ({"rubric": [{"criterion": "a", "weight": 0}]}, "criterion 1: Criterion: weight"),
            ({"rubric": [{"criterion": "a"}]}, "weight is not a number"),
            ({"protocol": [{"name": "n", "description": "d", "index": [1]}]}, "dimension 1: unknown key ('index')"),
            ({"messages": None}, "messages is not a list of objects (None); give one"),
            ({"messages": [{"role": "user"}]}, "Message: content"),
            ({"meta": "[1]"}, "meta is"),
            ({"meta": "{"}, "meta is"),
            ({"id": None}, "Task: id"),
            (
                {"rubric": [{"criterion": "a", "weight": 1, "tags": 3}]},
                "criterion 1: Criterion: tags: Input should be a valid tuple (got 3)",
            ),
        ],
    )
    def test_a_row_that_is_not_a_task_says_where_and_why(self, change: dict[str, object], said: str) -> None:
        with pytest.raises(RubricError) as caught:
            parse_task({**ROW, **change})
        assert said in str(caught.value)
