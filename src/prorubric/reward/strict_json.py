"""JSON from untrusted clients, accepted only if every parser would read it the same way.

`RubricError` says in one line what is ambiguous: a duplicate key, NaN, a number that overflows, an encoding other than
UTF-8, nesting too deep for some parsers.
"""

import json
from collections import Counter
from math import isfinite
from typing import Any

import orjson

from prorubric.errors import RubricError
from prorubric.text.show import shorten

_DEEPEST = 250
_TOO_DEEP = f"it is nested more than {_DEEPEST} levels deep; send it flatter"


def parse_strict_json(text: bytes) -> Any:
    """The value of a text; `json.JSONDecodeError` if it is not JSON at all."""
    hooks: dict[str, Any] = {"parse_float": _parse_finite, "parse_constant": _parse_finite}
    try:
        value = json.loads(text.decode(), object_pairs_hook=refuse_repeated_keys, **hooks)
    except json.JSONDecodeError:
        raise
    except UnicodeDecodeError as error:
        raise RubricError(f"byte {error.start + 1} is not UTF-8; send JSON in UTF-8") from None
    except RecursionError:
        raise RubricError(_TOO_DEEP) from None
    except ValueError:
        raise RubricError("an integer has thousands of digits; send it as text") from None
    try:
        orjson.dumps(value)  # the fastest way to find out how deep it is nested
    except TypeError:  # too deep for it, or a long integer, or a lone surrogate
        level = [value]
        for _ in range(_DEEPEST):
            level = [one for held in level for one in (held.values() if isinstance(held, dict) else held)]
            level = [one for one in level if isinstance(one, dict | list)]
        if level:
            raise RubricError(_TOO_DEEP) from None
    return value


def refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `object_pairs_hook`: the object, if each key occurs once."""
    value = dict(pairs)
    if len(value) < len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise RubricError(f"the key {shorten(repr(key))} appears twice in one object; send it once")
    return value


def _parse_finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise RubricError(f"{shorten(text)} is not a number in JSON; send a finite one, or null")
    return value
