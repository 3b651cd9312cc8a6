"""Every method with the real TRL: the judge is called as often as planned, and the policy changes."""

from pathlib import Path
from typing import Any

import pytest

from prorubric.train import plan_training
from prorubric.train.methods import METHODS
from tests.patience import PATIENCE
from tests.train.running import run_in, trainers

pytestmark = trainers

CASES = [
    *(name for name, method in METHODS.items() if method.kind == "grpo"),
    "rubric-rl+appropriateness",
    "prorubric+appropriateness",
    "tests.aggregate.own_schemes:share_met",
    "prorubric with shadows",
    "graded with shadows",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run_in("trl", "trl_every_method.py", tmp_path_factory.mktemp("methods"), seconds=20 * PATIENCE)


@pytest.mark.parametrize("name", CASES)
def test_a_method_asks_its_judge_as_often_as_planned_and_changes_the_policy(trained: dict[str, Any], name: str) -> None:
    found = trained[name]
    assert (found["code"], found["changed"]) == (0, True)
    recipe = Path(found["recipe"])
    tasks = [f"tasks={recipe.with_name('tasks.jsonl')}", "held_out=0"]
    assert found["calls"] == plan_training(recipe, tasks).calls > 0
