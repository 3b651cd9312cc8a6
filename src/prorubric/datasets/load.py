"""`load_tasks` and `load_responses`: a stream of records from a file or a Hugging Face dataset, in constant memory.

A row that cannot be read is a `Reject` with its line and reason, and the rest loads; `strict=True` stops at the
first. Nobody loses rows without a word: where no `on_reject` is given, the rejects are kept on the stream and a
warning counts them at the end.
"""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

from prorubric.datasets.hub import is_hub_id, read_hub
from prorubric.datasets.responses import parse_response
from prorubric.datasets.sources import healthbench, plain, rar, researchqa, rubrichub, scholarqa, tasks, trl, verl
from prorubric.errors import ConfigError, RowError, RubricError, SourceError
from prorubric.files.read import TABLES, Row, describe_instead_of_rows, read_rows
from prorubric.rubric.records import Response, Rubric, Task

Format = Literal["auto", "tasks", "healthbench", "rubrichub", "rar", "scholarqa", "researchqa", "verl", "trl", "plain"]
Subset = Literal["all", "consensus", "example"]

# In the order in which they are tried: the ones with unmistakable columns first.
_SOURCES: dict[str, Any] = {
    source.NAME: source for source in (tasks, healthbench, scholarqa, researchqa, rar, rubrichub, verl, trl, plain)
}
FORMATS = ("auto", *_SOURCES)

_ROWS_TO_RECOGNISE = 20

# Where in a row a fault lies, as in "criterion 3: Criterion: weight: "; no part of the reason.
_PLACE = re.compile(r"^(?:[\w.]+(?: \d+)?: )+")
_POSITION = re.compile(r"\b(criterion|dimension|message|index) \d+")
_PARTICULARS = re.compile(r"\s*[:;(].*", re.DOTALL)

RecordT = TypeVar("RecordT", Task, Response)


class RejectWarning(UserWarning):
    """Rows of a file could not be read and nobody asked to be told of them."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that could not be read, and why."""

    path: str
    line: int
    """0 where the reason is not one row's."""
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}" if self.line else f"{self.path}: {self.reason}"


@dataclass
class Stream(Generic[RecordT]):
    """Records, one at a time, and the count of what was left out. Iterate over it once."""

    path: str
    _rows: Iterable[Row]
    _parse: Callable[[Mapping[str, Any]], RecordT | None]
    strict: bool = False
    on_reject: Callable[[Reject], None] | None = None
    read: int = 0
    line: int = 0
    """The line of the row that was read last."""
    loaded: int = 0
    skipped: int = 0
    """Rows that are fine and hold nothing of the chosen subset."""
    rejects: list[Reject] = field(default_factory=list)
    """What could not be read; stays empty where `on_reject` takes the rejects."""

    def __iter__(self) -> Iterator[RecordT]:
        for row in self._rows:
            self.read, self.line = self.read + 1, row.line
            record = self._read(row)
            if record is not None:
                self.loaded += 1
                yield record
        if self.rejects and self.on_reject is None:
            first = f"{self.rejects[0]}"
            warnings.warn(
                f"{len(self.rejects)} rows of {self.path} rejected, first: {first}", RejectWarning, stacklevel=2
            )

    def _read(self, row: Row) -> RecordT | None:
        if row.value is None:
            self._reject(Reject(self.path, row.line, row.fault or "the row is empty; remove it"))
            return None
        try:
            record = self._parse(row.value)
        except RubricError as error:
            self._reject(Reject(self.path, row.line, str(error)))
            return None
        except RecursionError:
            self._reject(Reject(self.path, row.line, "the row is nested too deeply to be read; flatten it"))
            return None
        if record is None:
            self.skipped += 1
        return record

    def _reject(self, reject: Reject) -> None:
        if self.strict:
            raise RowError(f"{reject}")
        if self.on_reject is not None:
            self.on_reject(reject)
        else:
            self.rejects.append(reject)


