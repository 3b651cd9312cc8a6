"""A small part of JSON Schema: enough to say which fields an answer has, and of which type and size.

A keyword that is not in `_KEYWORDS` is refused, since a schema that is read in part lets wrong answers pass.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from prorubric.errors import InvalidValueError
from prorubric.text.show import show

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: _TYPES["number"](value) and value == value // 1,
}
_COMMENTS = ("$schema", "title", "description", "default", "examples")


def _is_size(value: object) -> bool:
    return _TYPES["integer"](value) and value >= 0  # type: ignore[operator]


def _equals(one: Any, other: Any) -> bool:
    """As in JSON, where true is not 1."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equals, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equals(one[key], other[key]) for key in one)
    return one == other and isinstance(one, bool) == isinstance(other, bool)


# Each keyword: whether its own value is right, the type of values it is about (None: any), whether one of them fits.
_KEYWORDS: dict[str, tuple[Callable[[Any], bool], str | None, Callable[[Any, Any], bool]]] = {
    "type": (
        lambda given: bool(given) and all(name in _TYPES for name in ([given] if isinstance(given, str) else given)),
        None,
        lambda given, value: any(_TYPES[name](value) for name in ([given] if isinstance(given, str) else given)),
    ),
    "enum": (
        lambda given: isinstance(given, list),
        None,
        lambda given, value: any(_equals(one, value) for one in given),
    ),
    "const": (lambda _: True, None, _equals),
    "required": (
        lambda given: isinstance(given, list) and all(isinstance(part, str) for part in given),
        "object",
        lambda given, value: all(key in value for key in given),
    ),
    "minLength": (_is_size, "string", lambda given, value: len(value) >= given),
    "maxLength": (_is_size, "string", lambda given, value: len(value) <= given),
    "minItems": (_is_size, "array", lambda given, value: len(value) >= given),
    "maxItems": (_is_size, "array", lambda given, value: len(value) <= given),
    "minimum": (_TYPES["number"], "number", lambda given, value: value >= given),
    "maximum": (_TYPES["number"], "number", lambda given, value: value <= given),
    "items": (_TYPES["object"], "array", lambda given, value: all(fits_schema(part, given) for part in value)),
    "properties": (
        lambda given: isinstance(given, dict) and all(isinstance(part, dict) for part in given.values()),
        "object",
        lambda given, value: all(fits_schema(value[key], part) for key, part in given.items() if key in value),
    ),
    "additionalProperties": (lambda given: isinstance(given, bool), None, lambda _given, _value: True),
}


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise `InvalidValueError` if a schema has a keyword that is not known, or one with a wrong value."""
    for name, given in schema.items():
        if name in _COMMENTS:
            continue
        if name not in _KEYWORDS:
            close = get_close_matches(name, _KEYWORDS, 1)
            remedy = f"did you mean {close[0]}?" if close else f"known: {', '.join(_KEYWORDS)}"
            raise InvalidValueError("the schema has an unknown keyword", repr(name), remedy=remedy)
        try:
            is_right = _KEYWORDS[name][0](given)
        except TypeError:
            is_right = False
        if not is_right:
            raise InvalidValueError("a keyword of the schema has a wrong value", f"{name}: {show(given)}")
        for part in [given] if name == "items" else given.values() if name == "properties" else ():
            check_schema(part)


def fits_schema(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value fits a schema that was checked."""
    is_closed = schema.get("additionalProperties") is False and isinstance(value, dict)
    if is_closed and not value.keys() <= schema.get("properties", {}).keys():
        return False
    for name, given in schema.items():
        if name in _KEYWORDS:
            _, kind, fits = _KEYWORDS[name]
            if (kind is None or _TYPES[kind](value)) and not fits(given, value):
                return False
    return True
