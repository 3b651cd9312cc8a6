"""Comparisons against hand calculations, the paper's printed seeds, and what must hold for any rows."""

import math
import random
from collections.abc import Iterable, Mapping
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prorubric.errors import ConfigError, RubricError
from prorubric.evaluate.compare import AVERAGED, Comparisons, compare_scores
from prorubric.evaluate.judges import CriterionVerdict, LabelledVerdict, compare_labels, count_disagreements
from prorubric.evaluate.pairwise import compare_games
from prorubric.evaluate.records import Game, ItemScore, Policy
from prorubric.evaluate.scores import arena_score
from prorubric.evaluate.sides import Sides
from prorubric.evaluate.statistics import adjust_holm, flip_columns, flip_signs, wilson_interval
from tests.thorough import few_or

from .test_statistics import PRORUBRIC, RUBRIC_RL

A, B, C = (Policy(name=name, spec="answers.jsonl") for name in "abc")


def exactly(value: float) -> object:
    return pytest.approx(value, rel=1e-12, abs=1e-12)


def score(
    policy: str,
    item: str,
    value: float | None,
    *,
    benchmark: str = "researchqa",
    judge: str = "judge",
    low: float = 0.0,
    high: float = 1.0,
    **fields: object,
) -> ItemScore:
    ends = {"low": low, "high": high} if value is None else {"low": value, "high": value}
    return ItemScore.model_validate(
        {"benchmark": benchmark, "judge": judge, "policy": policy, "item": item, "value": value, **ends, **fields}
    )


def rows(values: Mapping[str, Iterable[float | None]], **fields: object) -> list[ItemScore]:
    """By policy, the values of items 0, 1 …"""
    return [
        score(policy, str(item), value, **fields)  # type: ignore[arg-type]
        for policy, own in values.items()
        for item, value in enumerate(own)
    ]


def compare(scores: Iterable[ItemScore], *policies: Policy, **options: object) -> Comparisons:
    return compare_scores(scores, policies, **{"resamples": 200, **options})  # type: ignore[arg-type]


