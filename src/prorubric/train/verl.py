"""verl: a reward function for its own reward managers, and a manager that sees whole groups.

verl has no place for an unknown reward: NaN makes NaN of a group's advantages, and None has no score. So a response
without a reward is left out, or gets a number that `on_failure` names; then its `judge_failed` is 1.

- `compute_score` goes into verl's `naive`, `dapo` or `gdpo`, which look at one response at a time. An unknown reward
  raises, and verl's default trainer goes on without the response. They do not say how long a response is, so that
  `overlong` is refused: let `dapo` charge it.
- `GroupRewardManager` takes their place. An unknown reward gets the mean of its group's known ones, which is advantage
  0, and raises where nothing of the group is known. Length is charged here, in training only.

Both read `reward.custom_reward_function.reward_kwargs`: the options of `RewardConfig` and those of `VerlOptions`. When
the breaker opens, or the judge cannot be used at all, every later call raises as well: verl's default trainer goes on
without a row that raised, and stops when none is left. verl is imported only where it calls.
"""

import asyncio
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from prorubric.datasets.shapes import read_object
from prorubric.errors import BreakerError, ConfigError, ModelError, ProRubricError, UnjudgedError
from prorubric.files.json import parse_json, render_json
from prorubric.files.read import read_rows
from prorubric.reward.monitor import MonitorConfig
from prorubric.reward.reward import Reward, RewardConfig, make_reward
from prorubric.rubric.base import config_record
from prorubric.train.known import describe_unknown
from prorubric.train.step_log import StepLog
from prorubric.train.verl_settings import OWN_OPTIONS, VerlRun, render_overrides

__all__ = [
    "ABSENT",
    "DIMENSIONS",
    "UNKNOWN",
    "GroupRewardManager",
    "VerlOptions",
    "VerlRun",
    "compute_score",
    "render_overrides",
]

DIMENSIONS = 5
"""As many verdicts on dimensions have a key of their own."""
UNKNOWN, ABSENT = -1.0, -2.0
"""What stands under a key where the judge gave no verdict, and where there was nothing to ask: the task has no such
dimension, or the response was not chosen for that shadow."""

OnFailure = Annotated[float, Field(allow_inf_nan=False)] | Literal["leave_out", "midpoint"]

# What a row may say of its task. verl puts more into `extra_info`, differently for each response.
_TASK_KEYS = frozenset(
    "id task_id task messages prompt rubric rubrics criteria protocol reference meta prorubric".split()
)
_NOT_OURS = ("reward_router_address", "reward_model_tokenizer")
# verl's estimators that give advantage 0 to a response at the mean of its group.
_CENTRED = ("grpo", "grpo_vectorized", "rloo", "rloo_vectorized", "reinforce_plus_plus_baseline", "gpg")
_VALIDATION_SPLITS = ("val", "valid", "validation", "test", "dev", "eval")
_LOG = logging.getLogger(__name__)
_LOG_EVERY = 512


@config_record
class VerlOptions:
    """What `reward_kwargs` say."""

    reward: RewardConfig
    _: KW_ONLY
    on_failure: OnFailure = "leave_out"
    """What becomes of a response with an unknown reward. `leave_out` raises: verl's default trainer goes on without the
    response, its older one stops. A number, or `midpoint` between the lowest and the highest that the reward could
    still be, is trained on as if it were the reward. `GroupRewardManager` does either only where the mean of the
    group's known rewards would not do: none is known, or the advantage estimator does not center groups."""
    group_wait: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 600.0
    """`GroupRewardManager`: for how many seconds a failed row waits for the rest of its group."""
    monitor: MonitorConfig | None = None
    """`GroupRewardManager`: where the steps of the training are recorded."""


async def compute_score(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: Any = None, **reward_kwargs: Any
) -> dict[str, float]:
    """The reward of one response, for `reward.custom_reward_function`."""
    rewarder = _find_rewarder(reward_kwargs)
    if rewarder.options.reward.overlong is not None:
        raise ConfigError(
            "overlong: verl's managers do not tell a reward function how long a response is; let verl charge for "
            "length (reward.reward_manager.name=dapo with overlong_buffer_cfg), or use GroupRewardManager"
        )
    if rewarder.options.monitor is not None:
        raise ConfigError("monitor: a reward function is not told of steps; use GroupRewardManager, or leave it out")
    row = Row(data_source, ground_truth, read_object(extra_info))
    return rewarder.render(await rewarder.reward(row, solution_str))


@dataclass(frozen=True, slots=True)
class Row:
    """What verl knows of the prompt that a response belongs to."""

    data_source: Any
    ground_truth: Any
    extra_info: Mapping[str, Any]
    prompt: Any = None

    def name(self, column: str) -> str:
        """The task's name, as far as the row gives one."""
        named = (*(self.extra_info.get(key) for key in (column, "id", "task_id")), self.ground_truth)
        return str(next((name for name in named if name is not None), ""))

    def render(self, column: str) -> dict[str, Any]:
        """The row as a task is looked up in it."""
        return {
            "data_source": self.data_source,
            "prompt": self.prompt,
            "reward_model": {"ground_truth": self.ground_truth},
            "extra_info": {k: v for k, v in self.extra_info.items() if k in _TASK_KEYS or k == column},
        }


