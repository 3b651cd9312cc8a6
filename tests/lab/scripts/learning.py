"""Policy and update, checked against plain versions of themselves; the last line is JSON."""

import json
import sys

import numpy as np
import torch

from prorubric.aggregate.advantages import group_advantages
from prorubric.lab.policy import LabPolicy, sample
from prorubric.lab.training import Batch, grpo_loss, make_optimizer
from prorubric.lab.world import END

torch.set_num_threads(1)


def plain_logp(policy: LabPolicy, case: torch.Tensor, said: list[int], move: int) -> torch.Tensor:
    """The log-probability of one move, without running sums, batches or masks."""
    first = policy.case(case) + sum((policy.said[m] for m in said), torch.zeros(policy.said.shape[1]))
    scores = policy.out(torch.tanh(policy.middle(torch.tanh(first))))
    allowed = [m for m in range(len(scores)) if m not in said]
    return scores[move] - torch.logsumexp(scores[allowed], dim=0)


def plain_loss(policy: LabPolicy, batch: Batch, kl: float) -> torch.Tensor:
    """GRPO choice by choice, in Python."""
    terms = []
    for row in range(len(batch.cases_R)):
        said: list[int] = []
        for place in range(batch.moves_R_L.shape[1]):
            if not batch.chosen_R_L[row, place]:
                continue
            move = int(batch.moves_R_L[row, place])
            logp = plain_logp(policy, batch.cases_R[row], said, move)
            ratio = torch.exp(logp - batch.old_logp_R_L[row, place])
            advantage = batch.advantage_R[row]
            held = min(max(float(ratio.detach()), 0.8), 1.28)
            clipped = ratio if held == float(ratio.detach()) else torch.tensor(held)
            term = -torch.minimum(ratio * advantage, clipped * advantage)
            gap = batch.reference_logp_R_L[row, place] - logp
            terms.append(term + kl * (torch.exp(gap) - gap - 1))
            said.append(move)
    return torch.stack(terms).mean()


def make_batch(policy: LabPolicy) -> Batch:
    cases = torch.randn(12, 5, generator=torch.Generator().manual_seed(1))
    rollout = sample(policy, cases, np.array([0, 3, 3, 3, 3, 3, 3]), 15, torch.Generator().manual_seed(2))
    noise = 0.4 * torch.randn(rollout.logp_R_L.shape, generator=torch.Generator().manual_seed(3))
    advantages = torch.linspace(-1.5, 1.5, 12)
    chosen = torch.as_tensor(rollout.chosen_R_L)
    moves = torch.as_tensor(rollout.moves_R_L)
    return Batch(cases, moves, chosen, rollout.logp_R_L + noise, rollout.logp_R_L - noise, advantages)


def check_gradient() -> dict[str, float]:
    policy = LabPolicy(5, 7, seed=0)
    batch = make_batch(policy)
    found = {}
    for kl in (0.0, 0.04):
        gradients = []
        for loss in (grpo_loss, plain_loss):
            policy.zero_grad()
            loss(policy, batch, kl).backward()
            gradients.append(torch.cat([weight.grad.flatten() for weight in policy.parameters()]))
        found[f"gap_{kl}"] = float((gradients[0] - gradients[1]).abs().max())
        found[f"size_{kl}"] = float(gradients[1].abs().max())
    return found


def check_sampling() -> dict[str, object]:
    policy = LabPolicy(5, 7, seed=4)
    cases = torch.randn(400, 5, generator=torch.Generator().manual_seed(5))
    rollout = sample(policy, cases, np.array([0, 3, 3, 3, 3, 3, 3]), 12, torch.Generator().manual_seed(6))
    moves, chosen = torch.as_tensor(rollout.moves_R_L), torch.as_tensor(rollout.chosen_R_L)
    again = policy.choice_logp(cases, moves, chosen)
    rows = [[int(m) for m in row if m != END] for row in rollout.moves_R_L]
    first = np.bincount(rollout.moves_R_L[:, 0], minlength=7) / 400
    expected = torch.softmax(policy.score(policy.case(cases)), dim=1).mean(dim=0)
    return {
        "logp_gap": float((again - rollout.logp_R_L[chosen]).abs().max().detach()),
        "repeats": sum(len(row) != len(set(row)) for row in rows),
        "most_tokens": 3 * max(map(len, rows)),
        "first_gap": float(np.abs(first - expected.detach().numpy()).max()),
        "greedy_twice": bool(
            (
                sample(policy, cases, np.ones(7, int), 9, None).moves_R_L
                == sample(policy, cases, np.ones(7, int), 9, None).moves_R_L
            ).all()
        ),
    }


def check_two_arms() -> dict[str, float]:
    """Two cases, two arms: the reward is 1 for the arm of the case and 0.6 for the other, so the optimum is known."""
    policy = LabPolicy(2, 3, seed=0)
    optimizer, schedule = make_optimizer(policy, 3e-3)
    generator = torch.Generator().manual_seed(0)
    cases = torch.eye(2).repeat_interleave(64, dim=0)
    right = torch.tensor([1, 2]).repeat_interleave(64)
    before = after = 0.0
    for step in range(200):
        rollout = sample(policy, cases, np.array([0, 1, 1]), 1, generator)
        moves = torch.as_tensor(rollout.moves_R_L)
        reward = torch.where(moves[:, 0] == right, 1.0, torch.where(moves[:, 0] == END, 0.0, 0.6))
        after = float((moves[:, 0] == right).float().mean())
        before = after if step == 0 else before
        advantages = group_advantages(reward.numpy(), np.repeat(np.arange(16), 8))
        batch = Batch(
            cases,
            moves,
            torch.as_tensor(rollout.chosen_R_L),
            rollout.logp_R_L,
            None,
            torch.as_tensor(advantages.values, dtype=torch.float32),
        )
        loss = grpo_loss(policy, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return {"before": before, "after": after}


sys.stdout.write(json.dumps({"gradient": check_gradient(), "sampling": check_sampling(), "two_arms": check_two_arms()}))
