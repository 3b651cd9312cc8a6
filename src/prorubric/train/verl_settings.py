"""`render_overrides`: the paper's runs as Hydra overrides for verl, and nothing but text; verl is not needed here.

Settings that the paper does not fix (graphics cards, memory, loggers, attention kernels) stay verl's own. An override
that is added behind these wins over them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, asdict, fields, is_dataclass
from typing import Any, Literal

from prorubric.reward.monitor import MonitorConfig
from prorubric.reward.reward import RewardConfig
from prorubric.rubric.base import config_record
from prorubric.train.paper import PAPER, Variant, find_variant, make_paper_reward

MODULE = "pkg://prorubric.train.verl"
"""How verl's settings name the module with the reward."""

OWN_OPTIONS = ("on_failure", "group_wait", "monitor")
"""What `reward_kwargs` hold beside the options of `RewardConfig`."""

_FUNCTION = "reward.custom_reward_function"
_MANAGER = "reward.reward_manager"
_PLAIN = re.compile(r"[A-Za-z_/][\w./:-]*")
_WORDS_OF_YAML = ("null", "none", "true", "false", "yes", "no", "on", "off", "inf", "nan")


@config_record
class VerlRun:
    """What a run has of its own, beside the paper's settings and the reward's."""

    _: KW_ONLY
    model: str
    """The policy: a folder, or a name on the hub."""
    train: str
    """Rows to train on, from `prorubric convert … --to verl`."""
    validation: str
    """Rows to validate on, with tasks of their own."""
    seed: int = PAPER.seeds[0]
    manager: Literal["group", "dapo"] = "group"
    """`GroupRewardManager`, or verl's `dapo`, which knows no groups and charges for length in validation too."""


def render_overrides(variant: str | Variant, run: VerlRun, **options: Any) -> list[str]:
    """Every override of one of the paper's runs, for `python -m verl.trainer.main_ppo`.

    `options` are those of `RewardConfig`, of which `judge` is needed, and those of `VerlOptions`.
    """
    found = find_variant(variant)
    own: dict[str, Any] = {key: options.pop(key) for key in OWN_OPTIONS if key in options}
    name = variant if isinstance(variant, str) else found.scheme
    settings = {
        **_list_algorithm(found),
        **_list_data(found, run),
        **_list_rollout(found, run),
        **_list_trainer(name, run),
        **_list_reward(make_paper_reward(found, **options), own, run),
    }
    return [f"{key}={render_value(value)}" for key, value in settings.items()]


def render_value(value: Any) -> str:
    """A value in Hydra's grammar."""
    if isinstance(value, list | tuple):
        return f"[{','.join(map(render_value, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{render_value(inner)}' for key, inner in value.items())}}}"
    if value is None or isinstance(value, bool | int | float):
        return "null" if value is None else str(value)
    text = str(value)
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS_OF_YAML:
        return text
    # In quotes a backslash is itself, except before a quote and at the end.
    escaped = re.sub(r"(\\*)('|$)", lambda found: found[1] * 2 + ("\\'" if found[2] else ""), text)
    return f"'{escaped}'"


def _list_algorithm(variant: Variant) -> dict[str, Any]:
    actor = "actor_rollout_ref.actor"
    return {
        "algorithm.adv_estimator": "grpo",
        "algorithm.norm_adv_by_std_in_grpo": True,
        "algorithm.use_kl_in_reward": False,
        f"{actor}.use_kl_loss": variant.kl > 0,
        f"{actor}.kl_loss_coef": variant.kl,
        f"{actor}.kl_loss_type": "low_var_kl",
        f"{actor}.clip_ratio_low": PAPER.clip_low,
        f"{actor}.clip_ratio_high": PAPER.clip_high,
        f"{actor}.ppo_mini_batch_size": PAPER.mini_batch,
        f"{actor}.optim.lr": PAPER.learning_rate,
        f"{actor}.optim.lr_warmup_steps": PAPER.warmup_steps,
        f"{actor}.optim.lr_scheduler_type": "constant",
    }


