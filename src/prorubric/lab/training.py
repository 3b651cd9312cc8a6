"""One training run: GRPO on one reward in one world, measured on held-out cases every 50 steps.

World, scheme, seed and steps define a run: the same four give the same result. A reward that is not a number stops it.
The update follows the paper: clipped ratios, advantages within a group, and the mean over all choices of a batch
("token mean"), so a long answer counts by its length.
"""

import copy
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LRScheduler

from prorubric.aggregate.advantages import group_advantages
from prorubric.aggregate.arithmetic import overlong_penalty
from prorubric.aggregate.batch import PlanTable
from prorubric.files.write import open_whole
from prorubric.lab.cases import Cases, encode_cases
from prorubric.lab.checklist import make_checklists
from prorubric.lab.demos import write_demos
from prorubric.lab.facts import Facts
from prorubric.lab.incentive import ANSWERS_EACH, AUDITED_CASES, audit_policy
from prorubric.lab.measure import Measure, measure
from prorubric.lab.policy import LabPolicy, Rollout, sample
from prorubric.lab.results import HELD_OUT_CASES, HELD_OUT_SEED, KEPT_ANSWERS, BaseResult, LabRun, Point
from prorubric.lab.schemes import LabScheme, Scorer, find_lab_scheme, hash_own, make_scorer
from prorubric.lab.world import END, Ints, World, make_world
from prorubric.train.methods import PAPER, SEEDS, Shaping

TRAINING_CASES, TRAINING_SEED, DEMO_SEED, JUDGE_SEED = 4096, 0, 2, 0
DEMOS, EPOCHS, PRETRAINING_RATE = 24_000, 8, 2e-3
LEARNING_RATE = 3e-4
"""Of Adam. The paper's 1e-6 is for four billion weights; here are 25 thousand, and 300 steps have to be enough."""
_BASE_SEED = 0
_TRAIN_STREAM, _MEASURE_STREAM, _AUDIT_STREAM = 1, 2, 3


class Ground:
    """What all runs of a world share: its cases, checklists and untrained policy, which is kept in the file `base`."""

    def __init__(self, world_name: str, base: Path | None = None) -> None:
        torch.set_num_threads(1)
        self.world: World = make_world(world_name)
        self.training = make_checklists(world_name, TRAINING_CASES, TRAINING_SEED)
        self.held_out = make_checklists(world_name, HELD_OUT_CASES, HELD_OUT_SEED)
        self.table = PlanTable.of(self.held_out.tasks, "additive")
        self.training_inputs = torch.as_tensor(encode_cases(self.world, self.training.cases))
        self.held_out_inputs = torch.as_tensor(encode_cases(self.world, self.held_out.cases))
        self.base = LabPolicy(self.training_inputs.shape[1], len(self.world.moves.tokens_M), _BASE_SEED)
        if base is not None and base.is_file():
            self.base.load_state_dict(torch.load(base, weights_only=True))
            return
        cases = Cases(self.world, DEMOS, DEMO_SEED)
        inputs = torch.as_tensor(encode_cases(self.world, cases))
        imitate(self.base, inputs, write_demos(self.world, cases, DEMO_SEED))
        if base is not None:
            with open_whole(base) as stream:
                torch.save(self.base.state_dict(), stream)

    def answer(self, policy: LabPolicy, inputs: torch.Tensor, seed: int | None) -> Rollout:
        """Answer these cases, at temperature 1 from this seed or greedily."""
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        rollout: Rollout = sample(policy, inputs, self.world.moves.tokens_M, self.world.spec.limit, generator)
        return rollout

    def measure(self, policy: LabPolicy, seed: int | None) -> tuple[Measure, Rollout]:
        """Answer every held-out case once and measure the answers."""
        rollout = self.answer(policy, self.held_out_inputs, seed)
        facts = Facts(self.world, self.held_out, np.arange(len(self.held_out_inputs)), rollout.moves_R_L)
        return measure(facts, self.table), rollout


