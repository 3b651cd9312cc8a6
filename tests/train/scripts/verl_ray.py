"""verl with Ray: the pairs through its own `RewardLoopManager`, with its workers in processes of their own."""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import ray
from tests.train.parity import Pair, load_pairs, render_rewards, reward_options
from tests.train.scripts.verl_data import compose_run, make_batch, save_tokenizer, write_data
from verl.experimental.reward_loop import RewardLoopManager

from prorubric.train.policies import make_tiny_tokenizer


def reward_all(config: Any, batch: Any) -> dict[str, Any]:
    manager = RewardLoopManager(config)
    scored = manager.compute_rm_score(batch)
    for worker in manager.reward_loop_workers:
        ray.kill(worker)
    columns = scored.non_tensor_batch
    sums = scored.batch["rm_scores"].sum(-1).numpy()
    return {
        "scores": render_rewards(columns["score"].tolist()),
        "judge_failed": columns["judge_failed"].tolist(),
        "keys": scored.meta_info["reward_extra_keys"],
        # A reward tensor holds 32 bits; each score has to be where the last token is and nowhere else.
        "tensor": (sums == columns["score"].astype(np.float32)).tolist(),
        "filled": (scored.batch["rm_scores"] != 0).sum(-1).tolist(),
    }


def main() -> None:
    parity, folder = Path(sys.argv[1]), Path(sys.argv[2])
    pairs: list[Pair] = load_pairs(parity)
    write_data(parity, folder)
    save_tokenizer(folder / "tokenizer")
    tokenizer, options = make_tiny_tokenizer(), reward_options(folder)
    eights = [pair for pair in pairs if pair.task.source != "sample-pack"]
    fours = [pair for pair in pairs if pair.task.source == "sample-pack"]
    stock = [f"reward.{setting}" for setting in ("reward_manager.name=naive", "num_workers=2")]
    groups, size = (eights, 8) if eights else (fours, 4)
    # Ray puts sockets into its folder, and a socket's path has to be short.
    short = tempfile.mkdtemp(prefix="ray", dir="/tmp")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=short)
    try:
        told = {
            "naive": reward_all(
                compose_run(folder, add=stock, manager="dapo", on_failure="midpoint", **options),
                make_batch(pairs, tokenizer),
            ),
            "group": reward_all(
                compose_run(folder, add=[f"actor_rollout_ref.rollout.n={size}"], **options),
                make_batch(groups, tokenizer),
            ),
        }
    finally:
        ray.shutdown()
        shutil.rmtree(short, ignore_errors=True)
    print(json.dumps(told))  # noqa: T201 - that is what it is for


if __name__ == "__main__":
    main()
