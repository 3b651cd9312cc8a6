"""`Monitor`: what a training run earns, step by step, next to what it would earn under other schemes; and the alarm.

Every step is a line of a jsonl file, and also goes to TensorBoard, W&B or trackio if these are named. A resumed run
continues in the same file. An unknown reward is counted and left out of every mean; a mean of nothing is None.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, field
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import IO, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from prorubric.aggregate.advantages import drop_tied
from prorubric.aggregate.schemes import find_scheme
from prorubric.errors import ConfigError, MissingExtraError, RubricError, SourceError
from prorubric.files.json import parse_json, render_json
from prorubric.reward.dimensions import grade
from prorubric.reward.reward import Reward, RewardParts
from prorubric.reward.trend import Alarm, AlarmRule, find_alarm
from prorubric.rubric.base import Record, config_record

_LOG = logging.getLogger(__name__)
_COVERAGE = "additive"
_APPROPRIATENESS = "appropriateness"
_STEP = "prorubric/step"
_MOST_DIMENSIONS = 50

Write = Callable[[int, Mapping[str, float]], object]
"""Passes the numbers of a step on to a dashboard."""


@config_record
class MonitorConfig:
    """Where a run is recorded, and when it raises the alarm."""

    out: Path
    """The jsonl file, one line per step."""
    _: KW_ONLY
    to: tuple[Literal["tensorboard", "wandb", "trackio"], ...] = ()
    """Where else each step goes."""
    project: str = "prorubric"
    """The project in W&B and trackio."""
    run: str | None = None
    """The name of the run there."""
    watch: tuple[str, ...] | None = None
    """The curves that must not fall while the score rises: shadow schemes and `appropriateness`; all by default. The
    log warns at the first step that lacks one of them."""
    alarm: AlarmRule = field(default_factory=AlarmRule)
    verdicts: Path | None = None
    """A jsonl file that keeps the verdicts and the reward of every response, for `prorubric lint --with`."""


class DimensionRate(Record):
    """How often responses met a dimension of this name."""

    rate: Annotated[float, Field(ge=0, le=1)] | None
    """Over known verdicts; a level counts as its share of the highest."""
    known: int
    unknown: int
    tasks: int
    """How many tasks have a dimension of this name."""


class StepRecord(Record):
    """One step of a run."""

    step: int
    responses: int
    unknown: int
    """Responses without a reward."""
    unknown_rate: float
    addressed_rate: float | None = None
    """The share of responses with text that is addressed to the judge; None in steps from before it was counted."""
    reward: float | None
    """The mean of the known rewards, with what length costs."""
    score: float | None
    """The mean score, before length: the proxy that training raises."""
    overlong: float
    """The mean of what length added."""
    coverage: float | None
    """The mean score under `additive`, if that is the scheme or a shadow."""
    shadow: dict[str, float | None]
    """Mean scores under the other schemes."""
    shadow_known: dict[str, int]
    """Over how many responses."""
    appropriateness: float | None
    tokens: float | None
    characters: float
    groups: int
    equal_groups: float
    """The share of groups whose known rewards are all equal, or of which fewer than two are known."""
    unknown_groups: float | None = None
    """The share of groups of which fewer than two rewards are known; None in steps from before it was counted."""
    equal_dimensions: float | None = None
    """Over the dimensions of each group, the share that all of its responses with a verdict got the same on."""
    dimension_rate: float | None
    """Over all dimensions of all responses."""
    dimensions: dict[str, DimensionRate]
    """The dimensions by name, the most frequent first; no more than 50."""
    alarms: tuple[Alarm, ...] = ()

    @property
    def identical_groups(self) -> float | None:
        """Of the groups with at least two known rewards, the share whose known rewards are all equal.

        None if there is no such group. Without `unknown_groups`, groups with fewer known rewards count as equal.
        """
        unknown = self.unknown_groups or 0.0
        return (self.equal_groups - unknown) / (1 - unknown) if unknown < 1 else None


class Monitor:
    """Records steps. Close it when done, or use it as a context manager."""

    def __init__(self, config: MonitorConfig) -> None:
        self.config = config
        for name in config.watch or ():
            if name != _APPROPRIATENESS:
                find_scheme(name)
        self.history = load_steps(config.out)
        """Every step so far, also those that an earlier process recorded."""
        self._unwarned = set(config.watch or ())
        with ExitStack() as opened:
            self._file = _open_lines(config.out, opened)
            self._verdicts = config.verdicts and _open_lines(config.verdicts, opened)
            self._dashboards = [_open_dashboard(name, config, opened) for name in dict.fromkeys(config.to)]
            self._opened = opened.pop_all()

    def record(
        self,
        step: int,
        rewards: Sequence[Reward],
        groups: Sequence[object] | None = None,
        appropriateness: Sequence[Reward | float | None] | None = None,
    ) -> StepRecord:
        """Record one step.

        `groups` names the group of each response, by default its task. `appropriateness` is a second opinion, a number
        or a reward for each response or for some of them: from another judge, or on criteria held out of the training.
        """
        measured = summarize_step(step, rewards, groups, appropriateness)
        present = {*measured.shadow, *([] if measured.appropriateness is None else [_APPROPRIATENESS])}
        # Once per curve: an alarm that cannot be raised must not look like one that need not be.
        for name in sorted(self._unwarned - present):
            self._unwarned.remove(name)
            remedy = "pass it to record" if name == _APPROPRIATENESS else "add it to shadow in RewardConfig"
            line = "step %d lacks the watched curve %r, so it cannot raise the alarm; %s, or remove it from watch"
            _LOG.warning(line, step, name, remedy)
        _go_back_to(step, self.history)
        alarms = find_alarms([*self.history, measured], self.config.watch, self.config.alarm)
        found = measured.model_copy(update={"alarms": tuple(alarms)})
        for alarm in alarms:
            _LOG.warning("step %d: %s", step, alarm)
        self.history.append(found)
        self._file.write(render_json(found.model_dump(mode="json")) + b"\n")
        self._file.flush()
        if self._verdicts:
            names = [reward.parts.task_id for reward in rewards] if groups is None else map(str, groups)
            for sample, (reward, group) in enumerate(zip(rewards, names, strict=True)):
                # A row as in `verdicts.jsonl` of a run folder, with its place in the training and its reward.
                row = {"task_id": reward.parts.task_id, "sample": sample, "verdicts": {**reward.parts.verdicts}}
                row |= {"step": step, "group": group, "reward": reward.value}
                self._verdicts.write(render_json(row) + b"\n")
            self._verdicts.flush()
        for write in self._dashboards:
            write(step, flatten_step(found))
        return found

    def close(self) -> None:
        """Close the file and the dashboards. Safe to call twice."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def summarize_step(
    step: int,
    rewards: Sequence[Reward],
    groups: Sequence[object] | None = None,
    appropriateness: Sequence[Reward | float | None] | None = None,
) -> StepRecord:
    """The means of one step, without alarms: these need the steps before it."""
    if not rewards:
        raise ConfigError(f"step {step} has no rewards; record only steps that have some")
    parts = [reward.parts for reward in rewards]
    names = [one.task_id for one in parts] if groups is None else list(groups)
    if len(names) != len(rewards):
        raise ConfigError(f"step {step}: {len(rewards)} rewards, {len(names)} groups; give one for each")
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    values = [np.nan if reward.value is None else reward.value for reward in rewards]
    signal = drop_tied(values, [numbers[name] for name in names])
    unknown = sum(reward.value is None for reward in rewards)
    shadows: dict[str, list[float | None]] = defaultdict(list)
    for one in parts:
        for name, value in one.shadow.items():
            shadows[name].append(value)
    if appropriateness is not None:
        opinions = [one.value if isinstance(one, Reward) else one for one in appropriateness]
    else:  # the judge's own verdict, if it was asked
        asked = [verdict for one in parts for verdict in one.verdicts.get(_APPROPRIATENESS, ())]
        opinions = [float(verdict) if isinstance(verdict, bool) else None for verdict in asked]
    equal_dimensions, dimensions = _rate_dimensions(parts, names)
    return StepRecord(
        step=step,
        responses=len(rewards),
        unknown=unknown,
        unknown_rate=unknown / len(rewards),
        addressed_rate=fmean(bool(one.addressing) for one in parts),
        reward=_mean(reward.value for reward in rewards),
        score=_mean(one.score for one in parts),
        overlong=fmean(one.overlong for one in parts),
        coverage=_mean({**one.shadow, one.scheme: one.score}.get(_COVERAGE) for one in parts),
        shadow={name: _mean(scores) for name, scores in shadows.items()},
        shadow_known={name: sum(score is not None for score in scores) for name, scores in shadows.items()},
        appropriateness=_mean(opinions),
        tokens=_mean(one.tokens for one in parts),
        characters=fmean(one.characters for one in parts),
        groups=signal.groups,
        equal_groups=(signal.equal + signal.unknown) / signal.groups,
        unknown_groups=signal.unknown / signal.groups,
        equal_dimensions=equal_dimensions,
        dimension_rate=_mean(grade(verdict) for one in parts for verdict in one.dimensions.values()),
        dimensions=dimensions,
    )


