"""Text inside messages: on one line, cut to length, counted, and never blank."""

_SHOWN_CHARACTERS = 60


def shorten(text: str, length: int = _SHOWN_CHARACTERS) -> str:
    """Text on one line, cut to `length` characters, for use inside a message."""
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1] + "…"


def show(value: object) -> str:
    """A value as Python writes it, on one line and cut to length."""
    return shorten(repr(value))


def count(number: int, noun: str) -> str:
    """A number with its noun: 1 task, 1,200 tasks, 3 criteria, 2 replies."""
    plural = "criteria" if noun == "criterion" else f"{noun[:-1]}ies" if noun.endswith(("ly", "ry")) else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def is_blank(text: str) -> bool:
    """True if the text has nothing to read: white space, zero-width marks, control characters."""
    first = text.lstrip()[:1]
    if first and first.isprintable():  # nearly always, and three times as fast
        return False
    return not any(character.isprintable() and not character.isspace() for character in text)
