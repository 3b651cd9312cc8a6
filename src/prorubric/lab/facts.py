"""What answers say: arrays read off rows of moves, the common ground of every judge and every measure.

A *level* says how far a target is met: 0 not at all, 1 only named (of two requirements: one), 2 wrongly (an
explanation on the wrong side, the right decision among others), 3 in full. Nothing here is uncertain; judges are, and
they are elsewhere. Axes: R answers, M moves, I items, N criteria.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from prorubric.lab.checklist import KINDS, Checklists, Targets
from prorubric.lab.moves import END, make_moves
from prorubric.lab.world import World

NAMED, WRONG, IN_FULL = 1, 2, 3
_NEVER = 10**6
_LAY, _EXPERT = 0, 1
"""The order of the manners."""
_COMPOUND = KINDS.index("compound")


@dataclass(frozen=True)
class Facts:
    """Answers `moves_R_L` to the cases `row_R` of `lists`. Axes: R answers, L places, M moves, I items, N criteria."""

    world: World
    lists: Checklists
    row_R: npt.NDArray[np.intp]
    moves_R_L: npt.NDArray[np.int64]

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """The token at which each move begins; far away where it is not said."""
        moves = make_moves(self.world.spec.name)
        tokens = moves.tokens_M[self.moves_R_L]
        start = np.full((len(self.row_R), moves.count), _NEVER)
        np.put_along_axis(start, self.moves_R_L, np.cumsum(tokens, axis=1) - tokens, axis=1)
        start[:, END] = _NEVER
        return start

    @cached_property
    def said_moves(self) -> npt.NDArray[np.bool_]:
        """Which moves are said."""
        return self.starts < _NEVER

    @cached_property
    def tokens(self) -> npt.NDArray[np.int64]:
        """How long each answer is."""
        return _add(make_moves(self.world.spec.name).tokens_M[self.moves_R_L])

    @cached_property
    def family(self) -> npt.NDArray[np.intp]:
        """The family of each answer's case."""
        return self.lists.cases.family_T[self.row_R]

    @cached_property
    def right_level(self) -> npt.NDArray[np.intp]:
        """The right decision."""
        return self.lists.cases.level_T[self.row_R]

    def said(self, kind: str) -> npt.NDArray[np.bool_]:
        """Which moves of a kind are said."""
        return self.said_moves[:, make_moves(self.world.spec.name).at[kind]]

    @cached_property
    def core(self) -> npt.NDArray[np.bool_]:
        """The items that matter in the case."""
        return self.world.core_F_V_I[self.family, self.right_level]

    @cached_property
    def item_level(self) -> npt.NDArray[np.int64]:
        """How far each item is met: an explanation is right if it takes the side that the findings are on."""
        for_, against = self.said("for"), self.said("against")
        truth = self.lists.cases.side_T_I[self.row_R] > 0
        explained = for_ | against
        right = explained & np.where(truth, ~against, ~for_)
        return np.where(right, IN_FULL, np.where(explained, WRONG, NAMED * self.said("name")))

    @cached_property
    def needless(self) -> npt.NDArray[np.int64]:
        """How many tests are recommended that the case does not need."""
        needed = self.world.needed_F_V_X[self.family, self.right_level]
        return _add(self.said("test") & ~needed)

    @cached_property
    def decisions(self) -> npt.NDArray[np.int64]:
        """How many different decisions are taken."""
        return _add(self.said("decide"))

    @cached_property
    def decision_level(self) -> npt.NDArray[np.int64]:
        """The right decision alone, among others, or not at all."""
        right = np.take_along_axis(self.said("decide"), self.right_level[:, None], axis=1)[:, 0]
        return np.where(right, np.where(self.decisions == 1, IN_FULL, WRONG), 0)

    @cached_property
    def decided_at(self) -> npt.NDArray[np.int64]:
        """The token at which the first decision begins; far away where there is none."""
        first: npt.NDArray[np.int64] = self.starts[:, make_moves(self.world.spec.name).at["decide"]].min(axis=1)
        return first

    @cached_property
    def wrong_manner(self) -> npt.NDArray[np.bool_]:
        """Where the answer speaks to somebody else."""
        return self._manner(expert=False)

    @cached_property
    def right_manner(self) -> npt.NDArray[np.bool_]:
        """Where the answer shows that it knows whom it speaks to."""
        return self._manner(expert=True) & ~self.wrong_manner

    @cached_property
    def asks_key(self) -> npt.NDArray[np.bool_]:
        """Where the question is asked on which the family turns."""
        key = self.world.key_question_F[self.family]
        return np.take_along_axis(self.said("ask"), key[:, None], axis=1)[:, 0]

    @cached_property
    def level(self) -> npt.NDArray[np.int64]:
        """How far each criterion of the case's checklist is met."""
        target_R_X = self._target_levels()
        kind = self.lists.kind_T_N[self.row_R]
        first = np.take_along_axis(target_R_X, self.lists.target_T_N[self.row_R], axis=1)
        other = np.take_along_axis(target_R_X, self.lists.other_T_N[self.row_R], axis=1)
        # Of two requirements the weaker counts; one alone is a part of it, as a mention is.
        pair = np.where(
            (first > 0) & (other > 0), np.minimum(first, other), NAMED * ((first == IN_FULL) | (other == IN_FULL))
        )
        return np.where(kind == _COMPOUND, pair, first)

    def _manner(self, expert: bool) -> npt.NDArray[np.bool_]:
        """Where the manner for the one who asked is used, or the other one."""
        asker = self.lists.cases.expert_T[self.row_R] == expert
        said = self.said("manner")
        return np.where(asker, said[:, _EXPERT], said[:, _LAY])

    def _target_levels(self) -> npt.NDArray[np.int64]:
        acts = [IN_FULL * self.said(kind) for kind in ("test", "ask", "manner", "aside")]
        levels = np.hstack([self.item_level, *acts, self.decision_level[:, None]])
        assert levels.shape[1] == Targets.of(self.world.texts).count  # noqa: S101 - two lists of the same thing
        return levels


def _add(values: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    """The sum of each row."""
    total: npt.NDArray[np.int64] = values.sum(axis=1, dtype=np.int64)
    return total