class TestTable:
    def test_only_items_with_a_value_of_every_policy_count_and_the_others_are_counted(self) -> None:
        scores = [
            *rows({"a": [0.5, 0.75, None, 1.0], "b": [0.25, None, 0.5, 0.5, 0.0]}),
            score("b", "9", None, low=0.25, high=0.5, unknown={"unreadable": 2, "refused": 1}, characters=900),
        ]
        [table] = compare(scores, A, B).tables
        assert (table.pool, table.answered, table.common) == (6, 4, 2)
        a, b = table.arms
        assert (a.mean, a.n, a.answered, a.judged, a.lost) == (75.0, 2, 4, 3, 1)
        assert (b.mean, b.n, b.answered, b.judged, b.lost) == (37.5, 2, 6, 4, 2)
        assert b.lost_by == {"refused": 1, "unreadable": 1}
        assert (b.characters_lost, b.characters_kept) == (450.0, 0.0)

    def test_what_the_policy_failed_at_is_scored_and_counted_on_its_own(self) -> None:
        scores = rows({"a": [1.0, 0.0]}, failure="no letter") + rows({"b": [1.0, 1.0]})
        [table] = compare(scores, A, B).tables
        assert [arm.failures for arm in table.arms] == [{"no letter": 2}, {}]
        assert table.common == 2

    def test_healthbench_is_clipped_at_the_end_and_never_before_it_is_subtracted(self) -> None:
        scores = rows({"a": [-0.25, 0.0], "b": [-0.5, -0.25]}, benchmark="healthbench-hard")
        [table] = compare(scores, A, B).tables
        assert [(arm.mean, arm.headline) for arm in table.arms] == [(-12.5, 0.0), (-37.5, 0.0)]
        [difference] = table.differences
        assert (difference.first, difference.second, difference.mean) == ("b", "a", -25.0)
        [other] = compare(rows({"a": [-0.25], "b": [-0.5]}), A, B).tables
        assert other.arms[0].headline == -25.0

    def test_right_or_wrong_gets_wilson_and_mcnemar(self) -> None:
        scores = rows({"a": [1, 1, 1, 0, 0, 1, 0, 1], "b": [0, 0, 1, 0, 1, 0, 0, 0]}, benchmark="medqa", judge="")
        [table] = compare(scores, A, B, compare=[("a", "b")]).tables
        low, high = wilson_interval(5, 8)
        assert (table.arms[0].interval_by, table.arms[0].low, table.arms[0].high) == (
            "Wilson",
            exactly(100 * low),
            exactly(100 * high),
        )
        [difference] = table.differences
        assert (difference.test, difference.p) == ("McNemar", 0.375)  # 4 against 1: 2 · (1 + 5) / 32

    def test_graded_scores_get_sign_flips_and_a_cluster_flips_as_one(self) -> None:
        values = {"a": [0.5, 0.75, 0.25, 1.0, 0.5, 0.25], "b": [0.25, 0.5, 0.5, 0.5, 0.25, 0.0]}
        gaps = [25, 25, -25, 50, 25, 25]
        [alone] = compare(rows(values), A, B, compare=[("a", "b")]).tables[0].differences
        assert (alone.test, alone.p) == ("sign flips", exactly(flip_signs(gaps)))
        clustered = [row.model_copy(update={"cluster": f"prompt {int(row.item) // 2}"}) for row in rows(values)]
        [together] = compare(clustered, A, B, compare=[("a", "b")]).tables[0].differences
        assert (together.p, together.clusters, together.n) == (0.25, 3, 6)  # 50, 25, 50: all or none
        sums = [50 - 2 * 125 / 6, 25 - 2 * 125 / 6, 50 - 2 * 125 / 6]
        assert together.se == exactly(math.sqrt(3 / 2 * sum(one**2 for one in sums)) / 6)

    def test_several_samples_are_averaged_by_item_and_the_variance_has_two_parts(self) -> None:
        draws = {"0": [1.0, 0.0], "1": [1.0, 1.0], "2": [0.0, 0.0]}
        scores = [
            score("a", item, value, sample=number) for item, own in draws.items() for number, value in enumerate(own)
        ]
        [arm] = compare(scores, A).tables[0].arms
        assert (arm.mean, arm.n, arm.samples) == (50.0, 3, 2)
        assert arm.within == exactly(5000 / 2 / 3 / 3)
        assert arm.between == exactly(2500 / 3 - 5000 / 2 / 3 / 3)
        [open_one] = compare([*scores, score("a", "2", None, sample=2)], A).tables[0].arms
        assert (open_one.n, open_one.lost) == (2, 1)

    def test_a_ratio_has_the_score_and_the_error_of_arena_hard(self) -> None:
        labels = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
        worth = {"A>>B": (1.0, 3), "A>B": (1.0, 1), "A=B": (0.5, 1), "B>A": (0.0, 1), "B>>A": (0.0, 3)}
        games = [(str(number), *pair) for number, pair in enumerate(product(labels, repeat=2))]
        scores = []
        for question, first, second in games:
            (baseline, weight), (own, other) = worth[first], worth[second]
            value = ((1 - baseline) * weight + own * other) / (weight + other)
            for policy in "ab":
                scores.append(score(policy, question, value, benchmark="arena-hard-v2", weight=float(weight + other)))
        official = arena_score(games)
        [table] = compare(scores, A, B).tables
        assert table.is_weighted
        assert (table.arms[0].mean, table.arms[0].se) == (
            exactly(official.score or 0),
            exactly(official.se_question or 0),
        )
        assert (table.differences[0].mean, table.differences[0].bounds) == (0.0, (exactly(0), exactly(0)))

    def test_a_question_that_was_not_read_could_have_counted_six_times(self) -> None:
        known = [score("a", "1", 0.5, benchmark="arena-hard-v2", weight=2.0), score("b", "1", 0.5, weight=2.0)]
        unread = [score("a", "2", None), score("b", "2", 0.5, weight=2.0)]
        scores = [row.model_copy(update={"benchmark": "arena-hard-v2"}) for row in (*known, *unread)]
        [row] = compare(scores, A, B, compare=[("a", "b")]).tables[0].differences
        assert (row.mean, row.bounds) == (0.0, (exactly(100 / 8 - 50), exactly(100 * 7 / 8 - 50)))

    def test_unknown_verdicts_that_could_turn_a_difference_mark_it(self) -> None:
        settled = compare(rows({"a": [0.75, 0.75], "b": [0.25, 0.5]}), A, B, compare=[("a", "b")]).tables[0]
        assert (settled.differences[0].bounds, settled.differences[0].could_flip) == ((37.5, 37.5), False)
        opened = (
            compare(rows({"a": [0.75, 0.75, None], "b": [0.25, 0.5, 1.0]}), A, B, compare=[("a", "b")])
            .tables[0]
            .differences[0]
        )
        assert (opened.mean, opened.n) == (37.5, 2)
        assert opened.bounds == (exactly(-25 / 3), exactly(25))
        assert opened.could_flip

    def test_pairs_can_be_compared_on_the_items_that_both_have(self) -> None:
        scores = rows({"a": [1.0, 0.5, 0.25], "b": [0.5, 0.5, 0.5], "c": [None, 0.5, 0.5]})
        asked = [("a", "b"), ("a", "c")]
        whole, pair = (
            compare(scores, A, B, C, compare=asked, pairing=pairing).tables[0].differences
            for pairing in ("table", "pair")
        )
        assert [(row.mean, row.n) for row in whole] == [(-12.5, 2), (-12.5, 2)]
        assert [(row.mean, row.n) for row in pair] == [(exactly(25 / 3), 3), (-12.5, 2)]

    def test_a_policy_without_rows_is_named_and_an_empty_common_set_has_no_numbers(self) -> None:
        [table] = compare(rows({"a": [0.5], "b": [0.5]}), A, B, C).tables
        assert (table.absent, table.common, [row.second for row in table.differences]) == (("c",), 1, ["a"])
        [empty] = compare([score("a", "1", 0.5), score("b", "2", 0.5)], A, B).tables
        assert (empty.pool, empty.answered, empty.common) == (2, 0, 0)
        assert [arm.mean for arm in empty.arms] == [None, None]
        [difference] = empty.differences
        assert (difference.mean, difference.p, difference.p_holm, difference.bounds) == (None, None, None, None)

    def test_holm_counts_the_declared_family(self) -> None:
        draws = random.Random(1)
        scores = [
            row
            for benchmark in ("researchqa", "writingbench")
            for row in rows({name: [draws.random() for _ in range(8)] for name in "abc"}, benchmark=benchmark)
        ]
        by_table, by_judge = (compare(scores, A, B, C, family=family).tables for family in ("table", "judge"))
        for table in by_table:
            p = {number: row.p or 0 for number, row in enumerate(table.differences)}
            assert [row.p_holm for row in table.differences] == [*adjust_holm(p).values()]
        every = {
            (number, place): row.p or 0
            for number, table in enumerate(by_judge)
            for place, row in enumerate(table.differences)
        }
        assert [row.p_holm for table in by_judge for row in table.differences] == [*adjust_holm(every).values()]

    def test_a_simultaneous_interval_is_as_wide_as_the_largest_of_all_resampled_differences(self) -> None:
        draws = random.Random(0)
        values = {name: [draws.gauss(0.5, 0.2) for _ in range(60)] for name in "abcd"}
        policies = (A, B, C, Policy(name="d", spec="x"))
        [table] = compare(rows(values), *policies, resamples=4000).tables
        assert len(table.differences) == 6
        for row in table.differences:
            assert row.simultaneous is not None
            assert row.low is not None
            assert row.mean is not None
            assert row.se is not None
            # Tukey's range for four means and 59 degrees of freedom is 3.74 / √2 = 2.64 standard errors.
            assert (row.mean - row.simultaneous[0]) / row.se == pytest.approx(2.64, abs=0.15)
            assert row.bootstrap == (pytest.approx(row.low, abs=0.8), pytest.approx(row.high, abs=0.8))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"compare": [("a", "z")]}, "there is no policy 'z' to compare; there are a, b"),
            ({"baseline": "z"}, "there is no policy 'z' to compare; there are a, b"),
            ({"compare": [("a", "a")]}, "'a' cannot be compared with itself"),
        ],
    )
    def test_names_that_do_not_exist_are_refused(self, options: dict[str, object], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            compare([], A, B, **options)

    def test_rows_that_contradict_each_other_are_refused(self) -> None:
        with pytest.raises(RubricError, match="two scores for sample 0"):
            compare([*rows({"a": [0.5]}), *rows({"a": [0.75]})], A)
        with pytest.raises(RubricError, match="a score of 'z', which is not among the policies"):
            compare(rows({"z": [0.5]}), A)
        with pytest.raises(ConfigError, match="2 policies are called 'a'"):
            compare([], A, A)
        with pytest.raises(ConfigError, match=r"the policies of 'm' have the seeds \[1, 1\]"):
            compare([], *(Policy(name=name, spec="x", group="m", seed=1) for name in "ab"))

    def test_flips_of_several_columns_are_those_of_each(self) -> None:
        columns = np.array([[0.5, 0.0], [-0.25, 1.0], [1.0, 1.0], [0.75, 0.0], [-0.1, 0.0], [0.3, 0.0]])
        assert flip_columns(columns).tolist() == [0.15625, 0.5]


def name_seeds(method: str, seeds: Iterable[int]) -> list[Policy]:
    return [Policy(name=f"{method}-{seed}", spec="x", group=method, seed=seed) for seed in seeds]


class TestSeeds:
    def test_the_paper_s_average_difference_follows_from_its_printed_seeds(self) -> None:
        scores = [
            score(f"{method}-{seed}", str(item), value / 100 + spread, benchmark=benchmark, judge=judge)
            for method, printed in (("rubric-rl", RUBRIC_RL), ("prorubric", PRORUBRIC))
            for seed, values in printed.items()
            for benchmark, value in zip(AVERAGED, values, strict=True)
            for judge in [("" if benchmark in ("medqa", "gpqa-diamond") else "judge")]
            for item, spread in enumerate((-0.05, 0.05))
        ]
        policies = [*name_seeds("rubric-rl", RUBRIC_RL), *name_seeds("prorubric", PRORUBRIC)]
        found = compare(scores, *policies)
        assert [table.benchmark for table in found.tables] == [*AVERAGED]
        [average] = found.averages
        assert (average.judge, average.benchmarks) == ("judge", AVERAGED)
        assert [round(side.mean or 0, 1) for side in average.sides] == [45.6, 46.9]
        [difference] = average.differences
        over = difference.over_seeds
        assert over is not None
        assert over.sd is not None
        assert over.low is not None
        assert over.high is not None
        assert (round(difference.mean, 3), round(over.sd, 3)) == (1.319, 0.465)
        assert (round(over.low, 2), round(over.high, 2), over.n) == (0.16, 2.47, 3)

    def test_a_method_is_compared_seed_by_seed_and_over_seeds_and_items(self) -> None:
        values = {"m-1": [0.5, 0.75, 1.0], "m-2": [0.25, 0.5, 1.0], "n-1": [0.25, 0.5, 0.5], "n-2": [0.0, 0.5, 0.75]}
        found = compare(rows(values), *name_seeds("m", (1, 2)), *name_seeds("n", (2, 1)), compare=[("m", "n")])
        [table] = found.tables
        assert [(side.name, side.mean, side.by_seed) for side in table.sides] == [
            ("m", exactly(200 / 3), {"1": 75.0, "2": exactly(175 / 3)}),
            ("n", exactly(125 / 3), {"2": exactly(125 / 3), "1": exactly(125 / 3)}),
        ]
        [row] = table.differences
        assert (row.mean, row.seeds, row.n) == (exactly(25), 2, 3)
        assert row.over_seeds is not None
        assert row.over_both is not None
        assert row.over_seeds.by_seed == {1: exactly(100 / 3), 2: exactly(50 / 3)}
        assert row.over_both.mean == exactly(25)

    def test_a_single_policy_without_a_seed_goes_with_every_seed(self) -> None:
        values = {"a": [0.25, 0.5], "m-1": [0.5, 0.5], "m-2": [1.0, 0.5]}
        [row] = compare(rows(values), A, *name_seeds("m", (1, 2)), baseline="a").tables[0].differences
        assert (row.first, row.second, row.mean, row.seeds) == ("m", "a", 25.0, 2)
        assert row.over_seeds is not None
        assert row.over_seeds.by_seed == {1: 12.5, 2: 37.5}

    def test_methods_without_a_common_seed_have_no_interval_over_seeds(self) -> None:
        values = {"m-1": [0.5, 0.5], "m-2": [1.0, 0.5], "n-3": [0.0, 0.5], "n-4": [0.5, 0.5]}
        [row] = compare(rows(values), *name_seeds("m", (1, 2)), *name_seeds("n", (3, 4))).tables[0].differences
        assert (row.mean, row.seeds, row.over_seeds, row.over_both) == (-25.0, 0, None, None)

    def test_many_methods_are_compared_with_the_first(self) -> None:
        names = "abcdef"
        found = compare(rows({name: [0.5] for name in names}), *(Policy(name=name, spec="x") for name in names))
        assert [(row.first, row.second) for row in found.tables[0].differences] == [(name, "a") for name in "bcdef"]


VALUES = st.lists(st.none() | st.floats(-1, 1), min_size=1, max_size=6)


class TestAnyRows:
    @settings(max_examples=few_or(50), deadline=None)
    @given(st.fixed_dictionaries({"a": VALUES, "b": VALUES, "c": VALUES}))
    def test_another_policy_never_adds_an_item(self, values: dict[str, list[float | None]]) -> None:
        scores = rows(values)
        [two] = compare([row for row in scores if row.policy != "c"], A, B, resamples=10).tables
        [three] = compare(scores, A, B, C, resamples=10).tables
        assert three.common <= two.common

    @settings(max_examples=few_or(50), deadline=None)
    @given(st.fixed_dictionaries({"a": VALUES, "b": VALUES}))
    def test_swapping_the_sides_flips_the_signs(self, values: dict[str, list[float | None]]) -> None:
        one, other = compare(rows(values), A, B, compare=[("a", "b"), ("b", "a")], resamples=50).tables[0].differences
        if one.mean is not None and other.mean is not None:
            assert (one.mean, one.se, one.p, one.could_flip) == (-other.mean, other.se, other.p, other.could_flip)
        for ours, theirs in ((one.bounds, other.bounds), (one.bootstrap, other.bootstrap)):
            assert (ours is None) == (theirs is None)
            if ours is not None and theirs is not None:
                assert ours == pytest.approx((-theirs[1], -theirs[0]), abs=1e-9)

    @settings(max_examples=few_or(50), deadline=None)
    @given(st.fixed_dictionaries({"a": VALUES, "b": VALUES}), st.randoms(use_true_random=False))
    def test_the_order_of_rows_changes_nothing(
        self, values: dict[str, list[float | None]], shuffle: random.Random
    ) -> None:
        scores = rows(values) + rows(values, judge="other")
        shuffled = [*scores]
        shuffle.shuffle(shuffled)
        assert compare(shuffled, A, B, resamples=20) == compare(scores, A, B, resamples=20)

    @settings(max_examples=few_or(50), deadline=None)
    @given(st.fixed_dictionaries({"a": VALUES, "b": VALUES}), st.randoms(use_true_random=False))
    def test_bounds_hold_every_completion_of_the_unknowns(
        self, values: dict[str, list[float | None]], draws: random.Random
    ) -> None:
        n = min(map(len, values.values()))
        same = {name: own[:n] for name, own in values.items()}
        [row] = compare(rows(same, low=-1.0, high=1.0), A, B, resamples=10).tables[0].differences
        filled = {name: [draws.uniform(-1, 1) if v is None else v for v in own] for name, own in same.items()}
        [full] = compare(rows(filled), A, B, resamples=10).tables[0].differences
        assert row.bounds is not None
        assert full.mean is not None
        assert row.bounds[0] - 1e-9 <= full.mean <= row.bounds[1] + 1e-9


def game(first: str, second: str, item: str, *labels: str | None, judge: str = "judge") -> Game:
    return Game(benchmark="pairs-medical", judge=judge, item=item, first=first, second=second, labels=labels)  # type: ignore[arg-type]


class TestPairs:
    def test_wins_are_those_of_the_policy_named_later_whoever_is_shown_first(self) -> None:
        games = [
            game("a", "b", "1", "B>A", "A>B"),
            game("b", "a", "2", "A>>B", "B>A"),
            game("a", "b", "3", "A>B", "A>B"),
        ]
        [found] = compare_games([*games, game("a", "b", "4", None, "A>B")], Sides.of([A, B]))
        assert (found.policy, found.other, found.over) == ("b", "a", "pairs")
        assert (found.wins, found.ties, found.inconsistent, found.losses, found.n, found.unread) == (2, 0, 1, 0, 3, 1)
        assert (found.win_rate, (found.low, found.high)) == (1.0, wilson_interval(2, 2))

    def test_the_rate_of_a_method_is_the_mean_of_its_seeds_and_not_the_pooled_one(self) -> None:
        won, lost = ("B>A", "A>B"), ("A>B", "B>A")
        games = [game("a", "m-1", str(item), *won) for item in range(3)]
        games += [game("a", "m-1", "3", *lost), game("a", "m-2", "0", *won)]
        [found] = compare_games(games, Sides.of([A, *name_seeds("m", (1, 2))]))
        assert (found.policy, found.wins, found.losses, [*found.by_seed]) == ("m", 4, 1, ["1", "2"])
        assert (found.win_rate, found.over) == (0.875, "seeds")

    def test_a_baseline_that_is_not_a_policy_can_be_played_against(self) -> None:
        [found] = compare_games([game("o3-mini", "a", "1", "B>A", "A>B")], Sides.of([A]))
        assert (found.policy, found.other, found.wins) == ("a", "o3-mini", 1)


class TestJudges:
    def test_a_judge_is_compared_with_each_physician_by_criterion_and_theme(self) -> None:
        made = [
            LabelledVerdict("j", "1", "seek", "context", "c1", True, (True, True)),
            LabelledVerdict("j", "2", "seek", "context", "c2", False, (False, True)),
            LabelledVerdict("j", "3", "seek", "context", "c3", None, (False, False)),
            LabelledVerdict("j", "4", "refer", "emergency", "c1", True, (True, False)),
        ]
        [found] = compare_labels(made, resamples=100)
        assert (found.rows, found.unknown, found.pairs) == (4, 1, 6)
        f1 = (4 / 5 + 2 / 3) / 2  # two true hits and one false hit, and one true label that was missed
        assert found.criteria.by_criterion == {"refer": None, "seek": exactly(f1)}
        assert (found.criteria.mean, found.criteria.one_sided) == (exactly(f1), ("refer",))
        assert found.criteria.mean_of_all == exactly((f1 + (2 / 3 + 0) / 2) / 2)
        assert [(row.theme, row.criteria, row.judge) for row in found.themes] == [
            ("context", 1, exactly(f1)),
            ("emergency", 1, None),
        ]
        assert found.physicians.by_criterion["seek"] == exactly((2 * 2 / 6 + 2 * 2 / 6) / 2)
        assert found.low is not None
        assert found.high is not None
        assert found.low <= f1 <= found.high

    def test_disagreement_counts_positive_criteria_that_both_judged(self) -> None:
        def said(judge: str, policy: str, criterion: str, met: bool | None, weight: float = 5.0) -> CriterionVerdict:
            return CriterionVerdict("healthbench", judge, policy, "i", 0, criterion, weight, met)

        verdicts = [
            *(said("one", "m-1", name, met) for name, met in (("1", True), ("2", True), ("3", False), ("4", None))),
            *(said("two", "m-1", name, met) for name, met in (("1", False), ("2", True), ("3", True), ("4", True))),
            said("one", "m-1", "5", True, -5.0),
            said("two", "m-1", "5", False, -5.0),
            said("one", "m-2", "1", True),
            said("two", "m-2", "1", False),
            said("one", "m-2", "9", True),
        ]
        [found] = count_disagreements(verdicts, Sides.of(name_seeds("m", (1, 2))))
        assert (found.method, found.criteria, found.only_first, found.only_second, found.unknown) == ("m", 4, 2, 1, 1)

    def test_judges_are_compared_by_rank_repeats_by_item_and_a_probe_by_criterion(self) -> None:
        values = {"a": [0.1, 0.2, 0.3], "b": [0.4, 0.5, 0.6], "c": [0.7, 0.8, 0.9]}
        scores = rows(values) + rows(
            {name: [1 - value for value in own] for name, own in values.items()}, judge="other"
        )
        verdicts = [
            CriterionVerdict("probe-medical", "judge", policy, item, 0, "needless", 1.0, met)
            for policy, met in (("a", True), ("b", False))
            for item in "12"
        ]
        verdicts.append(CriterionVerdict("probe-medical", "judge", "b", "3", 0, "needless", 1.0, None))
        again = rows({"a": [0.1, 0.2, 0.35]})
        found = compare(scores, A, B, C, verdicts=verdicts, repeats=again)
        [rank] = found.ranks
        assert (rank.first, rank.second, rank.policies, rank.items) == ("judge", "other", 3, 3)
        assert (rank.rho, rank.low, rank.high) == (exactly(-1), exactly(-1), exactly(-1))
        assert Comparisons.model_validate_json(found.model_dump_json()) == found
        [repeat] = found.repeats
        assert (repeat.repeated.items, repeat.repeated.flipped) == (3, exactly(1 / 3))
        assert repeat.repeated.difference.mean == exactly(-5 / 3)
        [rate] = found.probe
        assert (rate.criterion, rate.n, rate.unknown) == ("needless", 2, {"b": 1})
        assert [(side.name, side.mean) for side in rate.sides] == [("a", 100.0), ("b", 0.0)]


@pytest.mark.parametrize(("worst", "turned"), [(0.0, True), (0.9, False)])
def test_unknown_verdicts_that_could_turn_an_average_are_marked(worst: float, turned: bool) -> None:
    scores = []
    for benchmark in ("medqa", "healthbench"):
        for item in ("a", "b", "c"):
            scores.append(
                ItemScore(benchmark=benchmark, judge="", policy="new", item=item, value=1.0, low=1.0, high=1.0)
            )
            scores.append(
                ItemScore(benchmark=benchmark, judge="", policy="old", item=item, value=0.7, low=0.7, high=0.7)
            )
    scores[-2] = scores[-2].model_copy(update={"value": None, "low": worst - 1, "high": 1.0})
    found = compare_scores(scores, [Policy("old", "x"), Policy("new", "x")], resamples=50)
    [average] = found.averages
    [difference] = average.differences
    assert difference.mean == pytest.approx(30.0)
    assert difference.bounds == pytest.approx(((30 + (60 + 100 * (worst - 1) - 70) / 3) / 2, 30.0))
    assert difference.could_flip is turned
