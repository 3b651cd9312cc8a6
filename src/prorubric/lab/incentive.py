"""The incentive audit in the lab: the untrained policy's answers are edited move by move, and every reward is asked.

The edits are those of `prorubric.audit`, as moves; the tables are that package's own. An edit that cannot be made for
an answer (nothing left to name, no decision to drop) is not made, and its reward is not known.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from prorubric.audit.effects import Rewards, Tables, forecast_signal, measure_effects
from prorubric.audit.records import Effect, Forecast, Share
from prorubric.lab.checklist import KINDS, Checklists
from prorubric.lab.facts import IN_FULL, Facts
from prorubric.lab.moves import END, make_moves
from prorubric.lab.schemes import find_lab_scheme, make_scorer
from prorubric.lab.world import World
from prorubric.rubric.base import Record

AUDITED_CASES, ANSWERS_EACH = 300, 8
"""The paper's number of prompts, and its size of a group."""
NAMED_ITEMS, ADDED_ITEMS = 5, 3
"""The paper's edits name 4 to 6 items, and really satisfy 2 or 3."""
RESAMPLES = 2000
_SEED = 0

Rows = npt.NDArray[np.int64]
_Edit = Callable[["_Answer", np.random.Generator], list[int] | None]


class Audit(Record):
    """What every reward pays the untrained policy for, before training."""

    world: str
    effects: tuple[Effect, ...]
    naming_share: tuple[Share, ...]
    forecast: tuple[Forecast, ...]

    def effect(self, edit: str, scheme: str) -> Effect:
        """One cell of the table."""
        return next(found for found in self.effects if (found.edit, found.scheme) == (edit, scheme))


class _Answer:
    """One answer, and what its checklist leaves open."""

    def __init__(self, facts: Facts, number: int) -> None:
        self.world, self.moves = facts.world, make_moves(facts.world.spec.name)
        self.said = [int(move) for move in facts.moves_R_L[number] if move != END]
        self.side = facts.lists.cases.side_T_I[facts.row_R[number]]
        row = facts.row_R[number]
        open_ = (facts.level[number] < IN_FULL) & (facts.lists.weight_T_N[row] > 0)
        self.kind, self.target = facts.lists.kind_T_N[row][open_], facts.lists.target_T_N[row][open_]
        self.level = facts.item_level[number]
        self.idle_tests = np.flatnonzero(
            ~facts.world.needed_F_V_X[facts.family[number], facts.right_level[number]] & ~facts.said("test")[number]
        )

    def open_items(self, kinds: Sequence[str], below: int) -> list[int]:
        """Items that unmet criteria of these kinds ask for, met below this level."""
        asked = self.target[np.isin(self.kind, [KINDS.index(kind) for kind in kinds])]
        return sorted({int(item) for item in asked if self.level[item] < below})

    def explain(self, item: int) -> int:
        """The move that explains an item rightly."""
        return self.moves.number("for" if self.side[item] > 0 else "against", item)


def audit_policy(
    world: World, lists: Checklists, rows: npt.NDArray[np.intp], moves: Rows, schemes: Sequence[str]
) -> Audit:
    """Edit these answers and score each version under each scheme."""
    facts = Facts(world, lists, rows, moves)
    scorers = {name: make_scorer(find_lab_scheme(name), lists) for name in schemes}
    edited, made = {}, {}
    for edit, change in EDITS.items():
        versions, done = _edit_all(facts, change)
        changed = Facts(world, lists, rows, versions)
        edited[edit] = {name: np.where(done, score(changed, 0), np.nan) for name, score in scorers.items()}
        made[edit] = done
    answers = {name: score(facts, 0) for name, score in scorers.items()}
    rewards = Rewards(tuple(lists.tasks[row].id for row in rows), answers, edited, made)
    tables: Tables = measure_effects(rewards, RESAMPLES)
    return Audit(
        world=world.spec.name,
        effects=tables.effects,
        naming_share=tables.naming_share,
        forecast=forecast_signal(rewards),
    )


def _edit_all(facts: Facts, change: _Edit) -> tuple[Rows, npt.NDArray[np.bool_]]:
    rng = np.random.default_rng(_SEED)
    versions = [change(_Answer(facts, number), rng) for number in range(len(facts.row_R))]
    made = np.array([version is not None for version in versions])
    rows = np.full((len(versions), max(len(version or ()) for version in versions) + 1), END)
    for number, version in enumerate(versions):
        rows[number, : len(version or ())] = version or []
    return rows, made


def _name_items(answer: _Answer, rng: np.random.Generator) -> list[int] | None:
    items = rng.permutation(answer.open_items(("presence", "explain"), below=1))[:NAMED_ITEMS]
    return [*answer.said, *(answer.moves.number("name", int(item)) for item in items)] if len(items) else None


def _name_topics(answer: _Answer, rng: np.random.Generator) -> list[int] | None:  # noqa: ARG001 - one form for all
    at = answer.moves.at["topic"]
    topics = [move for move in range(at.start, at.stop) if move not in answer.said]
    return answer.said + topics if topics else None


def _meet_in_part(answer: _Answer, rng: np.random.Generator) -> list[int] | None:
    items = answer.open_items(("compound",), below=1)
    return [*answer.said, answer.explain(int(rng.choice(items)))] if items else None


def _add_needless_test(answer: _Answer, rng: np.random.Generator) -> list[int] | None:
    if not len(answer.idle_tests):
        return None
    return [*answer.said, answer.moves.number("test", int(rng.choice(answer.idle_tests)))]


def _drop_decision(answer: _Answer, rng: np.random.Generator) -> list[int] | None:  # noqa: ARG001
    at = answer.moves.at["decide"]
    rest = [move for move in answer.said if not at.start <= move < at.stop]
    return rest if len(rest) < len(answer.said) else None


def _reword(answer: _Answer, rng: np.random.Generator) -> list[int] | None:
    """The same sentences in another order behind the first, which is as far as a move can be worded otherwise."""
    rest = answer.said[1:]
    return [answer.said[0], *rng.permutation(rest).astype(int).tolist()] if len(rest) > 1 else None


def _add_substance(answer: _Answer, rng: np.random.Generator) -> list[int] | None:
    items = rng.permutation(answer.open_items(("presence", "explain"), below=1))[:ADDED_ITEMS]
    return [*answer.said, *(answer.explain(int(item)) for item in items)] if len(items) else None


EDITS: Mapping[str, _Edit] = {
    "name-item": _name_items,
    "name-topic": _name_topics,
    "in-part": _meet_in_part,
    "needless-test": _add_needless_test,
    "drop-key-advice": _drop_decision,
    "paraphrase": _reword,
    "add-substance": _add_substance,
}
