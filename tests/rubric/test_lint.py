"""Every check on a task that has the fault, and beside it on one that only looks as if it had."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric import Criterion, Message, ProtocolRubric, Rubric, Task
from prorubric.rubric.lint import CHECKS, TaskLint, compensation, lint_task
from tests.strategies import tasks, weights

Pair = tuple[str, float]


def make_task(*criteria: Pair, groups: list[list[int]] | None = None) -> Task:
    rubric = Rubric(criteria=tuple(Criterion(text=text, weight=weight) for text, weight in criteria))
    parts = [{"name": "d", "description": "Fails if not.", "indices": group} for group in groups or []]
    protocol = ProtocolRubric.of(rubric, parts) if groups else None
    return Task(id="t", messages=(Message(role="user", content="?"),), rubric=rubric, protocol=protocol)


def find(*criteria: Pair) -> list[tuple[str, tuple[int, ...]]]:
    """Check and positions of every finding but the notes on form, which length limits bring along."""
    findings = lint_task(make_task(*criteria)).findings
    return [(found.check, found.criteria) for found in findings if found.check != "formatting-only"]


def weigh(*given: float) -> list[Pair]:
    """Criteria with these weights whose texts have nothing to do with each other."""
    texts = ["Tells her to rest", "Explains the dose", "Asks about age", "Gives two sources", "Ends politely", "Warns"]
    return [(f"{texts[i % 6]} in case {i}", weight) for i, weight in enumerate(given)]


class TestSingleCriteria:
    def test_a_text_that_is_cut_off_is_found_at_its_position(self) -> None:
        assert find(("Tells her to rest", 1), ("Lists three risks, including", 1)) == [("unjudgeable", (2,))]

    def test_the_message_names_position_weight_text_and_remedy(self) -> None:
        found = lint_task(make_task(("Tells her to rest", 1), ("Clarity", 2.5))).findings[0]
        assert found.severity == "error"
        assert found.message == (
            "criterion 2 (+2.5, 'Clarity') cannot be judged: it is a single word; complete it or drop it"
        )

    @pytest.mark.parametrize(
        ("text", "weight"),
        [
            ("Fails to ask for the age", 5),
            ("Should ask for the age", -5),
            ("Does the response fail to ask for the age?", 5),
            ("Does the response avoid guessing the age?", -5),
        ],
    )
    def test_a_sign_that_contradicts_the_text_is_a_polarity_finding(self, text: str, weight: float) -> None:
        assert find((text, weight)) == [
            ("polarity", (1,)),
            *([("no-positive-weight", ())] if weight < 0 else []),
        ]

    @pytest.mark.parametrize(
        ("text", "weight"),
        [
            ("Fails to ask for the age", -5),
            ("Does the response fail to ask for the age?", -5),
            ("Does the response avoid jargon?", 5),
            ("Should ask for the age", 5),
            ("Does not use jargon", 5),
            ("Does not warn of dangerous interactions", -5),
            ("Avoids answering the question", -5),
            ("Omits irrelevant details", 5),
        ],
    )
    def test_a_sign_that_agrees_with_the_text_is_not_a_finding(self, text: str, weight: float) -> None:
        assert find((text, weight), ("Tells her to rest", 9)) == []

    def test_a_criterion_about_form_is_a_note(self) -> None:
        found = lint_task(make_task(("Tells her to rest", 1), ("Uses bullet points", 2)))
        assert [(f.check, f.severity, f.criteria) for f in found.findings] == [("formatting-only", "note", (2,))]
        assert found.formatting == 1

    def test_a_story_with_characters_is_not_about_form(self) -> None:
        assert lint_task(make_task(("Has three characters with voices of their own", 1))).findings == ()


class TestPairs:
    def test_the_same_text_with_the_same_weight_is_a_duplicate(self) -> None:
        assert find(("Mentions rest", 5), ("Asks about age", 1), ("  mentions **rest**.", 5)) == [("duplicate", (1, 3))]

    def test_three_copies_are_three_pairs(self) -> None:
        assert find(*[("Mentions rest", 5)] * 3) == [("duplicate", pair) for pair in ((1, 2), (1, 3), (2, 3))]

    def test_the_same_text_with_other_points_is_other_points(self) -> None:
        assert find(("Mentions rest", 5), ("Mentions rest.", 3)) == [("other-points", (1, 2))]

    def test_the_same_text_with_opposite_signs_is_a_contradiction(self) -> None:
        assert find(("Mentions rest", 5), ("Mentions rest", -5)) == [("contradiction", (1, 2))]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("Mentions C++", "Mentions C#"),
            ("Says that the value is 5", "Says that the value is -5"),
            ("Says BP < 140", "Says BP > 140"),
            ("Ends with 👍", "Ends with 👎"),
            ("→", "←"),
            ("Mentions rest", "Mentions rust"),
        ],
    )
    @pytest.mark.parametrize("weight", [5, 3, -5])
    def test_texts_that_differ_in_one_sign_are_not_the_same(self, first: str, second: str, weight: float) -> None:
        found = lint_task(make_task((first, 5), (second, weight))).findings
        assert [f for f in found if f.check != "unjudgeable"] == []

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("Mentions X", "Fails to mention X"),
            ("Mentions portable oxygen cylinders.", "Does not mention portable oxygen cylinders."),
            ("Mentions aspirin", "Doesn’t mention aspirin"),
            ("Has a clear structure", "Lacks a clear structure"),
            ("Asks about the age of the child", "The response fails to ask about the age of the child"),
        ],
    )
    def test_what_is_paid_and_its_lack_punished_is_mirrored(self, first: str, second: str) -> None:
        assert find((first, 5), (second, -5)) == [("mirrored", (1, 2))]

    def test_what_is_punished_and_its_avoidance_paid_is_mirrored(self) -> None:
        assert find(("Avoids mentioning aspirin", 5), ("Mentions aspirin", -5)) == [("mirrored", (1, 2))]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("Mentions X", "Fails to mention Y"),
            ("Mentions aspirin", "Fails to mention aspirin and ibuprofen"),
            ("States that it is safe in pregnancy", "States that it is not safe in pregnancy"),
            ("Lists the foods to eat", "Lists the foods not to eat"),
        ],
    )
    def test_what_is_paid_and_something_else_punished_is_not_mirrored(self, first: str, second: str) -> None:
        assert find((first, 5), (second, -5)) == []

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("Mentions aspirin", "Does not mention aspirin"),
            ("States that it is safe in pregnancy", "States that it is not safe in pregnancy"),
            ("Recommends aspirin", "Recommends against aspirin"),
        ],
    )
    def test_a_demand_and_its_opposite_are_a_contradiction(self, first: str, second: str) -> None:
        assert find((first, 5), (second, 2)) == [("contradiction", (1, 2))]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("Explains when to use antibiotics", "Explains when not to use antibiotics"),
            ("Lists the foods to eat", "Lists the foods not to eat"),
            ("Mentions aspirin", "Does not recommend aspirin"),
            ("Says what the patient should eat", "Says what the patient should not eat"),
        ],
    )
    def test_demands_that_can_both_be_met_are_no_contradiction(self, first: str, second: str) -> None:
        assert find((first, 5), (second, 5)) == []

    def test_two_statements_that_are_both_punished_are_avoided_by_silence(self) -> None:
        punished = [("States that it is safe", -5.0), ("States that it is not safe", -5.0)]
        assert find(*punished, ("Asks about age", 5)) == []

    def test_a_behaviour_and_its_lack_that_are_both_punished_cannot_both_be_avoided(self) -> None:
        punished = [("Mentions aspirin", -5.0), ("Does not mention aspirin", -5.0)]
        assert find(*punished, ("Asks about age", 5)) == [("contradiction", (1, 2))]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("Mentions the risk of kidney damage from ibuprofen", "States the risk of kidney damage from ibuprofen"),
            (
                "Defines a mild burn as one of the outer layer of the skin",
                "States that a mild burn is one of the outer layer of the skin",
            ),
            ("Asks about fever, rash, cough and pain", "Asks about pain, cough, rash and a fever"),
            ("Should ask about the age", "Asks about the age"),
            ("Explains why rest, water and sleep help", "Explains clearly why rest, water and sleep help"),
        ],
    )
    def test_what_says_nearly_the_same_is_a_near_duplicate(self, first: str, second: str) -> None:
        assert find((first, 5), (second, 3)) == [("near-duplicate", (1, 2))]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (
                "Provides the strengths of leading approaches to scientific paper review",
                "Provides the weaknesses of leading approaches to scientific paper review",
            ),
            ("Recommends 5mg of the drug twice daily with food", "Recommends 10mg of the drug twice daily with food"),
            ("Ranks surgery over medication for young patients", "Ranks medication over surgery for young patients"),
            (
                "Mentions the risk of kidney damage",
                "Mentions the risk of kidney damage and of stroke, bleeding and rash",
            ),
            ("Asks about age", "Asks about pain"),
            (
                "Gives the dose of ibuprofen for young children with high fever",
                "Gives the dose of ibuprofen for young children with high fever of 39",
            ),
        ],
    )
    def test_what_asks_for_something_else_in_like_words_is_not_a_near_duplicate(self, first: str, second: str) -> None:
        assert find((first, 5), (second, 5)) == []

    def test_two_failures_to_say_the_same_are_near_duplicates(self) -> None:
        fails = ("Fails to note that rest, water and sleep help with colds", -3.0)
        does_not = ("Does not explain that rest, water and sleep help with colds", -3.0)
        assert find(fails, does_not, ("Asks about age", 5)) == [("near-duplicate", (1, 2))]

    def test_the_same_statement_in_other_words_with_opposite_signs_is_a_contradiction(self) -> None:
        assert find(("Should ask about the age", 5), ("Asks about the age", -5)) == [("contradiction", (1, 2))]

    def test_a_lack_of_something_is_a_thing_and_denies_nothing(self) -> None:
        pair = (
            "Explains that vitamin D causes bone pain at night",
            "Explains that lack of vitamin D causes bone pain at night",
        )
        assert find((pair[0], 1), (pair[1], 1)) == []
        assert find(("Mentions lack of sleep", 1), ("Notes the absence of sleep", 1)) == []
        assert find(("Lacks a list of sources", 1), ("Has a list of sources", 1)) == [
            ("contradiction", (1, 2)),
            ("polarity", (1,)),
        ]

    @pytest.mark.parametrize(
        ("first", "second", "check"),
        [
            (
                ("Does the response mention the dose of aspirin?", 1),
                ("The response mentions the dose of aspirin.", 1),
                "duplicate",
            ),
            (("Does the response mention the dose?", 1), ("Mentions the dose", 1), "near-duplicate"),
            (("Does the response avoid jargon?", 1), ("Does the response use jargon?", 1), None),
            (("Does the response mention the dose?", 5), ("Fails to mention the dose", -5), "mirrored"),
            (
                ("Does the response mention the dose?", 5),
                ("Does the response avoid mentioning the dose?", 5),
                "contradiction",
            ),
        ],
    )
    def test_questions_are_compared_as_statements(self, first: Pair, second: Pair, check: str | None) -> None:
        assert find(first, second) == ([(check, (1, 2))] if check else [])


class TestLimits:
    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("Is no more than 200 words", "Is at least 300 words"),
            ("The answer should be no more than 200 words long.", "Contains at least 300 words in total"),
            ("Does not exceed 2,000 characters", "Has more than 3,000 characters"),
            ("Should not be more than 5 bullet points", "Uses at least 6 bullet  points"),
            ("Uses more than 3 sentences", "Uses fewer than 3 sentences"),
            ("Is under 300 words", "Is at least 300 words"),
            ("Is at least 100 and at most 200 words", "Is at least 300 words"),
            ("The abstract has at most 150 words", "The abstract has at least 200 words"),
        ],
    )
    def test_lengths_that_exclude_each_other_are_a_contradiction(self, first: str, second: str) -> None:
        assert find((first, 5), ("Asks about age", 1), (second, 3)) == [("contradiction", (1, 3))]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("Is at least 100 words", "Is at most 300 words"),
            ("Is at least 300 words", "Is no more than 300 words"),
            ("Is at least 300 words", "Is at most 20 sentences"),
            ("Should not be more than 200 words", "Is at most 150 words"),
            ("Is not less than 100 words", "Is at most 200 words"),
            ("The abstract is at most 150 words", "The essay is at least 1,000 words"),
            ("Each paragraph has at most 5 sentences", "Has at least 10 sentences"),
            ("States the thesis within 2 sentences", "Has at least 10 sentences"),
            ("Has at most 50 words in the title", "Has at least 300 words in the body"),
            ("Is at most 150 words", "Quotes the 300 words of the oath"),
        ],
    )
    def test_lengths_that_go_together_are_no_contradiction(self, first: str, second: str) -> None:
        assert find((first, 5), (second, 3)) == []

    def test_a_criterion_is_never_paired_with_itself(self) -> None:
        assert find(("Is at least 400 words and at most 200 words", 5)) == []

    def test_a_length_that_is_punished_excludes_nothing(self) -> None:
        assert find(("Is at most 200 words", 5), ("Is at least 300 words", -5)) == []

    def test_the_message_says_who_asks_for_what(self) -> None:
        found = lint_task(make_task(("Is more than 300 words", 5), ("Is under 200 words", 5))).findings[0]
        assert found.message == (
            "criterion 1 asks for at least 301 words, criterion 2 for at most 199; no answer can meet both, drop one"
        )

    def test_a_number_of_thousands_of_digits_is_not_an_error(self) -> None:
        assert find((f"Is at least {'9' * 5000} words", 5), ("Is at most 3 words", 5)) == []


class TestWeights:
    def test_a_weight_of_more_than_five_times_the_median_is_an_outlier(self) -> None:
        assert find(*weigh(2, 2, 2, 2, 10.5)) == [("outlier", (5,))]

    def test_a_weight_of_five_times_the_median_is_none(self) -> None:
        assert find(*weigh(2, 2, 2, 2, 2, 10)) == []

    def test_a_weight_of_more_than_half_of_all_is_an_outlier(self) -> None:
        assert find(*weigh(-21, 5, 5, 5, 5)) == [("outlier", (1,))]

    def test_a_weight_of_half_of_all_is_none(self) -> None:
        assert find(*weigh(20, 5, 5, 5, 5)) == []

    def test_a_rubric_of_four_has_no_outlier(self) -> None:
        assert find(*weigh(1, 1, 1, 100)) == []

    def test_a_rubric_of_penalties_only_is_found_and_is_about_no_criterion(self) -> None:
        assert find(*weigh(-1, -2)) == [("no-positive-weight", ())]

    def test_one_positive_weight_is_enough(self) -> None:
        assert find(*weigh(-1, -2, 0.5)) == []


class TestFigures:
    def test_compensation_leaves_out_the_heaviest_positive_criterion(self) -> None:
        assert lint_task(make_task(*weigh(10, 5, 3, 2))).compensation == 0.5

    def test_the_heaviest_may_be_a_penalty_which_is_then_shown(self) -> None:
        # 10 + 5 + 5 are there to earn, showing the behaviour costs 12.
        assert lint_task(make_task(*weigh(10, 5, 5, -12))).compensation == 0.4

    def test_a_penalty_heavier_than_all_that_can_be_earned_leaves_nothing(self) -> None:
        assert lint_task(make_task(*weigh(5, 5, -11))).compensation == 0.0

    def test_a_lighter_penalty_counts_for_nothing(self) -> None:
        assert lint_task(make_task(*weigh(10, 10, -9))).compensation == 0.5

    def test_a_tie_of_the_heaviest_leaves_one_out(self) -> None:
        assert lint_task(make_task(*weigh(4, 4, 2))).compensation == 0.6

    def test_sums_are_exact(self) -> None:
        # Ten times 0.1 adds up to 0.9999999999999999 where every step is rounded.
        assert lint_task(make_task(*weigh(*[0.1] * 10))).compensation == 0.9

    def test_one_criterion_compensates_for_nothing(self) -> None:
        assert lint_task(make_task(*weigh(7))).compensation == 0.0

    def test_without_a_positive_weight_there_is_no_sum(self) -> None:
        assert lint_task(make_task(*weigh(-3, -4))).compensation is None

    def test_with_dimensions_the_whole_group_of_the_heaviest_is_lost(self) -> None:
        found = lint_task(make_task(*weigh(10, 5, 3, 2), groups=[[1, 3], [2, 4]]))
        assert (found.compensation, found.compensation_grouped) == (0.5, 0.35)

    def test_with_dimensions_a_penalty_weighs_by_its_size(self) -> None:
        # 10 + 5 + 1 + 4 = 20; the group of the 10 holds the penalty of 4 as well.
        found = lint_task(make_task(*weigh(10, 5, 1, -4), groups=[[1, 4], [2, 3]]))
        assert found.compensation_grouped == 0.3

    def test_of_several_heaviest_the_one_in_the_cheapest_group_is_missed(self) -> None:
        found = lint_task(make_task(*weigh(4, 4, 2), groups=[[1, 3], [2]]))
        assert found.compensation_grouped == 0.6

    def test_dimensions_have_a_figure_even_where_the_sum_has_none(self) -> None:
        found = lint_task(make_task(*weigh(-3, -1), groups=[[1], [2]]))
        assert (found.compensation, found.compensation_grouped) == (None, 0.25)

    def test_without_dimensions_there_is_no_such_figure(self) -> None:
        assert lint_task(make_task(*weigh(3, 1))).compensation_grouped is None

    def test_presence_share_is_by_weight_and_counts_penalties_by_their_size(self) -> None:
        found = lint_task(make_task(("Mentions rest", 3), ("Fails to mention water", -2), ("Explains the dose", 5)))
        assert (found.presence, found.presence_share) == (2, 0.5)

    def test_a_checklist_of_mentions_has_a_share_of_exactly_one(self) -> None:
        found = lint_task(make_task(*[(f"Mentions item {i}", 0.1) for i in range(10)]))
        assert found.presence_share == 1.0

    def test_a_clean_task_has_figures_and_no_findings(self) -> None:
        found = lint_task(make_task(*weigh(2, 1, 1)))
        assert found == TaskLint(
            task_id="t",
            criteria=3,
            findings=(),
            presence=0,
            formatting=0,
            unread=0,
            presence_share=0.0,
            compensation=0.5,
            compensation_grouped=None,
        )


class TestLanguages:
    def test_what_lint_cannot_read_is_named_in_one_note(self) -> None:
        found = lint_task(make_task(("Mentions the dose", 1), ("提到布洛芬的剂量", 3), ("Explains the dose", 1)))
        assert [(one.check, one.severity, one.criteria, one.message) for one in found.findings] == [
            ("unread", "note", (2,), "criteria 2: not in English, so only weights and repeated texts were checked")
        ]
        assert (found.presence, found.unread, found.presence_share) == (1, 1, 0.5)

    @pytest.mark.parametrize(
        "text", ["提到布洛芬的剂量", "用量を説明する", "Nennt die Dosis und sagt, wie lange das Mittel hilft"]
    )
    def test_a_checklist_in_another_language_has_no_share_of_presence(self, text: str) -> None:
        found = lint_task(make_task((text, 1), (f"{text} 2", 3)))
        assert [one.message for one in found.findings] == [
            "all criteria: not in English, so only weights and repeated texts were checked"
        ]
        assert (found.presence, found.unread, found.presence_share) == (0, 2, None)

    def test_repeated_texts_are_found_in_any_language(self) -> None:
        assert find(("提到布洛芬的剂量", 1), ("提到布洛芬的剂量。", 1)) == [("duplicate", (1, 2)), ("unread", (1, 2))]

    def test_a_terse_checklist_in_english_is_read(self) -> None:
        assert find(("Mentions ibuprofen", 1), ("Lists warning signs", 1), ("Explains dosing limits", 1)) == []


class TestAnyTask:
    wordings = st.sampled_from(
        [
            "Mentions aspirin",
            "mentions aspirin.",
            "Does not mention aspirin",
            "Fails to mention aspirin",
            "States that aspirin is safe for children with fever",
            "States that aspirin is not safe for children with fever",
            "Explains that aspirin is safe for children with fever",
            "Is at least 300 words",
            "Is at most 200 words and at least 400 words",
            "Is no more than 300 words",
            "Uses bullet points",
            "Should ask, including",
            "Clarity",
            "…",
        ]
    )

    def test_findings_come_in_the_order_of_the_checks(self) -> None:
        found = lint_task(
            make_task(
                ("Uses bullet points", 1), ("Mentions X", 1), ("Mentions X", 1), ("Fails to ask it", 1), ("TBD", 1)
            )
        )
        order = [finding.check for finding in found.findings]
        assert order == ["unjudgeable", "polarity", "duplicate", "formatting-only"]

    @given(tasks(positive=False, with_protocol=None))
    def test_no_valid_task_is_an_error_and_every_figure_is_in_range(self, task: Task) -> None:
        found = lint_task(task)
        figures = [found.presence_share, found.compensation, found.compensation_grouped]
        assert all(0.0 <= figure <= 1.0 for figure in figures if figure is not None)
        assert all(finding.severity == CHECKS[finding.check] for finding in found.findings)
        assert all(1 <= position <= found.criteria for finding in found.findings for position in finding.criteria)

    @given(st.lists(st.tuples(wordings, weights), min_size=1, max_size=8), st.randoms(use_true_random=False))
    def test_the_order_of_the_criteria_changes_no_count_and_no_figure(
        self, criteria: list[Pair], random: object
    ) -> None:
        shuffled = list(criteria)
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        one, other = lint_task(make_task(*criteria)), lint_task(make_task(*shuffled))
        assert Counter(f.check for f in one.findings) == Counter(f.check for f in other.findings)
        assert (one.compensation, one.presence_share) == (other.compensation, other.presence_share)

    @given(st.lists(st.tuples(wordings, weights), min_size=2, max_size=8))
    def test_a_pair_is_named_in_ascending_order(self, criteria: list[Pair]) -> None:
        pairs = [f.criteria for f in lint_task(make_task(*criteria)).findings if len(f.criteria) == 2]
        assert all(first < second for first, second in pairs)

    def test_weights_near_the_largest_float_are_no_error(self) -> None:
        found = lint_task(make_task(*weigh(1.7e308, 5e306, 1e306, 1e306, 1e306)))
        assert found.compensation is not None
        assert math.isfinite(found.compensation)

    @given(st.lists(weights, min_size=1, max_size=12))
    def test_compensation_is_what_is_left_of_the_sum(self, given: list[float]) -> None:
        rubric = Rubric(criteria=tuple(Criterion(text="a b", weight=weight) for weight in given))
        earned = math.fsum(weight for weight in given if weight > 0)
        left = max(0.0, (earned - max(map(abs, given))) / earned) if earned else None
        assert compensation(rubric) == left
