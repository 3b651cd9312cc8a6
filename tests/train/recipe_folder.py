"""The folder of a recipe as `prorubric train` leaves it, made by hand: no trainer runs and no judge is asked."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from prorubric import Criterion, Message, Response, Rubric, Task, save_responses, save_tasks
from prorubric.aggregate.score import Score
from prorubric.files.write import write_json
from prorubric.reward.monitor import StepRecord
from prorubric.rubric.base import render_config
from prorubric.rubric.records import ProtocolRubric
from prorubric.rubric.verdict import Verdict
from prorubric.runs.verdicts import render_score_row, render_verdict_row
from prorubric.train.plan import plan_training
from prorubric.train.recipe import list_runs, load_recipe

FIRST, SECOND = "http://127.0.0.1:1/v1#first", "http://127.0.0.1:1/v1#second"


class Judged(NamedTuple):
    """An answer with what two judges said."""

    text: str
    g: float | None = None
    c: float | None = None
    verdicts: Sequence[Verdict] = ()
    second: Sequence[Verdict] = ()
    """On the criteria; without them the second judge looked at the four fixed ones."""


def make_task(
    name: str, weights: Sequence[float] = (1, 1, 1), groups: Sequence[Sequence[int]] = ((1, 2), (3,))
) -> Task:
    rubric = Rubric(criteria=tuple(Criterion(text=f"Says {name} {n}", weight=w) for n, w in enumerate(weights, 1)))
    parts = [
        {"name": f"d{n}", "description": f"Says it. Fails if not {n}.", "indices": group}
        for n, group in enumerate(groups)
    ]
    protocol = ProtocolRubric.of(rubric, parts) if groups else None
    return Task(id=name, messages=(Message(role="user", content=f"{name}?"),), rubric=rubric, protocol=protocol)


@dataclass
class RecipeFolder:
    """A folder to fill; its runs are planned by a real recipe."""

    path: Path

    def plan(self, held_out: Sequence[Task], **recipe: Any) -> list[str]:
        """Write what the verb writes before the first run starts; gives the names of the runs."""
        self.path.mkdir(parents=True, exist_ok=True)
        training, own = self.path / "tasks.jsonl", self.path / "held-out.jsonl"
        save_tasks(training, [make_task(f"training {number}") for number in range(8)])
        save_tasks(own, held_out)
        given = {
            "method": "rubric-rl",
            "model": "tiny",
            "tasks": str(training),
            "judge": FIRST,
            "rollouts": 100,
            "validate": {"tasks": str(own), "judge": SECOND},
            "out": str(self.path),
            **recipe,
        }
        source = self.path / "recipe.yaml"
        source.write_text(json.dumps(given), encoding="utf-8")
        write_json(self.path / "plan.json", plan_training(source).model_dump(mode="json"))
        runs = list_runs(load_recipe(source))
        for run in runs:
            (self.path / run.name).mkdir()
            write_json(self.path / run.name / "run.json", render_config(run))
        return [run.name for run in runs]

    def look(self, run: str, step: int, answers: Mapping[str, Judged], *, judged: bool = True) -> None:
        """The answers of a validation, with the verdicts and scores on them unless it is pending."""
        folder = self.path / run / f"validation/step-{step:04d}"
        save_responses(folder / "answers.jsonl", [Response(task_id=t, text=a.text) for t, a in answers.items()])
        if not judged:
            return
        rows: dict[str, list[Any]] = {"verdicts": [], "second": [], "scores": []}
        for task, answer in answers.items():
            if answer.verdicts:
                rows["verdicts"].append(render_verdict_row(task, 0, {"criteria": tuple(answer.verdicts)}))
            second = {"criteria": tuple(answer.second)} if answer.second else {"probe": (True,) * 4}
            rows["second"].append(render_verdict_row(task, 0, second))
            values = {"coverage": answer.g, "appropriateness": answer.c}
            scores = {name: Score(value=v, low=v or 0.0, high=1.0 if v is None else v) for name, v in values.items()}
            rows["scores"].append(render_score_row(task, 0, scores))
        for name, own in rows.items():
            if own:
                (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in own), encoding="utf-8")

    def steps(self, run: str, records: Sequence[Mapping[str, Any]]) -> None:
        """The rollouts of a run; what a record does not say is as in a step where nothing happened."""
        base: dict[str, Any] = {
            "responses": 8,
            "unknown": 0,
            "unknown_rate": 0.0,
            "score": None,
            "overlong": 0.0,
            "coverage": None,
            "shadow": {},
            "shadow_known": {},
            "appropriateness": None,
            "tokens": None,
            "characters": 0.0,
            "groups": 2,
            "equal_groups": 0.0,
            "dimension_rate": None,
            "dimensions": {},
        }
        made = [StepRecord(**{**base, "step": number, **record}) for number, record in enumerate(records, 1)]
        lines = [json.dumps(record.model_dump(mode="json")) + "\n" for record in made]
        (self.path / run / "steps.jsonl").write_text("".join(lines), encoding="utf-8")

    def state(self, run: str, state: str, step: int, reason: str = "") -> None:
        write_json(self.path / run / "state.json", {"state": state, "step": step, "reason": reason})


TASKS = [make_task("fever"), make_task("rash")]
ALARM = {"step": 2, "proxy": "the score", "other": "k1", "rise": 0.1, "fall": 0.2, "since": 1}
UNTRAINED = {
    "fever": Judged("Rest.", 1 / 3, 0.5, [True, False, False], [True, False, False]),
    "rash": Judged("Wait.", 2 / 3, 0.7, [False, True, True], [False, True, True]),
}
NAMES = ["rubric-rl-seed-1", "prorubric-seed-1", "rubric-rl-seed-2", "prorubric-seed-2"]


def fill_two_methods(folder: RecipeFolder) -> None:
    """Two methods of two seeds at steps 0 and 50: rubric-rl loses a criterion that the untrained answer met."""
    assert folder.plan(TASKS, sweep={"method": ["rubric-rl", "prorubric"]}, seeds=[1, 2]) == NAMES
    for name, c in zip(NAMES, (0.3, 0.8, 0.2, 0.9), strict=True):
        folder.look(name, 0, UNTRAINED)
        met = [False, True, True] if name.startswith("rubric") else [True, True, True]
        trained = {
            "fever": Judged("Rest a lot.", 2 / 3, c, met, [False, False, True]),
            "rash": Judged("Wait and see.", 1.0, c, [True, True, True], [True, True, True]),
        }
        folder.look(name, 50, trained)
        rates = [{"d": {"rate": rate, "known": 4, "unknown": 0, "tasks": 1}} for rate in (0.25, 0.5, 0.5, 0.5, 1.0)]
        rewards = (0.1, 0.2, 0.3, 0.4, 0.5) if name.endswith("1") else (0.3, 0.4, 0.5, 0.6, None)
        records = [{"reward": reward, "dimensions": rate} for reward, rate in zip(rewards, rates, strict=True)]
        folder.steps(name, [*records[:4], {**records[4], "unknown": 8, "alarms": [ALARM]}])
        folder.state(name, "done", 100)
