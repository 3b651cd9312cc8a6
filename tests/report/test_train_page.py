"""The page of a training: the figures of its analysis, and nothing that a text of a run could inject."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from prorubric.evaluate.training import analyse_training
from prorubric.report.plots import CurveLine, CurvePoint, make_scale, render_curves
from prorubric.report.train_page import write_train_page
from tests.train.recipe_folder import NAMES, UNTRAINED, RecipeFolder, fill_two_methods, make_task

from .test_audit_page import HOSTILE, Reader


@pytest.fixture
def folder(tmp_path: Path) -> RecipeFolder:
    return RecipeFolder(tmp_path / "out")


def write(folder: RecipeFolder) -> str:
    return write_train_page(folder.path, analyse_training(folder.path, resamples=50)).read_text(encoding="utf-8")


def read_section(page: str, name: str) -> str:
    """The text of a section, with one space between two pieces."""
    found = re.search(rf'<section id="{name}">(.*?)</section>', page)
    return " ".join(" ".join(Reader(found[1]).texts).split()) if found else ""


class Nesting(HTMLParser):
    """Fails on an element that is closed out of order or never."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "br", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_it_holds_the_figures_of_the_analysis(folder: RecipeFolder) -> None:
    fill_two_methods(folder)
    page = write(folder)
    Nesting(page)
    text = " ".join(" ".join(Reader(page).texts).split())
    assert "rubric-rl : appropriateness peaked at step 0 with 0.600; at step 50 it is 0.250, 0.350 lower" in text
    assert "prorubric : appropriateness peaked at step 50 with 0.850" in text
    runs = read_section(page, "runs")
    assert "rubric-rl-seed-1 done 100 of 100 2 8 of 40 1" in runs
    c = read_section(page, "c")
    assert "50 +0.600" in c  # the mean of 0.5 and 0.7, seed by seed
    assert "1: 0.500, 2: 0.700 yes 2" in c
    assert "rubric-rl 50 0.250 0.071" in c
    assert "rubric-rl one short 6 0% 67%" in read_section(page, "completed")
    assert "prorubric 0% 33%" in read_section(page, "judges")
    assert "fever 2 Says fever 2 4" in read_section(page, "judges")
    assert "rubric-rl 0% 33%" in read_section(page, "lost")
    assert "d rubric-rl 25% 100% +75 16" in read_section(page, "dimensions")
    assert "rubric-rl: rollouts 100 (paper: 300)" in read_section(page, "departures")


def test_the_same_folder_gives_the_same_page(folder: RecipeFolder) -> None:
    fill_two_methods(folder)
    assert write(folder) == write(folder)


def test_names_and_shapes_tell_methods_apart_without_colour(folder: RecipeFolder) -> None:
    fill_two_methods(folder)
    chart = write(folder).split('<div class="chart">')[1]
    legend = re.findall(r'<path d="([^"]+)" class="(c\d)"></path></svg><bdi dir="auto">([^<]+)</bdi>', chart)
    assert [name for _, _, name in legend] == ["rubric-rl", "prorubric"]
    assert len({shape for shape, _, _ in legend}) == 2


def test_with_nothing_but_step_0_it_says_what_is_not_known(folder: RecipeFolder) -> None:
    (name,) = folder.plan([make_task("fever", groups=())], validate={"criteria": "probe"})
    folder.look(name, 0, {"fever": UNTRAINED["fever"]._replace(second=())})
    page = write(folder)
    Nesting(page)
    assert "peaked at step 0 with 0.500" in " ".join(" ".join(Reader(page).texts).split())
    assert read_section(page, "completed") == "Completed dimensions Not known: the held-out tasks have no dimensions."
    assert read_section(page, "judges") == "Where the judges disagree Not known: there is no second judge."
    assert read_section(page, "training") == "What the training saw Not known: no rollout has been recorded yet."
    assert "one seed says nothing about other training runs" in page


