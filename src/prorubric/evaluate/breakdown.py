"""Scores by tag, and Arena-Hard under style control: what is behind the figure of a whole benchmark.

Everything is over the items on which every policy has a value. The tags of HealthBench follow its own rule, see
`score_by_tag`. Elsewhere the tag of an item takes the item's score, and the tag of criteria the mean of their marks.
Items count as they do in the score of the benchmark.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from prorubric.evaluate.answers import AnswerKey
from prorubric.evaluate.benchmarks.base import Loaded
from prorubric.evaluate.instruments import INSTRUMENTS, list_by_tag
from prorubric.evaluate.judging import Answers
from prorubric.evaluate.records import BenchmarkItem, Game, ItemScore
from prorubric.evaluate.statistics import find_common
from prorubric.evaluate.style import Battle, StyleScores, control_style, count_style
from prorubric.judge.readings import find_reading
from prorubric.rubric.base import Record
from prorubric.rubric.verdict import Verdict

_CHARACTERS_PER_TOKEN = 4

Said = Mapping[tuple[str, int], Sequence[Verdict]]
"""The verdicts of one judge on the answers of one policy, by item and sample."""


class TagScore(Record):
    """What a policy scores on the items, or the criteria, with one tag."""

    benchmark: str
    judge: str
    policy: str
    tag: str
    mean: float
    """In points."""
    n: int
    """Items that it is the mean over."""


class StyleControl(Record):
    """Arena-Hard under style control, as one judge sees it."""

    judge: str
    found: StyleScores


def break_down(
    benchmarks: Iterable[Loaded], scores: Iterable[ItemScore], said: Mapping[tuple[str, str, str], Said]
) -> tuple[TagScore, ...]:
    """Scores by benchmark, judge, policy and tag; `said` are the verdicts by the first three of these."""
    rows: dict[tuple[str, str], dict[str, dict[str, list[ItemScore]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for score in scores:
        rows[score.benchmark, score.judge][score.policy][score.item].append(score)
    found: list[TagScore] = []
    for one in benchmarks:
        for benchmark, judge in [key for key in rows if key[0] == one.benchmark.name]:
            arms = rows[benchmark, judge]
            known = {
                name: {
                    item: None if any(one.value is None for one in own) else own[0].value for item, own in arm.items()
                }
                for name, arm in arms.items()
            }
            common = set(find_common(known).items)
            items = [item for item in one.items if item.id in common]
            is_clipped = one.benchmark.instrument == "healthbench"
            collect = _collect_points if is_clipped else _collect_marks
            for policy, scored in arms.items():
                tags = collect(items, scored, said.get((benchmark, judge, policy), {}))
                about = {"benchmark": benchmark, "judge": judge, "policy": policy}
                for tag, by_item in sorted(tags.items()):
                    # Items count by their weights; the answers to an item are averaged first.
                    parts = [math.fsum(value * weight for value, weight in own) / len(own) for own in by_item.values()]
                    wholes = [math.fsum(weight for _, weight in own) / len(own) for own in by_item.values()]
                    mean = math.fsum(parts) / math.fsum(wholes)
                    shown = min(1.0, max(0.0, mean)) if is_clipped else mean
                    found.append(TagScore(**about, tag=tag, mean=100 * shown, n=len(by_item)))
    return tuple(found)


_ByTag = dict[str, dict[str, list[tuple[float, float]]]]
"""By tag and item, the value and the weight of each answer."""


def _collect_points(items: Sequence[BenchmarkItem], scores: Mapping[str, Sequence[ItemScore]], said: Said) -> _ByTag:
    """HealthBench: every tag is scored from the verdicts, see `score_by_tag`."""
    found: _ByTag = defaultdict(lambda: defaultdict(list))
    for sample in sorted({score.sample for item in items for score in scores[item.id]}):
        verdicts = {item: own for (item, number), own in said.items() if number == sample}
        for tag, values in list_by_tag(items, verdicts).items():
            for item, value in values.items():
                found[tag][item].append((value, 1.0))
    return found


def _collect_marks(items: Sequence[BenchmarkItem], scores: Mapping[str, Sequence[ItemScore]], said: Said) -> _ByTag:
    """A tag of an item takes the item's score; a tag of criteria, named apart, the mean of their marks."""
    found: _ByTag = defaultdict(lambda: defaultdict(list))
    for item in items:
        for score in scores[item.id]:
            for tag in item.tags:
                found[tag][item.id].append((score.value or 0.0, score.weight))
            marks: dict[str, list[float]] = defaultdict(list)
            for criterion, mark in zip(item.criteria, said.get((item.id, score.sample), ()), strict=False):
                if isinstance(mark, int | float):
                    for tag in criterion.tags:
                        marks[f"{tag}, only its criteria"].append(mark)
            for tag, own in marks.items():
                value = math.fsum(own) / len(own) / find_reading("writing").form.scale[1]
                found[tag][item.id].append((value, 1.0))
    return found


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
