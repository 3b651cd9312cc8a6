"""`train_policies`: plan every run of a recipe, train it in a separate process, monitor and validate it.

Each run has its own folder inside the recipe's, and the same command continues where it stopped: finished runs are not
repeated, and only new seeds or values of a sweep are trained.
"""

import shlex
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from prorubric.datasets.load import load_responses, load_tasks
from prorubric.datasets.rejects import Rejects
from prorubric.errors import ConfigError, ProRubricError, SourceError
from prorubric.evaluate.training import TrainingFigures, analyse_training
from prorubric.files.json import parse_json, render_json
from prorubric.files.write import open_rows, write_json
from prorubric.judge.checks import check_functions
from prorubric.judge.panel import list_judges
from prorubric.llm.accounting import estimate_cost, load_prices
from prorubric.llm.journal import Journal
from prorubric.report.train_page import write_train_page
from prorubric.reward.monitor import StepRecord
from prorubric.reward.reward import RubricReward
from prorubric.rubric.base import Record, config_record, render_config, split_commas
from prorubric.rubric.records import Task
from prorubric.rubric.save import save_responses, save_tasks
from prorubric.runs.folder import JOURNAL, REJECTS, SUMMARY, TASKS, Setting, claim_folder
from prorubric.runs.run import OnProgress, Progress
from prorubric.runs.stop import count_signals
from prorubric.runs.verdicts import ROW_SCHEMA
from prorubric.text.show import shorten
from prorubric.train.best_of import choose_best
from prorubric.train.commands import render_command
from prorubric.train.plan import brief_task, lay_rows, plan_training, read_held_out, read_tasks, split_tasks
from prorubric.train.recipe import Recipe, TrainRun, choose_runs, list_runs, load_recipe
from prorubric.train.run_folder import CHECKPOINTS, HELD_OUT, ROWS, RUN, STATE, State, read_state
from prorubric.train.supervise import Supervisor
from prorubric.train.validate import Validated, Validator

PLAN, COMMAND, BEST = "plan.json", "command.txt", "best.jsonl"
_BATCH = 256


@config_record
class TrainConfig:
    """Which recipe, and which of its runs."""

    recipe: Path
    """Recipe file, YAML or TOML."""
    _: KW_ONLY
    set: Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)] = ()
    """Change a field of the recipe, as in --set rollouts=4 or --set validate.limit=20; may be given several times."""
    only: Annotated[tuple[str, ...], BeforeValidator(split_commas)] = ()
    """Only runs of these seeds or methods, comma-separated."""


class RunReport(Record):
    """How one run ended."""

    name: str
    state: str
    """`done`, `stopped`, or `new` if it was not its turn."""
    step: int
    reason: str = ""
    """Why it stopped."""
    validations: tuple[Validated, ...] = ()
    late: dict[int, str] = Field(default_factory=dict)
    """Validations that could not be judged, with the reason; the same command tries again."""
    chosen: int | None = None
    """Best-of-n: prompts with a best answer."""
    left_out: int | None = None
    """Best-of-n: prompts without an answer of known score."""
    unknown: int | None = None
    """Best-of-n: answers without a known score."""
    not_judged: dict[str, int] = Field(default_factory=dict)
    """Best-of-n: answers that took no part, by reason."""


class TrainResult(Record):
    """What a training gave."""

    out: str
    runs: tuple[RunReport, ...]
    calls: int
    """Replies that judges gave, in all runs so far."""
    cost: float | None
    """US dollars at list price for these; None if a price is not known."""
    departures: tuple[str, ...]
    analysis: TrainingFigures
    """What the runs did; `report.html` shows it all."""
    seconds: float


