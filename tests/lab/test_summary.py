import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from prorubric.errors import ConfigError, SourceError
from prorubric.lab.incentive import EDITS
from prorubric.lab.results import correlate
from prorubric.lab.summary import LabResult, find_paper_column, summarize_lab
from prorubric.report.lab_page import write_lab_page
from prorubric.verbs.lab import ReadConfig, WorldsConfig, compare_worlds, read_case
from tests.lab.results import make_base, make_run, write_folder

SCHEMES = ["additive", "prorubric", "raw-and"]


@pytest.fixture(scope="module")
def result() -> LabResult:
    runs = []
    for seed in (42, 43):
        lower = 0.02 * (seed - 42)
        runs += [
            make_run("additive", seed, {0: 0.6, 50: 0.45, 300: 0.40 - lower}, g=0.30),
            make_run("prorubric", seed, {0: 0.6, 50: 0.55, 300: 0.50 - lower}, g=0.35),
            make_run("raw-and", seed, {0: 0.6, 50: 0.55, 300: 0.46 + lower}, g=0.33),
            make_run("length-matched", seed, {0: 0.6, 50: 0.55, 300: 0.41 - lower}, g=0.28),
        ]
    return summarize_lab(make_base(SCHEMES), runs)


def test_a_row_has_means_spreads_and_differences_seed_by_seed(result: LabResult) -> None:
    row = result.row("prorubric")
    assert row is not None
    assert (row.c.mean, row.c.sd) == pytest.approx((0.49, 0.02 / 2**0.5))
    assert row.c_over_additive == pytest.approx((0.10, 0.10))
    assert [point.step for point in row.curve] == [0, 50, 300]
    assert result.row("k1") is None
    assert [(run.scheme, run.seed, run.c) for run in result.runs[:2]] == [
        ("additive", 42, 0.40),
        ("prorubric", 42, 0.50),
    ]


def test_columns_of_the_paper_stand_under_our_names() -> None:
    c = find_paper_column("c")
    assert (c["base"], c["additive"], c["prorubric-no-failure"]) == (54.1, 26.0, 34.5)
    assert (c["prorubric+appropriateness"], c["additive-kl-0.4"], c["implicit+appropriateness"]) == (43.1, 49.3, 44.1)
    assert "implicit+appropriateness" not in find_paper_column("g")


def test_ranks_are_compared_over_the_rows_that_both_have(result: LabResult) -> None:
    # Paper: base 54.1, prorubric 36.8, raw-and 34.9, length-matched 27.1, additive 26.0.
    assert result.correlation_c.rows == ("base", "additive", "prorubric", "raw-and", "length-matched")
    assert result.correlation_c.rho == pytest.approx(1.0)
    assert result.correlation_g.rho == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("first", "second", "rho"),
    [
        ((1, 2, 3, 4), (1, 3, 2, 4), 0.8),
        ((1, 1, 2), (1, 1, 2), 1.0),
        ((1, 1, 2, 3), (1, 2, 3, 3), 8 / 9),
        ((1, 1, 1), (1, 2, 3), None),
        ((1, 2), (1, 2), None),
    ],
)
def test_equal_values_share_the_mean_of_their_ranks(
    first: tuple[int, ...], second: tuple[int, ...], rho: float | None
) -> None:
    columns = [dict(zip("abcd", map(float, values), strict=False)) for values in (first, second)]
    assert correlate(*columns).rho == (rho if rho is None else pytest.approx(rho))


def test_goals_are_met_missed_or_open(result: LabResult) -> None:
    met = {goal.goal: goal.met for goal in result.goals}
    assert met["c under additive ends below the untrained policy on every seed"] is True
    assert met["most of that fall is there by step 50"] is True
    assert met["raw-and, prorubric, graded, implicit and k1 end above additive on every seed"] is None
    assert met["half the length and other weights do not help"] is None
    assert met["k1 has many ties"] is None
    finding = {goal.goal: goal.finding for goal in result.goals}
    assert finding["k1 has many ties"] == "no runs of k1"
    assert finding["most of that fall is there by step 50"].startswith("75%, 68% of the fall by step 50")


