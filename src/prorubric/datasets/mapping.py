"""Mappings: a small file that says where a row of any shape has its prompt, its criteria and their parts.

A path is a list of keys with dots between them. `*` stands for every key of an object or every entry of a list, and
`{key}` for the key that the last `*` of `criteria` met. Inside a criterion paths start at the criterion, `.` is the
criterion itself, and a leading `/` starts at the row. `=text` is a constant, and a path that ends in `?` may lead
nowhere. JSON inside strings is opened on the way.

Nothing is lost: fields of a row that a mapping does not name are kept in `meta`, those of a criterion in its tags, and
both are counted as unused, because a judge sees neither. `drop` leaves fields out on purpose.
"""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from prorubric.errors import ConfigError, InvalidValueError, RubricError, SourceError
from prorubric.rubric.base import Record
from prorubric.text.show import show

MAPPINGS = frozenset(file.name.removesuffix(".yaml") for file in files(__package__).joinpath("mappings").iterdir())
"""The formats that come with a mapping."""

_Paths = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]


def _read_words(value: Any) -> Any:
    """Words with their weights: an object, or pairs such as `high:3`."""
    pairs = [value] if isinstance(value, str) else value
    if not isinstance(pairs, list | tuple):
        return value
    split = [pair.rpartition(":")[::2] if isinstance(pair, str) else pair for pair in pairs]
    for pair, parts in zip(pairs, split, strict=True):
        if not isinstance(parts, list | tuple) or len(parts) != 2 or not parts[0]:
            raise InvalidValueError("not a word with its weight", show(pair), remedy="give pairs such as high:3")
    return dict(split)


_Words = Annotated[dict[str, float], BeforeValidator(_read_words)]


class Flag(Record):
    """A field of a criterion that says whether it describes a behaviour to avoid."""

    at: str
    bad: tuple[str | bool | int, ...]
    """The values that mean a behaviour to avoid; text is compared without case."""


_Polarity = Literal["sign", "wording", "negative"] | Flag


def _refuse_unknown(value: Any, known: Collection[str]) -> None:
    for name in value if isinstance(value, dict) else ():
        if name not in known:
            close = get_close_matches(str(name), known, 1)
            hint = f"did you mean {close[0]}? " if close else ""
            remedy = f"{hint}known: {', '.join(known)}"
            raise InvalidValueError("a mapping has no such field", repr(name), remedy=remedy)


class CriteriaAt(Record):
    """One place with criteria; its settings override those of the mapping."""

    at: str
    text: _Paths | None = None
    weight: _Paths | None = None
    words: _Words | None = None
    polarity: _Polarity | None = None
    group: str | None = None
    levels: _Paths | None = None
    met: str | None = None
    tags: _Paths | None = None

    @model_validator(mode="before")
    @classmethod
    def _names_are_known(cls, value: Any) -> Any:
        _refuse_unknown(value, cls.model_fields)
        return value


def _list_places(value: Any) -> Any:
    places = value if isinstance(value, list | tuple) else [value]
    return [{"at": place} if isinstance(place, str) else place for place in places]


