"""The paper's training settings, once for every trainer: all runs share `PAPER` and differ in their `Variant`.

A step is a rollout of 64 prompts with 8 responses each, used for two updates of 32 prompts. What else the paper varies
(raw-and, k1, implicit, weighted, …) changes the scheme and nothing here: give it to `make_paper_reward`.
"""

from dataclasses import KW_ONLY
from typing import Any

from prorubric.errors import ConfigError
from prorubric.reward.reward import Overlong, RewardConfig
from prorubric.rubric.base import config_record


@config_record
class Paper:
    """What all of the paper's runs have in common."""

    _: KW_ONLY
    prompts: int = 64
    """In one rollout."""
    responses: int = 8
    """To each prompt."""
    mini_batch: int = 32
    """Prompts of one update."""
    rollouts: int = 300
    learning_rate: float = 1e-6
    warmup_steps: int = 10
    clip_low: float = 0.20
    clip_high: float = 0.28
    temperature: float = 1.0
    top_p: float = 1.0
    prompt_limit: int = 4096
    """In tokens; a longer prompt is left out."""
    overlong_factor: float = 0.5
    keep_every: int = 50
    """Rollouts between two checkpoints, and between two validations."""
    seeds: tuple[int, ...] = (42, 43, 44)


@config_record
class Variant:
    """What differs between the runs."""

    scheme: str
    _: KW_ONLY
    response_limit: int = 8192
    overlong_buffer: int = 4096
    """How many tokens below the limit the reward begins to shrink."""
    kl: float = 0.0
    """Weight of the KL loss to the reference policy (k3, the low-variance estimator); 0 for none."""


PAPER = Paper()
VARIANTS: dict[str, Variant] = {
    "rubric-rl": Variant("additive"),
    "prorubric": Variant("prorubric"),
    "graded": Variant("graded"),
    "length-matched": Variant("additive", response_limit=4096, overlong_buffer=2048),
    **{f"rubric-rl-kl-{kl}": Variant("additive", kl=kl) for kl in (0.005, 0.01, 0.04)},
    **{f"prorubric-kl-{kl}": Variant("prorubric", kl=kl) for kl in (0.005, 0.01, 0.04)},
}


def find_variant(variant: str | Variant) -> Variant:
    """The variant of this name; your own variant is returned as it is."""
    if isinstance(variant, Variant):
        return variant
    if variant not in VARIANTS:
        raise ConfigError(f"no run of the paper is called {variant!r}; known: {', '.join(VARIANTS)}")
    return VARIANTS[variant]


def make_paper_reward(variant: str | Variant, **options: Any) -> RewardConfig:
    """The reward of a run; `options` (judge, tasks, …) are those of `RewardConfig` and win over the paper's."""
    found = find_variant(variant)
    overlong = Overlong(limit=found.response_limit, buffer=found.overlong_buffer, factor=PAPER.overlong_factor)
    return RewardConfig(**{"scheme": found.scheme, "overlong": overlong, **options})
