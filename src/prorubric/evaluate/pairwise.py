"""Blind pairs: how often one policy is preferred to another in both orders, by seed and over seeds."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from prorubric.evaluate.records import Game
from prorubric.evaluate.scores import Games, PairsScore, pairs_score
from prorubric.evaluate.sides import Sides
from prorubric.evaluate.statistics import compare_seeds
from prorubric.rubric.base import Record


class PairResult(Record):
    """Two policies, or two methods over their seeds, by one judge."""

    benchmark: str
    judge: str
    policy: str
    other: str
    by_seed: dict[str, PairsScore]
    """By seed, or by the names of the two policies if they have no seed."""
    wins: int
    """In both orders, over all seeds."""
    ties: int
    inconsistent: int
    losses: int
    n: int
    unread: int
    """Pairs without two readable games, which are left out."""
    unanswered: int
    """Items without an answer of one of the two, over all seeds."""
    win_rate: float | None
    """The mean over seeds of each seed's wins over wins and losses."""
    low: float | None
    high: float | None
    over: Literal["pairs", "seeds"]
    """What the interval is over: pairs, by Wilson, for one seed; seeds, by Student's t, for several."""


def compare_games(
    games: Iterable[Game], sides: Sides, pools: Mapping[str, int] = MappingProxyType({})
) -> tuple[PairResult, ...]:
    """Every two sides that played, by benchmark and judge; the one named later among the policies is `policy`.

    `pools` says how many items each benchmark has, to count those without two answers.
    """
    order = {name: place for place, name in enumerate(sides.policies)}
    rows: dict[tuple[str, str, str, str], dict[str, list[Games]]] = defaultdict(lambda: defaultdict(list))
    played: dict[tuple[tuple[str, str, str, str], str], set[str]] = defaultdict(set)
    for game in games:
        first, second, labels = game.first, game.second, game.labels
        if order.get(first, -1) > order.get(second, -1):
            first, second, labels = second, first, (labels[1], labels[0])
        key = (game.benchmark, game.judge, sides.find_method(second), sides.find_method(first))
        rows[key][_name_seed(sides, first, second)].append(((game.item, game.sample), *labels))
        played[key, _name_seed(sides, first, second)].add(game.item)
    missing = Counter[tuple[str, str, str, str]]()
    for (key, _), items in played.items():
        missing[key] += max(0, pools.get(key[0], 0) - len(items))
    return tuple(
        _sum_up(
            *key, {seed: pairs_score(sorted(own, key=str)) for seed, own in sorted(rows[key].items())}, missing[key]
        )
        for key in sorted(rows, key=lambda key: (*key[:2], order.get(key[2], -1), key))
    )


def _name_seed(sides: Sides, first: str, second: str) -> str:
    """One seed if both have the same or only one has any; else the names of both."""
    seeds = {sides.policies[name].seed for name in (first, second) if name in sides.policies} - {None}
    return str(*seeds) if len(seeds) == 1 else f"{second} against {first}"


def _sum_up(
    benchmark: str, judge: str, policy: str, other: str, by_seed: dict[str, PairsScore], unanswered: int
) -> PairResult:
    rates = {place: score.win_rate for place, score in enumerate(by_seed.values()) if score.win_rate is not None}
    over = compare_seeds(rates, dict.fromkeys(rates, 0.0))
    [*scores] = by_seed.values()
    is_one = len(scores) == 1
    return PairResult(
        benchmark=benchmark,
        judge=judge,
        policy=policy,
        other=other,
        by_seed=by_seed,
        wins=sum(score.wins for score in scores),
        ties=sum(score.ties for score in scores),
        inconsistent=sum(score.inconsistent for score in scores),
        losses=sum(score.losses for score in scores),
        n=sum(score.n for score in scores),
        unread=sum(score.unread for score in scores),
        unanswered=unanswered,
        win_rate=math.fsum(rates.values()) / len(rates) if rates else None,
        low=scores[0].low if is_one else over.low,
        high=scores[0].high if is_one else over.high,
        over="pairs" if is_one else "seeds",
    )
