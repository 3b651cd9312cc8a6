"""What verl's reward workers get: its own config composed with our overrides, and its own batches with our pairs."""

import contextlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import hydra
import numpy as np
import torch
from tensordict import TensorDict
from tests.train.parity import Pair, load_pairs, make_messages
from verl import DataProto
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.utils.config import validate_config

from prorubric.datasets.export import export_tasks
from prorubric.datasets.sources import verl
from prorubric.train.policies import make_tiny_tokenizer
from prorubric.train.verl_settings import VerlRun, render_overrides


def save_tokenizer(folder: Path) -> str:
    """A tokenizer that gives every text back exactly, in a folder."""
    make_tiny_tokenizer().save_pretrained(folder)
    return str(folder)


def write_data(parity: Path, folder: Path) -> None:
    """The tasks of the pairs as rows for verl, one more to validate on, and the pairs themselves."""
    for file in parity.iterdir():
        (folder / file.name).symlink_to(file)
    tasks = list({pair.task.id: pair.task for pair in load_pairs(parity)}.values())
    export_tasks(folder / "train.parquet", tasks, "verl")
    export_tasks(folder / "validation.parquet", [tasks[0].model_copy(update={"id": "held-out"})], "verl")


def describe_run(folder: Path, **more: Any) -> VerlRun:
    """A run whose model is the tokenizer of a folder and whose data lies there too."""
    files = {"train": str(folder / "train.parquet"), "validation": str(folder / "validation.parquet")}
    return VerlRun(**{"model": str(folder / "tokenizer"), **files, **more})


def compose(overrides: Sequence[str]) -> Any:
    """verl's config with overrides."""
    with hydra.initialize_config_module("verl.trainer.config", version_base=None):
        return hydra.compose("ppo_trainer", overrides=list(overrides))


def validate(config: Any) -> str:
    """What verl's own check says of a config; it raises where it is not content."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        validate_config(config, need_reference_policy(config), need_critic(config))
    return said.getvalue()


def compose_run(folder: Path, variant: str = "prorubric", add: Sequence[str] = (), **options: Any) -> Any:
    """The config of one of the paper's runs with a judge of ours; no charge for length unless it is asked for."""
    manager = options.pop("manager", "group")
    run = describe_run(folder, manager=manager)
    return compose([*render_overrides(variant, run, **{"overlong": None, **options}), *add])


def make_batch(pairs: Sequence[Pair], tokenizer: Any, carried: bool = False, responses: int | None = None) -> DataProto:
    """Pairs as verl's agent loop hands them to a reward worker; `carried` rows bring their task along."""
    prompts = [[5]] * len(pairs)
    texts = [tokenizer(pair.text, add_special_tokens=False)["input_ids"] for pair in pairs]
    width = responses or max(map(len, texts))
    rows = [verl.render(pair.task) for pair in pairs]
    if not carried:
        rows = [{**row, "extra_info": {"id": row["extra_info"]["id"]}} for row in rows]
    attention = [[1] * (1 + len(text)) + [0] * (width - len(text)) for text in texts]
    batch = TensorDict(
        {
            "prompts": torch.tensor(prompts),
            "responses": torch.tensor([text + [0] * (width - len(text)) for text in texts]),
            "attention_mask": torch.tensor(attention),
        },
        batch_size=len(pairs),
    )
    columns = {
        "data_source": [row["data_source"] for row in rows],
        "reward_model": [row["reward_model"] for row in rows],
        "extra_info": [dict(row["extra_info"]) for row in rows],
        "raw_prompt": [row["prompt"] for row in rows],
        "uid": [pair.task.id for pair in pairs],
    }
    return DataProto(batch=batch, non_tensor_batch={key: _as_array(values) for key, values in columns.items()})


def make_transcripts(pairs: Sequence[Pair], tokenizer: Any, left: bool = True) -> DataProto:
    """The transcripts of pairs as an agent loop leaves them, or fails to leave them, in its extra fields."""
    batch = make_batch(pairs, tokenizer)
    fields = [{"turn_scores": [], **({"transcript": make_messages(pair)} if left else {})} for pair in pairs]
    batch.non_tensor_batch["tool_extra_fields"] = _as_array(fields)
    batch.non_tensor_batch["__num_turns__"] = np.array([4] * len(pairs))
    return batch


def _as_array(values: Sequence[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def split_groups(pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
    """The pairs by task, in order."""
    for task_id in dict.fromkeys(pair.task.id for pair in pairs):
        yield [pair for pair in pairs if pair.task.id == task_id]
