"""Scaffolds."""

from dataclasses import KW_ONLY
from typing import Literal

from prorubric.rubric.base import config_record


@config_record
class Scaffold:
    """How a rubric is shown to the policy."""

    _: KW_ONLY
    role: Literal["user", "system"] = "user"
    train_on: Literal["scaffolded", "original"] = "scaffolded"
    schedule: Literal["sigmoid", "linear"] = "sigmoid"
    alpha: float = 125.0
    start: float = 0.2
    shuffle: bool = True
