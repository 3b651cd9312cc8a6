"""`compare_scores`: which policy is better, by how much, on which items, and whether another judge would agree.

Pure arithmetic over rows. Values come in as a benchmark counts them and leave in points (× 100). An item counts in a
table only if every policy has a value for it under that judge; what kept the others out is counted. Nothing is clipped
before it is subtracted. The order of rows changes nothing.

A side of a difference is a policy, or all seeds of a method. Every difference has an interval over items (would other
prompts say the same?); with several seeds it also has one over seeds (would another training?) and one over both.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from prorubric.aggregate.bootstrap import RESAMPLES, Bootstrap, Floats, Integers, number_prompts, widening
from prorubric.errors import RubricError
from prorubric.evaluate.breakdown import StyleControl, TagScore
from prorubric.evaluate.judges import (
    CriterionRate,
    CriterionVerdict,
    Disagreement,
    LabelAgreement,
    LabelledVerdict,
    RankAgreement,
    RepeatResult,
    compare_labels,
    count_disagreements,
    rate_criteria,
)
from prorubric.evaluate.pairwise import PairResult, compare_games
from prorubric.evaluate.records import Game, ItemScore, Policy
from prorubric.evaluate.sides import SideResult, Sides
from prorubric.evaluate.statistics import (
    MeanEstimate,
    SeedDifference,
    VarianceParts,
    adjust_holm,
    compare_accuracy,
    compare_rankings,
    compare_repeats,
    estimate_draws,
    estimate_mean,
    find_common,
    flip_columns,
    split_variance,
    wilson_interval,
)
from prorubric.rubric.base import Record

Pairing = Literal["table", "pair"]
Family = Literal["table", "judge"]
Ends = tuple[float, float]

COMPARISONS = "comparisons.json"
"""The file of an evaluation's folder that holds them."""
AVERAGED = ("writingbench", "creative-v3", "arena-hard-v2", "healthbench", "medqa", "gpqa-diamond", "researchqa")
"""The benchmarks of the average, in the paper's order."""
_MOST_ROWS = 6.0  # of a question of Arena-Hard: two games that count three times each


class ArmResult(MeanEstimate):
    """One policy on the common set, in points; its interval is over items."""

    policy: str
    method: str
    seed: int | None
    headline: float | None
    """As the benchmark prints it: HealthBench clips the mean to 0..100, at the very end."""
    interval_by: Literal["normal", "Wilson"]
    bootstrap: Ends | None
    samples: int
    """The most draws that an item has."""
    between: float | None
    """With several draws an item: variance of the items themselves, over n."""
    within: float | None
    """And of an item's draws around its mean, over n."""
    answered: int
    """Items of the pool with an answer."""
    judged: int
    """Items with a value."""
    failures: dict[str, int]
    """Answers that the policy failed at, by kind. They are scored as they are."""
    lost: int
    """Items without a value, because the judge did not give every verdict."""
    lost_by: dict[str, int]
    """By kind of unknown verdict; an item with two kinds is in both."""
    characters: float | None
    """Mean length of the answers to common items."""
    characters_kept: float | None
    """Of the answers that have a value."""
    characters_lost: float | None
    tokens: float | None


class DifferenceResult(MeanEstimate):
    """First minus second in points. `se`, `low`, `high`, `bootstrap`, `simultaneous` and `p` are over items."""

    first: str
    second: str
    bootstrap: Ends | None
    """From the same draws as everything in the table."""
    simultaneous: Ends | None
    """Holds for all differences of the table at once."""
    smallest_found: float | None
    """The true difference that data like these find four times out of five."""
    test: Literal["sign flips", "McNemar"]
    p: float | None
    p_holm: float | None
    """Adjusted within the declared family."""
    bounds: Ends | None
    """With every unknown verdict set against the first, and for it."""
    could_flip: bool
    """The unknown verdicts could give the difference another sign."""
    seeds: int
    """Pairs of seeds that it is the mean of."""
    over_seeds: SeedDifference | None
    """Paired by seed, with an interval by Student's t."""
    over_both: VarianceParts | None
    """Over seeds and items."""


