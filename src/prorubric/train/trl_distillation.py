"""Self-distillation inside TRL: its `SDFTTrainer` with our loss, and with the rubric in the teacher's prompt only.

TRL takes the support from the student and has no clip of the divergence. Here both are as `Distillation` says, and an
update is the mean over all of its tokens, however they are divided into batches and processes. Rows have a `prompt` of
messages and, in `privileged_context`, what only the teacher sees (`render_teacher_text`).
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prorubric.errors import ConfigError
from prorubric.train.adapter import load_trainer
from prorubric.train.guidance import Chat, add_guidance
from prorubric.train.sampler import generate, is_sampled_here
from prorubric.train.self_distillation import Distillation

_TEACHER_FOLDER = "teacher"
"""In a checkpoint: the weights of a teacher that is a moving average."""


def list_sdft_settings(distillation: Distillation) -> dict[str, Any]:
    """The fields of `SDFTConfig` that a trainer with these options needs."""
    return {
        "temperature": distillation.temperature,
        "teacher_model_kind": distillation.teacher,
        "max_prompt_length": None,  # by default TRL cuts prompts to 512 tokens, on the left
        "generate_from_teacher": False,
        "use_teacher_server": False,
    }


def make_distillation_trainer(distillation: Distillation, **options: Any) -> Any:
    """An `SDFTTrainer` with our loss; `options` are its own, with `args` an `SDFTConfig`.

    Give the model as a name or a folder: unless the teacher is the policy itself, TRL loads it from there.
    """
    base = load_trainer("trl.experimental.sdft", "Self-distillation with TRL", "trl").SDFTTrainer
    return type("SelfDistillationTrainer", (_SelfDistillation, base), {})(distillation, **options)


def list_token_losses(teacher_logits: Any, student_logits: Any, distillation: Distillation) -> Any:
    """The loss of every token as torch computes it, from logits of … × vocabulary, divided by the temperature."""
    torch = load_trainer("torch", "Self-distillation with TRL", "trl")
    precision = torch.promote_types(student_logits.dtype, torch.float32)
    teacher, student = teacher_logits.to(precision), student_logits.to(precision)
    if distillation.support != "full":
        leader = teacher if distillation.support == "teacher" else student.detach()
        kept = leader.topk(min(distillation.top_k, leader.size(-1)), dim=-1).indices
        teacher, student = teacher.gather(-1, kept), student.gather(-1, kept)
    teacher, student = torch.log_softmax(teacher, -1), torch.log_softmax(student, -1)
    beta = distillation.beta
    if beta == 0:
        entries = teacher.exp() * (teacher - student)
    elif beta == 1:
        entries = student.exp() * (student - teacher)
    else:
        mixture = torch.logaddexp(teacher + math.log(beta), student + math.log1p(-beta))
        entries = beta * teacher.exp() * (teacher - mixture) + (1 - beta) * student.exp() * (student - mixture)
    if distillation.clip_mode == "element":
        entries = entries.clamp(max=distillation.clip)
    losses = entries.sum(-1)
    return losses.clamp(max=distillation.clip) if distillation.clip_mode == "token" else losses


class _SelfDistillation:
    """What differs from `SDFTTrainer`, which comes next in line."""

    args: Any
    accelerator: Any
    model: Any
    state: Any
    teacher_model: Any
    teacher_context_builder: Any

    def __init__(self, distillation: Distillation, *, args: Any, **options: Any) -> None:
        for field, needed in list_sdft_settings(distillation).items():
            if (found := getattr(args, field)) != needed:
                raise ConfigError(f"SDFTConfig: {field} is {found!r}, and self-distillation needs {needed!r}")
        if args.steps_per_generation % args.gradient_accumulation_steps:
            raise ConfigError(
                f"a rollout of {args.steps_per_generation} batches does not divide into updates of "
                f"{args.gradient_accumulation_steps}; choose another gradient_accumulation_steps"
            )
        self.distillation = distillation
        parent: Any = super()
        parent.__init__(args=args, **options)
        self.teacher_context_builder._compose_teacher_prompt = _compose_teacher_prompt

    def _prepare_training_batch(self, inputs: Any) -> Any:
        """Give every row the number of tokens in its update, as a mean over processes."""
        parent: Any = super()
        batch = parent._prepare_training_batch(inputs)
        if self.model.training:
            rows = self.args.per_device_train_batch_size * self.args.gradient_accumulation_steps
            tokens = batch["completion_mask"][:, self.args.num_loss_tokens_to_skip :].sum(-1)
            of_updates = self.accelerator.reduce(tokens.view(-1, rows).sum(-1).float(), "mean")
            batch["update_tokens"] = of_updates.repeat_interleave(rows)
        return batch

    def _generate(self, prompt_ids: list[list[int]]) -> tuple[list[list[int]], list[list[int]]]:
        if is_sampled_here(self.model.config):
            return prompt_ids, generate(self, prompt_ids)
        parent: Any = super()
        made: tuple[list[list[int]], list[list[int]]] = parent._generate(prompt_ids)
        return made

    def _compute_rollout_logps(self, **_: Any) -> None:
        """TRL's ratio to the policy that sampled; this loss has none, so a pass through the model is saved."""

    def _compute_self_distillation_loss(self, model: Any, inputs: Any, logits: Any) -> Any:
        """The loss of a batch as its part of the update's mean; the caller divides by the number of batches."""
        losses = list_token_losses(logits.teacher_logits, logits.student_logits, self.distillation)
        total, tokens = (losses * logits.loss_mask).sum(), logits.loss_mask.sum().clamp(min=1)
        this: Any = self
        mode = "train" if model.training else "eval"
        this._log_self_distillation_metric(mode, self.accelerator.gather((total / tokens).detach()).mean().item())
        if not model.training:
            return total / tokens
        return total / inputs["update_tokens"][0].clamp(min=1) * this.current_gradient_accumulation_steps

    @property
    def _has_average(self) -> bool:
        """Whether the teacher is a separate model that training changes, so it belongs to a checkpoint."""
        return self.distillation.teacher == "ema" and self.teacher_model is not self.model

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        parent: Any = super()
        if self._has_average:  # first, so a checkpoint that looks complete has it
            folder = Path(parent._get_output_dir(trial=trial), f"checkpoint-{self.state.global_step}")
            weights = self.accelerator.get_state_dict(self.teacher_model)
            teacher = self.accelerator.unwrap_model(self.teacher_model)
            if self.args.should_save:
                teacher.save_pretrained(folder / _TEACHER_FOLDER, state_dict=weights)
        parent._save_checkpoint(model, trial)

    def _load_from_checkpoint(self, checkpoint: str, model: Any = None) -> None:
        parent: Any = super()
        parent._load_from_checkpoint(checkpoint, model)
        if self._has_average:
            teacher = self.accelerator.unwrap_model(self.teacher_model)
            saved = type(teacher).from_pretrained(Path(checkpoint, _TEACHER_FOLDER), dtype=teacher.dtype)
            teacher.load_state_dict(saved.state_dict())


def _compose_teacher_prompt(prompt: Sequence[Mapping[str, Any]], privileged_context: str | None) -> Chat:
    if privileged_context is None:
        raise ConfigError("a row has no privileged_context; give each what render_teacher_text says, or an empty text")
    return add_guidance(prompt, privileged_context)
