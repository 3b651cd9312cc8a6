"""Results of runs that never ran, for what is made of them."""

from functools import cache
from pathlib import Path

import numpy as np

from prorubric.files.write import write_json
from prorubric.lab.checklist import make_checklists
from prorubric.lab.demos import write_demos
from prorubric.lab.incentive import Audit, audit_policy
from prorubric.lab.measure import PARTS, Measure
from prorubric.lab.results import HELD_OUT_CASES, HELD_OUT_SEED, KEPT_ANSWERS, BaseResult, LabRun, Point
from prorubric.lab.world import END, make_world


def make_measure(c: float, g: float = 0.3) -> Measure:
    return Measure(
        g=g,
        g_lenient=g + 0.1,
        c=c,
        parts=dict.fromkeys(PARTS, c),
        tokens=100,
        accuracy=0.5,
        naming=0.4,
    )


@cache
def make_answers(world: str = "triage-v1") -> tuple[tuple[int, ...], ...]:
    """Demonstrations for the first held-out cases."""
    cases = make_checklists(world, HELD_OUT_CASES, HELD_OUT_SEED).cases
    rows = write_demos(make_world(world), cases, 0)[:KEPT_ANSWERS]
    return tuple(tuple(int(move) for move in row if move != END) for row in rows)


def make_base(schemes: list[str], c: float = 0.6, world: str = "triage-v1") -> BaseResult:
    return BaseResult(
        world=world,
        sampled=make_measure(c, 0.1),
        greedy=make_measure(c, 0.1),
        answers=make_answers(world),
        audit=audit_demos(world, tuple(schemes)),
    )


@cache
def audit_demos(world: str, schemes: tuple[str, ...]) -> Audit:
    lists = make_checklists(world, 40, 0)
    rows = np.tile(np.arange(40), 2)
    first, second = (write_demos(make_world(world), lists.cases, seed) for seed in (0, 1))
    moves = np.full((80, max(first.shape[1], second.shape[1])), END)
    moves[:40, : first.shape[1]], moves[40:, : second.shape[1]] = first, second
    return audit_policy(make_world(world), lists, rows, moves, schemes)


def make_run(scheme: str, seed: int, curve: dict[int, float], g: float = 0.3, **extra: object) -> LabRun:
    points = tuple(Point(step=step, measure=make_measure(c, g)) for step, c in curve.items())
    steps = max(curve)
    given = {"ties": (0.0,) * steps, "answers": make_answers(), "world": "triage-v1", **extra}
    return LabRun(
        scheme=scheme,
        seed=seed,
        steps=steps,
        points=points,
        greedy=points[-1].measure,
        rewards=(0.5,) * steps,
        tokens=(100.0,) * steps,
        cpu_seconds=1.0,
        **given,
    )


def write_folder(folder: Path, base: BaseResult, runs: list[LabRun]) -> Path:
    (folder / "runs").mkdir(parents=True)
    write_json(folder / "base.json", base.model_dump(mode="json"))
    for run in runs:
        name = f"{run.scheme}-seed-{run.seed}-steps-{run.steps}.json"
        write_json(folder / "runs" / name, run.model_dump(mode="json"))
    return folder
