"""`compare_tasks`: how far two compilations of the same tasks agree, figure by figure.

Two files of compiled tasks are joined by id. Tasks that both have compiled from the same rubric get the adjusted Rand
index of the two partitions, and figures for each side that describe the dimensions; none of them says which side is
better. Every row of both files is counted: compared, in one file only, left out with its reason, or unreadable. B is
read first and only its outlines are kept (labels, a digest, a few numbers, no text); A is streamed.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

from prorubric.datasets.load import load_tasks
from prorubric.datasets.rejects import Rejects
from prorubric.rubric.base import Record
from prorubric.rubric.records import ProtocolRubric, Task
from prorubric.text.failures import has_failure_clause

_EXAMPLES = 5


class Mean(Record):
    """A figure over the tasks that have it."""

    mean: float
    lowest: float
    highest: float
    tasks: int
    """How many tasks have the figure."""

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Self | None:
        """The mean of the values that are known; None if there are none."""
        known = [value for value in values if value is not None]
        if not known:
            return None
        return cls(mean=sum(known) / len(known), lowest=min(known), highest=max(known), tasks=len(known))


class SideSummary(Record):
    """One file, over the compared tasks; a figure is None if no task has it."""

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


class CompareTasksResult(Record):
    """How far two compilations agree."""

    compared: int
    agreement: Mean | None
    """Adjusted Rand index; None if no task could be compared."""
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


class ProtocolFigures(NamedTuple):
    """What one compilation of one task looks like."""

    dimensions: int
    size_balance: float | None
    """1 if all have as many criteria, less the more they differ; None for a single dimension."""
    weight_balance: float | None
    failure_clauses: float
    """The share of dimensions whose description has an explicit failure clause."""
    words: float
    """Mean number of words in a description."""


class Outline(NamedTuple):
    """What is kept of a task: nothing that grows with its texts."""

    rubric: bytes
    """A digest of texts and weights in order; tags may have been added since."""
    labels: tuple[int, ...] = ()
    """The dimension of each criterion."""
    figures: ProtocolFigures | None = None
    """None for a task that is not compiled."""


@dataclass(slots=True)
class _Side:
    """What is counted for one file."""

    path: Path
    tasks: int = 0
    rejects: Rejects = field(default_factory=lambda: Rejects(keep=False))
    figures: list[ProtocolFigures] = field(default_factory=list)

    def read(self) -> Iterator[Task]:
        for task in load_tasks(self.path, on_reject=self.rejects.add):
            self.tasks += 1
            yield task

    def summarize(self) -> SideSummary:
        counts = Counter(found.dimensions for found in self.figures)
        means = {name: Mean.of(getattr(found, name) for found in self.figures) for name in ProtocolFigures._fields}
        return SideSummary(
            path=str(self.path),
            tasks=self.tasks,
            rejected=dict(self.rejects.kinds.most_common()),
            dimension_counts={str(count): tasks for count, tasks in sorted(counts.items())},
            **means,
        )


def compare_tasks(path_a: Path, path_b: Path) -> CompareTasksResult:
    """Compare two files of compiled tasks."""
    a, b = _Side(path_a), _Side(path_b)
    left_out: Counter[str] = Counter()
    examples: list[str] = []

    def leave_out(task: Task, reason: str) -> None:
        left_out[reason] += 1
        if len(examples) < _EXAMPLES:
            examples.append(f"task {task.id!r}: {reason}")

    # By id; None for those that A has too, so what remains at the end is in B only.
    outlines: dict[str, Outline | None] = {}
    for task in b.read():
        if task.id in outlines:
            leave_out(task, "the id appears again in B; the first was used")
        else:
            outlines[task.id] = outline_task(task)
    agreement: list[float] = []
    only_in_a = 0
    for task in a.read():
        is_known, mine, other = task.id in outlines, outline_task(task), outlines.get(task.id)
        outlines[task.id] = None
        if not is_known:
            only_in_a += 1
        elif other is None:
            leave_out(task, "the id appears again in A; the first was used")
        elif mine.rubric != other.rubric:
            leave_out(task, "the rubrics differ")
        elif mine.figures is None or other.figures is None:
            missing = [name for name, one in (("A", mine), ("B", other)) if one.figures is None]
            leave_out(task, f"not compiled in {' and '.join(missing)}")
        else:
            agreement.append(adjusted_rand(mine.labels, other.labels))
            a.figures.append(mine.figures)
            b.figures.append(other.figures)
    return CompareTasksResult(
        compared=len(agreement),
        agreement=Mean.of(agreement),
        same_partition=agreement.count(1.0),
        only_in_a=only_in_a,
        only_in_b=sum(outline is not None for outline in outlines.values()),
        left_out=dict(left_out.most_common()),
        examples=tuple(examples),
        a=a.summarize(),
        b=b.summarize(),
    )


def outline_task(task: Task) -> Outline:
    """What is compared of a task."""
    digest = hashlib.blake2b(digest_size=16)
    for criterion in task.rubric.criteria:
        text = criterion.text.encode("utf-8", "surrogatepass")
        digest.update(f"{len(text)} {criterion.weight!r} ".encode())
        digest.update(text)
    if task.protocol is None:
        return Outline(digest.digest())
    labels = [0] * len(task.rubric)
    for number, dimension in enumerate(task.protocol.dimensions):
        for index in dimension.indices:
            labels[index - 1] = number
    return Outline(digest.digest(), tuple(labels), describe_protocol(task.protocol))


def adjusted_rand(first: Sequence[int], second: Sequence[int]) -> float:
    """How far two partitions of the same things agree, beyond what chance would give; 1 for the same partition.

    Each partition is a label for every thing; the names of the labels do not matter. All pairs are counted in
    whole numbers and divided once, so the value is exact to the last bit.
    """
    pairs = math.comb(len(first), 2)
    together, in_first, in_second = (
        sum(math.comb(size, 2) for size in Counter(groups).values())
        for groups in (zip(first, second, strict=True), first, second)
    )
    by_chance = in_first * in_second
    best = (in_first + in_second) * pairs - 2 * by_chance
    # 0 only if both are one group, or both are single things: the same partition.
    return 2 * (together * pairs - by_chance) / best if best else 1.0


def balance(shares: Sequence[float]) -> float | None:
    """The entropy of positive shares over its largest value, the logarithm of their number; None for a single one."""
    if len(shares) < 2:
        return None
    total = math.fsum(shares)
    entropy = -math.fsum(share / total * math.log(share / total) for share in shares)
    # Rounding can lift equal shares just above 1.
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
