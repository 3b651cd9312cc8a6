"""The reward inside the real TRL: the same numbers to the bit, no signal from what is unknown, and what is refused."""

import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prorubric import SAMPLE_TASKS, load_tasks, save_tasks
from prorubric.aggregate.advantages import channel_advantages, group_advantages
from prorubric.datasets.load import load_responses
from prorubric.errors import ConfigError, MissingExtraError
from prorubric.files.read import read_rows
from prorubric.reward.monitor import load_steps
from prorubric.reward.reward import Overlong, RewardConfig, RewardRequest, RubricReward
from prorubric.train.methods import METHODS
from prorubric.train.run_folder import read_state
from prorubric.train.trl import GrpoScale, SecondOpinion, TrlReward, make_dataset, make_grpo_config
from tests.train.parity import SCHEMES, expect, expect_transcripts, load_pairs, render_rewards
from tests.train.running import SCRIPTS, find_python, run_in, start_in, trainers
from tests.train.training import write_run

TASK = "medicine-infant-fever"
pytestmark = trainers


@pytest.fixture(scope="module")
def run(parity: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run_in("trl", "trl_training.py", parity, tmp_path_factory.mktemp("trl"))


@pytest.fixture(scope="module")
def compared(run: dict[str, Any]) -> Any:
    return run["compared"]


def test_three_steps_change_every_weight_and_stay_finite(run: dict[str, Any]) -> None:
    training = run["training"]
    assert training["changed"] == training["parameters"] == 24
    assert training["finite"]
    losses = [log["loss"] for log in training["logs"] if "loss" in log]
    assert len(losses) == 3
    assert all(math.isfinite(loss) for loss in losses)


def test_a_row_without_a_reward_has_advantage_0_and_is_not_in_the_baseline(run: dict[str, Any]) -> None:
    training = run["training"]
    assert len(training["rewards"]) == len(training["advantages"]) == 3
    for rewards, advantages in zip(training["rewards"], training["advantages"], strict=True):
        unknown = [advantage for reward, advantage in zip(rewards, advantages, strict=True) if reward is None]
        assert len(unknown) >= 1
        assert unknown == [0.0] * len(unknown)
        values = [np.nan if reward is None else reward for reward in rewards]
        ours = group_advantages(values, np.repeat([0, 1], 8), epsilon=1e-4).values
        assert advantages == pytest.approx(ours, abs=1e-5)
        assert max(map(abs, advantages)) > 0.5


def test_every_batch_is_recorded_and_reported(run: dict[str, Any]) -> None:
    training = run["training"]
    logs = [log for log in training["logs"] if "prorubric/score" in log]
    assert [step["step"] for step in training["steps"]] == [log["step"] for log in logs] == [1, 2, 3]
    for step, log, rewards in zip(training["steps"], logs, training["rewards"], strict=True):
        assert step["unknown"] == rewards.count(None)
        assert log["prorubric/unknown_rate"] == step["unknown_rate"]
        assert log["prorubric/score"] == pytest.approx(step["score"], rel=1e-6)
        assert log["prorubric/shadow/additive"] == pytest.approx(step["shadow"]["additive"], rel=1e-6)
        assert step["groups"] == 2


def test_a_second_opinion_is_asked_about_the_same_responses(run: dict[str, Any]) -> None:
    scores = [step["score"] for step in run["training"]["steps"]]
    assert [step["appropriateness"] for step in run["training"]["steps"]] == scores


def test_an_alarm_ends_the_training_if_it_is_asked_to(run: dict[str, Any]) -> None:
    assert run["alarm"]["shadow"] == "additive"
    assert 5 <= run["alarm"]["steps"] < 20
    assert "the score has risen by" in run["alarm"]["alarm"]


def test_a_second_reward_function_is_refused(run: dict[str, Any]) -> None:
    assert run["beside"].startswith(
        "ConfigError: rubric_reward is one of 2 reward functions (rubric_reward, count_words), and TRL then counts an "
        "unknown reward as 0;"
    )


@pytest.mark.parametrize(
    ("trainer", "said"),
    [
        ("grpo", "no error"),
        ("rloo", "no error"),
        ("sdpo", "ConfigError: rubric_reward got no log_metric of a GRPOTrainer or an RLOOTrainer, and TRL's"),
        ("online dpo", "ConfigError: rubric_reward got no log_metric of a GRPOTrainer or an RLOOTrainer, and TRL's"),
        ("unbound", "ConfigError: rubric_reward got no log_metric of a GRPOTrainer or an RLOOTrainer, and TRL's"),
        ("replay", "ConfigError: ReplayTrainer counts an unknown reward as 0; use GRPOTrainer or RLOOTrainer"),
        ("old", "ConfigError: TRL 1.5.1 counts an unknown reward as 0; install trl>=1.6.0"),
    ],
)
def test_a_trainer_that_counts_an_unknown_reward_as_0_is_refused(run: dict[str, Any], trainer: str, said: str) -> None:
    assert run["others"][trainer].startswith(said)


def find_channel_advantages(channels: list[Any], groups: Any) -> Any:
    width = max(len(values) for values, _ in channels)
    pad = [[np.nan] * (width - len(values)) for values, _ in channels]
    values = np.array([[*found, *more] for (found, _), more in zip(channels, pad, strict=True)], dtype=float)
    weights = np.array([[*shares, *more] for (_, shares), more in zip(channels, pad, strict=True)], dtype=float)
    return channel_advantages(values, groups, weights, epsilon=1e-4).values


@pytest.mark.parametrize("scale", ["none", "batch"])
def test_trl_trains_on_the_advantages_over_dimensions(run: dict[str, Any], scale: str) -> None:
    found = run["channels"][scale]
    channels = found["channels"]
    ours = find_channel_advantages(channels, np.repeat([0, 1], 8))
    lost = [all(value is None for value in values) for values, _ in channels]
    partly = [None in values and not gone for (values, _), gone in zip(channels, lost, strict=True)]
    assert sum(lost) >= 1
    assert sum(partly) >= 1
    assert [value is None for value in found["given"]] == lost
    assert ours[np.array(lost)].tolist() == [0.0] * sum(lost)
    assert np.abs(ours[np.array(partly)]).max() > 0.1
    if scale == "batch":
        ours = ours / (np.std(ours[~np.array(lost)], ddof=1) + 1e-4)
    assert found["advantages"] == pytest.approx(ours, abs=1e-5)


def test_trls_own_normalisation_of_several_rewards_is_the_same_arithmetic_with_equal_weights(
    run: dict[str, Any],
) -> None:
    columns = np.array(run["functions"]["columns"], dtype=float).T
    ours = channel_advantages(columns, np.repeat([0, 1], 8), np.ones(3), epsilon=1e-4).values
    lost = np.isnan(columns).all(axis=1)
    assert lost.any()
    assert (np.isnan(columns).any(axis=1) & ~lost).any()
    ours = ours / (np.std(ours[~lost], ddof=1) + 1e-4)
    assert run["functions"]["advantages"] == pytest.approx(ours, abs=1e-5)


def test_channels_are_refused_where_trl_would_scale_them_again(run: dict[str, Any]) -> None:
    refused = run["refused"]
    assert refused["group"] == (
        "ConfigError: channels: scale_rewards is 'group', and OpenTrainer would scale their sum within each group "
        "again; set scale_rewards to 'none', or to 'batch'"
    )
    assert refused["again"].startswith("ConfigError: channels: multi_objective_aggregation is 'normalize_then_sum',")
    said = "ConfigError: channels: RLOOTrainer does not use advantages unchanged; use GRPOTrainer"
    assert refused["rloo"] == said


def test_channels_need_a_scheme_that_adds_dimensions_and_a_trainer_that_can_be_seen() -> None:
    with pytest.raises(ConfigError, match=r"^channels: additive does not add dimensions by their weight; use one that"):
        TrlReward(RewardConfig("lexical", scheme="additive", tasks=str(SAMPLE_TASKS)), channels=True)
    with pytest.raises(ConfigError, match=r"^channels: groups come from the trainer, but check_trainer is off"):
        TrlReward(RewardConfig("lexical", tasks=str(SAMPLE_TASKS)), channels=True, check_trainer=False)


def test_a_judge_that_is_gone_ends_the_training(run: dict[str, Any]) -> None:
    assert run["dead"].startswith("BreakerError: 16 of 16 rewards are unknown")
    assert "the endpoint answers 503" in run["dead"]


def test_length_costs_nothing_in_evaluation(run: dict[str, Any]) -> None:
    assert run["evaluation"] == [0.0, -0.5]


def test_it_is_pickled_as_its_config(run: dict[str, Any]) -> None:
    assert run["pickled"] == ["my_reward", True]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_trainer_gets_the_reward_to_the_bit(compared: dict[str, Any], parity: Path, scheme: str) -> None:
    found, pairs = compared["rewards"][scheme], load_pairs(parity)
    assert found["given"] == expect(pairs, scheme)
    assert found["kept"] == expect_32_bits([pair.expected[scheme] for pair in pairs])


def test_a_trainer_gets_the_reward_of_a_transcript_with_tool_calls(compared: dict[str, Any], parity: Path) -> None:
    pairs = load_pairs(parity)
    assert compared["rewards"]["transcripts"]["given"] == expect_transcripts(pairs)
    assert compared["rewards"]["last turns"]["given"] == expect(pairs)


def test_tasks_carried_in_the_rows_and_plain_text_give_the_same(compared: dict[str, Any], parity: Path) -> None:
    assert compared["rewards"]["carried"]["given"] == expect(load_pairs(parity))


def expect_32_bits(values: list[float | None]) -> list[str | None]:
    return render_rewards([None if value is None else float(np.float32(value)) for value in values])


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.kind == "grpo"])
def test_trl_takes_the_settings_of_every_run(compared: dict[str, Any], name: str) -> None:
    assert compared["settings"][name] == {
        "num_generations": 8,
        "generation_batch_size": 512,
        "steps_per_generation": 64,
        "per_device_train_batch_size": 8,
        "gradient_accumulation_steps": 32,
        "max_steps": 600,
        "learning_rate": 1e-6,
        "lr_scheduler_type": "constant_with_warmup",
        "warmup_steps": 20,
        "weight_decay": 0.01,
        "delta": 3.0,
        "vllm_importance_sampling_correction": False,
        "epsilon": 0.2,
        "epsilon_high": 0.28,
        "beta": METHODS[name].kl,
        "use_bias_correction_kl": False,
        "scale_rewards": "group",
        "loss_type": "dapo",
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 0,
        "max_completion_length": 4096 if name == "length-matched" else 8192,
        "num_iterations": 1,
        "save_steps": 100,
        "eval_strategy": "steps",
        "eval_steps": 100,
        "seed": 42,
        "chat_template_kwargs": {"enable_thinking": False},
    }


