"""Best of n: which answer is kept, and what becomes of unknown scores."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.rubric.records import Response
from prorubric.train.best_of import BestOf, choose_best


def choose(*rows: tuple[str, int, float | None]) -> BestOf:
    """Of answers given by task, sample and score."""
    responses = [Response(task_id=task, text=f"{task}{sample}", sample=sample) for task, sample, _ in rows]
    return choose_best(responses, [score for *_, score in rows])


def test_the_highest_score_of_each_task_is_chosen() -> None:
    best = choose(("b", 0, 0.2), ("a", 0, -1.0), ("b", 1, 0.7), ("a", 1, -2.0), ("b", 2, 0.3))
    assert [response.text for response in best.chosen] == ["b1", "a0"]
    assert best.scores == (0.7, -1.0)
    assert (best.left_out, best.unknown) == ((), 0)


def test_of_equal_scores_the_earliest_sample_wins_wherever_it_is_in_the_file() -> None:
    best = choose(("a", 2, 0.5), ("a", 1, 0.5), ("a", 3, 0.5))
    assert [response.text for response in best.chosen] == ["a1"]


@pytest.mark.parametrize("unknown", [None, math.nan, math.inf])
def test_an_unknown_score_never_wins_and_is_counted(unknown: float | None) -> None:
    best = choose(("a", 0, unknown), ("a", 1, -5.0), ("a", 2, unknown))
    assert [response.text for response in best.chosen] == ["a1"]
    assert best.unknown == 2


def test_a_task_without_a_known_score_is_left_out_and_named() -> None:
    best = choose(("a", 0, None), ("b", 0, 0.0), ("a", 1, None))
    assert [response.text for response in best.chosen] == ["b0"]
    assert (best.left_out, best.unknown) == (("a",), 2)


def test_scores_that_do_not_fit_the_answers_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        choose_best([Response(task_id="a", text="")], [])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5), st.none() | st.floats(-1, 1))))
def test_what_is_chosen_is_as_good_as_anything_known(rows: list[tuple[str, int, float | None]]) -> None:
    best = choose(*rows)
    for response, score in zip(best.chosen, best.scores, strict=True):
        known = [(value, sample) for task, sample, value in rows if task == response.task_id and value is not None]
        assert score == max(known)[0]
        assert response.sample == min(sample for value, sample in known if value == score)
    tasks = {task for task, *_ in rows}
    assert len(best.chosen) + len(best.left_out) == len(tasks)
    assert best.unknown == sum(score is None for *_, score in rows)
