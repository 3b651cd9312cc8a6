"""The reward inside ms-swift: call `register` in your own file and name that file with `--external_plugins`.

ms-swift turns None, like NaN, into a reward of 0. So an unknown reward is replaced by the mean of its group's known
ones, which is advantage 0, and counted in the log. If nothing of a group is known, all of it gets one number and no
advantage either. In a group that is split across processes, which has no mean here, an unknown reward raises.
"""

import logging
import re
from collections.abc import Iterable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from prorubric.datasets.sources import trl
from prorubric.errors import ConfigError, UnjudgedError
from prorubric.files.write import open_rows
from prorubric.reward.reward import RewardConfig, RewardRequest, RubricReward
from prorubric.rubric.records import Task
from prorubric.train.adapter import VALIDATION_SPLITS, describe_unknown, fill_unknown, list_rows

_log = logging.getLogger(__name__)
# ms-swift puts the empty block of a model that does not think in front of each answer; the policy did not write it.
_NO_THOUGHT = re.compile(r"^<think>\s*</think>\s*")
_NOT_COLUMNS = ("trainer_state", "trajectory_inputs")
_TEXT_COLUMNS = dict.fromkeys(("task_id", "split", "task"), pa.string())
_ROW_SCHEMA = pa.schema({"messages": trl.SCHEMA.field("prompt").type, **_TEXT_COLUMNS})


def save_rows(path: Path, tasks: Iterable[Task], *, split: str = "train", carry: bool = False) -> int:
    """Write tasks as rows for `--dataset` or, with another split, `--val_dataset`; returns their number.

    With `carry` each row has its whole task as JSON text in `task`, and the reward needs no file of tasks.
    """
    count = 0
    with open_rows(path, _ROW_SCHEMA) as write:
        for task in tasks:
            row = trl.render(task)
            carried = {"task": row["task"]} if carry else {}
            write({"messages": row["prompt"], "task_id": task.id, "split": split, **carried})
            count += 1
    return count


def register(config: RewardConfig, name: str = "prorubric") -> None:
    """Register the reward with ms-swift under a name, for `--reward_funcs`."""
    try:
        orms = import_module("swift.rewards").orms
    except ImportError:
        raise ConfigError("ms-swift is not installed; install it with: pip install 'ms-swift>=4.6'") from None
    orms[name] = partial(ProRubricORM, config=config)


class ProRubricORM:
    """An asynchronous reward of ms-swift; length costs nothing in rows whose column `split` says validation."""

    def __init__(self, args: Any = None, *, config: RewardConfig) -> None:
        self.args = args
        self.reward = RubricReward(config)

    async def __call__(self, completions: Sequence[str], **columns: Any) -> list[float]:
        """The rewards of a batch, all of them numbers; ms-swift calls this."""
        rows = list_rows(columns, len(completions), skip=_NOT_COLUMNS)
        validation = {row.get("split") in VALIDATION_SPLITS for row in rows}
        if len(validation) > 1:
            raise ConfigError("a batch mixes training and validation rows (column 'split'); keep them apart")
        requests = []
        for row, text in zip(rows, completions, strict=True):
            if row.get("messages"):
                row["messages"] = row["messages"][:-1]  # the conversation as it was before the answer
            ids = row.get("response_token_ids")  # token ids, or a list of them for each turn
            tokens = sum(len(turn) if isinstance(turn, Sequence) else 1 for turn in ids) if ids else None
            requests.append(RewardRequest(row, _NO_THOUGHT.sub("", text), tokens))
        rewards = await self.reward.rewards(requests, validation=any(validation))
        groups = [str(row.get("prompt_id") or found.parts.task_id) for row, found in zip(rows, rewards, strict=True)]
        size = 0 if any(validation) else getattr(self.args, "num_generations", 0)
        unknown = [(found, group) for found, group in zip(rewards, groups, strict=True) if found.value is None]
        for found, group in unknown:
            if groups.count(group) < size:
                raise UnjudgedError(
                    f"{describe_unknown(found)}. Its group has no mean: this process has {groups.count(group)} of "
                    f"{size} responses; make per_device_train_batch_size × gradient_accumulation_steps a multiple of "
                    "num_generations"
                )
        if unknown:
            line = "%d of %d rewards are unknown and replaced by the mean of their group; first: %s"
            _log.warning(line, len(unknown), len(rewards), describe_unknown(unknown[0][0]))
        return fill_unknown([found.value for found in rewards], groups)
