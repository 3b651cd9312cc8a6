"""The process that trains with TRL: `python -m prorubric.train.worker_trl FOLDER`.

It reads `run.json` and `rows.jsonl` in the folder of a run and writes everything else there (`run_folder.py`). The same
command goes on after the newest complete checkpoint, with the same prompts, texts and weights as a run that was never
interrupted. It ends with 0 if the run is done or was stopped, and with 2 and one line if it cannot go on.
"""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from prorubric.datasets.load import load_tasks
from prorubric.datasets.sources import trl as trl_rows
from prorubric.errors import ConfigError, ProRubricError
from prorubric.reward.monitor import Monitor, MonitorConfig
from prorubric.reward.reward import Reward, RewardRequest
from prorubric.rubric.records import Response, Task
from prorubric.rubric.save import save_responses
from prorubric.train.adapter import load_trainer
from prorubric.train.policies import keep_policy, load_tokenizer
from prorubric.train.recipe import TrainRun
from prorubric.train.run_folder import Checkpoint, RunFolder
from prorubric.train.supervise import end_with_parent
from prorubric.train.trl import GrpoScale, TrlReward, encode_prompt, make_grpo_config


def main(arguments: Sequence[str] = tuple(sys.argv[1:])) -> int:
    """Train the run of the folder that is named; the exit code."""
    if len(arguments) != 1:
        print("usage: python -m prorubric.train.worker_trl FOLDER", file=sys.stderr)  # noqa: T201 - a command
        return 2
    folder = RunFolder(Path(arguments[0]))
    end_with_parent()
    try:
        train(folder)
    except ProRubricError as error:
        with suppress(ProRubricError):  # the folder itself may be what is wrong
            folder.save_state("failed", int(folder.load_state().get("step", 0)), str(error))
        print(error, file=sys.stderr)  # noqa: T201 - a command
        return 2
    return 0


def train(folder: RunFolder) -> None:
    """Train the run of a folder, or go on with it; nothing happens if it is done."""
    run = folder.load_run()
    if folder.load_state().get("state") == "done":
        return
    if run.settings.kind != "grpo":
        raise ConfigError(f"{run.method} cannot be trained in TRL yet")
    args = _make_args(run, folder)
    with args.main_process_first(local=False):
        checkpoint = folder.cut_back() if args.process_index == 0 else None
        policy = keep_policy(run.model, folder.policies)
    checkpoint = _share(checkpoint)
    follower, trainer = _make_grpo(run, folder, args, policy, checkpoint)
    trainer.train(resume_from_checkpoint=str(checkpoint.path) if checkpoint else None)
    follower.finish()


def _make_args(run: TrainRun, folder: RunFolder) -> Any:
    """The trainer's settings: the run's, those of this machine, and the recipe's own, which win."""
    torch, trl = (load_trainer(name, "Training with TRL", "trl") for name in ("torch", "trl"))
    settings: dict[str, Any] = {
        "seed": run.seed,
        # The rows are in order, and a resumed run counts on that.
        "shuffle_dataset": False,
        "report_to": "none",
        "disable_tqdm": True,
    }
    if not torch.cuda.is_available():
        settings |= {"use_cpu": True, "bf16": False, "gradient_checkpointing": False, "dataloader_pin_memory": False}
        settings |= {"ddp_backend": "gloo"} if run.processes * run.nodes > 1 else {}
    known = [field.name for field in fields(trl.GRPOConfig)]
    for name in run.own:
        if name not in known:
            close = get_close_matches(name, known, 1)
            raise ConfigError(
                f"set.trl: GRPOConfig has no field {name!r}", remedy=f"did you mean {close[0]}?" if close else ""
            )
    scale = GrpoScale(per_device=run.per_device)
    try:
        return make_grpo_config(folder.checkpoints, run.settings, scale, **{**settings, **run.own})
    except ValueError as error:
        raise ConfigError(" ".join(str(error).split()), place="set.trl") from None


