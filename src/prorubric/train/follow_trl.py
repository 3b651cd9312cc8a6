"""What follows a training in TRL: the callback that writes the folder of a run, and the answers of a validation.

Only the first process writes, and it decides for all. Everything that belongs to a rollout is written before its
checkpoint, so a checkpoint that is complete never lacks anything.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from prorubric.datasets.load import load_tasks
from prorubric.datasets.sources import trl as trl_rows
from prorubric.reward.monitor import Monitor, MonitorConfig
from prorubric.reward.reward import Reward, RewardRequest
from prorubric.rubric.records import Response
from prorubric.rubric.save import save_responses
from prorubric.train.adapter import load_trainer, render_rollout_row
from prorubric.train.guidance import list_guidance
from prorubric.train.recipe import TrainRun
from prorubric.train.run_folder import STOP, RunFolder
from prorubric.train.sampler import is_sampled_here, sample_policy
from prorubric.train.scaffold import scaffold_counts
from prorubric.train.trl import TrlReward, encode_prompt


def make_follower(
    run: TrainRun, folder: RunFolder, *, steps: int, updates: int = 1, reward: TrlReward | None = None
) -> "_Follower":
    """The callback of a run; without a reward the loss of each step is recorded."""
    base = load_trainer("transformers", "Training with TRL", "trl").TrainerCallback
    made: _Follower = type("Follower", (_Follower, base), {})(run, folder, steps, updates, reward)
    return made


def share(value: Any) -> Any:
    """The first process's value, in every process."""
    return _gather([value])[0]


def _gather(values: Sequence[Any]) -> list[Any]:
    """The values of all processes, in their order."""
    return list(import_module("accelerate.utils").gather_object(list(values)))


class _Follower:
    """The methods of the callback. A step is a rollout, or an update where nothing is generated."""

    trainer: Any
    """Set once there is one."""

    def __init__(self, run: TrainRun, folder: RunFolder, steps: int, updates: int, reward: TrlReward | None) -> None:
        self._run, self._folder, self._steps, self._updates = run, folder, steps, updates
        self._reward = reward
        self._seen: list[tuple[RewardRequest, Reward]] = []
        if reward is not None:
            reward.watched = self._seen
        self._monitor: Monitor | None = None
        self._step = 0
        self._reason: str | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - the trainer's
        self._step = state.global_step // self._updates
        if state.is_world_process_zero:
            self._folder.save_state("running", self._step)
            if self._reward is not None:
                self._monitor = Monitor(MonitorConfig(self._folder.steps))
        self._validate()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - the trainer's
        """At the end of a step: record it, validate, and see whether to stop."""
        self._step, rest = divmod(state.global_step, self._updates)
        if rest:
            return
        texts = [one.text if isinstance(one.text, str) else str(one.text[-1]["content"]) for one, _ in self._seen]
        seen = _gather([(text, reward) for text, (_, reward) in zip(texts, self._seen, strict=True)])
        self._seen.clear()
        reason = self._record(self._monitor, seen) if self._monitor else None
        self._validate()
        if state.is_world_process_zero:
            self._folder.save_state("running", self._step)
            reason = reason or self._folder.read_stop()
        self._reason = share(reason)
        if self._reason is not None:
            control.should_save = control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:  # noqa: ARG002
        """Record the loss; TRL says it after the end of a step and before its checkpoint."""
        if self._reward is None and state.is_world_process_zero and logs and "loss" in logs:
            self._folder.add_step({"step": self._step, "loss": logs["loss"], "rate": logs["learning_rate"]})

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - the trainer's
        self.trainer.accelerator.wait_for_everyone()
        if state.is_world_process_zero:
            path = self._folder.checkpoints / f"checkpoint-{state.global_step}"
            self._folder.seal_checkpoint(path, self._step, self._run.keep)

    def finish(self) -> None:
        """Say how the training ended."""
        if not self.trainer.is_world_process_zero():
            return
        if self._monitor:
            self._monitor.close()
        if self._step >= self._steps:
            self._folder.save_state("done", self._step)
        else:
            self._folder.save_state("stopped", self._step, self._reason or "")
        (self._folder.path / STOP).unlink(missing_ok=True)

    def _record(self, monitor: Monitor, seen: Sequence[tuple[str, Reward]]) -> str | None:
        """Keep the responses of a rollout and its record; gives the alarm if that is to end the run."""
        settings, rows = self._run.settings, []
        for number, (text, reward) in enumerate(seen):
            place, response = divmod(number, settings.responses)
            row = {"place": place, "response": response, "text": text}
            if settings.scaffold and self._reward:
                items = list_guidance(self._reward.reward.tasks[reward.parts.task_id])
                sizes = (settings.responses, self._step, self._steps)
                row["scaffold"] = scaffold_counts(len(items), *sizes, settings.scaffold)[response]
            rows.append(render_rollout_row(reward, row))
        if self._run.rollouts_kept:
            self._folder.save_rollout(self._step, rows)
        groups = [row["place"] for row in rows]
        alarms = monitor.record(self._step, [reward for _, reward in seen], groups=groups).alarms
        return str(alarms[0]) if alarms and self._run.stop_on_alarm else None

    def _validate(self) -> None:
        """Answer the held-out prompts if it is time and they have not been answered yet."""
        every = self._run.validate_every
        if every is None or (self._step % every and self._step != self._steps):
            return
        path = self._folder.name_answers(self._step)
        if not share(self._folder.held_out.exists() and not path.exists()):
            return
        tasks = list(load_tasks(self._folder.held_out))
        tokenizer = self.trainer.processing_class
        prompts = [encode_prompt(tokenizer, trl_rows.render(task)["prompt"]) for task in tasks]
        answers = _answer(self.trainer, prompts, self._run, self._step)
        if self.trainer.is_world_process_zero():
            texts = tokenizer.batch_decode(answers, skip_special_tokens=True)
            found = zip(tasks, texts, map(len, answers), strict=True)
            save_responses(path, (Response(task_id=task.id, text=text, tokens=size) for task, text, size in found))


