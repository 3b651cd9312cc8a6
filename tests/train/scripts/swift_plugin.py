"""A plugin for ms-swift whose judge fails now and then; it writes down what it gives."""

import json
import os
from pathlib import Path
from typing import Any

from swift.rewards import orms

from prorubric import SAMPLE_TASKS
from prorubric.reward.reward import RewardConfig
from prorubric.train.ms_swift import ProRubricORM

CONFIG = RewardConfig(judge="tests.train.scripts.trl_judges:FaultyJudge", tasks=str(SAMPLE_TASKS), max_unknown=1)


class OpenORM(ProRubricORM):
    def __init__(self, args: Any = None) -> None:
        super().__init__(args, config=CONFIG)

    async def __call__(self, completions: list[str], **columns: Any) -> list[float]:
        given = await super().__call__(completions, **columns)
        said = {"given": given, "groups": columns["prompt_id"], "tokens": columns["response_token_ids"]}
        with Path(os.environ["SWIFT_REWARDS"]).open("a") as file:
            file.write(json.dumps({**said, "texts": completions}) + "\n")
        return given


orms["open"] = OpenORM
