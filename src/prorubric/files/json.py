"""JSON as real files hold it, read and written without losing anything."""

import json
import math
from typing import Any

import orjson

from prorubric.errors import RubricError
from prorubric.text.show import show

# Six times as fast as an expression: every digit becomes a 0, and twenty of them are looked for.
_DIGITS_AS_ZEROS = bytes(ord("0") if chr(byte).isdecimal() else byte for byte in range(256))


def parse_json(text: bytes | str) -> Any:
    """JSON as real files hold it: NaN, lone surrogates and long integers too, for the records to refuse or keep."""
    try:
        # orjson silently rounds an integer of more than 64 bits to a float.
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        return (json if b"0" * 20 in data.translate(_DIGITS_AS_ZEROS) else orjson).loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


def render_json(value: object) -> bytes:
    """One line of JSON that `parse_json` gives back exactly; text that UTF-8 cannot hold is escaped."""
    try:
        text = orjson.dumps(value)
    except TypeError:
        text = json.dumps(value).encode("ascii")
    # orjson writes null for NaN and infinities.
    if (b"null" in text or b"NaN" in text or b"Infinity" in text) and not _is_finite(value):
        raise RubricError("NaN and infinities are not JSON", show(value), remedy="write text, or leave them out")
    return text


def _is_finite(value: object) -> bool:
    if isinstance(value, dict | list | tuple):
        return all(map(_is_finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)
