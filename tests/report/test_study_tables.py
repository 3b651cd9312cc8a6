"""Tables of a study made from its evaluations: figures worked out by hand, and the paper's next to them."""

import json
import re
from pathlib import Path

import pytest

from prorubric.errors import ConfigError
from prorubric.evaluate.compare import COMPARISONS, Comparisons
from prorubric.evaluate.judges import CriterionVerdict, LabelledVerdict
from prorubric.evaluate.records import Game
from prorubric.files.write import write_json
from prorubric.report import study_judges, study_tables
from prorubric.report.plots import Figure
from prorubric.report.study_registry import GENERATORS
from prorubric.report.study_results import (
    NOT_RUN,
    PAPER_ARMS,
    DomainPlace,
    PaperName,
    StudyResults,
    find_paper_key,
    load_study_results,
)

from .study import JUDGES, choose, load, make, pick, write_evaluation

EVALUATED = (study_judges.__name__, study_tables.__name__)
"""What makes tables from evaluations; those of audits and trainings have tests of their own."""
G, C, PROBE = "healthbench", "healthbench-consensus", "probe-medical"
# The order of the policies: base, Rubric-RL 42 and 43, ProRubric 42 and 43.
VALUES = {
    (G, "lite"): [40, 60, 62, 58, 60],
    (G, "pro"): [20, 30, 34, 36, 40],
    (C, "lite"): [80, 70, 74, 76, 80],
    (C, "pro"): [50, 20, 26, 36, 46],
    (PROBE, "pro"): [50, 20, 30, 40, 36],
    ("medqa", ""): [60, 50, 60, 70, 60],
}


def play(
    judge: str, policy: str, item: str, result: str, benchmark: str = "pairs-medical", first: str = "base"
) -> Game:
    labels = {"first": ("A>B", "B>A"), "second": ("B>A", "A>B"), "tie": ("A=B", "A=B"), "open": ("A>B", "A>B")}
    return Game(benchmark=benchmark, judge=judge, item=item, first=first, second=policy, labels=labels[result])


GAMES = [
    # Seed 42: the untrained answer wins two of three decided pairs; seed 43: one of one.
    *(play("pro", "Rubric-RL 42", item, "first") for item in "ab"),
    play("pro", "Rubric-RL 42", "c", "second"),
    play("pro", "Rubric-RL 42", "d", "tie"),
    play("pro", "Rubric-RL 43", "a", "first"),
    play("pro", "Rubric-RL 43", "b", "open"),
    # With an equal budget ProRubric wins three of four.
    *(play("pro", "ProRubric 42", item, "second", "pairs-medical-2048", "Rubric-RL 42") for item in "abc"),
    play("pro", "ProRubric 42", "d", "first", "pairs-medical-2048", "Rubric-RL 42"),
]


