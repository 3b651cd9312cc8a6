"""The programmed judges: a lenient one for training, a strict held-out one, and one for appropriateness.

A judge errs at fixed rates, and its errors depend only on the case, the wording of the answer and the question asked,
as those of a model without sampling: equal answers tie, and asking again earns nothing.
"""

import numpy as np
import numpy.typing as npt

from prorubric.errors import SchemeError
from prorubric.judge.readings import READINGS as ALL_READINGS
from prorubric.lab.checklist import PADDING
from prorubric.lab.facts import NAMED, Facts
from prorubric.lab.world import Bools, Floats, WorldSpec

READINGS = tuple(reading for reading in ALL_READINGS if reading != "redundancy")
SUBSTANCE = np.array([0.0, 0.15, 0.15, 1.0])
"""What a whole reading credits at each level. The paper's audit pays 2.2 points for 4 to 6 names under the dimensions
and 1.4 under one mark, an eighth of what as many criteria weigh: to a reader for substance a name is little."""
SHARPNESS = 8.0
"""How steeply a dimension's chance rises with its share of substance: from 1 in 4 to 3 in 4 over a quarter of it."""
LEVEL_THRESHOLDS = (-0.2, 0.0, 0.35)
"""Where levels 1, 2 and 3 of a graded dimension begin, from its threshold: something, enough, nearly all."""
SEEN_CLAUSE, FALSE_ALARM = 0.75, 0.02  # how often a fault is seen that a failure clause names; that is not there
SEEN_UNPROMPTED = 0.25
"""How often it is seen where no clause names it: taking the clauses out leaves some of their sense in the text."""
MARK_LOSS = 2.0
"""What a fault takes off a mark of 10: the paper's audit has -4.5 points for a needless test under one mark."""
EARLY = 40  # a decision that begins after this many tokens is behind other material: half of an untrained answer
MANY_NAMES = 4  # this many items named without an explanation count as a list
_SALTS = {"lenient": 1, "strict": 2, "reading": 3, "clause": 4, "appropriateness": 5}


def lenient_rates(spec: WorldSpec) -> Floats:
    """How often the training judge says yes, by kind of criterion (in the order of `KINDS`) and level."""
    return np.array(
        [
            [0.02, 0.90, 0.95, 0.97],  # presence: a mention is what is asked for
            [0.02, spec.named_credit, 0.60, 0.92],  # explain: what sounds right mostly passes
            [0.02, 0.35, 0.50, 0.90],  # compound: the paper's audit pays a third of a criterion for half of it
            [0.02, 0.95, 0.95, 0.95],  # act: said is done
            [0.03, 0.03, 0.60, 0.97],  # decision: among several it is still there
            [0.00, 0.00, 0.00, 0.00],  # padding
        ]
    )


STRICT_RATES = np.array(
    [
        [0.01, 0.45, 0.60, 0.95],  # presence: a strict reader wants to be told something, not a word
        [0.01, 0.04, 0.10, 0.92],
        [0.01, 0.03, 0.15, 0.90],
        [0.01, 0.90, 0.90, 0.90],
        [0.01, 0.01, 0.20, 0.95],
        [0.00, 0.00, 0.00, 0.00],
    ]
)
"""The held-out judge behind `g`: the paper's strict judge passes a third less than the one of the training's family."""


def judge_criteria(facts: Facts, rates: Floats, salt: str, seed: int) -> Bools:
    """A verdict on each criterion, false in the padding."""
    kind = facts.lists.kind_T_N[facts.row_R]
    return draw(facts, salt, seed, kind.shape[1]) < rates[kind, facts.level]


def judge_reading(facts: Facts, reading: str, seed: int) -> Bools | Floats:
    """The training judge's verdicts for one reading of the project's judges, a row for each answer."""
    spec, weight = facts.world.spec, facts.lists.weight_T_N[facts.row_R]
    verdicts: Bools | Floats
    match reading:
        case "criteria" | "criteria-rewritten":
            verdicts = judge_criteria(facts, lenient_rates(spec), "lenient", seed)
        case "groups":
            # All criteria of a group must hold; each that does not is overlooked with some chance: there are many.
            unmet = judge_criteria(facts, lenient_rates(spec), "lenient", seed) == (weight < 0)
            counts = _by_dimension(facts, unmet.astype(np.float64))
            verdicts = draw(facts, "reading", seed, counts.shape[1]) < spec.slack**counts
        case "dimensions":
            verdicts = (_impression(facts, seed) > 0) & ~_seen_faults(facts, seed, SEEN_CLAUSE)
        case "dimensions-no-failure":
            verdicts = (_impression(facts, seed) > 0) & ~_seen_faults(facts, seed, SEEN_UNPROMPTED)
        case "levels":
            levels = (_impression(facts, seed)[:, :, None] > np.array(LEVEL_THRESHOLDS)).sum(axis=2)
            verdicts = np.where(_seen_faults(facts, seed, SEEN_CLAUSE), 0, levels).astype(np.float64)
        case "one-dimension":
            # One verdict on everything: a dimension that does not hold is overlooked as easily as an unmet criterion.
            holds = judge_reading(facts, "dimensions", seed).astype(bool)
            failed = (~holds & (facts.lists.part_T_K[facts.row_R] >= 0)).sum(axis=1, keepdims=True)
            verdicts = draw(facts, "reading", seed + 1, 1) < np.asarray(spec.slack**failed)
        case "mark":
            size = np.abs(weight)
            share = (size * _credit(facts)).sum(axis=1, keepdims=True) / size.sum(axis=1, keepdims=True)
            faults = _seen_faults(facts, seed, SEEN_UNPROMPTED).sum(axis=1, keepdims=True)
            # Half of a dimension's noise: one mark over everything averages it.
            mark = np.round(1 + 9 * (share + _noise(facts, seed, 1) / 2) - MARK_LOSS * faults)
            verdicts = np.clip(mark, 1.0, 10.0)
        case "appropriateness":
            verdicts = _judge_appropriateness(facts, seed)
        case _:
            raise SchemeError(f"the lab's judge does not know the reading {reading!r}; add it to lab/judges.py")
    return verdicts


