from prorubric.lab.checklist import KINDS
from prorubric.lab.facts import IN_FULL, NAMED, WRONG
from prorubric.lab.world import make_world
from tests.lab.answering import WORLD, answer, core_of, find_case, right_decision, right_side, wrong_side


def test_an_item_is_absent_named_wrong_or_met() -> None:
    facts = answer(
        [("ask", 0)],
        [("name", 7)],
        [(wrong_side(0, 7), 7)],
        [(right_side(0, 7), 7)],
        [(right_side(0, 7), 7), (wrong_side(0, 7), 7)],
        [("name", 7), (right_side(0, 7), 7)],
    )
    assert facts.item_level[:, 7].tolist() == [0, NAMED, WRONG, IN_FULL, WRONG, IN_FULL]


def test_a_decision_is_right_alone_among_others_or_not_at_all() -> None:
    right = right_decision(0)
    other = (right + 1) % 5
    facts = answer([("decide", right)], [("decide", right), ("decide", other)], [("decide", other)], [("ask", 0)])
    assert facts.decision_level.tolist() == [IN_FULL, WRONG, 0, 0]
    assert facts.decisions.tolist() == [1, 2, 1, 0]


def test_places_and_lengths_are_counted_in_tokens() -> None:
    facts = answer([("name", 1), ("for", 2), ("decide", 0)], [("decide", 0)])
    assert facts.decided_at.tolist() == [32, 0]
    assert facts.tokens.tolist() == [42, 10]


def test_a_compound_criterion_counts_as_the_weaker_of_its_two_halves() -> None:
    lists = answer([("ask", 0)]).lists
    place = int((lists.kind_T_N[0] == KINDS.index("compound")).argmax())
    names = make_world(WORLD).moves.at["name"].start
    first, other = int(lists.target_T_N[0, place]) - names, int(lists.other_T_N[0, place]) - names
    facts = answer(
        [(right_side(0, first), first), (right_side(0, other), other)],
        [(right_side(0, first), first), ("name", other)],
        [(right_side(0, first), first)],
        [("name", first)],
    )
    assert facts.level[:, place].tolist() == [IN_FULL, NAMED, NAMED, 0]


def test_needless_tests_and_the_manner_depend_on_the_case() -> None:
    row = find_case(expert=False, thin=True)
    facts = answer([("test", 0), ("test", 9), ("manner", 0)], [("manner", 1)], [("manner", 0), ("manner", 1)], row=row)
    assert facts.needless.tolist() == [2, 0, 0]
    assert facts.right_manner.tolist() == [True, False, False]
    assert facts.wrong_manner.tolist() == [False, True, True]


def test_the_key_question_is_the_one_of_the_family() -> None:
    facts = answer([("ask", 0)])
    key = int(make_world(WORLD).key_question_F[facts.family[0]])
    assert answer([("ask", key)], [("ask", (key + 1) % 6)]).asks_key.tolist() == [True, False]


def test_core_items_are_those_of_family_and_level() -> None:
    facts = answer([("ask", 0)], row=3)
    assert facts.core[0].nonzero()[0].tolist() == core_of(3)
