"""GRPO with the real TRL on a tiny policy: what becomes of rewards that are unknown, and what is refused.

What `trl_parity.py` compares is compared here as well, because TRL takes long to import.
"""

import json
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import trl
from tests.train.scripts.trl_parity import compare
from trl import GRPOTrainer
from trl.experimental.online_dpo import OnlineDPOConfig, OnlineDPOTrainer
from trl.experimental.sdpo import SDPOConfig, SDPOTrainer

from prorubric import SAMPLE_TASKS, load_tasks
from prorubric.errors import ProRubricError
from prorubric.reward.channels import read_channels
from prorubric.reward.monitor import MonitorConfig, load_steps
from prorubric.reward.reward import Overlong, RewardConfig, RubricReward
from prorubric.reward.trend import AlarmRule
from prorubric.train.policies import keep_policy, make_tiny_model, make_tiny_tokenizer
from prorubric.train.trl import GrpoScale, TrlReward, make_dataset, make_grpo_config, watch_rewards

FAULTY = "tests.train.scripts.trl_judges:FaultyJudge"
PATCHY = "tests.train.scripts.trl_judges:PatchyJudge"
DEAD = "tests.train.scripts.trl_judges:DeadJudge"
SCALE = GrpoScale(prompts=2, responses=8, mini_batch=2, rollouts=3, per_device=8)


class OpenReward(TrlReward):
    """Keeps what it gives to TRL."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.given: list[list[float | None]] = []

    def __call__(self, *args: Any, **columns: Any) -> list[float | None]:
        self.given.append(super().__call__(*args, **columns))
        return self.given[-1]


class OpenTrainer(GRPOTrainer):
    """Keeps the advantages that its loss is computed from."""

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        batch = super()._generate_and_score_completions(inputs)
        self.advantages = [*getattr(self, "advantages", []), batch["advantages"].tolist()]
        return batch


def make_trainer(folder: Path, rewards: Any, **options: Any) -> OpenTrainer:
    settings = {"max_completion_length": 12, "bf16": False, "learning_rate": 1e-3, "warmup_steps": 0}
    settings |= {"save_strategy": "no", "disable_tqdm": True, "gradient_checkpointing": False, "use_cpu": True}
    own = {key: options.pop(key) for key in ("callbacks", "eval_dataset") if key in options}
    scale = options.pop("scale", SCALE)
    data = make_dataset(load_tasks(SAMPLE_TASKS)).dataset
    return OpenTrainer(
        model=make_tiny_model(),
        reward_funcs=rewards,
        args=make_grpo_config(folder, "prorubric", scale, **{**settings, **options}),
        train_dataset=data,
        processing_class=make_tiny_tokenizer(),
        **own,
    )


def train(folder: Path) -> dict[str, Any]:
    """Three steps in which the judge fails now and then."""
    config = RewardConfig(judge=FAULTY, tasks=str(SAMPLE_TASKS), shadow=("additive",), max_unknown=1)
    reward = OpenReward(config)
    # The second opinion is the first one once more, so that the two can be compared.
    watch = watch_rewards(reward, MonitorConfig(folder / "steps.jsonl"), second=replace(config, shadow=()))
    trainer = make_trainer(folder, reward, callbacks=[watch])
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    trainer.train()
    after = list(trainer.model.parameters())
    return {
        "rewards": reward.given,
        "advantages": trainer.advantages,
        "changed": sum(not torch.equal(a, b) for a, b in zip(before, after, strict=True)),
        "finite": all(bool(parameter.isfinite().all()) for parameter in after),
        "parameters": len(before),
        "logs": trainer.state.log_history,
        "steps": [step.model_dump(mode="json") for step in load_steps(folder / "steps.jsonl")],
    }


def train_until_the_alarm(folder: Path) -> dict[str, Any]:
    """At most 20 steps in which the score rises and its shadow falls."""
    judge = "tests.train.scripts.trl_judges:GamedJudge"
    reward = TrlReward(RewardConfig(judge=judge, tasks=str(SAMPLE_TASKS), shadow=("additive",)))
    rule = AlarmRule(window=10, least=5)
    watch = watch_rewards(reward, MonitorConfig(folder / "steps.jsonl", alarm=rule), stop=True)
    small = GrpoScale(prompts=1, responses=2, mini_batch=1, rollouts=20, per_device=2)
    trainer = make_trainer(folder, reward, scale=small, callbacks=[watch])
    trainer.train()
    (alarm,) = watch.monitor.history[-1].alarms
    return {"steps": trainer.state.global_step, "alarm": str(alarm), "shadow": alarm.other}


def train_beside_another(folder: Path) -> str:
    def count_words(completions: list[Any], **_: Any) -> list[float]:
        return [float(len(completion[0]["content"].split())) for completion in completions]

    reward = TrlReward(RewardConfig(judge=FAULTY, tasks=str(SAMPLE_TASKS)))
    return catch(make_trainer(folder, [reward, count_words]).train)


def train_channels(folder: Path, judge: str = PATCHY, **settings: Any) -> dict[str, Any]:
    """One step on the advantages over dimensions, and the dimensions that they are from."""
    config = RewardConfig(judge=judge, tasks=str(SAMPLE_TASKS), scheme="prorubric+appropriateness", max_unknown=1)
    reward = OpenReward(config, channels=True)
    reward.watched = []
    trainer = make_trainer(folder, reward, max_steps=1, **settings)
    trainer.train()
    found = [read_channels(request.task, one) for request, one in reward.watched]
    return {
        "channels": [[one.values, one.weights] for one in found],
        "advantages": trainer.advantages[0],
        "given": reward.given[0],
    }


def train_several_functions(folder: Path) -> dict[str, Any]:
    """One step of TRL's own normalisation of several rewards, which are the first three dimensions."""
    reward = RubricReward(RewardConfig(judge=PATCHY, tasks=str(SAMPLE_TASKS), max_unknown=1))
    given: list[list[float | None]] = []

    def make_function(place: int) -> Callable[..., list[float | None]]:
        def dimension(completions: list[Any], task_id: list[str], **_: Any) -> list[float | None]:
            found = reward(task_id, completions)
            tasks = [reward.find_task(name) for name in task_id]
            given.append([read_channels(t, one).values[place] for t, one in zip(tasks, found, strict=True)])
            return given[-1]

        dimension.__name__ = f"dimension_{place}"
        return dimension

    functions = [make_function(place) for place in range(3)]
    trainer = make_trainer(folder, functions, max_steps=1, multi_objective_aggregation="normalize_then_sum")
    trainer.train()
    return {"columns": given, "advantages": trainer.advantages[0]}


