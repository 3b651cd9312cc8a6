"""Repair the structure of a draft when its retries are used up, as the paper does.

Assignments that are invalid or repeated are dropped, an item that was left out goes to the group with the nearest
index (the lower one of two equally near), weights follow from the items. Texts are never touched. An incomplete draft
that counts from 0 is not repaired, because each of its indices could mean two items.
"""

from dataclasses import replace

from prorubric.compile.draft import Draft


def counts_from_zero(draft: Draft, n: int) -> bool:
    """True if the draft uses index 0 and not the last one: every index in it may be off by one."""
    used = draft.indices
    return 0 in used and n not in used


def is_whole_from_zero(draft: Draft, n: int) -> bool:
    """True if the draft holds exactly the indices 0 to n - 1, each once: there is one way to read that."""
    return sorted(draft.indices) == list(range(n))


def repair_draft(draft: Draft, n: int) -> tuple[Draft, tuple[str, ...]]:
    """Drop assignments that are invalid or repeated, place what was left out, and say what was done."""
    repairs: list[str] = []
    shift = is_whole_from_zero(draft, n)
    if shift:
        repairs.append("indices counted from 0 were read as counted from 1")
    owner: dict[int, int] = {}
    for number, dimension in enumerate(draft.dimensions, 1):
        repairs += [f"criterion {number}: dropped {value}, which is not an index" for value in dimension.unreadable]
        for index in (index + shift for index in dimension.indices):
            if not 1 <= index <= n:
                repairs.append(f"criterion {number}: dropped index {index}, which does not exist")
            elif index in owner:
                repairs.append(f"criterion {number}: dropped index {index}, which was assigned before")
            else:
                owner[index] = number
    # Nearness is to what the generator assigned, not to what was placed a moment ago.
    assigned = sorted(owner)
    missing = [index for index in range(1, n + 1) if index not in owner] if assigned else []
    for index in missing:
        owner[index] = owner[min(assigned, key=lambda other: abs(other - index))]
        repairs.append(f"criterion {owner[index]}: given index {index}, which was left out")
    if not repairs:
        return draft, ()
    dimensions = tuple(
        replace(dimension, indices=tuple(sorted(i for i, one in owner.items() if one == number)), unreadable=())
        for number, dimension in enumerate(draft.dimensions, 1)
    )
    return replace(draft, dimensions=dimensions), tuple(repairs)
