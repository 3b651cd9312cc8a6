"""The two trainers of TRL that are not plain GRPO, on a tiny policy: RuscaRL's scaffolds, and self-distillation.

They share a script because TRL takes long to import.
"""

import json
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tests.train.slow_distillation import OPTIONS
from transformers import AutoTokenizer, set_seed
from trl import GRPOTrainer
from trl.experimental.sdft import SDFTConfig

from datasets import Dataset
from prorubric import Criterion, Rubric, Task, save_tasks
from prorubric.errors import ProRubricError
from prorubric.reward.reward import RewardConfig
from prorubric.rubric.records import Message
from prorubric.train.policies import make_tiny_model, make_tiny_tokenizer
from prorubric.train.scaffold import Scaffold, scaffold_prompt
from prorubric.train.self_distillation import Distillation, render_teacher_text, self_distillation_loss
from prorubric.train.trl import GrpoScale, TrlReward, make_dataset, make_grpo_config
from prorubric.train.trl_distillation import list_sdft_settings, list_token_losses, make_distillation_trainer
from prorubric.train.trl_scaffold import ScaffoldRollout

CRITERIA = (("Sends the baby in now", 9.0), ("Names a dose", -4.0), ("Is short", 2.0))
TASKS = [
    Task(
        id=name,
        messages=(Message(role="user", content=text),),
        rubric=Rubric(criteria=tuple(Criterion(text=text, weight=weight) for text, weight in CRITERIA)),
    )
    for name, text in (("fever", "She has a fever."), ("knee", "My knee hurts, and it is late."))
]
QUIET = {"bf16": False, "use_cpu": True, "disable_tqdm": True, "gradient_checkpointing": False, "report_to": "none"}
STEPS, SEED, RESPONSES = 4, 7, 4


