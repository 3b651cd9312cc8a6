"""Settings of verl: the overrides of one of the paper's runs, and the command that trains a run of a recipe.

Nothing here imports verl, so a plan can show the command. What verl cannot do is refused in one line.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import KW_ONLY, MISSING, asdict, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal

from prorubric.errors import ConfigError
from prorubric.reward.monitor import MonitorConfig
from prorubric.rubric.base import config_record
from prorubric.train.methods import SEEDS, Settings, find_method, make_paper_reward
from prorubric.train.recipe import TrainRun
from prorubric.train.verl import OWN_OPTIONS, VerlOptions

ROWS, HELD_OUT, AGENT_LOOPS = "rows.parquet", "held-out.parquet", "agent-loops.yaml"
"""Files in the folder of a run that verl reads."""
DUMPS = "verl-validation"
"""The folder in it where verl leaves the answers of a validation."""
CHECKPOINTS = "checkpoints"

_REWARD, _ANSWERS = "pkg://prorubric.train.verl", "pkg://prorubric.train.verl_sft"
_KWARGS, _MANAGER = "+reward.custom_reward_function.reward_kwargs", "reward.reward_manager"
_BUFFER = "+reward.reward_kwargs.overlong_buffer_cfg"
_ACTOR, _VALIDATION = "actor_rollout_ref.actor", "actor_rollout_ref.rollout.val_kwargs"
_OVERRIDES = Path(__file__).with_name("verl_overrides.txt").read_text(encoding="utf-8").splitlines()
_PLAIN = re.compile(r"[A-Za-z_/][\w./:-]*")
_YAML_WORDS = ("null", "none", "true", "false", "yes", "no", "on", "off", "inf", "nan")
_NO_DUAL_CLIP = 1e9
"""verl always clips; at this ratio it never does."""
_OWN_POLICIES = ("tiny", "mini:", "smollm2", "gguf:", "hf:")
_SCHEDULES = ("constant", "cosine")


@config_record
class VerlRun:
    """The settings of a run that neither the paper nor the reward gives."""

    _: KW_ONLY
    model: str
    """The policy: a folder, or a name on the hub."""
    train: str
    """Rows to train on, from `prorubric convert … --to verl`."""
    validation: str
    """Rows to validate on, with other tasks."""
    seed: int = SEEDS[0]
    manager: Literal["group", "dapo"] = "group"
    """`GroupRewardManager`, or verl's `dapo`, which does not see groups and charges for length in validation too."""


def render_overrides(method: str | Settings, run: VerlRun, **options: Any) -> list[str]:
    """Every override of one of the paper's runs with GRPO, for `python -m verl.trainer.main_ppo`; a later one wins.

    `options` are those of `RewardConfig`, of which `judge` is required, and those of `VerlOptions`. What the paper does
    not fix (graphics cards, memory, loggers, attention kernels) keeps verl's default.
    """
    found = find_method(method)
    name = method if isinstance(method, str) else found.scheme
    if found.kind != "grpo" or found.scaffold is not None:
        reason = f"{name} is not GRPO alone" if found.kind == "grpo" else f"{name} is not trained with GRPO"
        raise ConfigError(reason, remedy="write a recipe and use prorubric train")
    own = {name: options.pop(name) for name in OWN_OPTIONS if name in options}
    chosen = VerlOptions(make_paper_reward(found, **options), **own)
    return _join(_list_overrides(found, f"{name}-seed{run.seed}", run, chosen))


def render_verl_command(run: TrainRun, folder: Path, python: str | None = None) -> list[str]:
    """The command that trains a run from the files that `write_inputs` has put into its folder."""
    check_run(run)
    folder, program = folder.absolute(), [python or sys.executable, "-m"]
    if run.settings.kind == "sft":
        # On several nodes torchrun takes the address of the first from PET_RDZV_ENDPOINT.
        nodes = ["--standalone"] if run.nodes == 1 else [f"--nnodes={run.nodes}", "--rdzv-backend=c10d"]
        program += ["torch.distributed.run", *nodes, f"--nproc-per-node={run.processes}", "-m"]
        return [*program, "verl.trainer.sft_trainer", *_join(_list_sft(run, folder), run.own)]
    return [*program, "verl.trainer.main_ppo", *_join(_list_grpo(run, folder), run.own)]


