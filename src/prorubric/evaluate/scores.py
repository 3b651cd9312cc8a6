"""What a benchmark makes of its judge's replies: pure arithmetic that reproduces the published numbers.

Two kinds of failure stay apart. If the policy failed, for example gave no letter, that is its result: it is scored and
counted. If the judge failed, the prompt, piece or question has no value: it leaves the mean and is counted, and no
failed verdict becomes 0.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

from prorubric.errors import RubricError
from prorubric.evaluate.statistics import estimate_mean, estimate_ratio, sign_test, wilson_interval
from prorubric.judge.agreement import Confusion, Label, count_pairs
from prorubric.judge.forms import LARGEST_MARK
from prorubric.judge.texts import CREATIVE_LOWER
from prorubric.rubric.base import Record
from prorubric.rubric.verdict import Unknown
from prorubric.text.show import show

Bounds = tuple[float, float]
Games = tuple[Hashable, str | None, str | None]
"""A question and the labels of its two games."""

_LABELS = {"A>>B": (1.0, 3), "A>B": (1.0, 1), "A=B": (0.5, 1), "B>A": (0.0, 1), "B>>A": (0.0, 3)}
"""What each label gives A, and how often it counts."""


class HealthBenchScore(Record):
    """HealthBench: the mean over prompts, clipped only at the end."""

    score: float | None
    """The mean, clipped to 0..1; None if no prompt has a value."""
    mean: float | None
    """Not clipped; differences between policies are made of this."""
    per_prompt: tuple[float | None, ...]
    """None where unknown verdicts leave the score open."""
    bounds: tuple[Bounds, ...]
    """By prompt, the score with every unknown verdict set against the answer and for it."""
    n: int
    unknown: int
    """Prompts without a value, which are left out of the mean."""


def healthbench_score(prompts: Sequence[Sequence[tuple[bool | Unknown | None, float]]]) -> HealthBenchScore:
    """Points of the criteria that are met over all positive points, by prompt; `met` is None or Unknown if unknown."""
    bounds: list[Bounds] = []
    for place, criteria in enumerate(prompts, 1):
        for met, _ in criteria:
            if not isinstance(met, bool | Unknown | None):
                raise RubricError(f"prompt {place}: met is {show(met)}; give True, False, or None if it is unknown")
        total = math.fsum(points for _, points in criteria if points > 0)
        if total <= 0:
            raise RubricError(f"prompt {place} has no positive points, so it has no score; leave it out")
        met_points = math.fsum(points for met, points in criteria if met is True)
        open_points = [points for met, points in criteria if not isinstance(met, bool)]
        low = met_points + math.fsum(points for points in open_points if points < 0)
        high = met_points + math.fsum(points for points in open_points if points > 0)
        bounds.append((low / total, high / total))
    values = [low if low == high else None for low, high in bounds]
    mean = _mean(values)
    return HealthBenchScore(
        score=None if mean is None else min(1.0, max(0.0, mean)),
        mean=mean,
        per_prompt=tuple(values),
        bounds=tuple(bounds),
        n=len(values) - values.count(None),
        unknown=values.count(None),
    )


class ArenaScore(Record):
    """Arena-Hard: how a model does against the baseline, over both orders of every question. Errors are in points."""

    score: float | None
    """0..100; 50 is as good as the baseline. "Much better" and "much worse" count three times."""
    wins: int
    """Questions on which the model wins in both orders."""
    ties: int
    losses: int
    inconsistent: int
    """Questions on which the two orders differ."""
    se_question: float | None
    """The standard error by question, which is the one to use."""
    se_row: float | None
    """By row, as if the up to six rows of a question were independent."""
    n: int
    """Questions with both games read."""
    unread: int
    """Questions that are left out because a game could not be read."""


def arena_score(games: Iterable[Games]) -> ArenaScore:
    """Question, label of the first game (the baseline is A) and of the second (the model is A); None if unread."""
    read, unread = _read_games(games)
    sums: dict[Hashable, list[float]] = defaultdict(lambda: [0.0, 0.0])
    rows = list[float]()
    for question, results in read:
        for won, weight in results:
            rows += [won] * weight
            sums[question][0] += won * weight
            sums[question][1] += weight
    share, se_question = estimate_ratio(*([own[place] for own in sums.values()] for place in (0, 1)))
    se_row = None if se_question is None else estimate_mean(rows).se
    return ArenaScore(
        score=None if share is None else 100 * share,
        **_count_outcomes(read),
        se_question=None if se_question is None else 100 * se_question,
        se_row=None if se_row is None else 100 * se_row,
        n=len(read),
        unread=unread,
    )


class PairsScore(Record):
    """Blind pairs without a rubric: how often one policy is preferred to another in both orders."""

    wins: int
    ties: int
    losses: int
    inconsistent: int
    win_rate: float | None
    """Wins over wins and losses; ties and inconsistencies are in neither."""
    low: float | None
    """Of the 95% interval of the win rate, by Wilson."""
    high: float | None
    p: float
    """Of the sign test."""
    consistency: float | None
    """The share of pairs with the same result in both orders."""
    position_bias: float | None
    """How much more often than half of the time the answer shown first is preferred, among games with a preference."""
    n: int
    unread: int


def pairs_score(games: Iterable[Games]) -> PairsScore:
    """Labels as for `arena_score`: the other policy is A in the first game, this one in the second."""
    read, unread = _read_games(games)
    counts = _count_outcomes(read)
    wins, losses = counts["wins"], counts["losses"]
    low, high = wilson_interval(wins, wins + losses) if wins + losses else (None, None)
    firsts = [
        won == (1.0 if place else 0.0) for _, results in read for place, (won, _) in enumerate(results) if won != 0.5
    ]
    first_share = _mean(firsts)
    return PairsScore(
        **counts,
        win_rate=wins / (wins + losses) if wins + losses else None,
        low=low,
        high=high,
        p=sign_test(wins, losses),
        consistency=1 - counts["inconsistent"] / len(read) if read else None,
        position_bias=None if first_share is None else first_share - 0.5,
        n=len(read),
        unread=unread,
    )


_Result = tuple[float, int]


def list_results(first: str | None, second: str | None) -> tuple[_Result, _Result] | None:
    """What a model wins in the two games of a question and how often each counts; None if a game is unread."""
    read, _ = _read_games([("", first, second)])
    return read[0][1] if read else None


def _read_games(games: Iterable[Games]) -> tuple[list[tuple[Hashable, tuple[_Result, _Result]]], int]:
    """What the model won in each order and how often that counts, by question, and how many questions are unread."""
    read, unread = [], 0
    for question, first, second in games:
        for label in (first, second):
            if label is not None and label not in _LABELS:
                allowed = f"give {', '.join(_LABELS)}, or None if unread"
                raise RubricError(f"question {question!r}: no label {show(label)}; {allowed}")
        if first is None or second is None:
            unread += 1
            continue
        (baseline, weight), result = _LABELS[first], _LABELS[second]
        read.append((question, ((1 - baseline, weight), result)))
    return read, unread


def _count_outcomes(read: Iterable[tuple[Hashable, tuple[_Result, _Result]]]) -> dict[str, int]:
    named = {(1.0, 1.0): "wins", (0.5, 0.5): "ties", (0.0, 0.0): "losses"}
    counts = Counter(named.get((one[0], other[0]), "inconsistent") for _, (one, other) in read)
    return {name: counts[name] for name in (*named.values(), "inconsistent")}


class CreativeScore(Record):
    """Creative Writing v3, isolated rubric."""

    score: float | None
    """0..100, over pieces."""
    over_marks: float | None
    """0..100, over all marks, as the benchmark's own pages average."""
    pieces: tuple[float | None, ...]
    """0..100 each; None for a piece without a readable mark, or with one that is unknown."""
    n: int
    unread: int
    """Pieces without a score, which are left out."""
    dropped: int
    """Marks outside of the scale, which are left out."""


