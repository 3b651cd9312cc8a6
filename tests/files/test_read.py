"""Rows out of files: every kind of file and encoding, faults with their line, and how much is held at once."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prorubric.errors import ConfigError, SourceError
from prorubric.files.read import read_rows
from tests.thorough import parametrize_sparingly


def values(path: Path) -> list[object]:
    return [row.value for row in read_rows(path)]


def refusal(path: Path) -> str:
    with pytest.raises(SourceError) as caught:
        list(read_rows(path))
    return str(caught.value).removeprefix(str(path))


class TestReading:
    def test_blank_lines_are_passed_over_and_counted(self, tmp_path: Path) -> None:
        (tmp_path / "t.jsonl").write_text('{"a":1}\n\n   \n{"a":2}\n')
        assert [(row.line, row.value) for row in read_rows(tmp_path / "t.jsonl")] == [(1, {"a": 1}), (4, {"a": 2})]

    def test_a_byte_order_mark_is_passed_over(self, tmp_path: Path) -> None:
        (tmp_path / "t.jsonl").write_bytes(b'\xef\xbb\xbf{"a":1}\n')
        assert [row.value for row in read_rows(tmp_path / "t.jsonl")] == [{"a": 1}]

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            (b"{oops", "not JSON"),
            (b"[1]", "not a JSON object ([1])"),
            (b'"\xff"', "not UTF-8 (byte 0xff in '\"ÿ\"\\n'"),
            (b"3", "not a JSON object (3)"),
        ],
    )
    def test_a_bad_line_is_a_fault_with_its_number(self, tmp_path: Path, line: bytes, said: str) -> None:
        (tmp_path / "t.jsonl").write_bytes(b'{"a":1}\n' + line + b'\n{"a":2}\n')
        rows = list(read_rows(tmp_path / "t.jsonl"))
        assert [row.line for row in rows] == [1, 2, 3]
        assert said in str(rows[1].fault)

    @pytest.mark.parametrize(
        ("name", "text", "said"),
        [
            ("t.jsonl", '[{"a": 1}]', "a row is one JSON object, and a file with an array of them is called .json"),
            ("t.jsonl", '[\n{"a": 1}\n]', "a row is one JSON object, and a file with an array of them is called .json"),
            ("t.jsonl", '{"a": 1}\r{"a": 2}\r', "its lines end in CR only; convert them to LF"),
        ],
    )
    def test_a_file_of_another_kind_is_told_what_to_do(self, tmp_path: Path, name: str, text: str, said: str) -> None:
        (tmp_path / name).write_bytes(text.encode())
        assert str(next(read_rows(tmp_path / name)).fault).endswith(f"; {said}")

    def test_a_table_without_line_feeds_is_told_what_to_do(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_bytes(b"a,b\r1,2\r")
        assert refusal(tmp_path / "t.csv").endswith("; its lines end in CR only; convert them to LF")

    @pytest.mark.parametrize("more", ["", ', "n": 18446744073709551616', r', "s": "\ud800"', ', "x": NaN'])
    def test_a_key_that_comes_twice_is_a_fault(self, tmp_path: Path, more: str) -> None:
        path = tmp_path / "t.jsonl"
        path.write_text(
            f'{{"id": "a", "id": "b"{more}}}\n{{"id": "a:b", "in": {{"k": 1, "k" : 1}}}}\n{{"id": ": :"{more}}}\n'
        )
        first, second, third = read_rows(path)
        assert (first.line, str(first.fault)) == (1, "a key appears twice in one object ('id'); keep one")
        assert (second.line, str(second.fault)) == (2, "a key appears twice in one object ('k'); keep one")
        assert third.fault is None

    def test_a_key_that_comes_twice_in_an_array_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "t.json").write_text('[{"id": "a"}, {"id": "a", "id": "b"}]')
        assert refusal(tmp_path / "t.json") == ": a key appears twice in one object ('id'); keep one"

    def test_several_members_of_gzip_and_frames_of_zstd_are_read_through(self, tmp_path: Path) -> None:
        one, two = b'{"a":1}\n', b'{"a":2}\n'
        (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(one) + gzip.compress(two))
        (tmp_path / "t.jsonl.zst").write_bytes(
            pa.compress(one, "zstd", asbytes=True) + pa.compress(two, "zstd", asbytes=True)
        )
        for name in ("t.jsonl.gz", "t.jsonl.zst"):
            assert [row.value for row in read_rows(tmp_path / name)] == [{"a": 1}, {"a": 2}]

    def test_a_file_that_is_cut_off_is_an_error_after_its_last_whole_row(self, tmp_path: Path) -> None:
        (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(os.urandom(50_000).hex().encode())[:-9])
        with pytest.raises(SourceError, match="damaged or cut off"):
            list(read_rows(tmp_path / "t.jsonl.gz"))

    def test_a_file_that_is_not_parquet_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "t.parquet").write_text("hello")
        with pytest.raises(SourceError, match="not readable as parquet after row 0"):
            list(read_rows(tmp_path / "t.parquet"))

    def test_a_damaged_json_array_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "t.json").write_text('[{"a":1},')
        with pytest.raises(SourceError, match="not a JSON array"):
            list(read_rows(tmp_path / "t.json"))

    def test_a_json_file_may_hold_one_object_a_line(self, tmp_path: Path) -> None:
        (tmp_path / "t.json").write_text('{"a":1}\n{"a":2}\n')
        assert [row.value for row in read_rows(tmp_path / "t.json")] == [{"a": 1}, {"a": 2}]

    @pytest.mark.parametrize("name", ["t.jsonl", "t", "t.txt"])
    def test_a_missing_file_is_an_error_whatever_its_name(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(SourceError) as caught:
            list(read_rows(tmp_path / name))
        assert str(caught.value) == f"{tmp_path / name}: no such file; check the path"

    def test_a_folder_is_not_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "t.jsonl").mkdir()
        with pytest.raises(SourceError, match=r"t\.jsonl: not a regular file; check the path"):
            list(read_rows(tmp_path / "t.jsonl"))

    def test_blank_lines_before_the_first_object_of_a_json_file_count(self, tmp_path: Path) -> None:
        (tmp_path / "t.json").write_text('\n\n{"a":1}\n')
        assert [(row.line, row.value) for row in read_rows(tmp_path / "t.json")] == [(3, {"a": 1})]

    @pytest.mark.parametrize("text", ['{\n "a": 1\n}\n', '\n{\n "a": 1}'])
    def test_a_json_file_may_hold_one_object_over_many_lines(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "t.json").write_text(text)
        assert values(tmp_path / "t.json") == [{"a": 1}]

    @pytest.mark.parametrize("suffix", [".jsonl", ".json"])
    @pytest.mark.parametrize("number", [2**64, -(2**70), 10**400])
    def test_an_integer_of_any_length_is_read_exactly(self, tmp_path: Path, suffix: str, number: int) -> None:
        (tmp_path / f"t{suffix}").write_text(f'{{"a":{number}}}\n')
        assert values(tmp_path / f"t{suffix}") == [{"a": number}]


class TestEncodings:
    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
    @pytest.mark.parametrize(
        ("suffix", "text"),
        [
            (".jsonl", '{"a": "é\u2028😀"}\n{"a": "b"}\n'),
            (".json", '[{"a": "é\u2028😀"}, {"a": "b"}]'),
            (".csv", "a\né\u2028😀\nb\n"),
            (".yaml", "- {a: é😀}\n- {a: b}\n"),
        ],
    )
    def test_a_byte_order_mark_says_how_a_file_is_read(
        self, tmp_path: Path, suffix: str, text: str, encoding: str
    ) -> None:
        path = tmp_path / f"t{suffix}"
        path.write_bytes(text.encode(encoding))
        assert values(path) == [{"a": "é😀" if suffix == ".yaml" else "é\u2028😀"}, {"a": "b"}]

    def test_big_utf_16_in_gzip_is_read_through(self, tmp_path: Path) -> None:
        rows = [{"a": f"{number} " + "é😀" * 500} for number in range(300)]
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(text.encode("utf-16"), 1))
        assert values(tmp_path / "t.jsonl.gz") == rows

    @pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
    @pytest.mark.parametrize(("suffix", "text"), [(".jsonl", '{"a": 1}\n'), (".json", "[]"), (".csv", "a,b\n")])
    def test_utf_16_without_a_mark_is_named_with_what_to_do(
        self, tmp_path: Path, suffix: str, text: str, encoding: str
    ) -> None:
        path = tmp_path / f"t{suffix}"
        path.write_bytes(text.encode(encoding))
        name = encoding.upper().replace("-LE", "LE").replace("-BE", "BE")
        assert refusal(path) == (
            f": looks like {name} without a byte order mark; save it as UTF-8, "
            f"for example with iconv -f {name} -t UTF-8"
        )

    @pytest.mark.parametrize(
        ("suffix", "text", "around"),
        [
            (".json", '[{"a": "café"}]', '[{"a": "café"}]'),
            (".csv", "a\ncafé\n", "café\\n"),
            (".yaml", "a: café\n", "a: café\\n"),
        ],
    )
    def test_latin_1_is_named_with_what_to_do(self, tmp_path: Path, suffix: str, text: str, around: str) -> None:
        path = tmp_path / f"t{suffix}"
        path.write_bytes(text.encode("latin-1"))
        assert refusal(path) == (
            f": not UTF-8 (byte 0xe9 in '{around}', shown as Latin-1); "
            "save the file as UTF-8, for example with iconv -f WINDOWS-1252 -t UTF-8"
        )

    def test_a_line_of_latin_1_is_a_fault_and_the_rest_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "t.jsonl").write_bytes('{"a": "café"}\n{"a": 1}\n'.encode("latin-1"))
        bad, good = read_rows(tmp_path / "t.jsonl")
        assert (good.value, bad.value) == ({"a": 1}, None)
        assert str(bad.fault).startswith(
            'not UTF-8 (byte 0xe9 in \'{"a": "café"}\\n\', shown as Latin-1); save the file'
        )

    @pytest.mark.parametrize("content", [b"\xff\xfea", b"\xff\xfe\x00\xd8a\x00"])
    def test_damaged_utf_16_is_an_error_in_one_line(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "t.jsonl").write_bytes(content)
        assert refusal(tmp_path / "t.jsonl").startswith(": the text is damaged ('utf-16-le' codec can't decode byte")


class TestTables:
    def test_cells_are_text_by_the_names_of_their_columns(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text('id, prompt ,n\n1,"a,\n""b""",2\n\n3,é,\n', encoding="utf-8")
        rows = [(row.line, row.value) for row in read_rows(tmp_path / "t.csv")]
        assert rows == [(2, {"id": "1", "prompt": 'a,\n"b"', "n": "2"}), (5, {"id": "3", "prompt": "é", "n": ""})]

    @pytest.mark.parametrize(("name", "separator"), [("t.csv", ";"), ("t.csv", "\t"), ("t.tsv", "\t"), ("t.csv", ",")])
    def test_the_first_line_says_what_is_between_the_cells(self, tmp_path: Path, name: str, separator: str) -> None:
        (tmp_path / name).write_text(f"id{separator}b\n1{separator}2\n")
        assert values(tmp_path / name) == [{"id": "1", "b": "2"}]

    def test_empty_records_and_empty_cells_past_the_last_column_are_passed_over(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("a,b\n,\n1,2,,\n,,,,\n")
        assert values(tmp_path / "t.csv") == [{"a": "1", "b": "2"}]

    @pytest.mark.parametrize(("record", "cells"), [("1,2,3", 3), ("1", 1)])
    def test_a_record_of_another_length_is_a_fault(self, tmp_path: Path, record: str, cells: int) -> None:
        (tmp_path / "t.csv").write_text(f"a,b\n{record}\n4,5\n")
        bad, good = read_rows(tmp_path / "t.csv")
        assert good.value == {"a": "4", "b": "5"}
        assert (
            str(bad.fault)
            == f"wrong number of cells ({cells} under 2 column names); put a cell that contains ',' in double quotes"
        )

    def test_a_column_without_a_name_is_kept(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text(",a\n0,x\n")
        assert values(tmp_path / "t.csv") == [{"column 1": "0", "a": "x"}]

    def test_a_cell_may_be_long(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text(f"a\n{'x' * 300_000}\n")
        assert values(tmp_path / "t.csv") == [{"a": "x" * 300_000}]

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("a,a\n1,2\n", ":1: two columns are called 'a'; give each its own name"),
            ('a,b\n1,"2\n', ":2: not a table (unexpected end of data); check the double quotes"),
            ('a,b\n1,"2"3\n', ":2: not a table (',' expected after '\"'); check the double quotes"),
        ],
    )
    def test_what_is_not_a_table_is_refused_with_its_line(self, tmp_path: Path, text: str, said: str) -> None:
        (tmp_path / "t.csv").write_text(text)
        assert refusal(tmp_path / "t.csv") == said

    @pytest.mark.parametrize("text", ["", "\n", "a,b\n"])
    def test_a_table_without_records_has_no_rows(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "t.csv").write_text(text)
        assert values(tmp_path / "t.csv") == []


class TestYaml:
    def test_scalars_are_what_their_author_meant(self, tmp_path: Path) -> None:
        words = "No yes on off 12:30 007 2026-01-02 1_000 0x1F .nan .inf = << 1e3x".split()
        text = "a:\n" + "".join(f"  - {word}\n" for word in words)
        (tmp_path / "t.yaml").write_text(text)
        assert values(tmp_path / "t.yaml") == [{"a": words}]

    def test_numbers_truth_and_null_are_those_of_json(self, tmp_path: Path) -> None:
        (tmp_path / "t.yaml").write_text("a: [1, -2, 0.5, 1e3, true, false, null, ~, '1', 18446744073709551616]\nb:\n")
        expected = [1, -2, 0.5, 1000.0, True, False, None, None, "1", 2**64]
        assert values(tmp_path / "t.yaml") == [{"a": expected, "b": None}]

    @pytest.mark.parametrize("text", ["- a: 1\n- a: 2\n", "a: 1\n---\na: 2\n", "---\n- {a: 1}\n...\n---\na: 2\n"])
    def test_rows_are_a_list_or_documents(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "t.yml").write_text(text)
        assert values(tmp_path / "t.yml") == [{"a": 1}, {"a": 2}]

    def test_a_row_is_known_by_the_line_that_it_begins_in(self, tmp_path: Path) -> None:
        (tmp_path / "t.yaml").write_text("# rubrics\n- a: 1\n  b: 2\n- 5\n- a: 3\n")
        rows = list(read_rows(tmp_path / "t.yaml"))
        assert [row.line for row in rows] == [2, 4, 5]
        assert str(rows[1].fault) == "not a mapping (5); a row has keys such as prompt and rubric"

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("a: 1\nb: &x [1]\nc: *x\n", ":3: not readable as yaml: an alias (*name) is not read; write the value out"),
            ("a: 1\na: 2\n", ":2: not readable as yaml: the key 'a' appears twice; keep one"),
            ("a: !!set {b}\n", ":1: not readable as yaml: the tag tag:yaml.org,2002:set is not read; leave it out"),
            (
                "a: !!binary aGk=\n",
                ":1: not readable as yaml: the tag tag:yaml.org,2002:binary is not read; leave it out",
            ),
            (
                "a: !!python/object/apply:os.system [exit]\n",
                ":1: not readable as yaml: the tag tag:yaml.org,2002:python/object/apply:os.system is not read; "
                "leave it out",
            ),
            ("? [a]\n: 1\n", ":1: not readable as yaml: a key is not text; give each value a name"),
            (
                "a: 1\nb: c: d\n",
                ":2: not readable as yaml: mapping values are not allowed here; "
                "put text that contains : or # in quotes",
            ),
            ("[" * 5000, ": nested too deeply to be read; flatten it"),
        ],
    )
    def test_what_cannot_be_read_safely_is_refused_with_its_line(self, tmp_path: Path, text: str, said: str) -> None:
        (tmp_path / "t.yaml").write_text(text)
        assert refusal(tmp_path / "t.yaml") == said

    def test_an_integer_too_long_for_python_is_an_error_in_one_line(self, tmp_path: Path) -> None:
        (tmp_path / "t.yaml").write_text(f"a: {'9' * 5000}\n")
        assert refusal(tmp_path / "t.yaml").startswith(": not readable as yaml (Exceeds the limit (4300 digits)")


