"""Problems in a checklist, and how hackable its sum is, found without calling a model.

`lint_task` looks at one task. Each finding names its check, how bad it is, the criteria it is about and what to do.
An *error* makes the reward wrong (nothing can be judged, or two criteria cannot both be met); a *warning* makes it
worse than it looks; a *note* is worth knowing. Nothing is ever changed.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, product
from operator import attrgetter
from statistics import median
from typing import Literal, get_args

from prorubric.rubric.base import Record
from prorubric.rubric.records import Criterion, Rubric, Task
from prorubric.text.criteria import find_unjudgeable, read_direction, read_kind
from prorubric.text.pitfalls import UNDECIDED_TAG
from prorubric.text.questions import to_statement
from prorubric.text.show import shorten
from prorubric.text.words import are_english, is_unspaced, load_words, stem

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""Worst first."""

_WARNINGS = ("polarity", "duplicate", "other-points", "near-duplicate", "outlier", "no-positive-weight")
CHECKS: dict[str, Severity] = {
    **dict.fromkeys(("unjudgeable", "contradiction"), "error"),
    **dict.fromkeys(_WARNINGS, "warning"),
    **dict.fromkeys(("mirrored", "formatting-only", "unread"), "note"),
}
"""Every check and how bad a finding of it is."""

NEAR_DUPLICATE = 0.8
"""Share of content words that two criteria have in common to count as near-duplicates, if one says nothing else."""
_OUTLIER_TIMES_MEDIAN = 5.0
_OUTLIER_SHARE = 0.5

_FEWEST_WORDS = 4
_SHOWN = 70
# Punctuation and mark-up mean nothing; other symbols stay with their word ("<140", "C#"), and so does a minus sign.
_MEANINGLESS = str.maketrans(dict.fromkeys('.,;:!?"“”‘„«»()[]{}*_`•…–—-/。，、；：', " ") | {"’": "'"})
_MINUS = re.compile(r"(?<![\w)])-(?=\d)")
_FILLER, _NEGATION, _SAYING = load_words("filler"), load_words("negation"), load_words("saying")
_LACK = "lack-of"
# "Refrains from" is one word in two; "or not" and "not only" deny nothing, and a lack of something is a thing.
_PHRASES = (
    *((" refrain from ", " refrain "), (" refrains from ", " refrain "), (" or not ", " "), (" not only ", " ")),
    *((" lack of ", f" {_LACK} "), (" absence of ", f" {_LACK} ")),
)
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
    r"(?i)(?P<number>\d[\d,]{0,11})\s+(?P<unit>word|sentence|paragraph|character|bullet\s+point|item|line)s?\b"
)
_SENTENCE_END = re.compile(r"[.;:\n]\s|[()]")
_CLAUSE_END = re.compile(r"[.,;:()\n]|\sand\s")
# The wordings of a limit: its side, and whether the number itself is out. "No more than" is a negated "more than".
_LIMITS = {
    **dict.fromkeys(("at least", "minimum of"), ("least", False)),
    **dict.fromkeys(("more than", "longer than", "over", "exceed", "exceeds", "exceeding"), ("least", True)),
    **dict.fromkeys(("at most", "maximum of", "up to", "within"), ("most", False)),
    **dict.fromkeys(("fewer than", "less than", "shorter than", "under"), ("most", True)),
}
_NEGATION_REACH = 4
_WHOLE_ANSWER = _FILLER | _NEGATION | load_words("length")

_FAULT_ADDS = "reads as a fault and adds; should the weight be negative?"
_UNDECIDED = "may describe a mistake or ask to avoid one, so its sign is a guess; reword it"
_DEMAND_SUBTRACTS = "reads as a demand but subtracts when met; reverse one of them"

_Found = tuple[str, tuple[int, ...], str]
"""A check, the criteria it is about, and the message."""


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
    unread: int
    """How many criteria are in a language that lint does not read; they have no kind."""
    presence_share: float | None
    """The share of the weight of criteria that were read, by `|w|`, that presence carries; None if none was read."""
    compensation: float | None
    """How much of the sum an answer that misses the heaviest criterion can still reach; None if there is no sum."""
    compensation_grouped: float | None
    """The same with the task's dimensions, if it has them."""


