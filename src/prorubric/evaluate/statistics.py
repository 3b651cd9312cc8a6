"""Is one policy better than another? Means, paired differences and their errors, over items and over training seeds.

Pure functions over mappings from an item to its value. None and NaN are unknown: such an item leaves the comparison and
is counted. Nothing is clipped before it is subtracted. Sums are exact, so the order of rows changes no digit, and
swapping two policies changes nothing but signs.

An interval says what it is over: `paired_difference` and `resample_means` are over items (would other prompts say the
same?), `compare_seeds` is over training seeds (would another training run?), `split_variance` and
`resample_seeds_and_items` are over both.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Generic, TypeVar

import numpy as np

from prorubric.aggregate.bootstrap import RESAMPLES, Bootstrap, Floats, MeanInterval, number_prompts
from prorubric.errors import RubricError
from prorubric.rubric.base import Record

ItemT = TypeVar("ItemT", bound=Hashable)
Cluster = Hashable

_WIDTH = 1.96
_Z_95 = NormalDist().inv_cdf(0.975)
_Z_POWER = _Z_95 + NormalDist().inv_cdf(0.8)
_EXACT_FLIPS = 20
_BLOCK = 500


class Spread(Record):
    """A mean over seeds and its standard deviation; None for a single seed."""

    mean: float
    sd: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of at least one value."""
        return cls(mean=float(np.mean(values)), sd=float(np.std(values, ddof=1)) if len(values) > 1 else None)

    def render(self) -> str:
        """Both × 100, as in `48.2 ±1.3`."""
        return f"{100 * self.mean:.1f}" + (f" ±{100 * self.sd:.1f}" if self.sd is not None else "")


class MeanEstimate(Record):
    """A mean with its standard error and 95% interval; one value has no error, and no values have no mean."""

    mean: float | None
    se: float | None
    low: float | None
    high: float | None
    n: int
    sd: float | None
    """The standard deviation of the values."""
    clusters: int
    """How many groups of values are independent of each other; `n` if the values are."""

    @property
    def detectable(self) -> float | None:
        """The smallest true mean that data like these tell from 0 four times out of five, at 5%."""
        return None if self.se is None else _Z_POWER * self.se


class Difference(MeanEstimate):
    """First minus second over the items that both have, and how many items left."""

    only_first: int
    only_second: int
    unknown: int
    """Items that both have, with an unknown value on one side at least."""


@dataclass(frozen=True, slots=True)
class CommonSet(Generic[ItemT]):
    """The items on which every arm has a value, and what kept the others out."""

    items: tuple[ItemT, ...]
    pool: int
    """Items that at least one arm has."""
    missing: dict[str, int]
    """By arm, items of the pool that it does not have."""
    unknown: dict[str, int]
    """By arm, items whose value is unknown."""


def find_common(arms: Mapping[str, Mapping[ItemT, float | None]]) -> CommonSet[ItemT]:
    """The items on which every arm has a known value, in order of appearance."""
    pool = dict.fromkeys(item for values in arms.values() for item in values)
    return CommonSet(
        items=tuple(item for item in pool if all(_is_known(values.get(item)) for values in arms.values())),
        pool=len(pool),
        missing={name: len(pool.keys() - values.keys()) for name, values in arms.items()},
        unknown={name: sum(not _is_known(value) for value in values.values()) for name, values in arms.items()},
    )


def estimate_mean(values: Sequence[float], clusters: Sequence[Cluster] | None = None) -> MeanEstimate:
    """The mean ± 1.96 standard errors. Values of one cluster, such as answers to one prompt, are not independent."""
    return _estimate(values, range(len(values)) if clusters is None else clusters)


