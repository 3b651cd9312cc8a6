"""GRPO on SmolLM2-135M with a rubric reward, on a CPU and without a network.

    python examples/trl/grpo_smollm2.py --out runs/smollm2

Two tasks of the sample pack, 8 answers of at most 64 tokens to each, 20 steps. The judge is word overlap and the
scheme is additive. Such a reward pays for mentioning terms, so watch the other schemes too. For a real run give an
endpoint (`--judge http://localhost:8000/v1#my-judge`), your own model and your own tasks.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from trl import GRPOTrainer

from prorubric import SAMPLE_TASKS, RewardConfig, Task, load_tasks
from prorubric.reward.monitor import MonitorConfig, load_steps
from prorubric.train.policies import load_policy
from prorubric.train.trl import GrpoScale, TrlReward, make_dataset, make_grpo_config, watch_rewards


def main() -> None:
    """Train, then print the curve."""
    options = read_options()
    model, tokenizer = load_policy(options.model)
    # The shortest prompts, the same in every step, so steps can be compared.
    tasks = sorted(load_tasks(SAMPLE_TASKS), key=measure_prompt)[: options.prompts]
    reward = TrlReward(
        RewardConfig(options.judge, scheme=options.scheme, shadow=options.shadow, tasks=str(SAMPLE_TASKS))
    )
    curve = options.out / "steps.jsonl"
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=reward,
        train_dataset=make_dataset(tasks, tokenizer).dataset,
        callbacks=[watch_rewards(reward, MonitorConfig(curve))],
        args=make_grpo_config(
            options.out,
            scale=GrpoScale(
                prompts=options.prompts,
                mini_batch=options.prompts,
                responses=options.responses,
                per_device=options.responses,
                rollouts=options.steps,
            ),
            # For a small model, a short run and a CPU: these are not the paper's.
            max_completion_length=options.tokens,
            learning_rate=2e-5,
            warmup_steps=0,
            bf16=False,
            use_cpu=True,
            gradient_checkpointing=False,
            save_strategy="no",
            report_to="none",
        ),
    )
    trainer.train()
    print(render_curve(curve, options.scheme, options.shadow))  # noqa: T201 - what the example is for


def read_options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the curve")
    parser.add_argument("--model", default="smollm2", help="smollm2, gguf:PATH, tiny, a folder or a hub name")
    parser.add_argument("--judge", default="lexical")
    parser.add_argument("--scheme", default="additive")
    parser.add_argument("--shadow", nargs="*", default=["implicit", "prorubric"], help="other schemes to watch")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--prompts", type=int, default=2)
    parser.add_argument("--responses", type=int, default=8, help="answers to each prompt")
    parser.add_argument("--tokens", type=int, default=64, help="the longest answer")
    return parser.parse_args()


def measure_prompt(task: Task) -> int:
    """How long a conversation is, in characters."""
    return sum(len(message.content) for message in task.messages)


def render_curve(path: Path, scheme: str, shadow: Sequence[str]) -> str:
    """The recorded steps as a table."""
    names = ("step", scheme, *shadow, "tokens", "equal groups")
    rows = [f"| {' | '.join(names)} |", f"|{' ---: |' * len(names)}"]
    for step in load_steps(path):
        values = (step.score, *(step.shadow.get(name) for name in shadow), step.tokens, step.equal_groups)
        shown = ["–" if value is None else f"{value:.3f}" for value in values]
        rows.append(f"| {step.step} | {' | '.join(shown)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