class Rewarder:
    """The rewards of one process in verl's form, and the count of those that are unknown."""

    def __init__(self, options: VerlOptions) -> None:
        self.options = options
        self._reward = make_reward(options.reward)
        self._stopped: ProRubricError | None = None
        self._seen = self._unknown = 0

    async def reward(self, row: Row, text: str, tokens: int | None = None, validation: bool = False) -> Reward:
        """Reward one response. Once the judge has been given up, all further ones raise what the first raised."""
        self._refuse_if_stopped()
        task = self._find_task(row)
        try:
            found = await self._reward.reward(task, text, tokens=tokens, validation=validation)
        except (BreakerError, ModelError) as error:
            self._stopped = self._stopped or error
            raise type(self._stopped)(str(self._stopped)) from None
        self._refuse_if_stopped()
        self._count(found)
        return found

    def render(self, found: Reward, group_mean: float | None = None) -> dict[str, float]:
        """A finite score, and the same keys for every response."""
        parts, shadow = found.parts, self.options.reward.shadow
        verdicts = [*map(_as_number, parts.dimensions.values()), *[ABSENT] * DIMENSIONS]
        return {
            "score": self._stand_in(found, group_mean) if found.value is None else found.value,
            "judge_failed": float(found.value is None),
            "low": parts.low,
            "high": parts.high,
            "overlong": parts.overlong,
            **{f"dimension_{number}": verdicts[number - 1] for number in range(1, DIMENSIONS + 1)},
            **{f"shadow_{name}": _as_number(parts.shadow.get(name, ABSENT)) for name in shadow},
        }

    def _find_task(self, row: Row) -> object:
        """The row as a task is looked up in it, or an id where the configured column is empty and a file has the task.

        The file then wins over what the row carries: that is how one data set serves several rubrics.
        """
        column = self.options.reward.column
        known = row.extra_info.get(column) is None and row.name(column) in self._reward.tasks
        return row.name(column) if known else row.render(column)

    def _refuse_if_stopped(self) -> None:
        if self._stopped is not None:
            raise type(self._stopped)(str(self._stopped))

    def _stand_in(self, found: Reward, group_mean: float | None) -> float:
        parts, choice = found.parts, self.options.on_failure
        if group_mean is not None:
            return group_mean
        if choice == "leave_out":
            raise UnjudgedError(describe_unknown(found))
        return (parts.low + parts.high) / 2 + parts.overlong if choice == "midpoint" else choice

    def _count(self, found: Reward) -> None:
        self._seen += 1
        self._unknown += found.value is None
        if self._unknown and self._seen % _LOG_EVERY == 0:
            _LOG.warning("%d of %d rewards in this process are unknown", self._unknown, self._seen)


@dataclass(slots=True)
class _Group:
    """The responses to one prompt, as their rewards come in."""

    size: int
    seen: int = 0
    known: list[float] = field(default_factory=list)
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    def mean(self) -> float | None:
        """The mean of the known rewards, whatever the order they came in."""
        return math.fsum(self.known) / len(self.known) if self.known else None


