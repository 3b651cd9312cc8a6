"""`lint_tasks`: look at a whole file of rubrics before a token is spent; totals in memory, details into a file.

With a run folder, or the file of a training, the stored verdicts add figures for each criterion; they never make lint
fail.

For CI: `passed` is false if something at or above the chosen severity was found, if a row could not be read, or if a
task's compensation is above a limit.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field
from heapq import heappop, heappush
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Literal, Self

import pyarrow as pa
from pydantic import Field

from prorubric.aggregate.choose import check_alone, score_readings
from prorubric.aggregate.items import ItemFigures, describe_items, rank_items
from prorubric.aggregate.schemes import find_scheme
from prorubric.datasets.load import TAKEN_ID, TaskOptions, load_tasks, open_tasks
from prorubric.datasets.rejects import Rejects
from prorubric.errors import ConfigError, SourceError
from prorubric.files.tables import Tabular, open_csv
from prorubric.files.write import open_rows
from prorubric.rubric.base import Record, config_record
from prorubric.rubric.lint import CHECKS, SEVERITIES, TaskLint, lint_task
from prorubric.rubric.records import Task
from prorubric.runs.folder import TASKS
from prorubric.runs.verdicts import StoredVerdicts, read_judge, read_training, read_verdicts

_FIGURES = ("presence_share", "compensation", "compensation_grouped")
_DETAIL_SCHEMA = pa.schema(
    {"task_id": pa.string(), "criteria": pa.int64(), "findings": pa.string()}
    | dict.fromkeys(("presence", "formatting", "unread"), pa.int64())
    | dict.fromkeys(_FIGURES, pa.float64())
)
_READING = "criteria"
"""The verdicts that figures of criteria are made of."""
_REDUNDANT = 0.8
_COUNTS = ("tasks", "criteria", "negative", "presence", "formatting", "unread", "too_compensable", "affected")


@config_record
class LintConfig(TaskOptions):
    """What to look at and when to fail."""

    tasks: str
    """Rubric file, or the id of a Hugging Face dataset."""
    _: KW_ONLY
    fail_on: Literal["error", "warning", "note", "never"] = "error"
    """Lowest severity that makes the exit code 1; rows that cannot be read count as errors."""
    max_compensation: Annotated[float, Field(ge=0, le=1)] | None = None
    """Fail if an answer that misses a task's heaviest criterion can still reach more than this share of the sum."""
    show: Annotated[int, Field(ge=0)] = 5
    """Number of tasks to show in full, worst first."""
    out: Path | None = None
    """Write every task's findings to this file (.jsonl, .parquet …)."""
    run: Path | None = None
    """Judge run folder, or the verdicts of a training run: show how often criteria are met and how useful they are."""
    scheme: str | None = None
    """Scheme for the advantages; by default additive, or in a training run the rewards given."""
    group_size: Annotated[int, Field(ge=2)] | None = None
    """Group this many samples of a task for advantages; by default all of them, or a training run's own groups."""
    items: Path | None = None
    """Write the figures of every criterion to this file (.csv)."""
    overwrite: bool = False
    """Replace existing --out and --items files."""


class TaskSpread(Record):
    """How a figure is spread over tasks."""

    mean: float
    lowest: float
    highest: float
    tasks: int
    """How many tasks have the figure."""


class ItemsResult(Record):
    """Statistics of the criteria over the verdicts of a run."""

    run: str
    judge: str
    scheme: str
    """Scheme for the advantages; empty if they use the rewards given in a training run."""
    tasks: int
    """Tasks with verdicts."""
    responses: int
    unknown: int
    """Verdicts that are unknown; they are left out, as are those that are not applicable."""
    not_applicable: int
    left_out: dict[str, int]
    """Tasks of the file or of the run without figures, by reason."""
    always_met: int
    never_met: int
    never_moved: int
    """Criteria whose removal moves no advantage in any group."""
    redundant: int
    """Criteria that agree with another at κ of 0.8 or more."""
    suppressed: int
    criteria: tuple[ItemFigures, ...]
    """The suppressed ones first, then from the lowest discrimination to the highest."""