def test_a_run_that_failed_is_named_with_its_reason_before_all_else(folder: RecipeFolder) -> None:
    first, _ = folder.plan([make_task("fever")], seeds=[1, 2])
    folder.state(first, "failed", 3, "the judge is gone")
    page = write(folder)
    Nesting(page)
    texts = Reader(page).texts
    assert "the judge is gone" in texts[: texts.index("Departures from the paper")]
    assert "rubric-rl-seed-1 failed 3 of 100" in read_section(page, "runs")
    assert "rubric-rl-seed-2 new 0 of 100" in read_section(page, "runs")
    assert "none has been made yet" in page


def test_hostile_names_and_texts_are_shown_and_never_become_markup(folder: RecipeFolder) -> None:
    fill_two_methods(folder)
    nasty, other = HOSTILE[0], HOSTILE[1]
    found = analyse_training(folder.path, resamples=50)
    runs = tuple(run.model_copy(update={"name": nasty, "method": other, "reason": nasty}) for run in found.runs)
    curves = tuple(curve.model_copy(update={"method": other}) for curve in found.curves)
    rollouts = tuple(curve.model_copy(update={"method": other}) for curve in found.rollouts)
    gaps = tuple(gap.model_copy(update={"first": other, "second": nasty}) for gap in found.gaps)
    peaks = tuple(peak.model_copy(update={"method": nasty}) for peak in found.peaks)
    lost = tuple(row.model_copy(update={"task_id": nasty, "text": other}) for row in found.suppressed_criteria)
    changed = {"runs": runs, "curves": curves, "rollouts": rollouts, "gaps": gaps, "peaks": peaks}
    more = {"suppressed_criteria": lost, "departures": (nasty,)}
    page = write_train_page(folder.path, found.model_copy(update=changed | more)).read_text(encoding="utf-8")
    read = Reader(page)
    assert (read.tags.count("script"), read.tags.count("style")) == (1, 1)
    assert "img" not in read.tags
    assert not [name for _, name, _ in read.attributes if name.startswith("on")]
    assert nasty in read.text
    assert other in read.text


def test_a_curve_is_placed_by_its_scales() -> None:
    line = CurveLine("a", 0, [CurvePoint(0, 0.2, 0.0, 0.4), CurvePoint(100, 0.6, 0.4, 1.0)])
    drawn = render_curves("A", [line], 100, str)
    assert '<polyline points="0.00,80.00 100.00,40.00" class="mean c0">' in drawn
    assert '<polygon points="0.00,60.00 100.00,0.00 100.00,60.00 0.00,100.00" class="band c0">' in drawn
    assert ">step 100</text>" in drawn


def test_a_scale_without_0_holds_its_values_closely() -> None:
    assert make_scale([0.31, 0.44], zero=False).ticks == pytest.approx((0.3, 0.35, 0.4, 0.45))
    assert make_scale([2.0], zero=False).ticks == (1.0, 2.0, 3.0)
    assert make_scale([0.25], zero=False).ticks == pytest.approx((0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4))


def test_ticks_are_whole_for_whole_values_and_never_look_the_same() -> None:
    assert make_scale([1.0, 2.0]).ticks == (0.0, 1.0, 2.0)
    assert make_scale([11.6, 12.3], zero=False, show="{:.0f}".format).ticks == (11.0, 12.0, 13.0)
    plot = render_curves("Length", [CurveLine("m", 0, [CurvePoint(0, 11.6), CurvePoint(2, 12.3)])], 2, "{:.0f}".format)
    assert re.findall(r"<text[^>]*>(.*?)</text>", plot) == ["11", "12", "13", "0", "1", "step 2"]


def test_every_run_is_in_the_table(folder: RecipeFolder) -> None:
    fill_two_methods(folder)
    text = read_section(write(folder), "runs")
    assert [name for name in NAMES if name in text] == NAMES