def paired_difference(
    first: Mapping[ItemT, float | None],
    second: Mapping[ItemT, float | None],
    clusters: Mapping[ItemT, Cluster] | None = None,
) -> Difference:
    """The mean of `first - second` over the items that both have, ± 1.96 standard errors.

    `clusters` says which items belong together, such as the iterations of one prompt; without it each stands alone.
    """
    common = find_common({"first": first, "second": second})
    pairs = zip(_take(first, common.items), _take(second, common.items), strict=True)
    differences = [one - other for one, other in pairs]
    found = estimate_mean(differences, None if clusters is None else _list_clusters(common.items, clusters))
    return Difference(
        **found.model_dump(),
        only_first=common.missing["second"],
        only_second=common.missing["first"],
        unknown=len(first.keys() & second.keys()) - len(common.items),
    )


def bound_difference(
    first: Mapping[ItemT, tuple[float, float]], second: Mapping[ItemT, tuple[float, float]]
) -> tuple[float, float] | None:
    """The least and the greatest mean of `first - second` that the unknown verdicts allow, from each item's bounds."""
    items = first.keys() & second.keys()
    if not items:
        return None
    low = math.fsum(first[item][0] - second[item][1] for item in items)
    high = math.fsum(first[item][1] - second[item][0] for item in items)
    return low / len(items), high / len(items)


def resample_means(
    columns: Mapping[str, Mapping[ItemT, float | None]],
    clusters: Mapping[ItemT, Cluster] | None = None,
    resamples: int = RESAMPLES,
) -> dict[str, MeanInterval]:
    """The mean of each column with a bootstrap interval over items, the same draws for all columns.

    Only items that every column has a value for count. Give differences as columns to compare them.
    """
    items = sorted(find_common(columns).items, key=str)  # draws do not depend on the order of rows
    if not items:
        return dict.fromkeys(columns, MeanInterval())
    values = np.array([_take(column, items) for column in columns.values()]).T
    groups = number_prompts(items if clusters is None else _list_clusters(items, clusters))
    bootstrap = Bootstrap.of(values, groups, resamples)
    return {name: bootstrap.estimate(place) for place, name in enumerate(columns)}


def estimate_ratio(parts: Sequence[float], wholes: Sequence[float]) -> tuple[float | None, float | None]:
    """`Σ part / Σ whole` and its standard error, with one part and one whole for each independent question."""
    n, whole = len(parts), math.fsum(wholes)
    if whole == 0:
        return None, None
    ratio = math.fsum(parts) / whole
    squares = math.fsum((part - ratio * own) ** 2 for part, own in zip(parts, wholes, strict=True))
    return ratio, math.sqrt(n / (n - 1) * squares) / whole if n > 1 else None


class DrawsEstimate(MeanEstimate):
    """A mean over items that were answered several times, with the two parts of its variance."""

    between: float | None
    """Variance of the items themselves, over n."""
    within: float | None
    """Variance of an item's draws around its mean, over n: more draws an item make it smaller."""
    empty: int
    """Items without a draw, which are left out."""


def estimate_draws(draws: Mapping[ItemT, Sequence[float]]) -> DrawsEstimate:
    """The mean over items of the mean over their draws. An item counts once, however often it was drawn."""
    found = estimate_mean([math.fsum(values) / len(values) for values in draws.values() if values])
    spreads = [float(np.var(values, ddof=1)) / len(values) for values in draws.values() if len(values) > 1]
    within = math.fsum(spreads) / len(spreads) / found.n if spreads else None
    between = None if within is None or found.se is None else max(0.0, found.se**2 - within)
    return DrawsEstimate(**found.model_dump(), between=between, within=within, empty=len(draws) - found.n)


class SeedDifference(MeanEstimate):
    """First minus second, seed by seed, with an interval over seeds by Student's t."""

    by_seed: dict[int, float]
    separated: bool
    """Every seed of one is below every seed of the other."""


def compare_seeds(first: Mapping[int, float], second: Mapping[int, float]) -> SeedDifference:
    """Pair the seeds that both have. `separated` looks at all seeds that each has."""
    by_seed = {seed: first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())}
    n = len(by_seed)
    found = _estimate([*by_seed.values()], range(n), t_quantile(n - 1) if n > 1 else 0.0)
    return SeedDifference(
        **found.model_dump(), by_seed=by_seed, separated=is_separated(first.values(), second.values())
    )


