"""The process that trains with TRL: `python -m prorubric.train.worker_trl FOLDER`.

It reads `run.json` and `rows.jsonl` in the folder of a run and writes everything else there (`run_folder.py`). The same
command goes on after the newest complete checkpoint, with the same prompts, texts and weights as a run that was never
interrupted. It ends with 0 if the run is done or was stopped, and with 2 and one line if it cannot go on. A supervisor
holds its standard input: when that ends, so does the training.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from prorubric.datasets.load import load_responses, load_tasks
from prorubric.datasets.sources import trl as trl_rows
from prorubric.errors import BreakerError, ConfigError, ProRubricError
from prorubric.files.write import open_rows
from prorubric.rubric.records import Task
from prorubric.rubric.save import RESPONSE_SCHEMA
from prorubric.text.show import shorten
from prorubric.train.adapter import load_trainer
from prorubric.train.follow_trl import make_follower, share
from prorubric.train.plan import count_steps
from prorubric.train.policies import keep_policy, load_tokenizer
from prorubric.train.recipe import TrainRun
from prorubric.train.run_folder import Checkpoint, RunFolder, read_state
from prorubric.train.sampler import SampledRollout, TrimmedScores, generate, is_sampled_here, keep_freed_memory
from prorubric.train.scaffold import scaffold_prompt
from prorubric.train.self_distillation import render_teacher_text
from prorubric.train.sft import make_rows, order_rows
from prorubric.train.supervise import end_with_parent
from prorubric.train.trl import GrpoScale, TrlReward, encode_prompt, list_rollout_settings, make_grpo_config
from prorubric.train.trl_distillation import list_sdft_settings, make_distillation_trainer
from prorubric.train.trl_scaffold import ScaffoldRollout

_FEATURE = "Training with TRL"


def main(arguments: Sequence[str] = tuple(sys.argv[1:])) -> int:
    """Train the run of the folder that is named; the exit code."""
    if len(arguments) != 1:
        print("usage: python -m prorubric.train.worker_trl FOLDER", file=sys.stderr)  # noqa: T201 - a command
        return 2
    folder = RunFolder(Path(arguments[0]))
    end_with_parent()
    try:
        train_folder(folder.path)
    except ProRubricError as error:
        with suppress(ProRubricError):  # the folder itself may be what is wrong
            folder.save_state("failed", read_state(folder.path).step, str(error))
        print(error, file=sys.stderr)  # noqa: T201 - a command
        return 2
    return 0


def train_folder(path: Path) -> None:
    """Train the run of a folder, or go on with it; nothing happens if it is done."""
    folder = RunFolder(path)
    run = folder.load_run()
    if read_state(path).state == "done":
        return
    load_trainer("transformers.utils.logging", _FEATURE, "trl").disable_progress_bar()
    makers: dict[str, Callable[[_Parts], tuple[Any, Any]]] = {
        "grpo": _make_grpo,
        "distillation": _make_distillation,
        "sft": _make_sft,
    }
    if run.settings.kind not in makers:
        raise ConfigError(f"{run.method} is not trained in TRL")
    follower, trainer = makers[run.settings.kind](_Parts(run, folder))
    follower.trainer = trainer
    if is_sampled_here(trainer.model.config):
        keep_freed_memory()
    newest = folder.find_checkpoints()[-1:]
    trainer.train(resume_from_checkpoint=str(newest[0].path) if newest else None)
    follower.finish()


@dataclass(frozen=True, slots=True)
class _Parts:
    """What every trainer is made of."""

    run: TrainRun
    folder: RunFolder

    @property
    def scale(self) -> GrpoScale:
        """How an update is divided."""
        return GrpoScale(per_device=self.run.per_device)

    def list_settings(self, config: Any) -> dict[str, Any]:
        """Settings of this machine and this run, and the recipe's own, which win; for one of TRL's configs."""
        settings: dict[str, Any] = {"seed": self.run.seed, "report_to": "none", "disable_tqdm": True}
        if not load_trainer("torch", _FEATURE, "trl").cuda.is_available():
            settings |= {
                "use_cpu": True,
                "bf16": False,
                "gradient_checkpointing": False,
                "dataloader_pin_memory": False,
            }
            if int(os.environ.get("WORLD_SIZE", "1")) > 1:
                settings["ddp_backend"] = "gloo"
        known = [field.name for field in fields(config)]
        for name in self.run.own:
            if name not in known:
                close = get_close_matches(name, known, 1)
                remedy = f"did you mean {close[0]}?" if close else "see the documentation of TRL"
                raise ConfigError(f"{config.__name__} has no field {name!r}", remedy=remedy, place="set.trl")
        return settings | self.run.own

    def start(self, args: Any) -> tuple[str, Any, Checkpoint | None]:
        """The policy by its name or folder, its tokenizer, and the checkpoint to go on from."""
        with args.main_process_first(local=False):
            checkpoint = self.folder.cut_back() if args.process_index == 0 else None
            policy = keep_policy(self.run.model, self.folder.policies)
        return policy, load_tokenizer(policy), share(checkpoint)


class _RolloutReward(TrlReward):
    """Rewards a whole rollout in each call, so a call without any reward means that the judge is gone."""

    def __call__(self, completions: Sequence[Any], *args: Any, **columns: Any) -> list[float | None]:
        values = super().__call__(completions, *args, **columns)
        if self.watched and all(value is None for value in values):
            reason = shorten("; ".join(self.watched[-1][1].parts.unknown), 200)
            kept = f"replies that it gave are in {self.reward.config.journal}; remove that file to ask again"
            remedy = f"fix the judge, then run the same command again; {kept}"
            raise BreakerError(f"all {len(values)} rewards of a rollout are unknown", reason, remedy=remedy)
        return values


def _make_grpo(parts: _Parts) -> tuple[Any, Any]:
    """GRPO on the rows of the run, in order."""
    run, folder, settings = parts.run, parts.folder, parts.run.settings
    if run.reward is None:
        raise ConfigError(f"{run.method} has no reward", place=folder.path / "run.json")
    trl = load_trainer("trl", _FEATURE, "trl")
    own = {"shuffle_dataset": False, **parts.list_settings(trl.GRPOConfig)}
    args = _check(lambda: make_grpo_config(folder.checkpoints, settings, parts.scale, **own))
    policy, tokenizer, checkpoint = parts.start(args)
    reward = _RolloutReward(run.reward)
    tasks = reward.reward.tasks
    data = _load_data(run, folder, tasks, tokenizer)
    if checkpoint:  # shadows that are judged now and then, and schemes that know the step, go on from there
        responses = settings.prompts * settings.responses // args.world_size
        reward.reward.skip(checkpoint.rollout, checkpoint.rollout * responses)
    follower = make_follower(run, folder, steps=settings.rollouts, updates=settings.updates, reward=reward)
    rollout, is_mini = _make_rollout(run, tasks, policy)
    kind: Any = type("MiniTrainer", (TrimmedScores, trl.GRPOTrainer), {}) if is_mini else trl.GRPOTrainer
    return follower, kind(
        model=policy,
        processing_class=tokenizer,
        reward_funcs=reward,
        args=args,
        train_dataset=data,
        callbacks=[follower],
        rollout_func=rollout,
    )


def _make_rollout(run: TrainRun, tasks: Mapping[str, Task], policy: str) -> tuple[Any, bool]:
    """How answers are sampled, None if by the trainer, and whether the policy is one of the lab's."""
    config = load_trainer("transformers", _FEATURE, "trl").AutoConfig.from_pretrained(policy)
    is_mini, scaffold = is_sampled_here(config), run.settings.scaffold
    if scaffold is None:
        return SampledRollout() if is_mini else None, is_mini
    steps, own = run.settings.rollouts, generate if is_mini else None
    return ScaffoldRollout(tasks.values(), scaffold, seed=run.seed, steps=steps, generate=own), is_mini


