"""The reward inside TRL: a reward function, the paper's `GRPOConfig`, the data, and a callback that watches the run.

An unknown reward is None. From TRL 1.6 on, `GRPOTrainer` and `RLOOTrainer` leave such a row out of its group's baseline
and give it advantage 0, as long as they have one reward function. Nearly everywhere else in TRL a None counts as 0, so
`TrlReward` looks at its trainer in every call and refuses to run there. A batch with too many unknown rewards is
stopped by the reward itself: its `BreakerError` ends the training.
"""

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

from pydantic import Field

from prorubric.errors import ConfigError, MissingExtraError
from prorubric.files.json import render_json
from prorubric.reward.monitor import Monitor, MonitorConfig
from prorubric.reward.reward import Case, Reward, RewardConfig, RubricReward
from prorubric.rubric.base import config_record
from prorubric.rubric.forms import render_task
from prorubric.rubric.records import Task
from prorubric.text.show import shorten
from prorubric.train.paper import PAPER, Variant, find_variant

LogMetric = Callable[[str, float], None]
LogExtra = Callable[[str, list[Any]], None]

_Positive = Annotated[int, Field(ge=1)]
_log = logging.getLogger(__name__)
# TRL hands these over beside the columns of the dataset.
_NOT_COLUMNS = ("trainer_state", "environments")
# What decides over a None: the method that computes advantages, as these modules define it from this version on.
_ADVANTAGES = "_generate_and_score_completions"
_LEAVE_OUT = ("trl.trainer.grpo_trainer", "trl.trainer.rloo_trainer")
_LEAVE_OUT_SINCE = "1.6.0"


class TrlReward:
    """The only reward function of a `GRPOTrainer` or an `RLOOTrainer`.

    Rows name their task in the column `config.column`, or carry it. Overlong shaping is left out while TRL evaluates.
    With `check_trainer=False` it runs wherever it is called: for `trl.experimental.async_grpo`, which leaves unknown
    rewards out but does not show its trainer, and for calls of your own. Length is then charged in every call.
    """

    def __init__(self, config: RewardConfig, name: str = "rubric_reward", *, check_trainer: bool = True) -> None:
        self.reward = RubricReward(config)
        self.check_trainer = check_trainer
        self.on_rewards: Callable[[Sequence[Case], Sequence[Reward]], None] | None = None
        """Told of every training batch; `watch_rewards` sets it."""
        self.__name__ = name

    def __reduce__(self) -> tuple[type["TrlReward"], tuple[RewardConfig, str], dict[str, bool]]:
        return type(self), (self.reward.config, self.__name__), {"check_trainer": self.check_trainer}

    def __call__(
        self,
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]] | None = None,
        log_metric: LogMetric | None = None,
        log_extra: LogExtra | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """The rewards of a batch, None where one is unknown; TRL calls this with everything by name."""
        # TRL shows its trainer nowhere else, and does not say whether it evaluates.
        trainer = getattr(log_metric, "__self__", None)
        if self.check_trainer:
            _require_none_left_out(trainer, self.__name__)
        model = getattr(trainer, "model", None)
        validation = model is not None and not model.training
        cases = self._pair(completions, completion_ids, columns)
        rewards = self.reward(
            [case.task for case in cases],
            [case.text for case in cases],
            tokens=[case.tokens for case in cases],
            validation=validation,
        )
        if self.on_rewards and not validation:
            self.on_rewards(cases, rewards)
        if log_metric:
            _log_metrics(rewards, log_metric)
        if log_extra:
            _log_columns(rewards, log_extra)
        return [reward.value for reward in rewards]

    def _pair(
        self, completions: Sequence[Any], ids: Sequence[Sequence[int]] | None, columns: Mapping[str, Any]
    ) -> list[Case]:
        """Each completion with its task and its length in tokens."""
        given = {"prompt" if name == "prompts" else name: values for name, values in columns.items()}
        names = [name for name in given if name not in _NOT_COLUMNS]
        return [
            Case(
                self.reward.find_task({name: given[name][place] for name in names}),
                read_completion(completion),
                tokens=None if ids is None else len(ids[place]),
            )
            for place, completion in enumerate(completions)
        ]


