"""Every method that is rewarded, trained for four rollouts with a judge over HTTP that counts its calls.

The last line says for each method how often the judge was called in training, and whether the weights have changed.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from tests.train.counting_judge import find_answer, serve_judge
from tests.train.scripts.trl_worker import TASKS, run
from tests.train.training import write_run

from prorubric import Task
from prorubric.train.methods import METHODS

SHADOWED = {"shadow": ["additive", "implicit"], "shadow_every": 3}
EVERY = [name for name, method in METHODS.items() if method.kind == "grpo"]
CASES: dict[str, dict[str, Any]] = {
    **{name: {} for name in EVERY},
    "rubric-rl+appropriateness": {},
    "prorubric+appropriateness": {},
    "tests.aggregate.own_schemes:share_met": {},
    "prorubric with shadows": SHADOWED,
    "graded with shadows": SHADOWED,
}


def restate(task: Task) -> Task:
    return task.model_copy(update={"meta": {"rewritten": [f"Has: {item.text}" for item in task.rubric.criteria]}})


def decide(prompt: str, _: str) -> bool:
    """A verdict that differs between the responses to a prompt, so there is something to learn."""
    return hashlib.sha256(find_answer(prompt).encode()).digest()[0] % 2 == 0


def main() -> None:
    folder, found = Path(sys.argv[1]), {}
    for number, (name, more) in enumerate(CASES.items()):
        with serve_judge(decide) as judge:
            options = {"judge": f"{judge.address}#judge", "validate": "no", **more}
            path = write_run(folder / str(number), name.partition(" ")[0], [*map(restate, TASKS[:5])], **options)
            code = run(path)
            first, last = (path / f"checkpoints/checkpoint-{step}/model.safetensors" for step in (4, 8))
            changed = first.exists() and last.exists() and first.read_bytes() != last.read_bytes()
            found[name] = {"code": code, "calls": judge.calls.total(), "changed": changed}
            found[name]["recipe"] = str(path.parent / "recipe.yaml")
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
