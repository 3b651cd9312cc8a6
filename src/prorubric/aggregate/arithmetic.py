"""What length costs, as trainers shape it."""

from prorubric.errors import SchemeError


def overlong_penalty(tokens: float, limit: float, buffer: float, factor: float) -> float:
    """What length costs: nothing up to `limit - buffer` tokens, then linearly more, up to `factor` at `limit`."""
    if not (0 < buffer <= limit and factor >= 0):
        raise SchemeError(
            f"overlong penalty with limit {limit}, buffer {buffer}, factor {factor}: "
            "the buffer must lie above 0 and not above the limit, the factor not below 0"
        )
    return factor * min(max((tokens - (limit - buffer)) / buffer, 0.0), 1.0)