def refuse_channels(folder: Path) -> dict[str, str]:
    """What channels do not go with."""
    reward = TrlReward(RewardConfig(judge=PATCHY, tasks=str(SAMPLE_TASKS)), channels=True)
    again = {"scale_rewards": "none", "multi_objective_aggregation": "normalize_then_sum"}
    data = make_dataset(load_tasks(SAMPLE_TASKS)).dataset
    settings = {"num_generations": 2, "per_device_train_batch_size": 2, "max_steps": 1, "report_to": "none"}
    settings |= {"use_cpu": True, "bf16": False, "save_strategy": "no", "disable_tqdm": True}
    rloo = trl.RLOOTrainer(
        model=keep_policy("tiny", folder / "policy"),
        reward_funcs=reward,
        args=trl.RLOOConfig(str(folder), max_completion_length=4, **settings),
        train_dataset=data,
        processing_class=make_tiny_tokenizer(),
    )
    return {
        "group": catch(make_trainer(folder, reward).train),
        "again": catch(make_trainer(folder, reward, **again).train),
        "rloo": catch(rloo.train),
    }


def train_without_a_judge(folder: Path) -> str:
    reward = TrlReward(RewardConfig(judge=DEAD, tasks=str(SAMPLE_TASKS), min_batch=16))
    return catch(make_trainer(folder, reward).train)


