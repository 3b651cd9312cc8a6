import numpy as np
import pytest

from prorubric.lab.checklist import KINDS, make_checklists
from prorubric.lab.demos import write_demos
from prorubric.lab.facts import Facts
from prorubric.lab.judges import (
    FALSE_ALARM,
    LEVEL_THRESHOLDS,
    MARK_LOSS,
    SEEN_CLAUSE,
    SEEN_UNPROMPTED,
    SHARPNESS,
    STRICT_RATES,
    SUBSTANCE,
    _seen_faults,
    draw,
    find_failures,
    judge_criteria,
    judge_reading,
    lenient_rates,
)
from prorubric.lab.measure import judge_parts
from prorubric.lab.world import find_world, make_world
from tests.lab.answering import answer, find_case, right_decision, right_side

MANY = 2500


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
    assert find_failures(facts).astype(int).tolist() == [
        [0, 0, 0, 0],
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]


def test_a_fault_is_seen_at_the_rate_stated_and_rarely_where_there_is_none(demos: Facts) -> None:
    there = np.take_along_axis(find_failures(demos), demos.lists.part_T_K, axis=1)
    seen = _seen_faults(demos, 0, SEEN_CLAUSE)
    assert seen[there].mean() == pytest.approx(SEEN_CLAUSE, abs=0.03)
    assert seen[~there].mean() == pytest.approx(FALSE_ALARM, abs=0.006)


def substance_of(facts: Facts, number: int) -> list[float]:
    """What a whole reading should credit an answer with, dimension by dimension and then in all, in plain Python."""
    row = facts.row_R[number]
    by_dimension: dict[int, list[tuple[float, float]]] = {}
    for place, kind in enumerate(facts.lists.kind_T_N[row]):
        if KINDS[kind] != "padding":
            weight, credit = facts.lists.weight_T_N[row, place], SUBSTANCE[facts.level[number, place]]
            pair = (abs(weight), 1 - credit if weight < 0 else credit)
            by_dimension.setdefault(int(facts.lists.dimension_T_N[row, place]), []).append(pair)
    every = [pair for pairs in by_dimension.values() for pair in pairs]
    groups = [*(by_dimension.get(number, []) for number in range(facts.lists.part_T_K.shape[1])), every]
    return [sum(w * c for w, c in pairs) / max(sum(w for w, _ in pairs), 1e-9) for pairs in groups]


@pytest.fixture(scope="module")
def substance(demos: Facts) -> np.ndarray:
    return np.array([substance_of(demos, number) for number in range(MANY)])


def fault_of_dimension(facts: Facts) -> np.ndarray:
    return np.take_along_axis(find_failures(facts), np.maximum(facts.lists.part_T_K[facts.row_R], 0), axis=1)


def check_rates(said: np.ndarray, chance: np.ndarray, groups: list[np.ndarray]) -> None:
    """In each group verdicts come as often as their chances say, within five standard errors."""
    for here in groups:
        assert here.sum() > 100
        error = np.sqrt((chance[here] * (1 - chance[here])).sum()) / here.sum()
        assert said[here].mean() == pytest.approx(chance[here].mean(), abs=5 * error + 1e-9)


@pytest.mark.parametrize(("reading", "rate"), [("dimensions", SEEN_CLAUSE), ("dimensions-no-failure", SEEN_UNPROMPTED)])
def test_a_dimension_holds_by_its_substance_unless_a_fault_is_seen(
    demos: Facts, substance: np.ndarray, reading: str, rate: float
) -> None:
    there, used = fault_of_dimension(demos), demos.lists.part_T_K >= 0
    above = substance[:, :-1] - demos.world.spec.dimension_threshold
    chance = (1 - np.where(there, rate, FALSE_ALARM)) / (1 + np.exp(-SHARPNESS * above))
    rich = above > 0
    groups = [used & fault & side for fault in (there, ~there) for side in (rich, ~rich)]
    check_rates(judge_reading(demos, reading, 0), chance, groups)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_level_is_reached_by_its_substance_and_none_where_a_fault_is_seen(
    demos: Facts, substance: np.ndarray, level: int
) -> None:
    there, used = fault_of_dimension(demos), demos.lists.part_T_K >= 0
    above = substance[:, :-1] - demos.world.spec.dimension_threshold - LEVEL_THRESHOLDS[level - 1]
    chance = (1 - np.where(there, SEEN_CLAUSE, FALSE_ALARM)) / (1 + np.exp(-SHARPNESS * above))
    check_rates(judge_reading(demos, "levels", 0) >= level, chance, [used & there, used & ~there])


