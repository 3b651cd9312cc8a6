"""The formats that rubric files come in: one module each, named like the format.

A new format is a module here with `NAME`, `fits` and `parse`, and its name in `Format`.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, Protocol, cast, get_args

from prorubric.rubric.records import Task

Format = Literal[
    "auto",
    # In the order in which they are tried: the ones with unmistakable columns first.
    "tasks",
    "healthbench",
    "scholarqa",
    "researchqa",
    "rar",
    "rubrichub",
    "verl",
    "trl",
    "plain",
]
FORMATS: tuple[str, ...] = get_args(Format)


class Source(Protocol):
    """What a module of this package offers."""

    NAME: str

    def fits(self, row: Mapping[str, Any]) -> bool:
        """True for a row of this format: by its columns, not its values."""

    def parse(self, row: Mapping[str, Any]) -> Task:
        """One row as a task; raises `RubricError` for a row that cannot be read."""


SOURCES: dict[str, Source] = {
    name: cast("Source", import_module(f"{__name__}.{name}")) for name in FORMATS if name != "auto"
}
