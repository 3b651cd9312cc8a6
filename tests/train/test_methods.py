"""The methods have the settings that the paper gives."""

import json
from pathlib import Path
from typing import Any

import pytest

from prorubric.errors import ConfigError
from prorubric.reward.reward import Overlong, RewardConfig
from prorubric.train.methods import METHODS, PAPER, SEEDS, Settings, Shaping, find_method, make_paper_reward


def test_the_settings_are_the_papers(shared_data: Path) -> None:
    said = json.loads((shared_data.parent / "paper/results.json").read_text())["training"]
    run = said["rubric_rl_and_prorubric"]
    length = PAPER.price_length()
    assert length is not None
    assert {
        "steps": PAPER.rollouts,
        "prompts_per_batch": PAPER.prompts,
        "responses_per_prompt": PAPER.responses,
        "mini_batch": PAPER.mini_batch,
        "lr": PAPER.rate,
        "warmup_steps": PAPER.warmup,
        "schedule": "constant",
        "prompt_limit": PAPER.prompt_limit,
        "response_limit": PAPER.response_limit,
        "overlong_buffer": length.buffer,
        "overlong_factor": length.factor,
        "clip_low": PAPER.clip[0],
        "clip_high": PAPER.clip[1],
        "kl": PAPER.kl,
        "temperature": PAPER.temperature,
        "top_p": PAPER.top_p,
        "save_and_validate_every": PAPER.every,
    } == run
    assert [METHODS[f"rubric-rl-kl-{kl}"].kl for kl in said["kl_betas"]] == said["kl_betas"]
    assert [METHODS[f"prorubric-kl-{kl}"].kl for kl in said["kl_betas"]] == said["kl_betas"]


def test_the_reward_of_a_run_has_its_scheme_and_its_shaping() -> None:
    assert make_paper_reward("length-matched", judge="lexical") == RewardConfig(
        "lexical", scheme="additive", overlong=Overlong(limit=4096, buffer=2048, factor=0.5)
    )
    assert make_paper_reward("graded", judge="lexical").scheme == "graded"


def test_options_win_over_the_papers() -> None:
    made = make_paper_reward("prorubric", judge="lexical", scheme="raw-and", overlong=None, shadow=("additive",))
    assert made == RewardConfig("lexical", scheme="raw-and", shadow=("additive",))


def test_the_baselines_are_the_papers(shared_data: Path) -> None:
    said = json.loads((shared_data.parent / "paper/results.json").read_text())["training"]
    scaffold, teacher, tuned = METHODS["ruscarl"], METHODS["opsd"], METHODS["sft"]
    # The paper lays the eight responses to a prompt out as rows of their own; here they are a group.
    assert scaffold.prompts * scaffold.responses == said["ruscarl"]["prompts_per_batch"]
    assert scaffold.mini_batch * scaffold.responses == said["ruscarl"]["mini_batch"]
    assert scaffold.prompt_limit == said["ruscarl"]["prompt_limit"]
    assert {
        "steps": teacher.rollouts,
        "prompts_per_batch": teacher.prompts,
        "responses_per_prompt": teacher.responses,
        "mini_batch": teacher.mini_batch,
        "lr": teacher.rate,
        "prompt_limit": teacher.prompt_limit,
        "response_limit": teacher.response_limit,
    } == said["opsd"]
    assert tuned.sft is not None
    assert (tuned.sft.epochs, tuned.sft.batch, tuned.rate) == (3, 64, said["sft"]["lr"])
    assert (tuned.sft.warmup_share, tuned.weight_decay, tuned.sft.row_limit) == (0.05, 0.1, 20_000)
    assert SEEDS == (42, 43, 44)


def test_settings_of_your_own_are_taken_and_an_unknown_name_is_refused() -> None:
    own = Settings(scheme="k1", response_limit=2048, overlong=Shaping(buffer=512), kl=0.1)
    assert find_method(own) is own
    with pytest.raises(
        ConfigError, match=r"no method is called 'prorubrik'; did you mean prorubric\? known: rubric-rl, "
    ):
        find_method("prorubrik")


def test_a_name_may_end_with_appropriateness_and_a_function_is_a_scheme() -> None:
    assert find_method("rubric-rl+appropriateness") == Settings(scheme="additive+appropriateness")
    assert find_method("no-failure+appropriateness").scheme == "prorubric-no-failure+appropriateness"
    assert (
        find_method("tests.aggregate.own_schemes:half_the_mark").scheme == "tests.aggregate.own_schemes:half_the_mark"
    )
    with pytest.raises(ConfigError, match="no method is called 'sft\\+appropriateness'"):
        find_method("sft+appropriateness")


def test_the_buffer_is_half_of_the_limit_unless_it_is_given() -> None:
    assert Settings(response_limit=2048).price_length() == Overlong(limit=2048, buffer=1024, factor=0.5)
    assert Settings(overlong=None).price_length() is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"prompts": 63}, "63 prompts do not divide into mini-batches of 32; choose another prompts or mini_batch"),
        ({"responses": 1}, "responses is 1; GRPO compares the responses to a prompt: give 2 or more"),
        ({"overlong": {"buffer": 9000}}, "overlong: the buffer 9000 is above the response_limit 8192"),
    ],
)
def test_settings_that_cannot_be_run_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Settings(**options)
    assert str(refused.value).removeprefix("Settings: ") == said
