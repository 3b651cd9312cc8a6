"""verl without Ray: rewards through its own worker, its config, its data set, its advantages and its KL."""

import asyncio
import contextlib
import io
import json
import runpy
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from omegaconf import OmegaConf
from tests.train.parity import Pair, load_pairs, render_rewards, reward_options
from tests.train.scripts.verl_data import (
    compose,
    compose_run,
    describe_run,
    make_batch,
    make_transcripts,
    save_tokenizer,
    split_groups,
    validate,
    write_data,
)
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage, get_adv_estimator_fn, kl_penalty
from verl.utils.dataset.rl_dataset import RLHFDataset

from prorubric import ProRubricError
from prorubric.train.methods import METHODS
from prorubric.train.policies import make_tiny_tokenizer
from prorubric.train.verl import _CENTRED
from prorubric.train.verl_settings import render_overrides


def reward_all(config: Any, batch: Any) -> list[dict[str, Any]]:
    """A batch through verl's worker; what raises is told by its name and its first line."""

    async def run() -> list[Any]:
        worker = RewardLoopWorker(config)
        tasks = [worker.compute_score(batch[number : number + 1]) for number in range(len(batch))]
        return await asyncio.gather(*tasks, return_exceptions=True)

    return [
        {"raised": f"{type(one).__name__}: {one}"} if isinstance(one, BaseException) else one
        for one in asyncio.run(run())
    ]


async def reward_alone(config: Any, row: Any) -> tuple[str, int]:
    """What one row raises in verl's worker, and how many groups our manager still holds after that."""
    worker = RewardLoopWorker(config)
    (said,) = await asyncio.gather(worker.compute_score(row), return_exceptions=True)
    return f"{type(said).__name__}: {said}", len(worker.reward_manager._groups)


def reward_groups(folder: Path, pairs: list[Pair], make: Callable[[list[Pair]], Any], **options: Any) -> list[Any]:
    """Pairs through our manager, groups of one size together: four responses in the sample pack, eight elsewhere."""
    outcomes = []
    for size, members in groupby(pairs, key=lambda pair: 4 if pair.task.source == "sample-pack" else 8):
        config = compose_run(folder, add=[f"actor_rollout_ref.rollout.n={size}"], **options)
        outcomes += reward_all(config, make(list(members)))
    return outcomes


