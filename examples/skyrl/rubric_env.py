"""A rubric reward for SkyRL: register the environment where the generator runs, name it in the data, and train.

    PRORUBRIC_JUDGE=http://localhost:8000/v1#Qwen3-32B PRORUBRIC_TASKS=tasks.jsonl

Run as a script it plays the sample pack through skyrl-gym, without a GPU: each stored answer is one episode.
"""

import json
import os

import skyrl_gym
from skyrl_gym.metrics import aggregate_for_environment

from prorubric import SAMPLE_TASKS, RewardConfig, load_samples
from prorubric.train.skyrl import register_env


def main() -> None:
    """What SkyRL's generator does with the environment, for every answer of the sample pack."""
    register_env(
        RewardConfig(
            judge=os.environ.get("PRORUBRIC_JUDGE", "lexical"),
            tasks=os.environ.get("PRORUBRIC_TASKS", str(SAMPLE_TASKS)),
            scheme=os.environ.get("PRORUBRIC_SCHEME", "prorubric"),
        )
    )
    rewards, metrics = [], []
    for answer in load_samples():
        # In training, `extras` are the columns of the row except `prompt` and `env_class: prorubric`.
        env = skyrl_gym.make("prorubric", extras={"task_id": answer.task.id})
        env.init([{"role": message.role, "content": message.content} for message in answer.task.messages])
        rewards.append(env.step(answer.response.text)["reward"])
        metrics.append(env.get_metrics())
        env.close()
    averages = aggregate_for_environment("prorubric", metrics)
    print(  # noqa: T201
        json.dumps(
            {
                "episodes": len(rewards),
                "reward": sum(rewards) / len(rewards),
                "judge_failed": averages["judge_failed"],
            }
        )
    )


if __name__ == "__main__":
    main()
