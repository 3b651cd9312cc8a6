"""What trainer adapters share. An adapter reads what its trainer sends, calls a `RubricReward` and returns its numbers.

Most trainers have no place for None, so each adapter decides what an unknown reward becomes: an error, or a number that
the user chose (`require_value`); or the mean of the group's known rewards, which is advantage 0 (`fill_unknown`).
"""

import atexit
import logging
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from importlib import import_module
from statistics import fmean
from typing import Any

import pyarrow as pa

from prorubric.errors import ConfigError, MissingExtraError, UnjudgedError
from prorubric.files.write import open_rows
from prorubric.reward.monitor import Monitor, MonitorConfig
from prorubric.reward.reward import Reward, RewardConfig

VALIDATION_SPLITS = ("val", "valid", "validation", "test", "dev", "eval")
"""Values of a column `split` that mark rows of a validation set."""

_log = logging.getLogger(__name__)


def load_trainer(module: str, feature: str, extra: str) -> Any:
    """Import a module of the trainer; the error names the extra that installs it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError.of(feature, extra) from None


def require_no_overlong(config: RewardConfig, trainer: str, instead: str) -> None:
    """Refuse overlong shaping for a trainer that does not say how long a response is."""
    if config.overlong is not None:
        raise ConfigError(f"{trainer} passes text without a token count; leave out overlong and {instead}")


def list_rows(columns: Mapping[str, Any], count: int, skip: Container[str] = ()) -> list[dict[str, Any]]:
    """The rows of a batch that a trainer passes as columns; `skip` names its other arguments."""
    names = [name for name, values in columns.items() if name not in skip and values is not None]
    return [{name: columns[name][place] for name in names} for place in range(count)]


def describe_unknown(reward: Reward) -> str:
    """Why a reward is unknown and what it could be, in one line."""
    parts = reward.parts
    first, *others = parts.unknown
    more = f"; {len(others)} more" if others else ""
    return (
        f"task {parts.task_id!r}: the reward is unknown, somewhere from {parts.low:g} to {parts.high:g} "
        f"({first}{more}); look at the judge, or raise its retries (http) and reasks (judging)"
    )


def require_value(reward: Reward, fallback: float | None = None) -> float:
    """The value of a reward; an unknown one is the fallback, with a warning, or an `UnjudgedError` if there is none."""
    if reward.value is not None:
        return reward.value
    if fallback is None:
        raise UnjudgedError(describe_unknown(reward))
    _log.warning("a response gets the fallback %g: %s", fallback, describe_unknown(reward))
    return fallback


def fill_unknown(values: Sequence[float | None], groups: Sequence[str]) -> list[float]:
    """Replace each unknown value by the mean of its group's known ones, or of the batch's if its group has none."""
    known = defaultdict(list)
    for value, group in zip(values, groups, strict=True):
        if value is not None:
            known[group].append(value)
    means = {group: fmean(found) for group, found in known.items()}
    everywhere = [value for value in values if value is not None]
    # If nothing is known, any number will do: all values are equal and advantages are 0.
    fallback = fmean(everywhere) if everywhere else 0.0
    return [means.get(group, fallback) if value is None else value for value, group in zip(values, groups, strict=True)]


def list_metrics(reward: Reward) -> dict[str, float]:
    """Metrics that every response has: whether the judge failed, and the bounds of the score."""
    return {"judge_failed": float(reward.value is None), "low": reward.parts.low, "high": reward.parts.high}


def list_shadows(reward: Reward) -> dict[str, float]:
    """The known shadow scores of a response as metrics."""
    return {f"shadow/{scheme}": value for scheme, value in reward.parts.shadow.items() if value is not None}


class StepLog:
    """Collects rewards that arrive one by one and records each step when it is full, or when a later one is.

    What arrives for a step after that is ignored, and an unfinished last step is lost. With `keep`, the responses of a
    step are kept in `rollouts/` next to the monitor's file, ordered by place and number.
    """

    def __init__(self, config: MonitorConfig, size: int, *, keep: bool = False) -> None:
        self._monitor = Monitor(config)
        atexit.register(self._monitor.close)
        self._size = size
        self._rollouts = config.out.parent / "rollouts" if keep else None
        self._pending: dict[int, list[tuple[str, Reward, Mapping[str, Any]]]] = defaultdict(list)
        self._counted = 0
        self._last: int | None = None

    def add(self, step: int | None, group: str, reward: Reward, response: Mapping[str, Any] | None = None) -> None:
        """Add one reward and what to keep of its response: the text and its place in the step.

        If the trainer does not say which step it is at, full steps are counted from 1.
        """
        self._counted += 1
        number = (self._counted - 1) // self._size + 1 if step is None else step
        if self._last is not None and number <= self._last:
            return
        self._pending[number].append((group, reward, response or {}))
        if len(self._pending[number]) < self._size:
            return
        for due in sorted(pending for pending in self._pending if pending <= number):
            groups, rewards, responses = zip(*self._pending.pop(due), strict=True)
            if self._rollouts is not None:
                rows = map(render_rollout_row, rewards, responses)
                with open_rows(self._rollouts / f"step-{due:04d}.jsonl.zst", pa.schema([])) as write:
                    for row in sorted(rows, key=lambda row: (row["place"], row["response"])):
                        write(row)
            self._monitor.record(due, rewards, groups=groups)
        self._last = number


def render_rollout_row(reward: Reward, response: Mapping[str, Any]) -> dict[str, Any]:
    """A response of a rollout as it is stored: its text, its place in the step, and what it earned."""
    parts = reward.parts
    earned = {"tokens": parts.tokens, "reward": reward.value, "score": parts.score, "verdicts": parts.verdicts}
    return {"task_id": parts.task_id, **response, **earned}
