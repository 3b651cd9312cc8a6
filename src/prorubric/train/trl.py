"""The reward inside TRL: a reward function, the paper's `GRPOConfig`, the data, and a callback that watches the run.

An unknown reward is None. From TRL 1.6 on, `GRPOTrainer` and `RLOOTrainer` leave such a row out of its group's baseline
and give it advantage 0, as long as they have one reward function. Nearly everywhere else in TRL a None counts as 0, so
`TrlReward` checks its trainer in every call and refuses the others.

With `channels` it gives TRL the advantages over a task's dimensions in place of rewards, from all processes together.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, replace
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from prorubric.datasets.sources import trl as trl_rows
from prorubric.errors import ConfigError
from prorubric.reward.channels import check_channels, read_channels, weigh_channels
from prorubric.reward.monitor import Monitor, MonitorConfig
from prorubric.reward.reward import Reward, RewardConfig, RewardRequest, RubricReward
from prorubric.rubric.base import config_record
from prorubric.rubric.records import Task
from prorubric.train.adapter import list_rows, list_shadows, load_trainer
from prorubric.train.methods import PAPER, SEEDS, Settings, find_method

LogMetric = Callable[[str, float], None]
LogExtra = Callable[[str, list[Any]], None]

_Positive = Annotated[int, Field(ge=1)]
# TRL passes these in addition to the columns of the dataset.
_NOT_COLUMNS = ("trainer_state", "environments")
# What becomes of a None is decided by the method that computes advantages. These modules leave it out since 1.6.0.
_ADVANTAGES = "_generate_and_score_completions"
_LEAVE_OUT = ("trl.trainer.grpo_trainer", "trl.trainer.rloo_trainer")
_LEAVE_OUT_SINCE = "1.6.0"
_EPSILON = 1e-4
"""What TRL adds to a standard deviation."""


class TrlReward:
    """The only reward function of a `GRPOTrainer` or an `RLOOTrainer`.

    Rows name their task in the column `config.column`, or carry it. Overlong shaping is left out while TRL evaluates.
    With `check_trainer=False` it runs wherever it is called: for `trl.experimental.async_grpo`, which leaves unknown
    rewards out but does not show its trainer, and for your own calls. Length then costs in every call.

    With `channels=True`, training gets `Σ w_k A_k` over the dimensions of each task and `scale_rewards` has to be
    `none` or `batch`; evaluation gets the reward.
    """

    def __init__(
        self, config: RewardConfig, name: str = "rubric_reward", *, check_trainer: bool = True, channels: bool = False
    ) -> None:
        if channels:
            check_channels(config.scheme)
            if not check_trainer:
                raise ConfigError("channels: groups come from the trainer, but check_trainer is off; leave it on")
        self.reward = RubricReward(config)
        self.check_trainer = check_trainer
        self.channels = channels
        self.watched: list[tuple[RewardRequest, Reward]] | None = None
        """Collects training batches once `watch_rewards` has set it."""
        self.__name__ = name

    def __reduce__(self) -> tuple[Any, ...]:
        options = {"check_trainer": self.check_trainer, "channels": self.channels}
        return type(self), (self.reward.config, self.__name__), options

    def __call__(
        self,
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]] | None = None,
        log_metric: LogMetric | None = None,
        log_extra: LogExtra | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """The rewards of a batch, None if unknown; TRL passes every argument by name.

        A completion is a text or a list of messages, which may call tools and hold their results.
        """
        # log_metric is the only way to the trainer, and TRL does not say whether it evaluates.
        trainer = getattr(log_metric, "__self__", None)
        if self.check_trainer:
            _check_trainer(trainer, self.__name__)
        if self.channels:
            _check_scaling(trainer)
        model = getattr(trainer, "model", None)
        validation = model is not None and not model.training

        rows = list_rows({"prompt": columns.pop("prompts", None), **columns}, len(completions), skip=_NOT_COLUMNS)
        tasks = [self.reward.find_task(row) for row in rows]
        tokens = [None] * len(tasks) if completion_ids is None else [len(ids) for ids in completion_ids]
        rewards = self.reward(tasks, completions, tokens=tokens, validation=validation)

        if self.watched is not None and not validation:
            self.watched += zip(map(RewardRequest, tasks, completions, tokens), rewards, strict=True)
        if log_metric:
            _log_means(rewards, log_metric)
        if log_extra:  # columns of the table that TRL writes with `log_completions`
            log_extra("task_id", [reward.parts.task_id for reward in rewards])
            log_extra("unknown", ["; ".join(reward.parts.unknown) for reward in rewards])
        if self.channels and not validation:
            return _weigh_groups(tasks, rewards, trainer)
        return [reward.value for reward in rewards]


def _check_trainer(trainer: Any, name: str) -> None:
    """Refuse a trainer that would count an unknown reward as 0, and one that cannot be seen."""
    kinds = [kind for kind in type(trainer).__mro__ if kind.__module__.startswith("trl.") and _ADVANTAGES in vars(kind)]
    if not kinds:
        raise ConfigError(
            f"{name} got no log_metric of a GRPOTrainer or an RLOOTrainer, and TRL's other trainers count an unknown "
            "reward as 0; use one of these two, or TrlReward(…, check_trainer=False) in trl.experimental.async_grpo "
            "and in your own calls"
        )
    if kinds[0].__module__ not in _LEAVE_OUT:
        raise ConfigError(f"{kinds[0].__name__} counts an unknown reward as 0; use GRPOTrainer or RLOOTrainer")
    version, parse = import_module("trl").__version__, import_module("packaging.version").Version
    if parse(version) < parse(_LEAVE_OUT_SINCE):
        raise ConfigError(f"TRL {version} counts an unknown reward as 0; install trl>={_LEAVE_OUT_SINCE}")
    if len(names := trainer.reward_func_names) > 1:
        raise ConfigError(
            f"{name} is one of {len(names)} reward functions ({', '.join(names)}), and TRL then counts an unknown "
            "reward as 0; use it alone, and add other terms to the reward in a subclass of TrlReward"
        )


def _check_scaling(trainer: Any) -> None:
    """Refuse a trainer that would not take the sum over channels as the advantage."""
    name = type(trainer).__name__
    if not hasattr(trainer, "scale_rewards"):
        raise ConfigError(f"channels: {name} does not use advantages unchanged; use GRPOTrainer")
    if trainer.scale_rewards not in ("none", "batch"):
        raise ConfigError(
            f"channels: scale_rewards is {trainer.scale_rewards!r}, and {name} would scale their sum within each group "
            "again; set scale_rewards to 'none', or to 'batch'"
        )
    if getattr(trainer, "multi_objective_aggregation", None) == "normalize_then_sum":
        raise ConfigError(
            "channels: multi_objective_aggregation is 'normalize_then_sum', which is about several reward functions "
            "and scales this one within each group; leave it out"
        )


def _weigh_groups(tasks: Sequence[Task], rewards: Sequence[Reward], trainer: Any) -> list[float | None]:
    """`Σ w_k A_k` of this process's responses; the group of one may be in several processes."""
    own = [read_channels(task, reward) for task, reward in zip(tasks, rewards, strict=True)]
    everyone = import_module("accelerate.utils").gather_object(own)
    groups = [place // trainer.num_generations for place in range(len(everyone))]
    start = trainer.accelerator.process_index * len(own)
    return weigh_channels(everyone, groups, _EPSILON)[start : start + len(own)]


def _log_means(rewards: Sequence[Reward], log: LogMetric) -> None:
    """Log means over a batch, each over the responses that have the value."""
    columns: dict[str, list[float]] = defaultdict(list)
    for reward in rewards:
        parts = reward.parts
        columns["unknown_rate"].append(reward.value is None)
        values = {"score": parts.score, "overlong": parts.overlong, "characters": parts.characters}
        for name, value in {**values, **list_shadows(reward)}.items():
            if value is not None:
                columns[name].append(value)
    for name, known in columns.items():
        log(f"prorubric/{name}", fmean(known))


@config_record
class GrpoScale:
    """The sizes of a rollout if they are not the method's, and how it is divided among processes."""

    _: KW_ONLY
    prompts: _Positive | None = None
    responses: _Positive | None = None
    mini_batch: _Positive | None = None
    rollouts: _Positive | None = None
    per_device: _Positive | None = None
    """Responses per process in one forward pass; by default up to 8, as many as divide an update."""
    processes: _Positive | None = None
    """Processes that train together; by default the launcher's number."""

    def change(self, settings: Settings) -> Settings:
        """Settings of a method with these sizes."""
        sizes = {name: getattr(self, name) for name in ("prompts", "responses", "mini_batch", "rollouts")}
        return replace(settings, **{name: size for name, size in sizes.items() if size is not None})

    def divide(self, update: int) -> dict[str, int]:
        """How an update of so many responses is divided, in TRL's words."""
        processes = self.processes or int(os.environ.get("WORLD_SIZE", "1"))
        sizes = range(8, 0, -1) if self.per_device is None else [self.per_device]
        for size in sizes:
            accumulated, rest = divmod(update, size * processes)
            if accumulated and not rest:
                return {
                    "per_device_train_batch_size": size,
                    "per_device_eval_batch_size": size,
                    "gradient_accumulation_steps": accumulated,
                }
        raise ConfigError(
            f"an update of {update} responses does not divide into {processes} × {self.per_device or 1}",
            remedy="choose another per_device, or another number of processes",
        )


def make_grpo_config(
    output_dir: str | Path,
    method: str | Settings = "prorubric",
    scale: GrpoScale | None = None,
    *,
    validate: bool = False,
    **overrides: Any,
) -> Any:
    """A `GRPOConfig` with the settings of one of the paper's runs; `overrides` are its own fields and win.

    With `validate` the trainer needs an `eval_dataset`.
    """
    found = (scale or GrpoScale()).change(find_method(method))
    settings: dict[str, Any] = {
        **list_rollout_settings(output_dir, found, scale),
        "epsilon": found.clip[0],
        "epsilon_high": found.clip[1],
        "delta": found.dual_clip,
        "beta": found.kl,
        # verl's KL loss is the plain k3 estimate.
        "use_bias_correction_kl": False,
        "scale_rewards": "group",
        "loss_type": "dapo",
        "vllm_importance_sampling_correction": False,
    }
    if validate:
        settings |= {"eval_strategy": "steps", "eval_steps": settings["save_steps"], "num_generations_eval": 1}
    return load_trainer("trl", "The paper's settings for TRL", "trl").GRPOConfig(**{**settings, **overrides})


def list_rollout_settings(output_dir: str | Path, found: Settings, scale: GrpoScale | None = None) -> dict[str, Any]:
    """What TRL's trainers that generate responses have in common: sizes, the rate, sampling, checkpoints."""
    return {
        "output_dir": str(output_dir),
        "learning_rate": found.rate,
        "lr_scheduler_type": "constant_with_warmup",
        # verl moves the rate once a rollout, TRL once an update.
        "warmup_steps": found.warmup * found.updates,
        "weight_decay": found.weight_decay,
        "temperature": found.temperature,
        "top_p": found.top_p,
        "top_k": 0,
        "max_completion_length": found.response_limit,
        "chat_template_kwargs": {"enable_thinking": False},
        "seed": SEEDS[0],
        "num_generations": found.responses,
        "generation_batch_size": found.prompts * found.responses,
        # TRL counts updates, the paper rollouts.
        "max_steps": found.rollouts * found.updates,
        "logging_steps": found.updates,
        "save_steps": found.every * found.updates,
        **(scale or GrpoScale()).divide(found.mini_batch * found.responses),
    }


def encode_prompt(tokenizer: Any, messages: Any) -> list[int]:
    """The ids of a conversation as the policy reads it before it answers, without its thinking."""
    encoded = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, tokenize=True, return_dict=True, enable_thinking=False
    )
    return list(encoded["input_ids"])


