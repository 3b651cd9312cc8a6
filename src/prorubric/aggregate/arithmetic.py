"""The formulas, one response at a time, in plain Python. `batch` computes the same, to the last bit, over arrays.

Terms are added in ascending order, not in the order of the criteria. Floating-point addition depends on its order, and
a reward must not depend on the order in which the criteria are listed. Ascending order also keeps the sum
monotone: a response that complies with one more criterion never scores less, not even by a rounding error.
"""

from collections.abc import Iterable, Sequence

from prorubric.errors import SchemeError


def add_ascending(terms: Iterable[float]) -> float:
    """The sum of the terms, added from the lowest to the highest."""
    total = 0.0
    for term in sorted(terms):
        total += term
    return total


def clip(value: float) -> float:
    """The value, but not below 0 and not above 1."""
    return min(max(value, 0.0), 1.0)


def hold_together(verdicts: Sequence[float], penalties: Sequence[bool], groups: Sequence[Sequence[int]]) -> list[float]:
    """For each group 1.0 if all of its criteria comply, else 0.0: a penalty complies when its verdict is false.

    Groups list 0-based positions of verdicts.
    """
    return [float(all(bool(verdicts[i]) != penalties[i] for i in group)) for group in groups]


def overlong_penalty(tokens: float, limit: float, buffer: float, factor: float) -> float:
    """What length costs: nothing up to `limit - buffer` tokens, then linearly more, up to `factor` at `limit`."""
    if not (0 < buffer <= limit and factor >= 0):
        raise SchemeError(
            f"overlong penalty with limit {limit}, buffer {buffer}, factor {factor}: "
            "the buffer must lie above 0 and not above the limit, the factor not below 0"
        )
    return factor * min(max((tokens - (limit - buffer)) / buffer, 0.0), 1.0)
