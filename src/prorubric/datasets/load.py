"""`load_tasks` and `load_responses`: a stream of records from a file or a Hugging Face dataset, in constant memory.

A row that cannot be read is a `Reject` with its line and reason, and the rest loads; `strict=True` stops at the first.
Without an `on_reject` the rejects are kept on the stream and a warning counts them at the end.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from hashlib import blake2b
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar, get_args

from pydantic import BeforeValidator

from prorubric.datasets.hub import is_hub_id, read_hub
from prorubric.datasets.mapped import MappedSource, open_mapped
from prorubric.datasets.mapping import load_mapping
from prorubric.datasets.rejects import Reject, RejectWarning
from prorubric.datasets.responses import parse_response
from prorubric.datasets.sources import FORMATS, Format, Source, healthbench, make_source, plain, rar
from prorubric.errors import ConfigError, ProRubricError, RowError, RubricError, SourceError
from prorubric.files.read import TABLES, Row, describe_instead_of_rows, read_rows
from prorubric.rubric.base import config_record, split_commas
from prorubric.rubric.records import Response, Rubric, Task
from prorubric.text.pitfalls import UNDECIDED_TAG
from prorubric.text.show import shorten

Subset = Literal["all", "consensus", "example"]
OnReject = Callable[[Reject], None]

TAKEN_ID = "the id is already taken"
"""The kind of a reject whose id an earlier task has."""

_ROWS_TO_RECOGNISE = 20

RecordT = TypeVar("RecordT", Task, Response)


@config_record
class TaskOptions:
    """How a file of tasks is read: the options that verbs share."""

    _: KW_ONLY
    format: Format = "auto"
    """Format of the tasks."""
    map: Annotated[tuple[str, ...], BeforeValidator(split_commas)] = ()
    """A mapping file for another layout, or pairs such as prompt=question,criteria=items,text=name+details."""
    subset: Subset = "all"
    """HealthBench: only the physician-consensus criteria, or only the others."""
    split: str = "train"
    """Split of a dataset on the hub."""
    tiers: bool = False
    """RaR: the paper's weight for each tier (1, 0.7, 0.3, -0.9) instead of the file's."""
    strict: bool = False
    """Stop at the first row that cannot be read."""


class HasTasks(Protocol):
    """A config with a file of tasks; the rest of it is `TaskOptions`."""

    @property
    def tasks(self) -> str: ...  # noqa: D102
    @property
    def format(self) -> Format: ...  # noqa: D102
    @property
    def map(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def subset(self) -> Subset: ...  # noqa: D102
    @property
    def split(self) -> str: ...  # noqa: D102
    @property
    def tiers(self) -> bool: ...  # noqa: D102
    @property
    def strict(self) -> bool: ...  # noqa: D102


@dataclass
class Stream(Generic[RecordT]):
    """Records, one at a time, and the count of what was left out. Iterate over it once."""

    path: str
    _rows: Iterable[Row]
    _parse: Callable[[Mapping[str, Any]], RecordT | None]
    strict: bool = False
    on_reject: OnReject | None = None
    source: Source | None = None
    """What reads the rows."""
    unused: Counter[str] = field(default_factory=Counter)
    """Fields that no record holds, or that are kept where no judge sees them, with the number of rows."""
    identify: Callable[[RecordT], str] | None = None
    """The id of a record. With this set, a record whose id an earlier one has is a reject."""
    read: int = 0
    line: int = 0
    """The line of the row that was read last."""
    row: Mapping[str, Any] = field(default_factory=dict)
    """That row."""
    loaded: int = 0
    skipped: int = 0
    """Valid rows without a criterion of the chosen subset."""
    rejects: list[Reject] = field(default_factory=list)
    """What could not be read; stays empty if `on_reject` takes the rejects."""
    _taken: set[bytes] = field(default_factory=set)

    def __iter__(self) -> Iterator[RecordT]:
        for row in self._rows:
            self.read, self.line = self.read + 1, row.line
            if row.value is None:
                self._refuse(row.explain())
                continue
            self.row = row.value
            try:
                record = self._parse(row.value)
            except RubricError as error:
                self._refuse(error)
            except RecursionError:
                self._refuse(RowError("the row is nested too deeply to be read", remedy="flatten it"))
            else:
                if record is None:
                    self.skipped += 1
                elif self.identify is None or self.take_id(self.identify(record)):
                    self.loaded += 1
                    yield record
        if number := len(self.rejects):
            counted = f"{number} row{'s' * (number != 1)} of {self.path} rejected, first: {self.rejects[0]}"
            warnings.warn(counted, RejectWarning, stacklevel=2)

    def take_id(self, task_id: str) -> bool:
        """True for an id that comes for the first time; otherwise the current row is a reject."""
        # Only a hash is kept: files are long.
        key = blake2b(task_id.encode("utf-8", "surrogatepass"), digest_size=12).digest()
        if key in self._taken:
            self._reject(RowError(TAKEN_ID, f"got {task_id!r}", remedy="give each task its own"))
            return False
        self._taken.add(key)
        return True

    def _refuse(self, error: ProRubricError) -> None:
        if self.strict:
            raise error.turn_into(RowError, f"{self.path}:{self.line}") from None
        self._reject(error)

    def _reject(self, error: ProRubricError) -> None:
        (self.on_reject or self.rejects.append)(Reject.of(self.path, self.line, error))


def load_tasks(  # noqa: PLR0913 - the options of `TaskOptions`
    path: str | Path,
    format: Format = "auto",  # noqa: A002 - the name that users write
    *,
    map: Sequence[str] = (),  # noqa: A002
    subset: Subset = "all",
    split: str = "train",
    tiers: bool = False,
    strict: bool = False,
    on_reject: OnReject | None = None,
) -> Stream[Task]:
    """Read tasks from a file, or from a Hugging Face dataset by its id (`owner/name`, extra `[hub]`).

    `map` names a mapping file for another layout, or gives pairs such as `"prompt=question"`. `subset` keeps only
    HealthBench's physician-consensus criteria, or only the others; `split` names the split of a dataset on the hub;
    `tiers` gives RaR's criteria the paper's weights.
    """
    if subset not in get_args(Subset):
        raise ConfigError(f"no subset is called {subset!r}; known: {', '.join(get_args(Subset))}")
    if format not in FORMATS:
        raise SourceError(f"no format is called {format!r}; known: {', '.join(FORMATS)}")
    if Path(path).is_dir() or (is_hub_id(str(path)) and not Path(path).exists() and not Path(path).parent.is_dir()):
        rows = read_hub(str(path), split)
    else:
        rows = read_rows(Path(path))
    if map and format != "auto":
        raise ConfigError(f"--map describes the layout, and --format {format} names another; give one of them")
    if not map and _is_table(path) and format in ("auto", plain.NAME):
        rows = plain.gather(rows)
    if map:
        source: Source
        rows, source = open_mapped(rows, load_mapping(tuple(map)))
    elif format != "auto":
        source = make_source(format)
    else:
        source, rows = _recognise(path, rows)
    if tiers and source.NAME != rar.NAME:
        raise ConfigError(f"--tiers is for the format rar, and this is {source.NAME}; leave it out")

    def parse(row: Mapping[str, Any]) -> Task | None:
        task = rar.parse(row, tiers=True) if tiers else source.parse(row)
        if not isinstance(source, MappedSource):
            unused.update(key for key in row if row[key] and key.strip().lower() not in source.USED)
        for position, criterion in enumerate(task.rubric.criteria if strict else (), 1):
            if UNDECIDED_TAG in criterion.tags:
                remedy = "reword it, or leave --strict out"
                kind = "the wording does not say whether the behaviour is good or bad"
                raise RubricError(kind, shorten(repr(criterion.text)), remedy=remedy, place=f"criterion {position}")
        return _select(task, subset)

    unused = source.unused if isinstance(source, MappedSource) else Counter[str]()
    return Stream(str(path), rows, parse, strict, on_reject, source, unused)


def open_tasks(source: HasTasks, on_reject: OnReject, *, unique: bool = True) -> Stream[Task]:
    """The tasks that the options of a verb name; with `unique`, only the first task with each id."""
    stream = load_tasks(
        source.tasks,
        source.format,
        map=source.map,
        subset=source.subset,
        split=source.split,
        tiers=source.tiers,
        strict=source.strict,
        on_reject=on_reject,
    )
    stream.identify = attrgetter("id") if unique else None
    return stream


def load_responses(path: str | Path, *, strict: bool = False, on_reject: OnReject | None = None) -> Stream[Response]:
    """Read responses from a file. Those without a `sample` are numbered in order within their task."""
    seen: Counter[str] = Counter()
    return Stream(str(path), read_rows(Path(path)), lambda row: parse_response(row, seen), strict, on_reject)


def show_example(path: str | Path) -> str:
    """A row, or a table for a file that is one, that can be read."""
    return plain.EXAMPLE_TABLE if _is_table(path) else plain.EXAMPLE


def _is_table(path: str | Path) -> bool:
    return any(suffix.lower() in TABLES for suffix in Path(path).suffixes[-2:])


def _recognise(path: str | Path, rows: Iterator[Row]) -> tuple[Source, Iterator[Row]]:
    """The source whose rows these are, from the first readable row, and all rows again."""
    formats = (plain.NAME,) if _is_table(path) else FORMATS[1:]
    seen: list[Row] = []
    for row in rows:
        seen.append(row)
        if row.value is not None:
            for source in map(make_source, formats):
                if source.fits(row.value):
                    return source, chain(seen, rows)
        if len(seen) == _ROWS_TO_RECOGNISE:
            break
    values = [row.value for row in seen if row.value is not None]
    if values:
        missing = plain.describe_missing(values, _is_table(path))
        other = "for another layout, prorubric convert FILE --suggest proposes a mapping"
        raise SourceError(f"{path}: {missing}; {show_example(path)}; {other}")
    if not seen:
        wrong = f"the {'file' if Path(path).is_file() else 'dataset'} is empty"
    else:
        first = Reject.of(str(path), seen[0].line, seen[0].explain())
        wrong = describe_instead_of_rows(Path(path)) or f"no readable row; {first}"
    raise SourceError(f"{path}: {wrong}; {show_example(path)}")


def _select(task: Task, subset: Subset) -> Task | None:
    """The task with the criteria of a subset only, or None if it has none."""
    if subset == "all":
        return task
    wanted = subset == "consensus"
    kept = tuple(c for c in task.rubric.criteria if (healthbench.CONSENSUS_TAG in c.tags) == wanted)
    if not kept:
        return None
    # Dimensions are made for the whole checklist; for a part of it they have to be compiled again.
    whole = len(kept) == len(task.rubric)
    return task if whole else task.model_copy(update={"rubric": Rubric(criteria=kept), "protocol": None})