def find_heights(figure: Figure) -> list[tuple[str, float]]:
    """The class of every mark, and how high it is in percent of the axis."""
    marks = re.findall(r'<svg x="[^"]*" y="([\d.]+)%"[^>]*><path d="[^"]*" class="(\w+)"', figure.shapes)
    return [(style, round(100 - float(y), 2)) for y, style in marks]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The lenient judge calls 3 of 4 criteria met and the strict one 1 of 4, for the untrained policy alone."""
    verdicts = [
        CriterionVerdict(C, judge, "base", "one", 0, str(number), 5.0, number < most)
        for judge, most in (("lite", 3), ("pro", 1))
        for number in range(4)
    ]
    labelled = [
        LabelledVerdict("pro", str(number), "h", "hedging", str(number), met, (met, met))
        for number, met in enumerate((True, True, False))
    ]
    write_evaluation(tmp_path, VALUES, games=GAMES, verdicts=verdicts, labelled=labelled)
    return tmp_path


def test_every_arm_of_the_paper_is_found_by_the_name_that_a_study_gives_it() -> None:
    assert {key: find_paper_key(name) for key, name in PAPER_ARMS.items()} == {key: key for key in PAPER_ARMS}
    assert find_paper_key("rubric-rl kl 0.01") == "additive_kl_0.01"
    assert find_paper_key("My own") == ""


def test_main_results_are_by_the_strict_judge_with_the_paper_below(folder: Path) -> None:
    made = make("main", load(folder))
    ours = pick(made, method="ProRubric", of="ours")
    # (36 + 40) / 2, and 70 and 60 on MedQA; an average needs all seven benchmarks.
    heads = "HealthBench,HealthBench sd,MedQA,WritingBench,Average,HealthBench consensus,state"
    assert choose(ours, heads) == [38.0, round(8**0.5, 6), 65.0, None, None, 41.0, ""]
    assert choose(pick(made, method="ProRubric", of="paper"), "HealthBench,Average") == [34.7, 46.9]
    assert choose(pick(made, method="SFT", of="ours"), "HealthBench,state") == [None, NOT_RUN]
    assert "SFT, ours" in made.missing


def test_the_average_is_over_the_seven_benchmarks_seed_by_seed(tmp_path: Path) -> None:
    judged = ("writingbench", "creative-v3", "arena-hard-v2", "healthbench", "researchqa")
    values = {(name, "pro"): [10, 20, 30, 40, 50] for name in judged}
    values |= {(name, ""): [80, 20, 30, 75, 50] for name in ("medqa", "gpqa-diamond")}
    write_evaluation(tmp_path, values)
    made = make("main", load(tmp_path))
    # Seed 42: (5 × 40 + 2 × 75) / 7 = 50; seed 43: 50.
    assert choose(pick(made, method="ProRubric", of="ours"), "Average,Average sd") == [50.0, 0.0]
    assert pick(made, method="base", of="ours")["Average"] == 30.0


def test_the_plane_has_a_mark_for_every_method_and_one_for_each_of_the_paper(folder: Path) -> None:
    made = make("plane", load(folder))
    row = pick(made, method="Rubric-RL")
    assert choose(row, "coverage,appropriateness,paper coverage,paper appropriateness") == [32.0, 23.0, 32.1, 26.0]
    assert pick(made, method="Graded")["state"] == NOT_RUN
    assert made.figure is not None
    assert [*made.figure.legend] == ["base", "Rubric-RL", "ProRubric", "the paper's, each method once"]
    # Ours are filled, in three colours; the paper has coverage and appropriateness of 21 ablations and of SFT.
    assert sorted(re.findall(r'<path d="[^"]*" class="(\w+)"', made.figure.shapes)) == [
        "c0",
        "c1",
        "c2",
        *["paper"] * 22,
    ]
    # Table 2 has the coverage of SFT, and the text its appropriateness.
    assert choose(pick(made, method="SFT"), "paper coverage,paper appropriateness,state") == [35.1, 66.3, NOT_RUN]


def test_the_plane_of_the_larger_model_has_its_own_figures(folder: Path) -> None:
    row = pick(make("plane", load(folder, "Qwen3-8B")), method="ProRubric")
    assert choose(row, "coverage,paper coverage,paper appropriateness") == [38.0, 39.9, 45.8]


def test_ablations_have_both_axes_with_their_spread_over_seeds(folder: Path) -> None:
    made = make("ablations", load(folder))
    assert [row["method"] for row in made.sheet.rows][:4] == [
        "base",
        "ProRubric",
        "ProRubric, no failure clauses",
        "Graded",
    ]
    row = pick(made, method="Rubric-RL")
    assert choose(row, "c,c sd,g,g sd,seeds") == [23.0, round(18**0.5, 6), 32.0, round(8**0.5, 6), 2]
    assert choose(row, "paper c,paper c sd,paper g,paper g sd") == [26.0, 2.2, 32.1, 1.2]


def test_full_ablations_have_both_judges_and_the_length(folder: Path) -> None:
    row = pick(make("ablations-full", load(folder)), method="ProRubric")
    assert choose(row, "g lenient,g strict,c lenient,c strict") == [59.0, 38.0, 78.0, 41.0]
    # Answers of 400 and of 500 characters.
    assert choose(row, "characters,seeds,paper c lenient,paper characters") == [450.0, 2, 75.9, 9800.0]
    # 58 and 60, 36 and 40, 76 and 80, 36 and 46; Table 10 has none for coverage by the strict judge.
    roots = [round(half**0.5, 6) for half in (2, 8, 8, 50)]
    assert choose(row, "g lenient sd,g strict sd,c lenient sd,c strict sd") == roots
    heads = "paper g lenient sd,paper g strict sd,paper c lenient sd,paper c strict sd"
    assert choose(row, heads) == [1.1, None, 1.8, 2.7]
    row = pick(make("ablations-full", load(folder)), method="ProRubric, KL 0.04")
    assert choose(row, heads) == [0.6, None, 0.4, 0.4]


def test_a_study_with_coverage_alone_has_its_length_and_seeds(tmp_path: Path) -> None:
    write_evaluation(tmp_path, {(G, "pro"): VALUES[G, "pro"]})
    row = pick(make("ablations-full", load(tmp_path)), method="ProRubric")
    assert choose(row, "g strict,c strict,characters,seeds") == [38.0, None, 450.0, 2]
    assert pick(make("ablations", load(tmp_path)), method="ProRubric")["seeds"] == 2


def test_a_study_with_one_judge_has_the_strict_columns_alone(folder: Path) -> None:
    row = pick(make("ablations-full", load(folder, judges=("pro",))), method="ProRubric")
    assert choose(row, "g lenient,g strict,c lenient,c strict") == [None, 38.0, None, 41.0]


def test_benchmarks_by_seed_have_the_paired_difference(folder: Path) -> None:
    made = make("seeds-benchmarks", load(folder))
    row = pick(made, benchmark="HealthBench", method="difference")
    assert choose(row, "seed 42,seed 43,seed 44,mean,sd,paper mean,state") == [6.0, 6.0, None, 6.0, 0.0, 2.77, ""]
    assert row["paper sd"] == 2.1
    row = pick(made, benchmark="HealthBench", method="Rubric-RL")
    assert choose(row, "seed 42,paper 42,paper 44,paper mean,paper sd") == [30.0, 30.8, 31.8, 31.9, 1.1]
    assert choose(pick(made, benchmark="WritingBench", method="Rubric-RL"), "paper mean,paper sd") == [64.6, 1.5]
    assert choose(pick(made, benchmark="Average", method="ProRubric"), "paper mean,paper sd") == [46.9, 0.4]
    assert pick(made, benchmark="WritingBench", method="ProRubric")["state"] == NOT_RUN


def test_ablations_by_seed_have_three_measures(folder: Path) -> None:
    made = make("seeds-ablations", load(folder))
    row = pick(made, method="ProRubric", measure="c lenient")
    assert choose(row, "seed 42,seed 43,mean,paper 43,paper mean") == [76.0, 80.0, 78.0, 74.9, 75.9]
    assert pick(made, method="Implicit", measure="g lenient")["state"] == NOT_RUN
    # Table 9 has a standard deviation for each measure of each method.
    measures = ("c strict", "c lenient", "g lenient")
    for method, sds in {"ProRubric": [2.7, 1.8, 1.1], "RuscaRL": [2.6, 2.8, 1.1], "OPSD": [1.1, 1.6, 0.8]}.items():
        assert [pick(made, method=method, measure=name)["paper sd"] for name in measures] == sds
    criteria = [pick(made, method=f"{arm}+appropriateness", measure="c strict") for arm in ("Rubric-RL", "ProRubric")]
    assert [row["paper sd"] for row in criteria] == [0.5, 2.4]
    assert all(row["paper sd"] is not None for row in made.sheet.rows if row["paper 42"] is not None)


def test_appropriateness_by_seed_is_paired_under_each_judge(folder: Path) -> None:
    made = make("seeds-consensus", load(folder))
    # 36 − 20 and 46 − 26 under the strict judge, 76 − 70 and 80 − 74 under the lenient one.
    strict = pick(made, judge="strict", method="difference")
    assert choose(strict, "seed 42,seed 43,mean,paper 42,paper mean") == [16.0, 20.0, 18.0, 15.5, 10.8]
    assert choose(pick(made, judge="lenient", method="Rubric-RL"), "paper mean,paper sd") == [69.8, 1.5]
    assert choose(pick(made, judge="lenient", method="difference"), "seed 42,mean,paper mean") == [6.0, 6.0, 6.1]


def test_the_lenient_judge_is_compared_with_the_strict_one_and_is_of_no_other_family(folder: Path) -> None:
    made = make("cross-judge", load(folder))
    heads = "role,score,strict,items,paper score,paper strict,paper items,state"
    # The paper's lenient judge gives 69.8 (Table 10) where its judge of another family gives 14.4 (Table 11).
    row = pick(made, judge="lite", method="Rubric-RL")
    assert choose(row, heads) == ["lenient", 72.0, 23.0, 2, 69.8, 26.0, None, ""]
    # Ranks of the five policies: 4.5, 1, 2, 3, 4.5 and 5, 1, 2, 3, 4.
    rank = pick(made, judge="lite", method="Spearman's ρ")
    assert choose(rank, "role,paper rho,state") == ["lenient", None, ""]
    assert rank["rho"] == pytest.approx(0.974679, abs=1e-6)
    # No third judge was asked, so the paper's is not run.
    row = pick(made, judge="", method="Rubric-RL")
    assert choose(row, heads) == ["another family", None, 23.0, None, 14.4, 26.0, 3670, NOT_RUN]
    assert choose(pick(made, judge="", method="Spearman's ρ"), "rho,paper rho,state") == [None, 0.84, NOT_RUN]


def test_a_judge_between_the_lenient_and_the_strict_one_is_of_another_family(tmp_path: Path) -> None:
    write_evaluation(tmp_path, {**VALUES, (C, "luna"): [30, 10, 14, 26, 22]})
    made = make("cross-judge", load(tmp_path, judges=("lite", "luna", "pro")))
    assert {(row["judge"], row["role"]) for row in made.sheet.rows} == {("lite", "lenient"), ("luna", "another family")}
    heads = "score,strict,items,paper score,paper strict,paper items,state"
    assert choose(pick(made, judge="luna", method="Rubric-RL"), heads) == [12.0, 23.0, 2, 14.4, 26.0, 3670, ""]
    # Ranks of the five policies: 5, 1, 2, 4, 3 and 5, 1, 2, 3, 4, so ρ is 1 − 6 · 2 / (5 · 24).
    assert choose(pick(made, judge="luna", method="Spearman's ρ"), "rho,paper rho,state") == [0.9, 0.84, ""]


def test_evidence_a_is_the_share_of_pairs_that_the_untrained_policy_wins(folder: Path) -> None:
    made = make("evidence-a", load(folder))
    row = pick(made, domain="medicine", judge="pro")
    # Two of three at seed 42, one of one at seed 43.
    heads = "method,untrained preferred,sd,seeds,paper untrained preferred,paper sd"
    half = (1 - 2 / 3) / 2
    assert choose(row, heads) == [
        "Rubric-RL",
        round(100 * (2 / 3 + half), 6),
        round(100 * half * 2**0.5, 6),
        2,
        65.7,
        13.2,
    ]
    assert pick(made, domain="science", **{"paper judge": "GPT-5.6-luna"})["state"] == NOT_RUN
    assert len(made.sheet.rows) == 4 * 2


def test_pairs_are_counted_from_the_side_of_the_untrained_policy(folder: Path) -> None:
    made = make("pairs", load(folder))
    row = pick(made, domain="medicine", second="Rubric-RL", judge="pro")
    assert choose(row, "first,wins,ties,inconsistent,losses") == ["base", 3, 1, 1, 1]
    assert choose(row, "paper wins,paper ties,paper losses,paper win rate") == [136, 93, 71, 65.7]
    assert pick(made, domain="medicine", second="ProRubric", judge="pro")["state"] == NOT_RUN


def test_pairs_without_the_untrained_policy_are_counted_too(tmp_path: Path) -> None:
    games = [play("pro", "ProRubric 42", item, "second", first="Rubric-RL 42") for item in "ab"]
    games += [play("pro", "ProRubric 43", "a", "first", first="Rubric-RL 43")]
    write_evaluation(tmp_path, VALUES, games=games)
    [row] = [row for row in make("pairs", load(tmp_path, None)).sheet.rows if row["first"] != "base"]
    # Both pairs of seed 42 and none of seed 43.
    assert choose(row, "first,second,wins,losses,win rate") == ["ProRubric", "Rubric-RL", 2, 1, 50.0]
    assert make("evidence-a", load(tmp_path, None)).sheet.rows == []


def test_pairs_on_a_second_set_of_prompts_have_a_row_of_their_own(tmp_path: Path) -> None:
    more = play("pro", "Rubric-RL 42", "e", "second", "pairs-dialogue")
    write_evaluation(tmp_path, VALUES, games=[*GAMES, more])
    for paper, name in (("Qwen3-4B", "medicine"), (None, "medical")):
        rows = make("pairs", load(tmp_path, paper)).sheet.rows  # type: ignore[arg-type]
        ours = {(row["domain"], row["wins"], row["losses"]) for row in rows if row["wins"] is not None}
        first = name if paper else "medical, pairs-medical"
        assert ours == {(first, 3, 1), (f"{name}, pairs-dialogue", 0, 1)}


def test_a_benchmark_of_two_domains_has_the_arms_of_both(tmp_path: Path) -> None:
    write_evaluation(tmp_path / "a", {("medqa", ""): [60, 50, 60, 70, 60]})
    found = Comparisons(**json.loads((tmp_path / "a/evaluate" / COMPARISONS).read_text()))
    [table] = found.tables
    arms = [arm.model_copy(update={"method": "Raw-AND"}) for arm in table.arms if arm.method == "ProRubric"]
    other = found.model_copy(update={"tables": (table.model_copy(update={"arms": tuple(arms)}),)})
    (tmp_path / "b/evaluate").mkdir(parents=True)
    write_json(tmp_path / "b/evaluate" / COMPARISONS, other.model_dump(mode="json"))
    places = [DomainPlace(n, tmp_path / n, ("Raw-AND",) if n == "b" else (), "", "", ()) for n in "ab"]
    made = make("main", load_study_results("Two", None, places))
    assert pick(made, method="Raw-AND")["MedQA"] == 65.0


def load_two(folder: Path, names: tuple[str, str], paper: PaperName | None = None) -> StudyResults:
    """Two domains with the same arms, benchmarks and judges; the second has 10 points less and 100 characters more."""
    for name, less in zip(names, (0, 10), strict=True):
        verdicts = [
            CriterionVerdict(C, judge, "base", "one", 0, str(number), 5.0, number < most - bool(less))
            for judge, most in (("lite", 3), ("pro", 1))
            for number in range(4)
        ]
        labelled = [LabelledVerdict("pro", "a", "h", "hedging", "a", bool(less), (not less,) * 2)]
        values = {key: [value - less for value in means] for key, means in VALUES.items()}
        write_evaluation(folder / name, values, verdicts=verdicts, labelled=labelled, characters=10 * less)
    places = [DomainPlace(name, folder / name, ("Rubric-RL", "ProRubric"), G, C, JUDGES) for name in names]
    return load_study_results("Two", paper, places)


@pytest.mark.parametrize(
    ("name", "row", "heads", "first", "second"),
    [
        # Of the seeds of ProRubric, 36 and 40 on HealthBench, and 36 and 46 on its consensus, by the strict judge.
        ("main", {"method": "ProRubric"}, "HealthBench,MedQA", [38.0, 65.0], [28.0, 55.0]),
        (
            "seeds-benchmarks",
            {"benchmark": "HealthBench", "method": "ProRubric"},
            "seed 42,mean",
            [36.0, 38.0],
            [26.0, 28.0],
        ),
        ("plane", {"method": "ProRubric"}, "coverage,appropriateness", [38.0, 41.0], [28.0, 31.0]),
        ("ablations", {"method": "ProRubric"}, "g,c", [38.0, 41.0], [28.0, 31.0]),
        (
            "ablations-full",
            {"method": "ProRubric"},
            "g lenient,c lenient,characters",
            [59.0, 78.0, 450.0],
            [49.0, 68.0, 550.0],
        ),
        ("seeds-ablations", {"method": "ProRubric", "measure": "c strict"}, "seed 42,mean", [36.0, 41.0], [26.0, 31.0]),
        ("seeds-consensus", {"judge": "lenient", "method": "ProRubric"}, "seed 43", [80.0], [70.0]),
        ("length", {"method": "ProRubric"}, "characters,c strict", [450.0, 41.0], [550.0, 31.0]),
        ("cross-judge", {"judge": "lite", "method": "ProRubric"}, "score,strict", [78.0, 41.0], [68.0, 31.0]),
        # 3 of 4 criteria against 1, and 2 against none.
        ("disagreement", {"method": "base"}, "criteria,only lenient", [4, 50.0], [4, 50.0]),
        ("physicians", {"theme": "hedging"}, "judge,criteria", ["pro", 1], ["pro", 1]),
    ],
)
def test_two_domains_with_the_same_benchmarks_and_arms_have_a_row_each(
    tmp_path: Path, name: str, row: dict[str, object], heads: str, first: list[object], second: list[object]
) -> None:
    made = make(name, load_two(tmp_path, ("law", "tax")))
    assert choose(pick(made, domain="law", **row), heads) == first
    assert choose(pick(made, domain="tax", **row), heads) == second
    assert next(iter(made.sheet.shown)) == "domain"
    if made.figure is not None:
        assert [*made.figure.legend] == [
            f"{d}, {m}" for d in ("law", "tax") for m in ("base", "Rubric-RL", "ProRubric")
        ]


def test_a_study_of_one_domain_without_a_name_has_no_column_for_it(folder: Path) -> None:
    results = load(folder, None, name="")
    tables = [make(one.name, results).sheet for one in GENERATORS if one.make.__module__ in EVALUATED]
    assert {sheet.name for sheet in tables if sheet.rows and "domain" in sheet.rows[0]} == {
        *("pairs", "equal-budget", "evidence-a", "probe", "probe-seeds", "sizes")
    }


def test_a_benchmark_of_a_second_domain_is_shown_again_next_to_the_paper(tmp_path: Path) -> None:
    results = load_two(tmp_path, ("medical", "law"), "Qwen3-4B")
    made = make("main", results)
    assert [pick(made, domain=d, method="ProRubric", of="ours")["MedQA"] for d in ("", "law")] == [65.0, 55.0]
    assert pick(made, method="ProRubric", of="paper")["domain"] == ""
    made = make("seeds-benchmarks", results)
    assert pick(made, domain="law", benchmark="MedQA", method="ProRubric")["mean"] == 55.0
    # The paper's ablations are of its medicine.
    assert pick(make("ablations", results), method="ProRubric")["c"] == 41.0


def test_seven_benchmarks_of_several_domains_have_an_average_over_them(tmp_path: Path) -> None:
    judged = {(name, "pro"): [10, 20, 30, 40, 50] for name in ("writingbench", "creative-v3", "arena-hard-v2")}
    judged |= {(name, "pro"): [10, 20, 30, 40, 50] for name in (G, "researchqa")}
    write_evaluation(tmp_path / "judged", judged)
    write_evaluation(tmp_path / "known", {(name, ""): [80, 20, 30, 75, 50] for name in ("medqa", "gpqa-diamond")})
    places = [DomainPlace(name, tmp_path / name, (), "", "", ("pro",)) for name in ("judged", "known")]
    results = load_study_results("Seven", None, places)
    made = make("main", results)
    # Seed 42: (5 × 40 + 2 × 75) / 7 = 50; seed 43: 50.
    assert pick(made, domain="all domains", method="ProRubric")["Average"] == 50.0
    assert choose(pick(made, domain="known", method="ProRubric"), "MedQA,WritingBench,Average") == [62.5, None, None]
    made = make("seeds-benchmarks", results)
    assert pick(made, domain="all domains", method="ProRubric")["seed 42"] == 50.0
    assert pick(made, domain="all domains", method="base")["benchmark"] == "Average"


def test_two_domains_that_are_one_in_the_paper_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_two(tmp_path, ("medicine", "Medical"), "Qwen3-4B")
    line = "the domains medicine and Medical are both the paper's medicine; rename all but one, or leave paper out"
    assert str(caught.value) == line
    assert {row["domain"] for row in make("sizes", load_two(tmp_path / "own", ("medicine", "Medical"))).sheet.rows} == {
        *("medicine", "Medical")
    }


def test_an_equal_budget_is_told_apart_from_the_other_pairs(folder: Path) -> None:
    made = make("equal-budget", load(folder))
    row = pick(made, domain="medicine")
    assert choose(row, "judge,first,second,wins,losses,win rate,paper win rate") == [
        *("pro", "ProRubric", "Rubric-RL", 3, 1, 75.0, 83)
    ]
    assert choose(pick(made, domain="science"), "wins,paper win rate,state") == [None, 79, NOT_RUN]
    assert made.figure is not None
    assert [*made.figure.legend] == ["ProRubric against Rubric-RL", "the paper's, right of ours"]
    # 75 and 83 in medicine on an axis up to 100, and 79 in science.
    assert find_heights(made.figure) == [("c0", 75.0), ("paper", 83.0), ("paper", 79.0)]


def test_the_probe_is_compared_with_the_first_seed_of_rubric_rl(folder: Path) -> None:
    made = make("probe", load(folder))
    row = pick(made, domain="medicine", method="ProRubric", seed="43")
    # Both prompts are 16 points better, so the interval is a point.
    assert choose(row, "score,difference,low,high,n,paper score") == [36.0, 16.0, 16.0, 16.0, 2, None]
    row = pick(made, domain="medicine", method="ProRubric", seed="42")
    assert choose(row, "difference,paper score,paper difference,paper low,paper high") == [20.0, 39.2, 20.4, 16.9, 23.9]
    assert choose(pick(made, domain="medicine", method="base"), "seed,score,difference,paper score") == [
        "",
        50.0,
        30.0,
        50.0,
    ]
    assert pick(made, domain="writing", method="Implicit")["state"] == NOT_RUN


def test_the_probe_by_seed_is_a_change_from_the_untrained_policy(folder: Path) -> None:
    made = make("probe-seeds", load(folder))
    row = pick(made, domain="medicine", method="Rubric-RL")
    heads = "untrained,seed 42,seed 43,mean,lowest,paper untrained,paper 42,paper mean,paper sd"
    assert choose(row, heads) == [50.0, -30.0, -20.0, -25.0, -30.0, 50.0, -31.1, -28.9, 2.3]
    gap = pick(made, domain="medicine", method="ProRubric − Rubric-RL")
    assert choose(gap, "seed 42,seed 43,mean,lowest,paper mean,paper lowest") == [20.0, 6.0, 13.0, 6.0, 13.3, 9.5]
    assert pick(made, domain="dialogue", method="ProRubric")["state"] == NOT_RUN
    # On an axis from −40 to 40: Rubric-RL −25 and −28.9, ProRubric −12 and −15.6; then three domains of the paper.
    assert made.figure is not None
    heights = [(style, round(0.8 * height - 40, 1)) for style, height in find_heights(made.figure)]
    assert heights[:4] == [("c0", -25.0), ("paper", -28.9), ("c1", -12.0), ("paper", -15.6)]
    assert heights[-1] == ("paper", 24.3)


def test_the_seed_0_is_a_seed_like_any_other(folder: Path) -> None:
    path = folder / "evaluate" / COMPARISONS
    path.write_text(path.read_text().replace('"seed": 43', '"seed": 0').replace('"seed":43', '"seed":0'))
    rows = [row for row in make("probe", load(folder)).sheet.rows if row["method"] == "ProRubric" and row["score"]]
    assert [(row["seed"], row["score"], row["paper score"]) for row in rows] == [
        ("42", pytest.approx(40.0), 39.2),
        ("0", pytest.approx(36.0), None),
    ]


def test_two_methods_with_one_name_of_the_paper_have_a_row_each(folder: Path) -> None:
    place = DomainPlace("medical", folder, ("Rubric-RL", "ProRubric", "prorubric"), G, C, ("lite", "pro"))
    made = make("ablations-full", load_study_results("Small", "Qwen3-4B", [place]))
    assert choose(pick(made, method="ProRubric"), "c strict,paper c strict") == [41.0, 36.8]
    assert choose(pick(made, method="prorubric"), "c strict,paper c strict,state") == [None, None, NOT_RUN]


def test_a_study_with_other_arms_and_one_judge_has_them_by_seed_and_no_arm_of_the_paper(folder: Path) -> None:
    path = folder / "evaluate" / COMPARISONS
    path.write_text(path.read_text().replace("ProRubric", "Mine").replace("Rubric-RL", "Yours"))
    results = load_study_results("Own", None, [DomainPlace("", folder, ("Mine", "Yours"), G, C, ("pro",))])
    made = make("seeds-benchmarks", results)
    assert choose(pick(made, benchmark="HealthBench", method="Mine"), "seed 42,seed 43,mean") == [36.0, 40.0, 38.0]
    assert {row["method"] for row in made.sheet.rows} == {"base", "Mine", "Yours"}
    # Two of the seven benchmarks are not their average.
    assert "Average" not in {row["benchmark"] for row in made.sheet.rows}
    assert "Average" not in make("main", results).sheet.shown
    assert [make(name, results).sheet.rows for name in ("seeds-consensus", "cross-judge")] == [[], []]


def test_length_is_drawn_against_appropriateness(folder: Path) -> None:
    made = make("length", load(folder))
    row = pick(made, method="Rubric-RL")
    assert choose(row, "characters,c strict,c lenient,paper characters,paper c strict") == [
        250.0,
        23.0,
        72.0,
        11700.0,
        26.0,
    ]
    assert made.figure is not None
    mini = make("length", load(folder, "mini")).figure
    assert mini is not None
    assert [*mini.legend] == ["base", "Rubric-RL", "ProRubric"]  # answers of the lab are on another scale


def test_disagreement_is_a_share_of_the_criteria_that_both_judges_decided(folder: Path) -> None:
    made = make("disagreement", load(folder))
    row = pick(made, method="base")
    assert choose(row, "criteria,only lenient,only strict,unknown,paper only lenient") == [4, 50.0, 0.0, 0, 27.5]
    row = pick(made, method="Rubric-RL")
    assert choose(row, "only lenient,paper only lenient,state") == [None, round((46.2 + 44.3 + 44.1) / 3, 6), NOT_RUN]


def test_judges_and_physicians_are_shown_by_theme(folder: Path) -> None:
    made = make("physicians", load(folder))
    row = pick(made, theme="hedging")
    assert choose(row, "judge,criteria,balanced F1,physicians,paper judge,paper physicians") == [
        "pro",
        1,
        1.0,
        1.0,
        0.61,
        0.66,
    ]
    assert choose(pick(made, theme="communication"), "balanced F1,paper judge,state") == [None, 0.63, NOT_RUN]
    assert pick(made, theme="all")["paper GPT-4.1"] == 0.71


def test_sample_sizes_are_the_common_items_of_every_table(folder: Path) -> None:
    made = make("sizes", load(folder))
    row = pick(made, benchmark="HealthBench", judge="lite")
    assert choose(row, "domain,pool,answered,common,paper common") == ["medicine", 2, 2, 2, 4392]
    assert pick(made, benchmark="HealthBench", judge="pro")["paper common"] == 4138
    assert pick(made, benchmark="HealthBench consensus", judge="pro")["paper common"] == 3140
    assert choose(pick(made, benchmark="ResearchQA"), "common,paper common,state") == [None, 702, NOT_RUN]


@pytest.mark.parametrize("name", [generator.name for generator in GENERATORS])
def test_without_any_result_every_row_is_not_run(tmp_path: Path, name: str) -> None:
    made = make(name, load(tmp_path))
    ours = [row for row in made.sheet.rows if row.get("of") != "paper"]
    assert ours
    assert {row["state"] for row in ours} == {NOT_RUN}
    assert len(made.missing) == len(ours)


@pytest.mark.parametrize("name", [one.name for one in GENERATORS if one.make.__module__ in EVALUATED])
def test_a_study_of_its_own_has_no_row_and_no_figure_of_the_paper(folder: Path, name: str) -> None:
    rows = make(name, load(folder, None)).sheet.rows
    names = ("Rubric-RL", "ProRubric", "Graded", "base", "difference", "Spearman's ρ", "ProRubric − Rubric-RL")
    assert rows
    assert all(not cell for row in rows for head, cell in row.items() if head.startswith("paper"))
    assert {row.get("of", "ours") for row in rows} == {"ours"}
    assert {str(row["method"]) for row in rows if "method" in row} <= {*names}
