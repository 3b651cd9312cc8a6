"""Prices at the margin, against finite differences of the expected reward."""

from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prorubric import SCHEMES, NotApplicable, Task, Unknown, score
from prorubric.aggregate.prices import measure_compliance, price_criteria
from prorubric.aggregate.schemes import find_scheme
from prorubric.errors import SchemeError
from prorubric.rubric.verdict import Verdict
from tests.aggregate.test_schemes import make_task
from tests.thorough import few_or

TASK = make_task([6, 4, -5, 3], [[1, 3], [2, 4]])


def expect(task: Task, rates: list[float], name: str) -> float:
    """The expected reward, by listing every outcome, of a judge that reads the checklist to the letter."""
    total = 0.0
    for complies in product([False, True], repeat=len(rates)):
        chance = prod(rate if met else 1 - rate for rate, met in zip(rates, complies, strict=True))
        verdicts = [met == (weight > 0) for met, weight in zip(complies, task.rubric.weights, strict=True)]
        total += chance * score(judge(task, list(complies), verdicts, name), task, name).low
    return total


def judge(task: Task, complies: list[bool], verdicts: list[bool], name: str) -> list[Verdict]:
    scheme = find_scheme(name)
    assert task.protocol is not None
    groups = [[complies[i - 1] for i in dimension.indices] for dimension in task.protocol.dimensions]
    total = task.rubric.total_weight
    share = sum(abs(w) for w, met in zip(task.rubric.weights, complies, strict=True) if met) / total
    by_subject: dict[str, list[Verdict]] = {
        "criterion": [*verdicts],
        "dimension": [all(group) for group in groups],
        "response": [all(complies)],
    }
    by_reading: dict[str, list[Verdict]] = {
        "mark": [1 + 9 * share],
        "levels": [3 * sum(group) // len(group) for group in groups],
    }
    reading = scheme.readings[0]
    found = by_reading.get(reading.name, by_subject[reading.about])
    return [*found, True] if scheme.appropriateness else found


# Clipping is left out of the prices, so the sum is compared where nothing clips: no penalty, or certain not to occur.
@pytest.mark.parametrize("name", SCHEMES)
@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
@settings(max_examples=few_or(50))
def test_a_price_is_the_slope_of_the_expected_reward(name: str, rates: list[float]) -> None:
    task = make_task([6, 4, 5, 3], [[1, 3], [2, 4]]) if find_scheme(name).pays in ("each", "gated") else TASK
    prices = price_criteria(task, rates, name).prices
    for i in range(4):
        at_zero, at_one = ([*rates[:i], end, *rates[i + 1 :]] for end in (0.0, 1.0))
        assert prices[i] == pytest.approx(expect(task, at_one, name) - expect(task, at_zero, name), abs=1e-9)


def test_a_sum_pays_a_fixed_price_whatever_else_holds() -> None:
    assert price_criteria(make_task([6, 4]), [0.0, 0.0], "additive").prices == (0.6, 0.4)


def test_a_fragment_of_a_failing_group_earns_nothing_and_the_last_piece_the_whole_group() -> None:
    task = make_task([6, 2, 2], [[1, 2], [3]])
    assert price_criteria(task, [0.0, 0.0, 1.0], "conjunctive").prices == (0.0, 0.0, 0.2)
    assert price_criteria(task, [0.5, 1.0, 1.0], "conjunctive").prices == (0.8, 0.4, 0.2)


def test_under_weighted_meeting_a_needless_criterion_costs() -> None:
    task = make_task([4, 1], labels=["normal", "needless"])
    assert price_criteria(task, [0.5, 0.5], "weighted").prices == (1.0, -0.25)


def test_a_criterion_that_others_depend_on_pays_for_what_it_opens() -> None:
    task = make_task([6, 4])
    assert price_criteria(task, [0.5, 0.5], "licensed").prices == pytest.approx((0.6 + 0.4 * 0.5 * 0.8, 0.4 * 0.6))
    assert price_criteria(task, [0.5, 0.5], "required-first").prices == pytest.approx((0.5 + 0.25, 0.25))


def test_avoiding_a_penalty_under_a_veto_pays_what_everything_else_is_worth() -> None:
    prices = price_criteria(make_task([6, 4, -5]), [0.5, 0.5, 1.0], "veto").prices
    assert prices == pytest.approx((0.6 + 0.4 * 0.5, 0.4 * 0.5, 0.5 * (0.6 + 0.4 * 0.5)))


def test_the_share_of_naming_is_taken_of_all_that_is_paid() -> None:
    task = make_task([6, 4])
    named = task.rubric.criteria[1].model_copy(update={"text": "Mentions the side effects"})
    task = task.model_copy(
        update={"rubric": task.rubric.model_copy(update={"criteria": (task.rubric.criteria[0], named)})}
    )
    assert price_criteria(task, [0.5, 0.5], "additive").presence_share == 0.4
    assert price_criteria(task, [0.5, 0.0], "k1").presence_share == 1.0
    assert price_criteria(task, [0.0, 0.0], "k1").presence_share is None


def test_prices_that_assume_an_ideal_judge_say_so() -> None:
    idealised = {name for name in SCHEMES if price_criteria(TASK, [0.5] * 4, name).idealised}
    assert {name.removesuffix("+appropriateness") for name in idealised} == {
        "raw-and", "prorubric", "prorubric-no-failure", "graded", "k1", "implicit", "gated",
    }  # fmt: skip


def test_compliance_counts_known_verdicts_only_and_turns_penalties_around() -> None:
    rows = [
        [True, True, True, True],
        [False, Unknown("x"), False, Unknown("x")],
        [True, Unknown("x"), False, Unknown("x")],
    ]
    assert measure_compliance(rows, TASK) == (2 / 3, 1.0, 2 / 3, 1.0)


def test_compliance_leaves_out_the_responses_to_which_a_criterion_does_not_apply() -> None:
    rows = [[True, True, True, True], [False, NotApplicable("x"), False, NotApplicable("x")]]
    assert measure_compliance(rows, TASK) == (0.5, 1.0, 0.5, 1.0)


def test_a_criterion_without_a_known_verdict_has_no_rate_and_no_price() -> None:
    rates = measure_compliance([[True, Unknown("outage"), True, True]], TASK)
    assert rates[1] == Unknown("none of 1 responses has a verdict")
    with pytest.raises(SchemeError, match="criterion 2: the rate is Unknown"):
        price_criteria(TASK, rates, "additive")


def test_a_rate_for_every_criterion_is_needed() -> None:
    with pytest.raises(SchemeError, match="2 rates for 4 criteria"):
        price_criteria(TASK, [0.5, 0.5], "additive")


@pytest.mark.parametrize("row", [[True], [True] * 5, [True, True, True, float("nan")]])
def test_verdicts_that_do_not_fit_the_task_have_no_compliance(row: list[Verdict]) -> None:
    with pytest.raises(SchemeError, match="row 2 of the verdicts does not fit"):
        measure_compliance([[True] * 4, row], TASK)
