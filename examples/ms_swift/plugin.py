"""What `swift rlhf --external_plugins plugin.py --reward_funcs prorubric` needs: the reward under a name.

The judge here is word overlap, which runs anywhere and is paid by naming things; put an endpoint in its place, such as
`http://localhost:8000/v1#my-judge`, and your own file of tasks.
"""

from prorubric import SAMPLE_TASKS, RewardConfig
from prorubric.train.ms_swift import register

register(RewardConfig("lexical", scheme="additive", tasks=str(SAMPLE_TASKS)))