def check_run(run: TrainRun) -> None:
    """Refuse, in one line, a run that verl cannot train."""
    settings, cards = run.settings, run.processes * run.nodes
    if settings.kind == "best-of-n":
        raise ConfigError(f"{run.name}: best-of-n does not train", remedy="it needs no trainer")
    if settings.kind == "distillation":
        reason = "verl's teacher sees the policy's prompt but not the rubric"
        raise ConfigError(f"{run.name}: {reason}", remedy="use TRL for this method: trainer: trl")
    if run.model.startswith(_OWN_POLICIES):
        remedy = "give a name on the Hugging Face hub or a folder, or use TRL: trainer: trl"
        raise ConfigError(f"{run.name}: verl cannot load the policy {run.model}", remedy=remedy)
    if settings.kind != "sft" or settings.sft is None:
        return
    if run.validate is not None:
        remedy = "set validate: no, or use TRL: trainer: trl"
        raise ConfigError(f"{run.name}: verl's SFT trainer does not sample answers to validate", remedy=remedy)
    if settings.sft.schedule not in _SCHEDULES:
        allowed = f"choose {' or '.join(_SCHEDULES)}, or use TRL: trainer: trl"
        raise ConfigError(f"{run.name}: verl has no schedule {settings.sft.schedule}", remedy=allowed)
    if settings.sft.batch % cards:
        remedy = "choose another sft.batch, processes or nodes"
        raise ConfigError(f"{run.name}: {settings.sft.batch} rows do not divide among {cards} processes", remedy=remedy)


def _list_grpo(run: TrainRun, folder: Path) -> dict[str, str]:
    """The settings of a run with GRPO: rows in their order, validations, checkpoints and machines."""
    settings, validate, longest = run.settings, run.validate, run.settings.prompt_limit + run.settings.response_limit
    if run.reward is None:
        raise ConfigError(f"{run.name} has no reward", remedy="name a judge")
    reward = replace(
        run.reward,
        tasks=run.reward.tasks or str(folder.parent / "tasks.jsonl"),
        journal=run.reward.journal or folder.parent / "journal.sqlite",
    )
    monitor = MonitorConfig(folder / "steps.jsonl")
    options = VerlOptions(reward, monitor=monitor, judge_validation=False, keep_rollouts=run.rollouts_kept)
    # verl wants a file to validate on in any case.
    held_out = str(folder / (HELD_OUT if validate else ROWS))
    files = VerlRun(model=run.model, train=str(folder / ROWS), validation=held_out, seed=run.seed)
    listed = _list_overrides(settings, run.name, files, options)
    more: dict[str, Any] = {
        "data.shuffle": False,
        "data.filter_overlong_prompts": False,  # it would shift the rows
        f"{_VALIDATION}.temperature": validate.temperature if validate else 0,
        f"{_VALIDATION}.do_sample": validate is not None and validate.temperature > 0,
        "trainer.total_epochs": 1,
        "trainer.val_before_train": validate is not None,
        "trainer.test_freq": run.validate_every or -1,
        "trainer.validation_data_dir": str(folder / DUMPS),
        "trainer.default_local_dir": str(folder / CHECKPOINTS),
        "trainer.resume_mode": "auto",
        "trainer.max_actor_ckpt_to_keep": 1 if run.keep == "last" else None,
        "trainer.n_gpus_per_node": run.processes,
        "trainer.nnodes": run.nodes,
        "hydra.run.dir": str(folder),
        "hydra.output_subdir": None,
    }
    if run.per_device is not None:
        more[f"{_ACTOR}.ppo_max_token_len_per_gpu"] = run.per_device * longest
    if settings.scaffold is not None:
        more["actor_rollout_ref.rollout.agent.agent_loop_config_path"] = str(folder / AGENT_LOOPS)
    return listed | _render(more)


def _list_sft(run: TrainRun, folder: Path) -> dict[str, str]:
    """The settings of supervised fine-tuning. verl leaves out the last short batch of an epoch itself."""
    settings, sft = run.settings, run.settings.sft
    if sft is None:
        raise ConfigError(f"{run.name}: sft is missing", remedy="give sft.data")
    listed: dict[str, Any] = {
        "data.train_files": str(folder / ROWS),
        "data.messages_key": "messages",
        "data.custom_cls.path": _ANSWERS,
        "data.custom_cls.name": "AnswerDataset",
        "data.train_batch_size": sft.batch,
        "data.max_length": sft.row_limit,
        "data.truncation": "error",
        "data.max_token_len_per_gpu": (run.per_device or 1) * sft.row_limit,
        "model.path": run.model,
        "optim.lr": settings.rate,
        "optim.lr_warmup_steps_ratio": sft.warmup_share,
        "optim.lr_scheduler_type": sft.schedule,
        "optim.weight_decay": settings.weight_decay,
        "trainer.total_epochs": sft.epochs,
        "trainer.save_freq": settings.every,
        "trainer.default_local_dir": str(folder / CHECKPOINTS),
        "trainer.resume_mode": "auto",
        "trainer.max_ckpt_to_keep": 1 if run.keep == "last" else None,
        "trainer.n_gpus_per_node": run.processes,
        "trainer.nnodes": run.nodes,
        "trainer.seed": run.seed,
        "trainer.project_name": "prorubric",
        "trainer.experiment_name": run.name,
        "trainer.logger": ["console"],
        "hydra.run.dir": str(folder),
        "hydra.output_subdir": None,
    }
    return _render(listed)


