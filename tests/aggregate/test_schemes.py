"""Every scheme against exact arithmetic, and the properties that a reward must have."""

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from prorubric import (
    SCHEMES,
    Criterion,
    Message,
    NotApplicable,
    ProtocolRubric,
    Rubric,
    Score,
    Task,
    Unknown,
    score,
)
from prorubric.aggregate.plan import ScoringPlan, make_scoring_plan
from prorubric.aggregate.schemes import BASE_SCHEMES, find_scheme
from prorubric.errors import SchemeError
from prorubric.rubric.verdict import Verdict
from tests.strategies import tasks, weights

scheme_names = st.sampled_from(SCHEMES)


def make_task(
    weights: Sequence[float], groups: Sequence[Sequence[int]] | None = None, labels: Sequence[str] = ()
) -> Task:
    named = [*labels, *["normal"] * (len(weights) - len(labels))]
    rubric = Rubric(
        criteria=tuple(
            Criterion(text=f"criterion {i}", weight=weight, tags=(f"label:{named[i]}",))
            for i, weight in enumerate(weights)
        )
    )
    parts = [
        {"name": f"dimension {k}", "description": "holds", "indices": group} for k, group in enumerate(groups or [])
    ]
    return Task(
        id="t",
        messages=(Message(role="user", content="?"),),
        rubric=rubric,
        protocol=ProtocolRubric.of(rubric, parts) if groups else None,
    )


@st.composite
def verdicts_for(
    draw: st.DrawFn, plan: ScoringPlan, unknowns: bool = False, not_applicable: bool = False
) -> list[Verdict]:
    """One verdict for each item of a plan, in its range."""
    drawn: list[Verdict] = []
    for low, high in plan.ranges:
        if unknowns and draw(st.integers(0, 3)) == 0:
            drawn.append(Unknown("not asked"))
        elif not_applicable and draw(st.integers(0, 2)) == 0:
            drawn.append(NotApplicable("not about this"))
        elif high == 1:
            drawn.append(draw(st.booleans()))
        else:
            drawn.append(draw(st.sampled_from([low, low + (high - low) / 3, (low + high) / 2, high])))
    return drawn


@st.composite
def scored_tasks(
    draw: st.DrawFn, unknowns: bool = False, not_applicable: bool = False
) -> tuple[Task, str, ScoringPlan, list[Verdict]]:
    task, name = draw(tasks()), draw(scheme_names)
    plan = make_scoring_plan(task, name)
    return task, name, plan, draw(verdicts_for(plan, unknowns, not_applicable))


def exact(plan: ScoringPlan, verdicts: Sequence[Verdict]) -> Fraction | None:
    """The same reward in exact arithmetic, written from the paper's formulas and not from the code."""
    values = [
        None
        if isinstance(verdict, NotApplicable)
        else (Fraction(float(verdict)) - Fraction(low)) / (Fraction(high) - Fraction(low))
        for verdict, (low, high) in zip(verdicts, plan.ranges, strict=True)
    ]
    if plan.groups is not None:
        compliance = [
            None if value is None else 1 - value if penalty else value
            for value, penalty in zip(values, plan.penalties, strict=True)
        ]
        members = [[found for i in group if (found := compliance[i]) is not None] for group in plan.groups]
        values = [min(group) if group else None for group in members]
    left = [(Fraction(weight), value) for weight, value in zip(plan.weights, values, strict=True) if value is not None]
    positive = sum(weight for weight, _ in left if weight > 0)
    if not positive:
        return None
    return min(max(sum(weight * value for weight, value in left) / positive, Fraction(0)), Fraction(1))


