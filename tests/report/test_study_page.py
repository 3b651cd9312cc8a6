"""The page of a study: every table with what it is of, marked where nothing was run; and the files next to it."""

import csv
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from prorubric.report.page import Html
from prorubric.report.plots import Figure
from prorubric.report.study_page import render_file, write_study_report
from prorubric.report.study_registry import GENERATORS
from prorubric.report.study_results import DomainPlace, load_study_results

from .study import load, write_evaluation

VALUES = {("healthbench", "pro"): [20, 30, 34, 36, 40], ("healthbench-consensus", "pro"): [50, 20, 26, 36, 46]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_evaluation(tmp_path, VALUES)
    return tmp_path


def test_a_report_has_a_csv_and_a_latex_file_for_every_table_and_one_page(folder: Path) -> None:
    report = write_study_report(folder, load(folder))
    expected = [f"{one.name}.{suffix}" for one in GENERATORS for suffix in ("csv", "tex")]
    assert [Path(name).name for name in report.tables] == expected
    assert {"plane.svg", "length.svg", "probe-seeds.svg", "equal-budget.svg"} <= {
        Path(name).name for name in report.figures
    }
    with (folder / "tables/ablations.csv").open(newline="") as stream:
        rows = {row["method"]: row for row in csv.DictReader(stream)}
    assert (rows["Rubric-RL"]["c"], rows["Rubric-RL"]["paper c"], rows["Rubric-RL"]["state"]) == ("23.0", "26.0", "")
    assert (rows["Implicit"]["c"], rows["Implicit"]["paper c"], rows["Implicit"]["state"]) == ("", "36.7", "not run")
    latex = (folder / "tables/ablations.tex").read_text()
    assert r"Rubric-RL & 23.0 & 4.2 & 32.0 & 2.8 & 2 & 26.0 & 2.2 & 32.1 & 1.2 \\" in latex
    assert r"\caption{Medical ablations (4B). Appropriateness c" in latex
    assert r"Implicit & not run & not run & not run & not run & not run & 36.7 & 0.1 & 34.9 & 0.1 \\" in latex


def test_the_page_says_what_its_figures_are_of_and_what_was_not_run(folder: Path) -> None:
    page = Path(write_study_report(folder, load(folder, "mini")).page).read_text()
    assert "<h2>Medical ablations (mini)</h2>" in page
    assert "7 rows not run" in page  # the nine rewards of the table without Rubric-RL and ProRubric
    assert [f'<section id="{one.name}">' in page for one in GENERATORS] == [True] * len(GENERATORS)


def test_a_figure_stands_alone_in_its_file(folder: Path) -> None:
    write_study_report(folder, load(folder))
    drawing = ElementTree.parse(folder / "figures/plane.svg").getroot()
    space = {"svg": "http://www.w3.org/2000/svg"}
    assert drawing.findtext("svg:title", namespaces=space) == "Coverage and appropriateness (4B)"
    names = [text.text for text in drawing.findall("svg:text", space)]
    assert names[1:] == ["base", "Rubric-RL", "ProRubric", "the paper's, each method once"]


def test_a_table_that_has_no_row_any_more_is_removed(folder: Path) -> None:
    write_study_report(folder, load(folder))
    assert (folder / "tables/physicians.csv").exists()
    report = write_study_report(folder, load(folder, None))
    assert not (folder / "tables/physicians.csv").exists()
    assert not (folder / "tables/physicians.tex").exists()
    assert "Nothing yet for" in Path(report.page).read_text()


def test_a_study_of_its_own_has_no_column_of_the_paper_and_is_not_called_medical(folder: Path) -> None:
    report = write_study_report(folder, load(folder, None))
    page = Path(report.page).read_text()
    assert "<h2>Ablations (own study)</h2>" in page
    assert "Medical" not in page
    heads = [path.read_text().splitlines()[0] for path in (folder / "tables").glob("*.csv")]
    assert len(heads) > 5
    assert [head for head in heads if "paper" in head] == []


def test_the_page_links_those_of_its_stages_and_names_domains_without_a_result(tmp_path: Path) -> None:
    write_evaluation(tmp_path / "a", VALUES)
    for place in ("a/evaluate", "a/train/K=1 b"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "report.html").write_text("")
    places = [
        DomainPlace(name, tmp_path / name, ("K=1 b",), "healthbench", "healthbench-consensus", ("lite", "pro"))
        for name in ("a", "b")
    ]
    page = Path(write_study_report(tmp_path, load_study_results("Own", None, places)).page).read_text()
    links = '<a href="a/evaluate/report.html">a evaluate</a>, <a href="a/train/K%3D1%20b/report.html">a train K=1 b</a>'
    assert links in page
    assert re.search("<dt>Domains without a result</dt><dd[^>]*>b</dd>", page)


def test_names_are_escaped_on_the_page(tmp_path: Path) -> None:
    results = load(tmp_path, name="<b>mine</b>")
    assert "<b>mine</b>" not in Path(write_study_report(tmp_path, results).page).read_text()


@pytest.mark.parametrize(("letters", "across"), [(8, 4), (30, 3), (36, 2), (120, 1)])
def test_the_names_under_a_figure_have_room(letters: int, across: int) -> None:
    legend = {f"{number}".ljust(letters, "x"): number for number in range(4)}
    drawn = str(render_file("Title", Figure("label", "curves", Html(""), legend)))
    places = re.findall(r'<text x="(\d+)" y="(\d+)">\d+x', drawn)
    assert len({x for x, _ in places}) == across
    assert len({y for _, y in places}) == -(-4 // across)
