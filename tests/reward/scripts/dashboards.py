"""Three steps to TensorBoard, W&B (offline) and trackio, and what these then have: `dashboards.py FOLDER WHOSE`."""

import json
import os
import struct
import sys
from pathlib import Path
from typing import Any

folder, whose = Path(sys.argv[1]), sys.argv[2]
os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_DIR=str(folder), TRACKIO_DIR=str(folder / "trackio"))
os.environ.pop("WANDB_DISABLED", None)

import trackio  # noqa: E402
import wandb  # noqa: E402
from tensorboardX.proto.event_pb2 import Event  # noqa: E402

from prorubric import Reward  # noqa: E402
from prorubric.reward.monitor import Monitor, MonitorConfig  # noqa: E402
from prorubric.reward.reward import RewardParts  # noqa: E402


def make_reward(value: float) -> Reward:
    bounds = {"score": value, "low": value, "high": value, "overlong": 0.0}
    texts: dict[str, Any] = {"task_id": "t", "scheme": "additive", "tokens": 1, "characters": 4}
    nothing: dict[str, Any] = {"unknown": (), "verdicts": {}, "dimensions": {}, "shadow": {}}
    return Reward(value=value, parts=RewardParts(**bounds, **texts, **nothing))


def read_tensorboard() -> list[list[float]]:
    """Records of an event file: length, checksum, event, checksum."""
    (path,) = (folder / "tensorboard").iterdir()
    data, place, found = path.read_bytes(), 0, []
    while place < len(data):
        (length,) = struct.unpack_from("<Q", data, place)
        event = Event.FromString(data[place + 12 : place + 12 + length])
        found += [[event.step, one.simple_value] for one in event.summary.value if one.tag == "prorubric/reward"]
        place += 16 + length
    return found


def read_trackio(run: str) -> list[list[float]]:
    from trackio.sqlite_storage import SQLiteStorage

    return [[row["step"], row["prorubric/reward"]] for row in SQLiteStorage.get_logs("prorubric", run)]


if whose == "the trainer's":
    wandb.init(project="trainer")
    wandb.log({"loss": 1.0}, step=100)
    trackio.init(project="prorubric", name="run")
config = MonitorConfig(folder / "steps.jsonl", to=("tensorboard", "wandb", "trackio"), run="run")
with Monitor(config) as monitor:
    for number in range(3):
        monitor.record(number, [make_reward(number / 4)])
    run = wandb.run
    last = [run.summary["prorubric/step"], run.summary["prorubric/reward"]]
still_open = [wandb.run is not None, trackio.context_vars.current_run.get() is not None]
assert still_open[0] == still_open[1]
if still_open[0]:
    wandb.finish()
    trackio.finish()
found = {"tensorboard": read_tensorboard(), "wandb": last, "trackio": read_trackio("run"), "still open": still_open[0]}
print(json.dumps(found))  # noqa: T201
