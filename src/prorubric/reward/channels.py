"""Advantages by dimension: each one is a channel, centred and scaled within its group, then added by its weight.

Trainers that can normalise several rewards have one weight for each reward function, and the dimensions of a task have
their own. So an adapter computes `Σ w_k A_k` here and hands over one number for each response; its trainer must not
scale that within the group again. A dimension that is unknown or not applicable adds nothing to its response and is
left out of its channel's mean and spread. A response of which no dimension is known has no number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from prorubric.aggregate.advantages import channel_advantages
from prorubric.aggregate.plan import make_scoring_plan
from prorubric.aggregate.schemes import APPROPRIATENESS, BASE_SCHEMES, Scheme, find_scheme
from prorubric.errors import ConfigError
from prorubric.reward.dimensions import grade
from prorubric.reward.reward import Reward
from prorubric.rubric.records import Task


@dataclass(frozen=True, slots=True)
class Channels:
    """The dimensions of one response, and appropriateness if the scheme has it."""

    values: tuple[float | None, ...]
    """From 0 to 1; None if unknown or not applicable."""
    weights: tuple[float, ...]
    """Shares that sum to 1."""
    overlong: float
    """What length added, which is not normalised."""


def check_channels(scheme: str) -> None:
    """Raise `ConfigError` unless the score under a scheme is the weighted mean of a task's dimensions."""
    if not _adds_dimensions(find_scheme(scheme)):
        known = ", ".join(name for name in BASE_SCHEMES if _adds_dimensions(find_scheme(name)))
        remedy = f"use one that does: {known}, each also with +{APPROPRIATENESS}"
        raise ConfigError(f"channels: {scheme} does not add dimensions by their weight", remedy=remedy)


def read_channels(task: Task, reward: Reward) -> Channels:
    """The channels of one response under the scheme of its reward."""
    plan = make_scoring_plan(task, reward.parts.scheme)
    values = [grade(verdict) for verdict in reward.parts.dimensions.values()]
    if plan.scheme.appropriateness:
        (verdict,) = reward.parts.verdicts[APPROPRIATENESS]
        values.append(float(verdict) if isinstance(verdict, bool) else None)
    weights = tuple(weight / plan.positive_weight for weight in plan.weights)
    return Channels(tuple(values), weights, reward.parts.overlong)


def weigh_channels(
    responses: Sequence[Channels], groups: Sequence[object], epsilon: float = 1e-6
) -> list[float | None]:
    """`Σ w_k A_k` of each response plus what length added; None if no dimension of it is known."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(groups))}
    nan = float("nan")
    values = np.array([*zip_longest(*(one.values for one in responses))], dtype=np.float64).T
    weights = np.array([*zip_longest(*(one.weights for one in responses), fillvalue=nan)], dtype=np.float64).T
    found = channel_advantages(values, [numbers[name] for name in groups], weights, epsilon).values.tolist()
    return [
        None if all(value is None for value in one.values) else total + one.overlong
        for one, total in zip(responses, found, strict=True)
    ]


def _adds_dimensions(scheme: Scheme) -> bool:
    is_plain = scheme.gate is None and scheme.own is None and not scheme.is_relative
    return is_plain and scheme.groups_criteria