class OpenGrpo(GRPOTrainer):
    """Keeps the prompts that it generated from, and those in its loss."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.seen: list[list[list[int]]] = []
        self.learned: list[list[int]] = []

    def _generate_single_turn(self, prompt_ids: Any, *args: Any) -> Any:
        self.seen.append(prompt_ids)
        return super()._generate_single_turn(prompt_ids, *args)

    def _compute_loss(self, model: Any, inputs: Any) -> Any:
        if model.training:
            self.learned += unpad(inputs["prompt_ids"], inputs["prompt_mask"])
        return super()._compute_loss(model, inputs)


def unpad(ids: Any, mask: Any) -> list[list[int]]:
    return [row[kept.bool()].tolist() for row, kept in zip(ids, mask, strict=True)]


def make_grpo(folder: Path, scaffold: Scaffold, policy: Path, **own: Any) -> OpenGrpo:
    folder.mkdir(exist_ok=True, parents=True)
    save_tasks(folder / "tasks.jsonl", TASKS)
    scale = own.pop("scale", GrpoScale(prompts=2, responses=RESPONSES, mini_batch=1, rollouts=2, per_device=2))
    own = {"max_completion_length": 6, "learning_rate": 1e-3, "warmup_steps": 0, "save_strategy": "no", **own}
    judge = "tests.train.parity:HashJudge"
    reward = RewardConfig(judge=judge, scheme="additive", tasks=str(folder / "tasks.jsonl"), max_unknown=1)
    data = make_dataset(TASKS).dataset
    return OpenGrpo(
        model=str(policy),
        reward_funcs=TrlReward(reward),
        args=make_grpo_config(
            folder, "rubric-rl", scale, **QUIET, shuffle_dataset=False, num_generations_eval=2, **own
        ),
        train_dataset=data,
        eval_dataset=data,
        processing_class=AutoTokenizer.from_pretrained(policy),
        rollout_func=ScaffoldRollout(TASKS, scaffold, seed=SEED, steps=STEPS),
    )


def encode(tokenizer: Any, chat: list[Any]) -> list[int]:
    return list(tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)["input_ids"])


def expect_scaffolds(tokenizer: Any, scaffold: Scaffold, step: int) -> list[list[int]]:
    """The ids of the prompts that a policy should see in a step, task by task."""
    place = {"seed": SEED, "step": step, "steps": STEPS, "responses": RESPONSES}
    groups = ((task, rollout) for task in TASKS for rollout in range(RESPONSES))
    return [encode(tokenizer, scaffold_prompt(task, scaffold, rollout=rollout, **place)) for task, rollout in groups]


def train_with_scaffolds(folder: Path, policy: Path, scaffold: Scaffold) -> dict[str, Any]:
    """Two rollouts of two prompts, each used for two updates; then an evaluation."""
    trainer = make_grpo(folder, scaffold, policy)
    before = copy_weights(trainer.model)
    trainer.train()
    rollouts = len(trainer.seen)
    trainer.evaluate()

    tokenizer = trainer.processing_class
    original = [encode(tokenizer, [message.model_dump() for message in task.messages]) for task in TASKS]
    plain = [ids for ids in original for _ in range(RESPONSES)]
    scaffolded = [*expect_scaffolds(tokenizer, scaffold, 1), *expect_scaffolds(tokenizer, scaffold, 2)]
    # TRL shuffles the rows of a rollout before it divides them into updates.
    learned = [sorted(trainer.learned[:8]), sorted(trainer.learned[8:])]
    return {
        "saw the scaffold": trainer.seen[:rollouts] == [scaffolded[:8], scaffolded[8:]],
        "distinct": [len(set(map(tuple, seen))) for seen in trainer.seen[:rollouts]],
        "learned from the scaffolded": learned == [sorted(scaffolded[:8]), sorted(scaffolded[8:])],
        "learned from the original": learned == [sorted(plain)] * 2,
        "evaluated on the original": [*chain(*trainer.seen[rollouts:])] == [ids for ids in original for _ in range(2)],
        "changed": count_changed(before, trainer.model),
    }


def refuse_scaffolds(folder: Path, policy: Path) -> dict[str, str]:
    other = TASKS[0].model_copy(update={"id": "other", "rubric": Rubric(criteria=TASKS[0].rubric.criteria[:1])})
    original = Scaffold(train_on="original")
    corrected, unknown = (make_grpo(folder, original, policy) for _ in range(2))
    corrected.use_vllm = corrected.vllm_importance_sampling_correction = True
    corrected.model.train()
    unknown.rollout_func = ScaffoldRollout(TASKS[:1], original, seed=SEED, steps=STEPS)
    return {
        "ambiguous": catch(lambda: ScaffoldRollout([*TASKS, other], original, seed=SEED, steps=STEPS)),
        "corrected": catch(lambda: corrected.rollout_func([[{"role": "user", "content": "Hello"}]], corrected)),
        "unknown": catch(unknown.train),
    }


def compare_losses() -> float:
    """The largest difference between torch and numpy, over every combination of options."""
    teacher, student = np.random.default_rng(1).normal(0, 2, (2, 3, 5, 20))
    differences = []
    for options in OPTIONS:
        scaled = [torch.tensor(logits / options["temperature"]) for logits in (teacher, student)]
        losses = list_token_losses(*scaled, Distillation(**options))
        exact = self_distillation_loss(teacher.reshape(-1, 20), student.reshape(-1, 20), **options)
        differences.append(abs(float(losses.mean()) - exact))
    return max(differences)


def make_student(folder: Path, policy: Path, distillation: Distillation, *, rubric: bool = True, **own: Any) -> Any:
    """A trainer that keeps the batches of its loss; four prompts a rollout, with answers of different lengths."""
    data = Dataset.from_list(
        [
            {
                "prompt": [message.model_dump() for message in task.messages],
                "privileged_context": render_teacher_text(task) if rubric else "",
            }
            for task in TASKS * 16
        ]
    )
    settings = {"per_device_train_batch_size": 4, "num_generations": 1, "max_completion_length": 8, "max_steps": 3}
    settings |= {"learning_rate": 1e-2, "lr_scheduler_type": "constant", "logging_steps": 1, "save_strategy": "no"}
    settings |= {"shuffle_dataset": False, **QUIET, **list_sdft_settings(distillation), **own}
    trainer = make_distillation_trainer(
        distillation,
        model=str(policy),
        args=SDFTConfig(str(folder), **settings),
        train_dataset=data,
        processing_class=AutoTokenizer.from_pretrained(policy),
    )
    trainer.kept, trainer.returned = [], []
    compute, generate = trainer._compute_self_distillation_loss, trainer._generate
    longer = 3 * trainer.accelerator.process_index

    def keep(model: Any, inputs: Any, logits: Any) -> Any:
        trainer.kept.append((inputs, logits))
        trainer.returned.append(compute(model, inputs, logits))
        return trainer.returned[-1]

    def cut(prompt_ids: Any) -> Any:
        return prompt_ids, [ids[: 1 + 2 * row + longer] for row, ids in enumerate(generate(prompt_ids)[1])]

    trainer._compute_self_distillation_loss, trainer._generate = keep, cut
    return trainer


def list_losses(trainer: Any) -> list[float]:
    return [log["loss"] for log in trainer.state.log_history if "loss" in log]


def distil(folder: Path, policy: Path) -> dict[str, Any]:
    """Three updates: the loss against numpy, the teacher's weights, and who read the rubric."""
    distillation = Distillation(clip_mode="none", top_k=50, temperature=1.1)
    trainer = make_student(folder, policy, distillation)
    student, teacher = copy_weights(trainer.model), copy_weights(trainer.teacher_model)
    trainer.train()
    exact = []
    for _, logits in trainer.kept:
        kept = logits.loss_mask.bool()
        given = (part[kept].detach().double().numpy() for part in (logits.teacher_logits, logits.student_logits))
        exact.append(self_distillation_loss(*given, clip_mode="none", top_k=50))  # divided by the temperature already
    read = [
        trainer.processing_class.batch_decode(torch.cat([inputs[name] for inputs, _ in trainer.kept[:1]]))
        for name in ("prompt_ids", "completion_ids", "teacher_input_ids")
    ]
    return {
        "losses": list_losses(trainer),
        "exact": exact,
        "student changed": count_changed(student, trainer.model),
        "teacher changed": count_changed(teacher, trainer.teacher_model),
        "rubric read": [[all(text in said for text, _ in CRITERIA) for said in part] for part in read],
        "rubric named": [[any(text in said for text, _ in CRITERIA) for said in part] for part in read],
        "same answer": all(
            inputs["teacher_input_ids"][:, -inputs["completion_ids"].size(1) :].equal(inputs["completion_ids"])
            for inputs, _ in trainer.kept
        ),
    }


