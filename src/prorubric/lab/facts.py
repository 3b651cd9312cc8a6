"""What answers say: arrays read off rows of moves, without noise, for every judge and every measure.

A *level* says how far a target is met: 0 not at all, 1 only named (of two requirements: one), 2 wrongly (an explanation
on the wrong side, the right decision among others), 3 in full.
"""

from functools import cached_property

import numpy as np

from prorubric.lab.checklist import KINDS, Checklists
from prorubric.lab.world import END, Bools, Indices, Ints, World

NAMED, WRONG, IN_FULL = 1, 2, 3
_NEVER = 10**6  # the place of a move that an answer does not contain


class Facts:
    """Answers `moves_R_L` to the cases `row_R` of `lists`. Axes: R answers, L places, M moves, I items, N criteria.

    `tokens_R_L` are the prices, if they are not those of the moves; an `END` with a price is a sentence without a move.
    """

    def __init__(
        self, world: World, lists: Checklists, row_R: Indices, moves_R_L: Ints, tokens_R_L: Ints | None = None
    ) -> None:
        self.world, self.lists, self.row_R, self.moves_R_L = world, lists, row_R, moves_R_L
        cases, tokens = lists.cases, world.moves.tokens_M[moves_R_L] if tokens_R_L is None else tokens_R_L
        self.tokens: Ints = tokens.sum(axis=1)
        starts = np.full((len(row_R), len(world.moves.tokens_M)), _NEVER)  # the token at which each move first begins
        np.minimum.at(starts, (np.arange(len(row_R))[:, None], moves_R_L), np.cumsum(tokens, axis=1) - tokens)
        starts[:, END] = _NEVER
        self.said_moves: Bools = starts < _NEVER

        # What the case asks for: the right decision, the items that matter, the tests that it needs.
        self.family, self.right_level = cases.family_T[row_R], cases.level_T[row_R]
        self.core: Bools = world.core_F_V_I[self.family, self.right_level]
        self.needed: Bools = world.needed_F_V_X[self.family, self.right_level]
        self.needless: Ints = (self.said("test") & ~self.needed).sum(axis=1)
        key = world.key_question_F[self.family]
        self.asks_key: Bools = np.take_along_axis(self.said("ask"), key[:, None], axis=1)[:, 0]

        # An explanation is right if it takes the side that the findings are on.
        is_for, against = self.said("for"), self.said("against")
        explained = is_for | against
        right = explained & np.where(cases.side_T_I[row_R] > 0, ~against, ~is_for)
        self.item_level: Ints = np.where(right, IN_FULL, np.where(explained, WRONG, NAMED * self.said("name")))

        # The right decision alone, among others, or not at all, and where the first one begins.
        self.decisions: Ints = self.said("decide").sum(axis=1)
        decided = np.take_along_axis(self.said("decide"), self.right_level[:, None], axis=1)[:, 0]
        self.decision_level: Ints = np.where(decided, np.where(self.decisions == 1, IN_FULL, WRONG), 0)
        self.decided_at: Ints = starts[:, world.moves.at["decide"]].min(axis=1)

        # Whether the answer speaks to someone other than the asker, or to the asker and no one else.
        to_lay, to_expert = self.said("manner").T
        self.wrong_manner: Bools = np.where(cases.expert_T[row_R], to_lay, to_expert)
        self.right_manner: Bools = (to_lay | to_expert) & ~self.wrong_manner

    def said(self, kind: str) -> Bools:
        """Which moves of a kind the answer contains."""
        return self.said_moves[:, self.world.moves.at[kind]]

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