def test_prompts_that_are_too_long_are_left_out_and_named(compared: dict[str, Any]) -> None:
    data = compared["data"]
    assert data["columns"] == ["prompt", "task_id"]
    assert len(data["kept"]) + len(data["left_out"]) == 12
    assert min(data["left_out"].values()) > 400
    assert not {*data["kept"]} & data["left_out"].keys()


def test_two_processes_share_a_group_and_make_one_record(tmp_path: Path) -> None:
    torchrun, tasks = find_python("trl").with_name("torchrun"), list(load_tasks(SAMPLE_TASKS))
    run = write_run(tmp_path / "recipe", "prorubric", tasks[:3], tasks[3:6], processes=2, rollouts=2, responses=2)
    script = (SCRIPTS / "trl_two_processes.py", tmp_path, run)
    done = start_in("trl", torchrun, "--standalone", "--nproc_per_node", 2, *script)
    assert done.returncode == 0, done.stderr[-2000:]
    first, second = (json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in (0, 1))
    assert (first["records"], second["records"]) == (True, False)
    records = list(load_steps(tmp_path / "steps.jsonl"))
    assert [record.step for record in records] == [1, 2]
    for step, record in enumerate(records):
        rewards = [*first["rewards"][step], *second["rewards"][step]]
        values = [np.nan if reward is None else reward for reward in rewards]
        ours = group_advantages(values, [0] * 8, epsilon=1e-4).values
        assert [*first["advantages"][step], *second["advantages"][step]] == pytest.approx(ours, abs=1e-5)
        assert (record.responses, record.unknown, record.groups) == (8, rewards.count(None), 1)
    both = [first["channels"], second["channels"]]
    channels = [row for one in both for row in one["channels"]]
    ours = find_channel_advantages(channels, [0] * 8)
    assert [value for one in both for value in one["advantages"]] == pytest.approx(ours, abs=1e-5)
    halves = find_channel_advantages(channels, np.repeat([0, 1], 4))
    assert np.abs(ours - halves).max() > 0.1
    check_methods(first["methods"], second["methods"])
    check_run(run)


