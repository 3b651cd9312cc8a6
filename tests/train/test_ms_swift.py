"""The reward inside the real ms-swift: the same numbers to the bit, and no signal from what is unknown."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from prorubric import SAMPLE_TASKS, load_tasks
from prorubric.aggregate.advantages import channel_advantages
from prorubric.errors import ConfigError, UnjudgedError
from prorubric.files.read import read_rows
from prorubric.reward.channels import Channels, read_channels, weigh_channels
from prorubric.reward.reward import Overlong, RewardConfig, RubricReward
from prorubric.rubric.forms import render_task
from prorubric.train.ms_swift import ProRubricORM, register, save_rows
from tests.train.parity import SCHEMES, expect, expect_transcripts, load_pairs, render_rewards, reward_options
from tests.train.running import ROOT, run_in, start_in, trainers

TASK = "medicine-infant-fever"
pytestmark = trainers


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("swift")


@pytest.fixture(scope="module")
def run(parity: Path, folder: Path) -> dict[str, Any]:
    return run_in("swift", "swift_reward.py", parity, folder)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_ms_swift_gets_the_reward_to_the_bit(run: dict[str, Any], parity: Path, scheme: str) -> None:
    expected = [pair.expected[scheme] for pair in load_pairs(parity)]
    known = [value is not None for value in expected]
    found = run["rewards"][scheme]
    assert keep(found["given"], known) == keep(render_rewards(expected), known)
    halves = [None if value is None else float(np.float32(value)) for value in expected]
    assert keep(found["kept"], known) == keep(render_rewards(halves), known)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_unknown_reward_has_no_advantage(run: dict[str, Any], parity: Path, scheme: str) -> None:
    expected = [pair.expected[scheme] for pair in load_pairs(parity)]
    advantages = run["rewards"][scheme]["advantages"]
    unknown = [a for value, a in zip(expected, advantages, strict=True) if value is None]
    assert len(unknown) >= 5
    assert max(map(abs, unknown)) < 1e-5
    assert max(map(abs, advantages)) > 1


def test_ms_swift_itself_would_count_it_as_0(run: dict[str, Any]) -> None:
    assert run["none"]["rewards"] == pytest.approx([0.2, 0.4, 0.6, 0.0])
    assert run["none"]["advantages"][3] < -1


@pytest.fixture(scope="module")
def channels(parity: Path) -> list[Channels]:
    pairs, reward = load_pairs(parity), RubricReward(RewardConfig(**reward_options(parity)))
    found = reward([pair.task for pair in pairs], [pair.text for pair in pairs])
    return [read_channels(pair.task, one) for pair, one in zip(pairs, found, strict=True)]


@pytest.mark.parametrize("scale", ["none", "batch"])
def test_ms_swift_trains_on_the_advantages_over_dimensions(
    run: dict[str, Any], channels: list[Channels], scale: str
) -> None:
    values = weigh_channels(channels, np.arange(len(channels)) // 4, 1e-8)
    assert sum(value is None for value in values) >= 5
    assert sum(None in one.values for one in channels) > sum(value is None for value in values)
    ours = np.array([value or 0.0 for value in values])  # a response of which nothing is known is pushed nowhere
    if scale == "batch":
        ours = ours / (ours.std(ddof=1) + 1e-4)
    assert run["channels"][scale]["advantages"] == pytest.approx(ours, abs=1e-5)
    assert np.abs(ours).max() > 1


def test_ms_swifts_own_normalisation_of_several_rewards_is_the_same_arithmetic_with_equal_weights(
    run: dict[str, Any],
) -> None:
    rows = np.array(run["several"]["rows"], dtype=float)
    assert 0 < np.isnan(rows).all(axis=1).sum() < np.isnan(rows).any(axis=1).sum()
    ours = channel_advantages(rows, np.arange(len(rows)) // 8, [1, 1], epsilon=1e-8).values
    assert run["several"]["advantages"] == pytest.approx(ours / ours.std(ddof=1), abs=1e-4)


def test_channels_are_refused_where_ms_swift_would_scale_them_again(run: dict[str, Any]) -> None:
    assert run["refused"] == {
        f"{estimator} {scale}": f"channels: advantage_estimator is {estimator!r} and scale_rewards is {scale!r}, and "
        "ms-swift would not use their sum unchanged; use grpo with --scale_rewards none, or batch"
        for estimator, scale in (("grpo", "group"), ("grpo", "gdpo"), ("rloo", "none"))
    }


@pytest.mark.parametrize("view", ["full", "last"])
def test_a_rollout_of_several_turns_is_judged_by_all_of_them_or_the_last(
    run: dict[str, Any], parity: Path, view: str
) -> None:
    pairs = load_pairs(parity)
    expected = expect_transcripts(pairs) if view == "full" else expect(pairs)
    known = [value is not None for value in expected]
    assert keep(run["transcripts"][view]["given"], known) == keep(expected, known)


def keep(values: list[Any], known: list[bool]) -> list[Any]:
    return [value for value, is_known in zip(values, known, strict=True) if is_known]


def test_two_steps_change_every_weight_and_stay_finite(run: dict[str, Any]) -> None:
    training = run["training"]
    assert training["changed"] == [24, 24, 24]
    logs = [log for log in training["logs"] if "loss" in log]
    assert len(logs) == len(training["given"]) == 2
    for log, batch in zip(logs, training["given"], strict=True):
        assert math.isfinite(log["loss"])
        # What ms-swift trains on has the mean of what it was given: nothing was counted as 0 behind our back.
        assert log["reward"] == pytest.approx(sum(batch["given"]) / 16, abs=1e-6)
        assert log["rewards/OpenORM/mean"] == pytest.approx(log["reward"], abs=1e-6)
        assert batch["groups"] == ["prompt_0"] * 8 + ["prompt_1"] * 8
        assert {len(ids) for ids in batch["tokens"]} == {12}
        assert all(text.startswith("<think>\n\n</think>\n\n") for text in batch["texts"])


def test_it_is_known_to_ms_swift_by_name(run: dict[str, Any]) -> None:
    assert run["registered"] == "ProRubricORM"


def test_the_example_takes_a_step(run: dict[str, Any], folder: Path, tmp_path: Path) -> None:
    options = "--model_type qwen3 --template qwen3 --torch_dtype float32 --check_model false --report_to none "
    options += "--max_steps 1 --per_device_train_batch_size 8 --max_completion_length 8 --save_strategy no"
    script = ROOT / "examples/ms_swift/train.sh"
    done = start_in("swift", script, folder / "policy/tiny", tmp_path, *options.split())
    assert done.returncode == 0, done.stderr[-3000:]
    assert "'rewards/ProRubricORM/mean'" in done.stdout + done.stderr


async def test_an_unknown_reward_raises_where_a_process_has_a_part_of_the_group(parity: Path) -> None:
    pairs = load_pairs(parity)
    unknown = next(pair for pair in pairs if pair.expected["prorubric"] is None)
    group = [pair for pair in pairs if pair.task.id == unknown.task.id]
    columns = {"task_id": [pair.task.id for pair in group]}
    config, texts = RewardConfig(**reward_options(parity)), [pair.text for pair in group]
    whole = ProRubricORM(SimpleNamespace(num_generations=len(group)), config=config)
    assert len(await whole(texts, **columns)) == len(group)
    part = ProRubricORM(SimpleNamespace(num_generations=2 * len(group)), config=config)
    said = rf"the reward is unknown, .* this process has {len(group)} of {2 * len(group)} responses; make per_device"
    with pytest.raises(UnjudgedError, match=said):
        await part(texts, **columns)
    assert len(await part(texts, **columns, split=["val"] * len(group))) == len(group)


async def test_channels_need_whole_groups(parity: Path) -> None:
    pairs = load_pairs(parity)[:4]
    args = SimpleNamespace(num_generations=8, scale_rewards="none", advantage_estimator="grpo")
    reward = ProRubricORM(args, config=RewardConfig(**reward_options(parity)), channels=True)
    texts, columns = [pair.text for pair in pairs], {"task_id": [pair.task.id for pair in pairs]}
    with pytest.raises(ConfigError, match=r"^channels: this process has 4 of 8 responses; make per_device_train_batch"):
        await reward(texts, **columns)
    plain = ProRubricORM(args, config=RewardConfig(**reward_options(parity)))
    assert await reward(texts, **columns, split=["val"] * 4) == await plain(texts, **columns, split=["val"] * 4)


async def test_the_empty_thought_that_ms_swift_adds_is_no_part_of_the_response() -> None:
    reward = ProRubricORM(config=RewardConfig("lexical", scheme="implicit", tasks=str(SAMPLE_TASKS)))
    text = "Take her to the emergency department now, tonight."
    plain, thoughtless, thoughtful = await reward(
        [text, f"<think>\n\n</think>\n\n{text}", f"<think>\nrectal temperature\n</think>\n\n{text}"],
        task_id=[TASK] * 3,
        trainer_state=None,
    )
    assert plain == thoughtless > 0.1
    assert thoughtful != plain


async def test_length_costs_in_training_only() -> None:
    overlong = Overlong(limit=10, buffer=5, factor=0.5)
    reward = ProRubricORM(config=RewardConfig("lexical", tasks=str(SAMPLE_TASKS), overlong=overlong))
    ids, tasks = [[1] * 5, [[1] * 6, [1] * 4]], [TASK, TASK]
    assert await reward(["", ""], response_token_ids=ids, task_id=tasks, split=["train", None]) == [0.0, -0.5]
    assert await reward(["", ""], response_token_ids=ids, task_id=tasks, split=["val", "test"]) == [0.0, 0.0]
    with pytest.raises(ConfigError, match="a batch mixes training and validation rows"):
        await reward(["", ""], response_token_ids=ids, task_id=tasks, split=["train", "val"])


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
async def test_rows_name_their_task_or_carry_it(tmp_path: Path, name: str) -> None:
    tasks = list(load_tasks(SAMPLE_TASKS))
    assert save_rows(tmp_path / name, tasks, split="val", carry=True) == 12
    rows = [row.value or {} for row in read_rows(tmp_path / name)]
    assert [row["task_id"] for row in rows] == [task.id for task in tasks]
    assert {row["split"] for row in rows} == {"val"}
    assert rows[0]["messages"] == [{"role": "user", "content": tasks[0].messages[0].content}]
    reward = ProRubricORM(config=RewardConfig("lexical"))
    assert [reward.reward.find_task(row) for row in rows] == tasks


async def test_rows_of_a_task_file_carry_their_rubric_too() -> None:
    task = next(iter(load_tasks(SAMPLE_TASKS)))
    row = render_task(task)
    text = "Take the baby to an emergency department now, tonight."
    messages = [*row.pop("messages"), {"role": "assistant", "content": text}]
    reward = ProRubricORM(config=RewardConfig("lexical", scheme="implicit"))
    columns = {key: [value] for key, value in row.items()}
    (found,) = await reward([text], messages=[messages], **columns)
    assert found == reward.reward([task], [text])[0].value > 0.1


def test_without_ms_swift_registering_says_how_to_install_it() -> None:
    with pytest.raises(ConfigError, match=r"ms-swift is not installed; install it with: pip install 'ms-swift>=4\.6'"):
        register(RewardConfig("lexical", tasks=str(SAMPLE_TASKS)))
