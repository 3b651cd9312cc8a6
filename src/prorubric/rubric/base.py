"""The base of every record: frozen, validated once, with one-line errors.

Pydantic does the checking. What it reports over several lines becomes one `RubricError` that names the record, the
field, the value and what is allowed, because users see it in the middle of a run.
"""

from collections.abc import Mapping
from dataclasses import asdict
from functools import wraps
from typing import Any, TypeVar, dataclass_transform

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.dataclasses import dataclass

from prorubric.errors import ConfigError, InvalidValueError, RubricError
from prorubric.text.show import show

ConfigT = TypeVar("ConfigT")


class Record(BaseModel):
    """A frozen record that raises `RubricError` where pydantic would raise `ValidationError`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, /, **data: Any) -> None:
        # The body of pydantic's own `__init__`, without the extra call: files hold millions of these.
        try:
            self.__pydantic_validator__.validate_python(data, self_instance=self)
        except ValidationError as error:
            raise explain_invalid(error).turn_into(RubricError, type(self).__name__) from None


@dataclass_transform(frozen_default=True)
def config_record(cls: type[ConfigT]) -> type[ConfigT]:
    """A frozen dataclass for the options of a verb, checked on entry; a wrong one is a `ConfigError` in one line."""
    made = dataclass(frozen=True, config=ConfigDict(extra="forbid"))(cls)
    # The order of the options in --help, and of positional arguments: the record's own before those it inherits.
    parts = made.__dataclass_fields__
    order = sorted(parts, key=lambda name: (parts[name].kw_only, name not in cls.__annotations__))
    made.__dataclass_fields__ = {name: parts[name] for name in order}
    check = made.__init__

    @wraps(check)
    def __init__(self: object, /, *args: Any, **options: Any) -> None:  # noqa: N807 - it is one
        try:
            check(self, *args, **options)
        except ValidationError as error:
            raise explain_invalid(error).turn_into(ConfigError, cls.__name__) from None

    made.__init__ = __init__  # type: ignore[assignment]
    return made  # type: ignore[return-value]


def explain_invalid(error: ValidationError) -> InvalidValueError:
    """The first fault of a validation error and the places of the others, as one error with fields."""
    first, *others = error.errors(include_url=False)
    refused = read_fault(first)
    place, detail = ": ".join(filter(None, (_render_place(first["loc"]), refused.place))), refused.detail
    # A check that looks at the whole record names the value itself; the record's repr would say it worse.
    if not detail and place and first["type"] != "missing":
        detail = f"got {show(first['input'])}"
    also = ", ".join(dict.fromkeys(_render_place(fault["loc"]) for fault in others))
    remedy = "; ".join(filter(None, (refused.remedy, f"also wrong: {also}" if also else "")))
    return InvalidValueError(refused.kind, detail, remedy=remedy, place=place)


def read_fault(fault: Mapping[str, Any]) -> InvalidValueError:
    """What a validator raised, or else pydantic's own words, for one entry of `ValidationError.errors()`."""
    cause = fault.get("ctx", {}).get("error")
    if isinstance(cause, InvalidValueError):
        return cause
    return InvalidValueError(str(cause) if isinstance(cause, ValueError) else fault["msg"])


def split_commas(value: object) -> object:
    """For options that list names: `a,b`, `("a", "b")` and `("a,b",)` mean the same. Other values stay as they are."""
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        return value
    return tuple(
        name.strip() if isinstance(name, str) else name
        for part in parts
        for name in (part.split(",") if isinstance(part, str) else [part])
        if name != ""
    )


def render_config(config: Any) -> dict[str, Any]:
    """The options of a verb as JSON, for its run folder. No key is among them: keys live in the environment."""
    rendered: dict[str, Any] = orjson.loads(orjson.dumps(asdict(config), default=str))
    return rendered


def _render_place(loc: tuple[int | str, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc).removeprefix(".")
