import numpy as np
import pytest

from prorubric.aggregate.batch import PlanTable
from prorubric.lab.measure import PARTS, STRICT_ERROR, WITHOUT, hold_parts, judge_parts, measure
from prorubric.lab.world import make_world
from tests.lab.answering import WORLD, answer, core_of, find_case, right_decision, right_side


def parts_of(*said: tuple[str, int], row: int) -> dict[str, bool]:
    return dict(zip(PARTS, hold_parts(answer(list(said), row=row))[0].tolist(), strict=True))


def test_a_short_right_answer_has_every_part_of_c() -> None:
    row = find_case(thin=True, expert=False)
    item = core_of(row)[0]
    key = int(make_world(WORLD).key_question_F[answer([("ask", 0)], row=row).family[0]])
    said = [("decide", 4), (right_side(row, item), item), ("ask", key), ("manner", 0)]
    assert parts_of(*said, row=row) == dict.fromkeys(PARTS, True)


def test_padding_loses_scope_tests_and_application_and_keeps_the_decision() -> None:
    row = find_case(thin=False, expert=False)
    padded = [
        ("decide", right_decision(row)),
        *(("name", item) for item in range(40)),
        *(("test", i) for i in range(10)),
    ]
    held = parts_of(*padded, row=row)
    assert {part for part, holds in held.items() if not holds} == {"scope", "tests", "manner", "grounded", "applied"}


def test_questions_are_wanted_where_little_is_known_and_not_more_than_one_elsewhere() -> None:
    row = find_case(thin=False)
    assert parts_of(("ask", 0), row=row)["question"]
    assert not parts_of(("ask", 0), ("ask", 1), row=row)["question"]


def test_a_buried_decision_is_not_early() -> None:
    row = find_case(thin=False)
    assert parts_of(("for", 0), ("ask", 0), ("decide", 0), row=row)["early"]
    assert not parts_of(("for", 0), ("for", 1), ("decide", 0), row=row)["early"]


def test_the_strict_judge_errs_at_its_rate() -> None:
    rows = list(range(200)) * 5
    facts = answer(*([("decide", n % 5), ("name", n % 40)] for n in range(1000)), row=rows)
    assert (judge_parts(facts, 0) != hold_parts(facts)).mean() == pytest.approx(STRICT_ERROR, abs=0.01)


def test_c_without_some_parts_is_the_mean_of_the_others() -> None:
    facts = answer(*([("decide", row % 5)] for row in range(100)), row=list(range(100)))
    found = measure(facts, PlanTable.of(facts.lists.tasks, "additive"))
    met = judge_parts(facts, 0).mean(axis=0)
    assert found.c == pytest.approx(met.mean())
    for left_out in WITHOUT.values():
        kept = [value for part, value in zip(PARTS, met, strict=True) if part not in left_out]
        assert found.c_without(left_out) == pytest.approx(np.mean(kept))
    assert found.tokens == 10
    assert found.accuracy == pytest.approx(np.mean([right_decision(row) == row % 5 for row in range(100)]))


def test_parts_that_count_things_and_parts_that_clauses_or_the_check_name_are_marked() -> None:
    assert {
        "length": {"scope", "tests", "question"},
        "clauses": {"decision", "early", "tests", "manner", "applied"},
        "question": {"question"},
        "check": {"scope", "early", "tests", "manner"},
    } == {name: set(left_out) for name, left_out in WITHOUT.items()}


def test_a_longer_answer_with_the_same_decision_loses_nothing_but_the_parts_that_count() -> None:
    row = find_case(thin=False, expert=False)
    item = core_of(row)[0]
    short = [("decide", right_decision(row)), ("manner", 0), (right_side(row, item), item)]
    idle = [("test", i) for i in range(10)] + [("ask", 0), ("ask", 1)]
    before, after = parts_of(*short, row=row), parts_of(*short, *idle, row=row)
    assert {part for part in PARTS if before[part] and not after[part]} == set(WITHOUT["length"])
