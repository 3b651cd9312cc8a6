"""Judges against physicians, against each other, and criterion by criterion. An unknown verdict makes no pair."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from prorubric.aggregate.bootstrap import RESAMPLES, Bootstrap, number_prompts
from prorubric.evaluate.scores import CriteriaF1, balanced_f1, balanced_f1_by_criterion
from prorubric.evaluate.sides import SideResult, Sides
from prorubric.evaluate.statistics import Repeatability, find_common
from prorubric.judge.agreement import Label, count_pairs
from prorubric.rubric.base import Record

_Pairs = list[tuple[Label, Label]]


class CriterionVerdict(NamedTuple):
    """What a judge said of one criterion of one answer."""

    benchmark: str
    judge: str
    policy: str
    item: str
    sample: int
    criterion: str
    """Its number in the rubric, or its name in a probe."""
    weight: float
    met: bool | None
    """None if unknown."""


class LabelledVerdict(NamedTuple):
    """What a judge said of an answer that physicians judged by the same criterion."""

    judge: str
    item: str
    criterion: str
    theme: str
    conversation: str
    met: bool | None
    labels: tuple[bool, ...]
    """One for each physician."""


class ThemeAgreement(Record):
    """Balanced F1 on the criteria of one theme: the plain mean over those that have one."""

    theme: str
    criteria: int
    judge: float | None
    physicians: float | None


class LabelAgreement(Record):
    """A judge against each physician's label: balanced F1 by criterion, then the mean."""

    judge: str
    rows: int
    unknown: int
    """Rows without a verdict, which make no pair."""
    pairs: int
    pooled: float | None
    """Over the labels of all criteria at once."""
    criteria: CriteriaF1
    low: float | None
    """Of the mean over criteria; the interval is over conversations."""
    high: float | None
    physicians: CriteriaF1
    """Each physician against each other one on the same row."""
    themes: tuple[ThemeAgreement, ...]


class RankAgreement(Record):
    """Spearman's ρ between two judges' rankings of the policies; the interval is over items."""

    benchmark: str
    first: str
    second: str
    policies: int
    items: int
    rho: float | None
    low: float | None
    high: float | None


class Disagreement(Record):
    """Positive criteria on which two judges differ, over all answers of a method that both judged."""

    benchmark: str
    first: str
    second: str
    method: str
    criteria: int
    """With a verdict of both."""
    only_first: int
    """Met by the first judge and unmet by the second."""
    only_second: int
    unknown: int
    """Without a verdict of one of them."""


class CriterionRate(Record):
    """How often one criterion of a probe is met, in points, on the items on which every policy has a verdict."""

    benchmark: str
    judge: str
    criterion: str
    sides: tuple[SideResult, ...]
    n: int
    unknown: dict[str, int]
    """Verdicts that the judge did not give, by policy."""


class RepeatResult(Record):
    """What changed when a judge was asked twice about the same answers, in points."""

    benchmark: str
    judge: str
    repeated: Repeatability


def compare_labels(
    rows: Iterable[LabelledVerdict], resamples: int = RESAMPLES, seed: int = 0
) -> tuple[LabelAgreement, ...]:
    """Every judge against the physicians."""
    by_judge: dict[str, list[LabelledVerdict]] = defaultdict(list)
    for row in rows:
        by_judge[row.judge].append(row)
    found = []
    for judge in sorted(by_judge):
        own = sorted(by_judge[judge], key=lambda row: row.item)
        given: dict[str, _Pairs] = defaultdict(list)
        people: dict[str, _Pairs] = defaultdict(list)
        themes: dict[str, dict[str, None]] = defaultdict(dict)
        for row in own:
            given[row.criterion] += [(row.met, label) for label in row.labels]
            people[row.criterion] += permutations(row.labels, 2)
            themes[row.theme][row.criterion] = None
        criteria, physicians = (balanced_f1_by_criterion(dict(sorted(pairs.items()))) for pairs in (given, people))
        low, high = _resample_f1(own, sorted(given), resamples, seed)
        every = [pair for pairs in given.values() for pair in pairs]
        found.append(
            LabelAgreement(
                judge=judge,
                rows=len(own),
                unknown=sum(row.met is None for row in own),
                pairs=count_pairs(every).pairs,
                pooled=balanced_f1(every),
                criteria=criteria,
                low=low,
                high=high,
                physicians=physicians,
                themes=tuple(
                    ThemeAgreement(
                        theme=theme,
                        criteria=len(named),
                        judge=_mean(criteria.by_criterion[name] for name in named),
                        physicians=_mean(physicians.by_criterion[name] for name in named),
                    )
                    for theme, named in sorted(themes.items())
                ),
            )
        )
    return tuple(found)