def check_run(run: Path) -> None:
    """Both processes have trained one run, and one of them has written its folder."""
    assert read_state(run).model_dump() == {"state": "done", "step": 2, "reason": ""}
    assert [(step.step, step.responses, step.groups) for step in load_steps(run / "steps.jsonl")] == [
        (1, 4, 2),
        (2, 4, 2),
    ]
    tasks = [task.id for task in load_tasks(SAMPLE_TASKS)]
    rows = [row.value for row in read_rows(run / "rollouts/step-0002.jsonl.zst") if row.value]
    assert [row["task_id"] for row in rows] == [tasks[2], tasks[2], tasks[0], tasks[0]]
    for step in (0, 2):
        answers = load_responses(run / f"validation/step-000{step}/answers.jsonl")
        assert [answer.task_id for answer in answers] == tasks[3:6]
    assert sorted(path.name for path in run.glob("checkpoints/*/rng_state_*.pth")) == [
        "rng_state_0.pth",
        "rng_state_1.pth",
    ]


def check_methods(first: dict[str, Any], second: dict[str, Any]) -> None:
    """Each process shows its half of the group its scaffolds, and their losses make the mean of all tokens."""
    assert [*first["seen"], *second["seen"]] == first["expected"]
    assert (first["tokens"], second["tokens"]) == (4, 10)
    mean = (first["sum"] + second["sum"]) / 14
    assert (first["returned"] + second["returned"]) / 2 == pytest.approx(mean, rel=1e-5)