def read_completion(completion: Any) -> str:
    """The text of a completion: as it is, or what the assistant says in a list of messages."""
    if isinstance(completion, str):
        return completion
    if not isinstance(completion, Sequence) or not all(isinstance(message, Mapping) for message in completion):
        raise ConfigError(f"a completion is {shorten(repr(completion))}; give text or a list of messages")
    said = [_read_content(message.get("content")) for message in completion if message.get("role") == "assistant"]
    return "\n\n".join(text for text in said if text)


@config_record
class GrpoScale:
    """How a rollout is laid out; the defaults are the paper's, for one process."""

    _: KW_ONLY
    prompts: _Positive = PAPER.prompts
    """Prompts of one rollout."""
    responses: Annotated[int, Field(ge=2)] = PAPER.responses
    """Responses to each of them."""
    mini_batch: _Positive = PAPER.mini_batch
    """Prompts of one update."""
    rollouts: _Positive = PAPER.rollouts
    per_device: _Positive = 8
    """Responses that a process takes through the model at once."""
    processes: _Positive | None = None
    """Processes that train together; by default what the launcher says."""


def make_grpo_config(
    output_dir: str | Path,
    variant: str | Variant = "prorubric",
    scale: GrpoScale | None = None,
    *,
    validate: bool = False,
    **overrides: Any,
) -> Any:
    """A `GRPOConfig` with the settings of one of the paper's runs; `overrides` are its own fields and win.

    TRL counts updates where the paper counts rollouts: 300 rollouts of two updates each are 600 steps. With `validate`
    the trainer needs an `eval_dataset`.
    """
    found = find_variant(variant)
    settings: dict[str, Any] = {
        "output_dir": str(output_dir),
        "learning_rate": PAPER.learning_rate,
        "lr_scheduler_type": "constant_with_warmup",
        "warmup_steps": PAPER.warmup_steps,
        "epsilon": PAPER.clip_low,
        "epsilon_high": PAPER.clip_high,
        "beta": found.kl,
        # verl's KL loss is the plain k3 estimate.
        "use_bias_correction_kl": False,
        "scale_rewards": "group",
        "loss_type": "dapo",
        "temperature": PAPER.temperature,
        "top_p": PAPER.top_p,
        "top_k": 0,
        "max_completion_length": found.response_limit,
        "chat_template_kwargs": {"enable_thinking": False},
        "seed": PAPER.seeds[0],
        **_lay_out(scale or GrpoScale(), validate),
    }
    return _load("trl", "The paper's settings for TRL").GRPOConfig(**{**settings, **overrides})


@dataclass(frozen=True, slots=True)
class TrlData:
    """Prompts for TRL and what was left out of them."""

    dataset: Any
    """A `datasets.Dataset` with the columns `prompt`, `task_id` and, if it was asked for, `task`."""
    left_out: dict[str, int]
    """Tasks whose prompt is too long, with its length in tokens."""


def make_dataset(
    tasks: Iterable[Task], tokenizer: Any = None, prompt_limit: int = PAPER.prompt_limit, *, carry: bool = False
) -> TrlData:
    """Tasks as a dataset for `GRPOTrainer`. TRL has no limit on prompts: with a tokenizer, longer ones are left out.

    With `carry` each row has its whole task as JSON text in `task`, and the reward needs no file of tasks.
    """
    rows, left_out = [], {}
    for task in tasks:
        messages = [{"role": message.role, "content": message.content} for message in task.messages]
        length = 0 if tokenizer is None else _count_tokens(tokenizer, messages)
        if length > prompt_limit:
            left_out[task.id] = length
            continue
        carried = {"task": render_json(render_task(task)).decode()} if carry else {}
        rows.append({"prompt": messages, "task_id": task.id, **carried})
    if not rows:
        raise ConfigError(f"no task is left: {len(left_out)} have a prompt of more than {prompt_limit} tokens")
    return TrlData(_load("datasets", "Data for TRL").Dataset.from_list(rows), left_out)