def imitate(policy: LabPolicy, inputs: torch.Tensor, demos: Ints) -> None:
    """Maximise the likelihood of demonstrations."""
    moves = torch.as_tensor(demos)
    chosen = torch.cat([torch.ones(len(moves), 1, dtype=torch.bool), moves[:, :-1] != END], dim=1)
    optimizer = torch.optim.Adam(policy.parameters(), lr=PRETRAINING_RATE)
    schedule = CosineAnnealingLR(optimizer, EPOCHS * (len(moves) // 256))
    generator = torch.Generator().manual_seed(_BASE_SEED)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(moves), generator=generator).split(256):
            loss = -policy.choice_logp(inputs[rows], moves[rows], chosen[rows]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


def describe_base(ground: Ground, schemes: Sequence[str]) -> BaseResult:
    """Measure and audit the untrained policy."""
    sampled, _ = ground.measure(ground.base, _stream(0, _MEASURE_STREAM, 0))
    greedy, answers = ground.measure(ground.base, None)
    rows = np.arange(AUDITED_CASES).repeat(ANSWERS_EACH)
    audited = ground.answer(ground.base, ground.training_inputs[rows], _stream(0, _AUDIT_STREAM, 0))
    return BaseResult(
        world=ground.world.spec.name,
        sampled=sampled,
        greedy=greedy,
        answers=_keep(answers),
        audit=audit_policy(ground.world, ground.training, rows, audited.moves_R_L, schemes),
        sources={name: source for name in schemes if (source := hash_own(name)) is not None},
    )


def train_policy(
    name: str,
    ground: Ground,
    seed: int = SEEDS[0],
    steps: int = PAPER.rollouts,
    count_step: Callable[[], None] = lambda: None,
) -> LabRun:
    """Train once under a scheme of this name; `count_step` is called after each step."""
    started = time.process_time()
    scheme, source = find_lab_scheme(name), hash_own(name)
    scorer = make_scorer(scheme, ground.training)
    policy = copy.deepcopy(ground.base)
    optimizer, schedule = make_optimizer(policy, LEARNING_RATE)
    generator = torch.Generator().manual_seed(_stream(seed, _TRAIN_STREAM, 0))
    history = []

    def look(step: int) -> Point:
        return Point(step=step, measure=ground.measure(policy, _stream(seed, _MEASURE_STREAM, step))[0])

    points = [look(0)]
    for step in range(1, steps + 1):
        batch, *figures = roll_out(policy, ground, scheme, scorer, generator, step)
        history.append(figures)
        rows = PAPER.mini_batch * PAPER.responses
        for first in range(0, len(batch.cases_R), rows):
            loss = grpo_loss(policy, batch.rows(slice(first, first + rows)), scheme.kl)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        if step % PAPER.every == 0 or step == steps:
            points.append(look(step))
        count_step()
    greedy, answers = ground.measure(policy, None)
    rewards, ties, tokens = zip(*history, strict=True)
    return LabRun(
        world=ground.world.spec.name,
        scheme=name,
        seed=seed,
        steps=steps,
        points=tuple(points),
        greedy=greedy,
        rewards=rewards,
        ties=ties,
        tokens=tokens,
        answers=_keep(answers),
        cpu_seconds=time.process_time() - started,
        source=source,
    )


class Batch(NamedTuple):
    """Answers to learn from. Axes: R answers, L places; choices in the order of `chosen_R_L`."""

    cases_R: torch.Tensor
    moves_R_L: torch.Tensor
    chosen_R_L: torch.Tensor
    old_logp_R_L: torch.Tensor
    reference_logp_R_L: torch.Tensor | None
    advantage_R: torch.Tensor

    def rows(self, rows: slice) -> "Batch":
        """Some of the answers."""
        return Batch(*(None if values is None else values[rows] for values in self))


def roll_out(
    policy: LabPolicy, ground: Ground, scheme: LabScheme, scorer: Scorer, generator: torch.Generator, step: int = 0
) -> tuple[Batch, float, float, float]:
    """64 cases, 8 answers each, judged, scored and compared within their groups; mean score, ties, mean length."""
    limit = ground.world.spec.limit // (2 if scheme.halved else 1)
    rows = torch.randperm(len(ground.training_inputs), generator=generator)[: PAPER.prompts]
    rows = rows.repeat_interleave(PAPER.responses)
    inputs = ground.training_inputs[rows]
    rollout = sample(policy, inputs, ground.world.moves.tokens_M, limit, generator)
    facts = Facts(ground.world, ground.training, rows.numpy(), rollout.moves_R_L)
    scores = scorer(facts, JUDGE_SEED, step)
    # The penalty begins at half of the limit, as in the paper.
    penalties = [overlong_penalty(tokens, limit, limit // 2, Shaping().factor) for tokens in facts.tokens.tolist()]
    advantages = group_advantages(scores - penalties, rows.numpy())
    advantage = torch.as_tensor(advantages.values, dtype=torch.float32)
    moves, chosen = torch.as_tensor(rollout.moves_R_L), torch.as_tensor(rollout.chosen_R_L)
    reference = None
    if scheme.kl:
        reference = torch.zeros(moves.shape)
        with torch.no_grad():
            reference[chosen] = ground.base.choice_logp(inputs, moves, chosen)
    batch = Batch(inputs, moves, chosen, rollout.logp_R_L, reference, advantage)
    return batch, float(scores.mean()), float(advantages.tied_share or 0.0), float(facts.tokens.mean())


def grpo_loss(policy: LabPolicy, batch: Batch, kl: float = 0.0) -> torch.Tensor:
    """The loss whose gradient is GRPO's; with `kl` the low-variance estimate of the distance to the reference."""
    logp = policy.choice_logp(batch.cases_R, batch.moves_R_L, batch.chosen_R_L)
    old = batch.old_logp_R_L[batch.chosen_R_L]
    advantage = batch.advantage_R[:, None].expand_as(batch.old_logp_R_L)[batch.chosen_R_L]
    ratio = torch.exp(logp - old)
    clipped = torch.clamp(ratio, 1 - PAPER.clip[0], 1 + PAPER.clip[1])
    loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()
    if kl and batch.reference_logp_R_L is not None:
        gap = batch.reference_logp_R_L[batch.chosen_R_L] - logp
        loss = loss + kl * (torch.exp(gap) - gap - 1).mean()
    return loss


def make_optimizer(policy: LabPolicy, learning_rate: float) -> tuple[Optimizer, LRScheduler]:
    """Adam at a constant rate after the paper's warm-up."""
    optimizer = torch.optim.Adam(policy.parameters(), lr=learning_rate)
    schedule = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / PAPER.warmup))
    return optimizer, schedule


def _keep(rollout: Rollout) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(move) for move in row if move != END) for row in rollout.moves_R_L[:KEPT_ANSWERS])


def _stream(*numbers: int) -> int:
    """A separate seed for each use of randomness."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))
