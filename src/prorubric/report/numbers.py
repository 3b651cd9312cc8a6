"""How pages show numbers: with a true minus sign, and a dash for what is not known."""

from collections.abc import Callable, Mapping

UNKNOWN = "–"


def signed(value: float | None, digits: int = 1) -> str:
    """A change, with its sign."""
    if value is None:
        return UNKNOWN
    text = f"{value:+.{digits}f}"
    return plain(0.0, digits) if float(text) == 0 else text.replace("-", "−")


def plain(value: float | None, digits: int = 1) -> str:
    """A figure."""
    return UNKNOWN if value is None else f"{value:.{digits}f}".replace("-", "−")


def percent(value: float | None) -> str:
    """A share."""
    return UNKNOWN if value is None else f"{value:.0%}".replace("-", "−")


def interval(low: float | None, high: float | None, show: Callable[[float | None], str] = signed) -> str:
    """The ends of an interval, joined by a word because a dash would look like a minus sign."""
    return "" if low is None or high is None else f"{show(low)} to {show(high)}"


def in_percent(share: float | None) -> float | None:
    """A share × 100."""
    return None if share is None else 100 * share


def join_counts(counts: Mapping[str, int]) -> str:
    """Counts by name, on one line."""
    return ", ".join(f"{name} {number}" for name, number in counts.items())
