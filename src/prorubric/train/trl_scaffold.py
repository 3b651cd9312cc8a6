"""Scaffolds inside TRL: a `rollout_func` for `GRPOTrainer` that shows each rollout of a group its part of the rubric.

The policy answers the scaffolded prompt; the loss is computed on that prompt or on the original, as `train_on` says.
Evaluation has no scaffold. TRL passes only prompts to a rollout, so a task is found by its prompt.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from prorubric.errors import ConfigError
from prorubric.rubric.records import Task
from prorubric.text.show import show
from prorubric.train.guidance import Chat
from prorubric.train.scaffold import Scaffold, scaffold_prompt

Generate = Callable[[Any, Sequence[Sequence[int]]], list[list[int]]]
"""A trainer and the ids of prompts to the ids of answers, in place of the trainer's own way."""
_Key = tuple[tuple[str, str], ...]


class ScaffoldRollout:
    """The `rollout_func` of a run over these tasks; `steps` is the number of its rollouts."""

    def __init__(
        self, tasks: Iterable[Task], scaffold: Scaffold, *, seed: int, steps: int, generate: Generate | None = None
    ) -> None:
        self.scaffold, self.seed, self.steps = scaffold, seed, steps
        self._generate = generate
        self._tasks: dict[_Key, Task] = {}
        for task in tasks:
            first = self._tasks.setdefault(tuple((turn.role, turn.content) for turn in task.messages), task)
            if first.rubric != task.rubric:
                raise ConfigError(
                    f"tasks {first.id!r} and {task.id!r} have the same prompt and different rubrics, and TRL tells a "
                    "rollout only the prompt; leave one of them out"
                )

    def __call__(self, prompts: Sequence[Chat], trainer: Any) -> dict[str, Any]:
        """The ids of the prompts to train on, and of the answers to the prompts that the policy saw."""
        original_ids = shown_ids = trainer._tokenize_prompts(prompts)[0]
        if trainer.model.training:
            corrects = trainer.use_vllm and trainer.vllm_importance_sampling_correction
            if self.scaffold.train_on == "original" and corrects:
                raise ConfigError(
                    "vLLM's log-probabilities are those of the scaffolded prompt, and the loss is on the original; set "
                    "vllm_importance_sampling_correction=False"
                )
            shown_ids = trainer._tokenize_prompts(self._scaffold(prompts, trainer))[0]
        # One answer to each prompt: the prompts of a group differ, and TRL has already repeated them.
        if self._generate is None:
            completion_ids, logprobs = trainer._generate_single_turn(shown_ids, None, {}, 1)
        else:
            completion_ids, logprobs = self._generate(trainer, shown_ids), None
        kept = shown_ids if self.scaffold.train_on == "scaffolded" else original_ids
        return {"prompt_ids": kept, "completion_ids": completion_ids, "logprobs": logprobs}

    def _scaffold(self, prompts: Sequence[Chat], trainer: Any) -> list[Chat]:
        """The prompts of this process as the policy sees them. A group may be spread over several processes."""
        args, responses = trainer.args, trainer.num_generations
        # TRL counts updates; a rollout is used for several.
        micro_batches = trainer.state.global_step * args.gradient_accumulation_steps
        step = micro_batches // (args.steps_per_generation * trainer.num_iterations) + 1
        first = trainer.accelerator.process_index * len(prompts)
        place = {"seed": self.seed, "step": step, "steps": self.steps, "responses": responses}
        shown: list[Chat] = []
        for number, prompt in enumerate(prompts, first):
            task = self._tasks.get(tuple((turn["role"], turn["content"]) for turn in prompt))
            if task is None:
                raise ConfigError(f"no task has the prompt {show(prompt)}; give the rollout the tasks of the dataset")
            shown.append(scaffold_prompt(task, self.scaffold, rollout=number % responses, **place))
        return shown