def _judge_appropriateness(facts: Facts, seed: int) -> Bools:
    """One look at the whole: whether it begins with what was asked, keeps to it, and speaks to the asker.

    Its terms see the faults of four parts of `c` (scope, early, tests, manner), so `c` is also given without them.
    """
    moves = facts.world.moves
    wanted = np.zeros_like(facts.said_moves)
    for kind in ("name", "for", "against"):
        wanted[:, moves.at[kind]] = facts.core
    for kind in ("decide", "ask", "manner"):
        wanted[:, moves.at[kind]] = True
    wanted[:, moves.at["test"]] = facts.needed
    spent = facts.said_moves * moves.tokens_M
    focus = (spent * wanted).sum(axis=1) / np.maximum(facts.tokens, 1)
    # What is missing does not catch the eye: an answer without a decision buries none.
    buried = np.where(facts.decisions > 0, facts.decided_at / np.maximum(facts.tokens, 1), 0.0)
    lean = -2.5 + 8.0 * focus - 1.5 * buried - 0.5 * np.minimum(facts.needless, 3) - 1.0 * facts.wrong_manner
    passes: Bools = draw(facts, "appropriateness", seed, 1) < (1 / (1 + np.exp(-lean)))[:, None]
    return passes


def find_failures(facts: Facts) -> Bools:
    """What the failure clauses name, by part: an unapplied list, needless tests, no clear decision, wrong manner."""
    unapplied = (facts.item_level == NAMED).sum(axis=1) >= MANY_NAMES
    unclear = (facts.decisions != 1) | (facts.decided_at > EARLY)
    return np.stack([unapplied, facts.needless > 0, unclear, facts.wrong_manner], axis=1)


def draw(facts: Facts, salt: str, seed: int, width: int) -> Floats:
    """For each answer `width` numbers in [0, 1), fixed by judge, case, answer and place."""
    with np.errstate(over="ignore"):
        place = np.arange(1, facts.moves_R_L.shape[1] + 1, dtype=np.uint64)
        words = _mix(facts.moves_R_L.astype(np.uint64) * np.uint64(2**32) + place) * (facts.moves_R_L > 0)
        text = words.sum(axis=1, dtype=np.uint64) + _mix(facts.row_R.astype(np.uint64) + np.uint64(7))
        column = _mix(np.arange(width, dtype=np.uint64) + np.uint64(2**20 * (1 + _SALTS[salt] + 16 * seed)))
        mixed = _mix(text[:, None] ^ column)
    return (mixed >> np.uint64(11)).astype(np.float64) / 2**53


def _mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scatter 64 bits (the finaliser of splitmix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _impression(facts: Facts, seed: int) -> Floats:
    """How far each dimension's substance seems to lie above the threshold: the truth and a reader's error."""
    weight = np.abs(facts.lists.weight_T_N[facts.row_R])
    share = _by_dimension(facts, weight * _credit(facts)) / np.maximum(_by_dimension(facts, weight), 1e-9)
    above: Floats = share - facts.world.spec.dimension_threshold + _noise(facts, seed, share.shape[1])
    return above


def _noise(facts: Facts, seed: int, width: int) -> Floats:
    """A reader's error: a uniform draw through the logit, so a chance rises with its share at `SHARPNESS`."""
    chance = np.clip(draw(facts, "reading", seed, width), 1e-12, 1 - 1e-12)
    noise: Floats = np.log(chance / (1 - chance)) / SHARPNESS
    return noise


def _credit(facts: Facts) -> Floats:
    """What a whole reading credits for each criterion: substance, and for a behaviour to avoid its absence."""
    credit = SUBSTANCE[facts.level]
    counts = facts.lists.kind_T_N[facts.row_R] != PADDING
    signed: Floats = np.where(facts.lists.weight_T_N[facts.row_R] < 0, 1 - credit, credit) * counts
    return signed


def _seen_faults(facts: Facts, seed: int, rate: float) -> Bools:
    """By dimension, whether the judge sees the fault of its part, rightly or not."""
    part = facts.lists.part_T_K[facts.row_R]
    there = np.take_along_axis(find_failures(facts), np.maximum(part, 0), axis=1)
    seen = draw(facts, "clause", seed, part.shape[1]) < np.where(there, rate, FALSE_ALARM)
    return seen & (part >= 0)


def _by_dimension(facts: Facts, values_R_N: Floats) -> Floats:
    """The sum of the criteria's values, by dimension."""
    dimension = facts.lists.dimension_T_N[facts.row_R]
    count = facts.lists.part_T_K.shape[1]
    return np.stack([(values_R_N * (dimension == number)).sum(axis=1) for number in range(count)], axis=1)