def _answer(trainer: Any, prompts: Sequence[list[int]], run: TrainRun, step: int) -> list[list[int]]:
    """The policy's answers as ids, with their end token; the random state of the training stays as it is."""
    torch, unwrap = import_module("torch"), import_module("trl.models.utils").unwrap_model_for_generation
    world, rank = trainer.accelerator.num_processes, trainer.accelerator.process_index
    size, options = trainer.args.per_device_eval_batch_size, _list_generation(trainer, run)
    found: list[list[int]] = []
    was_training = trainer.model.training
    trainer.model.eval()
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(run.seed * 1_000_003 + step * world + rank)
        if is_sampled_here(trainer.model.config):
            limit, ends = options["max_new_tokens"], options["eos_token_id"]
            temperature = run.validate.temperature if run.validate else 0.0
            found = sample_policy(trainer.model, prompts, limit=limit, temperature=temperature, ends=ends).ids
            trainer.model.train(was_training)
            return found
        with unwrap(trainer.model_wrapped, trainer.accelerator, generation_kwargs=options) as model:
            for start in range(0, len(prompts), size * world):
                # Every process takes part in every round, so a short last round repeats its last prompt.
                batch = [prompts[min(start + rank * size + place, len(prompts) - 1)] for place in range(size)]
                found += _gather(_generate(model, batch, options))
    trainer.model.train(was_training)
    return found[: len(prompts)]


def _list_generation(trainer: Any, run: TrainRun) -> dict[str, Any]:
    """How answers of a validation are generated."""
    tokenizer, temperature = trainer.processing_class, run.validate.temperature if run.validate else 0.0
    declared = trainer.model.generation_config.eos_token_id
    ends = {tokenizer.eos_token_id, *([declared] if isinstance(declared, int) else declared or [])}
    sampling = {"temperature": temperature, "top_p": run.settings.top_p, "top_k": 0} if temperature else {}
    return {
        "max_new_tokens": run.settings.response_limit,
        "do_sample": temperature > 0,
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": sorted(ends),
        **sampling,
    }


def _generate(model: Any, prompts: Sequence[list[int]], options: Mapping[str, Any]) -> list[list[int]]:
    """Answers to a batch of prompts, padded on the left, each up to its end token."""
    torch, pad, ends = import_module("torch"), options["pad_token_id"], set(options["eos_token_id"])
    longest = max(map(len, prompts))
    ids = [[pad] * (longest - len(prompt)) + prompt for prompt in prompts]
    mask = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    made = model.generate(
        input_ids=torch.tensor(ids, device=model.device),
        attention_mask=torch.tensor(mask, device=model.device),
        generation_config=import_module("transformers").GenerationConfig(**options, disable_compile=True),
    )
    answers = []
    for row in made[:, longest:].tolist():
        end = next((place for place, token in enumerate(row) if token in ends), len(row) - 1)
        answers.append(row[: end + 1])
    return answers
