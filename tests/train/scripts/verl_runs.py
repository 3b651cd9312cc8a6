"""verl with the files and commands of recipes: its config, data sets and agent loop. No Ray, no graphics card."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import hydra
import numpy as np
import torch
from omegaconf import OmegaConf
from tensordict import TensorDict
from tests.train.scripts.verl_data import compose, save_tokenizer, validate
from torch.utils.data import DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader
from transformers import AutoTokenizer, Qwen3Config
from verl import DataProto
from verl.experimental.agent_loop.agent_loop import AgentLoopWorker
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
from verl.trainer.ppo.metric_utils import process_validation_metrics
from verl.trainer.ppo.utils import create_rl_dataset, create_rl_sampler
from verl.utils.dataset.dataset_utils import SFTTensorCollator
from verl.utils.dataset.rl_dataset import collate_fn
from verl.utils.import_utils import load_extern_object
from verl.workers.rollout.replica import TokenOutput

from prorubric.files.read import read_rows
from prorubric.train.recipe import TrainRun
from prorubric.train.verl_files import write_inputs
from prorubric.train.verl_settings import render_verl_command

# As Qwen3's: an empty block of thoughts in the answer to the last user turn, and where the policy is to begin if it is
# told not to think.
_THINKING = (
    "{% set ns = namespace(last=messages|length) %}"
    "{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' and loop.index0 > ns.last %}<think>\n\n</think>\n\n{% endif %}"
    "{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)


def load_runs(folder: Path) -> dict[str, tuple[TrainRun, Path]]:
    """The runs in the folders that the test has laid out."""
    found = {}
    for path in sorted(folder.glob("*/*/run.json")):
        found[path.parents[1].name] = TrainRun(**json.loads(path.read_text())), path.parent
    return found


def compose_run(run: TrainRun, out: Path) -> Any:
    command = render_verl_command(run, out)
    if run.settings.kind == "sft":
        with hydra.initialize_config_module("verl.trainer.config", version_base=None):
            return hydra.compose("sft_trainer_engine", overrides=command[command.index("-m", 2) + 2 :])
    return compose(command[3:])


def run_configs(runs: dict[str, tuple[TrainRun, Path]]) -> dict[str, Any]:
    told = {}
    for name, (run, out) in runs.items():
        if run.settings.kind == "grpo":
            config = compose_run(run, out)
            told[name] = {
                "passed": validate(config).strip().splitlines()[-1],
                "reward": OmegaConf.to_container(config.reward.custom_reward_function.reward_kwargs),
                "mini_batch": config.actor_rollout_ref.actor.ppo_mini_batch_size,
                "steps": [config.trainer.total_training_steps, config.trainer.test_freq],
            }
    return told


def run_rows(run: TrainRun, out: Path, tokenizer: Any) -> dict[str, Any]:
    """The ids of all batches as verl's loader gives them, and of those after the first two in a resumed process."""
    write_inputs(run, out)
    data = compose_run(run, out).data

    def make_loader() -> Any:
        rows = create_rl_dataset(data.train_files, data, tokenizer, None, is_train=True)
        sampler = create_rl_sampler(data, rows)
        return StatefulDataLoader(rows, data.train_batch_size, drop_last=True, collate_fn=collate_fn, sampler=sampler)

    def list_ids(batches: Any) -> list[list[str]]:
        return [[extra["id"] for extra in batch["extra_info"]] for batch in batches]

    loader = make_loader()
    batches = iter(loader)
    first = list_ids([next(batches), next(batches)])
    state = loader.state_dict()
    resumed = make_loader()
    resumed.load_state_dict(state)
    return {"ids": first + list_ids(batches), "resumed": list_ids(resumed)}


class StubServer:
    """Answers every prompt with the same three tokens, and keeps the prompt."""

    def __init__(self) -> None:
        self.prompts: list[list[int]] = []
        self.sampling: list[dict[str, Any]] = []

    async def generate(self, *, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any) -> TokenOutput:
        self.prompts.append(list(prompt_ids))
        self.sampling.append(sampling_params)
        return TokenOutput(token_ids=[40, 41, 2])


def run_scaffolds(run: TrainRun, out: Path, tokenizer: Any) -> dict[str, Any]:
    """One prompt in several steps, all rollouts of its group, and in validation; as verl's worker calls agent loops."""
    write_inputs(run, out)
    config = compose_run(run, out)
    server = StubServer()
    worker = AgentLoopWorker(config, server)
    rows = create_rl_dataset(config.data.train_files, config.data, tokenizer, None, is_train=True)
    held_out = create_rl_dataset(config.data.val_files, config.data, tokenizer, None, is_train=False)

    async def ask(row: dict[str, Any], step: int, session: int, validation: bool = False) -> dict[str, Any]:
        columns = {key: value for key, value in row.items() if key not in ("dummy_tensor", "agent_name")}
        trajectory = {"step": step, "sample_index": 0, "rollout_n": session, "validate": validation}
        output = await worker._run_agent_loop(
            {"temperature": 1.0},
            trajectory,
            agent_name=row.get("agent_name", config.actor_rollout_ref.rollout.agent.default_agent_loop),
            trace=False,
            session_id=session,
            global_steps=step,
            uid="u",
            **columns,
        )
        trained = output.prompt_ids[0][output.attention_mask[0][: output.prompt_ids.shape[1]].bool()]
        answered = output.response_ids[0][output.response_mask[0].bool()]
        return {
            "shown": tokenizer.decode(server.prompts[-1]),
            "trained": tokenizer.decode(trained),
            "same": trained.tolist() == server.prompts[-1],
            "answer": answered.tolist(),
        }

    async def ask_all() -> dict[str, Any]:
        size = run.settings.responses
        told: dict[str, Any] = {
            str(step): [await ask(rows[0], step, session) for session in range(size)] for step in (1, 60, 75)
        }
        told["validation"] = [await ask(held_out[0], 1, 0, validation=True)]
        return told

    chat = {"add_generation_prompt": True, "tokenize": False, "enable_thinking": False}
    plain = {"train": rows[0], "validation": held_out[0]}
    return {
        **asyncio.run(ask_all()),
        "plain": {name: tokenizer.apply_chat_template(list(row["raw_prompt"]), **chat) for name, row in plain.items()},
        "task": rows[0]["extra_info"]["id"],
    }


