"""Every cell in the tables of the page about the mini is that of its row and column in a committed csv."""

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
_LINK = re.compile(r"\(paper-mini/([\w/-]+)\.csv\)")
_FIGURE = re.compile(r"[+−]?\d[\d,]*(?:\.\d+)?")

Rows = list[dict[str, str]]
Place = tuple[dict[str, str], list[str]]
"""What else the row in the csv has, and the columns with the figures of a cell, in their order."""


@dataclass(frozen=True)
class Layout:
    """Where a csv has the cells of a table."""

    keys: tuple[str, ...] = ("method",)
    """The columns of both that name a row."""
    where: dict[str, str] = field(default_factory=dict)
    """What the rows that are shown have in other columns of the csv."""
    find: Callable[[str], Place] = lambda head: ({}, [head])
    """From the head of a column to its place; by default, the csv has a column of that name."""


def find_reward(head: str) -> Place:
    reward = head.removeprefix("paper ")
    return {"reward": reward}, ["change", "low", "high"] if reward == head else ["paper"]


LAYOUTS = {
    "ablations-full": Layout(),
    "second/ablations-full": Layout(),
    "dynamics": Layout(
        where={"domain": "medicine"}, find=lambda head: ({"step": head.removeprefix("step ")}, ["appropriateness"])
    ),
    "incentive": Layout(keys=("edit",), where={"domain": "medicine"}, find=find_reward),
    "pairs": Layout(keys=("second",), where={"domain": "medicine", "judge": "lab:triage-v1/strict", "first": "Base"}),
    "probe": Layout(where={"domain": "medicine", "seed": "42"}),
    "runs": Layout(),
    "seeds/seeds-ablations": Layout(keys=("method", "measure")),
    "seeds/seeds-consensus": Layout(keys=("judge", "method")),
}
"""By the name of the csv, which the paragraph before a table links. A new csv needs a line here."""


def read_tables() -> list[tuple[str, Rows]]:
    """The tables of the page: the name of the csv, and the cells of every row by head."""
    found, paragraphs = [], (DOCS / "paper-on-a-laptop.md").read_text(encoding="utf-8").split("\n\n")
    for before, table in pairwise(paragraphs):
        if table.startswith("|"):
            heads, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
            found.append((_LINK.findall(before)[-1], [dict(zip(heads, row, strict=True)) for row in rows]))
    return found


def read_csv(file: str) -> Rows:
    with (DOCS / "paper-mini" / f"{file}.csv").open(encoding="utf-8") as stream:
        return [*csv.DictReader(stream)]


def list_wrong(file: str, table: Rows) -> list[str]:
    """The cells of a table that are not those of its csv."""
    layout, known, wrong = LAYOUTS[file], read_csv(file), []
    for cells in table:
        keys = {key: cells[key] for key in layout.keys}
        for head in cells.keys() - keys.keys():
            more, columns = layout.find(head)
            wanted = keys | layout.where | more
            found = [[row[column] for column in columns] for row in known if wanted.items() <= row.items()]
            if len(found) != 1 or not shows(cells[head], found[0]):
                wrong.append(f"{' '.join(keys.values())}, {head}: {cells[head]} for {found}")
    return wrong


def shows(cell: str, values: list[str]) -> bool:
    """True if a cell has exactly these values, each rounded to the digits that are shown, or a dash for none."""
    if cell == "–":
        return not any(values)
    figures = _FIGURE.findall(cell)
    return len(figures) == len(values) and all(
        value and float(figure.replace(",", "").replace("−", "-")) == round(float(value), len(figure.partition(".")[2]))
        for figure, value in zip(figures, values, strict=True)
    )


each_table = pytest.mark.parametrize(("file", "table"), [pytest.param(*table, id=table[0]) for table in read_tables()])


@each_table
def test_every_cell_of_a_table_is_that_of_its_csv(file: str, table: Rows) -> None:
    assert list_wrong(file, table) == []


@each_table
def test_two_columns_that_are_swapped_are_noticed(file: str, table: Rows) -> None:
    for one, other in combinations([head for head in table[0] if head not in LAYOUTS[file].keys], 2):
        assert list_wrong(file, [{**row, one: row[other], other: row[one]} for row in table]), (one, other)


def test_every_layout_is_that_of_a_table() -> None:
    assert {file for file, _ in read_tables()} == {*LAYOUTS}


def read_run(file: str) -> Rows:
    """The rows of a table that a run has figures for."""
    return [row for row in read_csv(file) if row.get("state") != "not run"]


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


def test_seed_42_is_the_same_in_the_third_and_the_fourth_run() -> None:
    third = {row["method"]: row for row in read_run("ablations-full")}
    seeds = [row for row in read_run("seeds/seeds-ablations") if row["seed 42"]]
    assert len(seeds) == 4 * 3  # the base and three arms, in three measures
    assert [row for row in seeds if row["seed 42"] != third[row["method"]][row["measure"]]] == []


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
