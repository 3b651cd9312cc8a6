"""What is wrong with a checklist, and how hackable its sum is, read off the records before a token is spent.

`lint_task` looks at one task. Each finding names its check, how bad it is, the criteria it is about and what to do.
An *error* makes the reward wrong (nothing can be judged, or two criteria cannot both be met); a *warning* makes it
worse than it looks; a *note* is worth knowing. Nothing is ever changed.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import median
from typing import Literal

from prorubric.rubric.reading import find_unjudgeable, read_direction, read_kind
from prorubric.rubric.record import Record, shorten
from prorubric.rubric.records import Criterion, Rubric, Task

Severity = Literal["error", "warning", "note"]

CHECKS: dict[str, Severity] = {
    "unjudgeable": "error",
    "contradiction": "error",
    "polarity": "warning",
    "duplicate": "warning",
    "other-points": "warning",
    "near-duplicate": "warning",
    "outlier": "warning",
    "no-positive-weight": "warning",
    "mirrored": "note",
    "formatting-only": "note",
}
"""Every check and how bad a finding of it is."""

NEAR_DUPLICATE = 0.8
"""Share of content words that two criteria have in common to count as near-duplicates."""
OUTLIER_TIMES_MEDIAN = 5.0
OUTLIER_SHARE = 0.5

_FEWEST_WORDS = 4
_SHOWN = 70
_WORD = re.compile(r"[\w'’]+")
_STOP = frozenset(
    """
    a an the this that these those is are be been being was were it its of to in on at by for from with as and
    or than then response answer reply should must does do did has have had will would can could may might which
    who whom whose there their they them user user's also any all such e g i
    """.split()
)
_NEGATION = frozenset(
    """
    not no never none without avoid avoids avoiding refrain refrains fail fails failing omit omits omitting
    neglect neglects against doesn't don't isn't aren't shouldn't mustn't cannot can't lacks lack
    """.split()
)
_LENGTH = re.compile(
    r"(?P<number>\d[\d,]*)\s+(?P<unit>word|sentence|paragraph|character|bullet\s+point|item|line)s?\b", re.IGNORECASE
)
_EMPTY_WORDS = _STOP | _NEGATION
_AT_LEAST = ("at least", "no fewer than", "no less than", "minimum of", "more than", "over")
_AT_MOST = (
    "at most",
    "no more than",
    "not exceed",
    "fewer than",
    "less than",
    "under",
    "maximum of",
    "up to",
    "within",
)


class Finding(Record):
    """One thing to look at in one task."""

    check: str
    severity: Severity
    criteria: tuple[int, ...]
    """1-based positions of the criteria it is about."""
    message: str


class TaskLint(Record):
    """What was found in one task, and the figures that say what its sum pays for."""

    task_id: str
    criteria: int
    findings: tuple[Finding, ...]
    presence: int
    """How many criteria are met by naming something."""
    formatting: int
    presence_share: float
    """Their share of the weight, by `|w|`."""
    compensation: float | None
    """How much of the sum an answer that misses the heaviest criterion can still reach; None if there is no sum."""
    compensation_grouped: float | None
    """The same with the task's dimensions, where it has them."""


class _Reading:
    """One criterion, read once, for comparing with the others."""

    __slots__ = ("content", "key", "negated", "text", "weight")

    def __init__(self, text: str, weight: float) -> None:
        words = _WORD.findall(text.lower())
        distinct = set(words)
        negations = 0 if distinct.isdisjoint(_NEGATION) else sum(word in _NEGATION for word in words)
        self.text, self.weight = text, weight
        self.key = tuple(words)
        self.negated = negations % 2 == 1
        self.content = distinct - _EMPTY_WORDS


def lint_task(task: Task) -> TaskLint:
    """Look at one task."""
    rubric = task.rubric
    kinds = [read_kind(criterion.text) for criterion in rubric.criteria]
    presence = [c.weight for c, kind in zip(rubric.criteria, kinds, strict=True) if kind == "presence"]
    findings = [*_check_single(rubric, kinds), *_check_pairs(rubric), *_check_weights(rubric), *_check_limits(rubric)]
    return TaskLint(
        task_id=task.id,
        criteria=len(rubric),
        findings=tuple(sorted(findings, key=lambda finding: list(CHECKS).index(finding.check))),
        presence=len(presence),
        formatting=kinds.count("formatting"),
        presence_share=sum(map(abs, presence)) / rubric.total_weight,
        compensation=compensation(rubric),
        compensation_grouped=_compensation_grouped(task),
    )


def compensation(rubric: Rubric) -> float | None:
    """The share of the sum that an answer can still reach when it misses the heaviest criterion.

    Missing a penalty criterion means showing the behaviour. None where no weight is positive: such a sum has no value.
    """
    positive = sum(weight for weight in rubric.weights if weight > 0)
    heaviest = max(abs(weight) for weight in rubric.weights)
    return max(0.0, (positive - heaviest) / positive) if positive > 0 else None


def _compensation_grouped(task: Task) -> float | None:
    if task.protocol is None:
        return None
    weights = task.rubric.weights
    heaviest = max(abs(weight) for weight in weights)
    total = task.rubric.total_weight
    # Where several criteria are the heaviest, the answer misses the one whose dimension costs it least.
    return max(
        (total - dimension.weight) / total
        for dimension in task.protocol.dimensions
        if any(abs(weights[index - 1]) == heaviest for index in dimension.indices)
    )


def _check_single(rubric: Rubric, kinds: Sequence[str]) -> Iterator[Finding]:
    for position, (criterion, kind) in enumerate(zip(rubric.criteria, kinds, strict=True), 1):
        for check, remark in _remark(criterion, kind):
            quoted = f"criterion {position} ({criterion.weight:+g}, {shorten(criterion.text, _SHOWN)!r})"
            yield _find(check, (position,), f"{quoted} {remark}")


