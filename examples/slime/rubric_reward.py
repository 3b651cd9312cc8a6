"""A rubric reward for slime: `--custom-rm-path rubric_reward.custom_rm --label-key task_id`, this folder on PYTHONPATH.

    PRORUBRIC_JUDGE=http://localhost:8000/v1#Qwen3-32B PRORUBRIC_TASKS=tasks.jsonl

With `--group-rm` a response that the judge could not judge is left out of the loss instead of ending the run.
"""

import os

from prorubric import SAMPLE_TASKS, Overlong, RewardConfig
from prorubric.train.slime import make_custom_rm

config = RewardConfig(
    judge=os.environ.get("PRORUBRIC_JUDGE", "lexical"),
    tasks=os.environ.get("PRORUBRIC_TASKS", str(SAMPLE_TASKS)),
    scheme=os.environ.get("PRORUBRIC_SCHEME", "prorubric"),
    overlong=Overlong(limit=8192, buffer=4096),
)
custom_rm = make_custom_rm(config)
evaluation_rm = make_custom_rm(config, validation=True)