class TrlData(NamedTuple):
    """A `datasets.Dataset` of prompts, and the tasks whose prompt is too long, with its length in tokens."""

    dataset: Any
    left_out: dict[str, int]


def make_dataset(
    tasks: Iterable[Task], tokenizer: Any = None, prompt_limit: int = PAPER.prompt_limit, *, carry: bool = False
) -> TrlData:
    """Tasks as a dataset for `GRPOTrainer`; with a tokenizer, prompts above the limit are left out.

    With `carry` each row has its whole task as JSON text in `task`, and the reward needs no file of tasks.
    """
    rows, left_out = [], {}
    for task in tasks:
        row = trl_rows.render(task)
        if not carry:
            del row["task"]
        if tokenizer is not None and (length := len(encode_prompt(tokenizer, row["prompt"]))) > prompt_limit:
            left_out[task.id] = length
            continue
        rows.append(row)
    if not rows:
        raise ConfigError(f"no task is left: {len(left_out)} have a prompt of more than {prompt_limit} tokens")
    return TrlData(load_trainer("datasets", "Data for TRL", "trl").Dataset.from_list(rows), left_out)


def watch_rewards(
    reward: TrlReward,
    config: MonitorConfig,
    *,
    stop: bool = False,
    second: RewardConfig | None = None,
    second_every: int = 1,
) -> Any:
    """A callback for `GRPOTrainer(callbacks=[…])` that records every batch and warns when the reward is being gamed.

    With `stop` an alarm ends the training. `second` is a second opinion on every n-th response, recorded as the
    appropriateness of the step. Not for `trl.experimental.async_grpo`, which computes rewards in another process.
    """
    base = load_trainer("transformers", "Watching a run of TRL", "trl").TrainerCallback
    made: Any = type("RewardWatch", (_Watch, base), {})
    return made(reward, config, None if second is None else SecondOpinion(second, second_every), stop)