def load_tasks(
    path: str | Path,
    format: Format = "auto",  # noqa: A002 - the name that users write
    *,
    subset: Subset = "all",
    split: str = "train",
    strict: bool = False,
    on_reject: Callable[[Reject], None] | None = None,
) -> Stream[Task]:
    """Read tasks from a file, or from a Hugging Face dataset by its id (`owner/name`, extra `[hub]`).

    `subset` keeps only HealthBench's physician-consensus criteria, or only the others; `split` names the split of a
    dataset on the hub.
    """
    if subset not in get_args(Subset):
        raise ConfigError(f"no subset is called {subset!r}; known: {', '.join(get_args(Subset))}")
    if format not in FORMATS:
        raise SourceError(f"no format is called {format!r}; known: {', '.join(FORMATS)}")
    rows = _open(path, split)
    source = _SOURCES.get(format)
    if _is_table(path) and format in ("auto", plain.NAME):
        rows = plain.gather(rows)
    if source is None:
        source, rows = _recognise(path, rows)
    return Stream(str(path), rows, lambda row: _select(source.parse(row), subset), strict, on_reject)


def load_responses(
    path: str | Path, *, strict: bool = False, on_reject: Callable[[Reject], None] | None = None
) -> Stream[Response]:
    """Read responses from a file. Those without a `sample` are numbered in order within their task."""
    seen: Counter[str] = Counter()
    return Stream(str(path), read_rows(Path(path)), lambda row: parse_response(row, seen), strict, on_reject)


def describe_taken_id(task_id: str) -> str:
    """Why a second task of the same id is not read."""
    return f"the id is taken already; give each its own (got {task_id!r})"


def show_example(path: str | Path) -> str:
    """A row, or a table for a file that is one, that can be read."""
    return plain.EXAMPLE_TABLE if _is_table(path) else plain.EXAMPLE


def count_reasons(rejects: Iterable[Reject]) -> dict[str, int]:
    """How often each reason came up, without place and value, most frequent first."""
    bare = (_PARTICULARS.sub("", _PLACE.sub("", reject.reason)) for reject in rejects)
    kinds = (_POSITION.sub(r"a \1", reason).replace("a index", "an index") for reason in bare)
    return dict(Counter(kinds).most_common())


def _open(path: str | Path, split: str) -> Iterator[Row]:
    if Path(path).is_dir() or (is_hub_id(str(path)) and not Path(path).exists() and not Path(path).parent.is_dir()):
        return read_hub(str(path), split)
    return read_rows(Path(path))


def _is_table(path: str | Path) -> bool:
    return any(suffix.lower() in TABLES for suffix in Path(path).suffixes[-2:])


def _recognise(path: str | Path, rows: Iterator[Row]) -> tuple[Any, Iterator[Row]]:
    """The source whose rows these are, from the first readable row, and all rows again."""
    seen: list[Row] = []
    for row in rows:
        seen.append(row)
        if row.value is not None:
            for source in (plain,) if _is_table(path) else _SOURCES.values():
                if source.fits(row.value):
                    return source, chain(seen, rows)
        if len(seen) == _ROWS_TO_RECOGNISE:
            break
    values = [row.value for row in seen if row.value is not None]
    if values:
        missing = plain.describe_missing(values, _is_table(path))
        other = f"for another layout give --format {'|'.join(_SOURCES)}"
        raise SourceError(f"{path}: {missing}; {show_example(path)}; {other}")
    if seen and (instead := describe_instead_of_rows(Path(path))) is None:
        raise SourceError(
            f"{path}: no readable row; {Reject(str(path), seen[0].line, str(seen[0].fault))}; {show_example(path)}"
        )
    empty = f"the {'file' if Path(path).is_file() else 'dataset'} is empty"
    raise SourceError(f"{path}: {instead if seen else empty}; {show_example(path)}")


def _select(task: Task, subset: Subset) -> Task | None:
    """The task with the criteria of a subset only, or None where it has none."""
    if subset == "all":
        return task
    wanted = subset == "consensus"
    kept = tuple(c for c in task.rubric.criteria if (healthbench.CONSENSUS_TAG in c.tags) == wanted)
    if not kept:
        return None
    # Dimensions are made for the whole checklist; for a part of it they have to be compiled anew.
    whole = len(kept) == len(task.rubric)
    return task if whole else task.model_copy(update={"rubric": Rubric(criteria=kept), "protocol": None})