class RowMapping(Record):
    """Where the parts of a task are in a row."""

    rows: str | None = None
    """Where the rows are, if the file is one object: a list, or an object by name (its `key`)."""

    prompt: _Paths
    """The prompt: text or messages; several are joined, with an empty line between them."""
    system: str | None = None
    """Text that becomes a system message in front of the prompt."""
    criteria: Annotated[tuple[CriteriaAt, ...], BeforeValidator(_list_places), Field(min_length=1)]
    """The criteria: a list, lists or criteria by name (`rubric.*`), or text with one item per line; or several."""
    split_at: Annotated[str, Field(min_length=1)] | None = None
    """Separator of the criteria in a text with several, such as `;`."""
    text: _Paths = (".",)
    """The parts of a criterion's text, joined by a colon."""
    weight: _Paths = ()
    """The weight; several numbers are multiplied, without one each criterion weighs 1. `weight?` may be missing."""
    words: _Words = Field(default_factory=dict)
    """Weights of words, such as `high: 3`."""
    shares: bool = False
    """Siblings share the weight of their parent, so the weights of a task add up to 1."""
    children: str | None = None
    """In a tree of criteria, the field with the children of a node; the leaves are the criteria."""
    polarity: _Polarity = "sign"
    """What makes a criterion a behaviour to avoid: a negative weight, its wording, a field; `negative`: all are."""
    group: str | None = None
    """The name of the group that a criterion belongs to; kept as the tag `dimension:NAME`."""
    dimensions: bool = False
    """Make the groups the dimensions of the task."""
    levels: _Paths = ()
    """Descriptions of levels, by name (an object), in order (a list), or several fields (`score*`)."""
    met: str | None = None
    """The level at which a criterion holds; without it, the highest number, or else the last."""
    id: str | None = None
    reference: _Paths = ()
    domain: str | None = None
    source: str | None = None
    tags: _Paths = ()
    """Fields of a criterion that become tags and are not counted as unused."""
    meta: _Paths = ()
    """Fields of the row that are kept in `meta` and not counted as unused."""
    response: _Paths = ()
    """Answers in the row, for `convert --responses`; what `*` matches is the name of the model."""
    verdict: str | None = None
    """A judge's verdict on a criterion, for `convert --verdicts`; with several answers, by the same `*`."""
    label: str | None = None
    """People's labels on a criterion, one or a list, for `convert --labels`; with several answers, by the same `*`."""
    drop: _Paths = ()
    """Fields of the row, or of a criterion, that are left out on purpose."""
    fits: _Paths = ()
    """Paths that a row must have for this mapping to be chosen automatically."""

    @model_validator(mode="before")
    @classmethod
    def _names_are_known(cls, value: Any) -> Any:
        _refuse_unknown(value, cls.model_fields)
        if missing := [name for name in ("prompt", "criteria") if name not in value]:
            raise InvalidValueError(f"a mapping needs {' and '.join(missing)}", remedy="say where a row has them")
        return value

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        if self.dimensions and not self.group:
            raise InvalidValueError("dimensions are made of groups, and there is no group", remedy="add group")
        if self.met is not None and not self.levels:
            raise InvalidValueError("met names a level, and there are no levels", remedy="add levels")
        if "=" in self.prompt:
            raise InvalidValueError("the prompt is an empty constant", remedy="write it after the =, or give its path")
        return self

    @property
    def at(self) -> str:
        """The place of the criteria, if there is one."""
        return self.criteria[0].at

    def split(self) -> tuple["RowMapping", ...]:
        """A mapping for each place with criteria, with what holds only there."""
        given = [{name: value for name, value in one if name != "at" and value is not None} for one in self.criteria]
        return tuple(
            self.model_copy(update={"criteria": (one,), **own}) for one, own in zip(self.criteria, given, strict=True)
        )


def load_mapping(given: tuple[str, ...]) -> RowMapping:
    """A mapping from a file, from `key=path` pairs, or from a file and pairs that change it."""
    fields: dict[str, Any] = {}
    for part in given:
        key, equals, path = part.partition("=")
        if equals and key in RowMapping.model_fields:
            fields[key] = tuple(path.split("+")) if "+" in path else path
        elif equals and not Path(part).exists():
            close = get_close_matches(key, RowMapping.model_fields, 1)
            hint = f"did you mean {close[0]}? " if close else ""
            known = ", ".join(RowMapping.model_fields)
            raise ConfigError(f"--map {part}: a mapping has no field {key!r}; {hint}known: {known}")
        else:
            file = Path(part)
            if not file.is_file():
                raise ConfigError(f"--map {file}: no such file; give a mapping file, or pairs such as prompt=question")
            from prorubric.files.yaml_rows import read_yaml  # noqa: PLC0415 - most runs need no mapping

            rows = list(read_yaml(file, file.read_text("utf-8")))
            if len(rows) != 1 or rows[0].value is None:
                raise SourceError(f"{file}: a mapping is one object, with prompt and criteria; found {len(rows)} rows")
            fields = rows[0].value | fields
    return make_mapping(fields, "--map")


def make_mapping(fields: Mapping[str, Any], place: str) -> RowMapping:
    """A mapping from its fields; raises `ConfigError` in one line."""
    try:
        return RowMapping(**fields)
    except RubricError as error:
        raise error.turn_into(ConfigError, place) from None


@cache
def load_built_in(name: str) -> RowMapping:
    """One of the mappings that come with the package."""
    import yaml  # noqa: PLC0415 - most files need no mapping

    text = files(__package__).joinpath("mappings", f"{name}.yaml").read_text("utf-8")
    return make_mapping(yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)), name)  # noqa: S506 - both are safe
