"""Figures of criteria on small made-up verdicts, by hand; and what always holds for them."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric import Criterion, Message, Rubric, Task
from prorubric.aggregate.items import ItemFigures, describe_items
from prorubric.errors import SchemeError
from prorubric.rubric.verdict import NotApplicable, Unknown, Verdict

T, F, U, N = True, False, Unknown("no reply"), NotApplicable("no children")
ROOT_3 = math.sqrt(3)


def describe(
    weights: list[float], rows: list[list[Verdict]], groups: list[int] | None = None, **options: Any
) -> list[ItemFigures]:
    tags = ("label:normal",)
    criteria = tuple(Criterion(text=f"Says {i}", weight=weight, tags=tags) for i, weight in enumerate(weights, 1))
    task = Task(id="t", messages=(Message(role="user", content="?"),), rubric=Rubric(criteria=criteria))
    return [*describe_items(task, rows, groups, **options)]


class TestPassRate:
    def test_it_is_the_share_of_true_or_for_a_penalty_of_false(self) -> None:
        positive, negative = describe([2, -1], [[T, T], [T, F], [F, F], [T, F]])
        assert (positive.pass_rate, negative.pass_rate) == (0.75, 0.75)

    def test_unknown_and_not_applicable_verdicts_are_left_out_and_counted(self) -> None:
        item = describe([1, 1], [[T, T], [U, T], [N, F], [F, T], [N, T]])[0]
        assert (item.responses, item.unknown, item.not_applicable, item.pass_rate) == (2, 1, 2, 0.5)

    def test_a_criterion_without_a_verdict_has_no_figures(self) -> None:
        item = describe([1, 1], [[U, T], [N, F]])[0]
        figures = (item.pass_rate, item.discrimination, item.redundancy, item.advantage_if_met)
        assert (item.responses, figures, item.suppressed) == (0, (None,) * 4, False)

    def test_no_response_gives_no_figure(self) -> None:
        item = describe([1, 1], [])[0]
        assert (item.responses, item.pass_rate, item.groups, item.moved_share) == (0, None, 0, None)


class TestDiscrimination:
    def test_it_correlates_compliance_with_the_weight_of_the_rest_that_is_met(self) -> None:
        # The rest, of weight 1 and 3, is met to 1, 3/4, 1/4 and 0: the mean is 1/2, and 1 and 3/4 comply.
        rows: list[list[Verdict]] = [[T, T, T], [T, F, T], [F, T, F], [F, F, F]]
        first = describe([5, 1, 3], rows)[0]
        assert first.discrimination == pytest.approx(0.75 / math.sqrt(0.625))

    def test_a_criterion_that_only_poor_answers_meet_is_below_zero(self) -> None:
        rows: list[list[Verdict]] = [[F, T], [F, T], [T, F], [T, F]]
        assert describe([1, 1], rows)[0].discrimination == pytest.approx(-1)

    def test_a_penalty_counts_by_being_avoided(self) -> None:
        rows: list[list[Verdict]] = [[T, F], [T, F], [F, T], [F, T]]
        assert describe([-1, 1], rows)[0].discrimination == pytest.approx(1)

    @pytest.mark.parametrize(
        "rows",
        [
            [[T, T], [F, F]],  # too few
            [[T, T], [F, F], [U, T]],  # too few with a verdict
            [[T, T], [T, F], [T, F]],  # always met
            [[T, T], [F, T], [T, T]],  # the rest is always the same
            [[T, N], [F, N], [T, N]],  # there is no rest
        ],
    )
    def test_too_few_responses_or_no_spread_give_none(self, rows: list[list[Verdict]]) -> None:
        assert describe([1, 1], rows)[0].discrimination is None

    def test_verdicts_that_are_missing_leave_the_rest(self) -> None:
        # Of the rest, the third response has only the criterion of weight 3, which it does not meet.
        rows: list[list[Verdict]] = [[T, T, T], [F, T, F], [F, U, F], [T, T, T]]
        share = [1, 0.25, 0, 1]
        mean = sum(share) / 4
        expected = (2 - 2 * mean) / math.sqrt(1 * sum((one - mean) ** 2 for one in share))
        assert describe([5, 1, 3], rows)[0].discrimination == pytest.approx(expected)


class TestRedundancy:
    def test_it_names_the_other_criterion_that_agrees_most_beyond_chance(self) -> None:
        rows: list[list[Verdict]] = [[T, T, T], [T, T, F], [F, F, T], [F, F, F], [T, F, T], [F, F, F]]
        first, second, third = describe([1, 1, 1], rows)
        # 1 and 2: 5 of 6 agree, chance (3·2 + 3·4)/36 = 1/2. 1 and 3: 4 of 6, chance 1/2. 2 and 3: 3 of 6.
        assert (first.redundant_with, first.redundancy) == (2, pytest.approx(2 / 3))
        assert (second.redundant_with, second.redundancy) == (1, pytest.approx(2 / 3))
        assert (third.redundant_with, third.redundancy) == (1, pytest.approx(1 / 3))

    def test_a_demand_and_the_penalty_for_missing_it_are_redundant(self) -> None:
        first, _ = describe([5, -5], [[T, F], [T, F], [F, T], [F, T]])
        assert (first.redundant_with, first.redundancy) == (2, 1.0)

    def test_two_that_never_vary_agree_by_chance_only(self) -> None:
        first, _ = describe([1, 1], [[T, T]] * 4)
        assert (first.redundant_with, first.redundancy) == (None, None)

    def test_pairs_with_a_missing_verdict_do_not_count(self) -> None:
        first, _ = describe([1, 1], [[T, T], [F, F], [U, F], [T, N]])
        assert first.redundancy is None
        first, _ = describe([1, 1], [[T, T], [F, F], [U, F], [T, N], [T, T]])
        assert first.redundancy == 1.0


class TestGroups:
    def test_a_criterion_that_all_meet_moves_no_advantage_and_one_that_some_meet_does(self) -> None:
        always, sometimes = describe([3, 1], [[T, T], [T, F], [T, F], [T, F]])
        assert (always.groups, always.moved_share, sometimes.moved_share) == (1, 0.0, 1.0)

    def test_the_share_is_that_of_the_groups(self) -> None:
        # In the first group only the second criterion differs, in the second only the first, in the third none.
        rows: list[list[Verdict]] = [[T, T], [T, F], [T, F], [F, F], [T, F], [T, F]]
        first, second = describe([3, 1], rows, [7, 7, 8, 8, 9, 9])
        assert (first.groups, first.moved_share, second.moved_share) == (3, pytest.approx(1 / 3), pytest.approx(1 / 3))

    def test_a_response_with_an_unknown_verdict_has_no_reward(self) -> None:
        first, _ = describe([3, 1], [[T, T], [F, U]])
        assert (first.groups, first.moved_share) == (0, None)

    def test_what_does_not_apply_leaves_the_sum_and_what_it_is_divided_by(self) -> None:
        # Rewards 1, 1 and 1: nothing to move, until a criterion of weight 1 is missed (3/4).
        first, _ = describe([3, 1], [[T, T], [T, N], [T, T]])
        assert first.moved_share == 0.0
        assert describe([3, 1], [[T, T], [T, N], [T, F]])[1].moved_share == 1.0

    def test_without_the_only_criterion_that_pays_nothing_is_earned(self) -> None:
        assert describe([3], [[T], [F]])[0].moved_share == 1.0

    def test_a_penalty_that_only_takes_from_nothing_moves_nothing(self) -> None:
        # 0 - 5 is cut off at 0, as for the response that avoids it.
        assert describe([3, -5], [[F, T], [F, F], [F, F]])[1].moved_share == 0.0


class TestSuppressed:
    def test_it_is_met_by_responses_whose_mean_advantage_is_not_above_zero(self) -> None:
        # Rewards 5/8, 3/8, 3/8, 3/8 and what is met: the first three-point criterion by all but the best.
        rows: list[list[Verdict]] = [[F, T], [T, F], [T, F], [T, F]]
        heavy, buying = describe([3, 5], rows)
        # (3/8 - 7/16) / (s.d. 1/8 + 1e-6) is -1/2, and the best has 3/2.
        assert (heavy.advantage_if_met, heavy.suppressed) == (pytest.approx(-0.5, abs=1e-4), True)
        assert (buying.advantage_if_met, buying.suppressed) == (pytest.approx(1.5, abs=1e-4), False)

    def test_one_that_all_meet_or_none_is_not(self) -> None:
        always, never, _ = describe([1, 1, 1], [[T, F, T], [T, F, F]])
        assert (always.advantage_if_met, always.suppressed) == (None, False)
        assert (never.advantage_if_met, never.suppressed) == (None, False)

    def test_a_group_without_signal_says_nothing(self) -> None:
        first, _ = describe([1, 1], [[T, F], [F, T]])
        assert (first.advantage_if_met, first.suppressed) == (None, False)

    def test_only_groups_in_which_it_varies_count(self) -> None:
        rows: list[list[Verdict]] = [[T, T], [T, F], [F, T], [T, F]]
        first = describe([1, 3], rows, [0, 0, 1, 1])[0]
        # In the second group the one that meets it has 1/4 against 3/4.
        assert (first.advantage_if_met, first.suppressed) == (pytest.approx(-1 / math.sqrt(2), abs=1e-4), True)


class TestRewards:
    def test_they_may_be_those_of_another_scheme(self) -> None:
        # The heaviest is required: without it the second criterion pays nothing.
        rows: list[list[Verdict]] = [[F, T], [F, F], [T, F]]
        summed, required = describe([5, 1], rows), describe([5, 1], rows, scheme="required-first")
        assert [item.advantage_if_met for item in required] == pytest.approx([2 / ROOT_3, -1 / ROOT_3], abs=1e-4)
        assert [item.suppressed for item in required] == [False, True]
        assert summed[1].advantage_if_met != required[1].advantage_if_met
        assert [item.moved_share for item in required] == [1.0, 0.0]

    def test_they_may_be_given_and_then_no_criterion_can_be_removed(self) -> None:
        rows: list[list[Verdict]] = [[T, T], [F, T], [T, F], [U, F]]
        first, second = describe([5, 1], rows, [0, 0, 1, 1], rewards=[0.0, 1.0, None, 0.5])
        assert (first.advantage_if_met, first.suppressed) == (pytest.approx(-(0.5**0.5), abs=1e-4), True)
        assert (first.groups, first.moved_share, second.moved_share) == (1, None, None)

    @given(st.lists(st.tuples(*[st.sampled_from([T, F, N])] * 3).map(list), max_size=6))
    def test_the_sum_is_computed_as_any_other_scheme_is(self, rows: list[list[Verdict]]) -> None:
        # `weighted` leaves criteria that are labelled normal as they are.
        weights = [1.0, 2.5, -3.0]
        assert describe(weights, rows) == describe(weights, rows, scheme="weighted")


def test_a_row_of_another_length_and_a_level_are_refused() -> None:
    with pytest.raises(SchemeError, match="task 't': 1 verdicts for 2 criteria; give one for each"):
        describe([1, 1], [[T]])
    with pytest.raises(SchemeError, match="task 't': a verdict is 3; allowed: true or false"):
        describe([1, 1], [[T, 3]])


verdicts = st.sampled_from([T, F, U, N])


@given(st.data(), st.lists(st.sampled_from([1.0, 2.5, -3.0]), min_size=1, max_size=4), st.integers(0, 7))
def test_figures_stay_in_their_ranges_and_do_not_depend_on_the_order_of_responses(
    data: st.DataObject, weights: list[float], count: int
) -> None:
    rows = data.draw(st.lists(st.tuples(*[verdicts] * len(weights)).map(list), min_size=count, max_size=count))
    found = describe(weights, rows)
    for item in found:
        assert item.responses + item.unknown + item.not_applicable == count
        assert item.discrimination is None or -1 - 1e-9 <= item.discrimination <= 1 + 1e-9
        assert item.redundancy is None or -1 - 1e-9 <= item.redundancy <= 1 + 1e-9
        assert item.moved_share in (None, 0.0, 1.0)
        assert item.redundant_with is None or item.redundant_with != item.index
    for one, other in zip(found, describe(weights, rows[::-1]), strict=True):
        assert (one.pass_rate, one.moved_share, one.suppressed) == (
            other.pass_rate,
            other.moved_share,
            other.suppressed,
        )