def distil_without_a_rubric(folder: Path, policy: Path) -> dict[str, list[float]]:
    """The first loss of every kind of teacher when it is told nothing, and the later ones of a base teacher."""
    found = {}
    for teacher in ("base", "ema", "live"):
        options = Distillation(clip_mode="none", support="full", teacher=teacher)
        trainer = make_student(folder, policy, options, rubric=False, max_steps=1)
        trainer.train()
        found[teacher] = list_losses(trainer)
    return found


def distil_in_parts(folder: Path, policy: Path) -> list[list[float]]:
    """The same rollouts of four prompts as one batch, as four, and as two updates of two batches."""
    options = Distillation(clip_mode="none")
    parts = [
        {"per_device_train_batch_size": 4},
        {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 4},
        {
            "per_device_train_batch_size": 1,
            "gradient_accumulation_steps": 2,
            "generation_batch_size": 4,
            "max_steps": 4,
        },
    ]
    losses = []
    for own in parts:
        trainer = make_student(folder, policy, options, **{"max_steps": 2, "learning_rate": 0.0, **own})
        trainer.train()
        losses.append(list_losses(trainer))
    return losses


def distil_long(folder: Path, policy: Path) -> list[float]:
    options = Distillation(clip_mode="none", support="full")
    trainer = make_student(folder, policy, options, max_steps=24, learning_rate=3e-3)
    trainer.train()
    return list_losses(trainer)


