"""What is measured on held-out cases by the strict judge: coverage `g` and appropriateness `c`, part by part.

`c` is the mean of its parts. Some parts can be won or lost by design: those that build in that longer is worse, those
that a failure clause or the appropriateness check names too, and one that was added after a look at training. `c` is
given without each of these sets. All of that follows from the stored parts, so that a run need not be made again.
"""

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import model_validator

from prorubric.aggregate.batch import PlanTable, score_batch
from prorubric.lab.facts import IN_FULL, NAMED, WRONG, Facts
from prorubric.lab.judges import EARLY, STRICT_RATES, draw, judge_criteria, lenient_rates
from prorubric.lab.world import ASK
from prorubric.rubric.base import Record

STRICT_ERROR = 0.05
"""How often the strict judge says the opposite of what holds, on each part of `c`."""
IN_SCOPE = 0.6
"""The share of what is brought up that has to belong to the case."""

PARTS = ("decision", "early", "scope", "tests", "manner", "grounded", "applied", "question")
LENGTH_PARTS = ("scope", "tests", "question")
"""They count: a case has few items, tests and questions that matter, and a longer answer has room for others."""
CLAUSE_PARTS = ("decision", "early", "tests", "manner", "applied")
"""What the failure clauses name as well."""
LATE_PARTS = ("question",)
"""Made a part for every case after `additive` had been trained once; before, it asked something of thin cases only."""
CHECK_PARTS = ("scope", "early", "tests", "manner")
"""What the appropriateness check weighs as well, in other units."""
WITHOUT = {"length": LENGTH_PARTS, "clauses": CLAUSE_PARTS, "question": LATE_PARTS, "check": CHECK_PARTS}
"""The sets of parts without which `c` is given too, by name."""

Floats = npt.NDArray[np.float64]


class Measure(Record):
    """Means over held-out cases, in shares from 0 to 1."""

    g: float
    """Coverage by the strict judge: the benchmark's own criteria, summed by weight."""
    g_lenient: float
    """The same by the training judge."""
    c: float
    parts: dict[str, float]
    tokens: float
    accuracy: float
    """How often the only decision is the right one."""
    naming: float
    """Of the items brought up, those that are named and not explained."""

    @model_validator(mode="before")
    @classmethod
    def _drop_what_follows_from_the_parts(cls, data: Any) -> Any:
        """Runs of earlier versions hold two variants of `c` in an earlier definition."""
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if not name.startswith("c_without_")}

    def c_without(self, left_out: Collection[str]) -> float:
        """The mean of the other parts."""
        return float(np.mean([share for part, share in self.parts.items() if part not in left_out]))


def measure(facts: Facts, table: PlanTable, seed: int = 0) -> Measure:
    """Measure answers; `table` is the additive plan of the cases' tasks, which is how a benchmark adds up."""
    met = judge_parts(facts, seed)
    levels = facts.item_level
    return Measure(
        g=_coverage(facts, table, judge_criteria(facts, STRICT_RATES, "strict", seed)),
        g_lenient=_coverage(facts, table, judge_criteria(facts, lenient_rates(facts.world.spec), "lenient", seed)),
        c=float(met.mean()),
        parts={part: float(met[:, i].mean()) for i, part in enumerate(PARTS)},
        tokens=float(facts.tokens.mean()),
        accuracy=float((facts.decision_level == IN_FULL).mean()),
        naming=float((levels == NAMED).sum() / max((levels > 0).sum(), 1)),
    )


def appropriateness(facts: Facts, seed: int = 0) -> Floats:
    """`c` of each answer."""
    means: Floats = judge_parts(facts, seed).mean(axis=1)
    return means


def judge_parts(facts: Facts, seed: int) -> npt.NDArray[np.bool_]:
    """By answer and part, what the strict judge says."""
    holds = hold_parts(facts)
    flipped = draw(facts, "strict", seed + 1, holds.shape[1]) < STRICT_ERROR
    return holds ^ flipped


def hold_parts(facts: Facts) -> npt.NDArray[np.bool_]:
    """By answer and part, whether it holds in truth."""
    level, core = facts.item_level, facts.core
    explained = level >= WRONG
    right = (level == IN_FULL).sum(axis=1)
    brought = (level > 0).sum(axis=1) + facts.said("test").sum(axis=1)
    fitting = ((level > 0) & core).sum(axis=1) + facts.said("test").sum(axis=1) - facts.needless
    parts = {
        "decision": facts.decision_level == IN_FULL,
        "early": facts.decided_at <= EARLY,
        "scope": fitting >= IN_SCOPE * brought,
        "tests": facts.needless == 0,
        "manner": facts.right_manner,
        "grounded": ((level == IN_FULL) & core).any(axis=1) & (3 * right >= 2 * explained.sum(axis=1)),
        "applied": 2 * explained.sum(axis=1) >= (level > 0).sum(axis=1),
        "question": np.where(facts.right_level == ASK, facts.asks_key, facts.said("ask").sum(axis=1) <= 1),
    }
    return np.stack([parts[part] for part in PARTS], axis=1)


def _coverage(facts: Facts, table: PlanTable, verdicts: npt.NDArray[np.bool_]) -> float:
    return float(score_batch(verdicts, table, facts.row_R).value_R.mean())
