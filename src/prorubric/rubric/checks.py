"""Checks: what a program can decide about an answer without a judge, such as its length or whether it is JSON.

A check is an object of rules, all of which must hold: `{"min_words": 50, "max_words": 100}`. A rule that is not known,
or has a value that it cannot have, is refused on entry. No rule takes long: patterns are RE2's, whose time grows with
the length of the answer and no faster. The rule `python` calls a function that a file names, so the caller says whether
that is allowed; if the function fails, or gives anything but true or false, the verdict is unknown.
"""

import json
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, JsonValue, model_serializer, model_validator

from prorubric.errors import ConfigError, InvalidValueError
from prorubric.rubric.base import Record
from prorubric.rubric.json_schema import check_schema, fits_schema
from prorubric.rubric.verdict import Unknown
from prorubric.text.sentences import is_prose, split_sentences
from prorubric.text.show import is_blank, shorten
from prorubric.text.words import count_words

FAILED = "check failed"
"""The kind of an unknown verdict whose function failed, or was not called."""

_NOT_CALLED = "was not called: functions that a file names need python_checks"
_Count = Annotated[int, Field(strict=True, ge=0)]


def _check_regex(pattern: str) -> str:
    try:
        _matches(pattern, "")
    except ValueError as error:
        said = shorten(str(error).removeprefix("Invalid regular expression: "), 100)
        raise InvalidValueError("not a regular expression of RE2", said, remedy="RE2 has no look-around") from None
    return pattern


def _check_contained(texts: str | tuple[str, ...]) -> str | tuple[str, ...]:
    if not texts or any(map(is_blank, [texts] if isinstance(texts, str) else texts)):
        raise InvalidValueError("a text to look for is blank", remedy="give a text, or a list of texts")
    return texts


def _check_name(name: str) -> str:
    module, _, function = name.partition(":")
    if not function.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise InvalidValueError("not the name of a function", remedy="write pkg.module:function")
    return name


def _check_json(schema: JsonValue) -> JsonValue:
    if isinstance(schema, dict):
        check_schema(schema)
    elif schema is not True and schema is not None:
        raise InvalidValueError("json is neither true nor a schema", remedy="write true, or a JSON schema")
    return schema


class Check(Record):
    """Rules that an answer keeps or breaks; it holds if all of them are kept."""

    regex: Annotated[str, AfterValidator(_check_regex)] | None = None
    """A pattern of RE2 that occurs in the answer."""
    contains: Annotated[str | tuple[str, ...], AfterValidator(_check_contained)] | None = None
    """A text, or texts, that all occur in the answer; capitals do not matter."""
    max_words: _Count | None = None
    min_words: _Count | None = None
    max_sentences: _Count | None = None
    min_sentences: _Count | None = None
    is_json: Annotated[JsonValue, AfterValidator(_check_json), Field(alias="json")] = None
    """True if the whole answer must be JSON, or a JSON schema that it must fit."""
    python: Annotated[str, AfterValidator(_check_name)] | None = None
    """A function, `pkg.module:function`, that is given the answer and returns true or false."""

    @model_validator(mode="before")
    @classmethod
    def _know_the_rules(cls, rules: object) -> object:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        if isinstance(rules, cls):
            return rules
        if not isinstance(rules, Mapping) or not any(rule is not None for rule in rules.values()):
            raise InvalidValueError("a check is an object of rules", remedy=f"give at least one of {', '.join(known)}")
        for name in rules:
            if name not in known and name not in cls.model_fields:
                close = get_close_matches(str(name), known, 1)
                remedy = f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"
                raise InvalidValueError("no check has this name", repr(name), remedy=remedy)
        return rules

    @model_validator(mode="after")
    def _can_be_kept(self) -> Self:
        for unit in ("words", "sentences"):
            least, most = getattr(self, f"min_{unit}"), getattr(self, f"max_{unit}")
            if least is not None and most is not None and least > most:
                raise InvalidValueError("the minimum is above the maximum", f"{least} and {most} {unit}")
        return self

    @property
    def rules(self) -> dict[str, Any]:
        """The rules by their names in files."""
        values = {field.alias or name: getattr(self, name) for name, field in type(self).model_fields.items()}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value is not None
        }

    @model_serializer
    def _render(self) -> dict[str, Any]:
        return self.rules


def run_check(check: Check, answer: str, *, python: bool) -> tuple[bool | Unknown, str]:
    """Whether an answer keeps all rules of a check, and which rule decided; `python` if functions may be called."""
    unknown = None
    for name, value in check.rules.items():
        if name == "python":
            kept = _call(value, answer) if python else Unknown(f"the check {value} {_NOT_CALLED}", kind=FAILED)
        else:
            kept = _RULES[name](value, answer)
        if kept is False:
            return False, f"check: {name} {shorten(str(value))} does not hold"
        unknown = kept if isinstance(kept, Unknown) else unknown
    return (True if unknown is None else unknown), f"check: {', '.join(check.rules)}"


@cache
def import_function(name: str) -> Callable[[str], object]:
    """The function that `pkg.module:function` names; `ConfigError` if there is none."""
    module, _, function = name.partition(":")
    try:
        found = getattr(import_module(module), function)
    except Exception as error:
        hint = "; is its folder on PYTHONPATH?" if isinstance(error, ModuleNotFoundError) else ""
        raise ConfigError(f"the check {name!r} cannot be imported", f"{shorten(str(error))}{hint}") from error
    if not callable(found):
        raise ConfigError(f"the check {name!r} is not a function", type(found).__name__)
    return found  # type: ignore[no-any-return]


def _call(name: str, answer: str) -> bool | Unknown:
    try:
        said = import_function(name)(answer)
    except Exception as error:  # noqa: BLE001 - it becomes a record
        return Unknown(f"the check {name} raised {type(error).__name__}: {shorten(str(error))}", kind=FAILED)
    if isinstance(said, bool):
        return said
    return Unknown(f"the check {name} gave {shorten(repr(said))}, not true or false", kind=FAILED)


def _matches(pattern: str, answer: str) -> bool:
    import pyarrow as pa  # noqa: PLC0415 - slow to load, and rarely needed
    import pyarrow.compute as pc  # noqa: PLC0415

    # RE2 reads UTF-8, which has no half of a surrogate pair.
    whole = answer.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return bool(pc.match_substring_regex(pa.array([whole]), pattern)[0].as_py())


def _is_json(schema: Any, answer: str) -> bool:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    try:
        value = json.loads(answer, parse_constant=refuse)
    except (ValueError, RecursionError):
        return False
    return schema is True or fits_schema(value, schema)


def _count_sentences(answer: str) -> int:
    return sum(map(is_prose, split_sentences(answer)))


_RULES: dict[str, Callable[[Any, str], bool]] = {
    "regex": _matches,
    "contains": lambda texts, answer: all(
        text.casefold() in answer.casefold() for text in ([texts] if isinstance(texts, str) else texts)
    ),
    "max_words": lambda most, answer: count_words(answer) <= most,
    "min_words": lambda least, answer: count_words(answer) >= least,
    "max_sentences": lambda most, answer: _count_sentences(answer) <= most,
    "min_sentences": lambda least, answer: _count_sentences(answer) >= least,
    "json": _is_json,
}
