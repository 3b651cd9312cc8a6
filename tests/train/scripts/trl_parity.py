"""The pairs of `tests/train/parity.py` through the reward path of a real GRPOTrainer, and the paper's settings."""

from math import isnan
from pathlib import Path
from typing import Any

from tests.train.parity import SCHEMES, Pair, load_pairs, make_messages, render_rewards, reward_options
from trl import GRPOTrainer

from prorubric import SAMPLE_TASKS, JudgeConfig, load_tasks
from prorubric.reward.reward import RewardConfig
from prorubric.train.methods import METHODS
from prorubric.train.policies import make_tiny_model, make_tiny_tokenizer
from prorubric.train.trl import GrpoScale, TrlReward, make_dataset, make_grpo_config

SETTINGS = (
    "num_generations generation_batch_size steps_per_generation per_device_train_batch_size "
    "gradient_accumulation_steps max_steps learning_rate lr_scheduler_type warmup_steps weight_decay epsilon "
    "epsilon_high delta beta use_bias_correction_kl vllm_importance_sampling_correction scale_rewards loss_type "
    "temperature top_p top_k max_completion_length num_iterations save_steps eval_strategy eval_steps seed "
    "chat_template_kwargs"
).split()


class OpenReward(TrlReward):
    """Keeps what it gives to TRL."""

    given: list[float | None]

    def __call__(self, *args: Any, **columns: Any) -> list[float | None]:
        self.given = super().__call__(*args, **columns)
        return self.given


def reward(
    folder: Path, pairs: list[Pair], config: RewardConfig, *, text: bool = False, whole: bool = False
) -> dict[str, Any]:
    """What the reward gives to a trainer and what the trainer keeps of it, which is 32 bits."""
    function = OpenReward(config)
    data = make_dataset([pair.task for pair in pairs], carry=config.tasks is None).dataset
    settings = {"use_cpu": True, "bf16": False, "save_strategy": "no"}
    trainer = GRPOTrainer(
        model=make_tiny_model(),
        reward_funcs=function,
        args=make_grpo_config(folder, "prorubric", GrpoScale(prompts=1, mini_batch=1), **settings),
        train_dataset=data,
        processing_class=make_tiny_tokenizer(),
    )
    rows = list(data)
    completions = [pair.text if text else [{"role": "assistant", "content": pair.text}] for pair in pairs]
    if whole:
        completions = [make_messages(pair) for pair in pairs]
    ids = [[0] * pair.tokens for pair in pairs]
    kept = trainer._calculate_rewards(rows, [row["prompt"] for row in rows], completions, ids)[:, 0].tolist()
    # NaN is how TRL keeps a None.
    return {"given": render_rewards(function.given), "kept": render_rewards([None if isnan(k) else k for k in kept])}


def render_settings(folder: Path) -> dict[str, Any]:
    found = {}
    for name in (name for name, method in METHODS.items() if method.kind == "grpo"):
        settings = make_grpo_config(folder, name, validate=True, use_cpu=True)
        found[name] = {key: getattr(settings, key) for key in SETTINGS}
    return found


def cut_data() -> dict[str, Any]:
    """The sample pack without the prompts of more than 400 tokens."""
    data = make_dataset(load_tasks(SAMPLE_TASKS), make_tiny_tokenizer(), 400)
    return {"columns": data.dataset.column_names, "kept": data.dataset["task_id"][:], "left_out": data.left_out}


def compare(parity: Path, folder: Path) -> dict[str, Any]:
    pairs = load_pairs(parity)
    rewards = {scheme: reward(folder, pairs, RewardConfig(**reward_options(parity, scheme))) for scheme in SCHEMES}
    carried = RewardConfig(**{**reward_options(parity), "tasks": None})
    rewards["carried"] = reward(folder, pairs, carried, text=True)
    for name, view in {"transcripts": "full", "last turns": "last"}.items():
        judged = RewardConfig(**reward_options(parity), judging=JudgeConfig(view=view))
        rewards[name] = reward(folder, pairs, judged, whole=True)
    return {"rewards": rewards, "settings": render_settings(folder), "data": cut_data()}