def test_a_row_that_names_no_task_is_refused() -> None:
    reward = TrlReward(RewardConfig("lexical", tasks=str(SAMPLE_TASKS)), check_trainer=False)
    with pytest.raises(ConfigError, match="no task matches"):
        reward(prompts=["Hello"], completions=["Hello!"], task_id=["no-such-task"])


@pytest.mark.parametrize("log_metric", [None, lambda *_: None, {}.__setitem__])
def test_a_caller_that_does_not_show_its_trainer_is_refused_unless_that_is_asked_for(log_metric: Any) -> None:
    overlong = Overlong(limit=10, buffer=5, factor=0.5)
    config = RewardConfig("lexical", tasks=str(SAMPLE_TASKS), overlong=overlong)
    call = {"completions": [""], "completion_ids": [[1] * 10], "task_id": [TASK], "log_metric": log_metric}
    with pytest.raises(ConfigError, match=r"^rubric_reward got no log_metric .* check_trainer=False\) in trl"):
        TrlReward(config)(**call)
    unchecked = TrlReward(config, check_trainer=False)
    assert unchecked(**call) == pickle.loads(pickle.dumps(unchecked))(**call) == [-0.5]


def test_means_are_reported_over_what_is_known_of_each() -> None:
    shadow, logged = {"shadow": ("implicit",), "shadow_every": 3}, {}
    reward = TrlReward(RewardConfig("lexical", tasks=str(SAMPLE_TASKS), **shadow), check_trainer=False)
    texts = ["", "Wait.", "", "", "Call 911."]
    reward(completions=texts[:2], task_id=[TASK] * 2)
    reward(completions=texts[2:], task_id=[TASK] * 3, log_metric=logged.__setitem__)
    alone = RubricReward(RewardConfig("lexical", scheme="implicit", tasks=str(SAMPLE_TASKS)))
    # Only the fourth of all responses is scored for a shadow that needs calls of its own.
    assert logged == {
        "prorubric/unknown_rate": 0.0,
        "prorubric/score": 0.0,
        "prorubric/overlong": 0.0,
        "prorubric/characters": 3.0,
        "prorubric/shadow/implicit": alone([TASK], [""])[0].value,
    }