class Table(Record):
    """One benchmark under one judge."""

    benchmark: str
    judge: str
    """Empty if no judge is needed."""
    pool: int
    answered: int
    """Items that every policy answered."""
    common: int
    """Items on which every policy has a value."""
    is_weighted: bool
    """Items do not count the same: the score is a ratio, with its error by item."""
    arms: tuple[ArmResult, ...]
    sides: tuple[SideResult, ...]
    differences: tuple[DifferenceResult, ...]
    absent: tuple[str, ...]
    """Policies without any row here; the common set does not ask for them."""


class AverageDifference(Record):
    """First minus second, averaged over benchmarks."""

    first: str
    second: str
    mean: float
    se_items: float | None
    """Over the items of all benchmarks, which are independent of each other."""
    over_seeds: SeedDifference | None
    bounds: Ends | None = None
    """The least and the greatest mean that the unknown verdicts of all benchmarks allow."""
    could_flip: bool = False
    """True if unknown verdicts could turn the sign."""


class Average(Record):
    """The plain mean over benchmarks, of means that are not clipped."""

    judge: str
    benchmarks: tuple[str, ...]
    sides: tuple[SideResult, ...]
    differences: tuple[AverageDifference, ...]


class Comparisons(Record):
    """Everything that the rows of an evaluation say."""

    policies: tuple[str, ...]
    pairing: Pairing
    family: Family
    resamples: int
    seed: int
    tables: tuple[Table, ...]
    averages: tuple[Average, ...] = ()
    pairs: tuple[PairResult, ...] = ()
    labels: tuple[LabelAgreement, ...] = ()
    ranks: tuple[RankAgreement, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    probe: tuple[CriterionRate, ...] = ()
    repeats: tuple[RepeatResult, ...] = ()
    tags: tuple[TagScore, ...] = ()
    style: tuple[StyleControl, ...] = ()

    @property
    def empty(self) -> tuple[str, ...]:
        """Benchmarks of which nothing can be compared, by name and judge."""
        names = [(one.benchmark, one.judge) for one in self.tables if one.absent or not one.common]
        names += [(one.benchmark, one.judge) for one in self.pairs if not one.n]
        return tuple(
            dict.fromkeys(f"{benchmark}, judged by {judge}" if judge else benchmark for benchmark, judge in names)
        )


def compare_scores(  # noqa: PLR0913 - one call for all rows of an evaluation
    scores: Iterable[ItemScore],
    policies: Sequence[Policy],
    *,
    compare: Sequence[tuple[str, str]] = (),
    baseline: str | None = None,
    pairing: Pairing = "table",
    family: Family = "table",
    resamples: int = RESAMPLES,
    seed: int = 0,
    games: Iterable[Game] = (),
    verdicts: Iterable[CriterionVerdict] = (),
    labelled: Iterable[LabelledVerdict] = (),
    repeats: Iterable[ItemScore] = (),
    pools: Mapping[str, int] = MappingProxyType({}),
) -> Comparisons:
    """Compare policies on every benchmark under every judge.

    `compare` names the differences, each side a policy or a method with its seeds; without it everything is compared
    with `baseline`; without that, all pairs of up to five sides, or else all with the first. `family` is what Holm's
    correction counts: the differences of one table, or of all tables of a judge. `pools` says how many items each
    benchmark has, if some have no row at all; `repeats` are scores of answers that were judged once more.
    """
    sides = Sides.of(policies, compare, baseline)
    cells = _collect(scores, sides)
    frames = [_Frame(*key, cells[key], sides, pairing) for key in sorted(cells, key=_order)]
    tables = [frame.compare(pools.get(frame.benchmark, 0), resamples, seed) for frame in frames]
    tables = _adjust(tables, family)
    kept = [*verdicts]
    return Comparisons(
        policies=tuple(policy.name for policy in policies),
        pairing=pairing,
        family=family,
        resamples=resamples,
        seed=seed,
        tables=tuple(tables),
        averages=_average(tables, sides),
        pairs=compare_games(games, sides, pools),
        labels=compare_labels(labelled, resamples, seed),
        ranks=_compare_judges(cells, resamples),
        disagreements=count_disagreements(kept, sides),
        probe=rate_criteria([verdict for verdict in kept if verdict.benchmark.startswith("probe")], sides),
        repeats=_compare_again(cells, _collect(repeats, sides)),
    )


class _Worth(NamedTuple):
    """An item of one policy, over its samples, in points."""

    part: float | None
    """Its value times its weight; None if the value of a sample is open."""
    whole: float
    low: float
    high: float
    rows: tuple[ItemScore, ...]


_Key = tuple[str, str]
_Cells = dict[_Key, dict[str, dict[str, _Worth]]]  # by benchmark and judge, policy, item


def _collect(scores: Iterable[ItemScore], sides: Sides) -> _Cells:
    rows: dict[_Key, dict[str, dict[str, dict[int, ItemScore]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(dict))
    )
    for score in scores:
        if score.policy not in sides.policies:
            raise RubricError(f"a score of {score.policy!r}, which is not among the policies; name it or leave it out")
        draws = rows[score.benchmark, score.judge][score.policy][score.item]
        if score.sample in draws:
            place = f"{score.benchmark} {score.judge} {score.policy} {score.item}"
            raise RubricError(f"{place}: two scores for sample {score.sample}; give one")
        draws[score.sample] = score
    return {
        key: {
            policy: {item: _sum_up([draws[number] for number in sorted(draws)]) for item, draws in items.items()}
            for policy, items in arms.items()
        }
        for key, arms in rows.items()
    }


def _sum_up(rows: Sequence[ItemScore]) -> _Worth:
    n = len(rows)
    whole = math.fsum(row.weight for row in rows) / n
    known = [row.value * row.weight for row in rows if row.value is not None]
    if len(known) == n:
        part = 100 * math.fsum(known) / n
        return _Worth(part, whole, part, part, tuple(rows))
    low, high = (
        100 * math.fsum((end if row.value is None else row.value) * row.weight for row, end in ends) / n
        for ends in ([(row, row.low) for row in rows], [(row, row.high) for row in rows])
    )
    return _Worth(None, whole, low, high, tuple(rows))


def _order(key: _Key) -> tuple[int, str, str]:
    benchmark, judge = key
    return AVERAGED.index(benchmark) if benchmark in AVERAGED else len(AVERAGED), benchmark, judge


@dataclass(frozen=True)
class _Frame:
    """The rows of one benchmark under one judge."""

    benchmark: str
    judge: str
    cells: Mapping[str, Mapping[str, _Worth]]
    sides: Sides
    pairing: Pairing

    def compare(self, pool: int, resamples: int, seed: int) -> Table:
        """The table; all of its columns are resampled with the same draws."""
        pairs = [self._pair(pair) for pair in self.sides.pairs]
        gaps = [gap for gap in pairs if gap is not None]
        columns = np.full((len(self.pool), len(self.arms) + len(gaps)), np.nan)
        for place, (items, values) in enumerate(
            [*((self.common, self.worths[name]) for name in self.arms), *((gap.items, gap.values) for gap in gaps)]
        ):
            columns[[self.pool[item] for item in items], place] = values
        is_used = ~np.isnan(columns).all(axis=1)
        used = [item for item, is_in in zip(self.pool, is_used, strict=True) if is_in]
        groups = number_prompts([self.clusters[item] for item in used])
        if self.pairing == "pair":
            bootstrap = Bootstrap.of(columns[is_used], groups, resamples, seed)
        else:  # on one common set, a resampled difference is the difference of resampled means
            own = Bootstrap.of(columns[is_used][:, : len(self.arms)], groups, resamples, seed)
            contrast = np.array([[gap.shares.get(name, 0.0) for gap in gaps] for name in self.arms])
            bootstrap = Bootstrap(
                np.concatenate([own.mean_C, own.mean_C @ contrast]),
                np.concatenate([own.mean_B_C, own.mean_B_C @ contrast], axis=1),
                np.full(columns.shape[1], own.prompts_C.max()),
            )
        arms = [self._describe(name, _ends(bootstrap, place)) for place, name in enumerate(self.arms)]
        return Table(
            benchmark=self.benchmark,
            judge=self.judge,
            pool=max(pool, len(self.pool)),
            answered=sum(all(item in own for own in self.cells.values()) for item in self.pool),
            common=len(self.common),
            is_weighted=self.is_weighted,
            arms=tuple(arms),
            sides=self.sides.spread(
                {arm.policy: arm.mean for arm in arms}, {arm.policy: arm.characters for arm in arms}
            ),
            differences=self._list_differences(gaps, columns[is_used][:, len(arms) :], groups, bootstrap, seed),
            absent=tuple(name for name in self.sides.policies if name not in self.cells),
        )

    @cached_property
    def pool(self) -> dict[str, int]:
        """Items that a policy answered, with their places; sorted, so draws do not depend on the order of rows."""
        return {item: place for place, item in enumerate(sorted({i for own in self.cells.values() for i in own}))}

    @cached_property
    def arms(self) -> list[str]:
        return [name for name in self.sides.policies if name in self.cells]

    @cached_property
    def common(self) -> list[str]:
        """Items on which every policy has a value."""
        return self._find_common(self.arms)

    @cached_property
    def worths(self) -> dict[str, Floats]:
        return {name: self._weigh(name, self.common) for name in self.arms}

    @cached_property
    def is_weighted(self) -> bool:
        return any(worth.whole != 1 for own in self.cells.values() for worth in own.values())

    @cached_property
    def clusters(self) -> dict[str, str]:
        return {item: worth.rows[0].cluster or item for own in self.cells.values() for item, worth in own.items()}

    def _find_common(self, arms: Iterable[str]) -> list[str]:
        parts = {name: {item: worth.part for item, worth in self.cells[name].items()} for name in arms}
        return sorted(find_common(parts).items)

    def _weigh(self, arm: str, items: Sequence[str]) -> Floats:
        """The value of each item. For a ratio, values whose mean is the ratio, and whose error is the ratio's."""
        own = self.cells[arm]
        parts = np.array([own[item].part for item in items], dtype=np.float64)
        if not self.is_weighted:
            return parts
        wholes = np.array([own[item].whole for item in items])
        ratio = math.fsum(parts) / math.fsum(wholes) if len(items) else 0.0
        return ratio + (parts - ratio * wholes) * len(items) / math.fsum(wholes) if len(items) else parts

    def _pair(self, pair: tuple[str, str]) -> "_Gap | None":
        """First minus second by item, and by seed if both sides have several."""
        first, second = ([name for name in self.sides.list_policies(side) if name in self.cells] for side in pair)
        if not first or not second:
            return None
        matched = [*self.sides.match_seeds(first, second).values()]
        used = [*dict.fromkeys(name for names in matched for name in names)] or [*first, *second]
        is_whole = self.pairing == "table"
        items = self.common if is_whole else self._find_common(used)
        worths = {name: self.worths[name] if is_whole else self._weigh(name, items) for name in used}
        if matched:
            by_seed = np.array([worths[one] - worths[other] for one, other in matched])
        else:
            means = [np.mean([worths[name] for name in side], axis=0) for side in (first, second)]
            by_seed = (means[0] - means[1])[None]
        shares: dict[str, float] = defaultdict(float)
        for names, sign in zip(zip(*matched, strict=True) if matched else (first, second), (1, -1), strict=True):
            for name in names:
                shares[name] += sign / len(names)
        scores = {name: math.fsum(own) / len(items) for name, own in worths.items() if items}
        return _Gap(pair, shares, len(matched), items, scores, by_seed, by_seed.mean(axis=0))

    def _describe(self, name: str, bootstrap: Ends | None) -> ArmResult:
        own, policy = self.cells[name], self.sides.policies[name]
        values = self.worths[name].tolist()
        found = estimate_mean(values, [self.clusters[item] for item in self.common])
        is_share = self._is_binary([name], self.common)
        if is_share:
            low, high = wilson_interval(round(math.fsum(values) / 100), len(values))
            found = found.model_copy(update={"low": 100 * low, "high": 100 * high})
        samples = max(len(worth.rows) for worth in own.values())
        draws = (
            {item: [100 * (row.value or 0.0) for row in own[item].rows] for item in self.common} if samples > 1 else {}
        )
        rows = [row for worth in own.values() for row in worth.rows]
        lost = [worth for worth in own.values() if worth.part is None]
        kept = [row for item in self.common for row in own[item].rows]
        parts = estimate_draws(draws) if draws and not self.is_weighted else None
        mean, is_clipped = found.mean, self.benchmark.startswith("healthbench")
        return ArmResult(
            **found.model_dump(),
            policy=name,
            method=self.sides.find_method(name),
            seed=policy.seed,
            headline=min(100.0, max(0.0, mean)) if mean is not None and is_clipped else mean,
            interval_by="Wilson" if is_share else "normal",
            bootstrap=bootstrap,
            samples=samples,
            between=parts and parts.between,
            within=parts and parts.within,
            answered=len(own),
            judged=len(own) - len(lost),
            failures=_count(row.failure for row in rows if row.failure),
            lost=len(lost),
            lost_by=_count(kind for worth in lost for kind in {kind for row in worth.rows for kind in row.unknown}),
            characters=_mean(row.characters for row in kept),
            characters_kept=_mean(row.characters for row in rows if row.value is not None),
            characters_lost=_mean(row.characters for row in rows if row.value is None),
            tokens=_mean(row.tokens for row in kept if row.tokens is not None),
        )

    def _is_binary(self, arms: Sequence[str], items: Sequence[str]) -> bool:
        """Every item is right or wrong, counts once and stands alone."""
        clusters = {self.clusters[item] for item in items}
        worths = [self.cells[name][item] for name in arms for item in items]
        is_plain = not self.is_weighted and bool(worths) and len(clusters) == len(items)
        return is_plain and all(len(worth.rows) == 1 and worth.part in (0, 100) for worth in worths)

    def _list_differences(
        self,
        gaps: Sequence["_Gap"],
        columns_N_D: Floats,
        groups: Integers,
        bootstrap: Bootstrap,
        seed: int,
    ) -> tuple[DifferenceResult, ...]:
        sums = np.zeros((int(groups.max(initial=-1)) + 1, len(gaps)))
        np.add.at(sums, groups, np.nan_to_num(columns_N_D))
        p_D = flip_columns(sums, len(bootstrap.mean_B_C), seed)
        estimates = [estimate_mean(gap.values.tolist(), [self.clusters[item] for item in gap.items]) for gap in gaps]
        reach = _find_reach(bootstrap, len(self.arms), estimates)
        found = []
        for place, (gap, own) in enumerate(zip(gaps, estimates, strict=True)):
            is_binary = len(gap.shares) == 2 and self._is_binary([*gap.shares], gap.items)
            p: float | None = float(p_D[place]) if own.n else None
            if is_binary:
                right = [{item: bool(self.cells[name][item].part) for item in gap.items} for name in gap.shares]
                p = compare_accuracy(*right).p
            bounds, has_open = self._bound(gap)
            wide = None
            if own.mean is not None and own.se is not None and reach is not None:
                wide = (own.mean - reach * own.se, own.mean + reach * own.se)
            is_table = min(gap.by_seed.shape) > 1
            difference = DifferenceResult(
                **own.model_dump(),
                first=gap.pair[0],
                second=gap.pair[1],
                bootstrap=_ends(bootstrap, len(self.arms) + place),
                simultaneous=wide,
                smallest_found=own.detectable,
                test="McNemar" if is_binary else "sign flips",
                p=p,
                p_holm=None,
                bounds=bounds,
                could_flip=has_open and any(np.sign(end) != np.sign(own.mean or 0.0) for end in bounds or ()),
                seeds=gap.seeds,
                over_seeds=self.sides.compare_by_seed(gap.pair, gap.means),
                over_both=split_variance(gap.by_seed) if is_table else None,
            )
            found.append(difference)
        return tuple(found)

    def _bound(self, gap: "_Gap") -> tuple[Ends | None, bool]:
        """The least and the greatest difference on the items that all of its policies answered, and if any is open."""
        ends = {name: self.ends[name] for name in gap.shares}
        is_in = ~np.isnan([own[0] for own in ends.values()]).any(axis=0)
        if not is_in.any():
            return None, False
        low = high = 0.0
        has_open = False
        for name, share in gap.shares.items():
            least, greatest, whole = ends[name][:, is_in]
            ratios = sorted((share * least.sum() / whole.sum(), share * greatest.sum() / whole.sum()))
            low, high = low + float(ratios[0]), high + float(ratios[1])
            has_open = has_open or bool((least != greatest).any())
        return (low, high), has_open

    @cached_property
    def ends(self) -> dict[str, Floats]:
        """By policy, the least and the greatest worth of each item of the pool, and its weight; NaN without a row."""
        found = {}
        for name, own in self.cells.items():
            found[name] = np.full((3, len(self.pool)), np.nan)
            for item, worth in own.items():
                most = worth
                if worth.part is None and self.is_weighted:
                    # An open sample counts as often as it can: a game that was not read up to three times.
                    weight = {"weight": _MOST_ROWS}
                    most = _sum_up([row.model_copy(update=weight) if row.value is None else row for row in worth.rows])
                found[name][:, self.pool[item]] = most.low, most.high, most.whole
        return found


class _Gap(NamedTuple):
    """First minus second on the items that count for it."""

    pair: tuple[str, str]
    shares: Mapping[str, float]
    """What each policy adds: 1 over the number of seeds on the first side, negative on the second."""
    seeds: int
    items: list[str]
    means: Mapping[str, float]
    """By policy, on these items."""
    by_seed: Floats
    values: Floats


def _find_reach(bootstrap: Bootstrap, start: int, estimates: Sequence[MeanEstimate]) -> float | None:
    """How many standard errors hold all differences of a table at once, 95 times out of 100: max-|t|."""
    places = [place for place, own in enumerate(estimates) if own.se]
    if not places:
        return None
    se = np.array([own.se for own in estimates if own.se])
    at = [start + place for place in places]
    t_B_D = np.abs(bootstrap.mean_B_C[:, at] - bootstrap.mean_C[at]) / se
    largest = np.nanmax(t_B_D, axis=1)
    return float(np.percentile(largest, 95)) * widening(min(estimates[place].clusters for place in places))


def _adjust(tables: Sequence[Table], family: Family) -> list[Table]:
    """Fill in Holm's p within each family."""
    families: dict[str, dict[tuple[int, int], float]] = defaultdict(dict)
    for number, table in enumerate(tables):
        for place, difference in enumerate(table.differences):
            if difference.p is not None:
                families[table.judge if family == "judge" else str(number)][number, place] = difference.p
    adjusted = {key: p for own in families.values() for key, p in adjust_holm(own).items()}
    return [
        table.model_copy(
            update={
                "differences": tuple(
                    difference.model_copy(update={"p_holm": adjusted.get((number, place))})
                    for place, difference in enumerate(table.differences)
                )
            }
        )
        for number, table in enumerate(tables)
    ]


def _average(tables: Sequence[Table], sides: Sides) -> tuple[Average, ...]:
    """For each judge, over the benchmarks of the average that it judged and those that need no judge."""
    found = []
    for judge in dict.fromkeys(table.judge for table in tables if table.judge) or [""]:
        own = [table for table in tables if table.judge in (judge, "") and table.benchmark in AVERAGED]
        if len(own) < 2:
            continue
        means = [{arm.policy: arm.mean for arm in table.arms if arm.mean is not None} for table in own]
        averages = {
            name: math.fsum(mean[name] for mean in means) / len(own)
            for name in sides.policies
            if all(name in mean for mean in means)
        }
        differences = []
        for pair in sides.pairs:
            rows = [row for table in own for row in table.differences if (row.first, row.second) == pair]
            known = [row.mean for row in rows if row.mean is not None]
            errors = [row.se for row in rows if row.se is not None]
            if len(known) < len(own):
                continue
            mean = math.fsum(known) / len(known)
            bounds = [row.bounds for row in rows if row.bounds is not None]
            low, high = (math.fsum(ends[place] for ends in bounds) / len(rows) for place in (0, 1))
            differences.append(
                AverageDifference(
                    first=pair[0],
                    second=pair[1],
                    mean=mean,
                    bounds=(low, high) if len(bounds) == len(rows) else None,
                    could_flip=low < high and not (low > 0 if mean > 0 else high < 0),
                    se_items=math.hypot(*errors) / len(errors) if len(errors) == len(known) else None,
                    over_seeds=sides.compare_by_seed(pair, averages),
                )
            )
        names, spread = tuple(table.benchmark for table in own), sides.spread(averages)
        found.append(Average(judge=judge, benchmarks=names, sides=spread, differences=tuple(differences)))
    return tuple(found)


def _compare_judges(cells: _Cells, resamples: int) -> tuple[RankAgreement, ...]:
    found = []
    keys = sorted(cells, key=_order)
    for place, key in enumerate(keys):
        for other in keys[place + 1 :]:
            if other[0] != key[0]:
                continue
            names = [name for name in cells[key] if name in cells[other]]
            columns = {(of, name): cells[of][name] for of in (key, other) for name in names}
            common = find_common({str(column): _list_values(own) for column, own in columns.items()}).items
            one, two = ({name: _scale(columns[of, name], common) for name in names} for of in (key, other))
            rho, low, high = compare_rankings(one, two, resamples)
            found.append(
                RankAgreement(
                    benchmark=key[0],
                    first=key[1],
                    second=other[1],
                    policies=len(names),
                    items=len(common),
                    rho=rho,
                    low=low,
                    high=high,
                )
            )
    return tuple(found)


def _compare_again(cells: _Cells, again: _Cells) -> tuple[RepeatResult, ...]:
    """What judging the same answers once more changed."""
    found = []
    for key in sorted(again, key=_order):
        first, second = (
            {(policy, item): value for policy, own in of.items() for item, value in _list_values(own).items()}
            for of in (cells.get(key, {}), again[key])
        )
        found.append(RepeatResult(benchmark=key[0], judge=key[1], repeated=compare_repeats(first, second)))
    return tuple(found)


def _scale(own: Mapping[str, _Worth], items: Sequence[str]) -> dict[str, float | None]:
    """The parts of these items, scaled so that their mean is the score."""
    whole = math.fsum(own[item].whole for item in items) / len(items) if items else 1.0
    return {item: (own[item].part or 0.0) / whole for item in items}


def _list_values(own: Mapping[str, _Worth]) -> dict[str, float | None]:
    return {item: None if worth.part is None else worth.part / worth.whole for item, worth in own.items()}


def _ends(bootstrap: Bootstrap, column: int) -> Ends | None:
    found = bootstrap.estimate(column)
    return None if found.low is None or found.high is None else (found.low, found.high)


def _count(kinds: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(kinds).items()))


def _mean(values: Iterable[float]) -> float | None:
    known = [*values]
    return math.fsum(known) / len(known) if known else None
