"""ms-swift's own code around the reward: the pairs of `tests/train/parity.py`, the advantages, two steps of GRPO."""

import json
import os
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from swift.rewards import orms
from swift.rl_core.advantage import compute_advantages
from swift.rl_core.data import GRPOSample
from swift.rl_core.grpo_algorithm import score_completions
from tests.train.parity import SCHEMES, Pair, load_pairs, make_messages, render_rewards, reward_options

from prorubric import SAMPLE_TASKS, JudgeConfig, load_tasks
from prorubric.errors import ConfigError
from prorubric.reward.channels import read_channels
from prorubric.reward.reward import RewardConfig, RubricReward
from prorubric.train.ms_swift import ProRubricORM, register, save_rows
from prorubric.train.policies import keep_policy


def make_sample(pair: Pair, number: int, size: int = 8, whole: bool = False) -> Any:
    """A finished rollout, as ms-swift's engine leaves it; the whole of it has tool calls, in ms-swift's roles."""
    messages = [{"role": message.role, "content": message.content} for message in pair.task.messages]
    said = [{"role": "assistant", "content": pair.text}]
    if whole:
        messages = [{"role": "system", "content": "ms-swift's own"}, *messages]
        said = [
            {**turn, "role": {"tool": "tool_response"}.get(turn["role"], turn["role"])} for turn in make_messages(pair)
        ]
        said[-1]["content"] = f"<think>\n\n</think>\n\n{pair.text}"
    row = {"messages": [*messages, *said], "task_id": pair.task.id}
    ids = [0] * pair.tokens
    return GRPOSample.from_row({**row, "prompt_id": f"prompt_{number // size}", "response_token_ids": ids})


def reward(
    pairs: list[Pair], config: RewardConfig, *, whole: bool = False, channels: str | None = None
) -> dict[str, Any]:
    """What the reward gives to ms-swift and what ms-swift keeps of it, which is 32 bits."""
    given: list[float] = []

    class OpenORM(ProRubricORM):
        async def __call__(self, completions: Any, **columns: Any) -> list[float]:
            given.extend(await super().__call__(completions, **columns))
            return given

    orms["open"] = partial(OpenORM, config=config, channels=channels is not None)
    size = 8 if channels is None else 4  # four that follow each other are always answers to one task
    samples = [make_sample(pair, number, size, whole) for number, pair in enumerate(pairs)]
    args = SimpleNamespace(num_generations=size, scale_rewards=channels or "group", advantage_estimator="grpo")
    kept = score_completions(samples, [orms["open"](args=args)], [None], False, torch.device("cpu"))
    advantages, _ = compute_advantages(kept, torch.ones(1), size, scale_rewards=args.scale_rewards)
    return {
        "given": render_rewards(given),
        "kept": render_rewards(kept[:, 0].tolist()),
        "advantages": advantages.tolist(),
    }


def normalise_several(pairs: list[Pair], config: RewardConfig) -> dict[str, Any]:
    """ms-swift's own normalisation of several rewards, which are the first two dimensions, with what is unknown."""
    rewards = RubricReward(config)([pair.task for pair in pairs], [pair.text for pair in pairs])
    found = [read_channels(pair.task, one).values[:2] for pair, one in zip(pairs, rewards, strict=True)]
    matrix = torch.tensor([[float("nan") if value is None else value for value in row] for row in found])
    advantages, _ = compute_advantages(matrix, torch.ones(2), 8, scale_rewards="gdpo")
    return {"rows": found, "advantages": advantages.tolist()}


def refuse_channels(config: RewardConfig) -> dict[str, str]:
    said = {}
    for estimator, scale in (("grpo", "group"), ("grpo", "gdpo"), ("rloo", "none")):
        try:
            ProRubricORM(
                SimpleNamespace(scale_rewards=scale, advantage_estimator=estimator), config=config, channels=True
            )
        except ConfigError as error:
            said[f"{estimator} {scale}"] = str(error)
    return said


def show_what_none_becomes() -> dict[str, Any]:
    """A group of four with one None, as ms-swift counts it."""
    matrix = torch.tensor([[0.2], [0.4], [0.6], [float("nan")]])
    advantages, rewards = compute_advantages(matrix, torch.ones(1), 4)
    return {"rewards": rewards.tolist(), "advantages": advantages.tolist()}


def train(folder: Path) -> dict[str, Any]:
    """Two steps of `swift rlhf` with a judge that fails now and then."""
    from swift.pipelines import rlhf_main

    policy, rows = keep_policy("tiny", folder / "policy"), folder / "rows.jsonl"
    save_rows(rows, load_tasks(SAMPLE_TASKS))
    os.environ["SWIFT_REWARDS"] = str(folder / "rewards.jsonl")
    options = {
        "rlhf_type": "grpo",
        "model": policy,
        "model_type": "qwen3",
        "template": "qwen3",
        "dataset": rows,
        "external_plugins": Path(__file__).with_name("swift_plugin.py"),
        "reward_funcs": "open",
        "num_generations": 8,
        "per_device_train_batch_size": 8,
        "gradient_accumulation_steps": 2,
        "max_steps": 2,
        "max_completion_length": 12,
        "learning_rate": 1e-3,
        "lr_scheduler_type": "constant",
        "torch_dtype": "float32",
        "tuner_type": "full",
        "output_dir": folder / "out",
        "add_version": "false",
        "check_model": "false",
        "report_to": "none",
        "save_strategy": "steps",
        "save_steps": 2,
        "logging_steps": 1,
    }
    rlhf_main([text for key, value in options.items() for text in (f"--{key}", str(value))])
    logs = [json.loads(line) for line in (folder / "out/logging.jsonl").read_text().splitlines()]
    given = [json.loads(line) for line in (folder / "rewards.jsonl").read_text().splitlines()]
    return {"logs": logs, "given": given, "changed": _compare(Path(policy), folder / "out/checkpoint-2")}


def _compare(before: Path, after: Path) -> list[int]:
    """How many tensors of the second model differ from the first's, and how many are finite."""
    from safetensors.torch import load_file

    old, new = (load_file(folder / "model.safetensors") for folder in (before, after))
    changed = sum(not torch.equal(old[name], new[name]) for name in new)
    return [changed, sum(bool(tensor.isfinite().all()) for tensor in new.values()), len(new)]


def main() -> None:
    parity, folder = map(Path, sys.argv[1:])
    pairs = load_pairs(parity)
    register(RewardConfig("lexical", tasks=str(SAMPLE_TASKS)), "lexical_reward")
    plain = RewardConfig(**reward_options(parity))
    views = {view: RewardConfig(**reward_options(parity), judging=JudgeConfig(view=view)) for view in ("full", "last")}
    said = {
        "channels": {scale: reward(pairs, plain, channels=scale) for scale in ("none", "batch")},
        "several": normalise_several(pairs, plain),
        "refused": refuse_channels(plain),
        "transcripts": {view: reward(pairs, config, whole=True) for view, config in views.items()},
        "registered": type(orms["lexical_reward"](args=None)).__name__,
        "rewards": {scheme: reward(pairs, RewardConfig(**reward_options(parity, scheme))) for scheme in SCHEMES},
        "none": show_what_none_becomes(),
        "training": train(folder),
    }
    print(json.dumps(said))  # noqa: T201 - the line that the test reads


if __name__ == "__main__":
    main()
