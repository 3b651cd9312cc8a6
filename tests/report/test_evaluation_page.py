"""The page of an evaluation: its figures, its sections, and nothing that a name could inject."""

from pathlib import Path

import pytest

from prorubric.evaluate.compare import Comparisons, compare_scores
from prorubric.evaluate.records import ItemScore, Policy
from prorubric.report.evaluation_page import write_evaluation_page

from .evaluation import SETTINGS, SUMMARY, make_comparisons
from .test_audit_page import HOSTILE, Reader
from .test_train_page import Nesting, read_section


@pytest.fixture(scope="module")
def found() -> Comparisons:
    return make_comparisons(items=24, resamples=50)


@pytest.fixture(scope="module")
def page(found: Comparisons, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("evaluation")
    return write_evaluation_page(folder, found, SETTINGS, SUMMARY).read_text(encoding="utf-8")


def test_it_has_every_section_and_closes_what_it_opens(page: str) -> None:
    Nesting(page)
    names = "items main seeds differences probe pairs budget physicians ranks lengths losses cost settings".split()
    assert all(f'<section id="{name}">' in page for name in names)
    assert "<script>" in page
    assert "http" not in page.replace("http-equiv", "")


def test_it_shows_the_figures_of_the_comparisons(page: str, found: Comparisons) -> None:
    table = found.tables[0]
    numbers = read_section(page, "items")
    judged = min(arm.judged for arm in table.arms)
    assert f"{table.pool} → {table.answered} → {judged} → {table.common}" in numbers
    main = read_section(page, "main")
    assert f"paper, Qwen3-4B {49.2} 27.9 12.9 26.1 65.2 41.1 51.8 39.2" in main
    [average] = [one for one in found.averages if one.judge == "gpt-5.6-luna"]
    assert f"{average.sides[2].mean:.1f} ±{average.sides[2].sd:.1f}" in main
    row = found.pairs[0]
    assert f"W {row.wins} T {row.ties} I {row.inconsistent} L {row.losses}" in read_section(page, "pairs")
    assert "pairs-medical-2048" in read_section(page, "budget")
    assert "pairs-medical-2048" not in read_section(page, "pairs")
    assert "prorubric − base" in read_section(page, "differences").replace(" −  ", " − ")
    lost = sum(arm.lost for one in found.tables for arm in one.arms)
    assert f"{lost} of 2,688 scores were lost to the judges" in read_section(page, "losses")
    settings = read_section(page, "settings")
    assert "healthbench.jsonl 5,000 e99dd3c6… yes" in settings
    assert "calls 48,210" in read_section(page, "cost")


def test_names_cannot_become_markup_and_empty_parts_are_left_out(tmp_path: Path) -> None:
    scores = [
        ItemScore(benchmark=HOSTILE[1], judge=HOSTILE[0], policy=name, item=name, value=0.5, low=0.5, high=0.5)
        for name in HOSTILE[2:4]
    ]
    made = compare_scores(scores, [Policy(name=name, spec="x") for name in HOSTILE[2:4]], resamples=10)
    text = write_evaluation_page(tmp_path, made, {HOSTILE[0]: HOSTILE[1]}, {}).read_text(encoding="utf-8")
    Nesting(text)
    assert "<script>window.hacked" not in text
    assert "<img" not in text
    assert Reader(text).values("onmouseover") == []
    assert '<section id="pairs">' not in text
    assert '<section id="cost">' not in text


def test_one_policy_alone_is_shown_without_a_comparison(tmp_path: Path) -> None:
    scores = [ItemScore(benchmark="medqa", judge="", policy="a", item="1", value=1.0, low=1.0, high=1.0)]
    made = compare_scores(scores, [Policy(name="a", spec="x")], resamples=10)
    text = write_evaluation_page(tmp_path, made, {}, {}).read_text(encoding="utf-8")
    assert "Nothing was compared: there is one policy." in text
    assert '<section id="differences">' not in text


def test_a_single_difference_finds_one_size_and_not_a_range(tmp_path: Path) -> None:
    scores = [
        ItemScore(benchmark="medqa", judge="", policy=name, item=f"{item}", value=value, low=value, high=value)
        for name, right in (("a", 3), ("b", 2))
        for item in range(4)
        for value in [float(item < right)]
    ]
    made = compare_scores(scores, [Policy(name="a", spec="x"), Policy(name="b", spec="y")], resamples=10)
    text = write_evaluation_page(tmp_path, made, {}, {}).read_text(encoding="utf-8")
    assert "4 items; finds 70.0 points four times out of five" in read_section(text, "differences")