def is_separated(first: Iterable[float], second: Iterable[float]) -> bool:
    """True if every value of one is below every value of the other."""
    one, other = list(first), list(second)
    return bool(one and other) and (max(one) < min(other) or max(other) < min(one))


class VarianceParts(Record):
    """The mean of a table of seeds × items, and what its variance is made of."""

    mean: float
    se: float
    seed: float
    """σ² between seeds."""
    item: float
    """σ² between items."""
    rest: float


def split_variance(values: Floats) -> VarianceParts:
    """Seeds in rows, items in columns, two of each at least: `σ²_seed/S + σ²_item/n + σ²_rest/(S·n)`."""
    seeds, items = _check_table(values)
    mean, by_seed, by_item = values.mean(), values.mean(axis=1, keepdims=True), values.mean(axis=0, keepdims=True)
    rest = float(((values - by_seed - by_item + mean) ** 2).sum() / ((seeds - 1) * (items - 1)))
    seed = max(0.0, float(by_seed.var(ddof=1)) - rest / items)
    item = max(0.0, float(by_item.var(ddof=1)) - rest / seeds)
    se = math.sqrt(seed / seeds + item / items + rest / (seeds * items))
    return VarianceParts(mean=float(mean), se=se, seed=seed, item=item, rest=rest)


def resample_seeds_and_items(values: Floats, resamples: int = RESAMPLES) -> MeanInterval:
    """The mean of a table of seeds × items, and the middle 95% of resamples that draw seeds, and items for all seeds.

    With three seeds this is too narrow; `compare_seeds` is not.
    """
    (seeds, items), draws, blocks = _check_table(values), np.random.default_rng(0), []
    for start in range(0, resamples, _BLOCK):
        count = min(_BLOCK, resamples - start)
        times_B_S = draws.multinomial(seeds, np.full(seeds, 1 / seeds), size=count)
        times_B_N = draws.multinomial(items, np.full(items, 1 / items), size=count)
        blocks.append(((times_B_S @ values) * times_B_N).sum(axis=1) / (seeds * items))
    low, high = np.percentile(np.concatenate(blocks), (2.5, 97.5))
    return MeanInterval(float(values.mean()), float(low), float(high))


class McNemar(Record):
    """Two policies on the same right-or-wrong items, by the items on which they differ."""

    first_only: int
    second_only: int
    n: int
    p: float
    """Exact, two-sided."""
    se: float | None
    """Of the difference between the two accuracies."""


def compare_accuracy(first: Mapping[ItemT, bool | None], second: Mapping[ItemT, bool | None]) -> McNemar:
    """McNemar's exact test on the items that both have."""
    items = find_common({"first": first, "second": second}).items
    counts, n = Counter((bool(first[item]), bool(second[item])) for item in items), len(items)
    b, c = counts[True, False], counts[False, True]
    se = math.sqrt(b + c - (b - c) ** 2 / n) / n if n else None
    return McNemar(first_only=b, second_only=c, n=n, p=sign_test(b, c), se=se)


def sign_test(one: int, other: int) -> float:
    """The exact two-sided p of so many wins and losses if both were as likely."""
    tail = sum(math.comb(one + other, k) for k in range(min(one, other) + 1))
    return min(1.0, 2 * tail / (1 << (one + other)))


def flip_signs(differences: Sequence[float], flips: int = RESAMPLES) -> float:
    """The two-sided p of a mean difference if every sign could as well be the other.

    Every combination of signs up to 20 differences other than 0, then random ones.
    """
    return float(flip_columns(np.array(differences, dtype=np.float64).reshape(-1, 1), flips)[0])


