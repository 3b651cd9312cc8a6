"""Demonstrations for the untrained policy: short, mostly right answers by an author who knows the world but errs.

Rates are those of a fair but imperfect assistant: the decision is right in 85 of 100 cases and comes first in 70, an
explanation takes the right side in 80, and answers contain little that the case does not call for.
"""

import numpy as np

from prorubric.lab.cases import SEVERITIES, Cases
from prorubric.lab.world import ASK, Ints, World, fill_rows

RIGHT_DECISION, FIRST, RIGHT_SIDE, FROM_CORE = 0.85, 0.7, 0.8, 0.75
EXPLAINED, NAMED = 2.0, 1.5  # mean numbers of items that are explained, and that are only named
NEEDED_TEST, NEEDLESS_TEST = 0.7, 0.1
KEY_QUESTION_THIN, KEY_QUESTION, OTHER_QUESTION = 0.8, 0.15, 0.05
RIGHT_MANNER, WRONG_MANNER = 0.7, 0.05
ASIDE, TOPIC, FILLER = 0.25, 0.05, 0.1


def write_demos(world: World, cases: Cases, seed: int) -> Ints:
    """One demonstration for each case, as rows of moves that end in at least one `END`."""
    rng = np.random.default_rng([world.spec.seed, 4, seed])
    return fill_rows([_write_demo(world, cases, row, rng) for row in range(len(cases))])


def _write_demo(world: World, cases: Cases, row: int, rng: np.random.Generator) -> list[int]:
    moves, family, level = world.moves, cases.family_T[row], int(cases.level_T[row])
    if rng.random() < RIGHT_DECISION:
        decision = level
    elif level == ASK:
        decision = int(rng.integers(SEVERITIES))
    else:
        decision = int(np.clip(level + rng.choice([-1, 1]), 0, SEVERITIES - 1))

    pool, core = np.flatnonzero(world.pool_F_I[family]), np.flatnonzero(world.core_F_V_I[family, level])
    explained, named = (min(int(rng.poisson(mean)), len(core)) for mean in (EXPLAINED, NAMED))
    chosen: list[int] = []
    for _ in range(explained + named):
        rest = np.setdiff1d(core, chosen)
        source = rest if len(rest) and rng.random() < FROM_CORE else np.setdiff1d(pool, chosen)
        chosen.append(int(rng.choice(source)))
    body = []
    for number, item in enumerate(chosen):
        so = (cases.side_T_I[row, item] > 0) == (rng.random() < RIGHT_SIDE)
        body.append(moves.number(("for" if so else "against") if number < explained else "name", item))

    needed = world.needed_F_V_X[family, level]
    body += [moves.number("test", int(test)) for test in np.flatnonzero(needed) if rng.random() < NEEDED_TEST]
    if rng.random() < NEEDLESS_TEST:
        body.append(moves.number("test", int(rng.choice(np.flatnonzero(~needed)))))

    asked = np.full(len(world.texts.questions), OTHER_QUESTION)
    asked[world.key_question_F[family]] = KEY_QUESTION_THIN if level == ASK else KEY_QUESTION
    body += [moves.number("ask", int(number)) for number in np.flatnonzero(rng.random(len(asked)) < asked)]

    manner = rng.random()
    if manner < RIGHT_MANNER + WRONG_MANNER:
        body.append(moves.number("manner", int(cases.expert_T[row] == (manner < RIGHT_MANNER))))
    for kind, rate in (("aside", ASIDE), ("topic", TOPIC), ("filler", FILLER)):
        count = moves.at[kind].stop - moves.at[kind].start
        body += [moves.number(kind, int(number)) for number in np.flatnonzero(rng.random(count) < rate)]

    body = rng.permutation(body).astype(int).tolist()
    place = 0 if rng.random() < FIRST else int(rng.integers(len(body) + 1))
    return [*body[:place], moves.number("decide", decision), *body[place:]]
