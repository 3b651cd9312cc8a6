"""From rewards of answers and of their edits to the tables of an audit: what each edit earns under each scheme.

Any source of rewards will do; the lab hands in its own. A reward is NaN where it is not known.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from prorubric.audit.bootstrap import RESAMPLES, Bootstrap, Floats, Integers, group_spread, number_prompts
from prorubric.audit.edits.naming import NAME_ITEM
from prorubric.audit.edits.substance import ADD_SUBSTANCE, INTEGRATE_SUBSTANCE
from prorubric.audit.paper import find_paper_effect, find_paper_share
from prorubric.audit.records import Effect, Forecast, Share

MARGIN = 2.0
"""Points of reward × 100 that count as no change. A little above the paper's noise floor: there, saying the same in
other words moved rewards by 1.0 to 1.7."""
PLACEMENT = f"{INTEGRATE_SUBSTANCE.name} against {ADD_SUBSTANCE.name}"
_NAMED, _SATISFIED = "named, of both", "satisfied, of both"


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
    columns = {cell: rewards.change(*cell) for cell in cells}
    for scheme in rewards.answers:
        columns |= _pair_columns(columns, scheme)
    bootstrap = Bootstrap.of(np.stack([*columns.values()], axis=1), rewards.prompt_numbers, resamples)
    place_of = {cell: place for place, cell in enumerate(columns)}
    measure = _Measure(rewards, columns, bootstrap, place_of)
    return Tables(
        effects=tuple(measure.effect(edit, scheme) for edit, scheme in cells),
        placement=tuple(
            measure.describe(PLACEMENT, scheme, rewards.made[INTEGRATE_SUBSTANCE.name])
            for scheme in rewards.answers
            if (PLACEMENT, scheme) in columns
        ),
        naming_share=tuple(measure.share(scheme) for scheme in rewards.answers if (_NAMED, scheme) in columns),
    )


def forecast_signal(rewards: Rewards, margin: float = MARGIN) -> tuple[Forecast, ...]:
    """For each scheme how many groups of answers would teach nothing, and how many rewards they tell apart."""
    prompts = rewards.prompt_numbers
    return tuple(_forecast(scheme, values, prompts, margin) for scheme, values in rewards.answers.items())


def _pair_columns(columns: Mapping[tuple[str, str], Floats], scheme: str) -> dict[tuple[str, str], Floats]:
    """Columns that compare two edits: on the answers for which both are known, since a ratio of others says nothing."""
    naming, substance, integrated = (
        columns.get((kind.name, scheme)) for kind in (NAME_ITEM, ADD_SUBSTANCE, INTEGRATE_SUBSTANCE)
    )
    found = {}
    if substance is not None and integrated is not None:
        found[PLACEMENT, scheme] = integrated - substance
    if naming is not None and substance is not None:
        both = ~np.isnan(naming) & ~np.isnan(substance)
        found[_NAMED, scheme] = np.where(both, naming, np.nan)
        found[_SATISFIED, scheme] = np.where(both, substance, np.nan)
    return found


class _Measure:
    """Figures of single columns: each is a change × 100, by edit and scheme."""

    def __init__(
        self,
        rewards: Rewards,
        columns: Mapping[tuple[str, str], Floats],
        bootstrap: Bootstrap,
        place_of: Mapping[tuple[str, str], int],
    ) -> None:
        self._columns, self._bootstrap, self._place_of = columns, bootstrap, place_of
        self._prompts = rewards.prompt_numbers
        self._made = rewards.made
        every = [*rewards.answers.values(), *(row for rows in rewards.edited.values() for row in rows.values())]
        within = all(((values >= 0) & (values <= 1) | np.isnan(values)).all() for values in every)
        self._furthest = 100.0 if within else math.inf
        self._spreads = {name: group_spread(100 * values, self._prompts) for name, values in rewards.answers.items()}

    def effect(self, edit: str, scheme: str) -> Effect:
        paper = find_paper_effect(edit, scheme)
        beside = {"paper": paper.mean, "paper_low": paper.low, "paper_high": paper.high}
        return self.describe(edit, scheme, self._made[edit]).model_copy(update=beside)

    def describe(self, name: str, scheme: str, made_R: npt.NDArray[np.bool_]) -> Effect:
        change_R = self._columns[name, scheme]
        known = ~np.isnan(change_R)
        values = change_R[known]
        found = self._bootstrap.estimate(self._place_of[name, scheme])
        spread = self._spreads[scheme]
        return Effect(
            edit=name,
            scheme=scheme,
            mean=found.mean,
            low=None if found.low is None else max(found.low, -self._furthest),
            high=None if found.high is None else min(found.high, self._furthest),
            rising=_share(values > 0),
            falling=_share(values < 0),
            unchanged=_share(values == 0),
            pairs=len(values),
            prompts=len(np.unique(self._prompts[known])),
            unknown=int((made_R & ~known).sum()),
            per_spread=found.mean / spread if found.mean is not None and spread else None,
        )

    def share(self, scheme: str) -> Share:
        found = self._bootstrap.ratio(self._place_of[_NAMED, scheme], self._place_of[_SATISFIED, scheme])
        pairs = int((~np.isnan(self._columns[_NAMED, scheme])).sum())
        paper = find_paper_share(scheme)
        return Share(scheme=scheme, value=found.mean, low=found.low, high=found.high, pairs=pairs, paper=paper)


def _share(which: npt.NDArray[np.bool_]) -> float | None:
    return float(which.mean()) if len(which) else None


def _forecast(scheme: str, rewards_R: Floats, prompt_R: Integers, margin: float) -> Forecast:
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
        floor=_share(100 * rewards_R[known] <= margin),
        ceiling=_share(100 * rewards_R[known] >= 100 - margin),
    )


def _count_levels(group: Floats) -> float:
    """The exponential of the entropy: four answers with rewards a a b b tell two levels apart, a a a b fewer."""
    _, counts = np.unique(group, return_counts=True)
    shares = counts / counts.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