def watch_rewards(
    reward: TrlReward,
    config: MonitorConfig,
    *,
    stop: bool = False,
    second: RewardConfig | None = None,
    second_every: int = 1,
) -> Any:
    """A callback for `GRPOTrainer(callbacks=[…])` that records every batch and warns when the reward is being gamed.

    With `stop` an alarm ends the training. `second` is a second opinion on every n-th response: another judge, or the
    same tasks with other criteria, which then stand under the same ids in its own file. It is recorded as the
    appropriateness of the step and trains nothing. Works where the trainer itself calls the reward, which leaves out
    `trl.experimental.async_grpo`: its rewards are computed in another process.
    """
    base = _load("transformers", "Watching a run of TRL").TrainerCallback
    made: Any = type("RewardWatch", (_Watch, base), {})
    opinion = None if second is None else SecondOpinion(second, second_every)
    return made(reward, config, opinion, stop)


class SecondOpinion:
    """Another reward on some of the responses. It may fail: what it does not know is not recorded."""

    def __init__(self, config: RewardConfig, every: int) -> None:
        if every < 1:
            raise ConfigError(f"second_every is {every}; give a number from 1 on")
        self._reward = RubricReward(replace(config, max_unknown=1.0))
        self._every = every
        self._seen = 0

    def ask(self, cases: Sequence[Case]) -> list[float | None]:
        """The second opinion on every n-th of the cases whose task it has."""
        chosen = [case for number, case in enumerate(cases, self._seen) if number % self._every == 0]
        self._seen += len(cases)
        own = self._reward.tasks
        judged = [(own.get(case.task.id) if own else case.task, case) for case in chosen]
        asked = [(task, case) for task, case in judged if task is not None]
        rewards = self._reward(
            [task for task, _ in asked],
            [case.text for _, case in asked],
            tokens=[case.tokens for _, case in asked],
            validation=True,
        )
        return [reward.value for reward in rewards]


class _Watch:
    """The callback's own part. Every process collects; the first one records and decides for all."""

    def __init__(self, reward: TrlReward, config: MonitorConfig, second: SecondOpinion | None, stop: bool) -> None:
        self._config, self._second, self._stop = config, second, stop
        self._cases: list[Case] = []
        self._rewards: list[Reward] = []
        self.monitor: Monitor | None = None
        """There in the first process once training has begun."""
        reward.on_rewards = self._collect

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - the trainer's
        if state.is_world_process_zero:
            self.monitor = Monitor(self._config)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - the trainer's
        gather = import_module("accelerate.utils").gather_object
        opinions = self._second.ask(self._cases) if self._second and self._cases else []
        rewards, opinions = gather(list(self._rewards)), gather(opinions)
        self._cases.clear()
        self._rewards.clear()
        alarmed = False
        if self.monitor and rewards:
            record = self.monitor.record(state.global_step, rewards, appropriateness=opinions or None)
            alarmed = bool(record.alarms)
            for alarm in record.alarms:
                _log.warning("step %d: %s", state.global_step, alarm)
        if any(gather([alarmed])) and self._stop:
            control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - the trainer's
        if self.monitor:
            self.monitor.close()

    def _collect(self, cases: Sequence[Case], rewards: Sequence[Reward]) -> None:
        self._cases.extend(cases)
        self._rewards.extend(rewards)


