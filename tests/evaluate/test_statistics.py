"""Statistics against numbers of scipy 1.17.1 and statsmodels 0.15.0, the paper's tables, and hand calculations."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.aggregate.bootstrap import MeanInterval
from prorubric.audit.paper import load_paper
from prorubric.errors import RubricError
from prorubric.evaluate import paired_difference
from prorubric.evaluate.statistics import (
    adjust_holm,
    bound_difference,
    compare_accuracy,
    compare_rankings,
    compare_repeats,
    compare_seeds,
    detectable_difference,
    estimate_draws,
    estimate_mean,
    estimate_ratio,
    find_common,
    flip_signs,
    is_separated,
    needed_items,
    rank_correlation,
    resample_means,
    resample_seeds_and_items,
    split_variance,
    t_quantile,
    wilson_interval,
)

SCORES = st.dictionaries(st.integers(0, 12), st.none() | st.floats(-1, 1), max_size=12)

# By seed, the seven benchmarks that the paper prints.
RUBRIC_RL = {
    42: (66.3, 36.5, 18.2, 30.8, 63.2, 46.8, 60.4),
    43: (63.6, 34.1, 16.1, 33.0, 61.2, 48.0, 64.6),
    44: (63.7, 34.5, 17.4, 31.8, 63.5, 39.4, 63.6),
}
PRORUBRIC = {
    42: (67.9, 39.1, 18.4, 36.0, 66.1, 43.3, 60.4),
    43: (66.8, 36.8, 17.5, 34.9, 65.0, 42.4, 63.3),
    44: (66.5, 37.4, 19.8, 33.1, 64.2, 46.0, 59.5),
}


def exactly(value: float) -> object:
    return pytest.approx(value, rel=1e-12, abs=1e-15)


class TestPairedDifference:
    def test_it_is_the_mean_difference_with_its_standard_error(self) -> None:
        found = paired_difference({"p": 0.75, "q": 0.5, "r": 1.0}, {"p": 0.25, "q": 0.5, "r": 0.0})
        assert (found.mean, found.n, found.clusters) == (0.5, 3, 3)
        assert found.sd == exactly(0.5)
        assert found.se == exactly(0.5 / math.sqrt(3))
        assert found.low == exactly(0.5 - 1.96 * 0.5 / math.sqrt(3))
        assert found.high == exactly(0.5 + 1.96 * 0.5 / math.sqrt(3))

    def test_items_of_one_cluster_count_as_one(self) -> None:
        values, groups = [1.0, 2.0, 4.0, 8.0, 3.0, 5.0, 9.0], [0, 0, 1, 1, 2, 3, 3]
        found = paired_difference(dict(enumerate(values)), dict.fromkeys(range(7), 0.0), dict(enumerate(groups)))
        assert found.se == exactly(1.3993116254531792)  # statsmodels' clustered error times √(C/(C-1))
        assert (found.clusters, found.n) == (4, 7)

    def test_clusters_of_one_item_change_nothing(self) -> None:
        first, second = {"a": 1.0, "b": 0.5, "c": 0.0}, {"a": 0.0, "b": 0.25, "c": 0.5}
        assert paired_difference(first, second, {name: name for name in first}) == paired_difference(first, second)

    def test_items_that_left_are_counted(self) -> None:
        found = paired_difference(
            {"a": 1.0, "b": None, "c": 1.0, "d": 1.0, "e": math.nan},
            {"a": 0.0, "b": 1.0, "c": None, "e": 0.0, "f": 1.0},
        )
        assert (found.n, found.unknown, found.only_first, found.only_second) == (1, 3, 1, 1)

    def test_one_item_has_no_error_and_none_has_no_mean(self) -> None:
        one, none = paired_difference({"a": 1.0}, {"a": 0.0}), paired_difference({"a": 1.0}, {"b": 0.0})
        assert (one.mean, one.se, one.low, one.high, one.detectable) == (1.0, None, None, None, None)
        assert (none.mean, none.se, none.n) == (None, None, 0)

    def test_scores_below_zero_are_not_clipped_before_they_are_subtracted(self) -> None:
        found = paired_difference({"a": 0.0, "b": 0.25}, {"a": -0.5, "b": -0.25})
        assert found.mean == 0.5

    def test_an_item_without_a_cluster_is_refused(self) -> None:
        with pytest.raises(RubricError, match="'b' and 0 other items have no cluster; name one for each item"):
            paired_difference({"a": 1.0, "b": 1.0}, {"a": 0.0, "b": 0.0}, {"a": 1})

    @given(SCORES, SCORES, st.randoms(use_true_random=False))
    def test_swapping_flips_the_signs_and_the_order_of_rows_changes_nothing(
        self, first: dict[int, float | None], second: dict[int, float | None], order: random.Random
    ) -> None:
        clusters = {item: item % 3 for item in range(13)}
        rows = list(first.items())
        order.shuffle(rows)
        found, swapped = paired_difference(first, second, clusters), paired_difference(second, first, clusters)
        assert paired_difference(dict(rows), second, clusters) == found
        assert (swapped.se, swapped.n) == (found.se, found.n)
        if found.mean is not None:
            assert swapped.mean == -found.mean
        if found.low is not None:
            assert swapped.high == -found.low


class TestCommonSet:
    def test_it_names_what_each_arm_lost(self) -> None:
        found = find_common({"x": {"a": 1.0, "b": None, "c": 0.0}, "y": {"a": 0.5, "b": 1.0, "d": 1.0}})
        assert (found.items, found.pool) == (("a",), 4)
        assert found.missing == {"x": 1, "y": 1}
        assert found.unknown == {"x": 1, "y": 0}

    @given(st.lists(SCORES, min_size=1, max_size=4), SCORES)
    def test_another_arm_never_adds_an_item(
        self, arms: list[dict[int, float | None]], other: dict[int, float | None]
    ) -> None:
        named = {str(place): arm for place, arm in enumerate(arms)}
        assert set(find_common(named | {"other": other}).items) <= set(find_common(named).items)


class TestBounds:
    def test_they_are_the_difference_with_every_unknown_set_for_one_side_and_for_the_other(self) -> None:
        first, second = {"a": (0.5, 0.5), "b": (0.0, 1.0)}, {"a": (0.25, 0.25), "b": (0.0, 0.5)}
        assert bound_difference(first, second) == (-0.125, 0.625)
        assert bound_difference(first, {}) is None

    @given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)), min_size=1))
    def test_they_hold_every_completion_of_the_unknowns(self, rows: list[tuple[float, float, float, float]]) -> None:
        first = {place: (low * high, high) for place, (low, high, _, _) in enumerate(rows)}
        second = {place: (0.0, high) for place, (_, high, _, _) in enumerate(rows)}
        inside_first = {p: first[p][0] + rows[p][2] * (first[p][1] - first[p][0]) for p in first}
        inside_second = {p: rows[p][3] * second[p][1] for p in second}
        bounds, mean = bound_difference(first, second), paired_difference(inside_first, inside_second).mean
        assert bounds is not None
        assert mean is not None
        assert bounds[0] - 1e-12 <= mean <= bounds[1] + 1e-12


class TestSeeds:
    def test_the_paper_s_average_difference_follows_from_its_printed_seeds(self) -> None:
        averages = [{seed: sum(row) / 7 for seed, row in rows.items()} for rows in (PRORUBRIC, RUBRIC_RL)]
        found = compare_seeds(*averages)
        assert found.mean == pytest.approx(1.319, abs=5e-4)
        assert found.sd == pytest.approx(0.465, abs=5e-4)
        assert found.low == pytest.approx(0.16, abs=5e-3)
        assert found.high == pytest.approx(2.47, abs=5e-3)
        assert found.separated

    def test_the_interval_is_scipys(self) -> None:
        found = compare_seeds({1: 1.0, 2: 2.0, 3: 4.0}, {1: 0.5, 2: 0.75, 3: 1.0})
        assert found.low == exactly(-1.6035678310172374)
        assert found.high == exactly(4.770234497683904)
        assert found.by_seed == {1: 0.5, 2: 1.25, 3: 3.0}
        assert not found.separated

    def test_only_common_seeds_are_paired_and_one_has_no_interval(self) -> None:
        found = compare_seeds({1: 1.0, 2: 5.0}, {1: 0.5, 3: 0.0})
        assert (found.mean, found.n, found.low, found.separated) == (0.5, 1, None, True)
        assert compare_seeds({1: 1.0}, {2: 1.0}).mean is None

    def test_separated_means_every_value_of_one_is_below_every_value_of_the_other(self) -> None:
        assert is_separated([1, 2], [3, 4])
        assert is_separated([3, 4], [1, 2])
        assert not is_separated([1, 3], [2, 4])
        assert not is_separated([1, 2], [2, 3])
        assert not is_separated([], [1])

    @pytest.mark.parametrize(
        ("freedom", "quantile"),
        [
            (1, 12.706204736174694),
            (2, 4.302652729749462),
            (3, 3.1824463052837078),
            (4, 2.7764451051977934),
            (5, 2.5705818356363146),
            (10, 2.228138851986274),
            (30, 2.0422724563012378),
            (999, 1.9623414611334493),
        ],
    )
    def test_students_t_is_scipys(self, freedom: int, quantile: float) -> None:
        assert t_quantile(freedom) == exactly(quantile)

    def test_another_share_and_no_freedom(self) -> None:
        assert t_quantile(7, 0.99) == exactly(3.4994832973504924)
        with pytest.raises(RubricError, match="0 degrees of freedom; an interval over seeds needs at least two seeds"):
            t_quantile(0)


class TestSeedsAndItems:
    def test_the_variance_is_split_into_seeds_items_and_the_rest(self) -> None:
        # Row means 2 and 4, column means 2, 3, 4; what is left over is ±0.5 in two columns.
        found = split_variance(np.array([[1.5, 1.5, 3.0], [2.5, 4.5, 5.0]]))
        assert found.mean == 3.0
        assert found.rest == exactly(0.5)
        assert found.seed == exactly(2 - 0.5 / 3)
        assert found.item == exactly(1 - 0.5 / 2)
        assert found.se == exactly(math.sqrt((2 - 0.5 / 3) / 2 + 0.75 / 3 + 0.5 / 6))

    def test_a_bootstrap_over_both_is_wider_than_one_over_items(self) -> None:
        values = np.random.default_rng(3).normal(size=(1, 60)) + np.array([[0.0], [1.0], [2.0], [3.0]])
        both = resample_seeds_and_items(values, 2000)
        items = resample_means({"mean": dict(enumerate(values.mean(axis=0)))}, resamples=2000)["mean"]
        assert both.mean == exactly(float(values.mean()))
        assert None not in (*both, *items)
        assert both.high - both.low > 2 * (items.high - items.low)  # type: ignore[operator]

    def test_an_unknown_value_or_a_single_seed_is_refused(self) -> None:
        for values in (np.array([[1.0, 2.0]]), np.array([[1.0, np.nan], [1.0, 2.0]])):
            with pytest.raises(RubricError, match="give seeds × items, at least two of each, with every value known"):
                split_variance(values)


class TestDraws:
    def test_an_item_counts_once_and_the_variance_has_two_parts(self) -> None:
        found = estimate_draws({"a": [0.0, 1.0], "b": [1.0, 1.0], "c": [0.0, 0.0], "d": []})
        assert (found.mean, found.n, found.empty) == (0.5, 3, 1)
        assert found.se == exactly(0.5 / math.sqrt(3))
        assert found.within == exactly((0.5 / 2 + 0 + 0) / 3 / 3)
        assert found.between == exactly(0.25 / 3 - 0.25 / 9)


class TestTests:
    @pytest.mark.parametrize(("b", "c", "p"), [(139, 152, 0.4818378509760429), (3, 9, 0.14599609375), (5, 5, 1.0)])
    def test_mcnemar_is_statsmodels(self, b: int, c: int, p: float) -> None:
        first = {item: item < b for item in range(b + c + 10)}
        second = {item: b <= item < b + c for item in range(b + c + 10)}
        found = compare_accuracy(first, second)
        assert (found.first_only, found.second_only, found.n) == (b, c, b + c + 10)
        assert found.p == exactly(p)
        assert found.se == exactly(paired_difference(first, second).se * math.sqrt((found.n - 1) / found.n))  # type: ignore[operator]

    def test_sign_flips_are_exact_for_few_items_and_drawn_for_many(self) -> None:
        assert flip_signs([0.5, -0.25, 1.0, 0.75, -0.1, 0.3]) == 0.15625  # scipy's permutation test
        assert flip_signs([0.0, 1.0, 1.0]) == 0.5
        assert flip_signs([]) == 1.0
        assert flip_signs([0.1] * 10 + [0.1] * 10) == 2 / 2**20
        many = [0.5] * 30 + [-0.5] * 18
        exact = 2 * sum(math.comb(48, k) for k in range(19)) / 2**48
        assert flip_signs(many) == pytest.approx(exact, abs=0.01)

    @pytest.mark.parametrize(
        ("successes", "n", "interval"),
        [
            (0, 10, (0.0, 0.27753279986288926)),
            (7, 10, (0.39677814746114537, 0.8922087325936989)),
            (1069, 1273, (0.8185792657397343, 0.8588736741099195)),
        ],
    )
    def test_wilson_is_statsmodels(self, successes: int, n: int, interval: tuple[float, float]) -> None:
        assert wilson_interval(successes, n) == (exactly(interval[0]), exactly(interval[1]))

    def test_a_share_of_nothing_is_refused(self) -> None:
        with pytest.raises(RubricError, match="0 of 0 is not a share"):
            wilson_interval(0, 0)

    def test_holm_is_statsmodels(self) -> None:
        found = adjust_holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005, "e": 0.2})
        assert list(found) == ["a", "b", "c", "d", "e"]
        assert list(found.values()) == [exactly(p) for p in (0.04, 0.09, 0.09, 0.025, 0.2)]


class TestPower:
    def test_pairs_of_healthbench_hard_detect_what_was_measured(self) -> None:
        assert detectable_difference(0.33, 200) == pytest.approx(0.066, abs=0.001)
        assert detectable_difference(0.33, 1000) == pytest.approx(0.030, abs=0.001)
        assert needed_items(0.33, 0.03) == 950
        values = [0.0, 0.5, 1.0, 0.25]
        found = estimate_mean(values)
        assert found.sd is not None
        assert found.detectable == exactly(detectable_difference(found.sd, 4))


class TestRanks:
    def test_spearman_with_ties_is_scipys(self) -> None:
        rho = rank_correlation([33.7, 14.4, 21.6, 22.4, 20.1, 20.3], [1, 2, 2, 3, 1, 5])
        assert rho == exactly(-0.058848988633649964)

    def test_the_paper_s_two_judges_rank_its_eleven_policies_alike(self) -> None:
        second = load_paper()["gpt_crosscheck_c"]
        rho = rank_correlation(
            [load_paper()["medical_ablations_4b_full"][name]["c_pro"] for name in second], [*second.values()]
        )
        assert rho == pytest.approx(0.900, abs=5e-4)

    def test_two_pairs_and_a_constant_side_have_none(self) -> None:
        assert rank_correlation([1, 2], [1, 2]) is None
        assert rank_correlation([1, 1, 1], [1, 2, 3]) is None

    def test_unknown_values_are_refused(self) -> None:
        with pytest.raises(RubricError, match="without unknown values; leave those pairs out"):
            rank_correlation([1, 2, math.nan], [1, 2, 3])

    def test_two_judges_rank_policies_on_the_items_that_both_scored(self) -> None:
        items = range(30)
        first = {name: {item: level + item % 3 for item in items} for level, name in enumerate("abcd")}
        second = {name: dict.fromkeys(items, 10.0 * level) for level, name in enumerate("abdc")}
        assert compare_rankings(first, second, 200) == MeanInterval(exactly(0.8), exactly(0.8), exactly(0.8))  # type: ignore[arg-type]
        assert compare_rankings({"a": first["a"]}, second) == MeanInterval()

    def test_policies_that_are_close_give_a_wide_interval(self) -> None:
        draws = np.random.default_rng(0).normal(size=(2, 4, 40))
        first, second = ({str(arm): dict(enumerate(row)) for arm, row in enumerate(judge)} for judge in draws)
        found = compare_rankings(first, second, 400)
        assert None not in found
        assert found.high - found.low > 0.9  # type: ignore[operator]


class TestRepeats:
    def test_it_counts_what_changed(self) -> None:
        found = compare_repeats(
            {"a": True, "b": True, "c": False, "d": None}, {"a": True, "b": False, "c": True, "d": True}
        )
        assert (found.items, found.flipped, found.difference.mean, found.difference.unknown) == (3, 2 / 3, 0.0, 1)


class TestRatio:
    def test_the_error_is_by_question(self) -> None:
        # p = 4/6, Σ(x - p·w)² = (4/3)² + (4/3)².
        assert estimate_ratio([4, 0], [4, 2]) == (exactly(2 / 3), exactly(math.sqrt(2 * 2 * 16 / 9) / 6))
        assert estimate_ratio([1], [2]) == (0.5, None)
        assert estimate_ratio([], []) == (None, None)


class TestResampleMeans:
    def test_the_order_of_rows_changes_nothing(self) -> None:
        values = {item: item * 0.1 for item in range(15)}
        backwards = dict(reversed(values.items()))
        assert resample_means({"a": values}, resamples=50) == resample_means({"a": backwards}, resamples=50)

    def test_columns_share_their_draws_and_their_items(self) -> None:
        first = {item: float(item % 5) for item in range(20)}
        found = resample_means({"a": first, "a+1": {item: 1 + value for item, value in first.items()}, "b": {3: None}})
        assert found["a"] == MeanInterval()
        found = resample_means({"a": first, "a+1": {item: 1 + value for item, value in first.items()}}, resamples=300)
        assert found["a+1"] == MeanInterval(*(exactly(1 + end) for end in found["a"]))  # type: ignore[arg-type,operator]

    def test_clusters_are_drawn_whole(self) -> None:
        values = {item: float(item // 10) for item in range(40)}
        alone, together = (
            resample_means({"a": values}, clusters, 1000)["a"]
            for clusters in (None, {item: item // 10 for item in values})
        )
        assert together.high - together.low > 2 * (alone.high - alone.low)  # type: ignore[operator]
