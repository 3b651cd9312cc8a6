"""GRPO with the paper's settings: clipped ratios, advantages within a group, the mean over all choices of a batch.

Rewards and advantages come from `aggregate`; here is only the update. The loss is averaged over choices ("token mean"),
so that a long answer counts by its length, as in the trainer that the paper used.
"""

from dataclasses import dataclass

import torch

from prorubric.lab.policy import Policy
from prorubric.train.paper import PAPER


@dataclass(frozen=True)
class Batch:
    """Answers to learn from. Axes: R answers, L places; choices in the order of `chosen_R_L`."""

    cases_R: torch.Tensor
    moves_R_L: torch.Tensor
    chosen_R_L: torch.Tensor
    old_logp_R_L: torch.Tensor
    reference_logp_R_L: torch.Tensor | None
    advantage_R: torch.Tensor

    def rows(self, first: int, last: int) -> "Batch":
        """Some of the answers, cut to the places that they use."""
        chosen = self.chosen_R_L[first:last]
        used = int(chosen.any(dim=0).sum())
        reference = self.reference_logp_R_L
        return Batch(
            self.cases_R[first:last],
            self.moves_R_L[first:last, :used],
            chosen[:, :used],
            self.old_logp_R_L[first:last, :used],
            None if reference is None else reference[first:last, :used],
            self.advantage_R[first:last],
        )


def grpo_loss(policy: Policy, batch: Batch, kl: float = 0.0) -> torch.Tensor:
    """The loss whose gradient is GRPO's; with `kl` the low-variance estimate of the distance to the reference."""
    logp = policy.choice_logp(batch.cases_R, batch.moves_R_L, batch.chosen_R_L)
    old = batch.old_logp_R_L[batch.chosen_R_L]
    advantage = batch.advantage_R[:, None].expand_as(batch.old_logp_R_L)[batch.chosen_R_L]
    ratio = torch.exp(logp - old)
    clipped = torch.clamp(ratio, 1 - PAPER.clip_low, 1 + PAPER.clip_high)
    loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()
    if kl and batch.reference_logp_R_L is not None:
        gap = batch.reference_logp_R_L[batch.chosen_R_L] - logp
        loss = loss + kl * (torch.exp(gap) - gap - 1).mean()
    return loss


def make_optimizer(
    policy: Policy, learning_rate: float
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """Adam at a constant rate after the paper's warm-up."""
    optimizer = torch.optim.Adam(policy.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / PAPER.warmup_steps))
    return optimizer, schedule
