"""`Monitor`: what a training run earns, step by step, beside what it would earn under other schemes; and the alarm.

Every step is a line of a jsonl file, and goes to TensorBoard, W&B or trackio where these are named. A run that is
resumed goes on in the same file. An unknown reward is counted and left out of every mean; a mean of nothing is None.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, field
from pathlib import Path
from statistics import fmean
from types import TracebackType
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field

from prorubric.aggregate.advantages import group_advantages
from prorubric.aggregate.schemes import find_scheme
from prorubric.errors import ConfigError, RubricError, SourceError
from prorubric.files.json import parse_json, render_json
from prorubric.reward.reward import Reward
from prorubric.reward.trend import Alarm, AlarmRule, find_alarm
from prorubric.reward.writers import Writer, open_writer
from prorubric.rubric.base import Record, config_record

_LOG = logging.getLogger(__name__)
_COVERAGE = "additive"
_APPROPRIATENESS = "appropriateness"
_HIGHEST_LEVEL = 3
_MOST_DIMENSIONS = 50


@config_record
class MonitorConfig:
    """Where a run is recorded, and when it raises the alarm."""

    out: Path
    """The jsonl file, a line a step."""
    _: KW_ONLY
    to: tuple[Literal["tensorboard", "wandb", "trackio"], ...] = ()
    """Where else each step goes."""
    project: str = "prorubric"
    """The project in W&B and trackio."""
    run: str | None = None
    """The name of the run there."""
    watch: tuple[str, ...] | None = None
    """The curves that must not fall while the score rises: shadow schemes and `appropriateness`; all by default. At
    the first step that lacks one of them the log warns of it."""
    alarm: AlarmRule = field(default_factory=AlarmRule)


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
    reward: float | None
    """The mean of the known rewards, with what length costs."""
    score: float | None
    """The mean score, before length: the proxy that training raises."""
    overlong: float
    """The mean of what length added."""
    coverage: float | None
    """The mean score under `additive`, where that is the scheme or a shadow."""
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
    dimension_rate: float | None
    """Over all dimensions of all responses."""
    dimensions: dict[str, DimensionRate]
    """The dimensions by name, the most frequent first; no more than 50."""
    alarms: tuple[Alarm, ...] = ()


class Monitor:
    """Records steps. Whoever makes it closes it; it is also a context manager."""

    def __init__(self, config: MonitorConfig) -> None:
        self.config = config
        for name in config.watch or ():
            if name != _APPROPRIATENESS:
                find_scheme(name)
        config.out.parent.mkdir(parents=True, exist_ok=True)
        self.history = load_steps(config.out)
        """Every step so far, also those that an earlier process recorded."""
        _drop_torn_line(config.out)
        self._file = config.out.open("ab")
        self._unwarned = set(config.watch or ())
        self._writers: list[Writer] = []
        try:
            for name in dict.fromkeys(config.to):
                self._writers.append(open_writer(name, config.out.parent, config.project, config.run))
        except BaseException:
            self.close()
            raise

    def record(
        self,
        step: int,
        rewards: Sequence[Reward],
        groups: Sequence[object] | None = None,
        lengths: Sequence[float] | None = None,
        appropriateness: Sequence[Reward | float | None] | None = None,
    ) -> StepRecord:
        """Record one step.

        `groups` names the group of each response (by default its task), `lengths` its length in tokens (by default what
        the reward was told). `appropriateness` is a second opinion, a number or a reward for each response or for some
        of them: of another judge, or on criteria that are held out of the training.
        """
        measured = summarize_step(step, rewards, groups, lengths, appropriateness)
        self._warn_of_missing(measured)
        _go_back_to(step, self.history)
        alarms = find_alarms([*self.history, measured], self.config.watch, self.config.alarm)
        found = measured.model_copy(update={"alarms": tuple(alarms)})
        self.history.append(found)
        self._file.write(render_json(found.model_dump(mode="json")) + b"\n")
        self._file.flush()
        for writer in self._writers:
            writer.write(step, flatten_step(found))
        return found

    def _warn_of_missing(self, measured: StepRecord) -> None:
        """Once a curve: an alarm that cannot be raised must not look like one that need not be."""
        there = {*measured.shadow, *([] if measured.appropriateness is None else [_APPROPRIATENESS])}
        for name in sorted(self._unwarned - there):
            self._unwarned.remove(name)
            remedy = "pass it to record" if name == _APPROPRIATENESS else "add it to shadow in RewardConfig"
            _LOG.warning(
                "step %d has no curve %r to watch, and without it there is no alarm; %s, or take it out of watch",
                measured.step,
                name,
                remedy,
            )

    def close(self) -> None:
        """Let go of the file and of where else the steps go. Safe to call twice."""
        self._file.close()
        while self._writers:
            self._writers.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def summarize_step(
    step: int,
    rewards: Sequence[Reward],
    groups: Sequence[object] | None = None,
    lengths: Sequence[float] | None = None,
    appropriateness: Sequence[Reward | float | None] | None = None,
) -> StepRecord:
    """The means of one step, without alarms: these need the steps before it."""
    if not rewards:
        raise ConfigError(f"step {step} has no rewards; record steps that have some")
    names = [reward.parts.task_id for reward in rewards] if groups is None else list(groups)
    tokens = [reward.parts.tokens for reward in rewards] if lengths is None else list(lengths)
    if not len(names) == len(tokens) == len(rewards):
        raise ConfigError(
            f"step {step}: {len(rewards)} rewards, {len(names)} groups, {len(tokens)} lengths; give one for each"
        )
    signal = group_advantages([np.nan if r.value is None else r.value for r in rewards], _number(names))
    unknown = sum(reward.value is None for reward in rewards)
    shadows = _collect_shadows(rewards)
    rates = _rate_dimensions(rewards)
    return StepRecord(
        step=step,
        responses=len(rewards),
        unknown=unknown,
        unknown_rate=unknown / len(rewards),
        reward=_mean(reward.value for reward in rewards),
        score=_mean(reward.parts.score for reward in rewards),
        overlong=fmean(reward.parts.overlong for reward in rewards),
        coverage=_mean(_read_coverage(reward) for reward in rewards),
        shadow={name: _mean(values) for name, values in shadows.items()},
        shadow_known={name: sum(value is not None for value in values) for name, values in shadows.items()},
        appropriateness=_mean(_list_appropriateness(rewards, appropriateness)),
        tokens=_mean(tokens),
        characters=fmean(reward.parts.characters for reward in rewards),
        groups=signal.groups,
        equal_groups=signal.tied / signal.groups,
        dimension_rate=_mean(_grade(verdict) for reward in rewards for verdict in reward.parts.dimensions.values()),
        dimensions=rates,
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
    """The steps of a file, in order; where a step was recorded twice, the later record and nothing that it replaced."""
    steps: list[StepRecord] = []
    if not path.is_file():
        return steps
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):  # the process was killed in the middle of it
            break
        try:
            record = StepRecord(**parse_json(line))
        except (ValueError, TypeError, RubricError) as error:
            raise SourceError(f"{path}:{number}: not a step of a run ({error}); name another file") from None
        _go_back_to(record.step, steps)
        steps.append(record)
    return steps


def flatten_step(record: StepRecord) -> dict[str, float]:
    """The numbers of a step under names for a dashboard; what is None is left out.

    Of the dimensions only those whose name several tasks share: a curve a task would be thousands.
    """
    plain = record.model_dump(include=_PLAIN)
    shared = {name: rate.rate for name, rate in record.dimensions.items() if rate.tasks > 1}
    named: dict[str, float | None] = {
        **plain,
        **{f"shadow/{name}": value for name, value in record.shadow.items()},
        **{f"dimension/{name}": value for name, value in shared.items()},
        "alarm": float(bool(record.alarms)),
    }
    return {f"prorubric/{name}": float(value) for name, value in named.items() if value is not None}


_PLAIN = {
    "unknown_rate",
    "reward",
    "score",
    "overlong",
    "coverage",
    "appropriateness",
    "tokens",
    "characters",
    "equal_groups",
    "dimension_rate",
}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _number(names: Sequence[object]) -> list[int]:
    """Groups by number: their names may be anything that can be told apart."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]


