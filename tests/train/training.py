"""Folders of runs for tests of the trainers: what `prorubric train` writes before it starts one."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from prorubric import SAMPLE_TASKS, Task, load_tasks, save_tasks
from prorubric.files.write import write_json
from prorubric.rubric.base import render_config
from prorubric.train.recipe import list_runs, load_recipe

SMALL: dict[str, Any] = {
    "model": "tiny",
    "judge": "lexical",
    "rollouts": 4,
    "prompts": 2,
    "responses": 4,
    "mini_batch": 1,
    "rate": 1e-3,
    "warmup": 0,
    "response_limit": 16,
    "every": 2,
}
"""Four rollouts of a tiny policy."""


def write_run(
    folder: Path, method: str, tasks: Sequence[Task] | None = None, held_out: Sequence[Task] = (), **given: Any
) -> Path:
    """Write the folder of a run and give it; rows repeat the tasks in order."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = list(tasks or load_tasks(SAMPLE_TASKS))
    save_tasks(folder / "tasks.jsonl", chosen)
    if held_out:
        save_tasks(folder / "held-out.jsonl", held_out)
    recipe = folder / "recipe.yaml"
    recipe.write_text(json.dumps({"method": method, "tasks": "tasks.jsonl", **SMALL, **given}))
    (run,) = list_runs(load_recipe(recipe))
    if run.reward:
        places = {"tasks": str(folder.absolute() / "tasks.jsonl"), "journal": folder.absolute() / "journal.sqlite"}
        run = replace(run, reward=replace(run.reward, **places))
    path = folder / run.name
    path.mkdir(exist_ok=True)
    write_json(path / "run.json", render_config(run))
    size = run.settings.prompts
    rows = [
        {
            "step": number // size + 1,
            "place": number % size,
            "task_id": chosen[number % len(chosen)].id,
        }
        for number in range(run.settings.rollouts * size)
    ]
    (path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path