def exact_gated(task: Task, name: str, plan: ScoringPlan, verdicts: Sequence[Verdict]) -> Fraction | None:
    """The schemes in which some verdicts depend on others, in exact arithmetic, from their formulas in the docs."""
    assert task.protocol is not None
    signed = [Fraction(weight) for weight in task.rubric.weights]
    tags = [criterion.tags for criterion in task.rubric.criteria]

    def head(places: Sequence[int]) -> list[int]:
        wanted = [i for i in places if signed[i] > 0]
        wanted = [i for i in wanted if "label:optional" not in tags[i]] or wanted
        return [max(wanted, key=lambda i: signed[i])] if wanted else []

    def complies(i: int, weight: Fraction) -> bool:
        return isinstance(verdicts[i], NotApplicable) or verdicts[i] == (weight > 0)

    required = [i for i, own in enumerate(tags) if "label:required" in own]
    critical = [i for i, own in enumerate(tags) if {"label:required", "label:critical"} & {*own}]
    everything = range(len(signed))
    base = name.removesuffix("+appropriateness")
    weights, shares = [*signed], [Fraction(1)] * len(signed)
    if base == "licensed":
        groups = [[index - 1 for index in dimension.indices] for dimension in task.protocol.dimensions]
        for i in everything:
            parents = required or head(next(group for group in groups if i in group))
            if i not in parents and signed[i] > 0:
                shares[i] = Fraction(0.2) ** sum(not complies(j, signed[j]) for j in parents)
    elif base == "required-first":
        first = required or head(everything)
        sums = [sum(signed[i] for i in everything if signed[i] > 0 and (i in first) == side) for side in (True, False)]
        if all(sums):
            scale = [sum(sums) / 2 / total for total in sums]
            weights = [w if w < 0 else w * scale[i not in first] for i, w in enumerate(signed)]
        met = all(complies(j, signed[j]) for j in first)
        shares = [Fraction(1 if w < 0 or i in first or met else 0) for i, w in enumerate(signed)]
    elif base == "veto":
        needed = {*(critical or head(everything)), *(i for i in everything if signed[i] < 0)}
        passes = all(complies(j, signed[j]) for j in needed)
        weights, shares = [max(w, Fraction(0)) for w in signed], [Fraction(passes)] * len(signed)
    else:
        dimensions = task.protocol.dimensions
        (key,) = [k for k, dimension in enumerate(dimensions) if head(everything)[0] + 1 in dimension.indices]
        weights = [Fraction(dimension.weight) for dimension in dimensions]
        shares = [Fraction(complies(key, Fraction(1)))] * len(weights)
    if name != base:
        weights, shares = [*weights, Fraction(plan.weights[-1])], [*shares, Fraction(1)]
    rows = [
        (weight, share * int(bool(verdict)))
        for weight, share, verdict in zip(weights, shares, verdicts, strict=True)
        if not isinstance(verdict, NotApplicable)
    ]
    positive = sum(weight for weight, _ in rows if weight > 0)
    if not positive:
        return None
    return min(max(sum(weight * value for weight, value in rows) / positive, Fraction(0)), Fraction(1))


def label(task: Task, **labels: Sequence[int]) -> Task:
    """The task with more labels on its criteria, by their 1-based places."""
    criteria = [
        criterion.model_copy(
            update={"tags": (*criterion.tags, *(f"label:{name}" for name, places in labels.items() if i in places))}
        )
        for i, criterion in enumerate(task.rubric.criteria, 1)
    ]
    return task.model_copy(update={"rubric": Rubric(criteria=tuple(criteria))})


