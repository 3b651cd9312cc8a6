"""Every recipe of `examples/recipes` loads and is planned on the sample pack, and the one for a CPU trains."""

import shutil
from pathlib import Path

import pytest

from prorubric import SAMPLE_TASKS, Response, load_tasks, save_responses, save_tasks
from prorubric.reward.monitor import load_steps
from prorubric.train import plan_training
from prorubric.train.plan import Plan
from prorubric.verbs.train import TrainConfig, train_policies
from tests.train.running import ROOT, find_python, list_variables, trainers

RECIPES = ROOT / "examples/recipes"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that the recipes name."""
    tasks = list(load_tasks(SAMPLE_TASKS))
    save_tasks(tmp_path / "tasks.jsonl", tasks[:10])
    save_tasks(tmp_path / "held-out.jsonl", tasks[10:])
    best = tmp_path / "runs/best-of-n/best-of-n-seed-42/best.jsonl"
    best.parent.mkdir(parents=True)
    for path in (tmp_path / "samples.jsonl", best):
        answers = (Response(task_id=task.id, text="Yes.", sample=k) for task in tasks[:10] for k in range(8))
        save_responses(path, answers)
    shutil.copy(RECIPES / "short-answers.jsonl", tmp_path)
    monkeypatch.chdir(tmp_path)


def plan(name: str) -> Plan:
    return plan_training(RECIPES / f"{name}.yaml")


@pytest.mark.parametrize(
    ("name", "runs", "steps", "calls"),
    [
        ("prorubric", 3, 300, 3 * (153_600 + 7 * 2 * 2)),
        ("rubric-rl", 1, 300, 153_600 + 153_600 // 8 + 7 * 2),
        ("ruscarl", 1, 300, 153_600 + 7 * 2),
        ("opsd", 1, 485, 11 * 2),
        ("best-of-n", 1, 0, 9 * 6),
        ("sft", 1, 3, 2 * 2),
        ("sweep", 12, 300, 12 * (153_600 + 7 * 2)),
        ("cpu-trial", 1, 20, 20 * 2 * 8 + 3 * 2),
        ("short-answers", 1, 60, 0),
    ],
)
def test_a_recipe_is_planned(name: str, runs: int, steps: int, calls: int) -> None:
    found = plan(name)
    assert (len(found.runs), found.runs[0].steps, found.calls) == (runs, steps, calls)


def test_every_recipe_is_planned_here() -> None:
    (mark,) = (mark for mark in test_a_recipe_is_planned.pytestmark if mark.name == "parametrize")  # type: ignore[attr-defined]
    assert sorted(case[0] for case in mark.args[1]) == sorted(path.stem for path in RECIPES.glob("*.yaml"))


def test_recipes_of_the_paper_depart_from_it_only_in_what_they_say() -> None:
    for name in ("rubric-rl", "prorubric", "ruscarl", "opsd"):
        told = {line.partition(" ")[0] for line in plan(name).departures}
        assert told <= {"trainer", "seeds"}, name


@trainers
def test_the_recipe_for_a_cpu_takes_a_step_with_smollm2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in list_variables().items():
        monkeypatch.setenv(variable, value)
    sizes = ("rollouts=1", "prompts=1", "mini_batch=1", "responses=2", "response_limit=8", "validate=no")
    small = ("model=smollm2", "rate=2e-5", *sizes)
    config = TrainConfig(RECIPES / "cpu-trial.yaml", set=(*small, f"python={find_python('trl')}"))
    (run,) = train_policies(config).runs
    assert (run.state, run.step) == ("done", 1)
    (step,) = load_steps(tmp_path / "runs/cpu-trial/rubric-rl-seed-42/steps.jsonl")
    assert (step.step, step.responses, [*step.shadow], step.tokens) == (1, 2, ["conjunctive"], 8.0)
