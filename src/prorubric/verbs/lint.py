"""`lint_tasks`: look at a whole file of rubrics before a token is spent; totals in memory, details into a file.

For CI: `passed` is false if something at or above the chosen severity was found, if a row could not be read, or if a
task's compensation is above a limit.
"""

import math
from array import array
from collections import Counter
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field
from heapq import heappop, heappush
from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa
from pydantic import Field

from prorubric.datasets.load import TAKEN_ID, TaskOptions, open_tasks
from prorubric.datasets.rejects import Rejects
from prorubric.errors import ConfigError
from prorubric.files.write import open_rows
from prorubric.rubric.base import Record, config_record
from prorubric.rubric.lint import CHECKS, Severity, TaskLint, lint_task

_FIGURES = ("presence_share", "compensation", "compensation_grouped")
_DETAIL_SCHEMA = pa.schema(
    {"task_id": pa.string(), "criteria": pa.int64(), "findings": pa.string()}
    | dict.fromkeys(("presence", "formatting", "unread"), pa.int64())
    | dict.fromkeys(_FIGURES, pa.float64())
)
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""Worst first."""
_COUNTS = ("tasks", "criteria", "negative", "presence", "formatting", "unread", "too_compensable", "affected")


@config_record
class LintConfig(TaskOptions):
    """What to look at and when to fail."""

    tasks: str
    """The file to read, or a Hugging Face dataset by its id."""
    _: KW_ONLY
    fail_on: Literal["error", "warning", "note", "never"] = "error"
    """The mildest severity that makes the exit code 1. Rows that cannot be read count as errors."""
    max_compensation: Annotated[float, Field(ge=0, le=1)] | None = None
    """Fail if an answer that misses a task's heaviest criterion can still reach more than this share of the sum."""
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
    findings: dict[str, int]
    """How many findings each check gave; checks that gave none are 0."""
    severities: dict[str, int]
    negative: int
    presence: int
    """Criteria that are met by naming something."""
    formatting: int
    unread: int
    """Criteria in a language that lint does not read."""
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
    passed: bool


@dataclass(slots=True)
class _Tally:
    """What has been counted so far; of the tasks only the few to be shown are kept."""

    counts: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    figures: dict[str, "array[float]"] = field(default_factory=lambda: {name: array("d") for name in _FIGURES})
    worst: list[tuple[list[int], int, TaskLint]] = field(default_factory=list)
    """A heap of the tasks to show: findings by severity, then the first that was read, with the least bad on top."""


def lint_tasks(config: LintConfig) -> LintResult:
    """Look at every task of a file."""
    if config.out and config.out.resolve() == Path(config.tasks).resolve():
        raise ConfigError(f"{config.out}: the findings would replace the tasks; choose another name for --out")
    rejects, tally = Rejects(config.show, keep=False), _Tally()
    limit = math.inf if config.max_compensation is None else config.max_compensation
    with open_rows(config.out, _DETAIL_SCHEMA) if config.out else nullcontext() as write:
        for task in open_tasks(config, rejects.add):
            found = lint_task(task)
            tally.counts.update(
                tasks=1,
                criteria=found.criteria,
                negative=sum(weight < 0 for weight in task.rubric.weights),
                presence=found.presence,
                formatting=found.formatting,
                unread=found.unread,
                affected=bool(found.findings),
                too_compensable=(found.compensation or 0) > limit,
            )
            tally.checks.update(finding.check for finding in found.findings)
            for name, values in tally.figures.items():
                if (value := getattr(found, name)) is not None:
                    values.append(value)
            if found.findings:
                severities = [finding.severity for finding in found.findings]
                heappush(tally.worst, ([*map(severities.count, _SEVERITIES)], -tally.counts["tasks"], found))
                if len(tally.worst) > config.show:
                    heappop(tally.worst)
            if write:
                write(found.model_dump(mode="json"))
    return _summarize(config, tally, rejects)


def _summarize(config: LintConfig, tally: _Tally, rejects: Rejects) -> LintResult:
    severities: Counter[str] = Counter({"error": rejects.count, "warning": 0, "note": 0})
    for check, found in tally.checks.items():
        severities[CHECKS[check]] += found
    failing = [] if config.fail_on == "never" else _SEVERITIES[: _SEVERITIES.index(config.fail_on) + 1]
    counts = tally.counts
    spreads = {
        name: Spread(mean=math.fsum(values) / len(values), lowest=min(values), highest=max(values), tasks=len(values))
        if values
        else None
        for name, values in tally.figures.items()
    }
    return LintResult(
        rejected=dict(rejects.kinds.most_common()),
        rejects=rejects.show(),
        duplicate_ids=rejects.kinds[TAKEN_ID],
        findings={check: tally.checks[check] for check in CHECKS},
        severities=dict(severities),
        substantive=counts["criteria"] - counts["presence"] - counts["formatting"] - counts["unread"],
        **{name: counts[name] for name in _COUNTS},
        **spreads,
        worst=tuple(found for _, _, found in sorted(tally.worst, reverse=True)),
        passed=counts["tasks"] > 0 and not counts["too_compensable"] and not any(severities[name] for name in failing),
    )
