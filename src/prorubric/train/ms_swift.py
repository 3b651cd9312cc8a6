"""The reward inside ms-swift: call `register` in your own file and name that file with `--external_plugins`.

ms-swift turns None, like NaN, into a reward of 0. So an unknown reward is replaced by the mean of its group's known
ones, which is advantage 0, and counted in the log. If nothing of a group is known, all of it gets one number and no
advantage either. In a group that is split across processes, which has no mean here, an unknown reward raises.

With `channels` ms-swift gets the advantages over a task's dimensions in place of rewards; a split group then raises.
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
from prorubric.reward.channels import check_channels, read_channels, weigh_channels
from prorubric.reward.reward import RewardConfig, RewardRequest, RubricReward
from prorubric.rubric.records import Task
from prorubric.train.adapter import VALIDATION_SPLITS, describe_unknown, fill_unknown, list_rows

_log = logging.getLogger(__name__)
# ms-swift puts the empty block of a model that does not think in front of each answer; the policy did not write it.
_NO_THOUGHT = re.compile(r"^<think>\s*</think>\s*")
# ms-swift's own names for the turns of a tool.
_ROLES = {"tool_call": "assistant", "tool_response": "tool"}
_EPSILON = 1e-8
"""What ms-swift adds to the standard deviation of a channel."""
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


def register(config: RewardConfig, name: str = "prorubric", *, channels: bool = False) -> None:
    """Register the reward with ms-swift under a name, for `--reward_funcs`; `channels` as in `ProRubricORM`."""
    try:
        orms = import_module("swift.rewards").orms
    except ImportError:
        raise ConfigError("ms-swift is not installed; install it with: pip install 'ms-swift>=4.6'") from None
    orms[name] = partial(ProRubricORM, config=config, channels=channels)


class ProRubricORM:
    """An asynchronous reward of ms-swift; length costs nothing in rows whose column `split` says validation.

    With `channels=True`, training gets `Σ w_k A_k` over the dimensions of each task and `--scale_rewards` has to be
    `none` or `batch`; validation gets the reward.
    """

    def __init__(self, args: Any = None, *, config: RewardConfig, channels: bool = False) -> None:
        if channels:
            check_channels(config.scheme)
            estimator, scale = getattr(args, "advantage_estimator", None), getattr(args, "scale_rewards", None)
            if estimator != "grpo" or scale not in ("none", "batch"):
                raise ConfigError(
                    f"channels: advantage_estimator is {estimator!r} and scale_rewards is {scale!r}, and ms-swift "
                    "would not use their sum unchanged; use grpo with --scale_rewards none, or batch"
                )
        self.args = args
        self.channels = channels
        self.reward = RubricReward(config)

    async def __call__(self, completions: Sequence[str], **columns: Any) -> list[float]:
        """The rewards of a batch, all of them numbers; ms-swift calls this."""
        rows = list_rows(columns, len(completions), skip=_NOT_COLUMNS)
        validation = {row.get("split") in VALIDATION_SPLITS for row in rows}
        if len(validation) > 1:
            raise ConfigError("a batch mixes training and validation rows (column 'split'); keep them apart")
        requests = [self._read_row(row, text) for row, text in zip(rows, completions, strict=True)]
        rewards = await self.reward.rewards(requests, validation=any(validation))
        groups = [str(row.get("prompt_id") or found.parts.task_id) for row, found in zip(rows, rewards, strict=True)]
        size = 0 if any(validation) else getattr(self.args, "num_generations", 0)
        values = [found.value for found in rewards]
        if self.channels and not any(validation):
            for group in dict.fromkeys(groups):
                if groups.count(group) < size:
                    raise ConfigError(f"channels: {_describe_part(groups.count(group), size)}")
            channels = [read_channels(one.task, found) for one, found in zip(requests, rewards, strict=True)]
            values = weigh_channels(channels, groups, _EPSILON)
        unknown = [place for place, value in enumerate(values) if value is None]
        for place in unknown:
            if (count := groups.count(groups[place])) < size:
                part = _describe_part(count, size)
                raise UnjudgedError(f"{describe_unknown(rewards[place])}. Its group has no mean: {part}")
        if unknown:
            line = "%d of %d rewards are unknown and replaced by the mean of their group; first: %s"
            _log.warning(line, len(unknown), len(rewards), describe_unknown(rewards[unknown[0]]))
        return fill_unknown(values, groups)

    def _read_row(self, row: dict[str, Any], text: str) -> RewardRequest:
        messages = list(row.get("messages") or ())
        task = self.reward.find_task(row | {"messages": messages[:-1]} if messages else row)  # as before the answer
        answer: Any = _NO_THOUGHT.sub("", text)
        if messages and self.reward.config.judging.view == "full":
            if messages[0]["role"] == "system" and task.messages[0].role != "system":
                messages = messages[1:]  # ms-swift's own
            answer = [{**turn, "role": _ROLES.get(turn["role"], turn["role"])} for turn in messages]
            for turn in answer:
                if turn["role"] == "assistant" and isinstance(turn["content"], str):
                    turn["content"] = _NO_THOUGHT.sub("", turn["content"])
        ids = row.get("response_token_ids")  # token ids, or a list of them for each turn
        tokens = sum(len(turn) if isinstance(turn, Sequence) else 1 for turn in ids) if ids else None
        return RewardRequest(task, answer, tokens)


def _describe_part(count: int, size: int) -> str:
    return (
        f"this process has {count} of {size} responses; make per_device_train_batch_size × "
        "gradient_accumulation_steps a multiple of num_generations"
    )
