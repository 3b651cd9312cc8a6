"""What a training did, from a folder that is small enough to check by hand."""

import json
from pathlib import Path

import pytest

from prorubric.errors import SourceError
from prorubric.evaluate.training import CriterionCount, TrainingAnalysis, TrainingFigures, analyse_training
from tests.train.recipe_folder import FIRST, NAMES, TASKS, UNTRAINED, Judged, RecipeFolder, fill_two_methods, make_task


def analyse(folder: RecipeFolder) -> TrainingAnalysis:
    return analyse_training(folder.path, resamples=50)


@pytest.fixture
def folder(tmp_path: Path) -> RecipeFolder:
    return RecipeFolder(tmp_path / "out")


@pytest.fixture
def two(folder: RecipeFolder) -> RecipeFolder:
    fill_two_methods(folder)
    return folder


def test_the_curves_and_gaps_of_two_methods_are_paired_by_prompt_and_seed(two: RecipeFolder) -> None:
    found = analyse(two)
    curves = {(curve.measure, curve.method): [point.mean for point in curve.points] for curve in found.curves}
    assert curves["c", "rubric-rl"] == pytest.approx([0.6, 0.25])
    assert curves["c", "prorubric"] == pytest.approx([0.6, 0.85])
    assert curves["g", "rubric-rl"] == pytest.approx([0.5, 5 / 6])
    assert curves["characters", "prorubric"] == [5.0, 12.0]
    (gap,) = (gap for gap in found.gaps if gap.measure == "c")
    assert (gap.first, gap.second) == ("prorubric", "rubric-rl")
    assert gap.points[1].over_seeds.by_seed == pytest.approx({1: 0.5, 2: 0.7})
    assert (gap.points[1].n, gap.points[1].over_seeds.separated) == (2, True)
    assert [(peak.method, peak.step) for peak in found.peaks] == [("rubric-rl", 0), ("prorubric", 50)]
    assert found.missing == {}
    assert TrainingFigures(**json.loads(found.select_figures().model_dump_json())) == found.select_figures()


def test_rollouts_dimensions_and_alarms_come_from_the_steps(two: RecipeFolder) -> None:
    found = analyse(two)
    rollouts = {(curve.measure, curve.method): curve for curve in found.rollouts}
    assert [measure for measure, _ in rollouts] == [
        *("reward", "reward", "equal_groups", "equal_groups", "identical_groups", "identical_groups"),
    ]
    reward = rollouts["reward", "rubric-rl"].points
    assert [point.mean for point in reward] == pytest.approx([0.2, 0.3, 0.4, 0.5, 0.5])
    assert reward[4].by_seed == {1: 0.5}
    assert [(row.method, row.name, row.early, row.late, row.known) for row in found.dimensions] == [
        ("rubric-rl", "d", 0.25, 1.0, 16),
        ("prorubric", "d", 0.25, 1.0, 16),
    ]
    assert [(run.name, run.responses, run.unknown) for run in found.runs] == [(name, 40, 8) for name in NAMES]
    (alarm,) = found.runs[0].alarms
    assert alarm.startswith("step 5: since step 1 the score has risen by 0.100 while k1 has fallen by 0.200")
    assert "rubric-rl: rollouts 100 (paper: 300)" in found.departures


def test_dimensions_disagreement_and_lost_criteria_come_from_the_verdicts(two: RecipeFolder) -> None:
    found = analyse(two)
    held = {(r.method, r.seed, r.status): (r.completed, r.dimensions) for r in found.completions if r.step == 50}
    assert held["rubric-rl", 1, "one short"] == (2, 3)
    assert held["prorubric", 1, "all"] == (4, 4)
    ends = {(row.method, row.seed): row for row in found.disagreements if row.step == 50}
    assert (ends["rubric-rl", 1].found, ends["rubric-rl", 1].criteria) == (1, 6)
    assert (ends["prorubric", 2].found, ends["prorubric", 2].share) == (2, 1 / 3)
    lost = {(row.method, row.seed, row.step): row.found for row in found.suppressed}
    assert (lost["rubric-rl", 1, 0], lost["rubric-rl", 1, 50], lost["prorubric", 1, 50]) == (0, 1, 0)
    assert found.suppressed_criteria == (CriterionCount(task_id="fever", criterion=1, text="Says fever 1", runs=2),)
    assert [(row.criterion, row.runs) for row in found.disputed_criteria] == [(2, 4), (1, 2)]


def test_a_sweep_of_a_setting_makes_methods_of_their_own(folder: RecipeFolder) -> None:
    names = folder.plan(TASKS, sweep={"kl": [0.005, 0.01]}, seeds=[1])
    for name in names:
        folder.look(name, 0, UNTRAINED)
    found = analyse(folder)
    assert [run.method for run in found.runs] == ["rubric-rl-kl-0.005", "rubric-rl-kl-0.01"]
    assert found.gaps[0].points[0].over_seeds.mean == 0.0
    assert found.gaps[0].points[0].over_seeds.low is None
    assert found.missing == {
        "rollouts": "no rollout has been recorded yet",
        "seeds": "one seed says nothing about other training runs",
    }