def run_rewards(run: TrainRun, out: Path, tokenizer: Any) -> dict[str, Any]:
    """Responses of a step and of a validation in verl's reward worker; verl's metrics take the latter's result."""
    write_inputs(run, out)
    config = compose_run(run, out)
    rows, held_out = (
        create_rl_dataset(files, config.data, tokenizer, None)
        for files in (config.data.train_files, config.data.val_files)
    )
    trained = [
        make_batch(rows[place], tokenizer, f"Answer {number}.", session_id=number, global_steps=1)
        for place in (1, 0)
        for number in (1, 0)
    ]
    validated = make_batch(held_out[0], tokenizer, "An answer.", global_steps=1)

    async def reward_all() -> tuple[list[Any], Any]:
        worker = RewardLoopWorker(config)
        return [await worker.compute_score(one) for one in trained], await worker.compute_score(validated)

    scores, found = asyncio.run(reward_all())
    info = {"reward": [found["reward_score"]], **{key: [value] for key, value in found["reward_extra_info"].items()}}
    process_validation_metrics(["s"], ["u"], info)
    kept = [row.value for row in read_rows(out / "rollouts/step-0001.jsonl.zst")]
    return {
        "validation": {"score": str(found["reward_score"]), "tokens": found["reward_extra_info"]["tokens"]},
        "scores": [one["reward_score"] for one in scores],
        "kept": kept,
        "steps": [json.loads(line)["step"] for line in (out / "steps.jsonl").read_text().splitlines()],
    }


def make_batch(row: dict[str, Any], tokenizer: Any, text: str, **more: Any) -> DataProto:
    """A response to a row as verl's agent loop hands it to a reward worker."""
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    tensors = {
        "prompts": torch.tensor([[5]]),
        "responses": torch.tensor([ids]),
        "attention_mask": torch.ones(1, 1 + len(ids), dtype=torch.int64),
    }
    names = ("data_source", "reward_model", "extra_info", "raw_prompt")
    values = {**{name: row[name] for name in names}, "uid": row["extra_info"]["id"], **more}
    values["tool_extra_fields"] = {"scaffold": 3}
    columns = {name: np.fromiter([value], dtype=object, count=1) for name, value in values.items()}
    return DataProto(batch=TensorDict(tensors, batch_size=1), non_tensor_batch=columns)


def run_sft(run: TrainRun, out: Path, tokenizer: Any) -> dict[str, Any]:
    """The ids and labels of rows, and how many updates the paper's rows make on one card and on eight."""
    config = compose_run(run, out)
    write_inputs(run, out)
    tokenizer.chat_template = _THINKING
    # As verl's `create_sft_dataset` makes it; its module wants all that training needs.
    made = load_extern_object(config.data.custom_cls.path, config.data.custom_cls.name)
    given = {"parquet_files": config.data.train_files, "tokenizer": tokenizer, "config": config.data}
    data = made(**given, processor=None, max_samples=-1)
    rows = [data[place] for place in range(len(data))]
    batch = SFTTensorCollator(config.data.pad_mode)(rows[:2])
    many = [None] * 26_162
    steps = []
    for cards in (1, 8):
        sampler = DistributedSampler(many, num_replicas=cards, rank=0, shuffle=True, drop_last=True)
        loader = StatefulDataLoader(many, config.data.train_batch_size // cards, sampler=sampler, drop_last=True)
        steps.append(len(loader) * config.trainer.total_epochs)
    return {
        "rows": [
            {
                "text": tokenizer.decode(row["input_ids"]),
                "learned": tokenizer.decode(row["input_ids"][row["loss_mask"].bool()]),
                "positions": row["position_ids"].tolist() == list(range(len(row["input_ids"]))),
            }
            for row in rows
        ],
        "nested": [batch["input_ids"].is_nested, batch["loss_mask"].shape[0]],
        "steps": steps,
        "optim": [config.optim.lr, config.optim.lr_warmup_steps_ratio, config.optim.weight_decay],
    }


def main() -> None:
    folder = Path(sys.argv[1])
    policy = folder / "policy"
    save_tokenizer(policy)
    Qwen3Config(
        vocab_size=1000, hidden_size=64, num_hidden_layers=2, architectures=["Qwen3ForCausalLM"]
    ).save_pretrained(policy)
    tokenizer = AutoTokenizer.from_pretrained(policy)
    runs = load_runs(folder)
    told = {
        "configs": run_configs(runs),
        "rows": run_rows(*runs["rows"], tokenizer),
        "scaffolds": {name: run_scaffolds(*runs[name], tokenizer) for name in ("ruscarl", "ruscarl-original")},
        "rewards": run_rewards(*runs["small"], tokenizer),
        "sft": run_sft(*runs["sft"], tokenizer),
    }
    print(json.dumps(told))  # noqa: T201 - that is what it is for


if __name__ == "__main__":
    main()
