"""What happened in trainings: curves and their peaks, dimensions, judges that disagree, criteria that were lost.

Everything is compared on the prompts that every run scored at that step, and each result says how many they are and
which run lost how many. A training's own look at step 0 is the untrained policy. An unknown verdict is never met and
never unmet: what depends on it is left out and counted.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple

from prorubric.aggregate.bootstrap import RESAMPLES
from prorubric.errors import ConfigError, RubricError
from prorubric.evaluate.looks import JudgedAnswer, Look, Measure, TrainingRun
from prorubric.evaluate.statistics import SeedDifference, Spread, compare_seeds, find_common, resample_means
from prorubric.rubric.base import Record
from prorubric.rubric.records import Task
from prorubric.rubric.verdict import NotApplicable, Unknown, Verdict

Status = Literal["complete", "one short", "partly", "wholly", "unknown", "all"]
_STATUSES: tuple[Status, ...] = ("complete", "one short", "partly", "wholly", "unknown", "all")


class CurveStep(Record):
    """One method at one step, over its seeds."""

    step: int
    mean: float | None
    """Over seeds and common prompts; None without a common prompt."""
    sd: float | None
    """Between seeds."""
    low: float | None
    """Of the 95% interval over prompts, by bootstrap; the seeds are taken as they are."""
    high: float | None
    by_seed: dict[int, float]
    n: int
    """Prompts with a value in every run that was looked at in this step."""
    lost: dict[str, int]
    """By run, the prompts that it has no value for."""


class Curve(Record):
    """One measure of one method over a training."""

    method: str
    measure: Measure
    points: tuple[CurveStep, ...]


def trace_curves(runs: Sequence[TrainingRun], measure: Measure = "c", resamples: int = RESAMPLES) -> tuple[Curve, ...]:
    """The curve of every method."""
    points: dict[str, list[CurveStep]] = {run.method: [] for run in runs}
    for table in _tabulate(runs, measure):
        methods = dict.fromkeys(method for method, _ in table.values)
        intervals = resample_means({method: table.by_prompt(method) for method in methods}, resamples=resamples)
        for method in methods:
            by_seed = table.by_seed(method)
            spread = Spread.of([*by_seed.values()]) if by_seed else None
            points[method].append(
                CurveStep(
                    step=table.step,
                    mean=spread and spread.mean,
                    sd=spread and spread.sd,
                    low=intervals[method].low,
                    high=intervals[method].high,
                    by_seed=by_seed,
                    n=len(table.prompts),
                    lost=table.lost,
                )
            )
    return tuple(Curve(method=method, measure=measure, points=tuple(own)) for method, own in points.items())


class Gap(Record):
    """How far one method is ahead of another at one step."""

    step: int
    over_seeds: SeedDifference
    """Seed by seed, with an interval by Student's t; `separated` is in it."""
    low: float | None
    """Of the 95% interval over prompts, by bootstrap, for the mean over the common seeds."""
    high: float | None
    n: int
    """Common prompts."""


def compare_methods(
    runs: Sequence[TrainingRun], first: str, second: str, measure: Measure = "c", resamples: int = RESAMPLES
) -> tuple[Gap, ...]:
    """First minus second at every step at which both were looked at."""
    if missing := {first, second} - {run.method for run in runs}:
        raise ConfigError(f"no run of {sorted(missing)[0]!r}; there are {', '.join({run.method: 0 for run in runs})}")
    gaps = []
    for table in _tabulate(runs, measure):
        by_seed, other_by_seed = table.by_seed(first), table.by_seed(second)
        seeds = by_seed.keys() & other_by_seed.keys()
        if not seeds:
            continue
        one, other = (table.by_prompt(method, seeds) for method in (first, second))
        differences = {prompt: value - other[prompt] for prompt, value in one.items()}
        interval = resample_means({"difference": differences}, resamples=resamples)["difference"]
        found = compare_seeds(by_seed, other_by_seed)
        gaps.append(Gap(step=table.step, over_seeds=found, low=interval.low, high=interval.high, n=len(differences)))
    return tuple(gaps)


class Peak(Record):
    """Where a curve was highest; of several such steps the first."""

    method: str
    measure: Measure
    step: int
    mean: float
    last_step: int
    last_mean: float
    by_seed: dict[int, int]
    """The step at which each seed was highest."""

    @property
    def fall(self) -> float:
        """How far the mean has come down since."""
        return self.mean - self.last_mean


