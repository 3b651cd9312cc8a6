"""Registers the reward for `swift rlhf --external_plugins plugin.py --reward_funcs prorubric`.

The judge here is word overlap, which runs anywhere but rewards mentioning terms; replace it by an endpoint, such as
`http://localhost:8000/v1#my-judge`, and the tasks by your own file.
"""

from prorubric import SAMPLE_TASKS, RewardConfig
from prorubric.train.ms_swift import register

register(RewardConfig("lexical", scheme="additive", tasks=str(SAMPLE_TASKS)))
