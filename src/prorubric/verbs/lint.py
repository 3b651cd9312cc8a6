"""`lint_tasks`: look at a whole file of rubrics before a token is spent; totals in memory, details into a file.

The exit is fit for CI: `passed` is false where something at or above the chosen severity was found, where a row could
not be read, or where a task's compensation is above a limit.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field
from heapq import nlargest
from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa
from pydantic import Field

from prorubric.datasets.load import Format, Reject, Subset, count_reasons, describe_taken_id, load_tasks
from prorubric.errors import ConfigError
from prorubric.files.write import open_rows
from prorubric.rubric.base import Record, config_record
from prorubric.rubric.lint import CHECKS, TaskLint, lint_task

_DETAIL_SCHEMA = pa.schema(
    {
        "task_id": pa.string(),
        "criteria": pa.int64(),
        "findings": pa.string(),
        "presence": pa.int64(),
        "formatting": pa.int64(),
        "presence_share": pa.float64(),
        "compensation": pa.float64(),
        "compensation_grouped": pa.float64(),
    }
)
_RANK = {"error": 2, "warning": 1, "note": 0}
_FEWEST_TO_SORT = 50


@config_record
class LintConfig:
    """What to look at and when to fail."""

    tasks: str
    """The file to read, or a Hugging Face dataset by its id."""
    _: KW_ONLY
    format: Format = "auto"
    """The form of the input."""
    subset: Subset = "all"
    """HealthBench: only the physician-consensus criteria, or only the others."""
    split: str = "train"
    """The split of a dataset on the hub."""
    strict: bool = False
    """Stop at the first row that cannot be read."""
    fail_on: Literal["error", "warning", "note", "never"] = "error"
    """The mildest severity that makes the exit code 1. Rows that cannot be read count as errors."""
    max_compensation: Annotated[float, Field(ge=0, le=1)] | None = None
    """Fail where an answer that misses a task's heaviest criterion can still reach more than this share of the sum."""
    show: Annotated[int, Field(ge=0)] = 5
    """How many tasks to show in full, worst first."""
    out: Path | None = None
    """Write every task's findings to this file (.jsonl, .parquet …)."""


class Spread(Record):
    """How a figure is spread over tasks."""

    mean: float
    lowest: float
    highest: float
    tasks: int
    """How many tasks have the figure."""


class LintResult(Record):
    """What a whole file looks like."""

    tasks: int
    criteria: int
    rejected: dict[str, int]
    """Rows that could not be read, or whose id was taken, by reason."""
    rejects: tuple[str, ...]
    """The first of them, with file and line."""
    duplicate_ids: int
    """Of the rejected rows, those that have the id of an earlier task."""
    findings: dict[str, int]
    """How many findings each check gave; checks that gave none are 0."""
    severities: dict[str, int]
    negative: int
    """Criteria with a negative weight."""
    presence: int
    """Criteria that are met by naming something."""
    formatting: int
    substantive: int
    presence_share: Spread | None
    """The share of a task's weight that presence-style criteria carry."""
    compensation: Spread | None
    """How much of the sum an answer that misses the heaviest criterion can still reach."""
    compensation_grouped: Spread | None
    """The same with dimensions, for tasks that have them."""
    too_compensable: int
    """Tasks above `max_compensation`."""
    affected: int
    """Tasks with at least one finding."""
    worst: tuple[TaskLint, ...]
    """The tasks with the most findings."""
    passed: bool


@dataclass(slots=True)
class _Figure:
    """A running mean and range."""

    total: float = 0.0
    lowest: float = 1.0
    highest: float = 0.0
    tasks: int = 0

    def add(self, value: float | None) -> None:
        if value is not None:
            self.total += value
            self.lowest, self.highest = min(self.lowest, value), max(self.highest, value)
            self.tasks += 1

    def summarize(self) -> Spread | None:
        if not self.tasks:
            return None
        return Spread(mean=self.total / self.tasks, lowest=self.lowest, highest=self.highest, tasks=self.tasks)