def _make_distillation(parts: _Parts) -> tuple[Any, Any]:
    """Self-distillation on the rows of the run, in order."""
    run, folder, settings = parts.run, parts.folder, parts.run.settings
    if settings.distillation is None:
        raise ConfigError("distillation is missing", place=folder.path / "run.json")
    sdft = load_trainer("trl.experimental.sdft", _FEATURE, "trl")
    given = {
        **list_rollout_settings(folder.checkpoints, settings, parts.scale),
        **list_sdft_settings(settings.distillation),
        "shuffle_dataset": False,
        **parts.list_settings(sdft.SDFTConfig),
    }
    args = _check(lambda: sdft.SDFTConfig(**given))
    policy, tokenizer, _ = parts.start(args)
    tasks = {task.id: task for task in load_tasks(folder.tasks)}
    follower = make_follower(run, folder, steps=settings.rollouts, updates=settings.updates)
    return follower, make_distillation_trainer(
        settings.distillation,
        model=policy,
        processing_class=tokenizer,
        args=args,
        train_dataset=_load_data(run, folder, tasks, tokenizer),
        callbacks=[follower],
    )


def _make_sft(parts: _Parts) -> tuple[Any, Any]:
    """Supervised fine-tuning on answers to the training tasks."""
    run, folder, sft = parts.run, parts.folder, parts.run.settings.sft
    if sft is None or sft.data is None:
        raise ConfigError("sft.data is missing", remedy="name a file of responses, such as one of best-of-n")
    trl = load_trainer("trl", _FEATURE, "trl")
    schedule = "constant_with_warmup" if sft.schedule == "constant" else sft.schedule
    settings: dict[str, Any] = {
        "learning_rate": run.settings.rate,
        "lr_scheduler_type": schedule,
        "warmup_steps": sft.warmup_share,
        "weight_decay": run.settings.weight_decay,
        "completion_only_loss": True,
        "max_length": None,
        # The rows are in order, and a resumed run counts on that.
        "train_sampling_strategy": "sequential",
        "logging_steps": 1,
        "save_steps": run.settings.every,
        **parts.scale.divide(sft.batch),
        **parts.list_settings(trl.SFTConfig),
    }
    args = _check(lambda: trl.SFTConfig(output_dir=str(folder.checkpoints), **settings))
    policy, tokenizer, _ = parts.start(args)
    tasks = {task.id: task for task in load_tasks(folder.tasks)}
    made = make_rows(load_responses(sft.data), tasks, tokenizer, sft.row_limit)
    if args.process_index == 0:
        with open_rows(folder.path / "left-out.jsonl", RESPONSE_SCHEMA) as write:
            for row in made.left_out:
                write(row)
    args.max_steps = steps = count_steps(run.settings, len(made.rows))
    if not steps:
        line = f"{len(made.rows)} rows are left, and a batch has {sft.batch}; {len(made.left_out)} were left out"
        raise ConfigError(line, remedy=f"see {folder.path / 'left-out.jsonl'}", place=sft.data)
    follower = make_follower(run, folder, steps=steps)
    trainer = trl.SFTTrainer(
        model=policy,
        processing_class=tokenizer,
        args=args,
        train_dataset=load_trainer("datasets", _FEATURE, "trl").Dataset.from_list(made.rows),
        callbacks=[follower],
    )
    trainer.train_dataset = trainer.train_dataset.select(order_rows(len(made.rows), sft, run.seed))
    return follower, trainer


