"""The incentive audit in the lab: the untrained policy's answers are edited move by move and scored under every scheme.

The edits are those of `prorubric.audit`, as moves; the tables are that package's own. An edit that is not possible for
an answer (nothing left to name, no decision to drop) is not made, and its reward is not known.
"""

from collections.abc import Sequence

import numpy as np

from prorubric.audit.effects import Rewards, forecast_signal, measure_effects
from prorubric.audit.records import Effect, Forecast, Share
from prorubric.lab.checklist import KINDS, Checklists
from prorubric.lab.facts import IN_FULL, Facts
from prorubric.lab.schemes import find_lab_scheme, make_scorer, mean_lengths
from prorubric.lab.world import END, Bools, Indices, Ints, World, fill_rows
from prorubric.rubric.base import Record

EDITS = ("name-item", "name-topic", "in-part", "needless-test", "drop-key-advice", "paraphrase", "add-substance")
AUDITED_CASES, ANSWERS_EACH = 300, 8  # the paper's number of prompts, and its size of a group
NAMED_ITEMS, ADDED_ITEMS = 5, 3  # the paper's edits name 4 to 6 items, and really satisfy 2 or 3
RESAMPLES = 2000
_SEED = 0


class Audit(Record):
    """What every reward pays the untrained policy for, before training."""

    world: str
    effects: tuple[Effect, ...]
    naming_share: tuple[Share, ...]
    forecast: tuple[Forecast, ...]

    def effect(self, edit: str, scheme: str) -> Effect:
        """One cell of the table."""
        return next(found for found in self.effects if (found.edit, found.scheme) == (edit, scheme))


def audit_policy(world: World, lists: Checklists, rows: Indices, moves: Ints, schemes: Sequence[str]) -> Audit:
    """Edit these answers and score each version under each scheme."""
    facts = Facts(world, lists, rows, moves)
    scorers = {name: make_scorer(find_lab_scheme(name), lists) for name in schemes}
    # An edited answer is compared with an unedited group.
    edited, made, usual = {}, {}, mean_lengths(facts)
    for edit in EDITS:
        versions, made[edit] = edit_answers(facts, edit)
        changed = Facts(world, lists, rows, versions)
        scores = {name: score(changed, 0, usual_R=usual) for name, score in scorers.items()}
        edited[edit] = {name: np.where(made[edit], found, np.nan) for name, found in scores.items()}
    answers = {name: score(facts, 0) for name, score in scorers.items()}
    rewards = Rewards(tuple(lists.tasks[row].id for row in rows), answers, edited, made)
    tables, forecast = measure_effects(rewards, RESAMPLES), forecast_signal(rewards)
    return Audit(world=world.spec.name, effects=tables.effects, naming_share=tables.naming_share, forecast=forecast)


def edit_answers(facts: Facts, edit: str) -> tuple[Ints, Bools]:
    """Every answer after an edit, and for which of them it could be made."""
    rng = np.random.default_rng(_SEED)
    versions = [_edit(facts, number, edit, rng) for number in range(len(facts.row_R))]
    return fill_rows([version or [] for version in versions]), np.array([version is not None for version in versions])


def _edit(facts: Facts, number: int, edit: str, rng: np.random.Generator) -> list[int] | None:
    moves, lists, row = facts.world.moves, facts.lists, facts.row_R[number]
    said = [int(move) for move in facts.moves_R_L[number] if move != END]

    def find_open_items(*kinds: str) -> list[int]:
        """Items not brought up that unmet criteria of these kinds ask for."""
        unmet = (facts.level[number] < IN_FULL) & (lists.weight_T_N[row] > 0)
        asked = lists.target_T_N[row][unmet & np.isin(lists.kind_T_N[row], [KINDS.index(kind) for kind in kinds])]
        items = np.unique(asked - moves.at["name"].start)
        return [int(item) for item in items if facts.item_level[number, item] == 0]

    def explain(item: int) -> int:
        """The move that explains an item rightly."""
        return moves.number("for" if lists.cases.side_T_I[row, item] > 0 else "against", item)

    added: list[int] = []
    match edit:
        case "name-item":
            items = rng.permutation(find_open_items("presence", "explain"))[:NAMED_ITEMS]
            added = [moves.number("name", int(item)) for item in items]
        case "add-substance":
            items = rng.permutation(find_open_items("presence", "explain"))[:ADDED_ITEMS]
            added = [explain(int(item)) for item in items]
        case "name-topic":
            added = [move for move in range(moves.at["topic"].start, moves.at["topic"].stop) if move not in said]
        case "in-part":
            open_items = find_open_items("compound")
            added = [explain(int(rng.choice(open_items)))] if open_items else []
        case "needless-test":
            idle = np.flatnonzero(~facts.needed[number] & ~facts.said("test")[number])
            added = [moves.number("test", int(rng.choice(idle)))] if len(idle) else []
        case "drop-key-advice":
            decisions = moves.at["decide"]
            rest = [move for move in said if not decisions.start <= move < decisions.stop]
            return rest if len(rest) < len(said) else None
        case "paraphrase":
            # Another order behind the first sentence: that is as far as moves can be worded differently.
            return [said[0], *rng.permutation(said[1:]).astype(int).tolist()] if len(said) > 2 else None
    return said + added if added else None