def creative_score(
    pieces: Sequence[Sequence[tuple[str, float | None]]], largest: float | None = LARGEST_MARK
) -> CreativeScore:
    """Criteria and marks (0..20) by piece; the nine criteria of which less is better are inverted.

    A criterion that does not apply is left out of the list; a mark of None is unknown, and so is its piece. A number
    above `largest` is not a mark; upstream's first rule kept it, as `largest=None` does.
    """
    scores: list[float | None] = []
    every: list[float] = []
    dropped = 0
    for marks in pieces:
        known = [(name, mark) for name, mark in marks if mark is not None]
        kept = [(name, mark) for name, mark in known if mark >= 0 and (largest is None or mark <= largest)]
        dropped += len(known) - len(kept)
        values = [LARGEST_MARK - mark if name in CREATIVE_LOWER else mark for name, mark in kept]
        is_read = len(known) == len(marks) and bool(values)
        scores.append(5 * math.fsum(values) / len(values) if is_read else None)
        every += values if is_read else []
    over_marks = _mean(every)
    return CreativeScore(
        score=_mean(scores),
        over_marks=None if over_marks is None else 5 * over_marks,
        pieces=tuple(scores),
        n=len(scores) - scores.count(None),
        unread=scores.count(None),
        dropped=dropped,
    )


