"""verifiers: the real `vf-eval` gives every pair its reward to the bit; an unknown one is an error of its trace."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prorubric import SAMPLE_TASKS, RewardConfig, load_tasks, score
from tests.train.parity import expect, expect_transcripts, load_pairs, render_rewards, reward_options, write_pairs
from tests.train.running import ROOT, run_in, trainers

# The built-in harness starts a program for every rollout; 248 of these would take half an hour.
ONE_CALL = ("--env.agent.harness.id", "verifiers_one_call", "--env.agent.runtime.type", "subprocess")


@pytest.fixture(scope="module")
def traces(parity: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Eight rollouts of every task, so that each of its responses comes up."""
    options = reward_options(parity)
    told = (
        *("rubric_tasks", "--env.taskset.tasks", options["tasks"], "--num-rollouts", "8", *ONE_CALL),
        *("--env.taskset.task.judge", options["judge"], "--env.taskset.task.shadow", '["additive"]'),
        *("--env.taskset.task.max-unknown", "1"),
    )
    said = run_in("verifiers", "verifiers_eval.py", parity, tmp_path_factory.mktemp("run"), *told)
    assert said["code"] == 0, said["end"]
    return said["traces"]


def find_by_pair(traces: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(trace["task"], trace["reply"]): trace for trace in traces}


@trainers
def test_every_pair_gets_the_same_reward(parity: Path, traces: list[dict[str, Any]]) -> None:
    pairs, found = load_pairs(parity), find_by_pair(traces)
    assert {(pair.task.id, pair.text) for pair in pairs} == found.keys()
    rewards = [found[pair.task.id, pair.text]["reward"] for pair in pairs]
    assert render_rewards(rewards) == expect(pairs, "prorubric")


@trainers
@pytest.mark.parametrize("view", ["full", "last"])
def test_a_rollout_with_a_tool_call_is_judged_by_all_turns_or_the_last(tmp_path: Path, view: str) -> None:
    pairs = write_pairs(tmp_path, None)
    options = reward_options(tmp_path)
    told = (
        *("rubric_tasks", "--env.taskset.tasks", options["tasks"], "--num-rollouts", "4"),
        *("--env.agent.harness.id", "verifiers_two_calls", "--env.agent.runtime.type", "subprocess"),
        *("--env.taskset.task.judge", options["judge"], "--env.taskset.task.max-unknown", "1"),
        *("--env.taskset.task.judging", json.dumps({"view": view})),
    )
    said = run_in("verifiers", "verifiers_eval.py", tmp_path, tmp_path / "run", *told)
    assert said["code"] == 0, said["end"]
    found = find_by_pair(said["traces"])
    rewards = [found[pair.task.id, pair.text]["reward"] for pair in pairs]
    assert render_rewards(rewards) == (expect_transcripts(pairs) if view == "full" else expect(pairs))


@trainers
def test_the_shadow_of_every_pair_is_a_metric_and_counts_negative_weights(
    parity: Path, traces: list[dict[str, Any]], shared_data: Path
) -> None:
    pairs, found = load_pairs(parity), find_by_pair(traces)
    shadows = [found[pair.task.id, pair.text]["metrics"].get("shadow/additive") for pair in pairs]
    assert render_rewards(shadows) == expect(pairs, "additive")
    assert sum(min(trace["weights"]) < 0 for trace in traces) >= 8


@trainers
def test_an_unknown_reward_is_an_error_and_no_number(parity: Path, traces: list[dict[str, Any]]) -> None:
    unknown = [trace for trace in traces if trace["reward"] is None]
    assert {trace["ok"] for trace in unknown} == {False}
    assert {trace["ok"] for trace in traces if trace["reward"] is not None} == {True}
    places = {
        f"TaskError: task RubricTask scoring: UnjudgedError: task {trace['task']!r}: the reward" for trace in unknown
    }
    assert {trace["errors"][0].split(" is unknown")[0] for trace in unknown} == places


@trainers
def test_the_parts_of_a_reward_are_in_the_trace(parity: Path, traces: list[dict[str, Any]]) -> None:
    pair = load_pairs(parity)[0]
    parts = find_by_pair(traces)[pair.task.id, pair.text]["parts"]
    assert (parts["task_id"], parts["tokens"], parts["characters"]) == (pair.task.id, pair.tokens, len(pair.text))
    assert list(parts["dimensions"]) == [dimension.name for dimension in pair.task.protocol.dimensions]