class GroupRewardManager:
    """A reward manager for verl that sees whole groups: `reward.reward_manager.source=importlib`.

    verl hands every response to a reward worker drawn by lot, so that a group is seen whole only where there is one
    worker; more are refused. One is enough, because it waits for the judge and not for a processor.
    """

    def __init__(self, config: Any, tokenizer: Any, compute_score: Any = None, **_: Any) -> None:  # noqa: ARG002 - verl's
        if config.reward.num_workers != 1:
            raise ConfigError(
                f"reward.num_workers is {config.reward.num_workers}: verl deals the responses of a group out to all "
                "workers, and none of them would see it whole; set reward.num_workers=1"
            )
        if ((config.reward.get("reward_kwargs") or {}).get("overlong_buffer_cfg") or {}).get("enable"):
            raise ConfigError(
                "reward.reward_kwargs.overlong_buffer_cfg belongs to verl's dapo manager; GroupRewardManager charges "
                "for length itself: set overlong in reward.custom_reward_function.reward_kwargs instead"
            )
        self._tokenizer, self._data = tokenizer, config.data
        self._rewarder = _find_rewarder(config.reward.custom_reward_function.get("reward_kwargs") or {})
        self._column = self._rewarder.options.reward.column
        rollout = config.actor_rollout_ref.rollout
        self._sizes = {False: rollout.n, True: rollout.val_kwargs.n}
        self._centred = config.algorithm.adv_estimator in _CENTRED
        monitor = self._rewarder.options.monitor
        self._log = StepLog(monitor, config.data.train_batch_size * rollout.n) if monitor else None
        self._groups: dict[str, _Group] = {}

    async def run_single(self, data: Any) -> dict[str, Any]:
        """The reward of one response; a failed one is answered when its group is complete."""
        item = data[-1:][0]  # of several outputs of an agent the last
        responses, columns = item.batch["responses"], item.non_tensor_batch
        tokens = int(item.batch["attention_mask"][-responses.shape[-1] :].sum())
        text = self._tokenizer.decode(responses[:tokens], skip_special_tokens=True)
        row = _read_row(columns)
        validation = self._is_validation(row)
        uid = str(columns.get("uid", row.name(self._column)))
        group = self._groups.setdefault(uid, _Group(self._sizes[validation] if "uid" in columns else 1))
        found = None
        try:
            found = await self._rewarder.reward(row, text, tokens, validation)
        finally:
            self._settle(uid, group, found)
        if self._log is not None and not validation:
            step = columns.get("global_steps")
            self._log.add(None if step is None else int(step), uid, found)
        waits = found.value is None and self._centred
        rendered = self._rewarder.render(found, await self._wait_for_mean(uid, group) if waits else None)
        return {"reward_score": rendered["score"], "reward_extra_info": rendered}

    @classmethod
    def assemble_rm_scores(cls, data: Any, scores: list[float]) -> Any:
        """The scores as verl's tensor, each at the last token of its response."""
        base = import_module("verl.experimental.reward_loop.reward_manager.base").RewardManagerBase
        return base.assemble_rm_scores(data, scores)

    def _settle(self, uid: str, group: _Group, found: Reward | None) -> None:
        """Count a response, also one whose reward raised: nobody must wait for it."""
        group.seen += 1
        if found is not None and found.value is not None:
            group.known.append(found.value)
        if group.seen >= group.size:
            self._forget(uid, group)
            group.complete.set()

    async def _wait_for_mean(self, uid: str, group: _Group) -> float | None:
        try:
            await asyncio.wait_for(group.complete.wait(), self._rewarder.options.group_wait)
        except TimeoutError:
            _LOG.warning("only %d of %d responses of a group came; the mean is theirs", group.seen, group.size)
            self._forget(uid, group)
        return group.mean()

    def _forget(self, uid: str, group: _Group) -> None:
        """What still comes after a group was given up is a group of its own, which is not this one's to drop."""
        if self._groups.get(uid) is group:
            del self._groups[uid]

    def _is_validation(self, row: Row) -> bool:
        """By the row's own word, or by the file it comes from: verl does not say whether it trains or validates."""
        split = row.extra_info.get("split")
        if isinstance(split, str):
            return split.lower() in _VALIDATION_SPLITS
        return row.name(self._column) in self._validation_ids

    @cached_property
    def _validation_ids(self) -> frozenset[str]:
        validation = frozenset(_read_names(self._data.val_files, self._column))
        both = sorted(validation.intersection(_read_names(self._data.train_files, self._column)))
        if both:
            raise ConfigError(
                f"task {both[0]!r} is in data.train_files and in data.val_files ({len(both)} are), so that nobody can "
                "tell training from validation; hold tasks out, or give each row its split in extra_info"
            )
        return validation


def _read_row(columns: Mapping[str, Any]) -> Row:
    prompt = columns.get("raw_prompt")
    return Row(
        columns.get("data_source"),
        read_object(columns.get("reward_model")).get("ground_truth"),
        read_object(columns.get("extra_info")),
        None if prompt is None else list(prompt),
    )


def _read_names(files: Any, column: str) -> Iterator[str]:
    """The tasks' names in verl's data files, which may lie elsewhere."""
    copy_to_local = import_module("verl.utils.fs").copy_to_local
    for file in [files] if isinstance(files, str) else files or ():
        for row in read_rows(Path(copy_to_local(str(Path(file).expanduser())))):
            yield _read_row(row.value or {}).name(column)


def _find_rewarder(reward_kwargs: Mapping[str, Any]) -> Rewarder:
    plain = {key: _as_plain(value) for key, value in reward_kwargs.items() if key not in _NOT_OURS}
    return _make_rewarder(render_json(dict(sorted(plain.items()))))


@lru_cache(maxsize=64)
def _make_rewarder(kwargs: bytes) -> Rewarder:
    options = parse_json(kwargs)
    own = {key: options.pop(key) for key in OWN_OPTIONS if key in options}
    return Rewarder(VerlOptions(RewardConfig(**options), **own))


def _as_plain(value: Any) -> Any:
    """Hydra's containers as Python's."""
    if isinstance(value, Mapping):
        return {str(key): _as_plain(inner) for key, inner in value.items()}
    return [*map(_as_plain, value)] if isinstance(value, Sequence) and not isinstance(value, str) else value


def _as_number(verdict: float | None) -> float:
    return UNKNOWN if verdict is None else float(verdict)
