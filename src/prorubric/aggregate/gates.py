"""Gates: verdicts that others depend on. A part behind a gate counts in full only if all verdicts of the gate comply.

For each verdict of its gate that does not comply a part keeps `residue` of its value: a fifth under `licensed`, nothing
under the others. What is required comes from the tags `label:required`; without any, the heaviest criterion is (of
several the first, as they are listed). A penalty complies by not occurring, and never is behind a gate.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from prorubric.rubric.labels import LABEL_TAG, OPTIONAL, REQUIRED, list_required
from prorubric.rubric.records import Task

LICENSED_RESIDUE = 0.2
NO_GATE = -1


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates of one task, numbered from 0; `NO_GATE` for a verdict or a part without one."""

    members: tuple[int, ...]
    """For each verdict the gate that it belongs to."""
    behind: tuple[int, ...]
    """For each part of the weighted mean the gate that it is behind."""
    residue: float = 0.0
    """The share of its value that a part keeps for each verdict of its gate that does not comply."""

    @property
    def shares(self) -> tuple[float, ...]:
        """What a part keeps after 0, 1, 2 … failures in its gate."""
        return tuple(self.residue**failed for failed in range(len(self.members) + 1))

    def add_free(self) -> "Gates":
        """The same with one more verdict that has nothing to do with a gate."""
        return Gates((*self.members, NO_GATE), (*self.behind, NO_GATE), self.residue)

    def apply(self, values: Sequence[float], penalties: Sequence[bool], left_out: Collection[int]) -> list[float]:
        """The values of the parts after the gates."""
        failed: Counter[int] = Counter()
        for position, gate in enumerate(self.members):
            if gate != NO_GATE and position not in left_out and bool(values[position]) == penalties[position]:
                failed[gate] += 1
        shares = self.shares
        return [value * shares[failed[gate]] for value, gate in zip(values, self.behind, strict=True)]


def gate_licensed(task: Task) -> Gates:
    """The required criteria license all others; without labels the heaviest of each dimension licenses its own."""
    required = list_required(task)
    if required:
        return _gate(task, required, residue=LICENSED_RESIDUE)
    everything = [tuple(range(1, len(task.rubric) + 1))]
    groups = [dimension.indices for dimension in task.protocol.dimensions] if task.protocol else everything
    members, behind = ([NO_GATE] * len(task.rubric) for _ in range(2))
    for number, group in enumerate(groups):
        head = find_heaviest(task, (index - 1 for index in group))
        for position in (index - 1 for index in group):
            if head is not None and position != head and task.rubric.weights[position] > 0:
                behind[position] = number
        if head is not None:
            members[head] = number
    return Gates(tuple(members), tuple(behind), LICENSED_RESIDUE)


def gate_required(task: Task) -> Gates:
    """Everything else counts only once all that is required is met."""
    return _gate(task, _require_some(task))


def gate_critical(task: Task) -> Gates:
    """Nothing counts if something critical or required is not met, or if a penalty occurs."""
    tags = {f"{LABEL_TAG}critical", REQUIRED}
    critical = [place for place, criterion in enumerate(task.rubric.criteria) if tags.intersection(criterion.tags)]
    penalties = [i for i, weight in enumerate(task.rubric.weights) if weight < 0]
    return _gate(task, {*(critical or _require_some(task)), *penalties}, gates_itself=True)


def gate_key(task: Task) -> Gates:
    """Nothing counts unless the dimension holds that carries the heaviest criterion."""
    dimensions = task.protocol.dimensions if task.protocol else ()
    heaviest = find_heaviest(task)
    members = tuple(
        0 if heaviest is not None and heaviest + 1 in dimension.indices else NO_GATE for dimension in dimensions
    )
    return Gates(members, (0,) * len(members))


def weigh_halves(task: Task) -> list[float]:
    """The weights with half of what can be earned for what is required, and half for the rest."""
    weights, required = list(task.rubric.weights), set(_require_some(task))
    sums = {side: sum(w for i, w in enumerate(weights) if w > 0 and (i in required) is side) for side in (True, False)}
    if not all(sums.values()):
        return weights
    half = sum(sums.values()) / 2
    return [w if w < 0 else w * (half / sums[i in required]) for i, w in enumerate(weights)]


def find_heaviest(task: Task, among: Iterable[int] | None = None) -> int | None:
    """The 0-based place of the criterion with the largest weight, the first of several; None if none is positive.

    One that is labelled optional only counts if all of them are.
    """
    criteria = task.rubric.criteria
    places = [place for place in (range(len(criteria)) if among is None else among) if criteria[place].weight > 0]
    places = [place for place in places if OPTIONAL not in criteria[place].tags] or places
    return max(places, key=lambda place: criteria[place].weight, default=None)


def _require_some(task: Task) -> Sequence[int]:
    """The places of what is required, or the heaviest criterion if nothing is labelled so."""
    heaviest = find_heaviest(task)
    return list_required(task) or ([] if heaviest is None else [heaviest])


def _gate(task: Task, members: Collection[int], residue: float = 0.0, gates_itself: bool = False) -> Gates:
    """One gate: every positive criterion is behind it, its own members only if it gates itself."""
    return Gates(
        tuple(0 if place in members else NO_GATE for place in range(len(task.rubric))),
        tuple(
            0 if weight > 0 and (gates_itself or place not in members) else NO_GATE
            for place, weight in enumerate(task.rubric.weights)
        ),
        residue,
    )
