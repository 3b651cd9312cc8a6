"""Advantages within a group; ties and unknowns carry no signal and are counted."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.aggregate.advantages import group_advantages
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
