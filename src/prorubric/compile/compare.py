"""`compare_tasks`: how far two compilations of the same tasks agree, figure by figure.

Two files of compiled tasks are joined by id. For each task that both have compiled from the same rubric: the adjusted
Rand index of the two partitions, and for either side the number of dimensions, how evenly criteria and weight are
spread over them, how many of them have a failure clause and how long their descriptions are. No model is asked, and
none of these figures says which of the two is better.

A task that cannot be compared is left out with its reason, and every row of both files is counted: compared, in one
file only, left out, or unreadable. B is read first and only its outlines are kept (labels, a digest, a few numbers;
no text); A streams past them.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

import pyarrow as pa

from prorubric.datasets.load import load_tasks
from prorubric.datasets.rejects import Reject
from prorubric.datasets.sources import Format
from prorubric.errors import ConfigError, RubricError
from prorubric.files.write import open_rows
from prorubric.rubric.base import Record, config_record
from prorubric.rubric.records import ProtocolRubric, Rubric, Task
from prorubric.text.failures import has_failure_clause

_EXAMPLES = 5

_SIDE_COLUMNS = pa.struct(
    {
        "dimensions": pa.int64(),
        "size_balance": pa.float64(),
        "weight_balance": pa.float64(),
        "failure_clauses": pa.float64(),
        "words": pa.float64(),
    }
)
_ROW_SCHEMA = pa.schema(
    {
        "task_id": pa.string(),
        "criteria": pa.int64(),
        "agreement": pa.float64(),
        "a": _SIDE_COLUMNS,
        "b": _SIDE_COLUMNS,
    }
)


@config_record
class CompareConfig:
    """Which two compilations to compare."""

    a: Path
    """A file of compiled tasks."""
    b: Path
    """Another one of the same tasks; only this one is kept in memory, without its texts."""
    _: KW_ONLY
    format: Format = "auto"
    """The form of both files."""
    strict: bool = False
    """Stop at the first row that cannot be read."""
    out: Path | None = None
    """Write the figures of every compared task to this file (.jsonl, .parquet …)."""


class ProtocolFigures(Record):
    """What one compilation of one task looks like."""

    dimensions: int
    size_balance: float | None
    """Entropy of the shares that the dimensions have of the criteria, over its largest value: 1 = all of a size.

    None where there is one dimension only, which cannot be in or out of balance.
    """
    weight_balance: float | None
    """The same for the shares of the weight."""
    failure_clauses: float
    """The share of dimensions whose description has an explicit failure clause."""
    words: float
    """Words a description, in the mean; a word is what stands between white space."""


class TaskComparison(Record):
    """Two compilations of one task."""

    task_id: str
    criteria: int
    agreement: float
    """Adjusted Rand index of the two partitions: 1 = the same, 0 = as by chance, below 0 = less than by chance."""
    a: ProtocolFigures
    b: ProtocolFigures


class Mean(Record):
    """A figure over the tasks that have it."""

    mean: float
    lowest: float
    highest: float
    tasks: int
    """How many tasks have the figure."""


class SideSummary(Record):
    """One file, over the compared tasks; None where no task has the figure."""

    path: str
    tasks: int
    """All tasks that could be read, whether compared or not."""
    rejected: dict[str, int]
    """Rows that could not be read, by reason."""
    dimensions: Mean | None
    dimension_counts: dict[str, int]
    """How many tasks have how many dimensions."""
    size_balance: Mean | None
    weight_balance: Mean | None
    failure_clauses: Mean | None
    words: Mean | None


class CompareResult(Record):
    """How far two compilations agree."""

    compared: int
    agreement: Mean | None
    """Adjusted Rand index; None where no task could be compared."""
    same_partition: int
    """Compared tasks with the same groups in both files."""
    only_in_a: int
    only_in_b: int
    left_out: dict[str, int]
    """Tasks of both files that were not compared, and repeated ids, by reason."""
    examples: tuple[str, ...]
    """The first of those, with id and reason."""
    a: SideSummary
    b: SideSummary


@dataclass(frozen=True, slots=True)
class _Outline:
    """What is kept of a task: nothing that grows with its texts."""

    rubric: bytes
    labels: tuple[int, ...] | bytes | None
    """The dimension of each criterion; None where the task is not compiled."""
    figures: tuple[int, float | None, float | None, float, float] | None


@dataclass(slots=True)
class _Figure:
    """A running mean and range."""

    values: int = 0
    total: float = 0.0
    lowest: float = math.inf
    highest: float = -math.inf

    def add(self, value: float | None) -> None:
        if value is not None:
            self.values += 1
            self.total += value
            self.lowest, self.highest = min(self.lowest, value), max(self.highest, value)

    def summarize(self) -> Mean | None:
        if not self.values:
            return None
        return Mean(mean=self.total / self.values, lowest=self.lowest, highest=self.highest, tasks=self.values)


@dataclass(slots=True)
class _Side:
    """What is counted for one file."""

    path: Path
    tasks: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    counts: Counter[int] = field(default_factory=Counter)
    figures: dict[str, _Figure] = field(
        default_factory=lambda: {name: _Figure() for name in ProtocolFigures.model_fields}
    )

    def reject(self, reject: Reject) -> None:
        self.reasons[reject.kind] += 1

    def read(self, config: CompareConfig) -> Iterator[Task]:
        for task in load_tasks(self.path, config.format, strict=config.strict, on_reject=self.reject):
            self.tasks += 1
            yield task

    def add(self, found: ProtocolFigures) -> None:
        self.counts[found.dimensions] += 1
        for name, figure in self.figures.items():
            figure.add(getattr(found, name))

    def summarize(self) -> SideSummary:
        return SideSummary(
            path=str(self.path),
            tasks=self.tasks,
            rejected=dict(self.reasons.most_common()),
            dimension_counts={str(count): tasks for count, tasks in sorted(self.counts.items())},
            **{name: figure.summarize() for name, figure in self.figures.items()},
        )


@dataclass(slots=True)
class _Tally:
    """What has become of the tasks so far."""

    a: _Side
    b: _Side
    agreement: _Figure = field(default_factory=_Figure)
    same: int = 0
    only_in_a: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def leave_out(self, task_id: str, reason: str) -> None:
        self.left_out[reason] += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(f"task {task_id!r}: {reason}")

    def add(self, found: TaskComparison) -> None:
        self.agreement.add(found.agreement)
        self.same += found.agreement == 1.0
        self.a.add(found.a)
        self.b.add(found.b)


def compare_tasks(config: CompareConfig, on_task: Callable[[TaskComparison], None] | None = None) -> CompareResult:
    """Compare two files of compiled tasks. `on_task` sees each compared task, in the order of A."""
    if config.out and config.out.resolve() in (config.a.resolve(), config.b.resolve()):
        raise ConfigError(f"{config.out}: the figures would replace the tasks; choose another name for --out")
    tally = _Tally(_Side(config.a), _Side(config.b))
    outlines = _index(config, tally)
    with ExitStack() as stack:
        write = stack.enter_context(open_rows(config.out, _ROW_SCHEMA)) if config.out else None
        for found in _join(config, outlines, tally):
            tally.add(found)
            if write:
                write(found.model_dump(mode="json"))
            if on_task:
                on_task(found)
    return CompareResult(
        compared=tally.agreement.values,
        agreement=tally.agreement.summarize(),
        same_partition=tally.same,
        only_in_a=tally.only_in_a,
        only_in_b=sum(outline is not None for outline in outlines.values()),
        left_out=dict(tally.left_out.most_common()),
        examples=tuple(tally.examples),
        a=tally.a.summarize(),
        b=tally.b.summarize(),
    )


def adjusted_rand(first: Sequence[int], second: Sequence[int]) -> float:
    """How far two partitions of the same things agree, beyond what chance would give; 1 for the same partition.

    Each partition is a label for every thing; what the labels are called does not matter. All pairs are counted in
    whole numbers and divided once, so that the value is exact to the last bit.
    """
    if len(first) != len(second):
        raise RubricError(
            f"partitions of {len(first)} and of {len(second)} things; compare partitions of the same things"
        )
    pairs = math.comb(len(first), 2)
    together = _pairs_together(Counter(zip(first, second, strict=True)))
    in_first, in_second = _pairs_together(Counter(first)), _pairs_together(Counter(second))
    by_chance = in_first * in_second
    best = (in_first + in_second) * pairs - 2 * by_chance
    # Nothing is left to agree on only where both are one group, or both are single things: the same partition.
    return 2 * (together * pairs - by_chance) / best if best else 1.0


def balance(shares: Sequence[float]) -> float | None:
    """The entropy of positive shares over its largest value, the logarithm of their number; None for a single one."""
    if len(shares) < 2:
        return None
    total = math.fsum(shares)
    entropy = -math.fsum(share / total * math.log(share / total) for share in shares)
    # Rounding may lift equal shares a hair above 1.
    return min(entropy / math.log(len(shares)), 1.0)


def describe_protocol(protocol: ProtocolRubric) -> ProtocolFigures:
    """The figures of one compiled task."""
    dimensions = protocol.dimensions
    texts = [dimension.description for dimension in dimensions]
    return ProtocolFigures(
        dimensions=len(dimensions),
        size_balance=balance([len(dimension.indices) for dimension in dimensions]),
        weight_balance=balance([dimension.weight for dimension in dimensions]),
        failure_clauses=sum(map(has_failure_clause, texts)) / len(texts),
        words=sum(len(text.split()) for text in texts) / len(texts),
    )


def _pairs_together(groups: Counter[int] | Counter[tuple[int, int]]) -> int:
    return sum(math.comb(size, 2) for size in groups.values())


def _index(config: CompareConfig, tally: _Tally) -> dict[str, _Outline | None]:
    """The outlines of B by id. An id that A has had as well becomes None there, so that what remains is in B only."""
    outlines: dict[str, _Outline | None] = {}
    for task in tally.b.read(config):
        if task.id in outlines:
            tally.leave_out(task.id, "the id comes again in B; the first was used")
        else:
            outlines[task.id] = _outline(task)
    return outlines


def _join(config: CompareConfig, outlines: dict[str, _Outline | None], tally: _Tally) -> Iterator[TaskComparison]:
    for task in tally.a.read(config):
        if task.id not in outlines:
            tally.only_in_a += 1
        elif (other := outlines[task.id]) is None:
            tally.leave_out(task.id, "the id comes again in A; the first was used")
        else:
            found = _compare(task, _outline(task), other)
            if isinstance(found, str):
                tally.leave_out(task.id, found)
            else:
                yield found
        outlines[task.id] = None


def _compare(task: Task, a: _Outline, b: _Outline) -> TaskComparison | str:
    """The comparison, or why there is none."""
    if a.rubric != b.rubric:
        return "the rubrics differ"
    if a.labels is None or b.labels is None:
        missing = [name for name, side in (("A", a), ("B", b)) if side.labels is None]
        return f"not compiled in {' and '.join(missing)}"
    return TaskComparison(
        task_id=task.id,
        criteria=len(task.rubric),
        agreement=adjusted_rand(a.labels, b.labels),
        a=_figures(a),
        b=_figures(b),
    )


def _outline(task: Task) -> _Outline:
    if task.protocol is None:
        return _Outline(_digest(task.rubric), None, None)
    labels = [0] * len(task.rubric)
    for number, dimension in enumerate(task.protocol.dimensions):
        for index in dimension.indices:
            labels[index - 1] = number
    found = describe_protocol(task.protocol)
    figures = (found.dimensions, found.size_balance, found.weight_balance, found.failure_clauses, found.words)
    return _Outline(_digest(task.rubric), bytes(labels) if max(labels) < 256 else tuple(labels), figures)


def _figures(outline: _Outline) -> ProtocolFigures:
    return ProtocolFigures(**dict(zip(ProtocolFigures.model_fields, outline.figures or (), strict=True)))


def _digest(rubric: Rubric) -> bytes:
    """Two rubrics are the same where texts and weights are, in order; tags may have been added since."""
    digest = hashlib.blake2b(digest_size=16)
    for criterion in rubric.criteria:
        text = criterion.text.encode("utf-8", "surrogatepass")
        digest.update(f"{len(text)} {criterion.weight!r} ".encode())
        digest.update(text)
    return digest.digest()
