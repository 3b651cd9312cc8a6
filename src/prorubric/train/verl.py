"""verl: a reward function for its own reward managers, and a manager that sees whole groups.

verl has no place for an unknown reward: NaN makes NaN of a group's advantages, and None has no score. So a response
without a reward is left out, or gets the number that `on_failure` names; then its `judge_failed` is 1.

`compute_score` is for verl's own managers, which see one response at a time: an unknown reward raises, and verl's
default trainer continues without the response. `GroupRewardManager` gives it the mean of its group's known rewards,
which is advantage 0. Once the breaker opens, or the judge cannot be used at all, every later call raises too: the
trainer runs out of rows and stops. With `channels` it answers a whole group at once, with the advantages over its
task's dimensions. Importing this module does not import verl; its settings are in `verl_settings`.
"""

import asyncio
import json
import logging
import math
from collections.abc import Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, lru_cache
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal

from pydantic import Field

from prorubric.datasets.shapes import read_object
from prorubric.errors import BreakerError, ConfigError, ModelError, ProRubricError
from prorubric.files.read import read_rows
from prorubric.reward.channels import Channels, check_channels, read_channels, weigh_channels
from prorubric.reward.monitor import MonitorConfig
from prorubric.reward.reward import Reward, RewardConfig, make_reward
from prorubric.rubric.base import config_record
from prorubric.rubric.records import Task
from prorubric.train.adapter import VALIDATION_SPLITS, StepLog, list_metrics, require_no_overlong, require_value

DIMENSIONS = 5
"""How many verdicts on dimensions get a key."""
UNKNOWN, ABSENT = -1.0, -2.0
"""The value of a key if the judge gave no verdict, and if nothing was judged: no such dimension, or shadow skipped."""
TRANSCRIPT = "transcript"
"""The extra field in which an agent loop leaves the messages of a rollout."""
SCAFFOLD = "scaffold"
"""The extra field in which our agent loop leaves how many criteria it has shown."""

OnFailure = Annotated[float, Field(allow_inf_nan=False)] | Literal["leave_out", "midpoint"]

_log = logging.getLogger(__name__)
_LOG_EVERY = 512
# verl's estimators that give advantage 0 to a response at the mean of its group.
_CENTRED = ("grpo", "grpo_vectorized", "rloo", "rloo_vectorized", "reinforce_plus_plus_baseline", "gpg")
_TURNS_OF_A_TEXT = 2
"""verl counts the prompt as a turn."""
_VERL_KWARGS = ("reward_router_address", "reward_model_tokenizer")
"""What verl adds to `reward_kwargs`."""


@config_record
class VerlOptions:
    """The options in `reward_kwargs`."""

    reward: RewardConfig
    _: KW_ONLY
    on_failure: OnFailure = "leave_out"
    """What becomes of an unknown reward: `leave_out` raises; a number, or the `midpoint` of the bounds, is trained on.
    `GroupRewardManager` does so only if no reward of the group is known, or the estimator does not center groups."""
    group_wait: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 600.0
    """`GroupRewardManager`: how many seconds a failed row waits for the rest of its group."""
    monitor: MonitorConfig | None = None
    """`GroupRewardManager`: where the steps of the training are recorded."""
    channels: bool = False
    """`GroupRewardManager`: training gets `Σ w_k A_k` over the dimensions of each task in place of the reward."""
    judge_validation: bool = True
    """`GroupRewardManager`: False asks no judge about responses of a validation; their score is NaN. For runs whose
    answers are judged from `trainer.validation_data_dir`."""
    keep_rollouts: bool = False
    """`GroupRewardManager`: keep the responses of each step, with verdicts, in `rollouts/` next to the monitor's file.
    Rows have their number in `extra_info.index`."""

    def __post_init__(self) -> None:
        if self.keep_rollouts and self.monitor is None:
            raise ConfigError("keep_rollouts: rollouts are kept next to the monitor's file; give monitor.out")
        if self.channels:
            check_channels(self.reward.scheme)


OWN_OPTIONS = ("on_failure", "group_wait", "monitor", "channels", "judge_validation", "keep_rollouts")


