"""Everything of a verl run except the training: rows, settings, and rewards through verl's own worker. No GPU needed.

    python examples/verl/dry_run.py MODEL [RUN] [JUDGE]

MODEL is the policy (only its tokenizer is read), RUN one of the paper's runs, JUDGE the judge of the training.
The sample pack's answers to two prompts are rewarded, and the command that would train is printed.
"""

import asyncio
import shlex
import sys
from pathlib import Path
from typing import Any

import hydra
import numpy as np
import torch
from tensordict import TensorDict
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.utils.config import validate_config
from verl.utils.dataset.rl_dataset import RLHFDataset

from prorubric import SAMPLE_TASKS, load_samples, load_tasks
from prorubric.datasets.export import export_tasks
from prorubric.train.verl_settings import VerlRun, render_overrides

PROMPTS, ANSWERS = 2, 4


def make_batch(rows: list[dict[str, Any]], answers: list[str], tokenizer: Any) -> DataProto:
    """Responses as verl's agent loop hands them to a reward worker."""
    tokens = tokenizer(answers, add_special_tokens=False, padding=True, padding_side="right", return_tensors="pt")
    prompts = torch.ones(len(answers), 1, dtype=torch.int64)
    tensors = {
        "prompts": prompts,
        "responses": tokens["input_ids"],
        "attention_mask": torch.cat([prompts, tokens["attention_mask"]], dim=1),
    }
    names = ("data_source", "reward_model", "extra_info", "raw_prompt")
    columns = {name: np.fromiter((row[name] for row in rows), dtype=object, count=len(rows)) for name in names}
    columns["uid"] = np.array([row["extra_info"]["id"] for row in rows], dtype=object)
    return DataProto(batch=TensorDict(tensors, batch_size=len(answers)), non_tensor_batch=columns)


def main(model: str, name: str = "rubric-rl", judge: str = "lexical", folder: str = "verl-dry-run") -> None:
    """Prepare the run and reward a few answers."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    run = VerlRun(model=model, train=f"{folder}/train.parquet", validation=f"{folder}/validation.parquet")
    tasks = list(load_tasks(SAMPLE_TASKS))
    export_tasks(run.train, tasks[:10], "verl")
    export_tasks(run.validation, tasks[10:], "verl")

    overrides = render_overrides(name, run, judge=judge, monitor={"out": f"{folder}/steps.jsonl"})
    # The sample pack has four answers to each prompt, and two prompts are enough to record a step.
    small = [f"actor_rollout_ref.rollout.n={ANSWERS}", f"data.train_batch_size={PROMPTS}"]
    small.append(f"actor_rollout_ref.actor.ppo_mini_batch_size={PROMPTS}")
    with hydra.initialize_config_module("verl.trainer.config", version_base=None):
        config = hydra.compose("ppo_trainer", overrides=[*overrides, *small])
    validate_config(config, need_reference_policy(config), need_critic(config))

    worker = RewardLoopWorker(config)
    data = RLHFDataset(config.data.train_files, worker.input_tokenizer, config.data)
    rows = [data[number] for number in range(PROMPTS) for _ in range(ANSWERS)]
    answers = list(load_samples())[: PROMPTS * ANSWERS]
    batch = make_batch(rows, [answer.response.text for answer in answers], worker.input_tokenizer)
    for answer, one in zip(answers, asyncio.run(worker.compute_score_batch(batch)), strict=True):
        info = one["reward_extra_info"]
        verdicts = [int(info[f"dimension_{number}"]) for number in range(1, 6)]
        told = f"{one['reward_score']:.3f} {info['judge_failed']:.0f} {verdicts}"
        sys.stdout.write(f"{answer.task.id:<24} {answer.kind:<9} {told}\n")
    sys.stdout.write(shlex.join(["python", "-m", "verl.trainer.main_ppo", *overrides]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