def find_peak(curve: Curve) -> Peak | None:
    """The step at which a curve was highest; None if it has no value."""
    means = {point.step: point.mean for point in curve.points if point.mean is not None}
    if not means:
        return None
    seeds: dict[int, dict[int, float]] = defaultdict(dict)
    for point in curve.points:
        for seed, value in point.by_seed.items():
            seeds[seed][point.step] = value
    step, last = max(means, key=lambda step: means[step]), max(means)
    return Peak(
        method=curve.method,
        measure=curve.measure,
        step=step,
        mean=means[step],
        last_step=last,
        last_mean=means[last],
        by_seed={seed: max(steps, key=lambda step: steps[step]) for seed, steps in sorted(seeds.items())},
    )


class Completion(Record):
    """The dimensions of one status in the untrained answers: how many hold at a step."""

    method: str
    seed: int
    step: int
    status: Status
    """By the unmet criteria of the untrained answer: none, one, some, or all; `all` adds them up."""
    dimensions: int
    completed: int
    unknown: int
    """Dimensions of which it is not known whether they hold; they are in no share."""
    share: float | None


def complete_dimensions(runs: Sequence[TrainingRun], tasks: Mapping[str, Task]) -> tuple[Completion, ...]:
    """Which dimensions get completed, by how far the untrained answer was from completing them.

    A dimension holds if all of its criteria comply. One with a single criterion that is unmet is one short.
    """
    rows = []
    for run, look, pairs in _pair_with_untrained(runs):
        held: dict[Status, list[bool | None]] = {status: [] for status in _STATUSES}
        for before, now in pairs:
            task = _find_task(tasks, now)
            earlier, states = (_read_compliance(task, verdicts) for verdicts in (before, now.verdicts))
            for dimension in task.protocol.dimensions if task.protocol else ():
                own = [states[index - 1] for index in dimension.indices]
                applying = [state for state in own if not isinstance(state, NotApplicable)]
                is_open = not applying or any(isinstance(state, Unknown) for state in applying)
                holds = False if False in applying else None if is_open else True
                held[_classify([earlier[index - 1] for index in dimension.indices])].append(holds)
                held["all"].append(holds)
        for status, found in held.items():
            completed, unknown = found.count(True), found.count(None)
            if found:
                rows.append(
                    Completion(
                        method=run.method,
                        seed=run.seed,
                        step=look.step,
                        status=status,
                        dimensions=len(found),
                        completed=completed,
                        unknown=unknown,
                        share=_divide(completed, len(found) - unknown),
                    )
                )
    return tuple(rows)


class CriterionPlace(NamedTuple):
    """One criterion in one answer, by its 1-based index."""

    task_id: str
    sample: int
    criterion: int


class CriterionShare(Record):
    """How many criteria of a look are of some kind, and which."""

    method: str
    seed: int
    step: int
    criteria: int
    """What the share is of."""
    found: int
    share: float | None
    unknown: int
    """Criteria that are left out because a verdict is unknown or does not apply."""
    places: tuple[CriterionPlace, ...]


def find_disagreements(runs: Sequence[TrainingRun], tasks: Mapping[str, Task]) -> tuple[CriterionShare, ...]:
    """Of the criteria with a positive weight that both judges decided, those that only the first calls met.

    A look that the second judge was not asked about has no row.
    """
    rows = []
    for run in runs:
        for look in run.looks:
            if not any(answer.second for answer in look.answers):
                continue
            outcomes: dict[CriterionPlace, bool | None] = {}
            for answer in look.answers:
                task = _find_task(tasks, answer)
                judges = (_read_compliance(task, verdicts) for verdicts in (answer.verdicts, answer.second))
                for index, (one, other) in enumerate(zip(*judges, strict=True), 1):
                    if task.rubric.criteria[index - 1].weight > 0:
                        decided = isinstance(one, bool) and isinstance(other, bool)
                        is_found = one is True and other is False
                        outcomes[CriterionPlace(answer.task_id, answer.sample, index)] = is_found if decided else None
            rows.append(_share_criteria(run, look, outcomes))
    return tuple(rows)


def find_suppressed(runs: Sequence[TrainingRun], tasks: Mapping[str, Task]) -> tuple[CriterionShare, ...]:
    """Of the criteria with which the untrained answer complied, those that were lost since."""
    rows = []
    for run, look, pairs in _pair_with_untrained(runs):
        outcomes: dict[CriterionPlace, bool | None] = {}
        for before, now in pairs:
            task = _find_task(tasks, now)
            both = (_read_compliance(task, verdicts) for verdicts in (before, now.verdicts))
            for index, (was, state) in enumerate(zip(*both, strict=True), 1):
                if was is True or isinstance(was, Unknown):
                    decided = was is True and isinstance(state, bool)
                    outcomes[CriterionPlace(now.task_id, now.sample, index)] = state is False if decided else None
        rows.append(_share_criteria(run, look, outcomes))
    return tuple(rows)


