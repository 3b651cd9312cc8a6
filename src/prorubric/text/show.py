"""Text inside messages: on one line, cut to length, and never blank."""

_SHOWN_CHARACTERS = 60


def shorten(text: str, length: int = _SHOWN_CHARACTERS) -> str:
    """Text on one line, cut to `length` characters, for use inside a message."""
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1] + "…"


def show(value: object) -> str:
    """A value as Python writes it, on one line and cut to length."""
    return shorten(repr(value))


def is_blank(text: str) -> bool:
    """True if the text has nothing to read: white space, zero-width marks, control characters."""
    return not any(character.isprintable() and not character.isspace() for character in text)