def lint_task(task: Task) -> TaskLint:
    """Look at one task."""
    rubric = task.rubric
    weights, total = rubric.weights, rubric.total_weight
    is_english = are_english([criterion.text for criterion in rubric.criteria])
    kinds = [
        read_kind(criterion.text) if is_english and not is_unspaced(criterion.text) else "unread"
        for criterion in rubric.criteria
    ]
    read = math.fsum(abs(weight) for weight, kind in zip(weights, kinds, strict=True) if kind != "unread")
    presence = [weight for weight, kind in zip(weights, kinds, strict=True) if kind == "presence"]
    found = [
        *_check_single(rubric, kinds),
        *_check_pairs(rubric),
        *_check_weights(rubric),
        *_check_lengths(rubric),
    ]
    grouped = None
    if task.protocol is not None:
        heaviest = max(map(abs, weights))
        # If several criteria are the heaviest, the answer misses the one whose dimension costs it least.
        grouped = max(
            (total - dimension.weight) / total
            for dimension in task.protocol.dimensions
            if any(abs(weights[index - 1]) == heaviest for index in dimension.indices)
        )
    return TaskLint(
        task_id=task.id,
        criteria=len(rubric),
        findings=tuple(
            Finding(check=check, severity=CHECKS[check], criteria=criteria, message=message)
            for check, criteria, message in sorted(found, key=lambda one: list(CHECKS).index(one[0]))
        ),
        presence=len(presence),
        formatting=kinds.count("formatting"),
        unread=kinds.count("unread"),
        presence_share=math.fsum(map(abs, presence)) / read if read else None,
        compensation=compensation(rubric),
        compensation_grouped=grouped,
    )


def compensation(rubric: Rubric) -> float | None:
    """The share of the sum that an answer can still reach when it misses the heaviest criterion.

    Missing a penalty means showing the behaviour. None if no weight is positive: such a sum has no value.
    """
    positive = math.fsum(weight for weight in rubric.weights if weight > 0)
    return max(0.0, (positive - max(map(abs, rubric.weights))) / positive) if positive > 0 else None


def _check_single(rubric: Rubric, kinds: Sequence[str]) -> Iterator[_Found]:
    """Each criterion on its own, and in one finding those that could not be read."""
    for position, (criterion, kind) in enumerate(zip(rubric.criteria, kinds, strict=True), 1):
        text, adds = criterion.text, criterion.weight > 0
        fault = None if criterion.check else find_unjudgeable(text)  # what has a check is not judged
        direction = read_direction(text)
        for check, applies, remark in (
            ("unjudgeable", fault, f"cannot be judged: {fault}; complete it or drop it"),
            ("polarity", direction == "fault" and adds, _FAULT_ADDS),
            ("polarity", direction == "requirement" and not adds, _DEMAND_SUBTRACTS),
            ("polarity", UNDECIDED_TAG in criterion.tags, _UNDECIDED),
            ("formatting-only", kind == "formatting", "is about form only"),
        ):
            if applies:
                quoted = f"criterion {position} ({criterion.weight:+g}, {shorten(text, _SHOWN)!r})"
                yield check, (position,), f"{quoted} {remark}"
    unread = tuple(position for position, kind in enumerate(kinds, 1) if kind == "unread")
    if unread:
        listed = ", ".join(map(str, unread))
        which = "all criteria" if len(unread) == len(kinds) else f"criteria {listed}"
        yield "unread", unread, f"{which}: not in English, so only weights and repeated texts were checked"


def _check_pairs(rubric: Rubric) -> Iterator[_Found]:
    """Each criterion with each other: the same, nearly the same, or the opposite."""
    readings = map(_Reading, rubric.criteria)
    for (i, first), (j, second) in combinations(enumerate(readings, 1), 2):
        if first.key == second.key:
            weights = f"{first.weight:+g} and {second.weight:+g}"
            if (first.weight > 0) != (second.weight > 0):
                check, remark = "contradiction", f" and weigh {weights}: it is both asked for and punished"
            elif first.weight != second.weight:
                check, remark = "other-points", f" and weigh {weights}; keep one"
            else:
                check, remark = "duplicate", f": it counts twice ({weights}); keep one"
            yield check, (i, j), f"criteria {i} and {j} say the same ({shorten(first.text, _SHOWN)!r}){remark}"
            continue
        smaller, larger = first.content, second.content
        if len(smaller) > len(larger):
            smaller, larger = larger, smaller
        # A different word ("LIME" for "SHAP") is a different demand; most pairs end here.
        is_close = len(smaller) >= NEAR_DUPLICATE * len(larger) and smaller <= larger
        if is_close and (found := _compare_statements(first, second)):
            quoted = f"criteria {i} ({shorten(first.text, _SHOWN)!r}) and {j} ({shorten(second.text, _SHOWN)!r})"
            yield found[0], (i, j), f"{quoted} {found[1]}"


def _compare_statements(first: "_Reading", second: "_Reading") -> tuple[str, str] | None:
    """The check that two criteria with the same words fail, and the end of its message."""
    one, other = _Statement(first.key), _Statement(second.key)
    same_sign, same_side = (first.weight > 0) == (second.weight > 0), one.negated == other.negated
    if one.core and one.body == other.body:
        return _SAME_STATEMENT[same_side, same_sign]
    if not same_side:
        return None
    denies = max(one, other, key=attrgetter("negations"))
    is_denied = abs(one.negations - other.negations) == 1 and not one.negated and denies.reports
    if one.core == other.core and is_denied:
        # An answer can avoid two punished statements by making neither; only two demands can conflict.
        both_asked = first.weight > 0 and second.weight > 0
        return ("contradiction", "ask to say the opposite; drop one") if both_asked else None
    shared = first.content & second.content
    is_near = (
        same_sign
        and len(shared) >= _FEWEST_WORDS
        and (one.negations, one.numbers) == (other.negations, other.numbers)
        and (
            _ORDER_MATTERS.isdisjoint((*first.key, *second.key))
            or [word for word in one.core if word in shared] == [word for word in other.core if word in shared]
        )
    )
    return ("near-duplicate", "say nearly the same; merge them or drop one") if is_near else None