def train_policies(config: TrainConfig, on_progress: OnProgress | None = None) -> TrainResult:
    """Train what is missing of a recipe.

    Ctrl-C lets the rollout finish and keeps a checkpoint; the second one ends the training at once. Raises
    `ProRubricError` with the trainer's line if a run fails; its checkpoints are kept.
    """
    started = time.monotonic()
    recipe = load_recipe(config.recipe, config.set)
    plan = plan_training(recipe)
    runs, out = choose_runs(list_runs(recipe), config.only), Path(plan.out)
    journal, rejects = out / JOURNAL, Rejects()
    tasks = {task.id: task for task in read_tasks(recipe, rejects.add)}
    check_functions(tasks.values(), python=recipe.judging.python_checks)
    split = split_tasks(recipe, map(brief_task, tasks.values()))
    own = recipe.validate.tasks if recipe.validate else None
    every = tasks if own is None else {task.id: task for task in read_held_out(own)}
    held_out = {brief.id: every[brief.id] for brief in split.held_out}
    steps = {run.name: run.steps for run in plan.runs}
    places: dict[str, Any] = {"tasks": str((out / TASKS).absolute()), "journal": journal.absolute()}
    reports = list[RunReport]()
    with claim_folder(out, _identify(config, recipe)) as begin, count_signals() as interrupted:
        planned = []
        for run in runs:
            placed = replace(run, reward=replace(run.reward, **places)) if run.reward else run
            folder = out / run.name
            planned.append(_Run(recipe, placed, folder, steps[run.name], held_out, journal, interrupted, on_progress))
            check_run(placed, folder)
        begin()
        rejects.save(out / REJECTS)
        save_tasks(out / TASKS, (tasks[brief.id] for brief in split.training))
        if held_out:
            save_tasks(out / HELD_OUT, held_out.values())
        (out / f"recipe{config.recipe.suffix}").write_bytes(config.recipe.read_bytes())
        write_json(out / PLAN, plan.model_dump(mode="json"))
        for each in planned:
            each.write()
            try:
                reports.append(each.choose_best() if each.run.settings.kind == "best-of-n" else each.train())
            except ProRubricError:
                with suppress(ProRubricError):  # the run's own line is the one to show
                    _write_page(out)
                raise
            if interrupted():
                break
        calls, cost = _count_cost(recipe, journal)
        result = TrainResult(
            out=str(out),
            runs=tuple(reports),
            calls=calls,
            cost=cost,
            departures=plan.departures,
            analysis=_write_page(out),
            seconds=round(time.monotonic() - started, 3),
        )
        write_json(out / SUMMARY, result.model_dump(mode="json"))
    if interrupted():
        raise KeyboardInterrupt
    return result


