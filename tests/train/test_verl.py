"""verl: the same reward through its workers, nothing invented where there is none, and settings that it accepts.

The first half needs verl's own environment and asks it everything in two processes; the second half needs no verl.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prorubric import RewardConfig, Unknown, load_samples
from prorubric.aggregate.advantages import channel_advantages, group_advantages
from prorubric.aggregate.arithmetic import overlong_penalty
from prorubric.aggregate.score import score
from prorubric.errors import ConfigError, UnjudgedError
from prorubric.reward.channels import read_channels, weigh_channels
from prorubric.reward.monitor import MonitorConfig
from prorubric.reward.reward import RubricReward
from prorubric.reward.trend import AlarmRule
from prorubric.train.methods import METHODS
from prorubric.train.verl import ABSENT, UNKNOWN, compute_score
from prorubric.train.verl_settings import VerlRun, render_overrides, render_value
from tests.train.parity import (
    Pair,
    decide_all,
    expect,
    expect_transcripts,
    load_pairs,
    render_rewards,
    reward_options,
    stays_silent,
)
from tests.train.running import run_in, trainers

KEYS = ["score", "judge_failed", "low", "high", "overlong", *(f"dimension_{number}" for number in range(1, 6))]


@pytest.fixture(scope="module")
def pairs(parity: Path) -> list[Pair]:
    return load_pairs(parity)


@pytest.fixture(scope="module")
def parts(parity: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run_in("verl", "verl_parts.py", parity, tmp_path_factory.mktemp("verl"))


@pytest.fixture(scope="module")
def on_ray(parity: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    variables = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    return run_in("verl", "verl_ray.py", parity, tmp_path_factory.mktemp("ray"), variables=variables)


def known(pairs: Sequence[Pair], scheme: str = "prorubric") -> list[int]:
    return [number for number, pair in enumerate(pairs) if pair.expected[scheme] is not None]


def failed(pairs: Sequence[Pair], scheme: str = "prorubric") -> list[int]:
    return [number for number, pair in enumerate(pairs) if pair.expected[scheme] is None]


def group_mean(pairs: Sequence[Pair], pair: Pair) -> float:
    values = [other.expected["prorubric"] for other in pairs if other.task.id == pair.task.id]
    rewards = [value for value in values if value is not None]
    return math.fsum(rewards) / len(rewards)


def middle(pair: Pair, scheme: str) -> float:
    found = score(decide_all(pair.task, pair.text, scheme), pair.task, scheme)
    return (found.low + found.high) / 2


# Rewards


@trainers
@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("naive prorubric", "prorubric"),
        ("gdpo prorubric", "prorubric"),
        ("naive additive", "additive"),
        ("naive graded", "graded"),
    ],
)
def test_verls_own_managers_get_our_reward_to_the_bit_and_an_error_for_a_failed_row(
    parts: dict[str, Any], pairs: list[Pair], name: str, scheme: str
) -> None:
    told = parts["managers"][name]
    assert told["rewards"] == expect(pairs, scheme)
    assert told["types"] == ["float"]
    raised = {number: said for number, said in enumerate(told["raised"]) if said}
    assert sorted(raised) == failed(pairs, scheme)
    assert all(
        said.startswith("UnjudgedError: task ") and ": the reward is unknown, " in said for said in raised.values()
    )
    assert {row["judge_failed"] for row in told["info"] if row} == {0.0}


@trainers
@pytest.mark.parametrize("view", ["full", "last"])
def test_a_rollout_of_several_turns_is_judged_by_all_of_them_or_the_last(
    parts: dict[str, Any], pairs: list[Pair], view: str
) -> None:
    wanted = expect_transcripts(pairs) if view == "full" else expect(pairs)
    assert parts["transcripts"][f"naive {view}"]["rewards"] == wanted
    group = parts["transcripts"][f"group {view}"]
    known = [reward for reward, row in zip(group["rewards"], group["info"], strict=True) if not row["judge_failed"]]
    assert known == [reward for reward in wanted if reward is not None]


@trainers
def test_a_rollout_of_several_turns_without_messages_is_refused_where_all_turns_are_wanted(
    parts: dict[str, Any],
) -> None:
    assert set(parts["transcripts"]["no messages"]["raised"]) == {
        "ConfigError: a rollout of 4 turns came without its messages, and judging.view is full; let the agent loop put "
        "them into extra_fields['transcript'], or set view to last"
    }


@trainers
def test_a_failed_row_gets_the_middle_where_that_is_asked_for(parts: dict[str, Any], pairs: list[Pair]) -> None:
    told, values = parts["managers"]["dapo carried"], [pair.expected["prorubric"] for pair in pairs]
    stand_ins = [middle(p, "prorubric") if value is None else value for p, value in zip(pairs, values, strict=True)]
    assert told["rewards"] == render_rewards(stand_ins)
    assert [row["judge_failed"] for row in told["info"]] == [float(value is None) for value in values]


@trainers
@pytest.mark.parametrize("name", ["group prorubric", "group carried"])
def test_our_manager_gives_a_failed_row_the_mean_of_its_groups_known_rewards(
    parts: dict[str, Any], pairs: list[Pair], name: str
) -> None:
    filled = [p.expected["prorubric"] if p.expected["prorubric"] is not None else group_mean(pairs, p) for p in pairs]
    told = parts["managers"][name]
    assert told["rewards"] == render_rewards(filled)
    assert [number for number, row in enumerate(told["info"]) if row["judge_failed"]] == failed(pairs)


@trainers
def test_every_row_has_the_same_keys_with_finite_numbers(parts: dict[str, Any], pairs: list[Pair]) -> None:
    for name, told in parts["managers"].items():
        for row in filter(None, told["info"]):
            assert list(row) == (KEYS if name != "dapo carried" else [*KEYS, "shadow_graded"])
            assert all(isinstance(value, float) and math.isfinite(value) for value in row.values())


@trainers
def test_verdicts_on_dimensions_stand_in_their_order_and_say_what_is_unknown_and_what_absent(
    parts: dict[str, Any], pairs: list[Pair]
) -> None:
    for pair, row in zip(pairs, parts["managers"]["group prorubric"]["info"], strict=True):
        said = [UNKNOWN if isinstance(v, Unknown) else float(v) for v in decide_all(pair.task, pair.text, "prorubric")]
        assert [row[f"dimension_{n}"] for n in range(1, 6)] == [*said, *[ABSENT] * (5 - len(said))]


@trainers
def test_a_shadow_scheme_is_told_beside_the_score(parts: dict[str, Any], pairs: list[Pair]) -> None:
    shadows = [row["shadow_graded"] for row in parts["managers"]["dapo carried"]["info"]]
    assert shadows == [UNKNOWN if p.expected["graded"] is None else p.expected["graded"] for p in pairs]


@trainers
def test_the_same_rewards_come_from_workers_on_ray(on_ray: dict[str, Any], pairs: list[Pair]) -> None:
    told = on_ray["naive"]
    wanted = expect(pairs)
    assert [told["scores"][number] for number in known(pairs)] == [wanted[number] for number in known(pairs)]
    assert [number for number, failure in enumerate(told["judge_failed"]) if failure] == failed(pairs)
    assert told["keys"] == KEYS
    assert all(told["tensor"])
    assert max(told["filled"]) == 1


@trainers
def test_our_manager_fills_groups_on_ray_as_well(on_ray: dict[str, Any], pairs: list[Pair]) -> None:
    eights = [pair for pair in pairs if pair.task.source != "sample-pack"] or pairs
    filled = [p.expected["prorubric"] if p.expected["prorubric"] is not None else group_mean(pairs, p) for p in eights]
    assert on_ray["group"]["scores"] == render_rewards(filled)
    assert all(on_ray["group"]["tensor"])


# Length


@trainers
def test_length_is_charged_once_the_same_by_us_and_by_verl(parts: dict[str, Any], pairs: list[Pair]) -> None:
    told = parts["lengths"]
    charged = []
    for number in known(pairs):
        penalty = overlong_penalty(told["lengths"][number], told["limit"], told["limit"] // 2, 0.5)
        wanted = pairs[number].expected["prorubric"] - penalty  # type: ignore[operator]
        assert told["group"]["rewards"][number] == float(wanted).hex()
        # verl computes it in 32 bits.
        assert float.fromhex(told["dapo"]["rewards"][number]) == pytest.approx(wanted, abs=1e-6)
        charged.append(penalty)
    assert max(charged) > 0.2
    assert min(charged) == 0


@trainers
def test_length_costs_nothing_in_validation(parts: dict[str, Any], pairs: list[Pair]) -> None:
    told = parts["lengths"]["validation"]
    wanted = expect(pairs)
    assert [told["rewards"][number] for number in known(pairs)] == [wanted[number] for number in known(pairs)]
    assert {row["overlong"] for row in told["info"] if row} == {0.0}


@trainers
def test_a_row_that_does_not_say_so_is_for_validation_where_its_file_is(
    parts: dict[str, Any], pairs: list[Pair]
) -> None:
    told, reward = parts["validation"], pairs[known(pairs)[0]].expected["prorubric"]
    assert reward is not None
    assert [one["reward_score"] for one in told["train"]] == [reward - 0.5]
    assert [one["reward_score"] for one in told["validation"]] == [reward]


@trainers
def test_a_task_in_both_files_is_refused(parts: dict[str, Any]) -> None:
    (one,) = parts["validation"]["both"]
    assert " tasks are in both data.train_files and data.val_files, such as '" in one["raised"]
    assert one["raised"].endswith("hold tasks out, or give each row its split in extra_info")


# Failures


@trainers
def test_a_configured_number_stands_in_for_an_unknown_reward(parts: dict[str, Any], pairs: list[Pair]) -> None:
    rewards = [one["reward_score"] for one in parts["failures"]["0.25"]]
    assert [rewards[number] for number in failed(pairs)] == [0.25] * len(failed(pairs))


@trainers
def test_our_manager_raises_where_the_mean_of_a_group_is_not_neutral(parts: dict[str, Any], pairs: list[Pair]) -> None:
    assert parts["failures"]["gae"]["rewards"] == expect(pairs)


@trainers
def test_a_failed_call_earns_an_advantage_only_where_a_stand_in_is_asked_for(parts: dict[str, Any]) -> None:
    told = parts["failed call"]
    assert told["poor midpoint"] == pytest.approx({"no reply": 2.475, "poor": -0.354}, abs=1e-3)
    assert told["poor default"] == {"poor": 0.0}
    assert told["poor group"] == {"no reply": 0.0, "poor": 0.0}
    assert told["mixed midpoint"]["no reply"] == pytest.approx(0.840, abs=1e-3)
    assert told["mixed default"] == pytest.approx({"good": 2.268, "poor": -0.378}, abs=1e-3)
    assert told["mixed group"] == pytest.approx({"no reply": 0.0, "good": 2.449, "poor": -0.408}, abs=1e-3)


@trainers
def test_one_of_verls_managers_makes_a_zero_of_every_error_which_is_why_the_page_warns_of_it(
    parts: dict[str, Any], pairs: list[Pair]
) -> None:
    told = parts["failures"]["rate limited"]
    assert [told[number]["reward_score"] for number in failed(pairs[:48])] == [0.0] * len(failed(pairs[:48]))
    assert {"error" in told[number]["reward_extra_info"] for number in failed(pairs[:48])} == {True}


@trainers
def test_the_breaker_stops_every_reward_once_too_many_are_unknown(parts: dict[str, Any], pairs: list[Pair]) -> None:
    assert parts["failures"]["breaker 0.5"] == [None] * len(pairs)
    raised = [said for said in parts["failures"]["breaker 0.01"] if said]
    (said,) = set(raised)
    assert said.startswith("BreakerError: ")
    assert "max_unknown" in said
    # Nothing gets a reward any more once it has opened, not even what was under way.
    assert len(raised) > len(failed(pairs))


@trainers
def test_a_failed_row_whose_group_never_comes_raises(parts: dict[str, Any]) -> None:
    assert parts["failures"]["alone"].startswith("UnjudgedError: task ")
    assert parts["failures"]["groups kept"] == 0


@trainers
def test_misuse_is_refused_before_a_token_is_spent(parts: dict[str, Any]) -> None:
    assert parts["refusals"] == {
        "workers": "ConfigError: reward.num_workers is 8: verl spreads the responses of a group over all workers, and "
        "none of them would see it whole; set reward.num_workers=1",
        "two charges": "ConfigError: reward.reward_kwargs.overlong_buffer_cfg belongs to verl's dapo manager; "
        "GroupRewardManager charges for length itself: set overlong in reward.custom_reward_function.reward_kwargs "
        "instead",
        "gdpo": "ConfigError: algorithm.adv_estimator is gdpo, which cannot represent an unknown dimension and counts "
        "its marker -1 as a reward; use channels=True with algorithm.adv_estimator=grpo",
        "scaled again": "ConfigError: channels: algorithm.adv_estimator is grpo and norm_adv_by_std_in_grpo True, and "
        "verl would not use their sum unchanged; set algorithm.adv_estimator=grpo and "
        "algorithm.norm_adv_by_std_in_grpo=False",
        "no judge": "ConfigError: RewardConfig: judge: Field required",
        "misspelt": "ConfigError: RewardConfig: sheme: Unexpected keyword argument (got 'additive')",
    }


# Watching


@trainers
@pytest.mark.parametrize(("name", "steps"), [("told", [7, 8]), ("counted", [1, 2])])
def test_full_steps_are_recorded_with_what_is_unknown(
    parts: dict[str, Any], pairs: list[Pair], name: str, steps: list[int]
) -> None:
    told = parts["monitor"][name]
    assert [record["step"] for record in told] == steps
    assert [(record["responses"], record["groups"]) for record in told] == [(8, 2), (8, 2)]
    assert [record["unknown"] for record in told] == [
        len(failed(pairs[:8])),
        len(failed(pairs[8:16])),
    ]


@trainers
def test_the_example_goes_through_everything_but_the_training(parts: dict[str, Any]) -> None:
    said = [line for line in parts["example"]["said"] if not line.startswith(("[validate", "dataset", "filter"))]
    answers = list(load_samples())[:8]
    reward = RubricReward(RewardConfig("lexical", scheme="additive"))
    wanted = reward([answer.task for answer in answers], [answer.response.text for answer in answers])
    assert [line.split()[:4] for line in said[:-1]] == [
        [answer.task.id, answer.kind, f"{one.value:.3f}", "0"] for answer, one in zip(answers, wanted, strict=True)
    ]
    assert len({one.value for one in wanted}) > 4
    assert said[-1].startswith("python -m verl.trainer.main_ppo algorithm.adv_estimator=grpo ")
    assert [record["responses"] for record in parts["example"]["steps"]] == [8]


# Settings, data, arithmetic


@trainers
@pytest.mark.parametrize(
    "name", [name for name, method in METHODS.items() if method.kind == "grpo" and not method.scaffold]
)
def test_verl_accepts_the_settings_of_every_run_of_the_paper(parts: dict[str, Any], name: str) -> None:
    told, method = parts["configs"][name], METHODS[name]
    buffer = {"limit": method.response_limit, "buffer": method.response_limit // 2, "factor": 0.5}
    assert told["passed"] == "[validate_config] All configuration checks passed successfully!"
    assert told["kl"] == [method.kl > 0, method.kl]
    assert told["reward"] == {
        "judge": "http://judge:8000/v1#it's \\ a name",
        "scheme": method.scheme,
        "overlong": buffer,
    }
    assert (told["group"], told["limit"]) == ([64, 8], method.response_limit)
    assert told["actor"] == {
        "ppo_mini_batch_size": 32,
        "clip_ratio_low": 0.2,
        "clip_ratio_high": 0.28,
        "kl_loss_type": "low_var_kl",
        "use_dynamic_bsz": True,
        "data_loader_seed": 42,
        "clip_ratio_c": 3.0,
    }
    assert told["optim"] == {
        "lr": 1e-6,
        "lr_warmup_steps": 10,
        "lr_scheduler_type": "constant",
        "weight_decay": 0.01,
    }
    assert told["rollout"] == {
        "temperature": 1.0,
        "top_p": 1.0,
        "seed": 42,
        "response_length": method.response_limit,
        "prompt_length": 4096,
    }
    assert told["algorithm"] == {
        "adv_estimator": "grpo",
        "use_kl_in_reward": False,
        "norm_adv_by_std_in_grpo": True,
    }
    assert told["data"] == {
        "max_prompt_length": 4096,
        "filter_overlong_prompts": True,
        "truncation": "error",
        "seed": 42,
    }
    assert told["trainer"] == {
        "total_training_steps": 300,
        "save_freq": 50,
        "test_freq": 50,
        "experiment_name": f"{name}-seed42",
    }
    assert told["thinking"] == {"enable_thinking": False}


@trainers
def test_verls_own_charge_for_length_is_set_where_its_manager_makes_it(parts: dict[str, Any]) -> None:
    assert parts["configs"]["dapo"] == {
        "overlong_buffer_cfg": {"enable": True, "len": 2048, "penalty_factor": 0.5, "log": False},
        "max_resp_len": 4096,
    }


@trainers
def test_our_rows_are_filtered_and_loaded_by_verl(parts: dict[str, Any], pairs: list[Pair]) -> None:
    told = parts["dataset"]
    short = dict.fromkeys(pair.task.id for pair, fits in zip(pairs, told["short"], strict=True) if fits)
    assert told["ids"] == list(short)
    assert 5 < told["kept"] < len({pair.task.id for pair in pairs})
    first = next(pair.task for pair in pairs if pair.task.id == told["ids"][0])
    assert told["first"] == {
        "data_source": first.source,
        "ability": first.domain,
        "reward_model": {"style": "rubric", "ground_truth": first.id},
        "raw_prompt": [{"role": message.role, "content": message.content} for message in first.messages],
    }


@trainers
def test_advantages_are_verls(parts: dict[str, Any]) -> None:
    told = parts["advantages"]
    ours = group_advantages(told["rewards"], told["groups"])
    assert ours.values.tolist() == pytest.approx(told["all"], abs=1e-9)
    assert ours.tied == 1


@trainers
def test_verl_trains_on_the_advantages_over_dimensions(parts: dict[str, Any], parity: Path, pairs: list[Pair]) -> None:
    found = RubricReward(RewardConfig(**reward_options(parity)))([p.task for p in pairs], [p.text for p in pairs])
    channels = [read_channels(pair.task, one) for pair, one in zip(pairs, found, strict=True)]
    ours = weigh_channels(channels, [pair.task.id for pair in pairs])
    assert ours.count(None) >= 5
    assert sum(None in one.values for one in channels) > ours.count(None)
    # A response of which nothing is known gets the mean of its group, which is 0.
    assert parts["channels"]["advantages"] == pytest.approx([value or 0.0 for value in ours], abs=1e-9)
    assert max(map(abs, parts["channels"]["advantages"])) > 1
    assert [info["judge_failed"] for info in parts["channels"]["info"]] == [float(one.value is None) for one in found]


@trainers
def test_verls_own_normalisation_of_several_rewards_is_the_same_arithmetic(
    parts: dict[str, Any], pairs: list[Pair]
) -> None:
    columns = np.array([*parts["channels"]["columns"].values()]).T
    names = [pair.task.id for pair in pairs]
    ours = channel_advantages(columns, names, [0.75, 0.25]).values
    assert parts["channels"]["gdpo"] == pytest.approx(ours / ours.std(ddof=1), abs=1e-5)


@trainers
def test_a_filled_row_is_pushed_nowhere_and_pushes_nobody_to_the_other_side(parts: dict[str, Any]) -> None:
    told = parts["advantages"]
    groups, rewards = np.array(told["groups"]), np.array(told["rewards"])
    first = np.flatnonzero(np.arange(96) % 8 == 0)
    rewards[first] = np.nan
    ours, theirs = group_advantages(rewards, groups).values, np.array(told["filled"])
    assert np.abs(theirs[first]).max() < 1e-9
    # One more member at the mean makes the spread of eight sqrt(6 / 7) of that of seven: all of a group grow alike.
    rest = np.setdiff1d(np.arange(96), first)
    assert theirs[rest].tolist() == pytest.approx((ours[rest] * math.sqrt(7 / 6)).tolist(), abs=1e-4)


@trainers
def test_verl_spreads_one_nan_over_its_whole_group(parts: dict[str, Any]) -> None:
    assert parts["advantages"]["nan"] == list(range(8))


@trainers
def test_estimators_that_center_groups_give_nothing_to_a_response_at_the_mean(parts: dict[str, Any]) -> None:
    assert max(parts["advantages"]["centred"].values()) < 1e-6
    assert len(parts["advantages"]["centred"]) == 6


@trainers
def test_the_kl_of_the_paper_is_k3(parts: dict[str, Any]) -> None:
    policy, reference = np.array(parts["kl"]["policy"]), np.array(parts["kl"]["reference"])
    difference = reference - policy
    wanted = np.exp(difference) - difference - 1
    assert parts["kl"]["k3"] == pytest.approx(np.clip(wanted, -10, 10).tolist(), rel=1e-9)


# Without verl


async def test_the_reward_function_needs_no_verl(parity: Path, pairs: list[Pair]) -> None:
    pair = pairs[known(pairs)[0]]
    found = await compute_score("any", pair.text, pair.task.id, {"num_turns": 1}, **reward_options(parity))
    assert found["score"] == pair.expected["prorubric"]
    assert list(found) == KEYS


async def test_a_file_of_tasks_wins_over_the_task_in_the_row(parity: Path, pairs: list[Pair]) -> None:
    pair = pairs[known(pairs)[0]]
    other = {"id": pair.task.id, "messages": "[]", "rubric": '[{"criterion": "Is green.", "weight": 1}]'}
    found = await compute_score("any", pair.text, pair.task.id, other, **reward_options(parity))
    assert found["score"] == pair.expected["prorubric"]


async def test_the_configured_column_says_which_task_a_row_means(parity: Path, pairs: list[Pair]) -> None:
    wanted, other = pairs[known(pairs)[0]], next(pair for pair in pairs if pair.task.id != pairs[0].task.id)
    options = reward_options(parity)
    reward = RubricReward(RewardConfig(**options))
    assert reward([other.task.id], [wanted.text])[0].value != wanted.expected["prorubric"]
    for column in ("qid", "task_id"):
        row = {"id": other.task.id, column: wanted.task.id}
        found = await compute_score("any", wanted.text, other.task.id, row, **options, column=column)
        assert found["score"] == wanted.expected["prorubric"]
        with pytest.raises(ConfigError, match=f"no task matches a row with 'nobody' in '{column}', although it names"):
            await compute_score(
                "any", "text", other.task.id, {"id": other.task.id, column: "nobody"}, **options, column=column
            )


async def test_without_a_stand_in_an_unknown_reward_raises(parity: Path, pairs: list[Pair]) -> None:
    silent = next(pair for pair in pairs if stays_silent(pair.text))
    with pytest.raises(
        UnjudgedError, match=r"the reward is unknown, somewhere from 0 to 1 \(no reply: no reply within"
    ):
        await compute_score("any", silent.text, silent.task.id, {}, **reward_options(parity))


async def test_a_shadow_that_was_not_asked_is_absent_and_not_unknown(parity: Path, pairs: list[Pair]) -> None:
    silent = next(pair for pair in pairs if stays_silent(pair.text))
    options = {**reward_options(parity), "shadow": ["graded"], "shadow_every": 2, "on_failure": 0}
    told = [await compute_score("any", silent.text, silent.task.id, {}, **options) for _ in range(4)]
    assert [row["shadow_graded"] for row in told] == [UNKNOWN, ABSENT, UNKNOWN, ABSENT]


async def test_a_charge_for_length_is_refused_where_the_length_is_not_known(parity: Path) -> None:
    with pytest.raises(ConfigError, match="verl passes text without a token count; leave out overlong and let"):
        await compute_score("any", "text", "id", {}, **reward_options(parity), overlong={"limit": 9, "buffer": 3})


async def test_channels_are_refused_where_a_group_is_not_seen(parity: Path) -> None:
    with pytest.raises(ConfigError, match=r"^channels: verl shows a reward function one response at a time; use Group"):
        await compute_score("any", "text", "any", None, **reward_options(parity), channels=True)


def test_with_channels_verl_does_not_scale_groups_again() -> None:
    lines = render_overrides("prorubric", RUN, judge="lexical", channels=True)
    assert [line for line in lines if "norm_adv" in line] == ["algorithm.norm_adv_by_std_in_grpo=False"]
    assert "+reward.custom_reward_function.reward_kwargs.channels=True" in lines
    with pytest.raises(ConfigError, match=r"^channels: additive does not add dimensions by their weight; use one"):
        render_overrides("rubric-rl", RUN, judge="lexical", channels=True)


async def test_a_row_without_a_task_is_refused(parity: Path) -> None:
    with pytest.raises(ConfigError, match="no task matches"):
        await compute_score("any", "text", "nobody's", {}, **reward_options(parity))


RUN = VerlRun(model="Qwen/Qwen3-4B", train="train.parquet", validation="validation.parquet")


def test_overrides_differ_between_runs_only_in_what_the_paper_varies() -> None:
    plain, graded, held = (
        set(render_overrides(name, RUN, judge="lexical")) for name in ("prorubric", "graded", "prorubric-kl-0.01")
    )
    kwargs = "+reward.custom_reward_function.reward_kwargs"
    assert {line for line in graded - plain if "experiment" not in line} == {f"{kwargs}.scheme=graded"}
    assert {line for line in held - plain if "experiment" not in line} == {
        "actor_rollout_ref.actor.use_kl_loss=True",
        "actor_rollout_ref.actor.kl_loss_coef=0.01",
    }


def test_every_option_of_the_reward_can_be_set() -> None:
    lines = render_overrides(
        "prorubric",
        RUN,
        judge="lexical",
        journal="a b.sqlite",
        shadow=("additive", "graded"),
        judging={"layout": "prefix-first"},
        on_failure=0.5,
    )
    kwargs = "+reward.custom_reward_function.reward_kwargs"
    assert {line.removeprefix(kwargs) for line in lines if line.startswith(kwargs)} == {
        ".judge=lexical",
        ".scheme=prorubric",
        ".overlong.limit=8192",
        ".overlong.buffer=4096",
        ".overlong.factor=0.5",
        ".journal='a b.sqlite'",
        ".shadow=[additive,graded]",
        ".judging.layout=prefix-first",
        ".on_failure=0.5",
    }


@pytest.mark.parametrize(
    "monitor",
    [
        MonitorConfig(Path("my runs/steps.jsonl"), to=("wandb",), watch=("k1",), alarm=AlarmRule(window=60)),
        {"out": "my runs/steps.jsonl", "to": ["wandb"], "watch": ["k1"], "alarm": {"window": 60}},
        {"out": "my runs/steps.jsonl", "to": ["wandb"], "watch": ["k1"], "alarm": AlarmRule(window=60)},
    ],
    ids=["a record", "plain", "mixed"],
)
def test_a_monitor_is_set_by_its_options(monitor: Any) -> None:
    lines = render_overrides("prorubric", RUN, judge="lexical", monitor=monitor)
    prefix = "+reward.custom_reward_function.reward_kwargs.monitor"
    assert [line.removeprefix(prefix) for line in lines if line.startswith(prefix)] == [
        ".out='my runs/steps.jsonl'",
        ".to=[wandb]",
        ".watch=[k1]",
        ".alarm.window=60",
    ]


@pytest.mark.parametrize(
    ("variant", "options", "said"),
    [
        ("rubric", {"judge": "lexical"}, "no method is called 'rubric'"),
        ("opsd", {"judge": "lexical"}, "opsd is not trained with GRPO; write a recipe and use prorubric train"),
        ("ruscarl", {"judge": "lexical"}, "ruscarl is not GRPO alone; write a recipe and use prorubric train"),
        ("prorubric", {}, "RewardConfig: judge: Field required"),
        ("prorubric", {"judge": "lexical", "sheme": "k1"}, "RewardConfig: sheme: Unexpected keyword argument"),
        ("prorubric", {"judge": "lexical", "monitor": {}}, "VerlOptions: monitor.out: Field required"),
        (
            "prorubric",
            {"judge": "lexical", "keep_rollouts": True},
            "keep_rollouts: rollouts are kept next to the monitor's file; give monitor.out",
        ),
    ],
)
def test_misuse_of_overrides_is_refused(variant: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        render_overrides(variant, RUN, **options)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True"),
        (None, "null"),
        (1e-6, "1e-06"),
        ("pkg://a.b", "pkg://a.b"),
        ("/a/b-c_1.parquet", "/a/b-c_1.parquet"),
        ("null", "'null'"),
        ("8192", "'8192'"),
        ("", "''"),
        ("a'b", r"'a\'b'"),
        ("a\\", r"'a\\'"),
        ([1, "x y"], "[1,'x y']"),
        ({"binary": "p.txt"}, "{binary:p.txt}"),
    ],
)
def test_values_are_written_in_hydras_grammar(value: object, text: str) -> None:
    assert render_value(value) == text