def test_what_the_audit_foretold_is_set_against_c_over_the_schemes_it_covers(result: LabResult) -> None:
    assert [prediction.edit for prediction in result.predictions] == list(EDITS)
    assert result.predictions[0].correlation.rows == ("additive", "prorubric", "raw-and")


def render_page(folder: Path, result: LabResult, figures: Mapping[str, Path]) -> str:
    return write_lab_page(folder / "report.html", result, figures).read_text(encoding="utf-8")


def test_the_page_says_what_the_lab_is_not_and_escapes_what_it_shows(result: LabResult, tmp_path: Path) -> None:
    renamed = result.rows[0].model_copy(update={"scheme": "<script>:f"})
    page = render_page(tmp_path, result.model_copy(update={"rows": (renamed, *result.rows[1:])}), {})
    assert "It is not evidence about any real model" in page
    assert '<th scope="row"><bdi dir="auto">raw-and</bdi></th>' in page
    assert "&lt;script&gt;:f" in page
    assert "<script>:f" not in page
    assert "open</b>: k1 has many ties" in page


def test_the_page_has_every_part_of_c_and_says_what_is_left_without_those_that_count(
    result: LabResult, tmp_path: Path
) -> None:
    page = render_page(tmp_path, result, {})
    heads = [f'<th scope="col" class="n">{name}</th>' for name in ("question", "c without length", "c without clauses")]
    assert "".join(heads) in page
    assert "from 60.0 to 39.0, and without scope, tests, question, which count and fall with length" in page
    assert re.search(r"c without length, and the paper&#x27;s c</th><td[^>]*>\+1\.00</td><td[^>]*>5</td>", page)


def test_figures_are_images_inside_the_page(result: LabResult, tmp_path: Path) -> None:
    (tmp_path / "plane.svg").write_text("<svg/>")
    page = render_page(tmp_path, result, {"Coverage & appropriateness": tmp_path / "plane.svg"})
    assert '<img src="data:image/svg+xml;base64,PHN2Zy8+" alt="Coverage &amp; appropriateness">' in page


def test_a_case_is_read_with_every_answer_and_its_marks(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "lab", make_base(["additive"]), [make_run("additive", 42, {0: 0.6, 300: 0.4})])
    reading = read_case(ReadConfig(3, out=folder))
    assert [(answer.scheme, answer.seed) for answer in reading.answers] == [("base", None), ("additive", 42)]
    assert len(reading.criteria) == len(reading.weights) == len(reading.answers[0].marks)
    assert set(reading.answers[0].marks) <= {"absent", "named", "wrong", "met"}
    assert reading.answers[0].sentences == reading.answers[1].sentences
    with pytest.raises(ConfigError, match="holds no run of 'k1'; it holds: additive"):
        read_case(ReadConfig(3, scheme=("k1",), out=folder))


def test_worlds_are_compared_with_the_paper_s_domains(tmp_path: Path) -> None:
    runs = [make_run("additive", 42, {0: 0.6, 300: 0.4}), make_run("prorubric", 42, {0: 0.6, 300: 0.5})]
    folder = write_folder(tmp_path / "lab", make_base(["additive"]), runs)
    row = compare_worlds(WorldsConfig((folder,))).worlds[0]
    assert (row.world, row.domain) == ("triage-v1", "medicine")
    assert row.fall.mean == pytest.approx(-20)
    assert row.lead is not None
    assert row.lead.mean == pytest.approx(10)
    assert row.paper_fall == pytest.approx(-28.87, abs=0.01)
    assert row.paper_lead == pytest.approx(13.23, abs=0.01)
    assert row.paper_naming_share == 0.32


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="holds no runs of the lab; make some with: prorubric lab run --out"):
        read_case(ReadConfig(out=tmp_path))


def test_a_folder_of_another_version_is_said_to_be_one(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "lab", make_base(["additive"]), [])
    (folder / "base.json").write_text("{}")
    with pytest.raises(SourceError, match=r"was written by another version .*; make it again with: prorubric lab"):
        read_case(ReadConfig(out=folder))