class TestGatedExamples:
    def test_what_is_required_licenses_the_rest_to_a_fifth_for_each_failure(self) -> None:
        task = label(make_task([6, 4, 2, 8], [[1, 2], [3, 4]]), required=[1, 2])
        assert score([True, True, True, True], task, "licensed").value == 1.0
        assert score([False, True, True, True], task, "licensed").value == (4 + 2 * 0.2 + 8 * 0.2) / 20
        assert score([False, False, True, True], task, "licensed").value == pytest.approx((2 + 8) * 0.04 / 20)

    def test_without_labels_the_heaviest_of_each_dimension_licenses_its_own(self) -> None:
        task = make_task([6, 4, 2, 8], [[1, 2], [3, 4]])
        assert score([False, True, True, True], task, "licensed").value == (4 * 0.2 + 2 + 8) / 20
        assert score([False, True, True, False], task, "licensed").value == pytest.approx((4 + 2) * 0.2 / 20)

    def test_without_dimensions_the_heaviest_criterion_licenses_all(self) -> None:
        assert score([True, True, False], make_task([6, 4, 10]), "licensed").value == (6 + 4) * 0.2 / 20

    def test_a_penalty_is_subtracted_in_full_whatever_is_licensed(self) -> None:
        assert score([False, True, True], make_task([6, 4, -5]), "licensed").value == 0.0
        assert score([True, True, True], make_task([6, 4, -5]), "licensed").value == 0.5

    def test_half_of_the_reward_is_for_what_is_required_and_opens_the_other_half(self) -> None:
        task = label(make_task([6, 2, 3, 1, -6]), required=[1, 2])
        assert score([True, True, True, True, False], task, "required-first").value == 1.0
        assert score([True, True, False, False, False], task, "required-first").value == 0.5
        assert score([True, False, True, True, False], task, "required-first").value == 0.375
        assert score([True, True, True, False, False], task, "required-first").value == 0.875
        assert score([True, True, True, True, True], task, "required-first").value == 0.5

    def test_if_everything_is_required_the_share_that_is_met_counts(self) -> None:
        task = label(make_task([6, 4]), required=[1, 2])
        assert score([True, False], task, "required-first").value == 0.6

    def test_a_critical_failure_or_a_penalty_vetoes_everything(self) -> None:
        task = make_task([6, 4, -5], labels=["normal", "critical"])
        assert score([False, True, False], task, "veto").value == 0.4
        assert score([True, False, False], task, "veto").value == 0.0
        assert score([True, True, True], task, "veto").value == 0.0

    def test_without_labels_the_heaviest_criterion_is_critical(self) -> None:
        assert score([True, False], make_task([6, 4]), "veto").value == 0.6
        assert score([False, True], make_task([6, 4]), "veto").value == 0.0

    def test_nothing_counts_unless_the_dimension_of_the_heaviest_criterion_holds(self) -> None:
        task = make_task([3, 4, 10, 3], [[1, 2, 4], [3]])
        assert score([False, True], task, "gated").value == 0.5
        assert score([True, False], task, "gated").value == 0.0

    def test_what_is_optional_is_not_the_heaviest(self) -> None:
        task = label(make_task([6, 4, 10]), optional=[3])
        assert score([True, True, False], task, "veto").value == 0.5

    def test_a_gate_that_does_not_apply_is_open(self) -> None:
        task = label(make_task([6, 4, 2]), required=[1])
        assert score([NotApplicable(), True, False], task, "licensed").value == 4 / 6
        assert score([NotApplicable(), True, True], task, "required-first").value == 1.0
        assert score([NotApplicable(), True, False], task, "veto").value == 4 / 6

    def test_appropriateness_joins_the_mean_and_is_behind_no_gate(self) -> None:
        task = make_task([6, 4, 2], [[1], [2, 3]])
        assert score([False, True, True], task, "gated+appropriateness").value == 6 / 18
        assert score([False, True, True, True], task, "veto+appropriateness").value == 6 / 18

    def test_an_unknown_gate_gives_bounds(self) -> None:
        found = score([Unknown("cut off"), True, False], make_task([6, 4, 2]), "licensed")
        assert (found.low, found.high) == (4 * 0.2 / 12, 10 / 12)

    def test_a_label_that_says_required_and_optional_is_refused(self) -> None:
        task = label(make_task([6, 4]), required=[2], optional=[2])
        with pytest.raises(SchemeError, match=r"criterion 2: a criterion is labelled required and optional; keep one"):
            make_scoring_plan(task, "licensed")

    def test_required_may_stand_next_to_the_label_that_weighted_reads(self) -> None:
        task = label(make_task([5, 4], labels=["critical", "normal"]), required=[1], optional=[2])
        assert make_scoring_plan(task, "weighted").weights == (15, 4)


