"""What answers say: arrays read off rows of moves, without noise, for every judge and every measure.

A *level* says how far a target is met: 0 not at all, 1 only named (of two requirements: one), 2 wrongly (an explanation
on the wrong side, the right decision among others), 3 in full.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from prorubric.lab.checklist import KINDS, Checklists
from prorubric.lab.world import END, Bools, Indices, Ints, World

NAMED, WRONG, IN_FULL = 1, 2, 3
_NEVER = 10**6


@dataclass(frozen=True)
class Facts:
    """Answers `moves_R_L` to the cases `row_R` of `lists`. Axes: R answers, L places, M moves, I items, N criteria."""

    world: World
    lists: Checklists
    row_R: Indices
    moves_R_L: Ints

    @cached_property
    def starts(self) -> Ints:
        """The token at which each move begins; far away if the answer does not contain it."""
        tokens = self.world.moves.tokens_M[self.moves_R_L]
        start = np.full((len(self.row_R), len(self.world.moves.tokens_M)), _NEVER)
        np.put_along_axis(start, self.moves_R_L, np.cumsum(tokens, axis=1) - tokens, axis=1)
        start[:, END] = _NEVER
        return start

    @cached_property
    def said_moves(self) -> Bools:
        """Which moves the answer contains."""
        return self.starts < _NEVER

    def said(self, kind: str) -> Bools:
        """Which moves of a kind the answer contains."""
        return self.said_moves[:, self.world.moves.at[kind]]

    @cached_property
    def tokens(self) -> Ints:
        """How long each answer is."""
        return _add(self.world.moves.tokens_M[self.moves_R_L])

    @cached_property
    def family(self) -> Indices:
        """The family of each answer's case."""
        return self.lists.cases.family_T[self.row_R]

    @cached_property
    def right_level(self) -> Indices:
        """The right decision."""
        return self.lists.cases.level_T[self.row_R]

    @cached_property
    def core(self) -> Bools:
        """The items that matter in the case."""
        return self.world.core_F_V_I[self.family, self.right_level]

    @cached_property
    def needed(self) -> Bools:
        """The tests that the case needs."""
        return self.world.needed_F_V_X[self.family, self.right_level]

    @cached_property
    def needless(self) -> Ints:
        """How many tests are recommended that the case does not need."""
        return _add(self.said("test") & ~self.needed)

    @cached_property
    def item_level(self) -> Ints:
        """How far each item is met: an explanation is right if it takes the side that the findings are on."""
        for_, against = self.said("for"), self.said("against")
        truth = self.lists.cases.side_T_I[self.row_R] > 0
        explained = for_ | against
        right = explained & np.where(truth, ~against, ~for_)
        return np.where(right, IN_FULL, np.where(explained, WRONG, NAMED * self.said("name")))

    @cached_property
    def decisions(self) -> Ints:
        """How many different decisions are taken."""
        return _add(self.said("decide"))

    @cached_property
    def decision_level(self) -> Ints:
        """The right decision alone, among others, or not at all."""
        right = np.take_along_axis(self.said("decide"), self.right_level[:, None], axis=1)[:, 0]
        return np.where(right, np.where(self.decisions == 1, IN_FULL, WRONG), 0)

    @cached_property
    def decided_at(self) -> Ints:
        """The token at which the first decision begins; far away without one."""
        first: Ints = self.starts[:, self.world.moves.at["decide"]].min(axis=1)
        return first

    @cached_property
    def wrong_manner(self) -> Bools:
        """Whether the answer speaks to someone other than the asker."""
        said = self.said("manner")  # to a lay person, to an expert
        return np.where(self.lists.cases.expert_T[self.row_R], said[:, 0], said[:, 1])

    @cached_property
    def right_manner(self) -> Bools:
        """Whether the answer shows that it knows the asker, and never speaks to anyone else."""
        said = self.said("manner")
        return (said[:, 0] | said[:, 1]) & ~self.wrong_manner

    @cached_property
    def asks_key(self) -> Bools:
        """Whether the key question of the family is asked."""
        key = self.world.key_question_F[self.family]
        return np.take_along_axis(self.said("ask"), key[:, None], axis=1)[:, 0]

    @cached_property
    def level(self) -> Ints:
        """How far each criterion of the case's checklist is met."""
        target_R_M = IN_FULL * self.said_moves
        target_R_M[:, self.world.moves.at["name"]] = self.item_level
        target_R_M[:, self.world.moves.at["decide"]] = self.decision_level[:, None]
        first = np.take_along_axis(target_R_M, self.lists.target_T_N[self.row_R], axis=1)
        other = np.take_along_axis(target_R_M, self.lists.other_T_N[self.row_R], axis=1)
        # Of two requirements the weaker counts; one alone is a part of it, as a mention is.
        half = NAMED * ((first == IN_FULL) | (other == IN_FULL))
        pair = np.where((first > 0) & (other > 0), np.minimum(first, other), half)
        return np.where(self.lists.kind_T_N[self.row_R] == KINDS.index("compound"), pair, first)


def _add(values: npt.NDArray[np.generic]) -> Ints:
    """The sum of each row."""
    total: Ints = values.sum(axis=1, dtype=np.int64)
    return total
