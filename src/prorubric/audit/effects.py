"""From rewards of answers and of their edits to the tables of an audit: what each edit earns under each scheme.

The rewards can come from anywhere; the lab passes its own. An unknown reward is NaN.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prorubric.aggregate.bootstrap import (
    RESAMPLES,
    Bootstrap,
    Floats,
    group_spread,
    list_groups,
    mean_of,
    number_prompts,
)
from prorubric.audit.edits.naming import NAME_ITEM
from prorubric.audit.edits.substance import ADD_SUBSTANCE, INTEGRATE_SUBSTANCE
from prorubric.audit.paper import find_paper_effect, find_paper_share
from prorubric.audit.records import Effect, Forecast, Share

MARGIN = 2.0
"""Points of reward × 100 that count as no change. A little above the paper's noise floor: there, saying the same in
other words moved rewards by 1.0 to 1.7."""
PLACEMENT = f"{INTEGRATE_SUBSTANCE.name} against {ADD_SUBSTANCE.name}"
_NAMED, _SATISFIED = "named, of both", "satisfied, of both"

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rewards:
    """The rewards of an audit, answer by answer."""

    prompts: tuple[str, ...]
    """The prompt of each answer."""
    answers: Mapping[str, Floats]
    """By scheme, what each answer earns as it is."""
    edited: Mapping[str, Mapping[str, Floats]]
    """By edit and scheme, what it earns after the edit."""
    made: Mapping[str, Booleans]
    """By edit, for which answers it was made: an edit that was not made is not counted as unknown."""

    @property
    def bound(self) -> float:
        """How far a reward × 100 can change; infinite if some reward is not within [0, 1]."""
        every = [*self.answers.values(), *(row for rows in self.edited.values() for row in rows.values())]
        within = all(((values >= 0) & (values <= 1) | np.isnan(values)).all() for values in every)
        return 100.0 if within else math.inf


class Tables(NamedTuple):
    """What `measure_effects` gives."""

    effects: tuple[Effect, ...]
    placement: tuple[Effect, ...]
    naming_share: tuple[Share, ...]


def measure_effects(rewards: Rewards, resamples: int = RESAMPLES) -> Tables:
    """Every edit under every scheme, with intervals; naming as a share of substance; placement."""
    columns = {
        (edit, scheme): 100 * (rewards.edited[edit][scheme] - answers_R)
        for edit, (scheme, answers_R) in product(rewards.edited, rewards.answers.items())
    }
    for scheme in rewards.answers:
        columns |= _pair_columns(columns, scheme)
    prompts, bound = number_prompts(rewards.prompts), rewards.bound
    bootstrap = Bootstrap.of(np.stack([*columns.values()], axis=1), prompts, resamples)
    place_of = {cell: place for place, cell in enumerate(columns)}
    spreads = {scheme: group_spread(100 * values, prompts) for scheme, values in rewards.answers.items()}

    def describe(name: str, scheme: str) -> Effect:
        change_R, spread = columns[name, scheme], spreads[scheme]
        known_R, made_R = ~np.isnan(change_R), rewards.made[INTEGRATE_SUBSTANCE.name if name == PLACEMENT else name]
        found, values = bootstrap.estimate(place_of[name, scheme]), change_R[known_R]
        paper = find_paper_effect(name, scheme)
        return Effect(
            edit=name,
            scheme=scheme,
            mean=found.mean,
            low=None if found.low is None else max(found.low, -bound),
            high=None if found.high is None else min(found.high, bound),
            rising=mean_of(values > 0),
            falling=mean_of(values < 0),
            unchanged=mean_of(values == 0),
            pairs=len(values),
            prompts=len(np.unique(prompts[known_R])),
            unknown=int((made_R & ~known_R).sum()),
            per_spread=found.mean / spread if found.mean is not None and spread else None,
            paper=paper.mean,
            paper_low=paper.low,
            paper_high=paper.high,
        )

    def describe_share(scheme: str) -> Share:
        found = bootstrap.ratio(place_of[_NAMED, scheme], place_of[_SATISFIED, scheme])
        pairs = int((~np.isnan(columns[_NAMED, scheme])).sum())
        paper = find_paper_share(scheme)
        return Share(scheme=scheme, value=found.mean, low=found.low, high=found.high, pairs=pairs, paper=paper)

    return Tables(
        effects=tuple(describe(name, scheme) for name, scheme in columns if name in rewards.edited),
        placement=tuple(describe(name, scheme) for name, scheme in columns if name == PLACEMENT),
        naming_share=tuple(describe_share(scheme) for name, scheme in columns if name == _NAMED),
    )


def _pair_columns(columns: Mapping[tuple[str, str], Floats], scheme: str) -> dict[tuple[str, str], Floats]:
    """Columns that compare two edits: only answers for which both are known, since they form ratios."""
    kinds = (NAME_ITEM, ADD_SUBSTANCE, INTEGRATE_SUBSTANCE)
    naming, substance, integrated = (columns.get((kind.name, scheme)) for kind in kinds)
    found = {}
    if substance is not None and integrated is not None:
        found[PLACEMENT, scheme] = integrated - substance
    if naming is not None and substance is not None:
        both = ~np.isnan(naming) & ~np.isnan(substance)
        found[_NAMED, scheme] = np.where(both, naming, np.nan)
        found[_SATISFIED, scheme] = np.where(both, substance, np.nan)
    return found


def forecast_signal(rewards: Rewards, margin: float = MARGIN) -> tuple[Forecast, ...]:
    """For each scheme how many groups of answers would teach nothing, and how many rewards they tell apart."""
    prompts = number_prompts(rewards.prompts)
    forecasts = []
    for scheme, rewards_R in rewards.answers.items():
        points_R, known_R = 100 * rewards_R, ~np.isnan(rewards_R)
        groups, mean = list_groups(points_R, prompts), mean_of(rewards_R[known_R])
        levels = []
        for group in groups:
            # The exponential of the entropy: four answers with rewards a a b b tell two levels apart, a a a b fewer.
            shares = np.unique(group, return_counts=True)[1] / len(group)
            levels.append(float(np.exp(-(shares * np.log(shares)).sum())))
        forecast = Forecast(
            scheme=scheme,
            groups=len(groups),
            size=mean_of([len(group) for group in groups]),
            tied=mean_of([group.min() == group.max() for group in groups]),
            levels=mean_of(levels),
            spread=group_spread(points_R, prompts),
            mean=None if mean is None else 100 * mean,
            floor=mean_of(points_R[known_R] <= margin),
            ceiling=mean_of(points_R[known_R] >= 100 - margin),
        )
        forecasts.append(forecast)
    return tuple(forecasts)
