"""Episodes in skyrl-gym, made and stepped as SkyRL's generator does it: one environment a response, steps in threads.

python skyrl_episodes.py parity PAIRS       every pair under several schemes
python skyrl_episodes.py transcripts PAIRS  every pair as the end of an episode with two turns
python skyrl_episodes.py rows               the ways in which a row means its task, and what a step gives
python skyrl_episodes.py refusals JUDGE     what is refused, and when; the judge has no reply
"""

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import skyrl_gym
from omegaconf import DictConfig
from tests.train.parity import Pair, load_pairs, make_messages, render_rewards, reward_options

from prorubric.datasets.samples import SAMPLE_TASKS, load_samples
from prorubric.errors import ProRubricError, UnjudgedError
from prorubric.judge.judge import JudgeConfig
from prorubric.reward.reward import Overlong, RewardConfig
from prorubric.rubric.forms import render_task
from prorubric.rubric.records import Task
from prorubric.train.skyrl import RubricEnv, register_env

SCHEMES = ("prorubric", "additive", "graded", "prorubric+appropriateness")


def run_episode(name: str, task: Task, text: str, extras: dict[str, Any]) -> dict[str, Any]:
    """One trajectory; raises what the environment raises, which is what stops SkyRL."""
    env = skyrl_gym.make(name, env_config=DictConfig({}), extras={**extras, "max_turns": 1})
    env.init([{"role": message.role, "content": message.content} for message in task.messages])
    step = env.step(text)
    env.close()
    return {**step, "metrics": env.get_metrics()}


def find_reward(name: str, pair: Pair) -> float | None:
    try:
        step = run_episode(name, pair.task, pair.text, {"reward_spec": {"ground_truth": pair.task.id}})
    except UnjudgedError:
        return None
    assert step["done"] is True
    assert step["observations"] == []
    return step["reward"]


def run_parity(folder: Path) -> dict[str, Any]:
    pairs = load_pairs(folder)
    found = {}
    with ThreadPoolExecutor(max_workers=16) as workers:
        for scheme in SCHEMES:
            register_env(RewardConfig(**reward_options(folder, scheme)), name=scheme)
            found[scheme] = render_rewards(list(workers.map(lambda pair: find_reward(scheme, pair), pairs)))  # noqa: B023
    return found


class LookUpEnv(RubricEnv):
    """Answers the first turn of an episode with the result of a tool and a user's question."""

    def observe(self, action: str) -> list[dict[str, Any]]:
        return self._row["observed"] if action == "Let me look." else []


def run_transcripts(folder: Path) -> dict[str, Any]:
    found = {}
    for view in ("full", "last"):
        config = RewardConfig(**reward_options(folder), judging=JudgeConfig(view=view))
        register_env(config, name=view, env=f"{__name__}:LookUpEnv")
        found[view] = render_rewards([find_last_reward(view, pair) for pair in load_pairs(folder)])
    return found


def find_last_reward(name: str, pair: Pair) -> float | None:
    _, result, question, _ = make_messages(pair)
    extras = {"task_id": pair.task.id, "observed": [result, question], "max_turns": 3}
    env = skyrl_gym.make(name, env_config=DictConfig({}), extras=extras)
    env.init([{"role": message.role, "content": message.content} for message in pair.task.messages])
    first = env.step("Let me look.")
    assert (first["observations"], first["reward"], first["done"]) == ([result, question], 0.0, False)
    try:
        last = env.step(pair.text)
    except UnjudgedError:
        return None
    assert last["done"] is True
    return last["reward"]


def run_rows() -> dict[str, Any]:
    """The same response with its task named, or carried, in every place that is looked at."""
    answer = next(load_samples())
    task, text = answer.task, answer.response.text
    row = json.dumps(render_task(task))
    register_env(RewardConfig(judge="lexical", tasks=str(SAMPLE_TASKS)), name="by-id")
    register_env(RewardConfig(judge="lexical", scheme="additive"), name="carried")
    register_env(RewardConfig(judge="lexical", scheme="additive", column="what"), name="column")
    carried = {"rubric": render_task(task)["rubric"]}
    named = {
        "column": run_episode("by-id", task, text, {"task_id": task.id}),
        "ground truth": run_episode(
            "by-id", task, text, {"reward_spec": {"method": "rubric", "ground_truth": task.id}}
        ),
    }
    whole = {
        "ground truth": run_episode("carried", task, text, {"reward_spec": {"ground_truth": row}}),
        "column": run_episode("column", task, text, {"what": row}),
        "rubric and prompt": run_episode("carried", task, text, {"extra_info": carried}),
    }
    shadow = RewardConfig(judge="lexical", tasks=str(SAMPLE_TASKS), scheme="additive", shadow=("weighted",))
    register_env(shadow, name="shadow")
    return {"named": named, "carried": whole, "shadow": run_episode("shadow", task, text, {"task_id": task.id})}


def run_refusals(silent: str) -> dict[str, Any]:
    task = next(load_samples()).task
    register_env(RewardConfig(judge="lexical", tasks=str(SAMPLE_TASKS)), name="sound")
    register_env(RewardConfig(judge=silent, tasks=str(SAMPLE_TASKS)), name="silent")
    register_env(RewardConfig(judge=silent, tasks=str(SAMPLE_TASKS)), name="filled", fallback=0.25)
    long = RewardConfig(judge="lexical", overlong=Overlong(limit=10, buffer=5))
    return {
        "no such task": refuse(lambda: run_episode("sound", task, "x", {"task_id": "nothing"})),
        "overlong": refuse(lambda: register_env(long, name="long")),
        "no such scheme": refuse(lambda: register_env(RewardConfig(judge="lexical", scheme="none"), name="wrong")),
        "unknown": refuse(lambda: run_episode("silent", task, "x", {"task_id": task.id})),
        "filled": run_episode("filled", task, "x", {"task_id": task.id}),
    }


def refuse(do: Callable[[], Any]) -> str:
    try:
        return f"was not refused: {do()}"
    except ProRubricError as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    what, given = sys.argv[1:]
    runs = {"parity": run_parity, "transcripts": run_transcripts}
    said = runs[what](Path(given)) if what in runs else {**run_rows(), **run_refusals(given)}
    print(json.dumps(said))  # noqa: T201 - the line that the test reads
