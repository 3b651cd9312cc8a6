"""The formats that rubric files come in: a module here, or a mapping in `datasets/mappings`, named like the format.

A format that a mapping can describe needs only that file and its name in `Format`; one that needs code is a module with
`NAME`, `fits` and `parse`.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, Protocol, cast, get_args

from prorubric.datasets.mapped import MappedSource
from prorubric.datasets.mapping import MAPPINGS, load_built_in
from prorubric.rubric.records import Task

Format = Literal[
    "auto",
    # In the order in which they are tried: the ones with unmistakable columns first.
    "tasks",
    "healthbench",
    "scholarqa",
    "prbench",
    "rar",
    "rubrichub",
    "verl",
    "trl",
    "researchqa",
    "deepresearch",
    "vitabench",
    "rubriceval",
    "writingbench",
    "paperbench",
    "healthbench-meta",
    "advancedif",
    "profbench",
    "researchrubrics",
    "infobench",
    "wildchecklists",
    "biggen",
    "multichallenge",
    "frontierscience",
    "plawbench",
    "openrubrics",
    "rubrichub-sft",
    "plain",
]
FORMATS: tuple[str, ...] = get_args(Format)


class Source(Protocol):
    """What reads the rows of one format."""

    NAME: str
    USED: frozenset[str]
    """The columns that it reads, in lower case; others may be kept in `meta`, which no judge sees."""

    def fits(self, row: Mapping[str, Any]) -> bool:
        """True for a row of this format: by its columns, not its values."""

    def parse(self, row: Mapping[str, Any]) -> Task:
        """One row as a task; raises `RubricError` for a row that cannot be read."""


def make_source(name: str) -> Source:
    """The source of a format; one that is described by a mapping counts what it does not use, so it is made anew."""
    if name in MAPPINGS:
        return MappedSource(load_built_in(name), name)
    return cast("Source", import_module(f"{__name__}.{name}"))