def find_alarms(
    history: Sequence[StepRecord], watch: Sequence[str] | None = None, rule: AlarmRule | None = None
) -> list[Alarm]:
    """The alarms at the last of these steps: the score rises while a watched curve falls."""
    steps = [record.step for record in history]
    score = [record.score for record in history]
    named = {name: [record.shadow.get(name) for record in history] for record in history[-1:] for name in record.shadow}
    named[_APPROPRIATENESS] = [record.appropriateness for record in history]
    chosen = named if watch is None else {name: named[name] for name in watch if name in named}
    found = (find_alarm(steps, score, curve, rule, ("the score", name)) for name, curve in chosen.items())
    return [alarm for alarm in found if alarm is not None]


def load_steps(path: Path) -> list[StepRecord]:
    """The steps of a file, in order; of a step that was recorded twice only the later record."""
    steps: list[StepRecord] = []
    if not path.is_file():
        return steps
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):  # the process was killed in the middle of it
            break
        try:
            record = StepRecord(**parse_json(line))
        except (ValueError, TypeError, RubricError) as error:
            raise SourceError(f"{path}:{number}: not a step of a run ({error}); choose another file") from None
        _go_back_to(record.step, steps)
        steps.append(record)
    return steps


def flatten_step(record: StepRecord) -> dict[str, float]:
    """The numbers of a step under names for a dashboard, without those that are None.

    Of the dimensions only those whose name several tasks share: one curve per task would be thousands.
    """
    named: dict[str, float | None] = {
        **{name: value for name, value in record if isinstance(value, float)},
        **{f"shadow/{name}": value for name, value in record.shadow.items()},
        **{f"dimension/{name}": rate.rate for name, rate in record.dimensions.items() if rate.tasks > 1},
        "alarm": float(bool(record.alarms)),
    }
    return {f"prorubric/{name}": float(value) for name, value in named.items() if value is not None}


