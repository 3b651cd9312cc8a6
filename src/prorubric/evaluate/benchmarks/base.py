"""What a benchmark is, and how the rows of its files become items.

A row that cannot be read is a `SourceError` with its file and line, and so is a duplicate id: a score over the rest
would not be the benchmark's. What a benchmark leaves out on purpose is counted under its reason in `Loaded.left_out`.
Items are ordered by their ids and chosen by a hash of them, so the order of rows changes nothing.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from prorubric.errors import ProRubricError, RubricError, SourceError
from prorubric.evaluate.records import BenchmarkItem, DataFile, Sampling
from prorubric.files.read import read_rows
from prorubric.rubric.records import Message
from prorubric.text.show import is_blank, show


@dataclass(slots=True)
class BenchmarkFiles:
    """The files of a benchmark while it is loaded: their rows, and counts of rows and of what was left out."""

    paths: Mapping[str, Path]
    rows: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def read(self, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The rows of a file with their places."""
        path = self.paths[name]
        for row in read_rows(path):
            place = f"{path}:{row.line}"
            if row.value is None:
                raise row.explain().turn_into(SourceError, place)
            self.rows[name] += 1
            yield place, row.value

    def read_items(
        self, name: str, parse: Callable[[Mapping[str, Any]], Iterable[BenchmarkItem]]
    ) -> list[BenchmarkItem]:
        """The items of a file, ordered by id."""
        found: dict[str, tuple[str, BenchmarkItem]] = {}
        for place, row in self.read(name):
            try:
                for item in parse(row):
                    if item.id in found:
                        detail = f"{item.id}, first in line {found[item.id][0].rpartition(':')[2]}"
                        raise RubricError("an id appears twice", detail, remedy="keep one of the rows")
                    found[item.id] = place, item
            except ProRubricError as error:
                raise error.turn_into(SourceError, place) from None
        if not found:
            raise SourceError(f"{self.paths[name]}: no item is in it; is this the right file?")
        return [found[name][1] for name in sorted(found)]


class PublishedItems(NamedTuple):
    """How many items a published file has, and how long they are, to plan without the file."""

    family: str
    """What their ids begin with."""
    items: int
    criteria: int = 0
    """Of all items together."""
    prompt: int = 1000
    """Characters on average."""
    criterion: int = 200
    """Characters on average."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark: its files, its items, how answers to them are asked for, and what judges them."""

    name: str
    title: str
    domain: str
    files: tuple[DataFile, ...]
    load: Callable[[BenchmarkFiles], list[BenchmarkItem]]
    instrument: str
    """A name in `INSTRUMENTS`."""
    sampling: Sampling
    """The published settings of policies; the project's own where none are published."""
    samples: int = 1
    """How many answers to an item."""
    budget: int | None = None
    """The most tokens of an answer, if all policies get the same."""
    published: tuple[PublishedItems, ...] = ()
    """Empty if there is no published file."""


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file as it was read."""

    name: str
    path: Path
    sha256: str
    rows: int
    is_published: bool | None
    """None if the checksum of the published file is not known."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The items of a benchmark and where they come from."""

    benchmark: Benchmark
    items: tuple[BenchmarkItem, ...]
    pool: int
    """How many items there are without a limit."""
    files: tuple[LoadedFile, ...]
    left_out: Mapping[str, int]
    """What the benchmark has and an evaluation cannot use, by reason."""
    stands_for: int = 1
    """In a plan without the files: how many items each of these stands for."""

    def describe(self) -> dict[str, Any]:
        """What was read: never its text."""
        files = [
            {"name": file.name, "path": str(file.path), "sha256": file.sha256, "rows": file.rows}
            | {"published": file.is_published}
            for file in self.files
        ]
        return {"items": len(self.items), "pool": self.pool, "left_out": dict(self.left_out), "files": files}


def choose(items: Iterable[BenchmarkItem], limit: int | None) -> list[BenchmarkItem]:
    """The items whose ids have the smallest hashes, ordered by id."""
    ordered = sorted(items, key=lambda item: item.id)
    if limit is None:
        return ordered
    hashes = {item.id: hashlib.sha256(item.id.encode(errors="surrogatepass")).digest() for item in ordered}
    kept = {*sorted(hashes, key=hashes.__getitem__)[:limit]}
    return [item for item in ordered if item.id in kept]


def read_text(row: Mapping[str, Any], key: str) -> str:
    """A text that a row must have."""
    value = row.get(key)
    if not isinstance(value, str) or is_blank(value):
        found = f"{key} is {show(value)}" if key in row else f"{key} is missing"
        raise RubricError("a field is not a text", found, remedy="is this the published file?")
    return value


def read_list(row: Mapping[str, Any], key: str) -> list[Any]:
    """A list with at least one entry that a row must have."""
    value = row.get(key)
    if not isinstance(value, list) or not value:
        found = f"{key} is {show(value)}" if key in row else f"{key} is missing"
        raise RubricError("a field is not a list with entries", found, remedy="is this the published file?")
    return value


def read_tags(row: Mapping[str, Any], **keys: str) -> tuple[str, ...]:
    """Tags such as `domain:Biology` from the fields that a row has."""
    return tuple(f"{tag}:{row[key]}" for tag, key in keys.items() if isinstance(row.get(key), str) and row[key])


def ask(text: str) -> tuple[Message, ...]:
    """A prompt of one turn."""
    return (Message(role="user", content=text),)