async def compute_score(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: Any = None, **reward_kwargs: Any
) -> dict[str, float]:
    """The reward of one response, for `reward.custom_reward_function`."""
    rewarder = _find_rewarder(reward_kwargs)
    own = "let verl charge for length (reward.reward_manager.name=dapo with overlong_buffer_cfg)"
    require_no_overlong(rewarder.options.reward, "verl", f"{own}, or use GroupRewardManager")
    if rewarder.options.monitor is not None:
        raise ConfigError("monitor: verl does not tell a reward function its step; use GroupRewardManager")
    if rewarder.options.channels:
        raise ConfigError("channels: verl shows a reward function one response at a time; use GroupRewardManager")
    truth = {"ground_truth": ground_truth}
    row = _read_row({"data_source": data_source, "reward_model": truth, "extra_info": extra_info})
    fields = read_object(extra_info)  # verl's managers have put the fields of the agent loop in there
    response = rewarder.choose_response(solution_str, fields, fields.get("num_turns"))
    return rewarder.render(await rewarder.reward(row, response))


class Rewarder:
    """The rewards of one process in verl's form, and the count of those that are unknown."""

    def __init__(self, options: VerlOptions) -> None:
        self.options = options
        self._reward = make_reward(options.reward)
        self._stopped: ProRubricError | None = None
        self._seen = self._unknown = 0

    async def reward(
        self, row: Mapping[str, Any], response: Any, tokens: int | None = None, validation: bool = False
    ) -> Reward:
        """Reward one response. After the judge has failed for good, every call raises the same error."""
        self._raise_if_stopped()
        task = self._find_task(row)
        try:
            found = await self._reward.reward(task, response, tokens=tokens, validation=validation)
        except (BreakerError, ModelError) as error:
            self._stopped = self._stopped or error
            raise copy(self._stopped) from None
        self._raise_if_stopped()
        self._seen += 1
        self._unknown += found.value is None
        if self._unknown and self._seen % _LOG_EVERY == 0:
            _log.warning("%d of %d rewards in this process are unknown", self._unknown, self._seen)
        return found

    def choose_response(self, text: str, fields: Mapping[str, Any], turns: Any) -> Any:
        """The messages that the agent loop left in its extra fields, or all generated text."""
        if fields.get(TRANSCRIPT) is not None:
            return list(fields[TRANSCRIPT])
        if self.options.reward.judging.view == "full" and turns is not None and int(turns) > _TURNS_OF_A_TEXT:
            raise ConfigError(
                f"a rollout of {int(turns)} turns came without its messages, and judging.view is full",
                remedy=f"let the agent loop put them into extra_fields[{TRANSCRIPT!r}], or set view to last",
            )
        return text

    def read_channels(self, row: Mapping[str, Any], found: Reward) -> Channels:
        """The dimensions of a response that was rewarded for this row."""
        return read_channels(self._find_task(row), found)

    def _find_task(self, row: Mapping[str, Any]) -> Task:
        column = self.options.reward.column
        name = _name_task(row, column)
        # A file of tasks wins over what the row carries, so one data set can serve several rubrics.
        is_named = row["extra_info"].get(column) is None and name in self._reward.tasks
        return self._reward.find_task(name if is_named else row)

    def _raise_if_stopped(self) -> None:
        if self._stopped is not None:
            raise copy(self._stopped)

    def render(self, found: Reward, instead: float | None = None) -> dict[str, float]:
        """A finite score, and the same keys for every response; `instead` is the score if it is given."""
        parts, choice = found.parts, self.options.on_failure
        if instead is not None:
            score = instead
        elif found.value is None and choice == "midpoint":
            score = (parts.low + parts.high) / 2 + parts.overlong
        elif found.value is None and isinstance(choice, float):
            score = choice
        else:
            score = require_value(found)
        verdicts = dict(enumerate(parts.dimensions.values(), 1))
        given = {
            **{f"dimension_{number}": verdicts.get(number, ABSENT) for number in range(1, DIMENSIONS + 1)},
            **{f"shadow_{name}": parts.shadow.get(name, ABSENT) for name in self.options.reward.shadow},
        }
        numbers = {name: UNKNOWN if value is None else float(value) for name, value in given.items()}
        return {"score": score, **list_metrics(found), "overlong": parts.overlong, **numbers}


