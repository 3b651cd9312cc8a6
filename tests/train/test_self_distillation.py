"""Self-distillation: the loss against a slow one, its limits, and what only the teacher sees."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prorubric import SAMPLE_TASKS, load_tasks
from prorubric.errors import ConfigError
from prorubric.train import self_distillation_loss
from prorubric.train.guidance import add_guidance
from prorubric.train.self_distillation import Distillation, render_teacher_text
from tests.thorough import few_or
from tests.train.slow_distillation import OPTIONS, slow_loss

PLAIN: dict[str, Any] = {"clip_mode": "none", "support": "full"}


def draw_logits(tokens: int = 6, vocabulary: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draws = np.random.default_rng(seed)
    return draws.normal(0, 2, (tokens, vocabulary)), draws.normal(0, 2, (tokens, vocabulary))


def test_it_equals_a_slow_loss_for_every_combination_of_options() -> None:
    teacher, student = draw_logits()
    for options in OPTIONS:
        expected = slow_loss(teacher.tolist(), student.tolist(), **options)
        found = self_distillation_loss(teacher, student, **options)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-15), options


class TestExactExamples:
    teacher, student = np.log([[0.5, 0.5]]), np.log([[0.25, 0.75]])

    @pytest.mark.parametrize(
        ("beta", "expected"),
        [
            (0.0, 0.5 * math.log(2) + 0.5 * math.log(2 / 3)),
            (1.0, 0.25 * math.log(1 / 2) + 0.75 * math.log(3 / 2)),
            (
                0.5,
                (0.5 * math.log(4 / 3) + 0.5 * math.log(4 / 5) + 0.25 * math.log(2 / 3) + 0.75 * math.log(6 / 5)) / 2,
            ),
        ],
    )
    def test_two_tokens(self, beta: float, expected: float) -> None:
        assert self_distillation_loss(self.teacher, self.student, beta=beta, **PLAIN) == pytest.approx(expected)

    def test_a_tokens_loss_is_clipped_before_the_mean(self) -> None:
        teacher, student = np.log([[0.5, 0.5], [0.5, 0.5]]), np.log([[0.25, 0.75], [0.5, 0.5]])
        assert self_distillation_loss(teacher, student, clip=0.01, support="full") == 0.005

    def test_entries_are_clipped_before_the_sum_which_may_be_negative(self) -> None:
        options = {"beta": 0.0, "clip_mode": "element", "support": "full"}
        found = self_distillation_loss(self.teacher, self.student, clip=0.05, **options)
        assert found == pytest.approx(0.05 + 0.5 * math.log(2 / 3))
        assert found < 0

    def test_the_support_is_the_one_of_whoever_is_asked_for(self) -> None:
        teacher, student = np.log([[0.6, 0.3, 0.1]]), np.log([[0.2, 0.2, 0.6]])
        found = [
            self_distillation_loss(teacher, student, beta=0.0, clip_mode="none", support=support, top_k=2)
            for support in ("teacher", "student")
        ]
        on_teacher = 2 / 3 * math.log(4 / 3) + 1 / 3 * math.log(2 / 3)
        on_student = 6 / 7 * math.log((6 / 7) / (1 / 4)) + 1 / 7 * math.log((1 / 7) / (3 / 4))
        assert found == pytest.approx([on_teacher, on_student])


@settings(max_examples=few_or(200))
@given(
    arrays(np.float64, (2, 3, 7), elements=st.floats(-1e4, 1e4)),
    st.sampled_from(OPTIONS).filter(lambda options: options["clip_mode"] != "element"),
)
def test_it_is_finite_never_negative_and_at_most_the_clip(logits: np.ndarray, options: dict[str, Any]) -> None:
    loss = self_distillation_loss(*logits, **options)
    assert math.isfinite(loss)
    assert loss >= -1e-12
    if options["clip_mode"] == "token":
        assert loss <= options["clip"] * (1 + 1e-12)  # the mean rounds


@pytest.mark.parametrize("options", OPTIONS[::7])
def test_a_teacher_that_says_the_same_teaches_nothing(options: dict[str, Any]) -> None:
    teacher, _ = draw_logits()
    assert self_distillation_loss(teacher, teacher + 1000, **options) == pytest.approx(0, abs=1e-12)


def test_small_and_large_shares_tend_to_the_two_divergences() -> None:
    teacher, student = draw_logits()
    tiny = 1e-6
    near = [self_distillation_loss(teacher, student, beta=beta, **PLAIN) / tiny for beta in (tiny, 1 - tiny)]
    exact = [self_distillation_loss(teacher, student, beta=beta, **PLAIN) for beta in (0.0, 1.0)]
    assert near == pytest.approx(exact, rel=1e-4)


def test_tokens_that_are_ruled_out_add_nothing() -> None:
    teacher, student = draw_logits(2, 5)
    ruled_out = np.pad(teacher, ((0, 0), (0, 1)), constant_values=-np.inf)
    both = np.pad(student, ((0, 0), (0, 1)), constant_values=-np.inf)
    for beta in (0.0, 0.5, 1.0):
        assert self_distillation_loss(ruled_out, both, beta=beta, **PLAIN) == pytest.approx(
            self_distillation_loss(teacher, student, beta=beta, **PLAIN)
        )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"beta": 1.5}, "Distillation: beta: Input should be less than or equal to 1"),
        ({"clip": 0}, "Distillation: clip: Input should be greater than 0"),
        ({"clip_mode": "sum"}, "Distillation: clip_mode: Input should be 'token', 'element' or 'none'"),
        ({"support": "both"}, "Distillation: support: Input should be 'teacher', 'student' or 'full'"),
        ({"temperature": 0}, "Distillation: temperature: Input should be greater than 0"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        self_distillation_loss(*draw_logits(), **options)


@pytest.mark.parametrize(("teacher", "student"), [((2, 3), (2, 4)), ((0, 3), (0, 3)), ((3,), (3,))])
def test_logits_that_do_not_fit_are_refused(teacher: tuple[int, ...], student: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="the logits do not fit each other"):
        self_distillation_loss(np.zeros(teacher), np.zeros(student))


def test_the_defaults_are_a_clipped_mixture_with_the_untrained_policy() -> None:
    assert Distillation() == Distillation(
        beta=0.5, clip=0.05, clip_mode="token", support="teacher", top_k=128, teacher="base", temperature=1.0
    )


def test_the_teacher_is_told_every_criterion_and_the_prompt_is_unchanged() -> None:
    for task in load_tasks(SAMPLE_TASKS):
        plain = [message.model_dump() for message in task.messages]
        text = render_teacher_text(task)
        *before, last = add_guidance(plain, text)
        assert before == plain[:-1]
        assert last == {"role": "user", "content": f"{plain[-1]['content']}\n\n{text}"}
        assert all(criterion.text in text for criterion in task.rubric.criteria)
        assert text.count("\n- ") == len(task.rubric)


def test_without_a_text_the_teacher_sees_what_the_student_sees() -> None:
    chat = [{"role": "user", "content": "Is it safe?"}]
    assert add_guidance(chat, "") == chat
