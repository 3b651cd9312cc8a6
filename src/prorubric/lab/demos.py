"""Demonstrations for the untrained policy: short answers, mostly right, by somebody who knows the world and errs.

Rates are those of a fair but imperfect assistant: the decision is right in 85 of 100 cases and comes first in 70, an
explanation takes the right side in 80, and little is said that the case does not call for.
"""

import numpy as np
import numpy.typing as npt

from prorubric.lab.cases import SEVERITIES, Cases
from prorubric.lab.moves import END, Moves, make_moves
from prorubric.lab.world import ASK, World

RIGHT_DECISION, FIRST, RIGHT_SIDE, FROM_CORE = 0.85, 0.7, 0.8, 0.75
EXPLAINED, NAMED = 2.0, 1.5
"""Mean numbers of items that are explained, and that are only named."""
NEEDED_TEST, NEEDLESS_TEST = 0.7, 0.1
KEY_QUESTION_THIN, KEY_QUESTION, OTHER_QUESTION = 0.8, 0.15, 0.05
RIGHT_MANNER, WRONG_MANNER = 0.7, 0.05
ASIDE, TOPIC, FILLER = 0.25, 0.05, 0.1


def write_demos(world: World, cases: Cases, seed: int) -> npt.NDArray[np.int64]:
    """One demonstration for each case, as rows of moves that end in at least one `END`."""
    rng = np.random.default_rng([world.spec.seed, 4, seed])
    moves = make_moves(world.spec.name)
    rows = [_write_one(world, moves, cases, row, rng) for row in range(len(cases))]
    filled = np.full((len(rows), max(map(len, rows)) + 1), END)
    for number, row in enumerate(rows):
        filled[number, : len(row)] = row
    return filled


def _write_one(world: World, moves: Moves, cases: Cases, row: int, rng: np.random.Generator) -> list[int]:
    decision = moves.number("decide", _decide(int(cases.level_T[row]), rng))
    body = [*_bring_up(world, moves, cases, row, rng), *_recommend(world, moves, cases, row, rng)]
    body += [*_ask(world, moves, cases, row, rng), *_speak(moves, bool(cases.expert_T[row]), rng)]
    body = rng.permutation(body).astype(int).tolist()
    place = 0 if rng.random() < FIRST else int(rng.integers(len(body) + 1))
    return [*body[:place], decision, *body[place:]]


def _decide(level: int, rng: np.random.Generator) -> int:
    if rng.random() < RIGHT_DECISION:
        return level
    if level == ASK:
        return int(rng.integers(SEVERITIES))
    return int(np.clip(level + rng.choice([-1, 1]), 0, SEVERITIES - 1))


def _bring_up(world: World, moves: Moves, cases: Cases, row: int, rng: np.random.Generator) -> list[int]:
    family, level = cases.family_T[row], cases.level_T[row]
    pool, core = np.flatnonzero(world.pool_F_I[family]), np.flatnonzero(world.core_F_V_I[family, level])
    explained, named = (min(int(rng.poisson(mean)), len(core)) for mean in (EXPLAINED, NAMED))
    chosen: list[int] = []
    for _ in range(explained + named):
        rest = np.setdiff1d(core, chosen)
        source = rest if len(rest) and rng.random() < FROM_CORE else np.setdiff1d(pool, chosen)
        chosen.append(int(rng.choice(source)))
    said = []
    for number, item in enumerate(chosen):
        so = (cases.side_T_I[row, item] > 0) == (rng.random() < RIGHT_SIDE)
        said.append(moves.number(("for" if so else "against") if number < explained else "name", item))
    return said


def _recommend(world: World, moves: Moves, cases: Cases, row: int, rng: np.random.Generator) -> list[int]:
    needed = world.needed_F_V_X[cases.family_T[row], cases.level_T[row]]
    said = [moves.number("test", int(test)) for test in np.flatnonzero(needed) if rng.random() < NEEDED_TEST]
    if rng.random() < NEEDLESS_TEST:
        said.append(moves.number("test", int(rng.choice(np.flatnonzero(~needed)))))
    return said


def _ask(world: World, moves: Moves, cases: Cases, row: int, rng: np.random.Generator) -> list[int]:
    key = world.key_question_F[cases.family_T[row]]
    rate = np.full(len(world.texts.questions), OTHER_QUESTION)
    rate[key] = KEY_QUESTION_THIN if cases.level_T[row] == ASK else KEY_QUESTION
    return [moves.number("ask", int(number)) for number in np.flatnonzero(rng.random(len(rate)) < rate)]


def _speak(moves: Moves, expert: bool, rng: np.random.Generator) -> list[int]:
    said = []
    chance = rng.random()
    if chance < RIGHT_MANNER + WRONG_MANNER:
        said.append(moves.number("manner", int(expert == (chance < RIGHT_MANNER))))
    for kind, rate in (("aside", ASIDE), ("topic", TOPIC), ("filler", FILLER)):
        size = moves.at[kind].stop - moves.at[kind].start
        said += [moves.number(kind, int(number)) for number in np.flatnonzero(rng.random(size) < rate)]
    return said
