"""Csv that no spreadsheet runs, whole or not at all; HTML with every text escaped."""

import csv
from pathlib import Path

import pytest

from prorubric.errors import SourceError
from prorubric.files.tables import defuse, open_csv, render_html


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=cmd|' /C calc'!A0", "＝1", "-"],
)
def test_a_text_that_would_run_gets_an_apostrophe(text: str, tmp_path: Path) -> None:
    assert defuse(text) == f"'{text}"
    with open_csv(tmp_path / "t.csv", ["id", text]) as write:
        write({"id": text, text: -1.5})
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as stream:
        assert list(csv.reader(stream)) == [["id", f"'{text}"], [f"'{text}", "-1.5"]]


@pytest.mark.parametrize("value", [-1, -0.5, None, True, "a=b", "'=1", "", " =1"])
def test_numbers_and_other_texts_stay_as_they_are(value: object) -> None:
    assert defuse(value) is value


def test_what_is_none_or_missing_is_an_empty_cell(tmp_path: Path) -> None:
    with open_csv(tmp_path / "t.csv", ["a", "b", "c"]) as write:
        write({"a": None, "b": 0.0, "more": 1})
        write({"a": 'said "so", twice', "b": "half \ud83d", "c": "two\nlines"})
    assert (tmp_path / "t.csv").read_bytes() == b'a,b,c\r\n,0.0,\r\n"said ""so"", twice",half ?,"two\nlines"\r\n'


def test_a_file_that_was_not_finished_does_not_appear(tmp_path: Path) -> None:
    with pytest.raises(AttributeError), open_csv(tmp_path / "t.csv", ["a"]) as write:
        write(None)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(SourceError, match=r"t\.csv: cannot be written"), open_csv(tmp_path / "t.csv", ["a"]):
        pass
    with pytest.raises(SourceError, match=r"none/t\.csv: cannot be written"), open_csv(tmp_path / "none/t.csv", ["a"]):
        pass


def test_a_table_for_a_notebook_escapes_every_text() -> None:
    shown = render_html(["<i>", "n"], [{"<i>": "<script>", "n": 0.12345}, {"<i>": None, "n": 3}])
    assert shown == (
        "<table><thead><tr><th>&lt;i&gt;</th><th>n</th></tr></thead><tbody>"
        "<tr><td>&lt;script&gt;</td><td>0.123</td></tr><tr><td>–</td><td>3</td></tr></tbody></table>"
    )