def _open_lines(path: Path, opened: ExitStack) -> IO[bytes]:
    """A file of lines to add to."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = opened.enter_context(path.open("ab"))
    # A killed process may have left half a line, which would spoil the next one.
    file.truncate(path.read_bytes().rfind(b"\n") + 1)
    return file


def _open_dashboard(name: str, config: MonitorConfig, opened: ExitStack) -> Write:
    """Where else a step goes; TensorBoard's files go into a folder next to the jsonl file.

    W&B and trackio take a run that the trainer already has open, and leave it open; in W&B under our own step axis,
    because it drops what is behind the trainer's last step.
    """
    if name == "tensorboard":
        # Either package: they write the same files.
        package = _import_first("tensorboardX", "torch.utils.tensorboard")
        board = package.SummaryWriter(str(config.out.parent / "tensorboard"))
        opened.callback(board.close)

        def write(step: int, values: Mapping[str, float]) -> None:
            for key, value in values.items():
                board.add_scalar(key, value, step)
            board.flush()

        return write
    tracker = _import_first(name)
    run = tracker.run if name == "wandb" else tracker.context_vars.current_run.get()
    if run is None:
        run = tracker.init(project=config.project, name=config.run)
        opened.callback(tracker.finish)
    if name == "trackio":
        return lambda step, values: run.log({**values}, step=step)
    run.define_metric(_STEP)
    run.define_metric("prorubric/*", step_metric=_STEP)
    return lambda step, values: run.log({**values, _STEP: step})


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _rate_dimensions(
    parts: Sequence[RewardParts], groups: Sequence[object]
) -> tuple[float | None, dict[str, DimensionRate]]:
    """The share of dimensions that all responses of a group pass or fail alike, and the rates of each dimension."""
    grades: dict[str, list[float | None]] = defaultdict(list)
    tasks: dict[str, set[str]] = defaultdict(set)
    given: dict[tuple[object, str], set[float | None]] = defaultdict(set)
    for one, group in zip(parts, groups, strict=True):
        for name, verdict in one.dimensions.items():
            grades[name].append(grade(verdict))
            tasks[name].add(one.task_id)
            given[group, name].add(grade(verdict))
    rates: dict[str, DimensionRate] = {}
    for name in sorted(grades, key=lambda name: -len(grades[name]))[:_MOST_DIMENSIONS]:
        unknown = grades[name].count(None)
        rates[name] = DimensionRate(
            rate=_mean(grades[name]), known=len(grades[name]) - unknown, unknown=unknown, tasks=len(tasks[name])
        )
    return _mean(len(alike - {None}) < 2 for alike in given.values()), rates


def _go_back_to(step: int, history: list[StepRecord]) -> None:
    """Drop later steps: a run that is resumed from a checkpoint records some of its steps again."""
    while history and history[-1].step >= step:
        history.pop()


def _import_first(*modules: str) -> Any:
    """The first of these modules that is installed; the first is also the package to install."""
    for module in modules:
        try:
            return import_module(module)
        except ImportError:
            continue
    raise MissingExtraError(f"{modules[0]} is not installed; install it with: pip install {modules[0]}")
