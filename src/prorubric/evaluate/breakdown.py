"""Scores by tag, and Arena-Hard under style control: what is behind the figure of a whole benchmark.

Everything is over the items on which every policy has a value. The tags of HealthBench follow its own rule, see
`score_by_tag`. Elsewhere the tag of an item takes the item's score, and the tag of criteria the mean of their marks.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from prorubric.evaluate.answers import AnswerKey
from prorubric.evaluate.benchmarks.base import Loaded
from prorubric.evaluate.instruments import INSTRUMENTS, score_by_tag
from prorubric.evaluate.judging import Answers
from prorubric.evaluate.records import Game, Item, ItemScore
from prorubric.evaluate.statistics import find_common
from prorubric.evaluate.style import Battle, StyleScores, control_style, count_style
from prorubric.judge.readings import find_reading
from prorubric.rubric.base import Record
from prorubric.rubric.verdict import Verdict

_CHARACTERS_PER_TOKEN = 4

Said = Mapping[str, Sequence[Verdict]]
"""The verdicts of one judge on the first answers of one policy, by item."""


class TagScore(Record):
    """What a policy scores on the items, or the criteria, with one tag."""

    benchmark: str
    judge: str
    policy: str
    tag: str
    mean: float
    """In points."""
    n: int
    """Items with the tag."""


class StyleControl(Record):
    """Arena-Hard under style control, as one judge sees it."""

    judge: str
    found: StyleScores


def break_down(
    benchmarks: Iterable[Loaded], scores: Iterable[ItemScore], said: Mapping[tuple[str, str, str], Said]
) -> tuple[TagScore, ...]:
    """Scores by benchmark, judge, policy and tag; `said` are the verdicts by the first three of these."""
    values: dict[tuple[str, str], dict[str, dict[str, list[float | None]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for score in scores:
        values[score.benchmark, score.judge][score.policy][score.item].append(score.value)
    found: list[TagScore] = []
    for one in benchmarks:
        for benchmark, judge in [key for key in values if key[0] == one.benchmark.name]:
            arms = {policy: _average(own) for policy, own in values[benchmark, judge].items()}
            common = set(find_common(arms).items)
            items = [item for item in one.items if item.id in common]
            for policy, own in arms.items():
                verdicts = said.get((benchmark, judge, policy), {})
                means = _score_tags(items, {name: value for name, value in own.items() if value is not None}, verdicts)
                if one.benchmark.instrument == "healthbench":
                    means = score_by_tag(items, verdicts)
                counts = {tag: sum(tag in _list_tags(item) for item in items) for tag in means}
                about = {"benchmark": benchmark, "judge": judge, "policy": policy}
                found += [TagScore(**about, tag=tag, mean=100 * mean, n=counts[tag]) for tag, mean in means.items()]
    return tuple(found)


def _average(values: Mapping[str, Sequence[float | None]]) -> dict[str, float | None]:
    """The mean of an item's samples; unknown if one of them is."""
    known = {item: [value for value in own if value is not None] for item, own in values.items()}
    return {item: math.fsum(own) / len(own) if len(own) == len(values[item]) else None for item, own in known.items()}


def _list_tags(item: Item) -> list[str]:
    return [*dict.fromkeys([*item.tags, *(tag for criterion in item.criteria for tag in criterion.tags)])]


def _score_tags(items: Sequence[Item], values: Mapping[str, float], verdicts: Said) -> dict[str, float]:
    found: dict[str, list[float]] = defaultdict(list)
    for item in items:
        for tag in item.tags:
            found[tag].append(values[item.id])
        for tag in dict.fromkeys(tag for criterion in item.criteria for tag in criterion.tags if tag not in item.tags):
            judged = zip(item.criteria, verdicts.get(item.id, ()), strict=False)
            marks = [mark for criterion, mark in judged if tag in criterion.tags and isinstance(mark, int | float)]
            if marks:
                found[tag].append(math.fsum(marks) / len(marks) / find_reading("writing").form.scale[1])
    return {tag: math.fsum(own) / len(own) for tag, own in sorted(found.items())}


def control_all_styles(
    benchmarks: Iterable[Loaded], games: Iterable[Game], answers: Answers
) -> tuple[StyleControl, ...]:
    """Arena-Hard under style control, by judge; tokens are estimated in the same way for both answers.

    A judge without two games that were read on any question has none.
    """
    baselines = {
        item.id: item.baseline or ""
        for one in benchmarks
        if INSTRUMENTS[one.benchmark.instrument].kind == "baseline"
        for item in one.items
    }
    battles: dict[str, list[Battle]] = defaultdict(list)
    for game in games:
        if game.item in baselines:
            [answer] = answers.read([AnswerKey(game.second, game.item, game.sample, None)])
            texts = (answer.text, baselines[game.item])
            styles = [count_style(text, len(text) // _CHARACTERS_PER_TOKEN) for text in texts]
            battles[game.judge].append(Battle(game.second, game.labels, *styles))
    return tuple(
        StyleControl(judge=judge, found=control_style(own))
        for judge, own in battles.items()
        if any(None not in battle.labels for battle in own)
    )
