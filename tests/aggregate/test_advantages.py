"""Advantages within a group; ties and unknowns carry no signal and are counted."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.aggregate.advantages import channel_advantages, drop_tied, group_advantages
from prorubric.errors import SchemeError

rewards = st.lists(st.floats(0, 1) | st.just(float("nan")), min_size=1, max_size=24)


def test_a_group_is_centred_and_scaled_by_its_sample_deviation() -> None:
    found = group_advantages([0.0, 1.0], ["a", "a"], epsilon=0.0)
    assert found.values.tolist() == pytest.approx([-math.sqrt(0.5), math.sqrt(0.5)])


def test_groups_do_not_see_each_other() -> None:
    found = group_advantages([0.0, 10.0, 1.0, 11.0], [1, 2, 1, 2])
    assert found.values.tolist() == pytest.approx([-0.707106, -0.707106, 0.707106, 0.707106], abs=1e-5)


def test_equal_rewards_get_exactly_zero_and_are_counted() -> None:
    found = group_advantages([0.1, 0.1, 0.1, 0.0, 1.0], [1, 1, 1, 2, 2])
    assert found.values[:3].tolist() == [0.0, 0.0, 0.0]
    assert (found.groups, found.tied, found.tied_share) == (2, 1, 0.5)


def test_an_unknown_reward_gets_zero_and_does_not_move_the_baseline() -> None:
    nan = float("nan")
    found = group_advantages([0.0, nan, 1.0], [1, 1, 1])
    assert found.values.tolist() == [*group_advantages([0.0, 1.0], [1, 1]).values[:1], 0.0, found.values[2]]
    assert found.unknown == 1


def test_a_group_with_one_known_reward_has_no_signal() -> None:
    found = group_advantages([0.4, float("nan")], [1, 1])
    assert (found.values.tolist(), found.tied) == ([0.0, 0.0], 1)


def test_an_empty_batch_has_no_share_of_ties() -> None:
    assert group_advantages([], []).tied_share is None


@given(rewards, st.data())
def test_advantages_are_finite_and_sum_to_zero_in_every_group(values: list[float], data: st.DataObject) -> None:
    groups = data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values)))
    found = group_advantages(values, groups)
    assert np.isfinite(found.values).all()
    for group in set(groups):
        assert abs(found.values[np.array(groups) == group].sum()) < 1e-6


@pytest.mark.parametrize(("values", "groups"), [([1.0], [1, 2]), ([[1.0]], [[1]])])
def test_lists_of_different_length_are_refused(values: list[float], groups: list[int]) -> None:
    with pytest.raises(SchemeError, match="two lists of the same length"):
        group_advantages(values, groups)


def test_an_infinite_reward_is_refused() -> None:
    with pytest.raises(SchemeError, match="a reward is infinite"):
        group_advantages([float("inf"), 0.0], [1, 1])


NAN = float("nan")


class TestDropping:
    def test_groups_without_signal_leave_and_are_counted_by_their_reason(self) -> None:
        found = drop_tied([1, 0, NAN, 0.4, 0.4, NAN, 0.7, NAN], ["a", "a", "a", "b", "b", "c", "c", "d"])
        assert found.keep.tolist() == [True, True, *[False] * 6]
        assert (found.groups, found.equal, found.unknown, found.unknown_rewards) == (4, 1, 2, 1)

    def test_an_empty_batch_has_nothing_to_drop(self) -> None:
        assert drop_tied([], []).groups == 0

    def test_lists_of_different_length_are_refused(self) -> None:
        with pytest.raises(SchemeError, match="two lists of the same length"):
            drop_tied([1.0], [1, 2])

    @given(rewards, st.data())
    def test_what_stays_has_the_same_advantages_as_before_and_no_group_is_tied(
        self, values: list[float], data: st.DataObject
    ) -> None:
        groups = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values))))
        found, before = drop_tied(values, groups), group_advantages(values, groups)
        after = group_advantages(np.array(values)[found.keep], groups[found.keep])
        assert after.values.tolist() == before.values[found.keep].tolist()
        assert (after.tied, after.unknown, found.equal + found.unknown) == (0, 0, before.tied)
        assert not before.values[~found.keep].any()


class TestChannels:
    def test_each_channel_is_centred_and_scaled_by_itself_and_added_by_weight(self) -> None:
        found = channel_advantages([[1, 0], [0, 10]], ["a", "a"], [0.75, 0.25], epsilon=0.0)
        half = math.sqrt(0.5)
        assert found.channels.tolist() == [pytest.approx([half, -half]), pytest.approx([-half, half])]
        assert found.values.tolist() == pytest.approx([half / 2, -half / 2])

    def test_channels_whose_sum_is_constant_still_give_a_signal(self) -> None:
        split = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
        assert not group_advantages([sum(row) for row in split], [1, 1, 1]).values.any()
        assert channel_advantages(split, [1, 1, 1], [3.0, 1.0], epsilon=0.0).values.tolist() == pytest.approx(
            [2 / math.sqrt(3), 2 / math.sqrt(3), -4 / math.sqrt(3)]
        )

    def test_a_channel_that_all_meet_takes_nothing_from_the_others_and_is_counted(self) -> None:
        found = channel_advantages([[1, 0], [1, 1]], ["a", "a"], [5.0, 1.0])
        assert found.values.tolist() == group_advantages([0, 1], ["a", "a"]).values.tolist()
        assert (found.tied, found.groups) == ((1, 0), 1)

    def test_tasks_may_have_other_weights_and_fewer_channels(self) -> None:
        rows = [[1, 0], [0, 1], [1, NAN], [0, NAN]]
        weights = [[3.0, 1.0], [3.0, 1.0], [2.0, NAN], [2.0, NAN]]
        found = channel_advantages(rows, ["a", "a", "b", "b"], weights, epsilon=0.0)
        half = math.sqrt(0.5)
        assert found.values.tolist() == pytest.approx([2 * half, -2 * half, 2 * half, -2 * half])
        assert found.tied == (0, 1)

    @given(st.integers(1, 4), st.integers(1, 12), st.data())
    def test_one_channel_is_the_usual_advantage_and_sums_stay_zero(
        self, width: int, count: int, data: st.DataObject
    ) -> None:
        cell = st.floats(0, 1) | st.just(NAN)
        row = st.lists(cell, min_size=width, max_size=width)
        values = np.array(data.draw(st.lists(row, min_size=count, max_size=count)))
        groups = np.array(data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)))
        found = channel_advantages(values, groups, np.ones(width))
        assert found.channels[:, 0].tolist() == group_advantages(values[:, 0], groups).values.tolist()
        for group in set(groups.tolist()):
            assert abs(found.values[groups == group].sum()) < 1e-6

    @pytest.mark.parametrize(
        ("rewards", "weights", "said"),
        [
            ([1.0, 0.0], [1.0], "give a row of rewards"),
            ([[1.0], [0.0]], [1.0, 2.0], "a weight for each column"),
            ([[1.0], [0.0]], [float("inf")], "a weight is infinite"),
            ([[float("inf")], [0.0]], [1.0], "a reward is infinite"),
        ],
    )
    def test_arrays_that_do_not_fit_are_refused(self, rewards: list[float], weights: list[float], said: str) -> None:
        with pytest.raises(SchemeError, match=said):
            channel_advantages(rewards, [1, 1], weights)