class LintResult(Tabular, Record):
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
    presence_share: TaskSpread | None
    """The share of a task's weight that presence-style criteria carry."""
    compensation: TaskSpread | None
    """How much of the sum an answer that misses the heaviest criterion can still reach."""
    compensation_grouped: TaskSpread | None
    """The same with dimensions, for tasks that have them."""
    too_compensable: int
    """Tasks above `max_compensation`."""
    affected: int
    """Tasks with at least one finding."""
    worst: tuple[TaskLint, ...]
    items: ItemsResult | None = None
    """With a run: the figures of the criteria."""
    passed: bool

    def to_rows(self) -> list[dict[str, str | int]]:
        """One row a check. Those of tasks are in the file of `out`, those of criteria in `items`."""
        return [{"check": check, "severity": CHECKS[check], "found": number} for check, number in self.findings.items()]


@dataclass(slots=True)
class _Tally:
    """What has been counted so far; of the tasks only the few to be shown are kept."""

    counts: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    figures: dict[str, "array[float]"] = field(default_factory=lambda: {name: array("d") for name in _FIGURES})
    worst: list[tuple[list[int], int, TaskLint]] = field(default_factory=list)
    """A heap of the tasks to show: findings by severity, then the first that was read, with the least bad on top."""

    def add(self, task: Task, found: TaskLint, config: LintConfig) -> None:
        limit = math.inf if config.max_compensation is None else config.max_compensation
        self.counts.update(
            tasks=1,
            criteria=found.criteria,
            negative=sum(weight < 0 for weight in task.rubric.weights),
            presence=found.presence,
            formatting=found.formatting,
            unread=found.unread,
            affected=bool(found.findings),
            too_compensable=(found.compensation or 0) > limit,
        )
        self.checks.update(finding.check for finding in found.findings)
        for name, values in self.figures.items():
            if (value := getattr(found, name)) is not None:
                values.append(value)
        if found.findings:
            severities = [finding.severity for finding in found.findings]
            heappush(self.worst, ([*map(severities.count, SEVERITIES)], -self.counts["tasks"], found))
            if len(self.worst) > config.show:
                heappop(self.worst)


def lint_tasks(config: LintConfig) -> LintResult:
    """Look at every task of a file."""
    for path in filter(None, (config.out, config.items)):
        if path.resolve() == Path(config.tasks).resolve():
            raise ConfigError(f"{path}: the findings would replace the tasks; choose another name")
        if path.is_file() and not config.overwrite:
            raise ConfigError(f"{path}: already exists; choose another name or pass --overwrite")
    if config.run is None and (config.items or config.group_size or config.scheme):
        needs = "--items, --group-size and --scheme are about the verdicts of a run"
        raise ConfigError(f"{needs}; name its folder with --with")
    stored = _StoredRun.read(config.run, config) if config.run else None
    rejects, tally = Rejects(config.show, keep=False), _Tally()
    with open_rows(config.out, _DETAIL_SCHEMA) if config.out else nullcontext() as write:
        for task in open_tasks(config, rejects.add):
            found = lint_task(task)
            tally.add(task, found, config)
            if write:
                write(found.model_dump(mode="json"))
            if stored:
                stored.take(task, config.group_size)
    counts, severities = tally.counts, Counter({"error": rejects.count, "warning": 0, "note": 0})
    for check, number in tally.checks.items():
        severities[CHECKS[check]] += number
    failing = [] if config.fail_on == "never" else SEVERITIES[: SEVERITIES.index(config.fail_on) + 1]
    spreads = {
        name: TaskSpread(
            mean=math.fsum(values) / len(values), lowest=min(values), highest=max(values), tasks=len(values)
        )
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
        worst=tuple(shown for _, _, shown in sorted(tally.worst, reverse=True)),
        items=stored.summarize(config) if stored else None,
        passed=counts["tasks"] > 0 and not counts["too_compensable"] and not any(severities[name] for name in failing),
    )


