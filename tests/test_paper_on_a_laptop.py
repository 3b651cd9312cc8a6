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
    assert len({file for file, _, _ in list_rows()}) == 7


def read_run(file: str) -> list[dict[str, str]]:
    """The rows of a table that a run has figures for."""
    with (DOCS / "paper-mini" / f"{file}.csv").open(encoding="utf-8") as stream:
        return [row for row in csv.DictReader(stream) if row.get("state") != "not run"]


@pytest.mark.parametrize(
    ("file", "keys"),
    [
        ("ablations-full", ["method"]),
        ("dynamics", ["domain", "method", "step"]),
        ("incentive", ["domain", "edit", "reward"]),
        ("pairs", ["domain", "judge", "first", "second"]),
        ("probe", ["domain", "method", "seed"]),
    ],
)
def test_the_second_and_the_third_run_have_the_same_figures(file: str, keys: list[str]) -> None:
    second, third = (
        {tuple(row[key] for key in keys): row for row in read_run(name)} for name in (f"second/{file}", file)
    )
    shared = second.keys() & third.keys()
    assert [key for key in shared if second[key] != third[key]] == []
    assert {key for key in second.keys() - third.keys() if "RuscaRL" not in key} == set()
    assert len(shared) > len(second) / 2


def test_the_comparison_of_runs_is_that_of_their_tables() -> None:
    first, third = (
        {row["method"]: row for row in read_run(name)} for name in ("first/ablations-full", "ablations-full")
    )
    expected = [
        {"method": name, "g first": first[name]["g strict"], "c first": first[name]["c strict"]}
        | {"g now": third[name]["g strict"], "c now": third[name]["c strict"]}
        for name in first
    ]
    assert sorted(read_run("runs"), key=lambda row: row["method"]) == sorted(expected, key=lambda row: row["method"])