def _list_overrides(settings: Settings, name: str, run: VerlRun, chosen: VerlOptions) -> dict[str, str]:
    """The settings of a run with GRPO, its reward among them."""
    overlong = chosen.reward.overlong
    values = {
        **asdict(settings),
        **asdict(run),
        "use_kl": settings.kl > 0,
        "clip_low": settings.clip[0],
        "clip_high": settings.clip[1],
        "dual_clip": settings.dual_clip or _NO_DUAL_CLIP,
        # Sequences are packed by length; the longest prompt with the longest response has to fit.
        "packed_tokens": 2 * (settings.prompt_limit + settings.response_limit),
        "experiment": name,
        "module": _REWARD,
    }
    filled = _render(values)
    lines = [line.format(**filled).split("=", 1) for line in _OVERRIDES if not line.startswith("#")]
    if run.manager == "group":
        manager = {f"{_MANAGER}.source": "importlib", f"{_MANAGER}.name": "GroupRewardManager"}
        rewards: dict[str, Any] = {"reward.num_workers": 1, **manager, f"{_MANAGER}.module.path": _REWARD}
        if chosen.channels:
            rewards["algorithm.norm_adv_by_std_in_grpo"] = False
    else:
        chosen = replace(chosen, reward=replace(chosen.reward, overlong=None))
        rewards = {f"{_MANAGER}.name": run.manager}
        if overlong is not None:  # the same cost of length, charged by verl's manager
            rewards |= {f"{_BUFFER}.enable": True, f"{_BUFFER}.log": False, f"{_BUFFER}.len": overlong.buffer}
            rewards[f"{_BUFFER}.penalty_factor"] = overlong.factor
            rewards["+reward.reward_kwargs.max_resp_len"] = overlong.limit
    kwargs = {"scheme": chosen.reward.scheme, **_list_changes(chosen.reward), **_list_changes(chosen, skip="reward")}
    if chosen.reward.overlong is not None:
        kwargs["overlong.factor"] = chosen.reward.overlong.factor
    rewards |= {f"{_KWARGS}.{key}": value for key, value in kwargs.items()}
    return dict(lines) | _render(rewards)


def _join(listed: Mapping[str, str], own: Mapping[str, Any] | None = None) -> list[str]:
    """Settings as overrides; the user's own come last and win, and may be some that verl does not list."""
    given = _render(_flatten(own or {}))
    kept = [f"{key}={value}" for key, value in listed.items() if key not in given]
    return kept + [f"{key if key[0] in '+~' else '++' + key}={value}" for key, value in given.items()]


def _flatten(own: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in own.items():
        found |= _flatten(value, f"{place}{key}.") if isinstance(value, Mapping) else {f"{place}{key}": value}
    return found


def _render(settings: Mapping[str, Any]) -> dict[str, str]:
    return {key: render_value(value) for key, value in settings.items()}


def render_value(value: Any) -> str:
    """A value in Hydra's grammar."""
    if isinstance(value, list | tuple):
        return f"[{','.join(map(render_value, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{render_value(inner)}' for key, inner in value.items())}}}"
    if value is None or isinstance(value, bool | int | float):
        return "null" if value is None else str(value)
    text = str(value)
    if _PLAIN.fullmatch(text) and text.lower() not in _YAML_WORDS:
        return text
    # In quotes a backslash is itself, except before a quote and at the end.
    escaped = re.sub(r"(\\*)('|$)", lambda found: found[1] * 2 + ("\\'" if found[2] else ""), text)
    return f"'{escaped}'"


def _list_changes(config: Any, skip: str = "") -> dict[str, Any]:
    """The options of a config that are not its defaults, by dotted name."""
    changes: dict[str, Any] = {}
    for option in fields(config):
        value = getattr(config, option.name)
        default = option.default if option.default_factory is MISSING else option.default_factory()
        if option.name == skip or value == default:
            continue
        inner = _list_changes(value) if is_dataclass(value) and not isinstance(value, type) else {"": value}
        changes |= {f"{option.name}.{key}".rstrip("."): inside for key, inside in inner.items()}
    return changes
