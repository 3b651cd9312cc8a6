"""From rewards of answers and of their edits to the tables of an audit: what each edit earns under each scheme.

Any source of rewards will do; the lab hands in its own. A reward is NaN where it is not known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from prorubric.audit.paper import find_paper_effect, find_paper_share
from prorubric.audit.records import Effect, Forecast, Share
from prorubric.audit.statistics import (
    RESAMPLES,
    Bootstrap,
    Floats,
    Integers,
    group_spread,
    number_prompts,
)

NAMING, SUBSTANCE, INTEGRATED = "name-item", "add-substance", "integrate-substance"
PLACEMENT = f"{INTEGRATED} against {SUBSTANCE}"


@dataclass(frozen=True, slots=True)
class Rewards:
    """The rewards of an audit, answer by answer."""

    prompts: tuple[str, ...]
    """The prompt of each answer."""
    answers: Mapping[str, Floats]
    """By scheme, what each answer earns as it is."""
    edited: Mapping[str, Mapping[str, Floats]]
    """By edit and scheme, what it earns after the edit."""
    made: Mapping[str, npt.NDArray[np.bool_]]
    """By edit, for which answers it was made: what was not made is not unknown."""

    @property
    def prompt_numbers(self) -> Integers:
        """The prompt of each answer as a number."""
        return number_prompts(self.prompts)

    def change(self, edit: str, scheme: str) -> Floats:
        """By how much the edit changes each reward, × 100."""
        return 100 * (self.edited[edit][scheme] - self.answers[scheme])


@dataclass(frozen=True, slots=True)
class Tables:
    """What `measure_effects` gives."""

    effects: tuple[Effect, ...]
    placement: tuple[Effect, ...]
    naming_share: tuple[Share, ...]


def measure_effects(rewards: Rewards, resamples: int = RESAMPLES) -> Tables:
    """Every edit under every scheme, with intervals; naming as a share of substance; placement."""
    cells = list(product(rewards.edited, rewards.answers))
    paired = [scheme for scheme in rewards.answers if {SUBSTANCE, INTEGRATED} <= rewards.edited.keys()]
    changes = [rewards.change(*cell) for cell in cells]
    moves = [rewards.change(INTEGRATED, scheme) - rewards.change(SUBSTANCE, scheme) for scheme in paired]
    bootstrap = Bootstrap.of(np.stack([*changes, *moves], axis=1), rewards.prompt_numbers, resamples)
    effects = [_make_effect(rewards, bootstrap, column, *cell) for column, cell in enumerate(cells)]
    placement = [
        _describe(rewards, moves[i], bootstrap, len(cells) + i, (PLACEMENT, scheme), rewards.made[INTEGRATED])
        for i, scheme in enumerate(paired)
    ]
    column_of = {cell: column for column, cell in enumerate(cells)}
    shares = [
        _make_share(bootstrap, column_of, scheme)
        for scheme in rewards.answers
        if {NAMING, SUBSTANCE} <= rewards.edited.keys()
    ]
    return Tables(tuple(effects), tuple(placement), tuple(shares))


def forecast_signal(rewards: Rewards) -> tuple[Forecast, ...]:
    """For each scheme how many groups of answers would teach nothing, and how many rewards they tell apart."""
    return tuple(_forecast(scheme, values, rewards.prompt_numbers) for scheme, values in rewards.answers.items())


def _make_effect(rewards: Rewards, bootstrap: Bootstrap, column: int, edit: str, scheme: str) -> Effect:
    effect = _describe(rewards, rewards.change(edit, scheme), bootstrap, column, (edit, scheme), rewards.made[edit])
    paper = find_paper_effect(edit, scheme)
    return effect.model_copy(update={"paper": paper.mean, "paper_low": paper.low, "paper_high": paper.high})


def _describe(
    rewards: Rewards,
    change_R: Floats,
    bootstrap: Bootstrap,
    column: int,
    names: tuple[str, str],
    made_R: npt.NDArray[np.bool_],
) -> Effect:
    known = ~np.isnan(change_R)
    values = change_R[known]
    found = bootstrap.estimate(column)
    spread = group_spread(100 * rewards.answers[names[1]], rewards.prompt_numbers)
    return Effect(
        edit=names[0],
        scheme=names[1],
        mean=found.mean,
        low=found.low,
        high=found.high,
        rising=_share(values > 0),
        falling=_share(values < 0),
        unchanged=_share(values == 0),
        pairs=len(values),
        prompts=len(np.unique(rewards.prompt_numbers[known])),
        unknown=int((made_R & ~known).sum()),
        per_spread=found.mean / spread if found.mean is not None and spread else None,
    )


def _share(which: npt.NDArray[np.bool_]) -> float | None:
    return float(which.mean()) if len(which) else None


def _make_share(bootstrap: Bootstrap, column_of: Mapping[tuple[str, str], int], scheme: str) -> Share:
    found = bootstrap.ratio(column_of[NAMING, scheme], column_of[SUBSTANCE, scheme])
    return Share(scheme=scheme, value=found.mean, low=found.low, high=found.high, paper=find_paper_share(scheme))


def _forecast(scheme: str, rewards_R: Floats, prompt_R: Integers) -> Forecast:
    known = ~np.isnan(rewards_R)
    groups = [rewards_R[known & (prompt_R == prompt)] for prompt in np.unique(prompt_R[known])]
    groups = [group for group in groups if len(group) > 1]
    spread = group_spread(100 * rewards_R, prompt_R)
    return Forecast(
        scheme=scheme,
        groups=len(groups),
        size=_mean([len(group) for group in groups]),
        tied=_mean([float(group.min() == group.max()) for group in groups]),
        levels=_mean([_count_levels(group) for group in groups]),
        spread=spread,
        mean=float(100 * rewards_R[known].mean()) if known.any() else None,
    )


def _count_levels(group: Floats) -> float:
    """The exponential of the entropy: four answers with rewards a a b b tell two levels apart, a a a b fewer."""
    _, counts = np.unique(group, return_counts=True)
    shares = counts / counts.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
