"""Two processes train together: each rewards its own half of a batch, and one record is made of both.

Then they train a run folder, as the process that a recipe starts does.
"""

import json
import os
import sys
from pathlib import Path

from tests.train.parity import JUDGE
from tests.train.scripts.trl_methods import share_between_processes
from tests.train.scripts.trl_training import FAULTY, OpenReward, make_trainer, train_channels

from prorubric import SAMPLE_TASKS
from prorubric.reward.monitor import MonitorConfig
from prorubric.reward.reward import RewardConfig
from prorubric.train import worker_trl
from prorubric.train.trl import GrpoScale, watch_rewards


def main() -> None:
    folder, rank = Path(sys.argv[1]), os.environ["RANK"]
    reward = OpenReward(RewardConfig(judge=FAULTY, tasks=str(SAMPLE_TASKS), max_unknown=1))
    watch = watch_rewards(reward, MonitorConfig(folder / "steps.jsonl"))
    # A group of 8 lies across both processes.
    scale = GrpoScale(prompts=1, responses=8, mini_batch=1, rollouts=2, per_device=4)
    trainer = make_trainer(folder, reward, scale=scale, callbacks=[watch], ddp_backend="gloo")
    trainer.train()
    said = {"rewards": reward.given, "advantages": trainer.advantages, "records": watch.monitor is not None}
    said["channels"] = train_channels(folder, JUDGE, scale=scale, ddp_backend="gloo", scale_rewards="none")
    said["methods"] = share_between_processes(folder / "methods")
    (folder / f"rank{rank}.json").write_text(json.dumps(said))
    worker_trl.train_folder(Path(sys.argv[2]))


if __name__ == "__main__":
    main()
