"""A rubric reward for OpenRLHF: `--reward.remote_url examples/openrlhf/rubric_reward.py --data.label_key task_id`.

The judge and the file of tasks come from the environment, so one file serves every run:

    PRORUBRIC_JUDGE=http://localhost:8000/v1#Qwen3-32B PRORUBRIC_TASKS=tasks.jsonl
"""

import os

from prorubric import SAMPLE_TASKS, RewardConfig
from prorubric.train.openrlhf import make_reward_func

reward_func = make_reward_func(
    RewardConfig(
        judge=os.environ.get("PRORUBRIC_JUDGE", "lexical"),
        tasks=os.environ.get("PRORUBRIC_TASKS", str(SAMPLE_TASKS)),
        scheme=os.environ.get("PRORUBRIC_SCHEME", "prorubric"),
    )
)