def _check(make: Callable[[], Any]) -> Any:
    """What `make` gives; TRL's objections become one line."""
    try:
        return make()
    except ValueError as error:
        raise ConfigError(" ".join(str(error).split()), place="TRL") from None


def _load_data(run: TrainRun, folder: RunFolder, tasks: Mapping[str, Task], tokenizer: Any) -> Any:
    """All rows of the run in order; `ConfigError` if a prompt is too long, with the largest scaffold it will get."""
    names, settings = folder.load_rows(), run.settings
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    rows: list[dict[str, Any]] = []
    long: dict[str, int] = {}
    for name in places:
        if name not in tasks:
            raise ConfigError(f"no task is called {name!r}", place=folder.path / "rows.jsonl")
        prompt: Any = trl_rows.render(tasks[name])["prompt"]
        row = {"prompt": prompt, "task_id": name}
        if settings.kind == "distillation":
            row["privileged_context"] = render_teacher_text(tasks[name])
        if settings.scaffold:
            place = {"seed": run.seed, "step": 1, "steps": settings.rollouts, "responses": settings.responses}
            prompt = scaffold_prompt(tasks[name], settings.scaffold, rollout=0, **place)
        if (length := len(encode_prompt(tokenizer, prompt))) > settings.prompt_limit:
            long[name] = length
        rows.append(row)
    for name, length in long.items():
        others = f", and {len(long) - 1} more are too long" if len(long) > 1 else ""
        raise ConfigError(
            f"the prompt has {length:,} tokens and prompt_limit is {settings.prompt_limit:,}{others}",
            remedy="leave these tasks out or raise prompt_limit",
            place=f"task {name!r}",
        )
    data = load_trainer("datasets", _FEATURE, "trl").Dataset.from_list(rows)
    return data.select([places[name] for name in names])


if __name__ == "__main__":
    sys.exit(main())
