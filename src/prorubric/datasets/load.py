"""`load_tasks` and `load_responses`: a stream of records from a file or a Hugging Face dataset, in constant memory.

A row that cannot be read is a `Reject` with its line and reason, and the rest loads; `strict=True` stops at the
first. Nobody loses rows without a word: where no `on_reject` is given, the rejects are kept on the stream and a
warning counts them at the end.
"""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

from prorubric.datasets.hub import is_hub_id, read_hub
from prorubric.datasets.sources import healthbench, plain, rar, researchqa, rubrichub, scholarqa, trl, verl
from prorubric.errors import ConfigError, RowError, RubricError, SourceError
from prorubric.rubric.files import Row, describe_instead_of_rows, read_rows
from prorubric.rubric.forms import parse_response
from prorubric.rubric.records import Response, Rubric, Task

Format = Literal["auto", "tasks", "healthbench", "rubrichub", "rar", "scholarqa", "researchqa", "verl", "trl"]
Subset = Literal["all", "consensus", "example"]

# In the order in which they are tried: the ones with unmistakable columns first.
_SOURCES = {source.NAME: source for source in (plain, healthbench, scholarqa, researchqa, rar, rubrichub, verl, trl)}
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
        try:
            record = self._parse(_require_value(row))
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
    rows = _open(path, split)
    source, rows = _recognise(path, rows) if format == "auto" else (_find_source(format), rows)
    return Stream(str(path), rows, lambda row: _select(source.parse(row), subset), strict, on_reject)


def load_responses(
    path: str | Path, *, strict: bool = False, on_reject: Callable[[Reject], None] | None = None
) -> Stream[Response]:
    """Read responses from a file in our own form."""
    return Stream(str(path), read_rows(Path(path)), parse_response, strict, on_reject)


def count_reasons(rejects: Iterable[Reject]) -> dict[str, int]:
    """How often each reason came up, without place and value, most frequent first."""
    bare = (_PARTICULARS.sub("", _PLACE.sub("", reject.reason)) for reject in rejects)
    kinds = (_POSITION.sub(r"a \1", reason).replace("a index", "an index") for reason in bare)
    return dict(Counter(kinds).most_common())


def _require_value(row: Row) -> dict[str, Any]:
    if row.value is None:
        raise RubricError(f"{row.fault or 'the row is empty'}; a row is one JSON object, in UTF-8")
    return row.value


def _open(path: str | Path, split: str) -> Iterator[Row]:
    if Path(path).is_dir() or (is_hub_id(str(path)) and not Path(path).exists() and not Path(path).parent.is_dir()):
        return read_hub(str(path), split)
    return read_rows(Path(path))


def _recognise(path: str | Path, rows: Iterator[Row]) -> tuple[Any, Iterator[Row]]:
    """The source whose rows these are, from the first readable row, and all rows again."""
    seen: list[Row] = []
    for row in rows:
        seen.append(row)
        if row.value is not None:
            for source in _SOURCES.values():
                if source.fits(row.value):
                    return source, chain(seen, rows)
        if len(seen) == _ROWS_TO_RECOGNISE:
            break
    raise SourceError(f"{path}: {_describe_unknown(Path(path), seen)}")


def _describe_unknown(path: Path, seen: Sequence[Row]) -> str:
    """What is wrong with a file whose first rows are of no known format."""
    instead = None
    if not seen:
        instead = "the dataset is empty" if path.is_dir() or not path.exists() else "the file is empty"
    elif seen[0].value is None:
        instead = describe_instead_of_rows(path)
    if instead is not None:
        return f"{instead}; write one object a line, or an array in .json"
    keys = sorted({key for row in seen if row.value for key in row.value})
    found = f"has rows with the keys {', '.join(keys)}" if keys else "holds no readable row"
    return f"{found}, which is no known format; say which with --format {'|'.join(_SOURCES)}"


def _find_source(name: str) -> Any:
    if name not in _SOURCES:
        raise SourceError(f"no format is called {name!r}; known: {', '.join(FORMATS)}")
    return _SOURCES[name]


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
