"""The paper's settings are those that the paper gives."""

import json
from pathlib import Path

import pytest

from prorubric.errors import ConfigError
from prorubric.reward.reward import Overlong, RewardConfig
from prorubric.train.paper import PAPER, VARIANTS, Variant, find_variant, make_paper_reward


def test_the_settings_are_the_papers(shared_data: Path) -> None:
    said = json.loads((shared_data.parent / "paper/results.json").read_text())["training"]
    run = said["rubric_rl_and_prorubric"]
    plain = VARIANTS["prorubric"]
    assert {
        "steps": PAPER.rollouts,
        "prompts_per_batch": PAPER.prompts,
        "responses_per_prompt": PAPER.responses,
        "mini_batch": PAPER.mini_batch,
        "lr": PAPER.learning_rate,
        "warmup_steps": PAPER.warmup_steps,
        "schedule": "constant",
        "prompt_limit": PAPER.prompt_limit,
        "response_limit": plain.response_limit,
        "overlong_buffer": plain.overlong_buffer,
        "overlong_factor": PAPER.overlong_factor,
        "clip_low": PAPER.clip_low,
        "clip_high": PAPER.clip_high,
        "kl": plain.kl,
        "temperature": PAPER.temperature,
        "top_p": PAPER.top_p,
        "save_and_validate_every": PAPER.keep_every,
    } == run
    assert [VARIANTS[f"rubric-rl-kl-{kl}"].kl for kl in said["kl_betas"]] == said["kl_betas"]
    assert [VARIANTS[f"prorubric-kl-{kl}"].kl for kl in said["kl_betas"]] == said["kl_betas"]


def test_the_reward_of_a_run_has_its_scheme_and_its_shaping() -> None:
    assert make_paper_reward("length-matched", judge="lexical") == RewardConfig(
        "lexical", scheme="additive", overlong=Overlong(limit=4096, buffer=2048, factor=0.5)
    )
    assert make_paper_reward("graded", judge="lexical").scheme == "graded"


def test_options_win_over_the_papers() -> None:
    made = make_paper_reward("prorubric", judge="lexical", scheme="raw-and", overlong=None, shadow=("additive",))
    assert made == RewardConfig("lexical", scheme="raw-and", shadow=("additive",))


def test_a_variant_of_ones_own_is_taken_and_a_name_that_is_none_refused() -> None:
    own = Variant("k1", response_limit=2048, overlong_buffer=512, kl=0.1)
    assert find_variant(own) is own
    with pytest.raises(ConfigError, match="no run of the paper is called 'dapo'; known: rubric-rl, prorubric, graded,"):
        find_variant("dapo")
