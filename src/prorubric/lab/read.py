"""A case read aloud: what was asked, the untrained answer and the trained ones, and what each has of the checklist.

The answers are the greedy ones that every run keeps. Marks are what is so, not what a judge said of it: met, named
only, wrong, or absent. Reading needs no torch.
"""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from prorubric.errors import ConfigError
from prorubric.lab.checklist import make_checklists
from prorubric.lab.facts import Facts
from prorubric.lab.measure import PARTS, hold_parts
from prorubric.lab.moves import END, list_sentences
from prorubric.lab.results import RunResult
from prorubric.lab.rows import BASE
from prorubric.lab.setting import HELD_OUT_CASES, HELD_OUT_SEED, KEPT_ANSWERS
from prorubric.lab.world import make_world
from prorubric.lab.worlds import load_runs
from prorubric.rubric.base import Record, config_record, split_commas

Mark = Literal["absent", "named", "wrong", "met"]
_MARKS: tuple[Mark, ...] = ("absent", "named", "wrong", "met")
_Name = tuple[str, int | None, int]
"""Scheme, seed and steps of a run."""


@config_record
class ReadConfig:
    """Which case, and whose answers."""

    case: Annotated[int, Field(ge=1, le=KEPT_ANSWERS)] = 1
    """Number of a held-out case."""
    _: KW_ONLY
    scheme: Annotated[tuple[str, ...], BeforeValidator(split_commas)] = ()
    """Comma-separated schemes whose answers to show; by default all in the folder."""
    out: Path = Path("prorubric-lab")
    """Run folder."""


class ReadAnswer(Record):
    """One policy's answer."""

    scheme: str
    seed: int | None
    steps: int
    """How many steps it was trained for; 0 for the untrained policy."""
    sentences: tuple[str, ...]
    tokens: int
    marks: tuple[Mark, ...]
    """For each criterion of the checklist."""
    parts: dict[str, bool]
    """The parts of `c`, and whether they hold."""


class Reading(Record):
    """One case with all answers."""

    world: str
    case: int
    question: str
    right_decision: str
    criteria: tuple[str, ...]
    weights: tuple[float, ...]
    answers: tuple[ReadAnswer, ...]


def read_case(config: ReadConfig) -> Reading:
    """Read one case from a run folder: of every scheme the longest run, and of several the first seed."""
    base, runs = load_runs(config.out)
    chosen = _choose(runs, config)
    world = make_world(base.world)
    lists = make_checklists(base.world, HELD_OUT_CASES, HELD_OUT_SEED)
    row = config.case - 1
    rows = [base.answers[row], *(run.answers[row] for run in chosen)]
    moves = np.full((len(rows), max(map(len, rows)) + 1), END)
    for number, answer in enumerate(rows):
        moves[number, : len(answer)] = answer
    facts = Facts(world, lists, np.full(len(rows), row), moves)
    task = lists.tasks[row]
    names: list[_Name] = [(BASE, None, 0), *((run.scheme, run.seed, run.steps) for run in chosen)]
    return Reading(
        world=base.world,
        case=config.case,
        question=task.messages[0].content,
        right_decision=world.texts.decisions[lists.cases.level_T[row]],
        criteria=tuple(criterion.text for criterion in task.rubric.criteria),
        weights=task.rubric.weights,
        answers=tuple(_read_answer(facts, number, name, len(task.rubric)) for number, name in enumerate(names)),
    )


def _read_answer(facts: Facts, number: int, name: _Name, criteria: int) -> ReadAnswer:
    scheme, seed, steps = name
    sentences = list_sentences(facts.world)
    return ReadAnswer(
        scheme=scheme,
        seed=seed,
        steps=steps,
        sentences=tuple(sentences[move] for move in facts.moves_R_L[number] if move != END),
        tokens=int(facts.tokens[number]),
        marks=tuple(_MARKS[level] for level in facts.level[number, :criteria]),
        parts={part: bool(holds) for part, holds in zip(PARTS, hold_parts(facts)[number], strict=True)},
    )


def _choose(runs: list[RunResult], config: ReadConfig) -> list[RunResult]:
    first = {run.scheme: run for run in sorted(runs, key=lambda run: (run.steps, -run.seed))}
    wanted = config.scheme or tuple(sorted(first))
    for name in wanted:
        if name not in first:
            raise ConfigError(f"{config.out} holds no run of {name!r}; it holds: {', '.join(sorted(first)) or 'none'}")
    return [first[name] for name in wanted]