class TestExactExamples:
    def test_the_paper_s_car_accident_rubric_has_dimensions_of_59_118_36_and_20(self) -> None:
        groups = ([8, 9, 10, 10, 8, 7, 7], [9, 10, 9, 8, 10, 9, 8, 7, 10, 9, 8, 7, 7, 7], [9, 9, 9, 9], [4, 4, 4, 4, 4])
        sizes = [len(group) for group in groups]
        starts = [1 + sum(sizes[:k]) for k in range(4)]
        task = make_task(
            [weight for group in groups for weight in group],
            [range(start, start + size) for start, size in zip(starts, sizes, strict=True)],
        )
        assert task.protocol is not None
        assert [dimension.weight for dimension in task.protocol.dimensions] == [59, 118, 36, 20]
        assert task.rubric.total_weight == 233
        assert score([True, False, True, True], task, "prorubric").value == (59 + 36 + 20) / 233

    def test_a_met_penalty_subtracts(self) -> None:
        assert score([True, True, True], make_task([6, 4, -5]), "additive").value == 0.5

    def test_a_raw_score_below_zero_clips_to_zero(self) -> None:
        assert score([False, False, True], make_task([6, 4, -5]), "additive").value == 0.0

    def test_an_unshown_penalty_adds_nothing_to_the_sum(self) -> None:
        assert score([True, True, False], make_task([6, 4, -5]), "additive").value == 1.0

    def test_a_penalty_in_a_group_holds_by_not_occurring(self) -> None:
        task = make_task([6, 4, -5], [[1, 3], [2]])
        assert score([True, False, False], task, "conjunctive").value == 11 / 15
        assert score([True, False, True], task, "conjunctive").value == 0.0

    def test_raw_and_and_prorubric_weigh_dimension_verdicts_by_their_criteria(self) -> None:
        task = make_task([6, 4, -5], [[1, 3], [2]])
        for scheme in ("raw-and", "prorubric", "prorubric-no-failure"):
            assert score([True, False], task, scheme).value == 11 / 15

    def test_graded_divides_levels_by_three(self) -> None:
        assert score([3, 0], make_task([6, 2], [[1], [2]]), "graded").value == 0.75
        assert score([1, 1], make_task([6, 3], [[1], [2]]), "graded").value == pytest.approx(1 / 3, abs=1e-15)

    def test_graded_takes_the_mean_of_several_draws(self) -> None:
        assert score([1.5], make_task([6], [[1]]), "graded").value == 0.5

    def test_k1_is_its_one_verdict(self) -> None:
        assert score([True], make_task([6, 4]), "k1").value == 1.0
        assert score([False], make_task([6, 4]), "k1").value == 0.0

    @pytest.mark.parametrize(("mark", "value"), [(1, 0.0), (10, 1.0), (5.5, 0.5)])
    def test_implicit_maps_marks_one_to_ten_onto_zero_to_one(self, mark: float, value: float) -> None:
        assert score([mark], make_task([6, 4]), "implicit").value == value

    def test_weighted_triples_critical_drops_form_and_duplicates_and_turns_needless_around(self) -> None:
        task = make_task([5, 4, 3, 2, 1], labels=["critical", "normal", "formatting", "duplicate", "needless"])
        assert make_scoring_plan(task, "weighted").weights == (15, 4, 0, 0, -1)
        assert score([True, False, True, True, True], task, "weighted").value == 14 / 19

    def test_a_needless_penalty_stays_a_penalty(self) -> None:
        task = make_task([5, -4], labels=["normal", "needless"])
        assert make_scoring_plan(task, "weighted").weights == (5, -4)

    def test_rewritten_is_the_sum_over_restated_criteria(self) -> None:
        assert score([True, False], make_task([6, 4]), "rewritten").value == 0.6

    def test_appropriateness_weighs_the_mean_dimension_and_joins_the_mean(self) -> None:
        task = make_task([6, 4, 2], [[1], [2, 3]])
        assert score([True, False, True], task, "prorubric+appropriateness").value == 12 / 18
        assert score([True, False, False, True], task, "additive+appropriateness").value == 12 / 18

    def test_failing_appropriateness_zeroes_nothing_else(self) -> None:
        task = make_task([6, 4, 2], [[1], [2, 3]])
        assert score([True, True, False], task, "prorubric+appropriateness").value == 12 / 18
        assert score([True, True, True, False], task, "conjunctive+appropriateness").value == 12 / 18
        assert score([10, False], task, "implicit+appropriateness").value == 12 / 18