def tell(outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    """What verl gets for each response; None where the reward raised."""
    rewards = [one.get("reward_score") for one in outcomes]
    return {
        "rewards": render_rewards(rewards),
        "types": sorted({type(reward).__name__ for reward in rewards if reward is not None}),
        "info": [one.get("reward_extra_info") for one in outcomes],
        "raised": [one.get("raised") for one in outcomes],
    }


def run_managers(folder: Path, pairs: list[Pair], tokenizer: Any) -> dict[str, Any]:
    told: dict[str, Any] = {}
    make, carry = (partial(make_batch, tokenizer=tokenizer, carried=carried) for carried in (False, True))
    for name in ("naive prorubric", "gdpo prorubric", "naive additive", "naive graded"):
        manager, scheme = name.split()
        add = [f"reward.reward_manager.name={manager}"]
        config = compose_run(folder, add=add, manager="dapo", **reward_options(folder, scheme))
        told[name] = tell(reward_all(config, make(pairs)))
    told["group prorubric"] = tell(reward_groups(folder, pairs, make, **reward_options(folder)))
    options = {key: value for key, value in reward_options(folder).items() if key != "tasks"}
    told["group carried"] = tell(reward_groups(folder, pairs, carry, **options))
    config = compose_run(folder, manager="dapo", shadow=("graded",), on_failure="midpoint", **options)
    told["dapo carried"] = tell(reward_all(config, carry(pairs)))
    return told


def run_transcripts(folder: Path, pairs: list[Pair], tokenizer: Any) -> dict[str, Any]:
    """Rollouts of several turns, whose messages the agent loop has left in its extra fields."""
    make, told = partial(make_transcripts, tokenizer=tokenizer), {}
    for view in ("full", "last"):
        options = {**reward_options(folder), "judging": {"view": view}}
        naive = compose_run(folder, add=["reward.reward_manager.name=naive"], manager="dapo", **options)
        told[f"naive {view}"] = tell(reward_all(naive, make(pairs)))
        told[f"group {view}"] = tell(reward_groups(folder, pairs, make, **options, on_failure=-5.0))
    options = {**reward_options(folder), "judging": {"view": "full"}}
    told["no messages"] = tell(reward_all(compose_run(folder, **options), make(pairs[:4], left=False)))
    return told


def run_channels(folder: Path, pairs: list[Pair], tokenizer: Any) -> dict[str, Any]:
    """The advantages over dimensions through our manager and verl's estimator, and verl's own over several rewards."""
    make = partial(make_batch, tokenizer=tokenizer)
    told = tell(reward_groups(folder, pairs, make, **reward_options(folder), channels=True))
    scores = torch.tensor([[float.fromhex(reward)] for reward in told["rewards"]], dtype=torch.float64)
    groups, mask = np.array([pair.task.id for pair in pairs]), torch.ones(len(pairs), 1)
    got, _ = compute_grpo_outcome_advantage(scores.clone(), mask, groups, norm_adv_by_std_in_grpo=False)
    columns = {"a": [n % 3 / 2 for n in range(len(pairs))], "b": [n * n % 5 / 4 for n in range(len(pairs))]}
    both, _ = get_adv_estimator_fn("gdpo")(
        token_level_rewards=torch.zeros(len(pairs), 1),
        response_mask=mask,
        index=groups,
        config=OmegaConf.create({"gdpo_reward_keys": ["a", "b"], "gdpo_reward_weights": [0.75, 0.25]}),
        non_tensor_batch=columns,
        batch={"prompts": torch.zeros(len(pairs), 1), "attention_mask": torch.ones(len(pairs), 2, dtype=torch.long)},
    )
    return {**told, "advantages": got[:, 0].tolist(), "columns": columns, "gdpo": both[:, 0].tolist()}


def run_lengths(folder: Path, pairs: list[Pair], tokenizer: Any) -> dict[str, Any]:
    """Length charged by verl and by us, in training and in validation."""
    lengths = [len(tokenizer(pair.text, add_special_tokens=False)["input_ids"]) for pair in pairs]
    limit = max(lengths)
    options = {**reward_options(folder), "overlong": {"limit": limit, "buffer": limit // 2, "factor": 0.5}}
    batch = make_batch(pairs, tokenizer)
    theirs = tell(reward_all(compose_run(folder, manager="dapo", **options), batch))
    ours = tell(reward_groups(folder, pairs, partial(make_batch, tokenizer=tokenizer), **options))
    validation = make_batch(pairs, tokenizer)
    for extra in validation.non_tensor_batch["extra_info"]:
        extra["split"] = "test"
    told = tell(reward_all(compose_run(folder, **options), validation))
    return {"dapo": theirs, "group": ours, "validation": told, "lengths": lengths, "limit": limit}


def run_failures(folder: Path, pairs: list[Pair], tokenizer: Any) -> dict[str, Any]:
    """What becomes of an unknown reward, and what stops a run."""
    options = {**reward_options(folder), "manager": "dapo"}
    batch, told = make_batch(pairs, tokenizer), {}
    told["0.25"] = reward_all(compose_run(folder, on_failure=0.25, **options), batch)
    uncentred = ["algorithm.adv_estimator=gae"]
    told["gae"] = tell(reward_all(compose_run(folder, add=uncentred, **reward_options(folder)), batch))
    for share in (0.5, 0.01):
        kept = reward_all(compose_run(folder, on_failure=0.25, **{**options, "max_unknown": share}), batch)
        told[f"breaker {share}"] = [one.get("raised") for one in kept]
    limited = ["reward.reward_manager.name=rate_limited", "+reward.max_concurrent=8"]
    told["rate limited"] = reward_all(compose_run(folder, add=limited, **options), batch[:48])
    lone = next(group for group in split_groups(pairs) if any(pair.expected["prorubric"] is None for pair in group))
    failed = [pair for pair in lone if pair.expected["prorubric"] is None][:1]
    alone = make_batch(failed, tokenizer)
    config = compose_run(folder, group_wait=0.05, **reward_options(folder))
    told["alone"], told["groups kept"] = asyncio.run(reward_alone(config, alone))
    return told


def run_failed_call(folder: Path, pairs: list[Pair], tokenizer: Any) -> dict[str, Any]:
    """Eight answers to one task of which the first is never judged: the advantages that verl computes of the rest."""
    options = {**reward_options(folder), "judge": "tests.train.scripts.trl_judges:PoorJudge"}
    told: dict[str, Any] = {}
    for name, texts in {"poor": ["no reply", *["poor"] * 7], "mixed": ["no reply", "good", *["poor"] * 6]}.items():
        batch = make_batch([replace(pairs[0], text=f"{text} {n}") for n, text in enumerate(texts)], tokenizer)
        managers = {
            "midpoint": {"manager": "dapo", "on_failure": "midpoint"},
            "default": {"manager": "dapo"},
            "group": {},
        }
        for manager, more in managers.items():
            outcomes = reward_all(compose_run(folder, **options, **more), batch)
            kept = [n for n, one in enumerate(outcomes) if "raised" not in one]
            scores = torch.tensor([[outcomes[n]["reward_score"]] for n in kept], dtype=torch.float64)
            got, _ = compute_grpo_outcome_advantage(scores, torch.ones(len(kept), 1), np.array(["g"] * len(kept)))
            told[f"{name} {manager}"] = dict(zip([texts[n] for n in kept], got[:, 0].tolist(), strict=True))
    return told


def run_validation(folder: Path, pairs: list[Pair], tokenizer: Any) -> dict[str, Any]:
    """Rows that do not say what they are for are known by the file that they come from."""
    options = {**reward_options(folder), "overlong": {"limit": 2, "buffer": 1, "factor": 0.5}}
    chosen = next(pair for pair in pairs if pair.expected["prorubric"] is not None)
    batch = make_batch([chosen], tokenizer)
    told = {"train": reward_all(compose_run(folder, **options), batch)}
    twice = compose_run(folder, add=[f"data.val_files={folder}/train.parquet"], **options)
    told["both"] = reward_all(twice, batch)
    held_out = make_batch([replace(chosen, task=chosen.task.model_copy(update={"id": "held-out"}))], tokenizer, True)
    told["validation"] = reward_all(compose_run(folder, **options), held_out)
    return told


def run_monitor(folder: Path, pairs: list[Pair], tokenizer: Any) -> dict[str, Any]:
    """Two steps of two groups, and a third that is never full."""
    add = ["data.train_batch_size=2", "actor_rollout_ref.rollout.n=4", "actor_rollout_ref.actor.ppo_mini_batch_size=2"]
    told = {}
    for name, steps in {"told": [7] * 8 + [8] * 8 + [9] * 4, "counted": None}.items():
        out = folder / f"{name}.jsonl"
        config = compose_run(folder, add=add, monitor={"out": str(out)}, **reward_options(folder))
        batch = make_batch(pairs[:20], tokenizer)
        if steps is not None:
            batch.non_tensor_batch["global_steps"] = np.array(steps)
        reward_all(config, batch)
        told[name] = [json.loads(line) for line in out.read_text().splitlines()]
    return told


def run_example(folder: Path) -> dict[str, Any]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        example = runpy.run_path("examples/verl/dry_run.py")
        example["main"](str(folder / "tokenizer"), "rubric-rl", "lexical", str(folder / "dry"))
    steps = (folder / "dry/steps.jsonl").read_text().splitlines()
    return {"said": said.getvalue().splitlines(), "steps": [json.loads(line) for line in steps]}


def run_refusals(folder: Path) -> dict[str, str]:
    options = reward_options(folder)
    cases = {
        "workers": {"add": ["reward.num_workers=8"]},
        "two charges": {"add": ["+reward.reward_kwargs.overlong_buffer_cfg.enable=True"]},
        "no judge": {"add": ["~reward.custom_reward_function.reward_kwargs.judge"]},
        "gdpo": {"add": ["algorithm.adv_estimator=gdpo"]},
        "scaled again": {"channels": True, "add": ["algorithm.norm_adv_by_std_in_grpo=True"]},
        "misspelt": {"add": ["+reward.custom_reward_function.reward_kwargs.sheme=additive"]},
    }
    told = {}
    for name, case in cases.items():
        try:
            RewardLoopWorker(compose_run(folder, **options, **case))
        except ProRubricError as error:
            told[name] = f"{type(error).__name__}: {error}"
    return told


def run_configs(folder: Path) -> dict[str, Any]:
    told = {}
    for name in (name for name, method in METHODS.items() if method.kind == "grpo" and not method.scaffold):
        config = compose(render_overrides(name, describe_run(folder), judge="http://judge:8000/v1#it's \\ a name"))
        said = validate(config)
        told[name] = {
            "passed": said.strip().splitlines()[-1],
            "kl": [config.actor_rollout_ref.actor.use_kl_loss, config.actor_rollout_ref.actor.kl_loss_coef],
            "limit": config.data.max_response_length,
            "reward": json.loads(json.dumps(_plain(config.reward.custom_reward_function.reward_kwargs))),
            "group": [config.data.train_batch_size, config.actor_rollout_ref.rollout.n],
            "actor": _pick(
                config.actor_rollout_ref.actor,
                "ppo_mini_batch_size clip_ratio_low clip_ratio_high kl_loss_type use_dynamic_bsz data_loader_seed "
                "clip_ratio_c",
            ),
            "optim": _pick(config.actor_rollout_ref.actor.optim, "lr lr_warmup_steps lr_scheduler_type weight_decay"),
            "rollout": _pick(config.actor_rollout_ref.rollout, "temperature top_p seed response_length prompt_length"),
            "algorithm": _pick(config.algorithm, "adv_estimator use_kl_in_reward norm_adv_by_std_in_grpo"),
            "data": _pick(config.data, "max_prompt_length filter_overlong_prompts truncation seed"),
            "trainer": _pick(config.trainer, "total_training_steps save_freq test_freq experiment_name"),
            "thinking": _plain(config.data.apply_chat_template_kwargs),
        }
    dapo = compose(render_overrides("length-matched", describe_run(folder, manager="dapo"), judge="lexical"))
    validate(dapo)
    told["dapo"] = _plain(dapo.reward.reward_kwargs)
    return told


def run_dataset(folder: Path, tokenizer: Any) -> dict[str, Any]:
    config = compose_run(folder, **reward_options(folder), add=["data.max_prompt_length=300", "data.truncation=error"])
    lengths = [
        len(tokenizer.apply_chat_template(row, add_generation_prompt=True, tokenize=True)["input_ids"])
        for row in ([message.model_dump() for message in pair.task.messages] for pair in load_pairs(folder))
    ]
    data = RLHFDataset(config.data.train_files, tokenizer, config.data)
    first = data[0]
    return {
        "kept": len(data),
        "short": [length <= 300 for length in lengths],
        "ids": [data[number]["extra_info"]["id"] for number in range(len(data))],
        "first": {key: first[key] for key in ("data_source", "ability", "reward_model", "raw_prompt")},
    }


def run_advantages() -> dict[str, Any]:
    drawn = np.random.default_rng(7)
    rewards = drawn.choice([0.0, 0.25, 0.5, 0.8, 1.0], size=96)
    groups = np.repeat(np.arange(12), 8)
    rewards[groups == 3] = 0.5
    told = {"rewards": rewards.tolist(), "groups": groups.tolist()}
    for name, values in {"all": rewards, "filled": fill(rewards, groups)}.items():
        tokens = torch.zeros(96, 4, dtype=torch.float64)
        tokens[:, 3] = torch.from_numpy(values)
        got, _ = compute_grpo_outcome_advantage(tokens, torch.ones(96, 4), groups.astype(str))
        told[name] = got[:, 3].tolist()
    lost = rewards.copy()
    lost[0] = np.nan
    got, _ = compute_grpo_outcome_advantage(
        torch.from_numpy(lost)[:, None], torch.ones(96, 1, dtype=torch.float64), groups.astype(str)
    )
    told["nan"] = got[:, 0].isnan().nonzero()[:, 0].tolist()
    told["centred"] = {name: centre(name, tokens, groups) for name in _CENTRED}
    return told


def centre(name: str, rewards: Any, groups: Any) -> float:
    """The largest advantage that one of verl's estimators gives to a response at the mean of its group."""
    config = OmegaConf.create({"norm_adv_by_std_in_grpo": True})
    estimate = get_adv_estimator_fn(name)
    got, _ = estimate(
        token_level_rewards=rewards.clone(), response_mask=torch.ones(96, 4), index=groups.astype(str), config=config
    )
    return float(got[::8].abs().max())


def fill(rewards: Any, groups: Any) -> Any:
    """The rewards with the first of each group as our manager fills a failed one."""
    filled = rewards.copy()
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        filled[members[0]] = rewards[members[1:]].mean()
    return filled


def run_kl() -> dict[str, Any]:
    generator = torch.Generator().manual_seed(3)
    policy, reference = (torch.randn(64, generator=generator, dtype=torch.float64) for _ in range(2))
    got = kl_penalty(policy, reference, "low_var_kl")
    return {"policy": policy.tolist(), "reference": reference.tolist(), "k3": got.tolist()}


def _pick(section: Any, names: str) -> dict[str, Any]:
    return {name: section[name] for name in names.split()}


def _plain(section: Any) -> Any:
    return OmegaConf.to_container(section, resolve=True)


def main() -> None:
    parity, folder = Path(sys.argv[1]), Path(sys.argv[2])
    pairs, tokenizer = load_pairs(parity), make_tiny_tokenizer()
    save_tokenizer(folder / "tokenizer")
    write_data(parity, folder)
    told = {
        "managers": run_managers(folder, pairs, tokenizer),
        "transcripts": run_transcripts(folder, pairs, tokenizer),
        "channels": run_channels(folder, pairs, tokenizer),
        "lengths": run_lengths(folder, pairs, tokenizer),
        "failures": run_failures(folder, pairs, tokenizer),
        "failed call": run_failed_call(folder, pairs, tokenizer),
        "validation": run_validation(folder, pairs, tokenizer),
        "monitor": run_monitor(folder, pairs, tokenizer),
        "example": run_example(folder),
        "refusals": run_refusals(folder),
        "configs": run_configs(folder),
        "dataset": run_dataset(folder, tokenizer),
        "advantages": run_advantages(),
        "kl": run_kl(),
    }
    print(json.dumps(told))  # noqa: T201 - that is what it is for


if __name__ == "__main__":
    main()