def _list_data(variant: Variant, run: VerlRun) -> dict[str, Any]:
    return {
        "data.train_files": run.train,
        "data.val_files": run.validation,
        "data.train_batch_size": PAPER.prompts,
        "data.max_prompt_length": PAPER.prompt_limit,
        "data.max_response_length": variant.response_limit,
        "data.filter_overlong_prompts": True,
        "data.truncation": "error",
        # Qwen3 without its thinking.
        "+data.apply_chat_template_kwargs.enable_thinking": False,
    }


def _list_rollout(variant: Variant, run: VerlRun) -> dict[str, Any]:
    actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
    return {
        "actor_rollout_ref.model.path": run.model,
        f"{rollout}.name": "vllm",
        f"{rollout}.n": PAPER.responses,
        f"{rollout}.temperature": PAPER.temperature,
        f"{rollout}.top_p": PAPER.top_p,
        # Sequences are packed by length; the longest prompt with the longest response has to fit.
        f"{actor}.use_dynamic_bsz": True,
        f"{actor}.ppo_max_token_len_per_gpu": 2 * (PAPER.prompt_limit + variant.response_limit),
    }


def _list_trainer(name: str, run: VerlRun) -> dict[str, Any]:
    seeds = (
        "data.seed",
        "actor_rollout_ref.actor.data_loader_seed",
        "actor_rollout_ref.actor.fsdp_config.seed",
        "actor_rollout_ref.rollout.seed",
    )
    return {
        "trainer.total_training_steps": PAPER.rollouts,
        "trainer.save_freq": PAPER.keep_every,
        "trainer.test_freq": PAPER.keep_every,
        "trainer.project_name": "prorubric",
        "trainer.experiment_name": f"{name}-seed{run.seed}",
        "trainer.logger": ["console"],
        **dict.fromkeys(seeds, run.seed),
    }


def _list_reward(reward: RewardConfig, own: dict[str, Any], run: VerlRun) -> dict[str, Any]:
    ours = run.manager == "group"
    kwargs = {"scheme": reward.scheme, **_list_changes(reward, () if ours else ("overlong",)), **_list_own(own)}
    return {
        f"{_FUNCTION}.path": MODULE,
        f"{_FUNCTION}.name": "compute_score",
        **{f"+{_FUNCTION}.reward_kwargs.{key}": value for key, value in kwargs.items()},
        **(_OUR_MANAGER if ours else {f"{_MANAGER}.name": run.manager, **_charge_in_verl(reward)}),
    }


def _list_own(own: dict[str, Any]) -> dict[str, Any]:
    """The options beside those of the reward, with a monitor checked and by dotted name."""
    monitor = own.get("monitor")
    if monitor is None:
        return own
    config = MonitorConfig(**monitor) if isinstance(monitor, Mapping) else monitor
    rest = {key: value for key, value in own.items() if key != "monitor"}
    return {**rest, **{f"monitor.{key}": value for key, value in _list_changes(config).items()}}


_OUR_MANAGER = {
    "reward.num_workers": 1,
    f"{_MANAGER}.source": "importlib",
    f"{_MANAGER}.name": "GroupRewardManager",
    f"{_MANAGER}.module.path": MODULE,
}


def _charge_in_verl(reward: RewardConfig) -> dict[str, Any]:
    """The same charge for length, made by verl's `dapo` manager."""
    if reward.overlong is None:
        return {}
    buffer = "+reward.reward_kwargs.overlong_buffer_cfg"
    return {
        f"{buffer}.enable": True,
        f"{buffer}.len": reward.overlong.buffer,
        f"{buffer}.penalty_factor": reward.overlong.factor,
        f"{buffer}.log": False,
        "+reward.reward_kwargs.max_resp_len": reward.overlong.limit,
    }


def _list_changes(config: Any, left_out: Sequence[str] = ()) -> dict[str, Any]:
    """The options of a config that are not its defaults, by dotted name."""
    changes: dict[str, Any] = {}
    for option in fields(config):
        value = getattr(config, option.name)
        default = option.default if option.default_factory is MISSING else option.default_factory()
        if option.name in left_out or value == default:
            continue
        if is_dataclass(value) and not isinstance(value, type):
            inside = asdict(value) if default is None else _list_changes(value)
            changes |= {f"{option.name}.{key}": inner for key, inner in inside.items()}
        else:
            changes[option.name] = value
    return changes
