"""How each benchmark is judged: what its judge is asked about an answer, and what the verdicts are worth.

Every call goes through `Judge`, so a reply that cannot be read is asked for again and then unknown, never a number. An
unknown verdict leaves an item without a value, with the bounds of what it could be worth.

What the policy failed at is its result. An answer that was cut off is judged as it stands. An answer without any text
is not sent to a judge: it meets no criterion, covers nothing, gets the worst mark on each scale and is much worse than
an answer with text. An answer without a letter is worth 0. Each of these is named in `Worth.failure`.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from prorubric.errors import ConfigError
from prorubric.evaluate.records import BenchmarkItem, PolicyAnswer
from prorubric.evaluate.scores import creative_score, healthbench_score, list_results, read_letter
from prorubric.judge.judge import Judge
from prorubric.judge.readings import Reading, find_reading, list_items
from prorubric.rubric.records import Answer
from prorubric.rubric.verdict import NotApplicable, Unknown, Verdict, is_unknown

Kind = Literal["answers", "choice", "baseline", "pairs", "labels"]
Label = str | Unknown
_SIDES = {"first": "A>B", "equal": "A=B", "second": "B>A"}
_CREATIVE_CATEGORY = "creative_writing"


@dataclass(frozen=True, slots=True)
class Worth:
    """What an answer is worth, from 0 to 1 (HealthBench: down to below 0)."""

    value: float | None
    """None if unknown verdicts leave it open."""
    low: float
    high: float
    weight: float = 1.0
    """How much it counts in a ratio."""
    failure: str = ""
    """What the policy failed at: `empty`, `cut off`, `no letter`."""
    unknown: dict[str, int] = field(default_factory=dict)
    """Verdicts that the judge did not give, by kind."""


@dataclass(frozen=True, slots=True)
class Instrument:
    """One way of measuring answers."""

    name: str
    kind: Kind
    """`answers` are judged one by one, `choice` needs no judge, `baseline` and `pairs` compare two answers, `labels`
    compares the judge's verdicts with people's."""
    prompts: tuple[str, ...] = ()
    """The judge's prompts that it uses; `prompt_file` can replace each."""
    reading: str = ""
    reply_tokens: int = 1024
    """How long a reply of the judge may have to be."""

    async def judge(self, judge: Judge, item: BenchmarkItem, answer: Answer) -> tuple[Verdict, ...]:
        """The verdicts on one answer, in the order of the reading's items."""
        reading = find_reading(self.reading)
        if isinstance(answer, str) and not answer.strip():
            # Nothing is met, and every mark is at the bad end of its scale.
            low, high = reading.form.scale
            faults = [reading.name == "creative" and own.weight < 0 for own in list_items(item.task, reading)]
            return tuple(False if reading.form.is_boolean else high if fault else low for fault in faults)
        return (await judge.judge(item.task, answer, reading)).verdicts

    async def play(self, judge: Judge, item: BenchmarkItem, first: Answer, second: Answer) -> tuple[Label, Label]:
        """The labels of both games: `first` is A in the first of them, `second` in the second.

        An answer without any text is much worse than one with text, and no judge is asked.
        """
        empty = [isinstance(answer, str) and not answer.strip() for answer in (first, second)]
        if any(empty):
            return ("A=B", "A=B") if all(empty) else ("B>>A", "A>>B") if empty[0] else ("A>>B", "B>>A")
        prompt = self.prompts[-1] if item.category == _CREATIVE_CATEGORY else self.prompts[0]
        forth, back = await judge.compare_both_ways(item.task, first, second, prompt)
        return _SIDES.get(forth, forth), _SIDES.get(back, back)

    def score(self, item: BenchmarkItem, answer: PolicyAnswer, verdicts: Sequence[Verdict] = ()) -> Worth:
        """What one answer is worth; `verdicts` are those of `judge`, none for multiple choice."""
        if self.kind == "choice":
            letter = read_letter(answer.text)
            value, failure = float(letter == item.letter), _find_failure(answer)
            has_none = letter is None and failure != "empty"
            return Worth(value, value, value, failure="no letter" if has_none else failure)
        reading = find_reading(self.reading)
        count = len(list_items(item.task, reading))
        if len(verdicts) != count:
            raise ConfigError(f"item {item.id!r}: {len(verdicts)} verdicts for {count} criteria; judge it again")
        low, high = _bound(item, reading, verdicts)
        kinds = Counter(verdict.label for verdict in verdicts if is_unknown(verdict))
        value_or_none = low if low == high else None
        return Worth(value_or_none, low, high, failure=_find_failure(answer), unknown=dict(kinds))

    def worth_of_games(self, answer: PolicyAnswer, labels: tuple[Label, Label]) -> Worth:
        """Of two games against a baseline, which is A in the first: the share of rows won, weighted by the rows."""
        kinds = Counter(label.label for label in labels if isinstance(label, Unknown))
        first, second = (None if isinstance(label, Unknown) else label for label in labels)
        results = list_results(first, second)
        if results is None:
            return Worth(None, 0.0, 1.0, failure=_find_failure(answer), unknown=dict(kinds))
        rows = sum(weight for _, weight in results)
        value = sum(won * weight for won, weight in results) / rows
        return Worth(value, value, value, weight=float(rows), failure=_find_failure(answer))