@dataclass(slots=True)
class _StoredRun:
    """The verdicts on criteria in a run folder, or in the file of a training, and the figures taken from them."""

    judge: str
    scheme: str | None
    """The scheme whose rewards are wanted; None for those of the training."""
    tasks: dict[str, Task] = field(default_factory=dict)
    """The tasks that were judged; a training does not keep them."""
    rows: dict[str, list[StoredVerdicts]] = field(default_factory=dict)
    """By task, which is removed when it has been used."""
    responses: int = 0
    items: list[ItemFigures] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def readings(self) -> list[str]:
        """What the rows must have verdicts on."""
        own = [reading.name for reading in find_scheme(self.scheme).readings] if self.scheme else []
        return [*dict.fromkeys([_READING, *own])]

    @classmethod
    def read(cls, run: Path, config: LintConfig) -> Self:
        if config.items and config.items.suffix.lower() != ".csv":
            raise ConfigError(
                f"{config.items}: the figures of criteria are written as csv; name a file that ends in .csv"
            )
        if config.scheme:
            check_alone(config.scheme)
        rows: Iterable[StoredVerdicts]
        if run.is_file():
            found, rows = cls("not stored", config.scheme), read_training(run)
        elif (run / TASKS).is_file():
            found, rows = cls(read_judge(run), config.scheme or "additive"), read_verdicts(run)
            found.tasks = {task.id: task for task in load_tasks(run / TASKS, "tasks", strict=True)}
        else:
            raise SourceError(f"{run}: not the folder of a finished run; name one that judge has written")
        for row in rows:
            if missing := [reading for reading in found.readings if reading not in row.verdicts]:
                has = ", ".join(row.verdicts) or "none"
                remedy = f"judge again with --scheme {'additive' if missing[0] == _READING else config.scheme}"
                if run.is_file():
                    remedy = "add additive, or the scheme, to shadow in RewardConfig"
                raise SourceError(f"{run}: the run has no verdicts on {missing[0]} (it has {has}); {remedy}")
            found.rows.setdefault(row.task_id, []).append(row)
            found.responses += 1
        return found

    def take(self, task: Task, group_size: int | None) -> None:
        """Add the figures of one task's criteria."""
        rows = self.rows.pop(task.id, None)
        judged = self.tasks.get(task.id, task)
        texts, judged_texts = ([one.text for one in each.rubric.criteria] for each in (task, judged))
        if rows is None:
            self.left_out["tasks without verdicts in the run"] += 1
            return
        if texts != judged_texts or len(texts) != len(rows[0].verdicts[_READING]):
            self.left_out["tasks with different criteria in the run"] += 1
            return
        if self.tasks:
            rows.sort(key=attrgetter("sample"))
        grouped = task.model_copy(update={"protocol": task.protocol or judged.protocol})
        named = {name: number for number, name in enumerate(dict.fromkeys(row.group for row in rows))}
        groups = [place // group_size if group_size else named[row.group] for place, row in enumerate(rows)]
        verdicts, scheme = [row.verdicts[_READING] for row in rows], self.scheme
        if scheme is not None and self.readings == [_READING]:
            self.items += describe_items(grouped, verdicts, groups, scheme)
            return
        rewards = [row.reward for row in rows]
        if scheme is not None:
            rewards = [score_readings(row.verdicts, grouped, [scheme])[scheme].value for row in rows]
        self.items += describe_items(grouped, verdicts, groups, rewards=rewards)

    def summarize(self, config: LintConfig) -> ItemsResult:
        """The figures of all criteria, which are also written to the file of `items`."""
        if self.rows:  # what no task of the file has taken
            self.left_out["tasks of the run that are not in the file"] += len(self.rows)
        items = rank_items(self.items)
        if config.items:
            config.items.parent.mkdir(parents=True, exist_ok=True)
            with open_csv(config.items, [*ItemFigures.model_fields]) as write:
                for item in self.items:
                    write(item.model_dump())
        return ItemsResult(
            run=str(config.run),
            judge=self.judge,
            scheme=self.scheme or "",
            tasks=len({item.task_id for item in items}),
            responses=self.responses,
            unknown=sum(item.unknown for item in items),
            not_applicable=sum(item.not_applicable for item in items),
            left_out=dict(self.left_out),
            always_met=sum(item.pass_rate == 1 for item in items),
            never_met=sum(item.pass_rate == 0 for item in items),
            never_moved=sum(item.moved_share == 0 for item in items),
            redundant=sum((item.redundancy or 0) >= _REDUNDANT for item in items),
            suppressed=sum(item.suppressed for item in items),
            criteria=tuple(items),
        )