def test_length_is_the_number_of_completion_ids() -> None:
    overlong = Overlong(limit=10, buffer=5, factor=0.5)
    reward = TrlReward(RewardConfig("lexical", tasks=str(SAMPLE_TASKS), overlong=overlong), check_trainer=False)
    assert reward(completions=["", ""], completion_ids=[[1] * 5, [1] * 10], task_id=[TASK, TASK]) == [0.0, -0.5]
    with pytest.raises(ConfigError, match="overlong is set"):
        reward(completions=[""], task_id=[TASK])


def test_a_second_opinion_is_given_on_every_nth_response_to_a_task_that_it_knows(tmp_path: Path) -> None:
    tasks = list(load_tasks(SAMPLE_TASKS))
    save_tasks(tmp_path / "held_out.jsonl", tasks[:1])
    config = RewardConfig("lexical", scheme="implicit", tasks=str(tmp_path / "held_out.jsonl"))
    texts = ["", "Take her to an emergency department now, tonight.", "Call 911.", "Wait."]
    cases = [RewardRequest(task, text) for task in tasks[:2] for text in texts]
    alone = [reward.value for reward in RubricReward(config)([TASK] * 4, texts)]
    assert len(set(alone)) == 4
    assert SecondOpinion(config, 1).ask(cases) == alone
    every_third = SecondOpinion(config, 3)
    assert every_third.ask(cases) == [alone[0], alone[3]]
    assert every_third.ask(cases) == [alone[1]]
    with pytest.raises(ConfigError, match="second_every is 0; give 1 or more"):
        SecondOpinion(config, 0)


def test_sizes_that_do_not_divide_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="64 prompts do not divide into mini-batches of 48"):
        make_grpo_config(tmp_path, scale=GrpoScale(mini_batch=48))
    with pytest.raises(ConfigError, match="an update of 256 responses does not divide into 1 × 6;"):
        make_grpo_config(tmp_path, scale=GrpoScale(per_device=6))
    with pytest.raises(ConfigError, match="an update of 256 responses does not divide into 3 × 1;"):
        make_grpo_config(tmp_path, scale=GrpoScale(processes=3))


def test_a_process_gets_as_many_responses_at_once_as_divide_an_update_and_no_more_than_8() -> None:
    found = [GrpoScale(processes=processes).divide(256) for processes in (1, 64, 256)]
    assert [sizes["per_device_train_batch_size"] for sizes in found] == [8, 4, 1]
    assert [sizes["gradient_accumulation_steps"] for sizes in found] == [32, 1, 1]
    assert GrpoScale().divide(6)["per_device_train_batch_size"] == 6


def test_without_trl_its_settings_name_the_command_that_installs_it(tmp_path: Path) -> None:
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[trl\]' in a checkout"):
        make_grpo_config(tmp_path)


def test_a_limit_that_no_prompt_meets_is_refused() -> None:
    with pytest.raises(ConfigError, match="no task is left: 0 have a prompt of more than 4096 tokens"):
        make_dataset([])