def flip_columns(values_N_C: Floats, flips: int = RESAMPLES, seed: int = 0) -> Floats:
    """`flip_signs` for every column; random signs are the same for all of them."""
    observed_C = np.abs(values_N_C.sum(axis=0)) - 1e-12 * np.abs(values_N_C).sum(axis=0)
    is_few_C = (values_N_C != 0).sum(axis=0) <= _EXACT_FLIPS
    p_C = np.ones(values_N_C.shape[1])
    for column in np.flatnonzero(is_few_C):
        sums = np.zeros(1)
        for value in values_N_C[values_N_C[:, column] != 0, column]:
            sums = np.concatenate([sums + value, sums - value])
        p_C[column] = (np.abs(sums) >= observed_C[column]).mean()
    many = values_N_C[:, ~is_few_C]
    many = many[(many != 0).any(axis=1)]
    draws, reached = np.random.default_rng(seed), np.zeros(many.shape[1])
    for start in range(0, flips if many.size else 0, _BLOCK):
        signs = 2.0 * draws.integers(2, size=(min(_BLOCK, flips - start), len(many)), dtype=np.int8) - 1
        reached += (np.abs(signs @ many) >= observed_C[~is_few_C]).sum(axis=0)
    p_C[~is_few_C] = (reached + 1) / (flips + 1)
    return p_C


def wilson_interval(successes: int, n: int) -> tuple[float, float]:
    """The 95% interval of a share, by Wilson."""
    if not 0 <= successes <= n or n == 0:
        raise RubricError(f"{successes} of {n} is not a share; give 0 to n successes, and n of at least 1")
    share, z = successes / n, _Z_95
    middle, half = share + z**2 / (2 * n), z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)


def adjust_holm(p_values: Mapping[ItemT, float]) -> dict[ItemT, float]:
    """Holm's adjusted p of each comparison in a family."""
    adjusted, largest = {}, 0.0
    for place, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}


def detectable_difference(sd: float, n: int) -> float:
    """The smallest true difference found four times out of five, at 5%: 2.8·sd/√n."""
    return _Z_POWER * sd / math.sqrt(n)


def needed_items(sd: float, difference: float) -> int:
    """How many items it takes to detect a difference four times out of five, at 5%."""
    return math.ceil((_Z_POWER * sd / difference) ** 2)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's ρ with mean ranks for ties; None for fewer than three pairs, or if one side does not vary."""
    if len(first) != len(second) or not all(map(_is_known, (*first, *second))):
        raise RubricError("ranks need two lists of the same length without unknown values; leave those pairs out")
    if len(first) < 3:
        return None
    [rho] = _correlate_ranks(np.array([first], dtype=np.float64), np.array([second], dtype=np.float64))
    return None if np.isnan(rho) else float(rho)


def compare_rankings(
    first: Mapping[str, Mapping[ItemT, float | None]],
    second: Mapping[str, Mapping[ItemT, float | None]],
    resamples: int = RESAMPLES,
) -> MeanInterval:
    """Spearman's ρ between two judges' rankings of policies, with an interval over items.

    Each judge's scores are by policy and item. Only items count that both judges scored for every policy; each resample
    ranks the policies again. The interval is the middle 95% of the resamples in which both rankings vary.
    """
    names = [name for name in first if name in second]
    columns = {f"{judge}:{name}": of[name] for judge, of in enumerate((first, second)) for name in names}
    items = sorted(find_common(columns).items, key=str)
    if len(names) < 3 or not items:
        return MeanInterval()
    values = np.array([_take(column, items) for column in columns.values()]).T
    bootstrap = Bootstrap.of(values, number_prompts(items), resamples)
    drawn = np.concatenate([bootstrap.mean_C[None], bootstrap.mean_B_C])
    rho, *resampled = _correlate_ranks(drawn[:, : len(names)], drawn[:, len(names) :])
    known = np.array(resampled)[~np.isnan(resampled)]
    if np.isnan(rho) or len(items) < 2 or not len(known):
        return MeanInterval(None if np.isnan(rho) else float(rho))
    low, high = np.percentile(known, (2.5, 97.5))
    return MeanInterval(float(rho), float(low), float(high))


class Repeatability(Record):
    """What changed when a judge was asked the same twice."""

    items: int
    flipped: float | None
    """The share of items with another value the second time."""
    difference: Difference
    """First asking minus second; its `se` is what judge noise alone does to a mean."""