def distil_from_an_average(folder: Path, policy: Path) -> dict[str, Any]:
    """Four updates in one go, and stopped after the second and resumed."""
    options = Distillation(clip_mode="none", teacher="ema")
    own = {"max_steps": 4, "save_strategy": "steps", "save_steps": 2}
    whole = make_student(folder / "whole", policy, options, **own)
    teacher = copy_weights(whole.teacher_model)
    whole.train()
    resumed = make_student(folder / "resumed", policy, options, **own)
    resumed.train(resume_from_checkpoint=str(folder / "whole/checkpoint-2"))
    return {
        "teacher changed": count_changed(teacher, whole.teacher_model),
        "teacher is the student": count_changed(copy_weights(whole.model), whole.teacher_model) == 0,
        "resumed student differs": count_changed(copy_weights(whole.model), resumed.model),
        "resumed teacher differs": count_changed(copy_weights(whole.teacher_model), resumed.teacher_model),
    }


def share_between_processes(folder: Path) -> dict[str, Any]:
    """In one of two processes: its half of a group that has scaffolds, and its part of an update's mean loss."""
    policy, rank = folder / "policy", torch.distributed.get_rank()
    if rank == 0:
        save_outspoken_policy(policy)
    torch.distributed.barrier()
    folder /= f"rank{rank}"
    scale = GrpoScale(prompts=1, responses=RESPONSES, mini_batch=1, rollouts=1, per_device=2)
    scaffold = Scaffold(schedule="linear")
    grpo = make_grpo(folder, scaffold, policy, scale=scale, ddp_backend="gloo")
    grpo.train()
    options = Distillation(clip_mode="none")
    student = make_student(folder, policy, options, per_device_train_batch_size=2, max_steps=1, ddp_backend="gloo")
    student.train()
    ((_, logits),) = student.kept
    losses = list_token_losses(logits.teacher_logits, logits.student_logits, options)
    return {
        "seen": grpo.seen[0],
        "expected": expect_scaffolds(grpo.processing_class, scaffold, 1)[:RESPONSES],
        "returned": float(student.returned[0]),
        "sum": float((losses * logits.loss_mask).sum()),
        "tokens": int(logits.loss_mask.sum()),
    }


def refuse_distillation(folder: Path, policy: Path) -> dict[str, str]:
    options = Distillation()
    return {
        "truncated": catch(lambda: make_student(folder, policy, options, max_prompt_length=512)),
        "divided": catch(
            lambda: make_student(
                folder,
                policy,
                options,
                per_device_train_batch_size=1,
                gradient_accumulation_steps=3,
                generation_batch_size=4,
            )
        ),
    }


def catch(run: Callable[[], object]) -> str:
    try:
        run()
    except ProRubricError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def copy_weights(model: Any) -> list[Any]:
    return [parameter.detach().clone() for parameter in model.parameters()]


def count_changed(before: list[Any], model: Any) -> int:
    return sum(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def save_outspoken_policy(folder: Path) -> Path:
    """A tiny policy whose context matters: with its usual weights, every next token is almost equally likely."""
    make_tiny_tokenizer().save_pretrained(folder)
    model = make_tiny_model()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            parameter.data *= 5
    model.save_pretrained(folder)
    return folder


def main() -> None:
    torch.set_num_threads(1)
    set_seed(0)
    folder = Path(sys.argv[1])
    policy = save_outspoken_policy(folder / "policy")
    original = Scaffold(schedule="linear", role="system", train_on="original")
    said = {
        "compared": compare_losses(),
        "distilled": distil(folder / "distilled", policy),
        "untold": distil_without_a_rubric(folder / "untold", policy),
        "parts": distil_in_parts(folder / "parts", policy),
        "long": distil_long(folder / "long", policy),
        "average": distil_from_an_average(folder / "average", policy),
        "distillation refused": refuse_distillation(folder / "refused", policy),
        "scaffolded": train_with_scaffolds(folder / "scaffolded", policy, Scaffold(schedule="linear")),
        "original": train_with_scaffolds(folder / "original", policy, original),
        "scaffolds refused": refuse_scaffolds(folder / "refused", policy),
    }
    print(json.dumps(said))  # noqa: T201 - the line that the test reads


if __name__ == "__main__":
    main()
