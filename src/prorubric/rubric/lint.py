"""What is wrong with a checklist, and how hackable its sum is, read off the records before a token is spent.

`lint_task` looks at one task. Each finding names its check, how bad it is, the criteria it is about and what to do.
An *error* makes the reward wrong (nothing can be judged, or two criteria cannot both be met); a *warning* makes it
worse than it looks; a *note* is worth knowing. Nothing is ever changed.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, product
from statistics import median
from typing import Literal

from prorubric.rubric.base import Record
from prorubric.rubric.records import Criterion, Rubric, Task
from prorubric.text.criteria import find_unjudgeable, read_direction, read_kind
from prorubric.text.show import shorten

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
"""Share of content words that two criteria have in common to count as near-duplicates, if one says nothing else."""
OUTLIER_TIMES_MEDIAN = 5.0
OUTLIER_SHARE = 0.5

_FEWEST_WORDS = 4
_SHOWN = 70
# Punctuation and mark-up mean nothing; other symbols stay with their word ("<140", "C#"), and so does a minus sign.
_MEANINGLESS = str.maketrans(dict.fromkeys('.,;:!?"“”‘„«»()[]{}*_`•…–—-/。，、；：', " ") | {"’": "'"})
_MINUS = re.compile(r"(?<![\w)])-(?=\d)")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|es|(?<!s)s|e)$")
_STOP = frozenset(
    """
    a an the this that these those is are be been being was were it its of to in on at by for from with as and
    or than then response answer reply should must does do did has have had will would can could may might which
    who whom whose there their they them user user's also any all such e g i
    """.split()
)
# Verbs that say that something is to be said: to state a thing and to mention it is nearly the same.
_SAYING = frozenset(
    """
    mention mentions state states note notes say says explain explains describe describes discuss discusses define
    defines list lists include includes provide provides indicate indicates specify specifies tell tells inform informs
    advise advises recommend recommends suggest suggests clearly explicitly briefly correctly specifically
    """.split()
)
# Words that change nothing in a sentence but its grammar.
_FILLER = frozenset(
    """
    a an the this is are be been being was were it its to that response answer reply should must shall does do did
    has have had also any
    """.split()
)
_NEGATION = frozenset(
    """
    not no never none without avoid avoids avoiding refrain refrains fail fails failing omit omits omitting
    neglect neglects against doesn't don't isn't aren't shouldn't mustn't cannot can't lacks lack
    forget forgets
    """.split()
)
# "Refrains from" is one word in two; "or not" and "not only" deny nothing.
_PHRASES = ((" refrain from ", " refrain "), (" refrains from ", " refrain "), (" or not ", " "), (" not only ", " "))
_NOT = "¬"
_ORDER_MATTERS = frozenset("than over before after rather instead above below versus vs from".split())

# Two criteria with the same statement, by whether both affirm it (or both deny it) and whether their signs agree.
_SAME_STATEMENT = {
    (True, True): ("near-duplicate", "say the same; merge them or drop one"),
    (True, False): ("contradiction", "say the same with opposite signs; drop one"),
    (False, True): ("contradiction", "say the opposite and weigh alike; drop one"),
    (False, False): ("mirrored", "pay and punish the same thing: it counts twice"),
}

_LENGTH = re.compile(
    r"(?P<number>\d[\d,]{0,11})\s+(?P<unit>word|sentence|paragraph|character|bullet\s+point|item|line)s?\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.;:\n]\s|[()]")
_CLAUSE_END = re.compile(r"[.,;:()\n]|\sand\s")
# Phrase, side, and whether the number itself is out; "no more than" is "more than" with a negation before it.
_LIMITS = (
    ("at least", "least", False),
    ("minimum of", "least", False),
    ("more than", "least", True),
    ("longer than", "least", True),
    ("over", "least", True),
    ("exceed", "least", True),
    ("exceeds", "least", True),
    ("exceeding", "least", True),
    ("at most", "most", False),
    ("maximum of", "most", False),
    ("up to", "most", False),
    ("within", "most", False),
    ("fewer than", "most", True),
    ("less than", "most", True),
    ("shorter than", "most", True),
    ("under", "most", True),
)
_NEGATION_REACH = 4
# What a demand on the length of the whole answer is made of; any other word says that it is about a part of it.
_WHOLE_ANSWER = (
    _FILLER
    | _NEGATION
    | frozenset(
        """
        of in with and or by text output overall whole entire total length word words count long maximum minimum at
        least most up within more less fewer than over under exceed exceeds exceeding longer shorter contain contains
        use uses stay stays keep keeps kept remain remains limit limits limited write writes written consist consists
        comprise comprises provide provides give gives clear concise brief short need needs
        """.split()
    )
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

    __slots__ = ("content", "key", "text", "weight")

    def __init__(self, text: str, weight: float) -> None:
        self.text, self.weight = text, weight
        self.key = _split_words(text) or (text,)
        self.content = set(map(_stem, self.key)) - _EMPTY_STEMS


class _Statement:
    """What a criterion says: worked out only for the few pairs that might say the same."""

    __slots__ = ("body", "core", "negated", "negations", "numbers", "reports")

    def __init__(self, key: tuple[str, ...]) -> None:
        line = f" {' '.join(key)} "
        for phrase, meaning in _PHRASES:
            line = line.replace(phrase, meaning)
        words = line.split()
        said = [_NOT if word in _NEGATION else _stem(word) for word in words if word not in _FILLER]
        start = next((place for place, word in enumerate(said) if word != _NOT), len(said))
        self.negated = start % 2 == 1
        """Whether the main verb is negated."""
        self.body = said[start:]
        """The words that matter, with later negations in place."""
        self.core = [word for word in self.body if word != _NOT]
        self.negations = len(self.body) - len(self.core)
        self.numbers = {word for word in words if any(map(str.isdigit, word))}
        rest = [word for word in words if word == "that" or word not in _FILLER]
        self.reports = len(rest) > 1 and rest[0] in _SAYING and (rest[1] == "that" or rest[1] in _NEGATION)
        """Whether it asks to say *that* something is (not) so; to say *what* is not so is another matter."""


def _split_words(text: str) -> tuple[str, ...]:
    """The words in lower case; texts that differ in punctuation, mark-up and white space only have the same."""
    lowered = text.lower()
    if "-" in lowered:
        lowered = _MINUS.sub("−", lowered)
    words = lowered.translate(_MEANINGLESS).split()
    return tuple([bare for word in words if (bare := word.strip("'"))] if "'" in text or "’" in text else words)


@lru_cache(maxsize=2**16)
def _stem(word: str) -> str:
    """The word without the endings of verbs and plurals, so that "mentions" and "to mention" are one."""
    return _ENDING.sub("", word)


# Every filler is empty, so that texts with the same core have the same content.
_EMPTY_STEMS = frozenset(map(_stem, _STOP | _NEGATION | _SAYING | _FILLER))


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
        presence_share=math.fsum(map(abs, presence)) / rubric.total_weight,
        compensation=compensation(rubric),
        compensation_grouped=_compensation_grouped(task),
    )


def compensation(rubric: Rubric) -> float | None:
    """The share of the sum that an answer can still reach when it misses the heaviest criterion.

    Missing a penalty criterion means showing the behaviour. None where no weight is positive: such a sum has no value.
    """
    positive = math.fsum(weight for weight in rubric.weights if weight > 0)
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
        smaller, larger = first.content, second.content
        if len(smaller) > len(larger):
            smaller, larger = larger, smaller
        # Where a word stands for another ("LIME" for "SHAP"), it is another demand; most pairs end here.
        if len(smaller) >= NEAR_DUPLICATE * len(larger) and smaller <= larger:
            yield from _compare_like_text(i, j, first, second)


def _compare_same_text(i: int, j: int, first: _Reading, second: _Reading) -> Finding:
    quoted = f"criteria {i} and {j} say the same ({shorten(first.text, _SHOWN)!r})"
    weights = f"{first.weight:+g} and {second.weight:+g}"
    if (first.weight > 0) != (second.weight > 0):
        return _find("contradiction", (i, j), f"{quoted} and weigh {weights}: it is both asked for and punished")
    if first.weight != second.weight:
        return _find("other-points", (i, j), f"{quoted} and weigh {weights}; keep one")
    return _find("duplicate", (i, j), f"{quoted}: it counts twice ({weights}); keep one")


def _compare_like_text(i: int, j: int, first: _Reading, second: _Reading) -> Iterator[Finding]:
    one, other = _Statement(first.key), _Statement(second.key)
    quoted = f"criteria {i} ({shorten(first.text, _SHOWN)!r}) and {j} ({shorten(second.text, _SHOWN)!r})"
    same_sign = (first.weight > 0) == (second.weight > 0)
    same_side = one.negated == other.negated
    if one.core and one.body == other.body:
        check, remark = _SAME_STATEMENT[same_side, same_sign]
        yield _find(check, (i, j), f"{quoted} {remark}")
    elif same_side and one.core == other.core and _deny_each_other(one, other):
        # Silence avoids two statements that are punished; only what is asked for can be asked for in vain.
        if first.weight > 0 and second.weight > 0:
            yield _find("contradiction", (i, j), f"{quoted} ask to say the opposite; drop one")
    elif same_side and same_sign and _are_near(first, second, one, other):
        yield _find("near-duplicate", (i, j), f"{quoted} say nearly the same; merge them or drop one")


def _deny_each_other(one: _Statement, other: _Statement) -> bool:
    affirms, denies = (one, other) if one.negations < other.negations else (other, one)
    return denies.negations - affirms.negations == 1 and not one.negated and denies.reports


def _are_near(first: _Reading, second: _Reading, one: _Statement, other: _Statement) -> bool:
    """Both say the same thing, and one of them little more."""
    return (
        min(len(first.content), len(second.content)) >= _FEWEST_WORDS
        and one.negations == other.negations
        and one.numbers == other.numbers
        and (
            _ORDER_MATTERS.isdisjoint((*first.key, *second.key))
            or _in_order(first, second, one) == _in_order(first, second, other)
        )
    )


def _in_order(first: _Reading, second: _Reading, statement: _Statement) -> list[str]:
    return [word for word in statement.core if word in first.content and word in second.content]


def _check_weights(rubric: Rubric) -> Iterator[Finding]:
    sizes = [abs(weight) for weight in rubric.weights]
    if not any(weight > 0 for weight in rubric.weights):
        yield _find(
            "no-positive-weight", (), "no weight is positive, so the sum cannot be normalised; add what is asked for"
        )
    if len(sizes) < 5:
        return
    middle, total = median(sizes), rubric.total_weight
    for position, size in enumerate(sizes, 1):
        if size > OUTLIER_TIMES_MEDIAN * middle or size > OUTLIER_SHARE * total:
            weight = rubric.weights[position - 1]
            message = f"criterion {position} weighs {weight:+g}, the median is {middle:g}; is that meant?"
            yield _find("outlier", (position,), message)


def _check_limits(rubric: Rubric) -> Iterator[Finding]:
    """Two demands on length that no answer can meet together, such as at least 300 and at most 150 words."""
    least: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    most: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for position, criterion in enumerate(rubric.criteria, 1):
        for length in _LENGTH.finditer(criterion.text) if criterion.weight > 0 else ():
            limit = _read_limit(criterion.text, length)
            if limit:
                side, subject, number = limit
                (least if side == "least" else most)[subject].append((number, position))
    for subject in sorted(least.keys() & most.keys()):
        clashes = [
            (low - high, low, high, asks_more, asks_less)
            for (low, asks_more), (high, asks_less) in product(least[subject], most[subject])
            if low > high and asks_more != asks_less
        ]
        if clashes:
            _, low, high, asks_more, asks_less = max(clashes)
            pair = (min(asks_more, asks_less), max(asks_more, asks_less))
            asked = (
                f"criterion {asks_more} asks for at least {low} {subject[0]}s, criterion {asks_less} for at most {high}"
            )
            yield _find("contradiction", pair, f"{asked}; no answer can meet both, drop one")


def _read_limit(text: str, length: re.Match[str]) -> tuple[str, tuple[str, ...], int] | None:
    """The side of a limit, what it limits (its unit and the words that name a part of the answer), the number."""
    before = " ".join(_SENTENCE_END.split(text[: length.start()].lower())[-1].split())
    found = [limit for limit in _LIMITS if before.endswith(limit[0])]
    if not found:
        return None
    phrase, side, strict = max(found, key=lambda limit: len(limit[0]))
    lead = before.removesuffix(phrase).split()
    if any(word in _NEGATION or word.endswith("n't") for word in lead[-_NEGATION_REACH:]):
        side, strict = ("most" if side == "least" else "least"), not strict
    after = _CLAUSE_END.split(text[length.end() :].lower())[0]
    unit = " ".join(length["unit"].lower().split())
    named = {*_split_words(" ".join(lead)), *_split_words(after)} - _WHOLE_ANSWER
    part = sorted(word for word in named if not word.isdigit())
    number = int(length["number"].replace(",", ""))
    return side, (unit, *part), number + (strict if side == "least" else -strict)


def _find(check: str, criteria: tuple[int, ...], message: str) -> Finding:
    return Finding(check=check, severity=CHECKS[check], criteria=criteria, message=message)
