"""What each criterion pays at the margin: how much the expected reward rises when the policy meets it more often.

Under a sum a criterion has a fixed price. Among criteria that must hold together it pays in proportion to how likely
the rest of its group is to hold: `W_k/ΣW · Π_{j≠i} p_j`. A criterion that others depend on also pays for what it
unlocks. The rates `p` are measured, so the list shows what this reward pays this policy for.

For the schemes whose verdicts are on text other than the criteria (`raw-and`, `prorubric`, `graded`, `k1`,
`implicit`), the price assumes a judge that reads the checklist to the letter: a dimension holds when all of its
criteria do, a level is the third of them that is met, rounded down, a mark is the share of the weight that is met.
Criteria are treated as independent; clipping and failure clauses are ignored. `Prices.idealised` tells if so.
"""

import math
from collections.abc import Sequence

import numpy as np

from prorubric.aggregate.gates import NO_GATE
from prorubric.aggregate.plan import ScoringPlan, make_scoring_plan
from prorubric.aggregate.schemes import Scheme
from prorubric.errors import SchemeError
from prorubric.rubric.base import Record
from prorubric.rubric.records import Task
from prorubric.rubric.verdict import NotApplicable, Unknown, Verdict
from prorubric.text.criteria import read_kind

_TOP_LEVEL = 3


class Prices(Record):
    """What the criteria of one task pay under one scheme."""

    task_id: str
    scheme: str
    prices: tuple[float, ...]
    """For each criterion the change of the expected reward per change of its rate of compliance. Negative: it costs."""
    idealised: bool
    """True if the price assumes a judge that reads the checklist to the letter."""
    presence_share: float | None
    """How much of all that is paid goes to criteria that only ask for naming; None if nothing pays."""


def measure_compliance(verdicts: Sequence[Sequence[Verdict]], task: Task) -> tuple[float | Unknown, ...]:
    """How often responses comply with each criterion of a task, of those with a verdict to which it applies.

    A criterion that is left without any is unknown.
    """
    rates: list[float | Unknown] = []
    for number, row in enumerate(verdicts, 1):
        fits = all(isinstance(verdict, bool | np.bool_ | NotApplicable | Unknown) for verdict in row)
        if len(row) != len(task.rubric) or not fits:
            raise SchemeError(
                f"task {task.id!r}: row {number} of the verdicts does not fit; give true, false, NotApplicable or "
                f"Unknown for each of the {len(task.rubric)} criteria"
            )
    for position, criterion in enumerate(task.rubric.criteria):
        column = [row[position] for row in verdicts]
        known = [verdict for verdict in column if not isinstance(verdict, NotApplicable | Unknown)]
        met = sum(bool(verdict) == (criterion.weight > 0) for verdict in known)
        rates.append(met / len(known) if known else Unknown(f"none of {len(column)} responses has a verdict"))
    return tuple(rates)


def price_criteria(task: Task, compliance: Sequence[float | Unknown], scheme: str | Scheme) -> Prices:
    """The price of every criterion of a task, from measured rates of compliance."""
    plan = make_scoring_plan(task, scheme)
    if plan.scheme.pays is None:
        raise SchemeError(f"{plan.scheme.name} has no formula for prices; compare its scores of two answers instead")
    if len(compliance) != len(task.rubric):
        raise SchemeError(
            f"task {task.id!r}: {len(compliance)} rates for {len(task.rubric)} criteria; give one for each"
        )
    rates = []
    for position, rate in enumerate(compliance, 1):
        if isinstance(rate, Unknown) or not 0 <= rate <= 1:
            raise SchemeError(
                f"task {task.id!r}, criterion {position}: the rate is {rate!r}; prices need a measured rate from 0 to 1"
            )
        rates.append(float(rate))
    prices = _base_prices(task, rates, plan)
    if plan.scheme.appropriateness:  # it has its share of the mean
        left = (plan.positive_weight - plan.weights[-1]) / plan.positive_weight
        prices = [price * left for price in prices]
    presence = [read_kind(criterion.text) == "presence" for criterion in task.rubric.criteria]
    paid = math.fsum(price for price in prices if price > 0)
    naming = math.fsum(price for price, named in zip(prices, presence, strict=True) if named and price > 0)
    return Prices(
        task_id=task.id,
        scheme=plan.scheme.name,
        prices=tuple(prices),
        idealised=not plan.scheme.reads_criteria,
        presence_share=naming / paid if paid > 0 else None,
    )


def _base_prices(task: Task, rates: Sequence[float], plan: ScoringPlan) -> list[float]:
    weights = task.rubric.weights
    total = task.rubric.total_weight
    pays = plan.scheme.pays
    if pays == "each":
        own = plan.weights[: len(weights)]
        positive = math.fsum(weight for weight in own if weight > 0)
        # Under `weighted` a needless criterion changes its sign: meeting it costs.
        return [math.copysign(1.0, weight) * paid / positive for weight, paid in zip(weights, own, strict=True)]
    if pays == "gated":
        positive = math.fsum(
            weight for weight in plan.weights[: len(plan.weights) - plan.scheme.appropriateness] if weight > 0
        )
        ends = ([[*rates[:i], end, *rates[i + 1 :]] for end in (0.0, 1.0)] for i in range(len(rates)))
        return [(_expect_gated(task, met, plan) - _expect_gated(task, unmet, plan)) / positive for unmet, met in ends]
    if pays == "share":
        return [abs(weight) / total for weight in weights]
    groups: list[Sequence[int]] = [range(len(weights))]
    if plan.scheme.groups_criteria and task.protocol:
        groups = [[index - 1 for index in dimension.indices] for dimension in task.protocol.dimensions]
    prices = [0.0] * len(rates)
    for group, weight in zip(groups, plan.weights, strict=False):
        for i in group:
            others = [rates[j] for j in group if j != i]
            prices[i] = weight / total * (_next_level(others) if pays == "level" else math.prod(others))
    return prices


def _expect_gated(task: Task, rates: Sequence[float], plan: ScoringPlan) -> float:
    """The expected weighted sum behind gates: linear in each rate, because each criterion is met or not by itself."""
    holds, gates, expected = list(rates), plan.gates, []
    if plan.scheme.groups_criteria and task.protocol:
        holds = [math.prod(rates[index - 1] for index in dimension.indices) for dimension in task.protocol.dimensions]
    for place, hold in enumerate(holds):
        others = (
            hold_j + (1 - hold_j) * gates.residue
            for j, hold_j in enumerate(holds)
            if gates and gates.behind[place] != NO_GATE and gates.members[j] == gates.behind[place] and j != place
        )
        weight = plan.weights[place]
        expected.append(weight * (1 - hold) if weight < 0 else weight * hold * math.prod(others))
    return math.fsum(expected)


def _next_level(others: Sequence[float]) -> float:
    """By how much one more criterion met raises the expected level, as a share of the highest."""
    size = len(others) + 1
    counts = [1.0]
    for rate in others:
        counts = [
            (counts[met] if met < len(counts) else 0.0) * (1 - rate) + (counts[met - 1] if met else 0.0) * rate
            for met in range(len(counts) + 1)
        ]
    steps = (_TOP_LEVEL * (met + 1) // size - _TOP_LEVEL * met // size for met in range(size))
    return math.fsum(chance * step for chance, step in zip(counts, steps, strict=True)) / _TOP_LEVEL