def _share_criteria(run: TrainingRun, look: Look, outcomes: Mapping[CriterionPlace, bool | None]) -> CriterionShare:
    places = tuple(place for place, found in outcomes.items() if found)
    known = [found for found in outcomes.values() if found is not None]
    return CriterionShare(
        method=run.method,
        seed=run.seed,
        step=look.step,
        criteria=len(known),
        found=len(places),
        share=_divide(len(places), len(known)),
        unknown=len(outcomes) - len(known),
        places=places,
    )


@dataclass(frozen=True, slots=True)
class _StepTable:
    """The values of all runs at one step on the prompts that they have in common."""

    step: int
    prompts: tuple[str, ...]
    values: dict[tuple[str, int], dict[str, float]]
    """By method and seed."""
    lost: dict[str, int]

    def by_seed(self, method: str) -> dict[int, float]:
        """The mean over prompts of each seed; empty if there are no prompts."""
        own = {seed: values for (name, seed), values in self.values.items() if name == method and values}
        return {seed: math.fsum(own[seed].values()) / len(own[seed]) for seed in sorted(own)}

    def by_prompt(self, method: str, seeds: Set[int] | None = None) -> dict[str, float]:
        """The mean over seeds of each prompt."""
        own = [
            values
            for (name, seed), values in self.values.items()
            if name == method and (seeds is None or seed in seeds)
        ]
        return {prompt: math.fsum(values[prompt] for values in own) / len(own) for prompt in self.prompts}


def _tabulate(runs: Sequence[TrainingRun], measure: Measure) -> Iterator[_StepTable]:
    if len({run.name for run in runs}) < len(runs):
        raise ConfigError("two runs have the same method and seed; give each its own")
    steps: dict[int, dict[str, dict[str, float | None]]] = defaultdict(dict)
    for run in runs:
        for look in run.looks:
            prompts: dict[str, list[float | None]] = defaultdict(list)
            for answer in look.answers:
                prompts[answer.task_id].append(getattr(answer, measure))
            means = steps[look.step][run.name] = {}
            for prompt, own in prompts.items():  # None if one of the answers is unknown
                known = [value for value in own if value is not None]
                means[prompt] = math.fsum(known) / len(known) if len(known) == len(own) else None
    for step, found in sorted(steps.items()):
        common = find_common(found)
        values = {
            (run.method, run.seed): {
                item: value for item in common.items if (value := found[run.name][item]) is not None
            }
            for run in runs
            if run.name in found
        }
        lost = {name: common.missing[name] + common.unknown[name] for name in found}
        yield _StepTable(step, common.items, values, {name: count for name, count in lost.items() if count})


def _pair_with_untrained(
    runs: Sequence[TrainingRun],
) -> Iterator[tuple[TrainingRun, Look, list[tuple[tuple[Verdict, ...], JudgedAnswer]]]]:
    """Every look with its answers, each after the verdicts on the untrained policy's answer to the same task."""
    for run in runs:
        untrained = {(answer.task_id, answer.sample): answer.verdicts for answer in run.find_untrained().answers}
        for look in run.looks:
            yield run, look, [(untrained.get((now.task_id, now.sample), ()), now) for now in look.answers]


_Compliance = bool | Unknown | NotApplicable


def _find_task(tasks: Mapping[str, Task], answer: JudgedAnswer) -> Task:
    if answer.task_id not in tasks:
        raise ConfigError(f"no task {answer.task_id!r} among the {len(tasks)} tasks; give those that were validated on")
    return tasks[answer.task_id]


def _read_compliance(task: Task, verdicts: Sequence[Verdict]) -> list[_Compliance]:
    """Whether an answer complies with each criterion: for a negative weight, the behaviour is absent."""
    if not verdicts:
        return [Unknown("not judged")] * len(task.rubric)
    if len(verdicts) != len(task.rubric):
        raise RubricError(f"task {task.id!r}: {len(verdicts)} verdicts for {len(task.rubric)} criteria")
    states: list[_Compliance] = []
    for verdict, criterion in zip(verdicts, task.rubric.criteria, strict=True):
        if isinstance(verdict, int | float) and not isinstance(verdict, bool):
            raise RubricError(f"task {task.id!r}: a verdict on a criterion is {verdict}; give true or false")
        states.append(verdict if not isinstance(verdict, bool) else verdict != (criterion.weight < 0))
    return states


def _classify(states: Sequence[_Compliance]) -> Status:
    """The status of a dimension in the untrained answer."""
    applying = [state for state in states if not isinstance(state, NotApplicable)]
    if not applying or any(isinstance(state, Unknown) for state in applying):
        return "unknown"
    unmet = applying.count(False)
    if unmet <= 1:
        return "one short" if unmet else "complete"
    return "wholly" if unmet == len(applying) else "partly"


def _divide(part: int, whole: int) -> float | None:
    return part / whole if whole else None