def _require_none_left_out(trainer: Any, name: str) -> None:
    """Refuse a trainer that would count an unknown reward as 0, and one that cannot be seen."""
    kinds = [kind for kind in type(trainer).__mro__ if kind.__module__.startswith("trl.") and _ADVANTAGES in vars(kind)]
    if not kinds:
        raise ConfigError(
            f"{name} got no log_metric of a GRPOTrainer or an RLOOTrainer, and TRL's other trainers count an unknown "
            "reward as 0; use one of these two, or TrlReward(…, check_trainer=False) in trl.experimental.async_grpo "
            "and in calls of your own"
        )
    if kinds[0].__module__ not in _LEAVE_OUT:
        raise ConfigError(f"{kinds[0].__name__} counts an unknown reward as 0; use GRPOTrainer or RLOOTrainer")
    version, parse = import_module("trl").__version__, import_module("packaging.version").Version
    if parse(version) < parse(_LEAVE_OUT_SINCE):
        raise ConfigError(f"TRL {version} counts an unknown reward as 0; install trl>={_LEAVE_OUT_SINCE}")
    names = trainer.reward_func_names
    if len(names) > 1:
        raise ConfigError(
            f"{name} is one of {len(names)} reward functions ({', '.join(names)}), where TRL counts an unknown reward "
            "as 0; give it alone, and add what else you reward in a subclass of TrlReward"
        )


def _read_content(content: Any) -> str:
    """A message's text: a string, or the text parts of a list."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def _log_metrics(rewards: Sequence[Reward], log: LogMetric) -> None:
    """Means over a batch, beside TRL's own in whatever it reports to."""
    log("prorubric/unknown_rate", sum(reward.value is None for reward in rewards) / len(rewards))
    parts = [reward.parts for reward in rewards]
    shadows = sorted({scheme for part in parts for scheme in part.shadow})
    columns: dict[str, list[float | None]] = {
        "score": [part.score for part in parts],
        "overlong": [part.overlong for part in parts],
        "characters": [part.characters for part in parts],
        **{f"shadow/{scheme}": [part.shadow.get(scheme) for part in parts] for scheme in shadows},
    }
    for name, values in columns.items():
        known = [value for value in values if value is not None]
        if known:
            log(f"prorubric/{name}", fmean(known))


def _log_columns(rewards: Sequence[Reward], log: LogExtra) -> None:
    """Columns of the table of completions that TRL writes with `log_completions`."""
    log("task_id", [reward.parts.task_id for reward in rewards])
    log("unknown", ["; ".join(reward.parts.unknown) for reward in rewards])


def _lay_out(scale: GrpoScale, validate: bool) -> dict[str, Any]:
    """The fields of `GRPOConfig` that hang together: sizes, steps and what happens every so many of them."""
    processes = scale.processes or int(os.environ.get("WORLD_SIZE", "1"))
    updates, rest = divmod(scale.prompts, scale.mini_batch)
    if rest or not updates:
        raise ConfigError(f"{scale.prompts} prompts do not divide into mini-batches of {scale.mini_batch}")
    at_once = scale.per_device * processes
    accumulated, rest = divmod(scale.mini_batch * scale.responses, at_once)
    if rest or not accumulated:
        raise ConfigError(
            f"an update of {scale.mini_batch} × {scale.responses} responses does not divide into {processes} × "
            f"{scale.per_device}; choose another GrpoScale(per_device=…)"
        )
    every = PAPER.keep_every * updates
    evaluation = {"eval_strategy": "steps", "eval_steps": every, "num_generations_eval": 1} if validate else {}
    return {
        "num_generations": scale.responses,
        "generation_batch_size": scale.prompts * scale.responses,
        "per_device_train_batch_size": scale.per_device,
        "per_device_eval_batch_size": scale.per_device,
        "gradient_accumulation_steps": accumulated,
        "max_steps": scale.rollouts * updates,
        "logging_steps": updates,
        "save_steps": every,
        **evaluation,
    }


def _count_tokens(tokenizer: Any, messages: list[dict[str, str]]) -> int:
    encoded = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, tokenize=True, return_dict=True, enable_thinking=False
    )
    return len(encoded["input_ids"])


def _load(module: str, feature: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError.of(feature, "trl") from None