def check_run(run: TrainRun, folder: Path) -> None:
    """Raise `ConfigError` if the folder holds the same run with another setting."""
    path = folder / RUN
    if not path.is_file():
        if (folder / CHECKPOINTS).exists():
            line = f"has checkpoints but no {RUN}, which describes them"
            raise ConfigError(line, remedy="put it back, or choose another out", place=folder)
        return
    try:
        before = parse_json(path.read_bytes())
    except ValueError as error:
        raise SourceError(f"not JSON ({shorten(str(error))})", remedy="put it back", place=path) from None
    for name, (was, now) in _compare(before, parse_json(render_json(render_config(run)))).items():
        line = f"holds this run with another {name} ({shorten(str(was))}, not {shorten(str(now))})"
        raise ConfigError(line, remedy="put it back, or choose another out", place=folder)


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of a recipe, and what it needs."""

    recipe: Recipe
    run: TrainRun
    folder: Path
    steps: int
    held_out: Mapping[str, Task]
    journal: Path
    interrupted: Callable[[], int]
    on_progress: OnProgress | None

    def write(self) -> None:
        """Write what the trainer reads."""
        run, folder = self.run, self.folder
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / RUN, render_config(run))
        if run.settings.kind in ("grpo", "distillation"):
            names = [task.id for task in load_tasks(folder.parent / TASKS)]
            with open_rows(folder / ROWS, ROW_SCHEMA) as write:
                for row in lay_rows(names, run.settings, run.seed):
                    write(row)
        command = render_command(run, folder, self.recipe.python)
        (folder / COMMAND).write_text(shlex.join(command) + "\n", encoding="utf-8")

    def train(self) -> RunReport:
        """Train one run to its end, or report the one that has ended."""
        recipe, run, folder = self.recipe, self.run, self.folder
        validator = Validator(recipe, self.held_out, self.journal) if run.validate and self.held_out else None
        seen, spent = (-1, -1), None

        def tell(steps: Sequence[StepRecord], validations: Sequence[Validated]) -> str:
            nonlocal seen, spent
            if seen != (len(steps), len(validations)):
                seen, spent = (len(steps), len(validations)), _count_cost(recipe, self.journal)[1]
            if self.on_progress:
                note = _describe(run.name, steps, validations, spent)
                # Without a judge there are no records of steps.
                self.on_progress(Progress(steps[-1].step if steps else read_state(folder).step, self.steps, note))
            if recipe.budget is not None and spent is None:
                return "the budget cannot be kept: a judge does not say how many tokens it uses"
            is_used = recipe.budget is not None and spent is not None and spent >= recipe.budget
            return f"the budget of {recipe.budget:g} $ is used up" if is_used else ""

        command = render_command(run, folder, recipe.python)
        follower = Supervisor(run, folder, command, validator, recipe.stop, tell, self.interrupted)
        state = follower.follow()
        curve = [follower.validations[step] for step in sorted(follower.validations)]
        return RunReport(
            name=run.name,
            state=state.state,
            step=state.step,
            reason=state.reason,
            validations=tuple(curve),
            late=follower.late,
        )

    def choose_best(self) -> RunReport:
        """Judge given answers and keep the best to each prompt, as data for `sft`."""
        run, settings = self.run, self.run.settings
        best = settings.best_of
        if run.reward is None or best is None or best.samples is None:
            raise ConfigError("best-of-n needs a judge and best_of.samples", place=run.name)
        reward = RubricReward(run.reward)
        seen, not_judged = Counter[str](), Counter[str]()
        answers = []
        for answer in load_responses(Path(best.samples), strict=True):
            seen[answer.task_id] += 1
            if answer.task_id not in reward.tasks:
                not_judged["to a prompt that is not trained on"] += 1
            elif seen[answer.task_id] > best.n:
                not_judged[f"more than {best.n} to its prompt"] += 1
            else:
                answers.append(answer)
        if not answers:
            raise ConfigError("no answer belongs to any of the tasks", place=best.samples)
        values: list[float | None] = []
        for start in range(0, len(answers), _BATCH):
            batch = answers[start : start + _BATCH]
            values += [found.value for found in reward([one.task_id for one in batch], [one.answer for one in batch])]
            if self.on_progress:
                self.on_progress(Progress(len(values), len(answers), run.name))
            if self.interrupted():
                raise KeyboardInterrupt
        found = choose_best(answers, values)
        save_responses(self.folder / BEST, found.chosen)
        write_json(self.folder / STATE, State(state="done").model_dump())
        return RunReport(
            name=run.name,
            state="done",
            step=0,
            chosen=len(found.chosen),
            left_out=len(found.left_out),
            unknown=found.unknown,
            not_judged=dict(not_judged),
        )


def _identify(config: TrainConfig, recipe: Recipe) -> Setting:
    """What makes it another training, apart from the settings of each run."""
    parts = {name: recipe.settings.get(name) for name in ("sft", "best_of")}
    sft, best = ({} if not isinstance(part, Mapping) else part for part in parts.values())
    inputs = {
        "tasks": recipe.tasks,
        "validate.tasks": recipe.validate.tasks if recipe.validate else None,
        "sft.data": sft.get("data"),
        "best_of.samples": best.get("samples"),
    }
    asked = {f"judging.{name}": value for name, value in render_config(recipe.judging).items()}
    identity = {"held_out": recipe.held_out, "judge": recipe.judge, **asked}
    return Setting(
        "train", config, parse_json(render_json(identity)), inputs, files=(TASKS, HELD_OUT, PLAN, SUMMARY), option="out"
    )


_MAY_DIFFER = (
    "reward.http.",
    "reward.tasks",
    "reward.journal",
    "reward.max_unknown",
    "processes",
    "nodes",
    "stop_on_alarm",
    "keep",
    "rollouts_kept",
)
"""Where and how a run is made, and when it is ended; not what it learns from."""


def _compare(before: Any, now: Any, name: str = "") -> dict[str, tuple[Any, Any]]:
    """What differs between two settings, by the dotted names of fields."""
    if not isinstance(before, dict) or not isinstance(now, dict):
        return {name: (before, now)} if before != now and not name.startswith(_MAY_DIFFER) else {}
    found: dict[str, tuple[Any, Any]] = {}
    for key in [*now, *(key for key in before if key not in now)]:
        found |= _compare(before.get(key), now.get(key), f"{name}.{key}".removeprefix("."))
    return found


def _describe(name: str, steps: Sequence[StepRecord], validations: Sequence[Validated], cost: float | None) -> str:
    """One line about how a run is doing."""
    said = [name]
    if steps:
        last = steps[-1]
        figures = {"reward": last.reward, "tokens": last.tokens, "equal groups": last.equal_groups}
        forms = {"reward": ".3f", "tokens": ".0f", "equal groups": ".0%"}
        said += [f"{key} {figure:{forms[key]}}" for key, figure in figures.items() if figure is not None]
        said += [f"{last.unknown} unknown"] if last.unknown else []
    if validations and validations[-1].appropriateness is not None:
        found = validations[-1]
        said.append(f"appropriateness {found.appropriateness:.3f} at step {found.step}")
    return ", ".join([*said, *([f"{cost:.2f} $"] if cost else [])])


def _write_page(out: Path) -> TrainingFigures:
    """Show what all runs of the folder did, and give the main figures."""
    analysis = analyse_training(out)
    write_train_page(out, analysis)
    return analysis.select_figures()


def _count_cost(recipe: Recipe, journal: Path) -> tuple[int, float | None]:
    """Replies in the journal, and what they cost; None if a price is not known."""
    if not journal.is_file():
        return 0, 0.0
    with Journal(journal) as opened:
        used = opened.count()
    prices = load_prices(recipe.prices)
    second = recipe.validate.judge if recipe.validate else None
    judges = [name for judge in (recipe.judge, second) if judge for name in list_judges(judge)]
    paid = tuple(name for name in judges if name.startswith("http"))  # every other judge is free
    for usage in used:
        usage.unmetered = int(not usage.prompt_tokens)
    costs = [estimate_cost(usage, prices) if usage.model in paid else 0.0 for usage in used]
    return sum(usage.calls for usage in used), None if None in costs else sum(cost or 0.0 for cost in costs)
