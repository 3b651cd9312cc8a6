"""OpenRLHF: its real executor gives every pair its reward to the bit, by URL and by file; unknown is no number."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from prorubric import SAMPLE_TASKS, Overlong, RewardConfig, score
from prorubric.errors import BreakerError, ConfigError, SchemeError, UnjudgedError
from prorubric.rubric.forms import render_task
from prorubric.train.openrlhf import make_reward_func
from tests.llm.server import MisbehavingServer
from tests.reward.judging import truth
from tests.reward.serving import RunningServer
from tests.train.parity import SCHEMES, Pair, expect, load_pairs, render_rewards, reward_options, write_pairs
from tests.train.running import ROOT, run_in, trainers

PROMPT = "<|im_start|>user\nCan I take both?<|im_end|>\n<|im_start|>assistant\n"


def write_reward_file(folder: Path, parity: Path, scheme: str, **options: Any) -> Path:
    """A file as a user of OpenRLHF writes it."""
    path = folder / "reward.py"
    path.write_text(
        "from prorubric import RewardConfig\n"
        "from prorubric.train.openrlhf import make_reward_func\n"
        f"reward_func = make_reward_func(RewardConfig(**{reward_options(parity, scheme)!r}), **{options!r})\n"
    )
    return path


def ask(reward_func: Any, pair: Pair, label: Any = None) -> Any:
    return reward_func([f"{PROMPT}{pair.text}<|im_end|>"], [PROMPT], [pair.task.id if label is None else label])


def pick(parity: Path, known: bool) -> Pair:
    return next(pair for pair in load_pairs(parity) if (pair.expected["prorubric"] is not None) == known)


def judge_honestly(pair: Pair) -> list[bool]:
    """What the misbehaving server says when it behaves."""
    return [truth(pair.text, index) for index in range(1, len(pair.task.rubric) + 1)]


@trainers
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_pair_gets_its_reward_from_a_file(parity: Path, tmp_path: Path, scheme: str) -> None:
    found = run_in("openrlhf", "openrlhf_executor.py", parity, write_reward_file(tmp_path, parity, scheme))
    assert found["rewards"] == expect(load_pairs(parity), scheme)
    assert found["scores"] == found["rewards"]
    # Of an unknown reward the executor keeps nothing, the logs included.
    assert [logs == {} for logs in found["logs"]] == [reward is None for reward in found["rewards"]]


@trainers
def test_every_pair_gets_its_reward_from_the_server(parity: Path, tmp_path: Path) -> None:
    options = reward_options(parity)
    with RunningServer(("--judge", options["judge"], "--tasks", options["tasks"]), tmp_path) as server:
        found = run_in("openrlhf", "openrlhf_executor.py", parity, f"{server.url}/openrlhf")
        tries = server.count('prorubric_requests_total{route="/openrlhf",status="503"}')
    assert found["rewards"] == expect(load_pairs(parity))
    assert tries == 5 * found["rewards"].count(None)


@trainers
def test_the_executor_asks_the_server_again_after_an_outage(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path, None)
    with MisbehavingServer() as judge:
        judge.always = "judge"
        judge.script(*["500"] * 20)
        told = ("--judge", judge.spec, "--tasks", str(SAMPLE_TASKS), "--scheme", "additive", "--retries", "0")
        with RunningServer(told, tmp_path) as server:
            found = run_in("openrlhf", "openrlhf_executor.py", tmp_path, f"{server.url}/openrlhf")
            refused = server.count('prorubric_requests_total{route="/openrlhf",status="503"}')
    assert refused >= 1
    assert found["rewards"] == render_rewards(
        [score(judge_honestly(pair), pair.task, "additive").value for pair in pairs]
    )


@trainers
def test_a_run_that_has_to_go_on_gets_its_number_and_a_count(parity: Path, tmp_path: Path) -> None:
    path = write_reward_file(tmp_path, parity, "prorubric", fallback=0.25)
    found = run_in("openrlhf", "openrlhf_executor.py", parity, path)
    expected = expect(load_pairs(parity))
    assert found["rewards"] == [reward or (0.25).hex() for reward in expected]
    assert [logs["judge_failed"] for logs in found["logs"]] == [float(reward is None) for reward in expected]
    assert {tuple(logs) for logs in found["logs"]} == {("judge_failed", "low", "high")}


@trainers
def test_the_example_rewards_the_sample_pack(tmp_path: Path) -> None:
    write_pairs(tmp_path, None)
    example = ROOT / "examples/openrlhf/rubric_reward.py"
    found = run_in("openrlhf", "openrlhf_executor.py", tmp_path, example, variables={"PRORUBRIC_SCHEME": "additive"})
    values = [float.fromhex(reward) for reward in found["rewards"]]
    assert len(values) == 48
    assert sum(values) / 48 == pytest.approx(0.445, abs=5e-4)


def test_a_label_may_carry_its_task(parity: Path) -> None:
    pair = pick(parity, known=True)
    reward_func = make_reward_func(RewardConfig(**{**reward_options(parity), "tasks": None}))
    row = render_task(pair.task)
    found = [ask(reward_func, pair, label)["rewards"][0] for label in (row, json.dumps(row))]
    assert render_rewards(found) == expect([pair, pair])


def test_several_samples_of_a_call_keep_their_order(parity: Path) -> None:
    pairs = [pair for pair in load_pairs(parity) if pair.expected["prorubric"] is not None][:5]
    reward_func = make_reward_func(RewardConfig(**reward_options(parity)))
    queries = [f"{PROMPT}{pair.text}" for pair in pairs]
    found = reward_func(queries, [PROMPT] * 5, [pair.task.id for pair in pairs])
    assert render_rewards(found["rewards"]) == expect(pairs)
    assert found["extra_logs"] == {"judge_failed": [0.0] * 5, "low": found["rewards"], "high": found["rewards"]}


def test_an_unknown_reward_raises_and_stands_in_the_log(parity: Path, caplog: pytest.LogCaptureFixture) -> None:
    pair = pick(parity, known=False)
    reward_func = make_reward_func(RewardConfig(**reward_options(parity)))
    with caplog.at_level(logging.ERROR), pytest.raises(UnjudgedError, match="the reward is unknown"):
        ask(reward_func, pair)
    (record,) = caplog.records
    assert record.getMessage().startswith(f"no reward: task {pair.task.id!r}: the reward is unknown, somewhere from ")


def test_too_many_unknown_rewards_stop_the_run(parity: Path) -> None:
    pair = pick(parity, known=False)
    config = RewardConfig(**{**reward_options(parity), "max_unknown": 0.5, "min_batch": 3})
    reward_func = make_reward_func(config, fallback=0.0)
    assert [ask(reward_func, pair)["rewards"] for _ in range(2)] == [[0.0], [0.0]]
    with pytest.raises(BreakerError, match="3 of 3 rewards are unknown"):
        ask(reward_func, pair)


def test_a_query_that_does_not_begin_with_its_prompt_is_refused(parity: Path) -> None:
    reward_func = make_reward_func(RewardConfig(**reward_options(parity)))
    with pytest.raises(ConfigError, match="neither begins with its prompt"):
        reward_func(["something else"], [PROMPT], [pick(parity, known=True).task.id])


def test_what_is_wrong_with_the_config_is_said_when_the_file_is_loaded() -> None:
    with pytest.raises(ConfigError, match="OpenRLHF passes text without a token count; leave out overlong and use"):
        make_reward_func(RewardConfig(judge="lexical", overlong=Overlong(limit=100, buffer=50)))
    with pytest.raises(SchemeError):
        make_reward_func(RewardConfig(judge="lexical", tasks=str(SAMPLE_TASKS), scheme="nothing"))
