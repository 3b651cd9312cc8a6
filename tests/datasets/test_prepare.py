"""Preparation as in the paper, and the draw of the held-out part."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prorubric import Criterion, Message, Rubric, Task
from prorubric.datasets.ids import hash_prompt
from prorubric.datasets.prepare import HeldOut, Preparation
from prorubric.errors import ConfigError
from tests.thorough import few_or


def make_task(prompt: str, weights: list[float] | None = None, turns: int = 1) -> Task:
    criteria = tuple(Criterion(text=f"c{i}", weight=weight) for i, weight in enumerate(weights or [1.0] * 5))
    messages = (Message(role="user", content=prompt),) * turns
    return Task(id=prompt, messages=messages, rubric=Rubric(criteria=criteria))


def draw(prompts: list[str], size: int, seed: int = 42) -> set[str]:
    """The prompts that are held out of these."""
    held_out = HeldOut(size, seed)
    for prompt in prompts:
        held_out.offer(make_task(prompt))
    chosen = held_out.chosen()
    return {prompt for prompt in prompts if hash_prompt(make_task(prompt).messages) in chosen}


PROMPTS = [f"prompt {i}" for i in range(200)]


class TestPreparation:
    @pytest.mark.parametrize(
        ("count", "reason"),
        [
            (4, "fewer than 5 criteria"),
            (5, None),
            (60, None),
            (61, "more than 60 criteria"),
            (1, "fewer than 5 criteria"),
        ],
    )
    def test_five_to_sixty_criteria_are_kept(self, count: int, reason: str | None) -> None:
        assert Preparation().refuse(make_task("a", [1.0] * count)) == reason

    @pytest.mark.parametrize(
        ("last", "reason"),
        [(-3.0, None), (-4.0, "total weight is not positive"), (-9.0, "total weight is not positive")],
    )
    def test_the_total_weight_must_be_positive(self, last: float, reason: str | None) -> None:
        assert Preparation().refuse(make_task("a", [1.0, 1.0, 1.0, 1.0, last])) == reason

    def test_a_prompt_is_kept_once(self) -> None:
        preparation = Preparation()
        reasons = [preparation.refuse(make_task(prompt)) for prompt in ("a", "b", "a", " a\n", "A")]
        assert reasons == [None, None, "prompt seen before", "prompt seen before", None]

    def test_more_turns_are_another_prompt(self) -> None:
        preparation = Preparation()
        assert [preparation.refuse(make_task("a", turns=turns)) for turns in (1, 2)] == [None, None]

    def test_a_task_that_is_left_out_does_not_take_the_place_of_its_prompt(self) -> None:
        preparation = Preparation()
        assert preparation.refuse(make_task("a", [1.0])) == "fewer than 5 criteria"
        assert preparation.refuse(make_task("a")) is None

    def test_the_limits_can_be_set(self) -> None:
        preparation = Preparation(min_criteria=2, max_criteria=3)
        reasons = [preparation.refuse(make_task(str(count), [1.0] * count)) for count in (1, 2, 3, 4)]
        assert reasons == ["fewer than 2 criteria", None, None, "more than 3 criteria"]

    @pytest.mark.parametrize(("least", "most"), [(0, 5), (-1, 5), (6, 5), (0, 0)])
    def test_limits_that_no_rubric_can_meet_are_refused(self, least: int, most: int) -> None:
        with pytest.raises(ConfigError, match=f"criteria from {least} to {most}: no rubric can have that"):
            Preparation(least, most)


class TestHeldOut:
    @settings(max_examples=few_or(80), deadline=None)
    @given(st.integers(0, 60), st.integers(0, 60), st.integers(-5, 5))
    def test_exactly_so_many_prompts_are_drawn_or_all(self, size: int, count: int, seed: int) -> None:
        assert len(draw(PROMPTS[:count], size, seed)) == min(size, count)

    @settings(max_examples=few_or(80), deadline=None)
    @given(st.randoms(use_true_random=False), st.integers(0, 5))
    def test_the_draw_does_not_depend_on_the_order(self, shuffler: random.Random, seed: int) -> None:
        shuffled = PROMPTS.copy()
        shuffler.shuffle(shuffled)
        assert draw(shuffled, 20, seed) == draw(PROMPTS, 20, seed)

    def test_another_seed_draws_other_prompts(self) -> None:
        assert len({frozenset(draw(PROMPTS, 20, seed)) for seed in range(10)}) == 10

    def test_every_prompt_is_drawn_about_equally_often(self) -> None:
        counts = [sum(prompt in draw(PROMPTS[:20], 5, seed) for seed in range(200)) for prompt in PROMPTS[:4]]
        assert all(30 <= count <= 70 for count in counts)

    @settings(max_examples=few_or(80), deadline=None)
    @given(st.integers(1, 30), st.integers(30, 200))
    def test_when_the_file_grows_no_prompt_moves_into_the_held_out_part(self, size: int, before: int) -> None:
        assert draw(PROMPTS, size) & set(PROMPTS[:before]) <= draw(PROMPTS[:before], size)

    def test_a_prompt_that_comes_often_is_drawn_once(self) -> None:
        assert len(draw(PROMPTS[:10] * 5, 6)) == 6
        assert draw(PROMPTS[:10] * 5, 6) == draw(PROMPTS[:10], 6)