def test_a_mark_is_substance_with_half_the_noise_less_what_seen_faults_take(
    demos: Facts, substance: np.ndarray
) -> None:
    there, used = fault_of_dimension(demos), demos.lists.part_T_K >= 0
    rng, times = np.random.default_rng(0), 40
    marks = np.zeros((times, MANY))
    for time in range(times):
        faults = ((rng.random(there.shape) < np.where(there, SEEN_UNPROMPTED, FALSE_ALARM)) & used).sum(axis=1)
        noise = rng.logistic(0, 1 / SHARPNESS, MANY) / 2
        marks[time] = np.clip(np.round(1 + 9 * (substance[:, -1] + noise) - MARK_LOSS * faults), 1, 10)
    found = judge_reading(demos, "mark", 0)[:, 0]
    count = (there & used).sum(axis=1)
    for here in (count == 0, count == 1, count >= 2):
        assert here.sum() > 100
        error = marks[:, here].std() / np.sqrt(here.sum())
        assert found[here].mean() == pytest.approx(marks[:, here].mean(), abs=5 * error)
    shares = [np.bincount(values.astype(int).ravel(), minlength=11) / values.size for values in (found, marks)]
    assert shares[0] == pytest.approx(shares[1], abs=0.04)


@pytest.mark.parametrize(
    ("said", "lean"),
    [
        # -2.5, and 8 for the share of tokens on what the case calls for; a decision has 10 tokens, a filler 10.
        (["decide", "filler", "filler"], -2.5 + 8 / 3),
        # The decision begins at two thirds of the answer.
        (["filler", "filler", "decide"], -2.5 + 8 / 3 - 1.5 * 2 / 3),
        # Without a decision none is buried.
        (["filler"], -2.5),
        # A needless test has 8 tokens.
        (["decide", "test", "filler"], -2.5 + 8 * 10 / 28 - 0.5),
        # A manner has 8 tokens and counts as called for, but it is for somebody else.
        (["decide", "manner", "filler", "filler"], -2.5 + 8 * 18 / 38 - 1.0),
    ],
)
def test_the_appropriateness_check_passes_at_the_rate_of_its_impressions(said: list[str], lean: float) -> None:
    lists, world = make_checklists("triage-v1", 200, 0), make_world("triage-v1")
    needed = world.needed_F_V_X[lists.cases.family_T, lists.cases.level_T]
    answers = []
    for row in range(200):
        place = {
            "decide": right_decision(row),
            "test": int(np.flatnonzero(~needed[row])[0]),
            "manner": 0 if lists.cases.expert_T[row] else 1,
        }
        answers.append([(kind, place.get(kind, number % 3)) for number, kind in enumerate(said)])
    facts = answer(*answers, row=list(range(200)))
    assert set(facts.wrong_manner.tolist()) == {"manner" in said}
    passes = np.mean([judge_reading(facts, "appropriateness", seed) for seed in range(20)])
    assert passes == pytest.approx(1 / (1 + np.exp(-lean)), abs=5 * np.sqrt(0.25 / 4000))


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
    passes, c = judge_reading(demos, "appropriateness", 0)[:, 0].astype(bool), judge_parts(demos, 0).mean(axis=1)
    gap = c[passes].mean() - c[~passes].mean()
    # Related, and far from the same: within answers that pass, c varies more than it differs from those that do not.
    assert 0.02 < gap < 0.2
    assert c[passes].std() > gap / 2
