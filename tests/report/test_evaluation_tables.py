"""Tables of an evaluation: the figures of the comparisons, escaped, next to what the paper printed."""

import csv
import re
from pathlib import Path

import pytest

from prorubric.evaluate.compare import Comparisons, compare_scores
from prorubric.evaluate.paper import find_paper_agreement, find_paper_scores
from prorubric.evaluate.records import ItemScore, Policy
from prorubric.report.evaluation_figures import write_evaluation_figures
from prorubric.report.evaluation_headline import describe_result
from prorubric.report.evaluation_tables import list_main, render_main_latex, write_evaluation_tables

from .evaluation import make_comparisons

NAMES = "main scores differences losses pairs probe physicians ranks disagreement lengths repeats".split()


@pytest.fixture(scope="module")
def found() -> Comparisons:
    return make_comparisons(items=24, resamples=50)


def compare(values: dict[str, list[float | None]], benchmark: str = "healthbench", judge: str = "judge") -> Comparisons:
    scores = [
        ItemScore(
            benchmark=benchmark,
            judge=judge,
            policy=policy,
            item=str(item),
            value=value,
            low=-1.0 if value is None else value,
            high=1.0 if value is None else value,
        )
        for policy, own in values.items()
        for item, value in enumerate(own)
    ]
    return compare_scores(scores, [Policy(name=name, spec="x") for name in values], resamples=50)


def test_every_table_is_written_as_csv_and_latex_with_the_figures_of_the_comparisons(
    found: Comparisons, tmp_path: Path
) -> None:
    written = write_evaluation_tables(tmp_path, found)
    assert [path.name for path in written] == [f"{name}.{kind}" for name in NAMES for kind in ("csv", "tex")]
    rows = {}
    for name in NAMES:
        text = (tmp_path / "tables" / f"{name}.csv").read_text(encoding="utf-8")
        rows[name] = list(csv.DictReader(text.splitlines()))
    table = found.tables[0]
    [row] = [
        row
        for row in rows["differences"]
        if (row["benchmark"], row["judge"], row["first"], row["second"])
        == (table.benchmark, table.judge, "prorubric", "base")
    ]
    difference = table.differences[1]
    assert float(row["mean"]) == difference.mean
    assert (float(row["bound low"]), float(row["bound high"])) == difference.bounds
    assert difference.over_seeds is not None
    assert float(row["seeds low"]) == difference.over_seeds.low
    averages = [row for row in rows["differences"] if row["benchmark"] == "average"]
    assert len(averages) == 6  # three differences, two judges
    assert averages[0]["could flip"] == ""
    assert len(rows["scores"]) == sum(len(one.arms) for one in found.tables)
    assert float(rows["pairs"][0]["win rate"]) == pytest.approx(100 * (found.pairs[0].win_rate or 0))
    assert {row["theme"] for row in rows["physicians"]} > {"all", "hedging"}
    assert [row["paper DeepSeek-V4-Pro"] for row in rows["physicians"] if row["theme"] == "hedging"] == ["0.61"]


def test_the_main_table_has_the_paper_s_figures_under_a_method_of_the_same_name(found: Comparisons) -> None:
    latex = render_main_latex(found)
    assert latex.count(r"\begin{tabular}{lrrrrrrrr}") == 2  # one for each judge, seven benchmarks and their average
    lines = latex.splitlines()
    heads = "WritingBench & Creative-v3 & Arena-Hard v2 & HealthBench & MedQA & GPQA-Diamond & ResearchQA & Average"
    assert f"method (deepseek-v4-pro) & {heads} \\\\" in lines
    place = next(number for number, line in enumerate(lines) if line.startswith("prorubric &"))
    assert lines[place].count(r"$\pm$") == 8
    printed = "67.1 & 37.7 & 18.6 & 34.7 & 65.1 & 43.9 & 61.1 & 46.9"
    assert lines[place + 1] == rf"\quad {{\footnotesize paper, Qwen3-4B}} & {printed} \\"