class TestProperties:
    @given(scored_tasks(not_applicable=True))
    def test_every_scheme_agrees_with_exact_arithmetic(
        self, drawn: tuple[Task, str, ScoringPlan, list[Verdict]]
    ) -> None:
        task, name, plan, verdicts = drawn
        value = exact_gated(task, name, plan, verdicts) if plan.gates else exact(plan, verdicts)
        assert score(verdicts, task, name).value == (None if value is None else pytest.approx(float(value), abs=1e-12))

    @given(scored_tasks(unknowns=True, not_applicable=True))
    def test_a_score_lies_between_zero_and_one_and_low_is_not_above_high(
        self, drawn: tuple[Task, str, ScoringPlan, list[Verdict]]
    ) -> None:
        task, name, _, verdicts = drawn
        found = score(verdicts, task, name)
        assert 0 <= found.low <= found.high <= 1
        assert found.value is None or found.low == found.value == found.high

    @given(scored_tasks(), st.data())
    def test_complying_more_never_lowers_a_score(
        self, drawn: tuple[Task, str, ScoringPlan, list[Verdict]], data: st.DataObject
    ) -> None:
        task, name, plan, verdicts = drawn
        i = data.draw(st.integers(0, len(verdicts) - 1))
        highest = plan.ranges[i][1]
        best: Verdict = (not plan.penalties[i]) if highest == 1 else highest
        better = [*verdicts[:i], best, *verdicts[i + 1 :]]
        assert score(better, task, name).low >= score(verdicts, task, name).low

    @given(tasks(), st.data())
    def test_the_order_of_criteria_changes_no_bit_of_the_sum(self, task: Task, data: st.DataObject) -> None:
        verdicts = data.draw(st.lists(st.booleans(), min_size=len(task.rubric), max_size=len(task.rubric)))
        order = data.draw(st.permutations(range(len(task.rubric))))
        shuffled = task.model_copy(
            update={"rubric": Rubric(criteria=tuple(task.rubric.criteria[i] for i in order)), "protocol": None}
        )
        for scheme in ("additive", "weighted", "rewritten"):
            assert score([verdicts[i] for i in order], shuffled, scheme) == score(verdicts, task, scheme)

    @given(tasks(), st.data())
    def test_the_order_of_criteria_and_dimensions_changes_no_bit_of_a_grouped_score(
        self, task: Task, data: st.DataObject
    ) -> None:
        assert task.protocol is not None
        verdicts = data.draw(st.lists(st.booleans(), min_size=len(task.rubric), max_size=len(task.rubric)))
        order = data.draw(st.permutations(range(len(task.rubric))))
        place = {old + 1: new + 1 for new, old in enumerate(order)}
        rubric = Rubric(criteria=tuple(task.rubric.criteria[i] for i in order))
        parts = [
            {"name": d.name, "description": d.description, "indices": [place[i] for i in d.indices]}
            for d in data.draw(st.permutations(task.protocol.dimensions))
        ]
        shuffled = task.model_copy(update={"rubric": rubric, "protocol": ProtocolRubric.of(rubric, parts)})
        assert score([verdicts[i] for i in order], shuffled, "conjunctive") == score(verdicts, task, "conjunctive")

    @given(tasks(), st.data())
    def test_levels_of_dimensions_can_be_listed_in_any_order(self, task: Task, data: st.DataObject) -> None:
        assert task.protocol is not None
        levels = data.draw(st.lists(st.integers(0, 3), min_size=len(task.protocol), max_size=len(task.protocol)))
        order = data.draw(st.permutations(range(len(task.protocol))))
        turned = ProtocolRubric(dimensions=tuple(task.protocol.dimensions[i] for i in order))
        shuffled = task.model_copy(update={"protocol": turned})
        assert score([levels[i] for i in order], shuffled, "graded") == score(levels, task, "graded")

    @given(tasks(penalties=False), st.data())
    def test_groups_never_score_above_the_sum_where_all_weights_are_positive(
        self, task: Task, data: st.DataObject
    ) -> None:
        verdicts = data.draw(st.lists(st.booleans(), min_size=len(task.rubric), max_size=len(task.rubric)))
        grouped, summed = score(verdicts, task, "conjunctive").low, score(verdicts, task, "additive").low
        assert grouped <= summed + 1e-12

    @given(tasks(), st.data())
    def test_one_dimension_is_the_and_of_all_criteria(self, task: Task, data: st.DataObject) -> None:
        verdicts = data.draw(st.lists(st.booleans(), min_size=len(task.rubric), max_size=len(task.rubric)))
        whole = {"name": "all", "description": "all", "indices": range(1, len(task.rubric) + 1)}
        single = task.model_copy(update={"protocol": ProtocolRubric.of(task.rubric, [whole])})
        complies = all(v == (w > 0) for v, w in zip(verdicts, task.rubric.weights, strict=True))
        assert score(verdicts, single, "conjunctive").value == float(complies)

    @given(tasks(), st.sampled_from(["additive", "conjunctive", "rewritten"]), st.data())
    def test_a_penalty_that_occurs_only_ever_lowers_the_score(self, task: Task, name: str, data: st.DataObject) -> None:
        penalties = [i for i, weight in enumerate(task.rubric.weights) if weight < 0]
        assume(penalties)
        verdicts = data.draw(st.lists(st.booleans(), min_size=len(task.rubric), max_size=len(task.rubric)))
        i = data.draw(st.sampled_from(penalties))
        shown, avoided = [*verdicts], [*verdicts]
        shown[i], avoided[i] = True, False
        assert score(shown, task, name).low <= score(avoided, task, name).low

    @given(scored_tasks(unknowns=True, not_applicable=True))
    def test_an_unknown_set_both_ways_gives_exactly_low_and_high(
        self, drawn: tuple[Task, str, ScoringPlan, list[Verdict]]
    ) -> None:
        task, name, plan, verdicts = drawn
        found = score(verdicts, task, name)
        ends = []
        for in_favour in (False, True):
            settled = [
                (bool(bounds[in_favour != penalty]) if bounds[1] == 1 else bounds[in_favour])
                if isinstance(verdict, Unknown)
                else verdict
                for verdict, bounds, penalty in zip(verdicts, plan.ranges, plan.penalties, strict=True)
            ]
            settled_score = score(settled, task, name)
            ends.append((settled_score.low, settled_score.high)[in_favour])
        assert [found.low, found.high] == ends

    @given(scored_tasks(unknowns=True, not_applicable=True), st.data())
    def test_an_unknown_that_turns_out_not_to_apply_stays_within_the_bounds(
        self, drawn: tuple[Task, str, ScoringPlan, list[Verdict]], data: st.DataObject
    ) -> None:
        task, name, plan, verdicts = drawn
        unknown = [i for i, verdict in enumerate(verdicts) if isinstance(verdict, Unknown)]
        assume(unknown and plan.gates is None)  # behind a gate an item may cost more than it pays
        i = data.draw(st.sampled_from(unknown))
        before, after = (
            score([*verdicts[:i], verdict, *verdicts[i + 1 :]], task, name)
            for verdict in (verdicts[i], NotApplicable())
        )
        assert after.reason or before.low - 1e-12 <= after.low <= after.high <= before.high + 1e-12

    @given(st.lists(weights.filter(lambda weight: weight > 0), min_size=1, max_size=40))
    def test_a_perfect_answer_scores_exactly_one(self, positive: list[float]) -> None:
        task = make_task(positive, [range(1, len(positive) + 1)])
        assert score([True] * len(positive), task, "additive").value == 1.0
        assert score([True] * len(positive), task, "conjunctive").value == 1.0