def _read_coverage(reward: Reward) -> float | None:
    return reward.parts.score if reward.parts.scheme == _COVERAGE else reward.parts.shadow.get(_COVERAGE)


def _collect_shadows(rewards: Sequence[Reward]) -> dict[str, list[float | None]]:
    found: dict[str, list[float | None]] = defaultdict(list)
    for reward in rewards:
        for name, value in reward.parts.shadow.items():
            found[name].append(value)
    return dict(found)


def _list_appropriateness(
    rewards: Sequence[Reward], given: Sequence[Reward | float | None] | None
) -> list[float | None]:
    """A second opinion where there is one, else the judge's own verdict on appropriateness where it was asked."""
    if given is not None:
        return [one.value if isinstance(one, Reward) else one for one in given]
    asked = [verdict for reward in rewards for verdict in reward.parts.verdicts.get(_APPROPRIATENESS, ())]
    return [float(verdict) if isinstance(verdict, bool) else None for verdict in asked]


def _grade(verdict: bool | float | None) -> float | None:
    if verdict is None or isinstance(verdict, bool):
        return None if verdict is None else float(verdict)
    return verdict / _HIGHEST_LEVEL


def _rate_dimensions(rewards: Sequence[Reward]) -> dict[str, DimensionRate]:
    grades: dict[str, list[float | None]] = defaultdict(list)
    tasks: dict[str, set[str]] = defaultdict(set)
    for reward in rewards:
        for name, verdict in reward.parts.dimensions.items():
            grades[name].append(_grade(verdict))
            tasks[name].add(reward.parts.task_id)
    frequent = sorted(grades, key=lambda name: -len(grades[name]))[:_MOST_DIMENSIONS]
    return {name: _rate(grades[name], len(tasks[name])) for name in frequent}


def _rate(grades: Sequence[float | None], tasks: int) -> DimensionRate:
    known = sum(grade is not None for grade in grades)
    return DimensionRate(rate=_mean(grades), known=known, unknown=len(grades) - known, tasks=tasks)


def _go_back_to(step: int, history: list[StepRecord]) -> None:
    """A run that is resumed from a checkpoint records some of its steps again."""
    while history and history[-1].step >= step:
        history.pop()


def _drop_torn_line(path: Path) -> None:
    """A line that a killed process left half written would spoil the next one."""
    if not path.is_file():
        return
    with path.open("rb+") as file:
        whole = file.read()
        file.truncate(whole.rfind(b"\n") + 1)