def test_text_is_escaped_and_what_is_not_known_is_a_dash(tmp_path: Path) -> None:
    hostile = r"50%_{a}&\x"
    made = compare({hostile: [None], "=cmd()": [0.5]}, benchmark="new & own")
    write_evaluation_tables(tmp_path, made)
    latex = (tmp_path / "tables" / "main.tex").read_text()
    assert r"method (judge) & new \& own \\" in latex
    assert "=cmd() & -- \\\\" in latex  # no item is common
    losses = (tmp_path / "tables" / "losses.tex").read_text()
    assert r"50\%\_\{a\}\&\textbackslash{}x & 1 & 1 & 0 & 0 & 1" in losses
    assert "'=cmd()" in (tmp_path / "tables" / "losses.csv").read_text()


def test_a_headline_is_clipped_and_the_mean_next_to_it_is_not() -> None:
    [score] = list_main(compare({"a": [-0.5, 0.25]}))
    assert (score.headline, score.mean, score.sd, score.n) == (0.0, -12.5, None, 2)


def test_the_paper_is_asked_by_method_and_benchmark() -> None:
    assert find_paper_scores("Rubric-RL", "gpqa-diamond") == {"Qwen3-4B": 44.7, "Qwen3-8B": 49.8}
    assert find_paper_scores("rubric-rl", "healthbench-consensus") == {"Qwen3-4B": 26.0, "Qwen3-8B": 29.5}
    assert find_paper_scores("mine", "medqa") == {}
    assert find_paper_agreement("context seeking") == {"DeepSeek-V4-Pro": 0.61, "physicians": 0.64}
    assert find_paper_agreement("other") == {}


class TestHeadline:
    def test_it_says_who_is_better_by_how_much_and_over_what(self) -> None:
        values: dict[str, list[float | None]] = {
            "old": [0.1, 0.2, 0.3, 0.2, 0.1, 0.2, 0.3, 0.2],
            "new": [0.3, 0.5, 0.5, 0.5, 0.4, 0.4, 0.6, 0.5],
        }
        assert describe_result(compare(values)) == (
            "new is better than old by 26.2 points on 8 items of healthbench by judge"
            " (95%: +22.7 to +29.8 over items).",
        )

    def test_it_says_if_it_cannot_be_told_and_what_would_have_been_found(self) -> None:
        [told] = describe_result(compare({"old": [0.1, 0.5, 0.3, 0.2], "new": [0.3, 0.2, 0.4, 0.1]}))
        assert told == (
            "It is unclear whether new or old is better on 4 items of healthbench by judge: −2.5 points (95%: −24.2"
            " to +19.2 over items). A true difference of 31.1 would be found four times out of five."
        )

    def test_unknown_verdicts_that_could_turn_the_sign_leave_it_open(self) -> None:
        values: dict[str, list[float | None]] = {"old": [0.1] * 8 + [0.5] * 4, "new": [0.3] * 7 + [0.4] + [None] * 4}
        [told] = describe_result(compare(values))
        assert told.startswith("It is unclear whether new or old is better on 8 items")
        assert told.endswith("Unknown verdicts could flip the sign.")

    def test_averages_come_before_single_benchmarks(self, found: Comparisons) -> None:
        told = describe_result(found)
        assert len(told) == 6
        assert all("on the average of 7 benchmarks by " in line and "over 3 seeds" in line for line in told)


def test_figures_stand_alone(found: Comparisons, tmp_path: Path) -> None:
    written = write_evaluation_figures(tmp_path, found)
    assert [path.name for path in written] == ["differences.svg", "pairs.svg", "lengths.svg"]
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("<svg ")
        assert 'xmlns="http://www.w3.org/2000/svg"' in text
        assert not re.search(r"(href|src|url\()", text)
    assert write_evaluation_figures(tmp_path / "none", compare_scores([], [Policy(name="a", spec="x")])) == ()
