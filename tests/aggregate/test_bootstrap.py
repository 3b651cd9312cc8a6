import numpy as np
import pytest

from prorubric.aggregate.bootstrap import Bootstrap, MeanInterval, group_spread, number_prompts, widening

NAN = float("nan")


def bootstrap(columns: list[list[float]], prompts: list[int], resamples: int = 10_000) -> Bootstrap:
    return Bootstrap.of(np.array(columns).T, np.array(prompts), resamples)


class TestBootstrap:
    def test_a_mean_is_over_known_values_only(self) -> None:
        found = bootstrap([[1.0, NAN, 3.0], [NAN, NAN, 5.0]], [0, 1, 2])
        assert found.mean_C.tolist() == [2.0, 5.0]

    def test_a_constant_column_has_an_interval_without_width(self) -> None:
        assert bootstrap([[7.0] * 5], [0, 1, 2, 3, 4]).estimate(0) == MeanInterval(7.0, 7.0, 7.0)

    def test_a_column_without_a_known_value_has_no_estimate(self) -> None:
        assert bootstrap([[NAN, NAN]], [0, 1]).estimate(0) == MeanInterval(None, None, None)

    def test_the_interval_has_the_width_that_theory_gives(self) -> None:
        values = np.random.default_rng(1).normal(size=400)
        found = bootstrap([values.tolist()], list(range(400))).estimate(0)
        assert found.low is not None
        assert found.high is not None
        assert found.high - found.low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.05)

    def test_prompts_are_resampled_whole(self) -> None:
        # Ten equal answers to a prompt say no more than one of them does.
        values = np.random.default_rng(2).normal(size=40)
        one = bootstrap([values.tolist()], list(range(40))).estimate(0)
        ten = bootstrap([np.repeat(values, 10).tolist()], np.repeat(np.arange(40), 10).tolist()).estimate(0)
        assert ten.low == pytest.approx(one.low)
        assert ten.high == pytest.approx(one.high)

    def test_prompts_with_more_answers_weigh_more(self) -> None:
        found = bootstrap([[0.0, 0.0, 0.0, 4.0]], [0, 0, 0, 1])
        assert found.mean_C[0] == 1.0

    def test_the_same_values_give_the_same_interval(self) -> None:
        first, second = (bootstrap([[1.0, 2.0, 4.0, 8.0]], [0, 1, 2, 3]).estimate(0) for _ in range(2))
        assert first == second

    @pytest.mark.parametrize("resamples", [100, 499, 501, 1000])
    def test_as_many_resamples_are_made_as_were_asked_for(self, resamples: int) -> None:
        assert bootstrap([[1.0, 2.0]], [0, 1], resamples).mean_B_C.shape == (resamples, 1)


class TestFewPrompts:
    @pytest.mark.parametrize(
        ("prompts", "quantile"),
        [(2, 12.706), (3, 4.303), (5, 2.776), (6, 2.571), (8, 2.365), (12, 2.201), (31, 2.042), (101, 1.984)],
    )
    def test_intervals_are_as_wide_as_students_t_makes_them(self, prompts: int, quantile: float) -> None:
        assert widening(prompts) == pytest.approx(quantile / 1.96 * (prompts / (prompts - 1)) ** 0.5, rel=0.002)

    @pytest.mark.parametrize("prompts", [3, 5, 12])
    def test_an_interval_holds_the_mean_19_times_of_20(self, prompts: int) -> None:
        draws = np.random.default_rng(4).normal(size=(prompts, 400))
        found = Bootstrap.of(draws, np.arange(prompts), 1000)
        ends = [found.estimate(column) for column in range(400)]
        held = sum(one.low <= 0 <= one.high for one in ends if one.low is not None and one.high is not None)
        assert 0.93 <= held / 400 <= 0.98

    def test_one_prompt_has_a_mean_and_no_interval(self) -> None:
        assert bootstrap([[3.0, 5.0]], [0, 0]).estimate(0) == MeanInterval(4.0, None, None)

    def test_prompts_without_a_known_value_do_not_narrow_an_interval(self) -> None:
        assert bootstrap([[4.0, NAN, NAN]], [0, 1, 2]).estimate(0) == MeanInterval(4.0, None, None)


class TestRatio:
    def test_a_ratio_keeps_the_pairing_of_its_columns(self) -> None:
        substance = np.random.default_rng(3).uniform(5, 15, size=60)
        found = bootstrap([(substance / 4).tolist(), substance.tolist()], list(range(60))).ratio(0, 1)
        assert found.mean == pytest.approx(0.25)
        assert found.low == pytest.approx(0.25)
        assert found.high == pytest.approx(0.25)

    def test_there_is_no_share_of_what_may_earn_nothing(self) -> None:
        # Substance earns 1.5 on average, and its interval reaches below 0.
        substance = [9.0, -6.0, 8.0, -5.0]
        found = bootstrap([[1.0] * 4, substance], [0, 1, 2, 3])
        assert found.estimate(1).low < 0 < found.estimate(1).mean  # type: ignore[operator]
        assert found.ratio(0, 1) == MeanInterval(None, None, None)

    @pytest.mark.parametrize("substance", [0.0, -3.0, NAN])
    def test_there_is_no_share_of_what_earns_nothing(self, substance: float) -> None:
        found = bootstrap([[1.0, 1.0], [substance, substance]], [0, 1]).ratio(0, 1)
        assert found == MeanInterval(None, None, None)


class TestSpread:
    def test_the_spread_is_the_mean_over_groups(self) -> None:
        rewards = np.array([0.0, 2.0, 5.0, 5.0, 9.0])
        # Standard deviations: 1.414… and 0; the last prompt has one answer and no spread.
        assert group_spread(rewards, np.array([0, 0, 1, 1, 2])) == pytest.approx(2**0.5 / 2)

    def test_unknown_rewards_are_left_out(self) -> None:
        assert group_spread(np.array([0.0, NAN, 2.0]), np.array([0, 0, 0])) == pytest.approx(2**0.5)

    def test_equal_rewards_have_no_spread_at_all(self) -> None:
        assert np.full(3, 63.7).std(ddof=1) > 0
        assert group_spread(np.full(3, 63.7), np.zeros(3, dtype=int)) == 0.0

    def test_one_answer_a_prompt_has_no_spread(self) -> None:
        assert group_spread(np.array([0.0, 1.0]), np.array([0, 1])) is None


def test_prompts_are_numbered_in_the_order_of_appearance() -> None:
    assert number_prompts(["b", "a", "b", "c"]).tolist() == [0, 1, 0, 2]
