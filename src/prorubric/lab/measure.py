"""What is measured on held-out cases by the strict judge: coverage `g` and appropriateness `c`, part by part.

`c` is the mean of its parts. Some parts can be won or lost by design: those that build in that longer is worse, those
that a failure clause or the appropriateness check names too, and one that was added after a look at training. `c` is
given without each of these sets.
"""

from collections.abc import Collection

import numpy as np

from prorubric.aggregate.batch import PlanTable, score_batch
from prorubric.lab.facts import IN_FULL, NAMED, WRONG, Facts
from prorubric.lab.judges import EARLY, STRICT_RATES, draw, judge_criteria, lenient_rates
from prorubric.lab.world import ASK, Bools
from prorubric.rubric.base import Record

STRICT_ERROR = 0.05  # how often the strict judge says the opposite of what holds, on each part of `c`
IN_SCOPE = 0.6  # the share of what is brought up that has to belong to the case
PARTS = ("decision", "early", "scope", "tests", "manner", "grounded", "applied", "question")
WITHOUT = {
    # They count: a case has few items, tests and questions that matter, and a longer answer has room for others.
    "length": ("scope", "tests", "question"),
    # The failure clauses name these as well.
    "clauses": ("decision", "early", "tests", "manner", "applied"),
    # Widened to every case after `additive` had been trained once; before, it asked something of thin cases only.
    "question": ("question",),
    # The appropriateness check weighs these as well, in other units.
    "check": ("scope", "early", "tests", "manner"),
}
"""The sets of parts without which `c` is given too, by name."""


class Measure(Record):
    """Means over held-out cases, in shares from 0 to 1."""

    g: float  # coverage by the strict judge: the benchmark's own criteria, summed by weight
    g_lenient: float  # the same by the training judge
    c: float
    parts: dict[str, float]
    tokens: float
    accuracy: float  # how often the only decision is the right one
    naming: float  # of the items brought up, those that are named and not explained

    def c_without(self, left_out: Collection[str]) -> float:
        """The mean of the other parts."""
        return float(np.mean([share for part, share in self.parts.items() if part not in left_out]))


def measure(facts: Facts, table: PlanTable, seed: int = 0) -> Measure:
    """Measure answers; `table` is the additive plan of the cases' tasks, which is how a benchmark adds up."""
    met, levels = judge_parts(facts, seed), facts.item_level
    coverage = {}
    for judge, rates in (("strict", STRICT_RATES), ("lenient", lenient_rates(facts.world.spec))):
        verdicts = judge_criteria(facts, rates, judge, seed)
        coverage[judge] = float(score_batch(verdicts, table, facts.row_R).value_R.mean())
    return Measure(
        g=coverage["strict"],
        g_lenient=coverage["lenient"],
        c=float(met.mean()),
        parts={part: float(met[:, number].mean()) for number, part in enumerate(PARTS)},
        tokens=float(facts.tokens.mean()),
        accuracy=float((facts.decision_level == IN_FULL).mean()),
        naming=float((levels == NAMED).sum() / max((levels > 0).sum(), 1)),
    )


def judge_parts(facts: Facts, seed: int) -> Bools:
    """By answer and part, what the strict judge says."""
    holds = hold_parts(facts)
    return holds ^ (draw(facts, "strict", seed + 1, holds.shape[1]) < STRICT_ERROR)


def judge_probe(facts: Facts, seed: int) -> Bools:
    """By answer, the four fixed criteria that a training is watched with, with the strict judge's errors.

    In a world they mean: the decision is early; what is explained is grounded; all is in scope, no test is needless and
    nothing is repeated or in vain; and the answer asks first where too little is known, and only there.
    """
    early, scope, tests, grounded = (
        hold_parts(facts)[:, PARTS.index(part)] for part in ("early", "scope", "tests", "grounded")
    )
    once = facts.tokens == (facts.said_moves * facts.world.moves.tokens_M).sum(axis=1)
    waits = facts.said("decide")[:, ASK] == (facts.right_level == ASK)
    holds = np.stack([early, grounded, scope & tests & once, waits], axis=1)
    return holds ^ (draw(facts, "strict", seed + 2, holds.shape[1]) < STRICT_ERROR)


def hold_parts(facts: Facts) -> Bools:
    """By answer and part, whether it holds in truth."""
    level, core, tests = facts.item_level, facts.core, facts.said("test").sum(axis=1)
    explained, right = (level >= WRONG).sum(axis=1), (level == IN_FULL).sum(axis=1)
    mentioned = (level > 0).sum(axis=1)
    fitting = ((level > 0) & core).sum(axis=1) + tests - facts.needless
    parts = {
        "decision": facts.decision_level == IN_FULL,
        "early": facts.decided_at <= EARLY,
        "scope": fitting >= IN_SCOPE * (mentioned + tests),
        "tests": facts.needless == 0,
        "manner": facts.right_manner,
        "grounded": ((level == IN_FULL) & core).any(axis=1) & (3 * right >= 2 * explained),
        "applied": 2 * explained >= mentioned,
        "question": np.where(facts.right_level == ASK, facts.asks_key, facts.said("ask").sum(axis=1) <= 1),
    }
    return np.stack([parts[part] for part in PARTS], axis=1)