def _remark(criterion: Criterion, kind: str) -> Iterator[tuple[str, str]]:
    """What there is to say of one criterion on its own: the check and the end of its sentence."""
    fault = find_unjudgeable(criterion.text)
    if fault:
        yield "unjudgeable", f"cannot be judged: {fault}; complete it or drop it"
    direction = read_direction(criterion.text)
    if direction == "fault" and criterion.weight > 0:
        yield "polarity", "reads as a fault and adds; should the weight be negative?"
    if direction == "requirement" and criterion.weight < 0:
        yield "polarity", "reads as a demand and subtracts when met; turn one around"
    if kind == "formatting":
        yield "formatting-only", "is about form only"


def _check_pairs(rubric: Rubric) -> Iterator[Finding]:
    readings = [_Reading(criterion.text, criterion.weight) for criterion in rubric.criteria]
    for (i, first), (j, second) in combinations(enumerate(readings, 1), 2):
        if first.key == second.key:
            yield _compare_same_text(i, j, first, second)
            continue
        smaller, larger = len(first.content), len(second.content)
        if smaller > larger:
            smaller, larger = larger, smaller
        # Two sets of such different size cannot share enough, which spares most pairs the comparison.
        if smaller < _FEWEST_WORDS or smaller < NEAR_DUPLICATE * larger:
            continue
        shared = len(first.content & second.content)
        if shared >= NEAR_DUPLICATE * (smaller + larger - shared):
            yield from _compare_like_text(i, j, first, second, same_words=shared == larger)


def _compare_same_text(i: int, j: int, first: _Reading, second: _Reading) -> Finding:
    quoted = f"criteria {i} and {j} say the same ({shorten(first.text, _SHOWN)!r})"
    weights = f"{first.weight:+g} and {second.weight:+g}"
    if (first.weight > 0) != (second.weight > 0):
        return _find("contradiction", (i, j), f"{quoted} and weigh {weights}: it is both asked for and punished")
    if first.weight != second.weight:
        return _find("other-points", (i, j), f"{quoted} and weigh {weights}; keep one")
    return _find("duplicate", (i, j), f"{quoted}: it counts twice ({weights}); keep one")


def _compare_like_text(i: int, j: int, first: _Reading, second: _Reading, same_words: bool) -> Iterator[Finding]:
    quoted = f"criteria {i} ({shorten(first.text, _SHOWN)!r}) and {j} ({shorten(second.text, _SHOWN)!r})"
    same_sign = (first.weight > 0) == (second.weight > 0)
    if first.negated == second.negated and _numbers(first) == _numbers(second):
        if same_sign:
            yield _find("near-duplicate", (i, j), f"{quoted} say nearly the same; merge them or drop one")
        elif same_words:
            yield _find("contradiction", (i, j), f"{quoted} say the same with opposite signs; drop one")
    elif same_words and first.negated != second.negated:
        if same_sign:
            yield _find("contradiction", (i, j), f"{quoted} say the opposite and weigh alike; drop one")
        else:
            yield _find("mirrored", (i, j), f"{quoted} pay and punish the same thing: it counts twice")


def _numbers(reading: _Reading) -> set[str]:
    return {word for word in reading.key if word.isdigit()}


def _check_weights(rubric: Rubric) -> Iterator[Finding]:
    sizes = [abs(weight) for weight in rubric.weights]
    if not any(weight > 0 for weight in rubric.weights):
        yield _find(
            "no-positive-weight", (), "no weight is positive, so the sum cannot be normalised; add what is asked for"
        )
    if len(sizes) < 5:
        return
    middle, total = median(sizes), sum(sizes)
    for position, size in enumerate(sizes, 1):
        if size > OUTLIER_TIMES_MEDIAN * middle or size > OUTLIER_SHARE * total:
            weight = rubric.weights[position - 1]
            message = f"criterion {position} weighs {weight:+g}, the median is {middle:g}; is that meant?"
            yield _find("outlier", (position,), message)


def _check_limits(rubric: Rubric) -> Iterator[Finding]:
    """Two demands on length that no answer can meet together, such as at least 300 and at most 150 words."""
    least: dict[str, list[tuple[int, int]]] = defaultdict(list)
    most: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for position, criterion in enumerate(rubric.criteria, 1):
        for length in _LENGTH.finditer(criterion.text) if criterion.weight > 0 else ():
            before = " ".join(criterion.text[: length.start()].lower().split())
            side = _read_limit(before)
            if side:
                (least if side == "least" else most)[length["unit"].lower()].append(
                    (int(length["number"].replace(",", "")), position)
                )
    for unit in least.keys() & most.keys():
        (low, asks_more), (high, asks_less) = max(least[unit]), min(most[unit])
        if low > high and asks_more != asks_less:
            pair = (min(asks_more, asks_less), max(asks_more, asks_less))
            message = f"criterion {asks_more} asks for at least {low} {unit}s, criterion {asks_less} for at most {high}"
            yield _find("contradiction", pair, f"{message}; no answer can meet both, drop one")


def _read_limit(before: str) -> str | None:
    """Which limit the words before a number set: the longest phrase decides, as in "no more than"."""
    phrases = [(phrase, "least") for phrase in _AT_LEAST] + [(phrase, "most") for phrase in _AT_MOST]
    found = [(len(phrase), side) for phrase, side in phrases if before.endswith(phrase)]
    return max(found)[1] if found else None


def _find(check: str, criteria: tuple[int, ...], message: str) -> Finding:
    return Finding(check=check, severity=CHECKS[check], criteria=criteria, message=message)