class _Reading:
    """One criterion, read once, for comparing with the others."""

    def __init__(self, criterion: Criterion) -> None:
        self.text, self.weight = criterion.text, criterion.weight
        self.key = _split_words(to_statement(self.text)) or (self.text,)
        self.content = set(map(stem, self.key)) - _load_empty_stems()


@cache
def _load_empty_stems() -> frozenset[str]:
    # Every filler is empty, so texts with the same core have the same content.
    return frozenset(map(stem, load_words("grammar") | _NEGATION | _SAYING | _FILLER))


class _Statement:
    """What a criterion says: worked out only for the few pairs that might say the same."""

    def __init__(self, key: tuple[str, ...]) -> None:
        line = f" {' '.join(key)} "
        for phrase, meaning in _PHRASES:
            line = line.replace(phrase, meaning)
        words = line.split()
        said = [_NOT if word in _NEGATION else stem(word) for word in words if word not in _FILLER]
        start = next((place for place, word in enumerate(said) if word != _NOT), len(said))
        self.negated = start % 2 == 1  # the main verb
        self.body = said[start:]  # the words that matter, with later negations in place
        self.core = [word for word in self.body if word != _NOT]
        self.negations = len(self.body) - len(self.core)
        self.numbers = {word for word in words if word == _LACK or any(map(str.isdigit, word))}
        rest = [word for word in words if word == "that" or word not in _FILLER]
        # Whether it asks to say *that* something is (not) so; to say *what* is not so is another matter.
        self.reports = len(rest) > 1 and rest[0] in _SAYING and (rest[1] == "that" or rest[1] in _NEGATION)


def _split_words(text: str) -> tuple[str, ...]:
    """The words in lower case; texts that differ only in punctuation, mark-up and white space have the same."""
    lowered = text.lower()
    if "-" in lowered:
        lowered = _MINUS.sub("−", lowered)
    words = lowered.translate(_MEANINGLESS).split()
    return tuple([bare for word in words if (bare := word.strip("'"))] if "'" in text or "’" in text else words)


def _check_weights(rubric: Rubric) -> Iterator[_Found]:
    """No positive weight, or one far from the others."""
    sizes = [abs(weight) for weight in rubric.weights]
    if not any(weight > 0 for weight in rubric.weights):
        yield "no-positive-weight", (), "no weight is positive, so the sum cannot be normalised; add a positive one"
    if len(sizes) < 5:
        return
    middle, total = median(sizes), rubric.total_weight
    for position, (weight, size) in enumerate(zip(rubric.weights, sizes, strict=True), 1):
        if size > _OUTLIER_TIMES_MEDIAN * middle or size > _OUTLIER_SHARE * total:
            message = f"criterion {position} weighs {weight:+g}, the median is {middle:g}; is that intended?"
            yield "outlier", (position,), message


def _check_lengths(rubric: Rubric) -> Iterator[_Found]:
    """Two demands on length that no answer can meet together, such as at least 300 and at most 150 words."""
    least: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    most: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for position, criterion in enumerate(rubric.criteria, 1):
        for length in _LENGTH.finditer(criterion.text) if criterion.weight > 0 else ():
            if limit := _read_limit(criterion.text, length):
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
            asked = f"criterion {asks_more} asks for at least {low} {subject[0]}s"
            message = f"{asked}, criterion {asks_less} for at most {high}; no answer can meet both, drop one"
            yield "contradiction", tuple(sorted((asks_more, asks_less))), message


def _read_limit(text: str, length: re.Match[str]) -> tuple[str, tuple[str, ...], int] | None:
    """The side of a limit, what it limits (its unit and the words that name a part of the answer), the number."""
    before = " ".join(_SENTENCE_END.split(text[: length.start()].lower())[-1].split())
    wording = max(filter(before.endswith, _LIMITS), key=len, default=None)
    if wording is None:
        return None
    side, strict = _LIMITS[wording]
    lead = before.removesuffix(wording).split()
    if any(word in _NEGATION or word.endswith("n't") for word in lead[-_NEGATION_REACH:]):
        side, strict = ("most" if side == "least" else "least"), not strict
    after = _CLAUSE_END.split(text[length.end() :].lower())[0]
    unit = " ".join(length["unit"].lower().split())
    named = {*_split_words(" ".join(lead)), *_split_words(after)} - _WHOLE_ANSWER
    part = sorted(word for word in named if not word.isdigit())
    number = int(length["number"].replace(",", ""))
    return side, (unit, *part), number + (strict if side == "least" else -strict)
