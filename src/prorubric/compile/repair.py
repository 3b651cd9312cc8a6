"""The structural repair of a draft whose retries are used up, as the paper does it.

Assignments that are invalid or come a second time are dropped, an item that was left out goes to the group that holds
the nearest index (the lower one where two are equally near), weights follow from the items. Texts are never touched,
and nothing is repaired that cannot be told apart from a guess: a draft that counts from 0 and is not complete says
nothing certain about any item.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from prorubric.compile.draft import Draft


@dataclass(frozen=True, slots=True)
class Repaired:
    """A draft after its repair, and what was done to it."""

    draft: Draft
    repairs: tuple[str, ...]


def counts_from_zero(draft: Draft, n: int) -> bool:
    """True where the draft uses index 0 and not the last one: every index in it may be meant one higher."""
    used = {index for dimension in draft.dimensions for index in dimension.indices}
    return 0 in used and n not in used


def is_whole_from_zero(draft: Draft, n: int) -> bool:
    """True where the draft holds exactly the indices 0 to n - 1, each once: there is one way to read that."""
    return sorted(index for dimension in draft.dimensions for index in dimension.indices) == list(range(n))


def repair_draft(draft: Draft, n: int) -> Repaired:
    """Drop what is invalid or doubled, place what was left out; the texts stay."""
    repairs: list[str] = []
    if is_whole_from_zero(draft, n):
        draft = _count_from_one(draft)
        repairs = ["indices counted from 0 were read as counted from 1"]
    groups, dropped = _drop(draft, n)
    repairs += [*dropped, *_place(groups, n)]
    return Repaired(_with_groups(draft, map(sorted, groups)) if repairs else draft, tuple(repairs))


def _count_from_one(draft: Draft) -> Draft:
    dimensions = (replace(dim, indices=tuple(index + 1 for index in dim.indices)) for dim in draft.dimensions)
    return replace(draft, dimensions=tuple(dimensions))


def _drop(draft: Draft, n: int) -> tuple[list[list[int]], list[str]]:
    seen: set[int] = set()
    groups: list[list[int]] = []
    repairs: list[str] = []
    for number, dimension in enumerate(draft.dimensions, 1):
        repairs += [f"criterion {number}: dropped {value}, which is no index" for value in dimension.unreadable]
        group: list[int] = []
        for index in dimension.indices:
            if not 1 <= index <= n:
                repairs.append(f"criterion {number}: dropped index {index}, which does not exist")
            elif index in seen:
                repairs.append(f"criterion {number}: dropped index {index}, which was assigned before")
            else:
                seen.add(index)
                group.append(index)
        groups.append(group)
    return groups, repairs


def _place(groups: list[list[int]], n: int) -> list[str]:
    # Nearness is to what the generator assigned, not to what was placed a moment ago.
    assigned = [(index, number) for number, group in enumerate(groups) for index in group]
    missing = sorted(set(range(1, n + 1)) - {index for index, _ in assigned})
    if not assigned:
        return []
    repairs = []
    for index in missing:
        _, number = min(assigned, key=lambda pair: (abs(pair[0] - index), pair[0]))
        groups[number].append(index)
        repairs.append(f"criterion {number + 1}: given index {index}, which was left out")
    return repairs


def _with_groups(draft: Draft, groups: Iterable[Sequence[int]]) -> Draft:
    dimensions = (
        replace(dimension, indices=tuple(group), unreadable=())
        for dimension, group in zip(draft.dimensions, groups, strict=True)
    )
    return replace(draft, dimensions=tuple(dimensions))
