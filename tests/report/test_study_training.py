"""The tables of a study that come from its trainings, on folders of arms that are made by hand."""

from pathlib import Path

import pytest

from prorubric.report.study_results import DomainPlace, PaperName, StudyResults, load_study_results
from prorubric.train.run_folder import RunFolder
from tests.train.recipe_folder import TASKS, UNTRAINED, Judged, RecipeFolder

from .study import JUDGES, choose, load, make, pick, write_evaluation

SEEDS = [42, 43]
ARMS = {"Rubric-RL": "rubric-rl", "ProRubric": "prorubric", "K=1": "k1"}
ENDS = {"Rubric-RL": (0.3, 0.2), "ProRubric": (0.7, 0.8), "K=1": (0.5, 0.5)}
"""Appropriateness at step 100, by seed; at step 50 it is 0.1 above that."""


def write_arm(folder: Path, arm: str) -> None:
    """Two seeds of eight rollouts, looked at before, at step 50 and at step 100."""
    recipe = RecipeFolder(folder / "train" / arm)
    names = recipe.plan(TASKS, method=ARMS[arm], seeds=SEEDS)
    for place, (name, c) in enumerate(zip(names, ENDS[arm], strict=True)):
        recipe.look(name, 0, UNTRAINED)
        # Fever lacks two of three criteria at first, rash one; each has a dimension of two and one of one.
        fever = [True, True, False] if place else [True, True, True]
        for step, score in ((50, c + 0.1), (100, c)):
            answers = {
                "fever": Judged("Rest a lot.", 2 / 3, score, fever, fever),
                "rash": Judged("Wait and see.", 1.0, score, [False, True, True], [True, True, True]),
            }
            recipe.look(name, step, answers)
        # In quarters of two rollouts, 20% and 80% of the groups are equal for one seed, 10 points more for the other.
        equal = [share + 0.1 * place for share in (0.1, 0.3, 0.5, 0.5, 0.5, 0.5, 0.7, 0.9)]
        tokens = [100, 120, 200, 200, 200, 200, 300, 340]
        RunFolder(folder / "train" / arm / name).save_state("done", 100)
        recipe.steps(
            name, [{"reward": 0.5, "equal_groups": e, "tokens": t} for e, t in zip(equal, tokens, strict=True)]
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    for arm in ARMS:
        write_arm(folder, arm)
    return folder


def open_study(folder: Path, paper: PaperName | None = "Qwen3-4B") -> StudyResults:
    place = DomainPlace("medical", folder, (*ARMS, "Graded"), "healthbench", "healthbench-consensus", JUDGES)
    return load_study_results("Small", paper, [place])


def test_dynamics_are_means_over_seeds_and_prompts_with_the_step_of_the_peak(folder: Path) -> None:
    made = make("dynamics", open_study(folder))
    heads = "appropriateness, prompts, highest, paper, state"
    # Untrained answers have 0.5 and 0.7.
    assert choose(pick(made, method="Rubric-RL", step=0), heads) == [60.0, 2, "highest", 55.8, ""]
    assert choose(pick(made, method="Rubric-RL", step=50), heads) == [35.0, 2, "", 35.9, ""]
    assert choose(pick(made, method="Rubric-RL", step=100), heads) == [25.0, 2, "", None, ""]
    assert choose(pick(made, method="Rubric-RL", step=300), heads) == [None, None, "", 23.8, "not run"]
    assert choose(pick(made, method="ProRubric", step=50), heads) == [85.0, 2, "highest", 50.3, ""]
    assert pick(made, method="ProRubric", step=100)["sd"] == round(100 * 0.1 / 2**0.5, 6)
    assert choose(pick(made, method="K=1", step=50), heads) == [
        60.0,
        2,
        "",
        None,
        "",
    ]  # as high as at step 0, but later
    assert made.figure is not None
    assert [*made.figure.legend] == [
        "Rubric-RL, highest at step 0",
        "ProRubric, highest at step 50",
        "K=1, highest at step 0",
    ]


def test_equal_groups_are_counted_by_quarter_and_by_seed(folder: Path) -> None:
    made = make("equal-groups", open_study(folder))
    heads = "first quarter, last quarter, all, lowest seed, highest seed, paper from, paper to, state"
    # The mean of the eight shares is 0.5 for the first seed and 0.6 for the second.
    assert choose(pick(made, method="K=1"), heads) == [25.0, 85.0, 55.0, 50.0, 60.0, 63, 66, ""]
    assert choose(pick(made, method="Rubric-RL"), heads)[5:] == [None, None, ""]
    assert pick(made, method="K=1")["unknown"] is None  # these steps do not say how many groups are unknown
    assert made.figure is not None
    assert [*made.figure.legend] == ["Rubric-RL", "ProRubric", "K=1"]


def test_groups_with_unknown_rewards_are_not_groups_with_equal_ones(tmp_path: Path) -> None:
    recipe = RecipeFolder(tmp_path / "train/K=1")
    [name] = recipe.plan(TASKS, method="k1")
    # Of ten groups 2, 5, 10 and 5 have no two known rewards; of the other 8, 5, 0 and 5 the rewards of 4, 2, 0 and 0
    # are equal.
    counts = ((4, 2), (2, 5), (0, 10), (0, 5))
    steps = [{"reward": 0.5, "equal_groups": (e + u) / 10, "unknown_groups": u / 10} for e, u in counts]
    recipe.steps(name, steps)
    RunFolder(tmp_path / "train/K=1" / name).save_state("done", 4)
    made = make("equal-groups", open_study(tmp_path))
    # (4/8 + 2/5 + 0/5) / 3, and (2 + 5 + 10 + 5) / 40.
    found = choose(pick(made, method="K=1"), "first quarter, last quarter, all, unknown, paper from, paper to, state")
    assert found == [50.0, 0.0, 30.0, 55.0, 63, 66, ""]
    recipe.steps(name, [{"reward": None, "equal_groups": 1.0, "unknown_groups": 1.0}])
    made = make("equal-groups", open_study(tmp_path))
    assert choose(pick(made, method="K=1"), "all, unknown, state") == [None, 100.0, ""]


def test_lengths_are_tokens_of_rollouts_and_characters_of_held_out_answers(folder: Path) -> None:
    made = make("training-length", open_study(folder))
    row = pick(made, method="ProRubric")
    assert [row[f"tokens, {part} quarter"] for part in ("first", "last")] == [110.0, 320.0]
    # "Rest." and "Wait." become "Rest a lot." and "Wait and see."
    assert [row[f"characters, {part}"] for part in ("start", "end")] == [5.0, 12.0]
    assert [row[f"paper characters, {part}"] for part in ("start", "end")] == [3000.0, 9800.0]
    graded = pick(made, method="Graded")
    assert (graded["characters, end"], graded["paper characters, end"], graded["state"]) == (None, 11500.0, "not run")


def test_an_arm_without_validations_has_the_length_of_its_rollouts(tmp_path: Path) -> None:
    recipe = RecipeFolder(tmp_path / "train/ProRubric")
    [name] = recipe.plan(TASKS, method="prorubric")
    recipe.steps(name, [{"reward": 0.5, "tokens": tokens} for tokens in (100.0, 200.0)])
    RunFolder(tmp_path / "train/ProRubric" / name).save_state("done", 2)
    row = pick(make("training-length", open_study(tmp_path)), method="ProRubric")
    assert [row[f"tokens, {part} quarter"] for part in ("first", "last")] == [100.0, 200.0]
    assert (row["characters, end"], row["state"]) == (None, "")


def test_completed_dimensions_go_by_what_the_untrained_answer_lacked(folder: Path) -> None:
    made = make("completions", open_study(folder))
    heads = "step, completed, lowest seed, highest seed, dimensions, most often in, paper order, state"
    # Fever's pair and single, and rash's pair, are one short; rash's single is complete. Of the three, the first seed
    # completes two and the second one.
    found = choose(pick(made, method="ProRubric", **{"untrained answer": "one short"}), heads)
    assert found == [100, 50.0, round(100 / 3, 6), round(200 / 3, 6), 6, "", 1, ""]
    found = choose(pick(made, method="ProRubric", **{"untrained answer": "complete"}), heads)
    assert found == [100, 100.0, 100.0, 100.0, 2, "", None, ""]
    assert pick(made, method="ProRubric", **{"untrained answer": "all"})["completed"] == 62.5
    # No dimension of these tasks lacks more than one criterion.
    found = choose(pick(made, method="ProRubric", **{"untrained answer": "wholly"}), heads)
    assert found == [100, None, None, None, 0, "", 2, ""]


def test_dimensions_one_short_are_compared_with_those_that_lack_more_in_every_seed(tmp_path: Path) -> None:
    recipe = RecipeFolder(tmp_path / "train/ProRubric")
    for name, last in zip(recipe.plan(TASKS, method="prorubric", seeds=SEEDS), (False, True), strict=True):
        lacking = {"fever": Judged("No.", 0, 0, [False] * 3, [False] * 3), "rash": UNTRAINED["rash"]}
        recipe.look(name, 0, lacking)
        # Fever's pair is wholly unmet; it is completed in the second seed only, as rash's pair is in both.
        fever = [last, last, False]
        trained = {"fever": Judged("Yes.", 1, 1, fever, fever), "rash": Judged("Yes.", 1, 1, [True] * 3, [True] * 3)}
        recipe.look(name, 100, trained)
        RunFolder(tmp_path / "train/ProRubric" / name).save_state("done", 100)
    row = pick(make("completions", load(tmp_path)), method="ProRubric", **{"untrained answer": "one short"})
    # One short: fever's single, which stays unmet, and rash's pair. Wholly: fever's pair.
    assert choose(row, "completed, dimensions, most often in") == [50.0, 4, "1 of 2 seeds"]


def test_the_kl_sweep_has_what_the_paper_has_and_how_far_one_is_ahead(tmp_path: Path) -> None:
    write_evaluation(
        tmp_path,
        {("healthbench", "pro"): [20, 30, 34, 36, 40], ("healthbench-consensus", "pro"): [50, 20, 26, 36, 46]},
    )
    made = make("kl", load(tmp_path))
    heads = "coverage, appropriateness, ahead, paper coverage, paper appropriateness, paper ahead, state"
    assert choose(pick(made, method="Rubric-RL", KL=0.0), heads) == [32.0, 23.0, None, 32.1, 26.0, None, ""]
    assert choose(pick(made, method="ProRubric", KL=0.0), heads) == [38.0, 41.0, 18.0, 35.0, 36.8, 10.8, ""]
    assert choose(pick(made, method="ProRubric", KL=0.01), heads) == [None, None, None, 30.5, 48.0, 20.1, "not run"]
    assert pick(made, method="ProRubric", KL=0.04)["paper characters"] == 3300.0
    assert made.missing == ("Rubric-RL",) * 3 + ("ProRubric",) * 3
    own = load_study_results("Mine", None, [DomainPlace("x", tmp_path, ("Sum", "Sum, KL 0.2"), "a", "b", ())])
    rows = make("kl", own).sheet.rows
    assert [(row["method"], row["KL"], row["state"]) for row in rows] == [
        ("Sum", 0.0, "not run"),
        ("Sum", 0.2, "not run"),
    ]


def test_the_kl_sweep_of_the_larger_model_has_its_arms_by_any_spelling_and_in_any_order(tmp_path: Path) -> None:
    write_evaluation(tmp_path, {("c", "pro"): [50, 20, 26, 36, 46]})
    path = tmp_path / "evaluate/comparisons.json"
    found = path.read_text().replace("ProRubric", "ProRubric (KL 0.2)").replace("Rubric-RL", "Rubric-RL (KL 0.2)")
    path.write_text(found)
    arms = ("ProRubric (KL 0.2)", "Rubric-RL (KL 0.2)")
    place = DomainPlace("medical", tmp_path, arms, "g", "c", JUDGES)
    made = make("kl", load_study_results("Large", "Qwen3-8B", [place]))
    # (36 + 46) / 2 and (20 + 26) / 2.
    rows = [choose(row, "method, KL, appropriateness, ahead") for row in made.sheet.rows if row["KL"]]
    assert rows == [["ProRubric", 0.2, pytest.approx(41), 18.0], ["Rubric-RL", 0.2, pytest.approx(23), None]]


def test_every_domain_of_a_study_of_its_own_has_its_kl_sweep_and_its_curves(tmp_path: Path) -> None:
    for name, less in (("law", 0), ("tax", 10)):
        values = [value - less for value in (50, 20, 26, 36, 46)]
        write_evaluation(tmp_path / name, {("c", "pro"): values})
        path = tmp_path / name / "evaluate/comparisons.json"
        path.write_text(path.read_text().replace("ProRubric", "ProRubric, KL 0.2"))
        write_arm(tmp_path / name, "Rubric-RL")
    arms = ("ProRubric, KL 0.2", "Rubric-RL")
    places = [DomainPlace(name, tmp_path / name, arms, "g", "c", JUDGES) for name in ("law", "tax")]
    results = load_study_results("Two", None, places)
    made = make("kl", results)
    # (36 + 46) / 2, and 10 less.
    assert [pick(made, domain=name, KL=0.2)["appropriateness"] for name in ("law", "tax")] == [41.0, 31.0]
    assert made.figure is not None
    assert [*made.figure.legend] == ["law, ProRubric", "tax, ProRubric"]
    for name, names in (
        ("dynamics", ["law, Rubric-RL, highest at step 0", "tax, Rubric-RL, highest at step 0"]),
        ("equal-groups", ["law, Rubric-RL", "tax, Rubric-RL"]),
    ):
        figure = make(name, results).figure
        assert figure is not None
        assert [*figure.legend] == names


@pytest.mark.parametrize("name", ["dynamics", "equal-groups", "training-length", "completions"])
def test_a_study_of_its_own_has_no_row_and_no_figure_of_the_paper(folder: Path, name: str) -> None:
    made = make(name, open_study(folder, None))
    assert {row["method"] for row in made.sheet.rows} == {*ARMS}
    assert all(cell is None for row in made.sheet.rows for head, cell in row.items() if head.startswith("paper"))


@pytest.mark.parametrize("name", ["dynamics", "kl", "equal-groups", "training-length", "completions"])
def test_without_a_training_every_row_of_the_paper_is_not_run(tmp_path: Path, name: str) -> None:
    made = make(name, load(tmp_path))
    assert {row["state"] for row in made.sheet.rows} == {"not run"}
    assert make(name, load(tmp_path, None)).sheet.rows == []
    assert make(name, load(tmp_path, "Qwen3-8B")).sheet.rows == []


def test_an_arm_with_a_run_that_is_not_done_is_called_unfinished(tmp_path: Path) -> None:
    write_arm(tmp_path, "K=1")
    (run,) = (tmp_path / "train" / "K=1").glob("*seed-43")
    RunFolder(run).save_state("running", 5)
    made = make("equal-groups", open_study(tmp_path))
    assert [row["method"] for row in made.sheet.rows if row["state"] == ""] == ["K=1 (unfinished)"]