def find_instrument(name: str) -> Instrument:
    """The instrument with this name; raises `ConfigError` with the names that exist."""
    if name not in INSTRUMENTS:
        raise ConfigError(f"no instrument is called {name!r}; known: {', '.join(INSTRUMENTS)}")
    return INSTRUMENTS[name]


def score_by_tag(items: Sequence[BenchmarkItem], verdicts: Mapping[str, Sequence[Verdict]]) -> dict[str, float]:
    """HealthBench by tag, from the verdicts by the id of the item; every tag is clipped to 0..1 on its own.

    A tag of an item takes the item's score. A tag of criteria (axis, level, cluster) is scored over the criteria that
    have it, and an item in which these have no positive points is left out. So is one that unknown verdicts leave open,
    and a tag without any score is left out as well.
    """
    scores = list_by_tag(items, verdicts)
    return {tag: min(1.0, max(0.0, math.fsum(own.values()) / len(own))) for tag, own in sorted(scores.items())}


def list_by_tag(
    items: Sequence[BenchmarkItem], verdicts: Mapping[str, Sequence[Verdict]]
) -> dict[str, dict[str, float]]:
    """The scores of HealthBench by tag and by the id of the item, not clipped; see `score_by_tag`."""
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    for item in items:
        if item.id not in verdicts:
            continue
        judged = [*zip(item.criteria, verdicts[item.id], strict=True)]
        groups = dict.fromkeys(item.tags, judged)
        for tag in dict.fromkeys(tag for criterion in item.criteria for tag in criterion.tags):
            groups[tag] = [pair for pair in judged if tag in pair[0].tags]
        for tag, pairs in groups.items():
            points = [
                (verdict if isinstance(verdict, bool) else None, criterion.weight) for criterion, verdict in pairs
            ]
            value = healthbench_score([points]).mean if any(weight > 0 for _, weight in points) else None
            if value is not None:
                scores[tag][item.id] = value
    return scores


def _find_failure(answer: PolicyAnswer) -> str:
    if not answer.text.strip():
        return "empty"
    return "cut off" if answer.finish == "length" else ""


def _bound(item: BenchmarkItem, reading: Reading, verdicts: Sequence[Verdict]) -> tuple[float, float]:
    """The least and the most that an answer can be worth, whatever its unknown verdicts would have been."""
    if reading.name in ("healthbench", "criteria"):
        points = [criterion.weight for criterion in item.criteria]
        known = [verdict if isinstance(verdict, bool) else None for verdict in verdicts]
        return healthbench_score([[*zip(known, points, strict=True)]]).bounds[0]
    if reading.name == "creative":
        names = [own.text for own in list_items(item.task, reading)]
        given = zip(names, verdicts, strict=True)
        marks = [(name, mark) for name, mark in given if not isinstance(mark, NotApplicable)]
        piece = creative_score([[(name, None if isinstance(mark, Unknown) else mark) for name, mark in marks]]).pieces[
            0
        ]
        return (0.0, 1.0) if piece is None else (piece / 100, piece / 100)
    low, high = reading.form.scale
    sums = [
        math.fsum(end if isinstance(verdict, Unknown | NotApplicable) else float(verdict) for verdict in verdicts)
        for end in (low, high)
    ]
    worth = [total / len(verdicts) / high for total in sums]
    return worth[0], worth[1]


INSTRUMENTS = {
    instrument.name: instrument
    for instrument in (
        Instrument("healthbench", "answers", ("healthbench",), "healthbench"),
        Instrument("healthbench-meta", "labels", ("healthbench",), "healthbench-bare"),
        Instrument("choice", "choice"),
        Instrument("writing", "answers", ("writing",), "writing"),
        Instrument("creative", "answers", ("creative",), "creative", reply_tokens=2048),
        Instrument("coverage", "answers", ("coverage",), "coverage"),
        Instrument("tasks", "answers", ("binary",), "criteria"),
        Instrument("probe", "answers", ("single",), "probe-single"),
        Instrument("arena", "baseline", ("arena", "arena-creative"), reply_tokens=8192),
        Instrument("pairs", "pairs", ("pairwise",)),
    )
}
"""Every instrument by its name."""
