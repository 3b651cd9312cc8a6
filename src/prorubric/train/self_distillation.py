"""Self-distillation."""

from dataclasses import KW_ONLY
from typing import Literal

from prorubric.rubric.base import config_record


@config_record
class Distillation:
    """How the divergence is computed."""

    _: KW_ONLY
    beta: float = 0.5
    clip: float = 0.05
    clip_mode: Literal["token", "element", "none"] = "token"
    support: Literal["teacher", "student", "full"] = "teacher"
    top_k: int = 128
    teacher: Literal["base", "ema", "live"] = "base"
    temperature: float = 1.0