def test_a_folder_with_nothing_but_step_0_says_what_is_missing(folder: RecipeFolder) -> None:
    (name,) = folder.plan([make_task("fever", groups=())], validate={"criteria": "probe"})
    folder.look(name, 0, {"fever": UNTRAINED["fever"]._replace(second=())})
    folder.look(name, 50, {"fever": UNTRAINED["fever"]}, judged=False)
    found = analyse(folder)
    assert [(curve.measure, len(curve.points)) for curve in found.curves] == [("c", 1), ("g", 1), ("characters", 1)]
    assert (found.runs[0].state, found.runs[0].validations, found.runs[0].pending) == ("new", (0,), (50,))
    assert (found.gaps, found.completions, found.disagreements) == ((), (), ())
    assert found.missing == {
        "pending": "1 validation not judged yet",
        "rollouts": "no rollout has been recorded yet",
        "seeds": "one seed says nothing about other training runs",
        "methods": "one method, so there is nothing to compare",
        "completions": "the held-out tasks have no dimensions",
        "disagreements": "there is no second judge",
    }


def test_runs_that_failed_or_never_began_are_listed_and_not_invented(folder: RecipeFolder) -> None:
    first, second = folder.plan(TASKS, seeds=[1, 2])
    folder.state(first, "failed", 3, "the judge is gone")
    (folder.path / second / "run.json").unlink()
    found = analyse(folder)
    assert [(run.state, run.step, run.steps, run.reason) for run in found.runs] == [
        ("failed", 3, 100, "the judge is gone"),
        ("new", 0, 100, ""),
    ]
    assert (found.curves, found.rollouts) == ((), ())
    assert found.missing["validations"] == "none has been made yet"


def test_an_untrained_policy_that_was_not_judged_is_named(two: RecipeFolder) -> None:
    (two.path / NAMES[0] / "validation/step-0000/scores.jsonl").unlink()
    found = analyse(two)
    assert found.missing == {
        "pending": "1 validation not judged yet",
        "means": "of fewer seeds at some steps: rubric-rl (step 0)",
        "completions": "the untrained policy was not judged in rubric-rl-seed-1",
        "suppressed": "the untrained policy was not judged in rubric-rl-seed-1",
    }
    assert {(row.method, row.seed) for row in found.completions} == {
        ("prorubric", 1),
        ("rubric-rl", 2),
        ("prorubric", 2),
    }


def test_a_step_that_a_seed_lacks_is_named_because_the_mean_is_of_fewer(two: RecipeFolder) -> None:
    (two.path / NAMES[2] / "validation/step-0050/scores.jsonl").unlink()
    assert analyse(two).missing["means"] == "of fewer seeds at some steps: rubric-rl (step 50)"


def test_runs_of_an_earlier_recipe_are_listed_after_those_of_the_plan(two: RecipeFolder) -> None:
    plan = json.loads((two.path / "plan.json").read_text())
    (two.path / "plan.json").write_text(json.dumps({**plan, "runs": plan["runs"][1:]}))
    assert [run.name for run in analyse(two).runs] == [*NAMES[1:], NAMES[0]]


def test_a_judge_that_saw_no_criteria_leaves_no_dimensions(folder: RecipeFolder) -> None:
    (name,) = folder.plan(TASKS, seeds=[1])
    folder.look(name, 0, {task: Judged("Rest.", None, 0.5) for task in ("fever", "rash")})
    found = analyse(folder)
    assert [curve.measure for curve in found.curves] == ["c", "characters"]
    unasked = "the training judge was not asked about the criteria of held-out tasks"
    assert {part: found.missing[part] for part in ("coverage", "completions", "suppressed", "disagreements")} == {
        "coverage": unasked,
        "completions": unasked,
        "suppressed": unasked,
        "disagreements": "the second judge was not asked about the tasks' criteria",
    }


def test_the_same_judge_on_the_same_criteria_does_not_disagree_with_itself(folder: RecipeFolder) -> None:
    (name,) = folder.plan(TASKS, validate={"criteria": "tasks", "judge": FIRST})
    folder.look(name, 0, UNTRAINED)
    assert analyse(folder).missing["disagreements"] == "there is no second judge"


def test_a_training_without_a_reward_has_its_loss(folder: RecipeFolder) -> None:
    (name,) = folder.plan(TASKS, method="opsd", validate=False)
    rows = [{"step": step, "loss": loss, "rate": 1e-6} for step, loss in ((1, 0.5), (2, 0.25))]
    (folder.path / name / "steps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = analyse(folder)
    assert [(c.measure, [point.mean for point in c.points]) for c in found.rollouts] == [("loss", [0.5, 0.25])]
    assert found.missing["validations"] == "the recipe has none"


def test_a_folder_without_a_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"plan\.json: not the plan of a training .*name the folder of a recipe"):
        analyse_training(tmp_path)
