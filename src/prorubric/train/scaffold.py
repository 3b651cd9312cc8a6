"""Scaffolds of RuscaRL: in training, some rollouts of a group are shown part of their task's rubric.

The first rollout of a group sees the most and the last one nothing, and all of them see less as training goes on. The
items shown are drawn by a hash of (seed, task, step, rollout), so a resumed run shows the same ones. Validation has no
scaffold, and neither has a group of one.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import Field

from prorubric.errors import ConfigError
from prorubric.rubric.base import config_record
from prorubric.rubric.records import Task
from prorubric.train.guidance import Chat, Item, Role, add_guidance, list_guidance, render_guidance

_LARGEST_EXPONENT = 700.0
"""Beyond this `math.exp` overflows; the share is 0 long before."""


@config_record
class Scaffold:
    """How scaffolds are shown; the defaults are the paper's RuscaRL."""

    _: KW_ONLY
    role: Role = "user"
    """Where the scaffold is: at the end of the last user message, or in a system message before the prompt."""
    train_on: Literal["scaffolded", "original"] = "scaffolded"
    """The prompt that the loss is computed on."""
    schedule: Literal["sigmoid", "linear"] = "sigmoid"
    """How the share shown falls during training; `linear` goes from all in the first step to none in the last."""
    alpha: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 125.0
    """How steeply a sigmoid falls."""
    start: Annotated[float, Field(ge=0, le=1)] = 0.2
    """Where in the run, from 0 to 1, a sigmoid has fallen by half."""
    shuffle: bool = True
    """Show the items in the order in which they are drawn; otherwise in the order of the rubric."""


PAPER_SCAFFOLD = Scaffold()
ORIGINAL_SCAFFOLD = Scaffold(role="system", train_on="original")
"""As the authors of RuscaRL published it."""


def scaffold_counts(
    criteria: int, responses: int = 8, step: int = 1, steps: int = 300, scaffold: Scaffold = PAPER_SCAFFOLD
) -> list[int]:
    """How many of a task's criteria each rollout of its group is shown in a step (from 1), in the order of rollouts."""
    if criteria < 0 or responses < 1 or not 1 <= step <= steps:
        given = f"criteria={criteria}, responses={responses}, step={step}, steps={steps}"
        remedy = "criteria from 0, responses from 1, and a step from 1 to steps"
        raise ConfigError("no such place in a run", given, remedy=remedy, place="scaffold_counts")
    progress = (step - 1) / (steps - 1) if steps > 1 else 0.0
    if scaffold.schedule == "linear":
        left = 1.0 - progress
    else:
        left = 1 / (1 + math.exp(min(scaffold.alpha * (progress - scaffold.start), _LARGEST_EXPONENT)))
    last = responses - 1
    return [round(criteria * ((last - place) / last * left)) if last else 0 for place in range(responses)]


def draw_items(
    items: Sequence[Item], number: int, draw: tuple[int, str, int, int], *, shuffle: bool = True
) -> list[Item]:
    """So many of the items, without replacement; `draw` is (seed, task id, step, rollout)."""
    # Ranks by hash are the same in every process and every version of Python; `random.sample` does not promise that.
    place = "\0".join(map(str, draw)).encode("utf-8", "surrogatepass")
    ranked = sorted(range(len(items)), key=lambda index: sha256(b"%b\0%d" % (place, index)).digest())
    chosen = ranked[:number]
    return [items[index] for index in (chosen if shuffle else sorted(chosen))]


def scaffold_prompt(
    task: Task, scaffold: Scaffold, *, seed: int, step: int, steps: int, rollout: int, responses: int
) -> Chat:
    """The messages of a task as its policy sees them in one rollout (from 0) of a step (from 1)."""
    items = list_guidance(task)
    number = scaffold_counts(len(items), responses, step, steps, scaffold)[rollout]
    shown = draw_items(items, number, (seed, task.id, step, rollout), shuffle=scaffold.shuffle)
    messages = [message.model_dump() for message in task.messages]
    return add_guidance(messages, render_guidance("scaffold", shown), scaffold.role)
