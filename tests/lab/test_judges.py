import numpy as np
import pytest

from prorubric.lab.checklist import KINDS, make_checklists
from prorubric.lab.demos import write_demos
from prorubric.lab.facts import Facts
from prorubric.lab.judges import (
    FALSE_ALARM,
    SEEN_CLAUSE,
    STRICT_RATES,
    _seen_faults,
    draw,
    find_faults,
    judge_criteria,
    judge_reading,
    lenient_rates,
)
from prorubric.lab.measure import appropriateness
from prorubric.lab.world import find_world, make_world
from tests.lab.answering import answer, find_case, right_decision, right_side

MANY = 3000


@pytest.fixture(scope="module")
def demos() -> Facts:
    world = make_world("triage-v1")
    lists = make_checklists("triage-v1", MANY, 9)
    return Facts(world, lists, np.arange(MANY), write_demos(world, lists.cases, 9))


@pytest.mark.parametrize("judge", ["lenient", "strict"])
def test_a_judge_says_yes_at_the_rates_stated_for_kind_and_level(demos: Facts, judge: str) -> None:
    rates = STRICT_RATES if judge == "strict" else lenient_rates(find_world("triage-v1"))
    said = judge_criteria(demos, rates, judge, 0)
    kinds, levels = demos.lists.kind_T_N, demos.level
    checked = 0
    for kind in range(len(KINDS)):
        for level in range(4):
            here = said[(kinds == kind) & (levels == level)]
            if len(here) > 300:
                spread = 5 * np.sqrt(0.25 / len(here))
                assert here.mean() == pytest.approx(rates[kind, level], abs=spread), (KINDS[kind], level)
                checked += 1
    assert checked >= 12


def test_equal_answers_get_equal_verdicts_and_other_words_may_not() -> None:
    said = [("decide", 1), *(("name", item) for item in range(20))]
    facts = answer(said, said, [*said[::-1]])
    numbers = draw(facts, "lenient", 0, 500)
    assert (numbers[0] == numbers[1]).all()
    assert (numbers[0] != numbers[2]).all()
    assert (draw(facts, "lenient", 1, 500)[0] != numbers[0]).all()
    assert (draw(facts, "strict", 0, 500)[0] != numbers[0]).all()


def test_a_judge_s_draws_are_uniform(demos: Facts) -> None:
    numbers = draw(demos, "lenient", 0, 20)
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert np.histogram(numbers, 10, (0, 1))[0] / numbers.size == pytest.approx([0.1] * 10, abs=0.006)
    assert np.abs(np.corrcoef(numbers.T) - np.eye(20)).max() < 0.08


def test_faults_are_what_the_failure_clauses_name() -> None:
    row = find_case(expert=False, thin=True)
    decide = ("decide", 4)
    facts = answer(
        [decide, ("manner", 0)],
        [decide, *(("name", item) for item in range(4))],
        [decide, ("test", 0)],
        [("for", 0), ("for", 1), decide],
        [decide, ("decide", 0)],
        [decide, ("manner", 1)],
        row=row,
    )
    assert find_faults(facts).astype(int).tolist() == [
        [0, 0, 0, 0],
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]


def test_a_fault_is_seen_at_the_rate_stated_and_rarely_where_there_is_none(demos: Facts) -> None:
    there = np.take_along_axis(find_faults(demos), demos.lists.part_T_K, axis=1)
    seen = _seen_faults(demos, 0, SEEN_CLAUSE)
    assert seen[there].mean() == pytest.approx(SEEN_CLAUSE, abs=0.03)
    assert seen[~there].mean() == pytest.approx(FALSE_ALARM, abs=0.006)


def test_a_whole_reading_pays_for_substance_and_the_criteria_pay_for_names_too() -> None:
    rows = list(range(100))
    every = [[("decide", right_decision(row))] for row in rows]
    named = [[*said, *(("name", item) for item in range(40))] for said in every]
    explained = [[*said, *((right_side(row, i), i) for i in range(40))] for said, row in zip(every, rows, strict=True)]
    shares = {}
    for name, answers in (("short", every), ("named", named), ("explained", explained)):
        facts = answer(*answers, row=rows)
        counts = facts.lists.kind_T_N[facts.row_R] != KINDS.index("padding")
        shares[name] = (
            judge_reading(facts, "criteria", 0)[counts].mean(),
            judge_reading(facts, "dimensions-no-failure", 0).mean(),
        )
    assert shares["named"][0] - shares["short"][0] > 0.25
    assert shares["named"][1] - shares["short"][1] < 0.15
    assert shares["explained"][1] - shares["short"][1] > 0.6


@pytest.mark.parametrize(
    ("reading", "allowed"),
    [
        ("criteria", {0, 1}),
        ("groups", {0, 1}),
        ("dimensions", {0, 1}),
        ("levels", {0, 1, 2, 3}),
        ("one-dimension", {0, 1}),
        ("mark", set(range(1, 11))),
        ("appropriateness", {0, 1}),
    ],
)
def test_a_reading_gives_the_verdicts_that_its_scheme_takes(demos: Facts, reading: str, allowed: set[int]) -> None:
    assert set(np.unique(judge_reading(demos, reading, 0)).astype(int).tolist()) <= allowed


def test_the_appropriateness_check_is_a_noisy_reading_of_what_c_measures(demos: Facts) -> None:
    passes, c = judge_reading(demos, "appropriateness", 0)[:, 0].astype(bool), appropriateness(demos)
    gap = c[passes].mean() - c[~passes].mean()
    # Related, and far from the same: within answers that pass, c varies more than it differs from those that do not.
    assert 0.02 < gap < 0.2
    assert c[passes].std() > gap / 2