@dataclass(slots=True)
class _Group:
    """The responses to one prompt, as their rewards come in."""

    size: int
    seen: int = 0
    known: list[float] = field(default_factory=list)
    channels: list[Channels] = field(default_factory=list)
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    def weigh(self, own: Channels) -> float | None:
        """`Σ w_k A_k` of one of the responses, the mean of the others if nothing of it is known; None without any."""
        found = weigh_channels(self.channels, [0] * len(self.channels))
        known = [value for value in found if value is not None]
        value = next(value for one, value in zip(self.channels, found, strict=True) if one is own)
        return value if value is not None or not known else fmean(known)


class GroupRewardManager:
    """A reward manager for verl that sees whole groups, and for that needs `reward.num_workers=1`."""

    def __init__(self, config: Any, tokenizer: Any, compute_score: Any = None, **_: Any) -> None:  # noqa: ARG002 - verl's
        if config.reward.num_workers != 1:
            reason = "verl spreads the responses of a group over all workers, and none of them would see it whole"
            place = f"reward.num_workers is {config.reward.num_workers}"
            raise ConfigError(reason, remedy="set reward.num_workers=1", place=place)
        if ((config.reward.get("reward_kwargs") or {}).get("overlong_buffer_cfg") or {}).get("enable"):
            own = "set overlong in reward.custom_reward_function.reward_kwargs instead"
            remedy = f"GroupRewardManager charges for length itself: {own}"
            raise ConfigError("reward.reward_kwargs.overlong_buffer_cfg belongs to verl's dapo manager", remedy=remedy)
        self._tokenizer, self._data = tokenizer, config.data
        self._rewarder = _find_rewarder(config.reward.custom_reward_function.get("reward_kwargs") or {})
        self._column = self._rewarder.options.reward.column
        rollout = config.actor_rollout_ref.rollout
        self._sizes = {False: rollout.n, True: rollout.val_kwargs.n}
        algorithm, estimator = config.algorithm, config.algorithm.adv_estimator
        self._centred = estimator in _CENTRED
        if estimator == "gdpo":
            raise ConfigError(
                "algorithm.adv_estimator is gdpo, which cannot represent an unknown dimension and counts its marker -1 "
                "as a reward; use channels=True with algorithm.adv_estimator=grpo"
            )
        takes_sums = estimator in ("grpo", "grpo_vectorized")
        if self._rewarder.options.channels and (not takes_sums or algorithm.norm_adv_by_std_in_grpo):
            raise ConfigError(
                f"channels: algorithm.adv_estimator is {estimator} and norm_adv_by_std_in_grpo "
                f"{algorithm.norm_adv_by_std_in_grpo}, and verl would not use their sum unchanged; set "
                "algorithm.adv_estimator=grpo and algorithm.norm_adv_by_std_in_grpo=False"
            )
        monitor, keep = self._rewarder.options.monitor, self._rewarder.options.keep_rollouts
        self._prompts = config.data.train_batch_size
        self._log = StepLog(monitor, self._prompts * rollout.n, keep=keep) if monitor else None
        self._groups: dict[str, _Group] = {}

    async def run_single(self, data: Any) -> dict[str, Any]:
        """The reward of one response; a failed one is answered when its group is complete."""
        item = data[-1:][0]  # the last, if an agent has several outputs
        responses, columns = item.batch["responses"], item.non_tensor_batch
        tokens = int(item.batch["attention_mask"][-responses.shape[-1] :].sum())
        text = self._tokenizer.decode(responses[:tokens], skip_special_tokens=True)
        row = _read_row(columns)
        # verl does not say whether it trains or validates: the row does, or the file that its task is in.
        split, name = row["extra_info"].get("split"), _name_task(row, self._column)
        validation = split.lower() in VALIDATION_SPLITS if isinstance(split, str) else name in self._validation_ids
        if validation and not self._rewarder.options.judge_validation:
            unjudged = {"score": math.nan, "tokens": tokens}
            return {"reward_score": math.nan, "reward_extra_info": unjudged}
        uid = str(columns.get("uid", name))
        group = self._groups.setdefault(uid, _Group(self._sizes[validation] if "uid" in columns else 1))
        found = channels = None
        try:
            fields = read_object(columns.get("tool_extra_fields"))
            response = self._rewarder.choose_response(text, fields, columns.get("__num_turns__"))
            found = await self._rewarder.reward(row, response, tokens, validation)
            if self._rewarder.options.channels and not validation:
                channels = self._rewarder.read_channels(row, found)
                group.channels.append(channels)
        finally:  # a response whose reward raised counts too: the others must not wait for it
            group.seen += 1
            if found is not None and found.value is not None:
                group.known.append(found.value)
            if group.seen >= group.size:
                self._forget(uid, group)
                group.complete.set()
        if self._log is not None and not validation:
            step, place = columns.get("global_steps"), int(row["extra_info"].get("index") or 0) % self._prompts
            kept = {"place": place, "response": int(columns.get("session_id", 0)), "text": text}
            shown = {key: fields[key] for key in (SCAFFOLD,) if key in fields}
            self._log.add(None if step is None else int(step), uid, found, kept | shown)
        instead = None
        if channels is not None:
            await self._wait(uid, group)
            instead = group.weigh(channels)
        elif found.value is None and self._centred:
            await self._wait(uid, group)
            instead = fmean(group.known) if group.known else None
        rendered = self._rewarder.render(found, instead)
        return {"reward_score": rendered["score"], "reward_extra_info": rendered}

    async def _wait(self, uid: str, group: _Group) -> None:
        try:
            await asyncio.wait_for(group.complete.wait(), self._rewarder.options.group_wait)
        except TimeoutError:
            _log.warning("only %d of %d responses of a group arrived; continuing with these", group.seen, group.size)
            self._forget(uid, group)

    @classmethod
    def assemble_rm_scores(cls, data: Any, scores: list[float]) -> Any:
        """The scores as verl's tensor, each at the last token of its response."""
        base = import_module("verl.experimental.reward_loop.reward_manager.base").RewardManagerBase
        return base.assemble_rm_scores(data, scores)

    def _forget(self, uid: str, group: _Group) -> None:
        # Responses that arrive after a group was given up form a new group with the same uid, which must stay.
        if self._groups.get(uid) is group:
            del self._groups[uid]

    @cached_property
    def _validation_ids(self) -> set[str]:
        copy_to_local = import_module("verl.utils.fs").copy_to_local  # data files may be remote
        names: dict[str, set[str]] = {"val_files": set(), "train_files": set()}
        for key, found in names.items():
            files = self._data[key]
            for file in [files] if isinstance(files, str) else files or ():
                rows = read_rows(Path(copy_to_local(str(Path(file).expanduser()))))
                found.update(_name_task(_read_row(row.value or {}), self._column) for row in rows)
        if both := sorted(names["val_files"] & names["train_files"]):
            line = f"{len(both)} tasks are in both data.train_files and data.val_files, such as {both[0]!r}"
            remedy = "hold tasks out, or give each row its split in extra_info"
            raise ConfigError(f"{line}, so training and validation cannot be told apart", remedy=remedy)
        return names["val_files"]


