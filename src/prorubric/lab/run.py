"""One training run: GRPO on one reward in one world, measured on held-out cases every 50 steps.

The untrained policy is the same for every run of a world. A run is settled by world, scheme, seed and steps: the same
four give the same result. A run that meets a reward that is no number stops; no value stands in for it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from pydantic import Field

from prorubric.aggregate.advantages import group_advantages
from prorubric.aggregate.arithmetic import overlong_penalty
from prorubric.aggregate.batch import PlanTable
from prorubric.lab.cases import draw_cases, encode_cases
from prorubric.lab.checklist import make_checklists
from prorubric.lab.demos import write_demos
from prorubric.lab.facts import Facts
from prorubric.lab.grpo import Batch, grpo_loss, make_optimizer
from prorubric.lab.incentive import ANSWERS_EACH, AUDITED_CASES, audit_policy
from prorubric.lab.measure import Measure, measure
from prorubric.lab.moves import make_moves
from prorubric.lab.policy import Policy, Rollout, sample
from prorubric.lab.results import BaseResult, Point, RunResult
from prorubric.lab.schemes import LabScheme, Scorer, find_lab_scheme, hash_own, make_scorer
from prorubric.lab.setting import DEMO_SEED, HELD_OUT_CASES, HELD_OUT_SEED, KEPT_ANSWERS, TRAINING_CASES, TRAINING_SEED
from prorubric.lab.world import World, make_world
from prorubric.rubric.base import config_record
from prorubric.train.paper import PAPER

JUDGE_SEED = 0
DEMOS, EPOCHS, PRETRAINING_RATE = 24_000, 8, 2e-3
LEARNING_RATE = 3e-4
"""Of Adam. The paper's 1e-6 is for four billion weights; here are 25 thousand, and 300 steps have to be enough."""

_BASE_SEED = 0
_TRAIN_STREAM, _MEASURE_STREAM, _AUDIT_STREAM = 1, 2, 3


@config_record
class RunConfig:
    """What settles one run."""

    scheme: str
    _: KW_ONLY
    world: str = "triage-v1"
    seed: int = PAPER.seeds[0]
    steps: Annotated[int, Field(ge=1)] = PAPER.rollouts


class Ground:
    """What all runs of a world share: its cases, checklists and untrained policy."""

    def __init__(self, world_name: str, base: Path | None = None) -> None:
        torch.set_num_threads(1)
        self.world: World = make_world(world_name)
        self.moves = make_moves(world_name)
        self.training = make_checklists(world_name, TRAINING_CASES, TRAINING_SEED)
        self.held_out = make_checklists(world_name, HELD_OUT_CASES, HELD_OUT_SEED)
        self.table = PlanTable.of(self.held_out.tasks, "additive")
        self.training_inputs = torch.as_tensor(encode_cases(self.world, self.training.cases))
        self.held_out_inputs = torch.as_tensor(encode_cases(self.world, self.held_out.cases))
        self.base = make_base(self.world, base)

    def measure(self, policy: Policy, seed: int | None) -> tuple[Measure, Rollout]:
        """Answer every held-out case once, at temperature 1 from this seed or greedily, and measure the answers."""
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        rollout = sample(policy, self.held_out_inputs, self.moves.tokens_M, self.world.spec.limit, generator)
        facts = Facts(self.world, self.held_out, np.arange(len(self.held_out_inputs)), rollout.moves_R_L)
        return measure(facts, self.table), rollout


def make_base(world: World, path: Path | None = None) -> Policy:
    """The untrained policy: it imitates demonstrations. Kept in `path`, so that it is made once."""
    policy = _make_policy(world)
    if path is not None and path.is_file():
        policy.load_state_dict(torch.load(path, weights_only=True))
        return policy
    cases = draw_cases(world, DEMOS, DEMO_SEED)
    imitate(policy, torch.as_tensor(encode_cases(world, cases)), write_demos(world, cases, DEMO_SEED))
    if path is not None:
        partial = path.with_name(f".{path.name}.partial")
        torch.save(policy.state_dict(), partial)
        partial.replace(path)
    return policy


