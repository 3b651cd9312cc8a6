"""The reward inside ms-swift: `register` in a file of your own, and name that file with `--external_plugins`.

ms-swift turns None, like NaN, into a reward of 0, also from its only reward function. So an unknown reward gets the
mean of its group's known ones here: its advantage is then 0, up to the rounding of a 32-bit float, and the group's mean
stays where it was. Where nothing of a group is known, all of it gets one number, and no advantage either. A group that
lies across processes has no mean here: an unknown reward of it raises. Filled rewards are counted in the log; too many
of them are stopped by the reward itself (`BreakerError`).
"""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow as pa
from pydantic import JsonValue

from prorubric.errors import ConfigError, UnjudgedError
from prorubric.files.json import render_json
from prorubric.files.write import open_rows
from prorubric.reward.reward import Case, Reward, RewardConfig, RubricReward
from prorubric.rubric.forms import render_task
from prorubric.rubric.records import Task
from prorubric.rubric.save import TASK_SCHEMA
from prorubric.train.known import describe_unknown

_log = logging.getLogger(__name__)
# ms-swift puts the empty block of a model that does not think in front of each answer; no policy has written it.
_NO_THOUGHT = re.compile(r"^<think>\s*</think>\s*")
_VALIDATION_SPLITS = ("val", "valid", "validation", "test", "dev", "eval")
_NOT_COLUMNS = ("trainer_state", "trajectory_inputs")


_ROW_SCHEMA = pa.schema(
    {
        "messages": TASK_SCHEMA.field("messages").type,
        "task_id": pa.string(),
        "split": pa.string(),
        "task": pa.string(),
    }
)


def save_rows(path: Path, tasks: Iterable[Task], *, split: str = "train", carry: bool = False) -> int:
    """Write tasks as rows for `--dataset` or, with another split, `--val_dataset`; returns how many.

    With `carry` each row has its whole task as JSON text in `task`, and the reward needs no file of tasks.
    """
    count = 0
    with open_rows(path, _ROW_SCHEMA) as write:
        for count, task in enumerate(tasks, 1):  # noqa: B007 - counted for the caller
            row = render_task(task)
            carried: dict[str, JsonValue] = {"task": render_json(row).decode()} if carry else {}
            write({"messages": row["messages"], "task_id": task.id, "split": split, **carried})
    return count


def register(config: RewardConfig, name: str = "prorubric") -> None:
    """Make the reward known to ms-swift under a name, for `--reward_funcs`."""
    try:
        orms = import_module("swift.rewards").orms
    except ImportError:
        raise ConfigError("ms-swift is not installed; install it with: pip install 'ms-swift>=4.6'") from None
    orms[name] = partial(ProRubricORM, config=config)


class ProRubricORM:
    """An asynchronous reward of ms-swift. Rows name their task in the column `config.column`, or carry it.

    ms-swift does not tell a reward whether it validates: rows of the validation set say so in a column `split`, and
    are then not charged for their length.
    """

    def __init__(self, args: Any = None, *, config: RewardConfig) -> None:
        self.args = args
        self.reward = RubricReward(config)

    async def __call__(self, completions: Sequence[str], **columns: Any) -> list[float]:
        """The rewards of a batch, all of them numbers; ms-swift calls this."""
        rows = _list_rows(columns, len(completions))
        validation = {row.get("split") in _VALIDATION_SPLITS for row in rows}
        if len(validation) > 1:
            raise ConfigError("a batch has rows of training and of validation in its column 'split'; keep them apart")
        cases = [
            Case(self.reward.find_task(row), _NO_THOUGHT.sub("", text), _count_tokens(row.get("response_token_ids")))
            for row, text in zip(rows, completions, strict=True)
        ]
        rewards = await self.reward.rewards(cases, validation=any(validation))
        groups = [str(row.get("prompt_id") or reward.parts.task_id) for row, reward in zip(rows, rewards, strict=True)]
        size = 0 if any(validation) else getattr(self.args, "num_generations", 0)
        for reward, group in zip(rewards, groups, strict=True):
            if reward.value is None and groups.count(group) < size:
                raise UnjudgedError(
                    f"{describe_unknown(reward)}. It has no group mean: this process has {groups.count(group)} of "
                    f"{size} responses; let per_device_train_batch_size × gradient_accumulation_steps be a multiple of "
                    "num_generations"
                )
        _report(rewards)
        return fill_unknown([reward.value for reward in rewards], groups)


def fill_unknown(values: Sequence[float | None], groups: Sequence[str]) -> list[float]:
    """Each unknown value as the mean of its group's known ones; where a group has none, as the mean of the batch's."""
    known: dict[str, list[float]] = {}
    for value, group in zip(values, groups, strict=True):
        if value is not None:
            known.setdefault(group, []).append(value)
    everywhere = [value for value in values if value is not None]
    # Where nothing at all is known, any number will do, since all of them are equal: advantages are 0.
    fallback = fmean(everywhere) if everywhere else 0.0
    means = {group: fmean(found) for group, found in known.items()}
    return [means.get(group, fallback) if value is None else value for value, group in zip(values, groups, strict=True)]


def _list_rows(columns: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """The columns of a batch as its rows, with the conversation as it was before the answer."""
    names = [name for name in columns if name not in _NOT_COLUMNS and columns[name] is not None]
    rows = [{name: columns[name][place] for name in names} for place in range(count)]
    return [{**row, "messages": row["messages"][:-1]} if row.get("messages") else row for row in rows]


def _count_tokens(ids: Any) -> int | None:
    """The length of a response: its token ids, or a list of them for each turn; None where ms-swift kept none."""
    if not ids:
        return None
    return sum(len(turn) if isinstance(turn, Sequence) else 1 for turn in ids)


def _report(rewards: Sequence[Reward]) -> None:
    unknown = [reward for reward in rewards if reward.value is None]
    if unknown:
        reason = next((reason for reward in unknown for reason in reward.parts.unknown), "no reason")
        _log.warning(
            "%d of %d rewards are unknown and count as their group's mean: %s", len(unknown), len(rewards), reason
        )
