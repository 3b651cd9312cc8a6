"""`analyse_training`: what the runs of a recipe did, from the folder that `prorubric train` leaves.

Nothing is judged and nothing is guessed: a part that the folder cannot give is left empty, and `missing` says why. Runs
are compared on the held-out prompts that all of them have a value for.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal

from prorubric.aggregate.bootstrap import RESAMPLES
from prorubric.datasets.load import load_tasks
from prorubric.errors import ProRubricError, SourceError
from prorubric.evaluate.dynamics import (
    Completion,
    CriterionShare,
    Curve,
    Gap,
    Peak,
    compare_methods,
    complete_dimensions,
    find_disagreements,
    find_peak,
    find_suppressed,
    trace_curves,
)
from prorubric.evaluate.looks import Measure, TrainingRun, load_run
from prorubric.files.json import parse_json
from prorubric.files.read import read_rows
from prorubric.reward.monitor import StepRecord, load_steps
from prorubric.rubric.base import Record
from prorubric.rubric.records import Task
from prorubric.text.show import count
from prorubric.train.plan import Plan
from prorubric.train.recipe import TrainRun
from prorubric.train.run_folder import HELD_OUT, RUN, VALIDATION, RunFolder, State, read_state

_PLAN = "plan.json"
MEASURES: tuple[Measure, ...] = ("c", "g", "characters")

RolloutMeasure = Literal["reward", "tokens", "equal_groups", "identical_groups", "unknown_groups", "loss"]
"""Mean reward and length of the responses of a rollout, the share of groups without signal, because their rewards are
identical (of those with known rewards) or unknown, and the loss of a training without a reward."""
ROLLOUT_MEASURES: tuple[RolloutMeasure, ...] = (
    *("reward", "tokens", "equal_groups", "identical_groups", "unknown_groups", "loss"),
)


class RunOutcome(Record):
    """How far one run came."""

    name: str
    method: str
    """With the values of a sweep."""
    seed: int
    state: str
    step: int
    steps: int
    """Planned."""
    reason: str
    """Why it stopped or failed."""
    validations: tuple[int, ...]
    """Steps that are judged."""
    pending: tuple[int, ...]
    """Steps whose answers are not judged yet."""
    responses: int
    unknown: int
    """Responses without a reward, of those."""
    alarms: tuple[str, ...]
    """The first alarm of each watched curve."""


class MethodGap(Record):
    """The difference between two methods over a training, first minus second."""

    measure: Measure
    first: str
    second: str
    points: tuple[Gap, ...]


class RolloutStep(Record):
    """One method in one rollout."""

    step: int
    mean: float
    """Over the seeds that have a value."""
    by_seed: dict[int, float]


class RolloutCurve(Record):
    """What the training itself saw of one method, rollout by rollout."""

    method: str
    measure: RolloutMeasure
    points: tuple[RolloutStep, ...]


class DimensionChange(Record):
    """How often responses met a dimension in the first and in the last quarter of the rollouts."""

    method: str
    name: str
    early: float
    late: float
    known: int
    """Verdicts behind both."""


class CriterionCount(Record):
    """A criterion, and in how many runs it was found at the last validation."""

    task_id: str
    criterion: int
    """Its 1-based index."""
    text: str
    runs: int


class TrainingFigures(Record):
    """The main figures of a training."""

    curves: tuple[Curve, ...]
    peaks: tuple[Peak, ...]
    """Where appropriateness was highest, by method."""
    gaps: tuple[MethodGap, ...]
    """Every other method minus the first one."""
    missing: dict[str, str]
    """What the folder cannot tell, and why."""


class TrainingAnalysis(TrainingFigures):
    """Everything that the folder of a recipe tells."""

    runs: tuple[RunOutcome, ...]
    departures: tuple[str, ...]
    """What differs from the paper."""
    rollouts: tuple[RolloutCurve, ...]
    dimensions: tuple[DimensionChange, ...]
    """Those that occur in both quarters, the largest change first."""
    completions: tuple[Completion, ...]
    disagreements: tuple[CriterionShare, ...]
    suppressed: tuple[CriterionShare, ...]
    disputed_criteria: tuple[CriterionCount, ...]
    suppressed_criteria: tuple[CriterionCount, ...]

    def select_figures(self) -> TrainingFigures:
        """The main figures alone."""
        return TrainingFigures(curves=self.curves, peaks=self.peaks, gaps=self.gaps, missing=self.missing)


@dataclass(frozen=True, slots=True)
class _Run:
    """One run as its folder shows it."""

    name: str
    method: str
    seed: int
    planned: int
    settings: TrainRun | None
    """None if it has not begun."""
    state: State
    steps: list[StepRecord]
    losses: dict[int, float]
    looks: TrainingRun

    @property
    def has_second_judge(self) -> bool:
        """False if the training judge judges appropriateness too."""
        if self.settings is None or self.settings.validate is None or self.settings.validate.judge is None:
            return False
        return self.settings.reward is None or self.settings.validate.judge != self.settings.reward.judge

    @property
    def has_criteria(self) -> bool:
        """True if the training judge was asked about the criteria of held-out tasks."""
        return any(answer.verdicts for look in self.looks.looks for answer in look.answers)

    @property
    def has_start(self) -> bool:
        """True if the untrained policy was judged."""
        return any(look.step == 0 for look in self.looks.looks)


def analyse_training(folder: Path, resamples: int = RESAMPLES) -> TrainingAnalysis:
    """Analyse the folder of a recipe; raises `SourceError` if it holds no training."""
    try:
        plan = Plan(**parse_json((folder / _PLAN).read_bytes()))
    except (OSError, ValueError, TypeError, ProRubricError) as error:
        remedy = "name the folder of a recipe, as prorubric train writes it"
        raise SourceError("not the plan of a training", str(error), remedy=remedy, place=folder / _PLAN) from None
    runs = _load_runs(folder, plan)
    looked = [run.looks for run in runs if run.looks.looks]
    comparable = [run.looks for run in runs if run.has_criteria and run.has_start]
    held_out = folder / HELD_OUT
    tasks = {task.id: task for task in load_tasks(held_out)} if looked and held_out.is_file() else {}
    curves = [curve for measure in MEASURES for curve in trace_curves(looked, measure, resamples)]
    curves = [curve for curve in curves if any(point.mean is not None for point in curve.points)]
    peaks = (find_peak(curve) for curve in curves if curve.measure == "c")
    gaps = []  # every method but the first against it, on each measure that both have
    for measure in MEASURES:
        methods = [curve.method for curve in curves if curve.measure == measure]
        for method in methods[1:]:
            if points := compare_methods(looked, method, methods[0], measure, resamples):
                gaps.append(MethodGap(measure=measure, first=method, second=methods[0], points=points))
    disagreements = find_disagreements([run.looks for run in runs if run.has_second_judge], tasks)
    suppressed = find_suppressed(comparable, tasks)
    found = TrainingAnalysis(
        runs=tuple(map(_describe, runs)),
        departures=plan.departures,
        curves=tuple(curves),
        peaks=tuple(peak for peak in peaks if peak is not None),
        gaps=tuple(gaps),
        rollouts=_trace_rollouts(runs),
        dimensions=_compare_dimensions(runs),
        completions=complete_dimensions(comparable, tasks),
        disagreements=disagreements,
        suppressed=suppressed,
        disputed_criteria=_count_criteria(disagreements, tasks),
        suppressed_criteria=_count_criteria(suppressed, tasks),
        missing={},
    )
    return found.model_copy(update={"missing": _explain(found, runs)})


def _load_runs(folder: Path, plan: Plan) -> list[_Run]:
    """The runs of the plan in its order, and others that the folder holds."""
    planned = {run.name: (run.seed, run.steps) for run in plan.runs}
    for path in sorted(folder.glob(f"*/{RUN}")):
        if path.parent.name not in planned:
            own = RunFolder(path.parent).load_run()
            planned[path.parent.name] = own.seed, own.settings.rollouts
    runs = []
    for name, (seed, steps) in planned.items():
        place, method = RunFolder(folder / name), name.removesuffix(f"-seed-{seed}")
        settings = place.load_run() if (place.path / RUN).is_file() else None
        is_rewarded = settings is not None and settings.reward is not None
        losses: dict[int, float] = {}
        if settings is not None and not is_rewarded and place.steps.is_file():
            rows = (row.value or {} for row in read_rows(place.steps))
            losses = {int(row["step"]): float(row["loss"]) for row in rows if "loss" in row}
        has_looks = (place.path / VALIDATION).is_dir()
        runs.append(
            _Run(
                name=name,
                method=method,
                seed=seed,
                planned=steps,
                settings=settings,
                state=read_state(place.path),
                steps=load_steps(place.steps) if is_rewarded else [],
                losses=losses,
                looks=load_run(place.path, method, seed) if has_looks else TrainingRun(method, seed, ()),
            )
        )
    return runs


def _describe(run: _Run) -> RunOutcome:
    alarms = {alarm.other: f"step {record.step}: {alarm}" for record in reversed(run.steps) for alarm in record.alarms}
    return RunOutcome(
        name=run.name,
        method=run.method,
        seed=run.seed,
        state=run.state.state,
        step=run.state.step,
        steps=run.planned,
        reason=run.state.reason,
        validations=tuple(look.step for look in run.looks.looks),
        pending=run.looks.pending,
        responses=sum(record.responses for record in run.steps),
        unknown=sum(record.unknown for record in run.steps),
        alarms=tuple(alarms.values()),
    )


def _trace_rollouts(runs: Iterable[_Run]) -> tuple[RolloutCurve, ...]:
    values: dict[tuple[RolloutMeasure, str], dict[int, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for run in runs:
        for measure in ROLLOUT_MEASURES:
            own = run.losses if measure == "loss" else {one.step: getattr(one, measure) for one in run.steps}
            for step, value in own.items():
                if value is not None:
                    values[measure, run.method][step][run.seed] = value
    curves = []
    for (measure, method), steps in values.items():
        points = (RolloutStep(step=step, mean=fmean(own.values()), by_seed=own) for step, own in sorted(steps.items()))
        curves.append(RolloutCurve(method=method, measure=measure, points=tuple(points)))
    return tuple(sorted(curves, key=lambda curve: ROLLOUT_MEASURES.index(curve.measure)))


def _compare_dimensions(runs: Iterable[_Run]) -> tuple[DimensionChange, ...]:
    """Pass rates by the name of a dimension, over the seeds of a method; a quarter has at least one rollout."""
    passed: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    known: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for run in runs:
        size = max(1, len(run.steps) // 4)
        late = run.steps[-size:] if len(run.steps) > 1 else []
        for quarter, records in enumerate((run.steps[:size], late)):
            for name, rate in ((name, rate) for record in records for name, rate in record.dimensions.items()):
                if rate.rate is not None:
                    passed[run.method, name][quarter] += rate.rate * rate.known
                    known[run.method, name][quarter] += rate.known
    changes = []
    for (method, name), counts in known.items():
        if all(counts):
            early, late_rate = (part / whole for part, whole in zip(passed[method, name], counts, strict=True))
            changes.append(DimensionChange(method=method, name=name, early=early, late=late_rate, known=sum(counts)))
    return tuple(sorted(changes, key=lambda change: -abs(change.late - change.early)))


def _count_criteria(rows: Iterable[CriterionShare], tasks: Mapping[str, Task]) -> tuple[CriterionCount, ...]:
    """The criteria found at the last validation of each run, the most frequent first."""
    last = {(row.method, row.seed): row for row in rows}  # steps are in order, so the last one stays
    found = [{(place.task_id, place.criterion) for place in row.places} for row in last.values()]
    times = Counter(key for keys in found for key in keys)
    return tuple(
        CriterionCount(task_id=task, criterion=index, text=tasks[task].rubric.criteria[index - 1].text, runs=runs)
        for (task, index), runs in sorted(times.items(), key=lambda item: (-item[1], item[0]))
    )


def _explain(found: TrainingAnalysis, runs: Sequence[_Run]) -> dict[str, str]:
    """Why parts of an analysis are empty or not whole, by part."""
    measured = {curve.measure for curve in found.curves}
    pending = sum(len(run.pending) for run in found.runs)
    is_validated = any(run.settings is None or run.settings.validate for run in runs)
    none_yet = f"none is judged yet, {pending} pending" if pending else "none has been made yet"
    no_criteria = not any(run.has_criteria for run in runs)
    no_start = [run.name for run in runs if run.has_criteria and not run.has_start]
    has_second = any(run.has_second_judge for run in runs)
    fewer = []  # steps at which a method has fewer seeds than at others: its curve may bend for that reason alone
    for curve in (curve for curve in found.curves if curve.measure == "characters"):
        most = max(len(point.by_seed) for point in curve.points)
        if steps := [str(point.step) for point in curve.points if len(point.by_seed) < most]:
            fewer.append(f"{curve.method} (step {', '.join(steps)})")
    one_method = len({run.method for run in runs}) < 2
    unasked = "the training judge was not asked about the criteria of held-out tasks"
    unstarted = f"the untrained policy was not judged in {', '.join(no_start)}"
    parts = [
        ("validations", not measured, none_yet if is_validated else "the recipe has none"),
        ("pending", bool(pending and measured), f"{count(pending, 'validation')} not judged yet"),
        ("means", bool(fewer), f"of fewer seeds at some steps: {', '.join(fewer)}"),
        ("rollouts", not found.rollouts, "no rollout has been recorded yet"),
        ("seeds", len({run.seed for run in runs}) < 2, "one seed says nothing about other training runs"),
        ("methods", one_method, "one method, so there is nothing to compare"),
    ]
    if measured:
        parts += [
            ("appropriateness", "c" not in measured, "the second judge was not asked"),
            ("coverage", "g" not in measured, unasked),
            ("gaps", not (found.gaps or one_method), "no two methods have a seed and a validation in common"),
            ("completions", not found.completions, "the held-out tasks have no dimensions"),
            *((part, bool(no_start), unstarted) for part in ("completions", "suppressed")),
            *((part, no_criteria, unasked) for part in ("completions", "suppressed")),
            ("disagreements", not found.disagreements, "the second judge was not asked about the tasks' criteria"),
            ("disagreements", not has_second, "there is no second judge"),
        ]
    return {part: reason for part, applies, reason in parts if applies}  # the last reason of a part is the first cause