class TestUnknown:
    def test_a_failed_group_does_not_care_about_its_unknown_member(self) -> None:
        task = make_task([6, 4], [[1, 2]])
        found = score([False, Unknown("cut off")], task, "conjunctive")
        assert found == Score(value=0.0, low=0.0, high=0.0, unknown=(2,))

    def test_an_open_score_has_no_value_but_bounds(self) -> None:
        found = score([True, Unknown("cut off"), False], make_task([6, 2, -4]), "additive")
        assert found == Score(value=None, low=0.75, high=1.0, unknown=(2,))

    def test_an_unknown_penalty_counts_against_in_low_and_for_in_high(self) -> None:
        found = score([True, True, Unknown("cut off")], make_task([6, 2, -4]), "additive")
        assert (found.low, found.high) == (0.5, 1.0)

    def test_an_unknown_that_clipping_swallows_leaves_the_value_known(self) -> None:
        found = score([False, True, Unknown("cut off")], make_task([5, -9, -1]), "additive")
        assert found == Score(value=0.0, low=0.0, high=0.0, unknown=(3,))


class TestNotApplicable:
    def test_its_weight_leaves_both_sums(self) -> None:
        found = score([True, NotApplicable("no drug is named"), False], make_task([6, 2, 4]), "additive")
        assert found == Score(value=0.6, low=0.6, high=0.6, not_applicable=(2,))

    def test_a_penalty_that_does_not_apply_subtracts_nothing(self) -> None:
        assert score([True, False, NotApplicable()], make_task([6, 4, -5]), "additive").value == 0.6

    def test_a_group_holds_by_the_members_that_apply(self) -> None:
        task = make_task([6, 4, -5], [[1, 3], [2]])
        assert score([NotApplicable(), False, False], task, "conjunctive").value == 11 / 15
        assert score([NotApplicable(), True, True], task, "conjunctive").value == 4 / 15

    def test_a_group_of_which_nothing_applies_leaves_with_its_weight(self) -> None:
        task = make_task([6, 4, -5, 10], [[1, 3], [2], [4]])
        found = score([NotApplicable(), True, NotApplicable(), False], task, "conjunctive")
        assert (found.value, found.not_applicable) == (4 / 14, (1, 3))

    @pytest.mark.parametrize(("scheme", "held"), [("raw-and", True), ("prorubric", True), ("graded", 3)])
    def test_a_dimension_leaves_with_its_weight(self, scheme: str, held: Verdict) -> None:
        task = make_task([6, 4, 2], [[1], [2], [3]])
        assert score([held, NotApplicable(), 0 * held if scheme == "graded" else False], task, scheme).value == 0.75

    def test_appropriateness_that_does_not_apply_leaves_what_the_scheme_says(self) -> None:
        task = make_task([6, 4, 2], [[1], [2, 3]])
        assert score([True, False, NotApplicable()], task, "prorubric+appropriateness").value == 0.5

    def test_it_is_not_unknown_and_both_can_meet(self) -> None:
        found = score([True, NotApplicable(), Unknown("cut off")], make_task([6, 2, 4]), "additive")
        assert found == Score(value=None, low=0.6, high=1.0, unknown=(3,), not_applicable=(2,))

    @pytest.mark.parametrize("scheme", ["additive", "rewritten", "weighted"])
    def test_with_nothing_positive_left_the_score_is_open_and_says_why(self, scheme: str) -> None:
        found = score([NotApplicable(), True], make_task([6, -4]), scheme)
        why = "every item with a positive weight is not applicable"
        assert found == Score(value=None, low=0.0, high=1.0, not_applicable=(1,), reason=why)

    @pytest.mark.parametrize("scheme", ["k1", "implicit"])
    def test_one_verdict_on_everything_that_does_not_apply_leaves_nothing(self, scheme: str) -> None:
        assert score([NotApplicable()], make_task([6, 4], [[1], [2]]), scheme).value is None