def compare_repeats(first: Mapping[ItemT, float | None], second: Mapping[ItemT, float | None]) -> Repeatability:
    """Compare two judgings of the same items."""
    items = find_common({"first": first, "second": second}).items
    flips = [first[item] != second[item] for item in items]
    flipped = sum(flips) / len(flips) if flips else None
    return Repeatability(items=len(items), flipped=flipped, difference=paired_difference(first, second))


def t_quantile(freedom: int, inside: float = 0.95) -> float:
    """Student's t for which this share of the distribution lies between -t and t.

    For whole degrees of freedom the share is a finite sum in the angle whose tangent is t/√freedom.
    """
    if freedom < 1:
        raise RubricError(f"{freedom} degrees of freedom; an interval over seeds needs at least two seeds")
    odd = freedom % 2
    steps = np.arange(2 if odd else 1, freedom - 1, 2)
    factors = np.cumprod(np.concatenate([[1.0], steps / (steps + 1)]))
    powers = 2 * np.arange(len(factors)) + odd
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        angle = (low + high) / 2
        share = math.sin(angle) * float(factors @ math.cos(angle) ** powers)
        if odd:
            share = (angle + (share if freedom > 1 else 0.0)) * 2 / math.pi
        low, high = (angle, high) if share < inside else (low, angle)
    return math.sqrt(freedom) * math.tan((low + high) / 2)


def _estimate(values: Sequence[float], clusters: Sequence[Cluster], width: float = _WIDTH) -> MeanEstimate:
    n, groups = len(values), len(set(clusters))
    if n == 0:
        return MeanEstimate(mean=None, se=None, low=None, high=None, n=0, sd=None, clusters=0)
    mean = math.fsum(values) / n
    squares = math.fsum((value - mean) ** 2 for value in values)
    sd = math.sqrt(squares / (n - 1)) if n > 1 else None
    if groups < 2:
        return MeanEstimate(mean=mean, se=None, low=None, high=None, n=n, sd=sd, clusters=groups)
    if groups < n:
        deviations = defaultdict(list)
        for value, cluster in zip(values, clusters, strict=True):
            deviations[cluster].append(value - mean)
        squares = math.fsum(math.fsum(own) ** 2 for own in deviations.values())
    se = math.sqrt(groups / (groups - 1) * squares) / n
    return MeanEstimate(mean=mean, se=se, low=mean - width * se, high=mean + width * se, n=n, sd=sd, clusters=groups)


def _take(values: Mapping[ItemT, float | None], items: Sequence[ItemT]) -> list[float]:
    """The values of items that are known."""
    return [float(value) for item in items if (value := values[item]) is not None]


def _is_known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def _list_clusters(items: Sequence[ItemT], clusters: Mapping[ItemT, Cluster]) -> list[Cluster]:
    if missing := [item for item in items if item not in clusters]:
        raise RubricError(f"{missing[0]!r} and {len(missing) - 1} other items have no cluster; name one for each item")
    return [clusters[item] for item in items]


def _check_table(values: Floats) -> tuple[int, int]:
    if values.ndim != 2 or min(values.shape) < 2 or np.isnan(values).any():
        raise RubricError(
            f"a table of shape {values.shape}; give seeds × items, at least two of each, with every value known"
        )
    return values.shape[0], values.shape[1]


def _correlate_ranks(first_B_M: Floats, second_B_M: Floats) -> Floats:
    """Row by row; NaN if one side of a row does not vary."""
    ranks = []
    for values in (first_B_M, second_B_M):
        below = (values[:, None, :] < values[:, :, None]).sum(axis=2)
        equal = (values[:, None, :] == values[:, :, None]).sum(axis=2)
        ranks.append(below + equal / 2 - values.shape[1] / 2)  # centred; what a rank counts from cancels
    one, other = ranks
    scale = np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))
    rho = np.full(len(one), np.nan)
    np.divide((one * other).sum(axis=1), scale, out=rho, where=scale > 0)
    return rho
