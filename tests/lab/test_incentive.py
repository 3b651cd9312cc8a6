import numpy as np
import pytest

from prorubric.lab.checklist import make_checklists
from prorubric.lab.demos import write_demos
from prorubric.lab.facts import Facts
from prorubric.lab.incentive import EDITS, Audit, audit_policy, edit_answers
from prorubric.lab.world import make_world

CASES = 150


@pytest.fixture(scope="module")
def facts() -> Facts:
    world = make_world("triage-v1")
    lists = make_checklists("triage-v1", CASES, 4)
    return Facts(world, lists, np.arange(CASES), write_demos(world, lists.cases, 4))


@pytest.fixture(scope="module")
def audit(facts: Facts) -> Audit:
    schemes = ["additive", "raw-and", "prorubric", "implicit", "prorubric+appropriateness"]
    rows = np.arange(CASES).repeat(2)
    return audit_policy(facts.world, facts.lists, rows, facts.moves_R_L.repeat(2, axis=0), schemes)


def edited(facts: Facts, edit: str) -> tuple[Facts, np.ndarray]:
    moves, made = edit_answers(facts, edit)
    return Facts(facts.world, facts.lists, facts.row_R, moves), made


def test_naming_adds_names_of_open_items_and_nothing_else(facts: Facts) -> None:
    after, made = edited(facts, "name-item")
    added = (after.item_level == 1).sum(axis=1) - (facts.item_level == 1).sum(axis=1)
    assert made.all()
    assert set(added.tolist()) == {5}
    assert (after.tokens - facts.tokens == 40).all()


def test_substance_is_right_and_a_needless_test_is_needless(facts: Facts) -> None:
    substance, _ = edited(facts, "add-substance")
    assert ((substance.item_level == 3).sum(axis=1) - (facts.item_level == 3).sum(axis=1) == 3).all()
    tests, made = edited(facts, "needless-test")
    assert made.all()
    assert (tests.needless - facts.needless == 1).all()


def test_the_decision_can_be_dropped_and_the_rest_stays(facts: Facts) -> None:
    dropped, made = edited(facts, "drop-key-advice")
    assert made.all()
    assert (dropped.decisions == 0).all()
    assert (dropped.item_level == facts.item_level).all()


def test_another_order_says_the_same(facts: Facts) -> None:
    reworded, made = edited(facts, "paraphrase")
    assert made.mean() > 0.9
    assert (reworded.said_moves[made] == facts.said_moves[made]).all()


def test_the_sum_pays_for_names_and_the_dimensions_hardly_do(audit: Audit) -> None:
    additive, dimensions = audit.effect("name-item", "additive"), audit.effect("name-item", "prorubric")
    assert additive.mean is not None
    assert dimensions.mean is not None
    assert additive.mean > 5
    assert dimensions.mean < additive.mean / 2
    assert additive.paper == 7.3


def test_a_needless_test_costs_where_a_clause_names_it_and_nothing_under_the_sum(audit: Audit) -> None:
    assert audit.effect("needless-test", "additive").mean == pytest.approx(0, abs=0.8)
    assert (audit.effect("needless-test", "prorubric").mean or 0) < -1


def test_every_edit_is_audited_under_every_scheme(audit: Audit) -> None:
    assert len(audit.effects) == len(EDITS) * 5
    assert [found.scheme for found in audit.forecast][:2] == ["additive", "raw-and"]