READ_IN_LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from prorubric.errors import SourceError
from prorubric.files import arrow, read as rows, yaml_rows
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (320 << 20),) * 2)
try:
    print(sum(1 for _ in rows.read_rows(Path(sys.argv[1]))))
except SourceError as error:
    print(error)
"""


def write_bomb(path: Path, mebibytes: int) -> Path:
    """A small file that holds one line of so many MiB, in members of one MiB."""
    block = b" " * (1 << 20)
    member = gzip.compress(block) if path.suffix == ".gz" else pa.compress(block, "zstd", asbytes=True)
    path.write_bytes(member * mebibytes)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of the process is limited as on Linux")
class TestLimits:
    @parametrize_sparingly(
        ("name", "said"),
        [
            ("t.jsonl.zst", ":1: the line is larger than 64 MiB; raise PRORUBRIC_MAX_LINE_MIB to read it"),
            ("t.jsonl.gz", ":1: the line is larger than 64 MiB; raise PRORUBRIC_MAX_LINE_MIB to read it"),
            ("t.csv.zst", ":1: the line is larger than 64 MiB; raise PRORUBRIC_MAX_LINE_MIB to read it"),
            ("t.json.gz", ": the file is larger than 100 MiB; raise PRORUBRIC_MAX_FILE_MIB to read it"),
            ("t.json.zst", ": the file is larger than 100 MiB; raise PRORUBRIC_MAX_FILE_MIB to read it"),
            ("t.yaml.zst", ": the file is larger than 100 MiB; raise PRORUBRIC_MAX_FILE_MIB to read it"),
        ],
        3,
    )
    def test_a_small_file_that_holds_gigabytes_is_refused_in_little_memory(
        self, tmp_path: Path, name: str, said: str
    ) -> None:
        path = write_bomb(tmp_path / name, mebibytes=400)
        environment = {**os.environ, "PRORUBRIC_MAX_FILE_MIB": "100", "ARROW_DEFAULT_MEMORY_POOL": "system"}
        command = [sys.executable, "-c", READ_IN_LITTLE_MEMORY, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert (done.stdout, done.stderr) == (f"{path}{said}\n", "")


class TestLimitsThatAreSet:
    def test_a_row_group_of_parquet_is_limited(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        texts = [f"{number}" + "x" * (1 << 20) for number in range(3)]
        pq.write_table(pa.table({"a": texts}), tmp_path / "t.parquet", compression="zstd")
        assert len(values(tmp_path / "t.parquet")) == 3
        monkeypatch.setenv("PRORUBRIC_MAX_FILE_MIB", "2")
        assert refusal(tmp_path / "t.parquet") == (
            ": row group 1 is larger than 2 MiB; raise PRORUBRIC_MAX_FILE_MIB to read it"
        )

    def test_a_line_may_be_as_long_as_the_limit_says(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "t.jsonl").write_text(json.dumps({"a": "x" * (3 << 20)}) + "\n")
        assert len(values(tmp_path / "t.jsonl")) == 1
        monkeypatch.setenv("PRORUBRIC_MAX_LINE_MIB", "2")
        assert ":1: the line is larger than 2 MiB" in refusal(tmp_path / "t.jsonl")

    @pytest.mark.parametrize("value", ["0", "-1", "1.5", "64 MB", "٣"])
    def test_a_limit_that_is_not_a_number_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
    ) -> None:
        (tmp_path / "t.jsonl").write_text("{}\n")
        monkeypatch.setenv("PRORUBRIC_MAX_LINE_MIB", value)
        with pytest.raises(ConfigError) as caught:
            list(read_rows(tmp_path / "t.jsonl"))
        assert str(caught.value) == f"PRORUBRIC_MAX_LINE_MIB is {value!r}; give a whole number of MiB, such as 64"
