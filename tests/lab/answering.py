"""Answers put together by hand, by the kind of move and its number."""

import numpy as np

from prorubric.lab.checklist import make_checklists
from prorubric.lab.facts import Facts
from prorubric.lab.world import fill_rows, make_world

WORLD = "triage-v1"
CASES = 200

Said = list[tuple[str, int]]


def answer(*answers: Said, row: int | list[int] = 0, world: str = WORLD) -> Facts:
    """Facts of answers to one case, or to a case for each."""
    moves = make_world(world).moves
    rows = [[moves.number(kind, index) for kind, index in said] for said in answers]
    cases = np.full(len(rows), row) if isinstance(row, int) else np.array(row)
    return Facts(make_world(world), make_checklists(world, CASES, 0), cases, fill_rows(rows))


def right_side(row: int, item: int, world: str = WORLD) -> str:
    """The kind of move that explains an item rightly."""
    return "for" if make_checklists(world, CASES, 0).cases.side_T_I[row, item] > 0 else "against"


def wrong_side(row: int, item: int, world: str = WORLD) -> str:
    """The kind of move that explains it wrongly."""
    return "against" if right_side(row, item, world) == "for" else "for"


def core_of(row: int, world: str = WORLD) -> list[int]:
    """The items that matter in a case."""
    lists = make_checklists(world, CASES, 0)
    found = make_world(world).core_F_V_I[lists.cases.family_T[row], lists.cases.level_T[row]]
    return [int(item) for item in np.flatnonzero(found)]


def right_decision(row: int, world: str = WORLD) -> int:
    """The decision that a case calls for."""
    return int(make_checklists(world, CASES, 0).cases.level_T[row])


def find_case(**wanted: object) -> int:
    """The first case that is thin, or asked by an expert, as wanted."""
    cases = make_checklists(WORLD, CASES, 0).cases
    fits = np.ones(CASES, dtype=bool)
    if "thin" in wanted:
        fits &= (cases.level_T == 4) == wanted["thin"]
    if "expert" in wanted:
        fits &= cases.expert_T == wanted["expert"]
    return int(np.flatnonzero(fits)[0])
