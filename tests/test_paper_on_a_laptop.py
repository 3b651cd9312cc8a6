"""The page about the mini shows figures of the committed tables and no others."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
_TABLE = re.compile(r"\(paper-mini/([\w/-]+)\.csv\).*?\n\n((?:\|[^\n]*\n)+)", re.DOTALL)
_FIGURE = re.compile(r"[+−]?\d[\d,]*(?:\.\d+)?")


def list_rows() -> Iterator[tuple[str, str, list[str]]]:
    """Every row of a table: the file that it is from, its name, and its figures."""
    for file, table in _TABLE.findall((DOCS / "paper-on-a-laptop.md").read_text(encoding="utf-8")):
        for line in table.splitlines()[2:]:
            name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            yield file, name, [figure for cell in cells for figure in _FIGURE.findall(cell)]


@pytest.mark.parametrize(("file", "name", "figures"), [*list_rows()])
def test_every_figure_of_a_row_is_in_the_rows_of_that_name(file: str, name: str, figures: list[str]) -> None:
    with (DOCS / "paper-mini" / f"{file}.csv").open(encoding="utf-8") as stream:
        known = [cell for row in csv.DictReader(stream) if name in row.values() for cell in row.values()]
    values = [float(cell) for cell in known if re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell)]
    for figure in figures:
        digits = len(figure.partition(".")[2])
        shown = figure.lstrip("+").replace(",", "").replace("−", "-")
        assert float(shown) in [round(value, digits) for value in values], (name, figure)


def test_the_page_has_tables() -> None:
    assert len({file for file, _, _ in list_rows()}) == 6
