"""The scores of benchmarks, against published numbers where their data is at hand, and by hand for every rule."""

import csv
import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.audit.paper import load_paper
from prorubric.errors import RubricError
from prorubric.evaluate import arena_score, balanced_f1, choice_accuracy, creative_score, healthbench_score
from prorubric.evaluate.scores import balanced_f1_by_criterion, pairs_score, read_letter
from prorubric.evaluate.statistics import compare_accuracy
from prorubric.rubric.verdict import Unknown


def read_lines(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        pytest.skip(f"the real data is not here: {path} is missing")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


class TestHealthBench:
    def test_a_prompt_is_met_points_over_positive_points_and_may_be_negative(self) -> None:
        found = healthbench_score([[(True, 5), (False, 3), (True, -4)], [(False, 10), (True, -5)]])
        assert found.per_prompt == (0.125, -0.5)
        assert (found.mean, found.score) == (-0.1875, 0.0)

    def test_the_mean_is_clipped_and_not_the_prompts(self) -> None:
        found = healthbench_score([[(True, 1)], [(False, 1), (True, -0.5)]])
        assert (found.mean, found.score) == (0.25, 0.25)

    def test_a_prompt_with_an_unknown_verdict_has_bounds_and_leaves_the_mean(self) -> None:
        found = healthbench_score([[(True, 5), (None, 3), (Unknown("no reply"), -2)], [(True, 1), (False, 1)]])
        assert found.per_prompt == (None, 0.5)
        assert found.bounds == ((3 / 8, 1.0), (0.5, 0.5))
        assert (found.mean, found.n, found.unknown) == (0.5, 1, 1)

    def test_without_a_known_prompt_there_is_no_score(self) -> None:
        found = healthbench_score([[(None, 1)]])
        assert (found.score, found.mean, found.n, found.unknown) == (None, None, 0, 1)
        assert healthbench_score([]).score is None

    @pytest.mark.parametrize("met", ["true", 1, 0.5])
    def test_what_is_not_a_boolean_is_refused(self, met: Any) -> None:
        with pytest.raises(RubricError, match=r"prompt 1: met is .*; give True, False, or None if it is unknown"):
            healthbench_score([[(met, 1)]])

    def test_a_prompt_without_positive_points_is_refused(self) -> None:
        with pytest.raises(RubricError, match="prompt 2 has no positive points, so it has no score; leave it out"):
            healthbench_score([[(True, 1)], [(True, -1)]])

    @given(
        st.lists(st.tuples(st.sampled_from([True, False, None]), st.sampled_from([-3.0, -1.0, 2.0, 5.0])), max_size=5)
    )
    def test_bounds_hold_every_completion_and_are_reached(self, criteria: list[tuple[bool | None, float]]) -> None:
        rubric = [*criteria, (True, 4.0)]
        [(low, high)] = healthbench_score([rubric]).bounds
        filled = product(
            *([(met, points)] if met is not None else [(True, points), (False, points)] for met, points in rubric)
        )
        values = [value for one in filled if (value := healthbench_score([one]).mean) is not None]
        assert (min(values), max(values)) == (pytest.approx(low), pytest.approx(high))


class TestArena:
    def test_the_baseline_is_a_in_the_first_game_and_the_model_in_the_second(self) -> None:
        assert arena_score([(1, "B>A", "A>B")]).score == 100.0
        assert arena_score([(1, "A>B", "B>A")]).score == 0.0
        assert arena_score([(1, "A>B", "A>B")]).score == 50.0

    def test_much_better_counts_three_times(self) -> None:
        found = arena_score([(1, "B>>A", "A=B"), (2, "A>B", "B>A")])
        assert found.score == pytest.approx(100 * 3.5 / 6)

    def test_both_orders_must_agree_for_a_win_a_tie_or_a_loss(self) -> None:
        games = [(1, "B>A", "A>>B"), (2, "A=B", "A=B"), (3, "A>>B", "B>A"), (4, "A=B", "A>B"), (5, "A>B", "A>B")]
        found = arena_score(games)
        assert (found.wins, found.ties, found.losses, found.inconsistent) == (1, 1, 1, 2)

    def test_a_question_with_an_unread_game_loses_both(self) -> None:
        found = arena_score([(1, "B>A", "A>B"), (2, None, "B>>A"), (3, "A>B", None), (4, None, None)])
        assert (found.score, found.n, found.unread, found.wins) == (100.0, 1, 3, 1)
        assert (found.se_question, found.se_row) == (None, None)

    def test_nothing_read_is_no_score(self) -> None:
        found = arena_score([(1, None, None)])
        assert (found.score, found.n, found.unread) == (None, 0, 1)

    def test_the_errors_are_those_of_the_formulas(self) -> None:
        # Rows 1 1 1 1 of question 1 and 0 0 of question 2: p = 2/3, Σ(x - p·w)² = (4/3)² + (4/3)².
        found = arena_score([(1, "B>>A", "A>B"), (2, "A>B", "B>A")])
        assert found.se_question == pytest.approx(100 * (2 * 2 * 16 / 9) ** 0.5 / 6)
        assert found.se_row == pytest.approx(100 * ((4 / 9 + 8 / 9) / 5 / 6) ** 0.5)

    def test_an_unknown_label_is_refused(self) -> None:
        with pytest.raises(RubricError, match=r"question 'q7': no label 'A<B'; give A>>B, A>B, .*, or None if unread"):
            arena_score([("q7", "A>B", "A<B")])

    @pytest.mark.parametrize(("model", "score"), [("gpt-4-0613", 37.90), ("gpt-3.5-turbo-0125", 23.34)])
    def test_battles_of_the_first_version_give_the_official_table(
        self, shared_data: Path, model: str, score: float
    ) -> None:
        battles = defaultdict(list)
        for row in read_lines(shared_data / "arena_hard_v01_battles/arena_hard_battles.jsonl"):
            if row["model_b"] == model:
                battles[row["question_id"]].append(row["winner"])
        found = arena_score((question, *self.join_rows(winners)) for question, winners in battles.items())
        assert round(found.score or 0, 2) == score

    @staticmethod
    def join_rows(winners: Sequence[str]) -> tuple[str, str]:
        """The two games of a question of which "much better" was written as three rows."""
        first = 1 if len(winners) == 2 or (len(winners) == 4 and winners[0] != winners[1]) else 3
        ends = ((winners[0], first, "model_a"), (winners[-1], len(winners) - first, "model_b"))
        one, other = (
            "A=B" if winner == "tie" else (">" if rows == 1 else ">>").join("AB" if winner == a else "BA")
            for winner, rows, a in ends
        )
        return one, other

    def test_every_model_of_a_published_board_has_its_score(self, shared_data: Path) -> None:
        folder = shared_data / "ko_arena_hard"
        table = folder / "no_control.csv"
        if not table.is_file():
            pytest.skip(f"the real data is not here: {table} is missing")
        with table.open(encoding="utf-8") as stream:
            published = {row["model"]: float(row["score"]) for row in csv.DictReader(stream)}
        found = {path.stem: self.score_file(path) for path in (folder / "ensemble").glob("*.jsonl")}
        assert found.keys() == published.keys()
        wrong = {name for name, one in found.items() if abs((one.score or 0) - published[name]) > 0.00501}
        assert wrong == {"claude-3.7-sonnet"}  # the baseline, which the board sets to 50.00
        mini = found["gpt-4.1-mini-2025-04-14"]
        assert round(mini.score or 0, 4) == 48.2346
        assert (mini.wins, mini.ties, mini.losses, mini.inconsistent, mini.n, mini.unread) == (146, 4, 159, 191, 500, 0)
        assert (round(mini.se_question or 0, 3), round(mini.se_row or 0, 3)) == (2.176, 1.221)

    @staticmethod
    def score_file(path: Path) -> Any:
        return arena_score((row["question_id"], *(game["score"] for game in row["games"])) for row in read_lines(path))


class TestPairs:
    def test_only_stable_wins_and_losses_are_in_the_win_rate(self) -> None:
        wins, losses = [("w", "B>A", "A>B")] * 7, [("l", "A>B", "B>A")] * 3
        found = pairs_score(
            [*wins, *losses, ("t", "A=B", "A=B"), ("i", "A>B", "A>>B"), ("i", "A=B", "A>B"), ("u", None, "A>B")]
        )
        assert (found.wins, found.ties, found.losses, found.inconsistent) == (7, 1, 3, 2)
        assert (found.n, found.unread, found.win_rate) == (13, 1, 0.7)
        assert (found.low, found.high) == (pytest.approx(0.39677814746114537), pytest.approx(0.8922087325936989))
        assert found.p == 0.34375  # 2 · (C(10,0) + C(10,1) + C(10,2) + C(10,3)) / 2^10
        assert found.consistency == pytest.approx(11 / 13)

    def test_a_judge_that_prefers_what_it_sees_first_is_biased(self) -> None:
        assert pairs_score([(1, "A>B", "A>B"), (2, "A=B", "A>B")]).position_bias == 0.5
        assert pairs_score([(1, "B>A", "B>A")]).position_bias == -0.5
        assert pairs_score([(1, "A>B", "B>A")]).position_bias == 0.0

    def test_without_a_decision_there_is_no_rate(self) -> None:
        found = pairs_score([(1, "A=B", "A=B")])
        assert (found.win_rate, found.low, found.p, found.consistency, found.position_bias) == (
            None,
            None,
            1.0,
            1.0,
            None,
        )
        assert pairs_score([]).consistency is None


class TestCreative:
    def test_a_piece_is_the_mean_of_its_marks_and_nine_criteria_are_inverted(self) -> None:
        found = creative_score([[("Coherent", 18), ("Meandering", 4)], [("Coherent", 10)]])
        assert found.pieces == (85.0, 50.0)
        assert found.score == 67.5
        assert found.over_marks == pytest.approx(5 * (18 + 16 + 10) / 3)

    def test_a_piece_without_marks_or_with_an_unknown_one_leaves_the_mean(self) -> None:
        found = creative_score([[("Coherent", 18)], [], [("Coherent", None), ("Elegant Prose", 20)]])
        assert found.pieces == (90.0, None, None)
        assert (found.score, found.over_marks, found.n, found.unread) == (90.0, 90.0, 1, 2)
        assert creative_score([]).score is None

    def test_a_number_outside_of_the_scale_is_no_mark(self) -> None:
        marks = [("Coherent", 20.0), ("<analysis text>", 47.0), ("Elegant Prose", -1.0)]
        found = creative_score([marks, [("Coherent", 47.0)]])
        assert (found.pieces, found.dropped) == ((100.0, None), 3)
        assert creative_score([marks], largest=None).pieces == (5 * 67 / 2,)

    def test_every_shown_piece_and_average_follows_from_its_marks(self, shared_data: Path) -> None:
        folder = shared_data / "creative_v3_scores"
        iterations, older = defaultdict(list), set()
        for row in read_lines(folder / "marks.jsonl"):
            marks = [(name, mark) for name, mark in row["marks"]]
            iterations[row["model"], row["iteration"]].append(marks)
            newer, first = (self.show(creative_score([marks], largest).score) for largest in (20, None))
            assert row["shown"] in (newer, first)
            if newer != row["shown"]:
                older.add(row["model"])
        averages = json.loads((folder / "iteration_averages.json").read_text())
        for (model, iteration), pieces in iterations.items():
            found = creative_score(pieces, largest=None if model in older else 20)
            assert self.show(found.over_marks) == averages[model][iteration - 1]
        assert len(older) == 4  # their pages were made before numbers above 20 were dropped
        assert len(iterations) == 84

    @staticmethod
    def show(score: float | None) -> float:
        """As the pages do: the mean mark to two digits, times five."""
        return round(5 * round((score or 0) / 5, 2), 1)

    @pytest.mark.parametrize(
        ("model", "score"), [("deepseek-ai__DeepSeek-R1", 85.46), ("ministral-3b", 33.38), ("qwen__qwq-32b", 82.38)]
    )
    def test_the_score_over_pieces_is_the_one_that_was_recomputed(
        self, shared_data: Path, model: str, score: float
    ) -> None:
        rows = read_lines(shared_data / "creative_v3_scores/marks.jsonl")
        found = creative_score([[(name, mark) for name, mark in row["marks"]] for row in rows if row["model"] == model])
        assert (round(found.score or 0, 2), found.n) == (score, 96)


class TestChoice:
    @pytest.mark.parametrize(
        ("text", "letter"),
        [
            ("B", "B"),
            (" C. Cholesterol embolization", "C"),
            ('D"}', "D"),
            ("A/B", "A"),
            ("B or C", "B"),
            ("(D) because", "D"),
            ("**B**", "B"),
            ("A\nBecause of the fever.", "A"),
            ("It is viral.\nAnswer: C", "C"),
            ("**Answer:** (B)", "B"),
            (r"ANSWER: $\boxed{D}$", "D"),
            ('{"step": "A is wrong", "answer_choice": "B"}', "B"),
            ("Answer: B\nOn reflection, Answer: C", "B"),
            ("A patient with fever needs fluids", None),
            ("C'est la vie", None),
            ("E. Hepatitis E infection", None),
            ("None of the above", None),
            ("I would choose B", None),
            ("answer: because", None),
            ("", None),
        ],
    )
    def test_a_letter_is_read_only_where_it_is_given(self, text: str, letter: str | None) -> None:
        assert read_letter(text) == letter

    def test_an_unread_answer_is_wrong_or_gets_a_letter_and_an_empty_one_is_wrong(self) -> None:
        texts, answers = ["A", "none", "none", None, ""], ["A", "A", "B", "A", "A"]
        strict, lenient = choice_accuracy(texts, answers), choice_accuracy(texts, answers, unread="A")
        assert (strict.accuracy, strict.unread, strict.empty, strict.n) == (20.0, 4, 2, 5)
        assert (lenient.accuracy, lenient.unread) == (40.0, 4)
        assert lenient.correct == (True, True, False, False, False)
        assert choice_accuracy([], []).accuracy is None

    def test_what_cannot_be_compared_is_refused(self) -> None:
        with pytest.raises(RubricError, match="1 texts for 2 answers; give one for each question"):
            choice_accuracy(["A"], ["A", "B"])
        with pytest.raises(RubricError, match="unread is 'right'; give wrong, or one of the letters ABCD"):
            choice_accuracy(["A"], ["A"], unread="right")
        with pytest.raises(RubricError, match="an answer is 'E'; give one of the letters ABCD"):
            choice_accuracy(["A"], ["E"])

    @pytest.mark.parametrize(
        ("system", "lenient", "strict"),
        [("cot-gpt-4", 83.97, 82.95), ("rag_32-gpt-3.5", 66.61, 65.59), ("cot-gpt-3.5", 64.89, 64.57)],
    )
    def test_medqa_gives_the_published_accuracies_and_the_ones_without_the_gift(
        self, shared_data: Path, system: str, lenient: float, strict: float
    ) -> None:
        rows = read_lines(shared_data / "medqa/mirage_predictions.jsonl")
        texts, answers = [row[system] for row in rows], [row["answer"] for row in rows]
        found = [choice_accuracy(texts, answers, unread=unread).accuracy for unread in ("A", "wrong")]
        assert [round(one or 0, 2) for one in found] == [lenient, strict]

    def test_the_two_smaller_systems_do_not_differ_on_medqa(self, shared_data: Path) -> None:
        rows = read_lines(shared_data / "medqa/mirage_predictions.jsonl")
        answers = [row["answer"] for row in rows]
        first, second = (
            dict(enumerate(choice_accuracy([row[name] for row in rows], answers).correct))
            for name in ("cot-gpt-3.5", "rag_32-gpt-3.5")
        )
        found = compare_accuracy(first, second)
        assert (found.first_only, found.second_only, round(found.p, 4)) == (139, 152, 0.4818)


def make_pairs(both: int, only_judge: int, only_label: int, neither: int) -> list[tuple[bool | None, bool | None]]:
    counts = {(True, True): both, (True, False): only_judge, (False, True): only_label, (False, False): neither}
    return [pair for pair, count in counts.items() for _ in range(count)]


class TestBalancedF1:
    @pytest.mark.parametrize(
        ("counts", "value"),
        [((130, 24, 29, 25), 0.658054), ((83, 14, 76, 35), 0.542969), ((135, 29, 24, 20), 0.633010)],
    )
    def test_the_counts_of_three_judges_give_what_the_official_code_printed(
        self, counts: tuple[int, int, int, int], value: float
    ) -> None:
        assert balanced_f1(make_pairs(*counts)) == pytest.approx(value, abs=5e-7)

    def test_a_judge_with_one_answer_has_none(self) -> None:
        assert balanced_f1([(True, True), (True, False)]) is None
        assert balanced_f1([(False, True), (False, False)]) is None
        assert balanced_f1([(True, True), (False, True)]) is None
        assert balanced_f1([]) is None

    def test_an_unknown_verdict_makes_no_pair(self) -> None:
        assert balanced_f1([*make_pairs(1, 0, 0, 1), (None, True), (True, None)]) == 1.0

    def test_one_sided_criteria_are_named_and_counted_both_ways(self) -> None:
        found = balanced_f1_by_criterion(
            {"both": make_pairs(1, 0, 0, 1), "yes": make_pairs(2, 1, 0, 0), "same": make_pairs(3, 0, 0, 0), "empty": []}
        )
        assert found.by_criterion == {"both": 1.0, "yes": None, "same": None, "empty": None}
        assert (found.mean, found.one_sided) == (1.0, ("yes", "same", "empty"))
        assert found.mean_of_all == pytest.approx((1.0 + 0.4 + 0.5) / 3)

    @pytest.mark.parametrize(("judge", "mean"), [("DeepSeek-V4-Pro", 0.619), ("physicians", 0.649)])
    def test_the_paper_s_means_are_plain_means_over_its_34_criteria(self, judge: str, mean: float) -> None:
        table = load_paper()["judge_agreement_balanced_f1"]
        counts, themes = table["n_criteria"][:-1], table[judge][:-1]
        assert sum(counts) == 34
        assert sum(n * value for n, value in zip(counts, themes, strict=True)) / 34 == pytest.approx(mean, abs=5e-4)