@trainers
def test_the_example_runs_with_the_built_in_harness_and_retries_what_is_unknown(tmp_path: Path) -> None:
    """The judge knows the first task and has nothing to say to the second."""
    first, second = list(load_tasks(SAMPLE_TASKS))[:2]
    verdicts = {str(index): index % 2 == 0 for index in range(1, len(first.protocol.dimensions) + 1)}
    rule = {"contains": [first.protocol.dimensions[0].description], "reply": json.dumps({"satisfied": verdicts})}
    (tmp_path / "judge.jsonl").write_text(json.dumps(rule) + "\n")
    (tmp_path / "tasks.jsonl").write_text(SAMPLE_TASKS.read_text())
    write_pairs(tmp_path, None)
    told = (
        *("@", ROOT / "examples/verifiers/eval.toml", "--select.limit", "2"),
        *("--env.taskset.task.judge", f"scripted:{tmp_path / 'judge.jsonl'}"),
    )
    said = run_in("verifiers", "verifiers_eval.py", tmp_path, tmp_path, *told)
    assert said["code"] == 0, said["end"]
    known, unknown = sorted(said["traces"], key=lambda trace: [first.id, second.id].index(trace["task"]))
    assert known["reward"] == score(list(verdicts.values()), first, "prorubric").value
    assert (known["ok"], known["errors"]) == (True, [])
    assert (unknown["ok"], unknown["reward"], len(unknown["errors"])) == (False, None, 2)


def make_row(name: str, *turns: tuple[str, str]) -> dict[str, Any]:
    rubric = [{"criterion": "Says to stop ibuprofen", "weight": 5}, {"criterion": "Doubles the dose", "weight": -8}]
    return {"id": name, "messages": [{"role": role, "content": text} for role, text in turns], "rubric": rubric}


CONVERSATIONS = [
    make_row("plain", ("user", "Can I take both?")),
    make_row("instructed", ("system", "Be brief."), ("developer", "In English."), ("user", "Can I take both?")),
    make_row("long", ("user", "Hello."), ("assistant", "Hello!"), ("system", "Careful now."), ("user", "Both?")),
]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("tasks") / "tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in CONVERSATIONS))
    path.with_name("tool.jsonl").write_text(json.dumps(make_row("tool", ("user", "Both?"), ("tool", "{}"))))
    modules = f"{ROOT}:{ROOT / 'examples/verifiers'}"
    return run_in("verifiers", "verifiers_taskset.py", path, variables={"PYTHONPATH": modules})


@trainers
def test_a_row_has_its_own_rubric_and_the_conversation_as_it_was(loaded: dict[str, Any]) -> None:
    turns = [("user", "Hello."), ("assistant", "Hello!"), ("system", "Careful now."), ("user", "Both?")]
    assert loaded["tasks"] == [
        {"id": "plain", "prompt": "Can I take both?", "row": [5, -8]},
        {"id": "instructed", "prompt": "Can I take both?", "system_prompt": "Be brief.\n\nIn English.", "row": [5, -8]},
        {"id": "long", "prompt": [{"role": role, "content": text} for role, text in turns], "row": [5, -8]},
    ]


@trainers
def test_misuse_is_refused_when_tasks_are_loaded(loaded: dict[str, Any]) -> None:
    assert loaded["no tasks"] == "ConfigError: no tasks are named; give a file with --env.taskset.tasks"
    assert loaded["no judge"].startswith("ConfigError: no judge is named; give one with --env.taskset.task.judge")
    assert loaded["no such judge"].startswith("ConfigError: no model is called 'nobody'")
    assert loaded["no dimensions"].startswith("SchemeError: ")
    assert loaded["overlong"].startswith("ConfigError: ")
    assert loaded["tool"].startswith("ConfigError: task 'tool': a tool message needs the call it answers")
    assert loaded["judging"].startswith("ConfigError: RewardConfig: judging.reasks")


@trainers
def test_the_breaker_looks_at_as_many_rewards_as_everywhere_else(loaded: dict[str, Any]) -> None:
    assert loaded["min_batch"] == RewardConfig("lexical").min_batch


@trainers
def test_the_example_is_a_taskset_to_verifiers(loaded: dict[str, Any]) -> None:
    assert loaded["example"] == "RubricTasksetConfig"


def test_the_page_shows_the_example() -> None:
    page = (ROOT / "docs/trainers/verifiers.md").read_text()
    shown = re.findall(r"^```(?:py|toml)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    example = "".join((ROOT / "examples/verifiers" / name).read_text() for name in ("rubric_tasks.py", "eval.toml"))
    assert [block in example for block in shown] == [True] * 3


def test_without_verifiers_the_import_says_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import prorubric.train.verifiers"], capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == (
        "prorubric.errors.MissingExtraError: the taskset for verifiers needs the extra [verifiers]; "
        "install prorubric with it: pip install '.[verifiers]' in a checkout"
    )