def _resample_f1(
    rows: Sequence[LabelledVerdict], criteria: Sequence[str], resamples: int, seed: int
) -> tuple[float | None, float | None]:
    """The middle 95% of the mean over criteria, with whole conversations drawn again."""
    places = {name: place for place, name in enumerate(criteria)}
    groups = number_prompts([row.conversation for row in rows])
    conversations = int(groups.max(initial=-1)) + 1
    if conversations < 2:
        return None, None
    counts = np.zeros((conversations, len(criteria), 4))
    for row, group in zip(rows, groups, strict=True):
        counts[group, places[row.criterion]] += count_pairs((row.met, label) for label in row.labels)
    drawn = Bootstrap.of(counts.reshape(conversations, -1), np.arange(conversations), resamples, seed).mean_B_C
    tt, tf, ft, ff = np.moveaxis(drawn.reshape(-1, len(criteria), 4), -1, 0)
    # It is not a number if one side gave one answer only.
    is_two_sided = ((tt + tf) > 0) & ((ft + ff) > 0) & ((tt + ft) > 0) & ((tf + ff) > 0)
    f1_B_K = np.full(tt.shape, np.nan)
    with np.errstate(invalid="ignore"):
        np.copyto(f1_B_K, tt / (2 * tt + tf + ft) + ff / (2 * ff + tf + ft), where=is_two_sided)
    is_any_B = ~np.isnan(f1_B_K).all(axis=1)
    if not is_any_B.any():
        return None, None
    low, high = np.percentile(np.nanmean(f1_B_K[is_any_B], axis=1), (2.5, 97.5))
    return float(low), float(high)


def count_disagreements(verdicts: Iterable[CriterionVerdict], sides: Sides) -> tuple[Disagreement, ...]:
    """Every two judges, by benchmark and method, on the positive criteria of answers that both were asked about."""
    rows: dict[str, dict[str, dict[tuple[str, str, int, str], bool | None]]] = defaultdict(lambda: defaultdict(dict))
    kept = [*verdicts]
    several = len({row.judge for row in kept}) > 1
    for row in kept if several else ():
        if row.weight > 0:
            rows[row.benchmark][row.judge][row.policy, row.item, row.sample, row.criterion] = row.met
    found = []
    for benchmark in sorted(rows):
        for first, second in combinations(sorted(rows[benchmark]), 2):
            one, other = rows[benchmark][first], rows[benchmark][second]
            pairs: dict[str, _Pairs] = defaultdict(list)
            for key in one.keys() & other.keys():
                pairs[sides.find_method(key[0])].append((one[key], other[key]))
            for method in (name for name in sides.methods if name in pairs):
                counts = count_pairs(pairs[method])
                found.append(
                    Disagreement(
                        benchmark=benchmark,
                        first=first,
                        second=second,
                        method=method,
                        criteria=counts.pairs,
                        only_first=counts.only_first,
                        only_second=counts.only_second,
                        unknown=len(pairs[method]) - counts.pairs,
                    )
                )
    return tuple(found)


def rate_criteria(verdicts: Iterable[CriterionVerdict], sides: Sides) -> tuple[CriterionRate, ...]:
    """How often each criterion is met, by method; several samples of an item are averaged first."""
    rows: dict[tuple[str, str, str], dict[str, dict[str, list[bool | None]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for row in verdicts:
        rows[row.benchmark, row.judge, row.criterion][row.policy][row.item].append(row.met)
    found = []
    for (benchmark, judge, criterion), arms in sorted(rows.items()):
        shares = {
            name: {item: None if None in met else sum(map(bool, met)) / len(met) for item, met in own.items()}
            for name, own in arms.items()
        }
        items = find_common(shares).items
        means = {name: _mean(own[item] for item in items) for name, own in shares.items()}
        known = {name: 100 * mean for name, mean in means.items() if mean is not None}
        unknown = {name: sum(met.count(None) for met in arms[name].values()) for name in sides.policies if name in arms}
        found.append(
            CriterionRate(
                benchmark=benchmark,
                judge=judge,
                criterion=criterion,
                sides=sides.spread(known),
                n=len(items),
                unknown={name: number for name, number in unknown.items() if number},
            )
        )
    return tuple(found)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