def evaluate(folder: Path) -> list[float]:
    """What length costs in evaluation and in training, where every response is at the limit."""
    overlong = Overlong(limit=2, buffer=1, factor=0.5)
    judge = "tests.train.parity:HashJudge"
    reward = TrlReward(RewardConfig(judge=judge, tasks=str(SAMPLE_TASKS), overlong=overlong, max_unknown=1))
    few = make_dataset(list(load_tasks(SAMPLE_TASKS))[:2]).dataset
    trainer = make_trainer(folder, reward, eval_dataset=few, max_steps=1, num_generations_eval=2)
    evaluated = trainer.evaluate()
    trainer.train()
    (trained,) = (log["prorubric/overlong"] for log in trainer.state.log_history if "prorubric/overlong" in log)
    return [evaluated["eval_prorubric/overlong"], trained]


class ReplayTrainer(GRPOTrainer):
    """As TRL's trainer with a replay buffer was up to 1.13: it computes advantages itself."""

    __module__ = "trl.experimental.grpo_with_replay_buffer.grpo_with_replay_buffer_trainer"

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        raise NotImplementedError


def ask_in_other_trainers(folder: Path) -> dict[str, str]:
    """Two responses through the reward path of every kind of trainer, without any training."""
    reward = TrlReward(RewardConfig(judge=FAULTY, tasks=str(SAMPLE_TASKS)))
    data = make_dataset(load_tasks(SAMPLE_TASKS)).dataset
    policy = keep_policy("tiny", folder / "policy")
    shared = {"train_dataset": data, "processing_class": make_tiny_tokenizer()}
    settings = {"use_cpu": True, "bf16": False, "save_strategy": "no", "disable_tqdm": True}
    groups = {**settings, "num_generations": 2, "per_device_train_batch_size": 2}
    rows, texts, ids = list(data)[:2], ["Wait.", "Call 911."], [[0], [0]]
    prompts = [row["prompt"] for row in rows]

    def unbound(completions: Any, log_metric: Any, **columns: Any) -> list[float | None]:
        return reward(completions, log_metric=lambda name, value: log_metric(f"my/{name}", value), **columns)

    def ask(kind: Any, config: Any, function: Any = reward) -> str:
        trainer = kind(model=policy, reward_funcs=function, args=config, **shared)
        return catch(lambda: trainer._calculate_rewards(rows, prompts, texts, ids))

    grpo = trl.GRPOConfig(str(folder), **groups)
    said = {
        "grpo": ask(GRPOTrainer, grpo),
        "rloo": ask(trl.RLOOTrainer, trl.RLOOConfig(str(folder), **groups)),
        "sdpo": ask(SDPOTrainer, SDPOConfig(str(folder), **groups)),
        "replay": ask(ReplayTrainer, grpo),
        "unbound": ask(GRPOTrainer, grpo, unbound),
    }
    online = OnlineDPOTrainer(
        model=policy, reward_funcs=reward, args=OnlineDPOConfig(str(folder), **settings), **shared
    )
    columns = {"task_id": [row["task_id"] for row in rows]}
    said["online dpo"] = catch(
        lambda: online._calculate_rewards_from_functions(prompts, texts, ids, **columns),
    )
    trl.__version__, version = "1.5.1", trl.__version__
    said["old"] = ask(GRPOTrainer, grpo)
    trl.__version__ = version
    return said


def catch(run: Callable[[], object]) -> str:
    try:
        run()
    except ProRubricError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def main() -> None:
    parity, folder = map(Path, sys.argv[1:])
    reward = TrlReward(RewardConfig(judge=FAULTY, tasks=str(SAMPLE_TASKS)), "my_reward")
    again = pickle.loads(pickle.dumps(reward))
    said = {
        "compared": compare(parity, folder / "compared"),
        "training": train(folder / "training"),
        "alarm": train_until_the_alarm(folder / "alarm"),
        "beside": train_beside_another(folder / "beside"),
        "channels": {scale: train_channels(folder / scale, scale_rewards=scale) for scale in ("none", "batch")},
        "functions": train_several_functions(folder / "functions"),
        "refused": refuse_channels(folder / "refused"),
        "dead": train_without_a_judge(folder / "dead"),
        "evaluation": evaluate(folder / "evaluation"),
        "others": ask_in_other_trainers(folder / "others"),
        "pickled": [again.__name__, again.reward.config == reward.reward.config],
    }
    print(json.dumps(said))  # noqa: T201 - the line that the test reads


if __name__ == "__main__":
    main()