def _make_grpo(
    run: TrainRun, folder: RunFolder, args: Any, policy: str, checkpoint: Checkpoint | None
) -> "tuple[_Follower, Any]":
    """A trainer with its reward, its rows and what follows it."""
    if run.reward is None:
        raise ConfigError(f"{run.method} has no reward", place=folder.path / "run.json")
    reward, tokenizer = TrlReward(run.reward), load_tokenizer(policy)
    data = _load_data(run, folder, reward.reward.tasks, tokenizer)
    if checkpoint:  # shadows that are judged now and then, and schemes that know the step, go on from there
        responses = run.settings.prompts * run.settings.responses // args.world_size
        reward.reward.skip(checkpoint.rollout, checkpoint.rollout * responses)
    follower = _make_follower(run, folder, reward)
    trainer = load_trainer("trl", "Training with TRL", "trl").GRPOTrainer(
        model=policy,
        processing_class=tokenizer,
        reward_funcs=reward,
        args=args,
        train_dataset=data,
        callbacks=[follower],
    )
    follower.trainer = trainer
    return follower, trainer


def _load_data(run: TrainRun, folder: RunFolder, tasks: Mapping[str, Task], tokenizer: Any) -> Any:
    """All rows of the run in order; `ConfigError` if one of the prompts is too long."""
    names = folder.load_rows()
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    if missing := next((name for name in places if name not in tasks), None):
        raise ConfigError(f"no task is called {missing!r}", place=folder.path / "rows.jsonl")
    rows = [{key: value for key, value in trl_rows.render(tasks[name]).items() if key != "task"} for name in places]
    limit = run.settings.prompt_limit
    lengths = {row["task_id"]: len(encode_prompt(tokenizer, row["prompt"])) for row in rows}
    if long := [name for name, length in lengths.items() if length > limit]:
        others = f", and {len(long) - 1} others are too long as well" if len(long) > 1 else ""
        raise ConfigError(
            f"the prompt has {lengths[long[0]]:,} tokens and prompt_limit is {limit:,}{others}",
            remedy="leave these tasks out or raise prompt_limit",
            place=f"task {long[0]!r}",
        )
    data = load_trainer("datasets", "Data for TRL", "trl").Dataset.from_list(rows)
    return data.select([places[name] for name in names])


def _gather(values: Sequence[Any]) -> list[Any]:
    """The values of all processes, in their order."""
    return list(import_module("accelerate.utils").gather_object(list(values)))


def _share(value: Any) -> Any:
    """The first process's value, in every process."""
    return _gather([value])[0]


def _make_follower(run: TrainRun, folder: RunFolder, reward: TrlReward | None) -> "_Follower":
    base = load_trainer("transformers", "Training with TRL", "trl").TrainerCallback
    made: _Follower = type("Follower", (_Follower, base), {})(run, folder, reward)
    return made