def imitate(policy: Policy, inputs: torch.Tensor, demos: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> None:
    """Maximise the likelihood of demonstrations."""
    moves = torch.as_tensor(demos)
    chosen = torch.cat([torch.ones(len(moves), 1, dtype=torch.bool), moves[:, :-1] != 0], dim=1)
    optimizer = torch.optim.Adam(policy.parameters(), lr=PRETRAINING_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * (len(moves) // 256))
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
    generator = torch.Generator().manual_seed(_stream(0, _AUDIT_STREAM, 0))
    limit = ground.world.spec.limit
    rollout = sample(ground.base, ground.training_inputs[rows], ground.moves.tokens_M, limit, generator)
    return BaseResult(
        world=ground.world.spec.name,
        sampled=sampled,
        greedy=greedy,
        answers=_keep(answers),
        audit=audit_policy(ground.world, ground.training, rows, rollout.moves_R_L, schemes),
        sources={name: source for name in schemes if (source := hash_own(name)) is not None},
    )


def train(config: RunConfig, ground: Ground, tell: Callable[[int], None]) -> RunResult:
    """Train once; `tell` hears of each step."""
    started = time.process_time()
    scheme, source = find_lab_scheme(config.scheme), hash_own(config.scheme)
    scorer = make_scorer(scheme, ground.training)
    policy = _copy(ground)
    optimizer, schedule = make_optimizer(policy, LEARNING_RATE)
    generator = torch.Generator().manual_seed(_stream(config.seed, _TRAIN_STREAM, 0))
    rewards, ties, lengths = [], [], []
    points = [Point(step=0, measure=_look(ground, policy, config, 0))]
    for step in range(1, config.steps + 1):
        batch, reward, tied, tokens = _roll_out(policy, ground, scheme, scorer, generator)
        rows = PAPER.mini_batch * PAPER.responses
        for first in range(0, len(batch.cases_R), rows):
            loss = grpo_loss(policy, batch.rows(first, first + rows), scheme.kl)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        rewards.append(reward)
        ties.append(tied)
        lengths.append(tokens)
        if step % PAPER.keep_every == 0 or step == config.steps:
            points.append(Point(step=step, measure=_look(ground, policy, config, step)))
        tell(step)
    greedy, answers = ground.measure(policy, None)
    return RunResult(
        world=config.world,
        scheme=config.scheme,
        seed=config.seed,
        steps=config.steps,
        points=tuple(points),
        greedy=greedy,
        rewards=tuple(rewards),
        ties=tuple(ties),
        tokens=tuple(lengths),
        answers=_keep(answers),
        cpu_seconds=time.process_time() - started,
        source=source,
    )


def _roll_out(
    policy: Policy, ground: Ground, scheme: LabScheme, scorer: Scorer, generator: torch.Generator
) -> tuple[Batch, float, float, float]:
    """64 cases, 8 answers each, judged, scored and compared within their groups."""
    spec = ground.world.spec
    share = 2 if scheme.halved else 1
    limit, buffer = spec.limit // share, spec.buffer // share
    rows = torch.randperm(len(ground.training_inputs), generator=generator)[: PAPER.prompts]
    rows = rows.repeat_interleave(PAPER.responses)
    inputs = ground.training_inputs[rows]
    rollout = sample(policy, inputs, ground.moves.tokens_M, limit, generator)
    facts = Facts(ground.world, ground.training, rows.numpy(), rollout.moves_R_L)
    scores = scorer(facts, JUDGE_SEED)
    penalties = [overlong_penalty(tokens, limit, buffer, PAPER.overlong_factor) for tokens in facts.tokens.tolist()]
    advantages = group_advantages(scores - penalties, rows.numpy())
    moves, chosen = torch.as_tensor(rollout.moves_R_L), torch.as_tensor(rollout.chosen_R_L)
    batch = Batch(
        cases_R=inputs,
        moves_R_L=moves,
        chosen_R_L=chosen,
        old_logp_R_L=rollout.logp_R_L,
        reference_logp_R_L=_refer(ground.base, inputs, moves, chosen) if scheme.kl else None,
        advantage_R=torch.as_tensor(advantages.values, dtype=torch.float32),
    )
    return batch, float(scores.mean()), float(advantages.tied_share or 0.0), float(facts.tokens.mean())


def _refer(base: Policy, inputs: torch.Tensor, moves: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    logp = torch.zeros(moves.shape)
    with torch.no_grad():
        logp[chosen] = base.choice_logp(inputs, moves, chosen)
    return logp


def _look(ground: Ground, policy: Policy, config: RunConfig, step: int) -> Measure:
    return ground.measure(policy, _stream(config.seed, _MEASURE_STREAM, step))[0]


def _make_policy(world: World) -> Policy:
    inputs = encode_cases(world, draw_cases(world, 1, DEMO_SEED)).shape[1]
    return Policy(inputs, make_moves(world.spec.name).count, _BASE_SEED)


def _copy(ground: Ground) -> Policy:
    policy = _make_policy(ground.world)
    policy.load_state_dict(ground.base.state_dict())
    return policy


def _keep(rollout: Rollout) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(move) for move in row if move) for row in rollout.moves_R_L[:KEPT_ANSWERS])


def _stream(*numbers: int) -> int:
    """A seed of its own for each use of randomness."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))