class ChoiceScore(Record):
    """Multiple choice: MedQA, GPQA-Diamond."""

    accuracy: float | None
    """0..100."""
    correct: tuple[bool, ...]
    """By question, for comparisons."""
    n: int
    unread: int
    """Answers from which no letter could be read, empty ones included."""
    empty: int
    """Answers without any text; they never get a letter."""


def choice_accuracy(
    texts: Sequence[str | None], answers: Sequence[str], unread: str = "wrong", letters: str = "ABCD"
) -> ChoiceScore:
    """How many answers give the right letter. `unread="A"` answers A where no letter can be read, as some tables do."""
    if len(texts) != len(answers):
        raise RubricError(f"{len(texts)} texts for {len(answers)} answers; give one for each question")
    if unread != "wrong" and (len(unread) != 1 or unread not in letters):
        raise RubricError(f"unread is {unread!r}; give wrong, or one of the letters {letters}")
    if wrong := [answer for answer in answers if len(answer) != 1 or answer not in letters]:
        raise RubricError(f"an answer is {show(wrong[0])}; give one of the letters {letters}")
    read = [read_letter(text or "", letters) for text in texts]
    given = [letter or (unread if (text or "").strip() else None) for letter, text in zip(read, texts, strict=True)]
    correct = tuple(letter == answer for letter, answer in zip(given, answers, strict=True))
    share = _mean(correct)
    return ChoiceScore(
        accuracy=None if share is None else 100 * share,
        correct=correct,
        n=len(correct),
        unread=read.count(None),
        empty=sum(not (text or "").strip() for text in texts),
    )


def read_letter(text: str, letters: str = "ABCD") -> str | None:
    """The letter after the first `Answer:`, or else the one that the text begins with; None if there is neither.

    Of several letters, as in `A/B`, the first counts. A letter that begins a sentence (`A patient …`) is not an answer.
    """
    stated = re.search(rf"(?i:\banswer(?:[ _]choice)?)[\"'*]*\s*:[\s\"'*$(\[{{]*(?:\\boxed\{{)?([{letters}])\b", text)
    found = stated or re.match(rf"[\s\"'*(\[]*([{letters}])(?=\s*(?:$|\n|[.:,/)\]}}\"*]|or\b|and\b))", text)
    return found[1] if found else None


def balanced_f1(pairs: Iterable[tuple[Label, Label]]) -> float | None:
    """The mean of the F1 of true and the F1 of false over pairs of a verdict and a label.

    None if the judge gave one answer only, or the labels are all the same: then one of the two does not exist. Pairs
    with None in them are left out.
    """
    confusion = count_pairs(pairs)
    return None if _is_one_sided(confusion) else confusion.balanced_f1


class CriteriaF1(Record):
    """Balanced F1 by criterion, and its mean over criteria, both ways."""

    by_criterion: dict[str, float | None]
    mean: float | None
    """Over the criteria that have one."""
    mean_of_all: float | None
    """With 0 for the class that does not exist, which keeps every criterion in."""
    one_sided: tuple[str, ...]
    """Criteria without a balanced F1."""


def balanced_f1_by_criterion(criteria: Mapping[str, Sequence[tuple[Label, Label]]]) -> CriteriaF1:
    """Balanced F1 within each criterion, then the plain mean."""
    counts = {name: count_pairs(pairs) for name, pairs in criteria.items()}
    found = {name: None if _is_one_sided(confusion) else confusion.balanced_f1 for name, confusion in counts.items()}
    # Where everything agrees on one answer, the F1 of that answer is 1 and the other does not exist.
    filled = [0.5 if one.balanced_f1 is None else one.balanced_f1 for one in counts.values() if one.pairs]
    return CriteriaF1(
        by_criterion=found,
        mean=_mean(found.values()),
        mean_of_all=_mean(filled),
        one_sided=tuple(name for name, value in found.items() if value is None),
    )


def _is_one_sided(confusion: Confusion) -> bool:
    said_true, said_false = confusion.both_true + confusion.only_first, confusion.only_second + confusion.both_false
    is_true, is_false = confusion.both_true + confusion.only_second, confusion.only_first + confusion.both_false
    return 0 in (said_true, said_false, is_true, is_false)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