class _Follower:
    """The methods of the callback that writes the folder. Only the first process writes, and it decides for all."""

    trainer: Any

    def __init__(self, run: TrainRun, folder: RunFolder, reward: TrlReward | None) -> None:
        self._run, self._folder = run, folder
        self._seen: list[tuple[RewardRequest, Reward]] = []
        if reward is not None:
            reward.watched = self._seen
        self._monitor: Monitor | None = None
        self._reason: str | None = None
        self._rollout = 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - the trainer's
        self._rollout = state.global_step // self._run.settings.updates
        if state.is_world_process_zero:
            self._monitor = Monitor(MonitorConfig(self._folder.steps))
            self._folder.save_state("running", self._rollout)
        self._validate()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - the trainer's
        """At the end of a rollout: record it, validate, and see whether to stop."""
        settings = self._run.settings
        self._rollout, rest = divmod(state.global_step, settings.updates)
        if rest:
            return
        seen = _gather([(_read_text(case.text), reward) for case, reward in self._seen])
        self._seen.clear()
        reason = self._record(seen) if self._monitor else None
        self._validate()
        if state.is_world_process_zero:
            self._folder.save_state("running", self._rollout)
            reason = reason or self._folder.read_stop()
        self._reason = _share(reason)
        if self._reason is not None:
            control.should_save = control.should_training_stop = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - the trainer's
        self.trainer.accelerator.wait_for_everyone()
        if state.is_world_process_zero:
            path = self._folder.checkpoints / f"checkpoint-{state.global_step}"
            self._folder.seal_checkpoint(path, self._rollout, self._run.keep)

    def finish(self) -> None:
        """Say how the training ended."""
        if self._monitor is None:
            return
        self._monitor.close()
        is_done = self._rollout >= self._run.settings.rollouts
        self._folder.save_state("done" if is_done else "stopped", self._rollout, None if is_done else self._reason)
        (self._folder.path / "stop").unlink(missing_ok=True)

    def _record(self, seen: Sequence[tuple[str, Reward]]) -> str | None:
        """Keep the responses of a rollout and its record; gives the alarm if that is to end the run."""
        size = self._run.settings.responses
        if self._run.rollouts_kept:
            self._folder.save_rollout(
                self._rollout,
                (
                    {
                        "task_id": reward.parts.task_id,
                        "place": number // size,
                        "response": number % size,
                        "text": text,
                        "tokens": reward.parts.tokens,
                        "reward": reward.value,
                        "score": reward.parts.score,
                        "verdicts": reward.parts.verdicts,
                    }
                    for number, (text, reward) in enumerate(seen)
                ),
            )
        if self._monitor is None:
            return None
        groups = [number // size for number in range(len(seen))]
        alarms = self._monitor.record(self._rollout, [reward for _, reward in seen], groups=groups).alarms
        return str(alarms[0]) if alarms and self._run.stop_on_alarm else None

    def _validate(self) -> None:
        """Answer the held-out prompts if it is time and they have not been answered yet."""
        every, last = self._run.validate_every, self._run.settings.rollouts
        if every is None or (self._rollout % every and self._rollout != last):
            return
        path = self._folder.name_answers(self._rollout)
        if not _share(self._folder.held_out.exists() and not path.exists()):
            return
        tasks = list(load_tasks(self._folder.held_out))
        tokenizer = self.trainer.processing_class
        prompts = [encode_prompt(tokenizer, trl_rows.render(task)["prompt"]) for task in tasks]
        answers = _answer(self.trainer, prompts, self._run, self._rollout)
        if self._monitor is not None:
            texts = tokenizer.batch_decode(answers, skip_special_tokens=True)
            save_responses(
                path,
                (
                    Response(task_id=task.id, text=text, sample=0, tokens=len(ids))
                    for task, text, ids in zip(tasks, texts, answers, strict=True)
                ),
            )


def _read_text(completion: Any) -> str:
    return completion if isinstance(completion, str) else str(completion[-1]["content"])


def _answer(trainer: Any, prompts: Sequence[list[int]], run: TrainRun, rollout: int) -> list[list[int]]:
    """The policy's answers as ids, with their end token; the random state of the training stays as it is."""
    torch, unwrap = import_module("torch"), import_module("trl.models.utils").unwrap_model_for_generation
    world, rank = trainer.accelerator.num_processes, trainer.accelerator.process_index
    size = trainer.args.per_device_eval_batch_size
    options = _list_generation(trainer, run)
    found: list[list[int]] = []
    is_training = trainer.model.training
    trainer.model.eval()
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(run.seed * 1_000_003 + rollout * world + rank)
        with unwrap(trainer.model_wrapped, trainer.accelerator, generation_kwargs=options) as model:
            for start in range(0, len(prompts), size * world):
                # Every process takes part in every round, so a short last round repeats its last prompt.
                batch = [prompts[min(start + rank * size + place, len(prompts) - 1)] for place in range(size)]
                found += _gather(_generate(trainer, model, batch, options))
    trainer.model.train(is_training)
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


def _generate(trainer: Any, model: Any, prompts: Sequence[list[int]], options: Mapping[str, Any]) -> list[list[int]]:
    """Answers to a batch of prompts, padded on the left, each up to its end token."""
    torch, pad, ends = import_module("torch"), options["pad_token_id"], set(options["eos_token_id"])
    longest = max(map(len, prompts))
    ids = [[pad] * (longest - len(prompt)) + prompt for prompt in prompts]
    mask = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    device = trainer.accelerator.device
    config = import_module("transformers").GenerationConfig(**options, disable_compile=True)
    made = model.generate(
        input_ids=torch.tensor(ids, device=device),
        attention_mask=torch.tensor(mask, device=device),
        generation_config=config,
    )
    answers = []
    for row in made[:, longest:].tolist():
        end = next((place for place, token in enumerate(row) if token in ends), len(row) - 1)
        answers.append(row[: end + 1])
    return answers


if __name__ == "__main__":
    sys.exit(main())