class TestRefusals:
    @pytest.mark.parametrize(
        ("verdicts", "scheme", "said"),
        [
            ([True], "additive", "1 verdicts for 2 items"),
            ([1, 0], "additive", "verdict 1 is 1; allowed: true or false"),
            ([True, "yes"], "additive", "verdict 2 is 'yes'"),
            ([4, 0], "graded", "allowed: a number from 0 to 3"),
            ([True, False], "graded", "allowed: a number from 0 to 3"),
            ([float("nan"), 1], "graded", "verdict 1 is nan"),
            ([0], "implicit", "allowed: a number from 1 to 10"),
            ([None, True], "additive", "verdict 1 is None"),
        ],
    )
    def test_a_verdict_that_the_scheme_cannot_read_is_refused(
        self, verdicts: list[Verdict], scheme: str, said: str
    ) -> None:
        with pytest.raises(SchemeError, match="task 't'") as caught:
            score(verdicts, make_task([6, 4], [[1], [2]]), scheme)
        assert said in str(caught.value)

    def test_an_unknown_scheme_is_refused_with_the_names_that_exist(self) -> None:
        with pytest.raises(SchemeError, match="no scheme is called 'sum'; known: additive, conjunctive"):
            find_scheme("sum")

    @pytest.mark.parametrize("scheme", ["conjunctive", "prorubric", "graded", "additive+appropriateness"])
    def test_a_scheme_that_needs_dimensions_says_so_before_any_verdict(self, scheme: str) -> None:
        with pytest.raises(SchemeError, match=r"; make dimensions with prorubric compile, or use --scheme additive$"):
            make_scoring_plan(make_task([6, 4]), scheme)

    def test_a_sum_without_a_positive_weight_is_refused(self) -> None:
        with pytest.raises(SchemeError, match="divides by the positive weights and there are none"):
            make_scoring_plan(make_task([-6, -4]), "additive")

    def test_weights_that_a_scheme_makes_too_large_are_refused(self) -> None:
        with pytest.raises(SchemeError, match="past the largest float"):
            make_scoring_plan(make_task([1e308], labels=["critical"]), "weighted")

    def test_groups_work_without_a_positive_weight(self) -> None:
        assert score([False, True], make_task([-6, -4], [[1], [2]]), "conjunctive").value == 0.6

    def test_weighted_needs_a_label_on_every_criterion(self) -> None:
        rubric = Rubric(criteria=(Criterion(text="a", weight=1.0, tags=("label:urgent",)),))
        task = Task(id="t", messages=(Message(role="user", content="?"),), rubric=rubric)
        with pytest.raises(SchemeError, match=r"criterion 1: weighted needs one label .*found \['urgent'\]"):
            make_scoring_plan(task, "weighted")

    def test_every_scheme_has_two_names_that_find_it(self) -> None:
        assert len(SCHEMES) == len(set(SCHEMES)) == 2 * len(BASE_SCHEMES)
        assert [find_scheme(name).name for name in SCHEMES] == list(SCHEMES)