def _read_row(columns: Mapping[str, Any]) -> dict[str, Any]:
    """What verl knows of the prompt of a response, in the form that a task is looked up in."""
    prompt = columns.get("raw_prompt")
    return {
        "data_source": columns.get("data_source"),
        "prompt": None if prompt is None else list(prompt),
        "reward_model": {"ground_truth": read_object(columns.get("reward_model")).get("ground_truth")},
        "extra_info": {key: it for key, it in read_object(columns.get("extra_info")).items() if key != TRANSCRIPT},
    }


def _name_task(row: Mapping[str, Any], column: str) -> str:
    names = [*(row["extra_info"].get(key) for key in (column, "id", "task_id")), row["reward_model"]["ground_truth"]]
    return str(next((name for name in names if name is not None), ""))


def _find_rewarder(reward_kwargs: Mapping[str, Any]) -> Rewarder:
    options = {key: value for key, value in reward_kwargs.items() if key not in _VERL_KWARGS}
    # Hydra's containers are not Python's own, so `json` asks for these.
    plain = json.dumps(options, sort_keys=True, default=lambda it: dict(it) if isinstance(it, Mapping) else list(it))
    return _make_rewarder(plain)


@lru_cache(maxsize=64)
def _make_rewarder(kwargs: str) -> Rewarder:
    options = json.loads(kwargs)
    own = {name: options.pop(name) for name in OWN_OPTIONS if name in options}
    return Rewarder(VerlOptions(RewardConfig(**options), **own))
