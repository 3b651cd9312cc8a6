"""On-policy self-distillation (OPSD, RGSD): the policy learns from itself with the rubric in its prompt.

The student answers the prompt. The teacher, the same model with the rubric in its context, reads that answer, and the
student moves towards the teacher's distribution at every token. With teacher p and student q, m = β·p + (1-β)·q and a
token's loss is β·KL(p‖m) + (1-β)·KL(q‖m). Divided by β·(1-β) it tends to KL(p‖q) for β → 0 and to KL(q‖p) for β → 1;
β = 0 and β = 1 stand for these two.

`self_distillation_loss` is the definition; `train/trl_distillation.py` has the same in torch.
"""

from dataclasses import KW_ONLY
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from prorubric.errors import ConfigError
from prorubric.rubric.base import config_record
from prorubric.rubric.records import Task
from prorubric.train.guidance import list_guidance, render_guidance

ClipMode = Literal["token", "element", "none"]
Support = Literal["teacher", "student", "full"]
Teacher = Literal["base", "ema", "live"]

_Array = NDArray[np.float64]


@config_record
class Distillation:
    """The loss of self-distillation and its teacher; the defaults are RGSD's, where it gives them."""

    _: KW_ONLY
    beta: Annotated[float, Field(ge=0, le=1)] = 0.5
    """The teacher's share in the mixture; 0 is KL(teacher‖student), 1 is KL(student‖teacher)."""
    clip: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.05
    """Maximum that one token, or one entry of the vocabulary, adds to the loss."""
    clip_mode: ClipMode = "token"
    """What is clipped: a token's loss, each entry of the vocabulary before they are added up, or nothing.

    Entries may be negative, so with `element` the loss may be, too.
    """
    support: Support = "teacher"
    """The tokens compared: the teacher's or the student's most likely ones, renormalised, or the whole vocabulary."""
    top_k: Annotated[int, Field(ge=1)] = 128
    """Number of most likely tokens to compare."""
    teacher: Teacher = "base"
    """The policy before training, a moving average of it, or the policy itself."""
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """Sampling temperature; the logits of both are divided by it."""


def render_teacher_text(task: Task) -> str:
    """What the teacher gets besides the prompt, at the end of the last user message: the whole rubric."""
    return render_guidance("teacher", list_guidance(task))


def self_distillation_loss(  # noqa: PLR0913 - the options of `Distillation`
    teacher_logits: ArrayLike,
    student_logits: ArrayLike,
    *,
    beta: float = 0.5,
    clip: float = 0.05,
    clip_mode: ClipMode = "token",
    support: Support = "teacher",
    top_k: int = 128,
    temperature: float = 1.0,
) -> float:
    """The mean loss of the tokens of an answer, from logits of tokens × vocabulary."""
    options = Distillation(
        beta=beta, clip=clip, clip_mode=clip_mode, support=support, top_k=top_k, temperature=temperature
    )
    teacher, student = (np.asarray(logits, np.float64) / temperature for logits in (teacher_logits, student_logits))
    if teacher.shape != student.shape or teacher.ndim != 2 or not teacher.size:
        detail = f"got {teacher.shape} and {student.shape}"
        remedy = "give two arrays of tokens × vocabulary, with at least one token"
        raise ConfigError("the logits do not fit each other", detail, remedy=remedy, place="self_distillation_loss")
    if support != "full":
        order = np.argsort(-(teacher if support == "teacher" else student), axis=-1, kind="stable")[:, :top_k]
        teacher, student = (np.take_along_axis(logits, order, axis=-1) for logits in (teacher, student))
    return float(_list_token_losses(_log_softmax(teacher), _log_softmax(student), options).mean())


def _list_token_losses(teacher: _Array, student: _Array, options: Distillation) -> _Array:
    """The loss of each token from the log-probabilities of tokens × vocabulary."""
    beta = options.beta
    if beta == 0:
        entries = _list_divergences(teacher, student)
    elif beta == 1:
        entries = _list_divergences(student, teacher)
    else:
        mixture = np.logaddexp(np.log(beta) + teacher, np.log1p(-beta) + student)
        entries = beta * _list_divergences(teacher, mixture) + (1 - beta) * _list_divergences(student, mixture)
    if options.clip_mode == "element":
        entries = np.minimum(entries, options.clip)
    losses: _Array = entries.sum(axis=-1)
    return np.minimum(losses, options.clip) if options.clip_mode == "token" else losses


def _list_divergences(first: _Array, second: _Array) -> _Array:
    """What each entry adds to KL(first‖second); nothing where the first has no mass."""
    mass = np.exp(first)
    with np.errstate(invalid="ignore"):  # -∞ minus -∞, where the mass is 0
        return np.where(mass > 0, mass * (first - second), 0.0)


def _log_softmax(logits: _Array) -> _Array:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    normalised: _Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return normalised