class SecondOpinion:
    """Another reward on some of the responses. It may fail: an unknown opinion is not recorded."""

    def __init__(self, config: RewardConfig, every: int) -> None:
        if every < 1:
            raise ConfigError(f"second_every is {every}; give 1 or more")
        self._reward = RubricReward(replace(config, max_unknown=1.0))
        self._every = every
        self._seen = 0

    def ask(self, cases: Sequence[RewardRequest]) -> list[float | None]:
        """The second opinion on every n-th response, if its task is known."""
        chosen = [case for number, case in enumerate(cases, self._seen) if number % self._every == 0]
        self._seen += len(cases)
        own = self._reward.tasks
        asked = [case for case in chosen if not own or case.task.id in own]
        tasks = [case.task.id if own else case.task for case in asked]
        return [reward.value for reward in self._reward(tasks, [case.text for case in asked], validation=True)]


class _Watch:
    """The methods of the callback. Every process collects; the first one records and decides for all."""

    def __init__(self, reward: TrlReward, config: MonitorConfig, second: SecondOpinion | None, stop: bool) -> None:
        self._config, self._second, self._stop = config, second, stop
        self._seen: list[tuple[RewardRequest, Reward]] = []
        reward.watched = self._seen
        self.monitor: Monitor | None = None
        """Set in the first process once training has begun."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - the trainer's
        if state.is_world_process_zero:
            self.monitor = Monitor(self._config)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - the trainer's
        gather = import_module("accelerate.utils").gather_object
        opinions = self._second.ask([case for case, _ in self._seen]) if self._second and self._seen else []
        rewards, opinions = gather([reward for _, reward in self._seen]), gather(opinions)
        self._seen.clear()
        alarms: Sequence[object] = ()
        if self.monitor and rewards:
            alarms = self.monitor.record(state.global_step, rewards, appropriateness=opinions or None).alarms
        if any(gather([bool(alarms)])) and self._stop:
            control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - the trainer's
        if self.monitor:
            self.monitor.close()