@dataclass(slots=True)
class _Tally:
    """What has been counted so far; of tasks and rejects only the few to be shown are kept."""

    show: int
    counts: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    presence_share: _Figure = field(default_factory=_Figure)
    compensation: _Figure = field(default_factory=_Figure)
    grouped: _Figure = field(default_factory=_Figure)
    kept: list[TaskLint] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    rejects: list[str] = field(default_factory=list)

    def add(self, found: TaskLint) -> None:
        self.counts.update(tasks=1, criteria=found.criteria, presence=found.presence, formatting=found.formatting)
        self.counts["affected"] += bool(found.findings)
        self.checks.update(finding.check for finding in found.findings)
        self.presence_share.add(found.presence_share)
        self.compensation.add(found.compensation)
        self.grouped.add(found.compensation_grouped)
        if found.findings and self.show:
            self.kept.append(found)
            # Sorting out now and then costs far less than after every task.
            if len(self.kept) >= 2 * self.show + _FEWEST_TO_SORT:
                self.kept = self.worst()

    def reject(self, reject: Reject) -> None:
        self.reasons.update(count_reasons([reject]))
        if len(self.rejects) < self.show:
            self.rejects.append(str(reject))

    def worst(self) -> list[TaskLint]:
        """The tasks to show, worst first; of equals the one that was read first."""
        return nlargest(self.show, self.kept, key=_badness)


def lint_tasks(config: LintConfig, on_task: Callable[[TaskLint], None] | None = None) -> LintResult:
    """Look at every task of a file. `on_task` sees each one as it is read."""
    if config.out and config.out.resolve() == Path(config.tasks).resolve():
        raise ConfigError(f"{config.out}: the findings would replace the tasks; choose another name for --out")
    tally = _Tally(config.show)
    ids: set[str] = set()
    stream = load_tasks(
        config.tasks,
        config.format,
        subset=config.subset,
        split=config.split,
        strict=config.strict,
        on_reject=tally.reject,
    )
    with ExitStack() as stack:
        write = stack.enter_context(open_rows(config.out, _DETAIL_SCHEMA)) if config.out else None
        for task in stream:
            if task.id in ids:
                tally.counts["duplicate_ids"] += 1
                tally.reject(Reject(config.tasks, stream.line, describe_taken_id(task.id)))
                continue
            ids.add(task.id)
            found = lint_task(task)
            tally.add(found)
            tally.counts["negative"] += sum(weight < 0 for weight in task.rubric.weights)
            if config.max_compensation is not None and (found.compensation or 0) > config.max_compensation:
                tally.counts["too_compensable"] += 1
            if write:
                write(found.model_dump(mode="json"))
            if on_task:
                on_task(found)
    return _conclude(config, tally)


def _conclude(config: LintConfig, tally: _Tally) -> LintResult:
    counts = tally.counts
    severities: Counter[str] = Counter({"error": tally.reasons.total(), "warning": 0, "note": 0})
    for check, count in tally.checks.items():
        severities[CHECKS[check]] += count
    failing = [name for name in severities if config.fail_on != "never" and _RANK[name] >= _RANK[config.fail_on]]
    return LintResult(
        tasks=counts["tasks"],
        criteria=counts["criteria"],
        rejected=dict(tally.reasons.most_common()),
        rejects=tuple(tally.rejects),
        duplicate_ids=counts["duplicate_ids"],
        findings={check: tally.checks[check] for check in CHECKS},
        severities=dict(severities),
        negative=counts["negative"],
        presence=counts["presence"],
        formatting=counts["formatting"],
        substantive=counts["criteria"] - counts["presence"] - counts["formatting"],
        presence_share=tally.presence_share.summarize(),
        compensation=tally.compensation.summarize(),
        compensation_grouped=tally.grouped.summarize(),
        too_compensable=counts["too_compensable"],
        affected=counts["affected"],
        worst=tuple(tally.worst()),
        passed=bool(counts["tasks"]) and not any(severities[n] for n in failing) and not counts["too_compensable"],
    )


def _badness(found: TaskLint) -> tuple[int, ...]:
    severities = Counter(finding.severity for finding in found.findings)
    return severities["error"], severities["warning"], severities["note"]
