"""How pages show numbers: with a true minus sign, and a dash for what is not known."""

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


def interval(low: float | None, high: float | None) -> str:
    """The ends of an interval, joined by a word because a dash would look like a minus sign."""
    return "" if low is None or high is None else f"{signed(low)} to {signed(high)}"
