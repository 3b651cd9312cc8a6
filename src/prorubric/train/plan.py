"""The plan of a recipe: its runs, their rows, and the calls to the judge, before anything is spent.

Calls are exact: one for every question that the judge has to be asked, if no reply has to be asked for again and no
two responses are the same. Tokens are an estimate from the prompts of some of the tasks, and a stated length of the
responses. The plan reads files and nothing else: it needs no trainer and opens no socket.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import accumulate, chain, pairwise
from math import ceil, isfinite
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from prorubric.aggregate.choose import READS_WORDS, check_alone, check_judging, split_by_words
from prorubric.aggregate.schemes import find_scheme, list_readings
from prorubric.datasets.ids import hash_prompt
from prorubric.datasets.load import OnReject, load_responses, load_tasks
from prorubric.datasets.prepare import HeldOut
from prorubric.datasets.rejects import Reject, Rejects
from prorubric.errors import ConfigError, SchemeError, SourceError
from prorubric.files.read import read_rows
from prorubric.judge.answer import show_answer
from prorubric.judge.checks import run_checks
from prorubric.judge.judge import JudgeConfig
from prorubric.judge.panel import Judges, list_judges, split_config
from prorubric.judge.readings import READINGS, Reading, list_items
from prorubric.judge.render import load_judge_prompts, render_judge_prompt
from prorubric.judge.texts import PROBE_TEXTS
from prorubric.llm.accounting import Usage, estimate_cost, load_prices
from prorubric.llm.make import make_model
from prorubric.llm.model import YesNoModel
from prorubric.rubric.base import Record
from prorubric.rubric.forms import parse_task
from prorubric.rubric.records import Message, Task
from prorubric.runs.estimate import CHARACTERS_PER_TOKEN
from prorubric.text.show import count
from prorubric.train.commands import render_command
from prorubric.train.methods import SEEDS, Settings
from prorubric.train.recipe import Recipe, TrainRun, choose_runs, list_departures, list_runs, load_recipe
from prorubric.train.resources import FORMULAS, Resources, estimate_resources

HELD_OUT = 300
"""Prompts that the paper holds out."""
_HELD_OUT_SHARE = 10
_SAMPLED = 40
"""Tasks whose prompts are rendered for the estimate of tokens."""
_KEPT_EVERY = 50
RESPONSE_TOKENS = (500, 1500)
"""Of a short and of a usual response, in estimates; the longest has as many as the limit."""
_TOKENS_AROUND, _TOKENS_A_VERDICT = 8, 7
_LOCAL_JUDGES = ("smollm2", "gguf:", "hf:")
_PLAIN_READINGS = {"criteria", "dimensions"}
"""Readings for which a row in our own form has everything that a plan needs."""
_HELD_OUT_FORM = "held out"
"""In place of the format: such a file is read more strictly."""


class RunPlan(Record):
    """One run."""

    name: str
    method: str
    seed: int
    steps: int
    """Rollouts; for `sft` the updates."""
    calls: int
    """To the judge, in the training itself."""
    validation_calls: int
    command: tuple[str, ...]
    resources: Resources | None
    """None if the size of the policy is not known."""


class Money(Record):
    """Tokens and US dollars for one length of the responses."""

    response_tokens: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """None if the price of a judge is not known."""


class Plan(Record):
    """What a recipe will do."""

    recipe: str
    out: str
    runs: tuple[RunPlan, ...]
    tasks: int
    """Trained on."""
    held_out: int
    """Prompts that are answered at every validation."""
    validations: int
    """In each run."""
    left_out: dict[str, int]
    """Tasks that are neither, by reason."""
    calls: int
    """To judges, in all runs: exact, unless replies have to be asked for again or responses are the same."""
    is_exact: bool
    """False with a cascade: how often the first judge is unsure is not known, and `calls` is the most."""
    departures: tuple[str, ...]
    """What differs from the paper."""
    measured: tuple[str, ...]
    """What the answers of a checkpoint are judged for."""
    low: Money
    usual: Money
    high: Money
    formulas: tuple[str, ...] = FORMULAS


def plan_training(
    recipe: Path | str | Recipe,
    changes: Sequence[str] = (),
    only: Sequence[str] = (),
    files: "TaskFiles | None" = None,
) -> Plan:
    """The plan of a recipe file, or of some of its runs; raises `ConfigError` in one line if it cannot be run.

    Recipes that are planned together share `files`, so each file of tasks is read once.
    """
    loaded = recipe if isinstance(recipe, Recipe) else load_recipe(recipe, changes)
    runs = choose_runs(list_runs(loaded), only)
    rejects, files, needs = Rejects(keep=False), files or TaskFiles(), _list_needs(loaded, runs)
    split = split_tasks(loaded, files.brief(loaded, needs, rejects.add), files)
    _check_asked(loaded, runs, split, needs)
    steps = [_count_steps(run, split) for run in runs]
    questions = [_count_questions(loaded, run, split, last) for run, last in zip(runs, steps, strict=True)]
    low, usual, high = _price(loaded, runs, list(chain.from_iterable(questions)))
    if loaded.budget is not None and usual.cost is None:
        line = "a budget is set, but the price of a judge is not known"
        raise ConfigError(line, remedy="give prices, as in prices: 0.15,0.60")
    if loaded.budget is not None and usual.cost is not None and usual.cost > loaded.budget:
        line = f"the plan costs about {usual.cost:.2f} $, and the budget is {loaded.budget:g} $"
        raise ConfigError(line, remedy="raise budget, or run fewer rollouts or seeds")
    planned = [_plan_run(loaded, *one) for one in zip(runs, steps, questions, strict=True)]
    return Plan(
        recipe="" if isinstance(recipe, Recipe) else str(recipe),
        out=str(loaded.out),
        runs=tuple(planned),
        tasks=len(split.training),
        held_out=len(split.held_out),
        validations=max((len(list_validations(*one)) for one in zip(runs, steps, strict=True)), default=0),
        left_out={f"rejected, {kind}": number for kind, number in rejects.kinds.items()} | split.left_out,
        calls=sum(run.calls + run.validation_calls for run in planned),
        is_exact=loaded.judging.cascade is None,
        departures=tuple(list_departures(loaded)),
        measured=tuple(list_questions(loaded)),
        low=low,
        usual=usual,
        high=high,
    )


@dataclass(frozen=True, slots=True)
class Brief:
    """What a plan needs to know of a task."""

    id: str
    prompt: str
    """The hash of its messages."""
    characters: int
    """Of its messages."""
    asked: dict[str, int]
    """By reading, how many items the judge has to be asked about."""
    problems: dict[str, str] = field(default_factory=dict)
    """By scheme or reading, why it has nothing that this could be about."""
    row: Any = None
    """What it was made from: a task, or of some tasks a row in our own form."""


@dataclass(frozen=True, slots=True)
class TaskSplit:
    """Which tasks are trained on and which are held out."""

    training: list[Brief]
    held_out: list[Brief]
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Needs:
    """What has to be known of tasks: the readings of a judge, and the schemes that score them."""

    readings: tuple[Reading, ...] = ()
    schemes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Under which a task may have a problem."""
        return (*self.schemes, *(reading.name for reading in self.readings))

    def join(self, other: "_Needs") -> "_Needs":
        """What both need."""
        readings, schemes = ((*self.readings, *other.readings), (*self.schemes, *other.schemes))
        return _Needs(tuple(dict.fromkeys(readings)), tuple(dict.fromkeys(schemes)))


class TaskFiles:
    """Files of tasks, each read once for all the recipes that are planned together."""

    def __init__(self, recipes: Iterable[Recipe] = ()) -> None:
        self._needs: dict[tuple[str, str], _Needs] = {}
        self._read: dict[tuple[str, str], tuple[list[Brief], list[Reject]]] = {}
        self.expect(recipes)

    def expect(self, recipes: Iterable[Recipe]) -> None:
        """Read for these recipes too, when one of them needs a file."""
        for recipe in recipes:
            self._add((recipe.tasks, recipe.format), _list_needs(recipe, list_runs(recipe)))
            if recipe.validate is not None and recipe.validate.tasks is not None:
                self._add((recipe.validate.tasks, _HELD_OUT_FORM), _list_second(recipe))

    def _add(self, key: tuple[str, str], needs: _Needs) -> None:
        joined = self._needs.get(key, _Needs()).join(needs)
        if joined != self._needs.get(key):
            self._needs[key] = joined
            self._read.pop(key, None)

    def brief(self, recipe: Recipe, needs: _Needs, on_reject: OnReject) -> list[Brief]:
        """The tasks of a recipe."""
        key = recipe.tasks, recipe.format
        self._add(key, needs)
        if key not in self._read:
            rejected: list[Reject] = []
            self._read[key] = _read_briefly(recipe, self._needs[key], rejected.append), rejected
        briefs, rejects = self._read[key]
        for reject in rejects:
            on_reject(reject)
        return briefs

    def brief_held_out(self, recipe: Recipe, path: str) -> list[Brief]:
        """The tasks of a file to validate on."""
        key = path, _HELD_OUT_FORM
        self._add(key, _list_second(recipe))
        if key not in self._read:
            needs = self._needs[key]
            self._read[key] = [brief_task(task, needs.readings, needs.schemes) for task in read_held_out(path)], []
        return self._read[key][0]


def split_tasks(recipe: Recipe, briefs: Iterable[Brief], files: TaskFiles | None = None) -> TaskSplit:
    """Hold tasks out by seed 42, and leave out what cannot be trained on."""
    tasks, limit = list(briefs), min(run.settings.prompt_limit for run in list_runs(recipe))
    left_out: dict[str, int] = {}
    own: list[Brief] = []
    if recipe.validate is not None and recipe.validate.tasks is not None:
        own = (files or TaskFiles()).brief_held_out(recipe, recipe.validate.tasks)
        held = {brief.prompt for brief in own}
    elif recipe.validate is None and recipe.held_out is None:
        held = set()
    else:
        share = max(1, len(tasks) // _HELD_OUT_SHARE)
        size = min(HELD_OUT, share) if recipe.held_out is None else recipe.held_out
        drawn = HeldOut(size, SEEDS[0])
        for brief in tasks:
            drawn.offer_prompt(brief.prompt)
        held = set(drawn.chosen())
        own = [brief for brief in tasks if brief.prompt in held]
    training = [brief for brief in tasks if brief.prompt not in held]
    if recipe.validate is not None and recipe.validate.tasks is not None and len(training) < len(tasks):
        left_out["in the validation file"] = len(tasks) - len(training)
    short = [brief for brief in training if brief.characters <= limit * CHARACTERS_PER_TOKEN]
    if len(short) < len(training):
        left_out[f"prompt of more than {limit:,} tokens at {CHARACTERS_PER_TOKEN} characters each"] = len(
            training
        ) - len(short)
    if not short:
        raise ConfigError(f"{recipe.tasks}: no task is left to train on", remedy="lower held_out, or give more tasks")
    most = recipe.validate.limit if recipe.validate else 0
    return TaskSplit(short, own[:most], left_out)


def lay_rows(tasks: Sequence[str], settings: Settings, seed: int) -> Iterator[dict[str, Any]]:
    """The rows of a run in order: every prompt of every rollout, from as many epochs as they fill.

    The order depends on the seed and the ids, and not on the method, so all methods of a seed see the same prompts.
    """
    named, order = tuple(tasks), tuple[str, ...]()
    for number in range(settings.rollouts * settings.prompts):
        epoch, turn = divmod(number, len(tasks))
        if turn == 0:
            order = _order_tasks(named, seed, epoch)
        step, place = divmod(number, settings.prompts)
        yield {"step": step + 1, "place": place, "task_id": order[turn]}


@lru_cache(16)
def _order_tasks(tasks: tuple[str, ...], seed: int, epoch: int) -> tuple[str, ...]:
    """The tasks of an epoch in order; all methods of a seed share it."""
    return tuple(sorted(tasks, key=lambda name: hashlib.sha256(f"{seed}/{epoch}/{name}".encode()).digest()))


def list_validations(run: TrainRun, last: int) -> list[int]:
    """The steps after which answers are kept: 0, the untrained policy, every n-th, and the last."""
    if run.validate_every is None:
        return []
    return sorted({*range(0, last + 1, run.validate_every), last})


def count_steps(settings: Settings, rows: int) -> int:
    """Rollouts of a run; for `sft` updates on so many rows, without the last short batch of an epoch."""
    if settings.sft is not None and settings.kind == "sft":
        return rows // settings.sft.batch * settings.sft.epochs
    return 0 if settings.kind == "best-of-n" else settings.rollouts


def read_tasks(recipe: Recipe, on_reject: OnReject) -> Iterable[Task]:
    """The tasks of the recipe, the first with each id."""
    stream = load_tasks(recipe.tasks, recipe.format, on_reject=on_reject)
    stream.identify = attrgetter("id")
    return stream


def read_held_out(path: str) -> Iterable[Task]:
    """The tasks of a file to validate on; a row that cannot be read would shift every curve, so it is an error."""
    stream = load_tasks(path, on_reject=_refuse)
    stream.identify = attrgetter("id")
    return stream


def _refuse(reject: Reject) -> None:
    raise SourceError(str(reject))


def _list_second(recipe: Recipe) -> _Needs:
    """What is read at validations, and the schemes that score it."""
    asked = list_questions(recipe).values()
    schemes = dict.fromkeys(one.scheme for one in asked if one.scheme is not None)
    readings = dict.fromkeys(reading for one in asked for reading in one.readings if reading.name != "probe")
    return _Needs((READINGS["criteria"], *readings), (*schemes,))


def _list_needs(recipe: Recipe, runs: Sequence[TrainRun]) -> _Needs:
    """What is read in these runs, and at validations on tasks of the same file."""
    readings = (READINGS["criteria"], *chain.from_iterable(map(_list_readings, runs)))
    rewarded = (name for run in runs if run.reward for name in (run.reward.scheme, *run.reward.shadow))
    own = _Needs(readings, (*rewarded,))
    return own.join(_Needs() if recipe.validate and recipe.validate.tasks else _list_second(recipe))


def _read_briefly(recipe: Recipe, needs: _Needs, on_reject: OnReject) -> list[Brief]:
    """The tasks of the recipe; rows in our own form are not made into records, which would take most of the time."""
    path, wanted = Path(recipe.tasks), needs.readings
    if path.suffix == ".jsonl" and path.is_file() and {reading.name for reading in wanted} <= _PLAIN_READINGS:
        # To keep every row would take as long again as to read it.
        kept = ((number < _SAMPLED or number % _KEPT_EVERY == 0, row) for number, row in enumerate(read_rows(path)))
        briefs = [_brief_row(row.value, wanted, keep=keep) for keep, row in kept]
        if briefs and all(briefs) and len({brief.id for brief in briefs if brief}) == len(briefs):
            return cast("list[Brief]", briefs)
    if path.suffix and not path.exists():
        raise SourceError(f"{recipe.tasks}: no such file; check the path")
    return [brief_task(task, wanted, needs.schemes) for task in read_tasks(recipe, on_reject)]


def _brief_row(row: Any, wanted: Sequence[Reading], *, keep: bool) -> Brief | None:
    """A row in our own form; None if it has to be read in full."""
    try:
        messages = [Message.model_construct(**turn) for turn in row["messages"]]
        sizes = {"criteria": len(row["rubric"]), "dimensions": len(row.get("protocol") or ())}
        asked = {reading.name: sizes[reading.name] for reading in wanted}
        if not all(asked.values()) or not all(message.content for message in messages):
            return None
        for item in row["rubric"]:
            if "check" in item or not item["criterion"].strip() or not isfinite(item["weight"]) or item["weight"] == 0:
                return None
        placed = sorted(index for part in row.get("protocol") or () for index in part["indices"])
        if placed and placed != list(range(1, len(row["rubric"]) + 1)):
            return None
        characters = sum(len(message.content) for message in messages)
        return Brief(str(row["id"]), hash_prompt(messages), characters, asked, row=row if keep else None)
    except (KeyError, TypeError, AttributeError):
        return None


def brief_task(task: Task, wanted: Sequence[Reading] = (), schemes: Sequence[str] = ()) -> Brief:
    """What a plan needs to know of a task, for these readings and schemes."""
    asked, problems = dict[str, int](), dict[str, str]()
    for name in schemes:
        try:
            check_judging(task, name)
        except SchemeError as error:
            problems[name] = f"{error.place}: {error.kind}"
    for reading in wanted:
        try:
            asked[reading.name] = len(run_checks(task, "", reading, list_items(task, reading), python=False).asked)
        except SchemeError as error:
            problems[reading.name] = f"{error.place}: {error.kind}"
    characters = sum(len(message.content) for message in task.messages)
    return Brief(task.id, hash_prompt(task.messages), characters, asked, problems, task)


def _list_readings(run: TrainRun) -> Sequence[Reading]:
    """What the judge reads in a training, its shadows included."""
    return [] if run.reward is None else list_readings((run.reward.scheme, *run.reward.shadow))


def find_judging(judging: JudgeConfig, judges: Judges) -> JudgeConfig:
    """How these judges are asked: a cascade is the two training judges', and a second judge alone has none."""
    return judging if len(list_judges(judges)) > 1 else replace(judging, cascade=None)


def _check_asked(recipe: Recipe, runs: Sequence[TrainRun], split: TaskSplit, needs: _Needs) -> None:
    """Raise in one line if the judges cannot be asked as the recipe says, or tasks lack what a scheme needs."""
    for asked in list_questions(recipe).values():
        if asked.scheme is not None:
            check_alone(asked.scheme)
    if recipe.judging.cascade is not None and recipe.judge is not None:
        names = list_judges(recipe.judge)
        if len(names) != 2 or (recipe.judging.votes == 1 and not _gives_probabilities(names[0])):
            remedy = "name the cheap one first, and set judging.votes to 3 or more unless it gives probabilities"
            raise ConfigError(
                "judging.cascade needs two judges, the first of which knows how sure it is", remedy=remedy
            )
    own = recipe.validate.tasks if recipe.validate else None
    for briefs, what, place in ((split.training, "trained", recipe.tasks), (split.held_out, "validated", own)):
        names = needs.join(_list_second(recipe)).names
        problems = [[brief.problems[name] for name in names if name in brief.problems] for brief in briefs]
        if lacking := [found[0] for found in problems if found]:
            line = f"{count(len(lacking), 'task')} of {len(briefs):,} cannot be {what} on ({lacking[0]})"
            raise ConfigError(
                line,
                remedy="compile them with prorubric compile, or choose another method",
                place=place or recipe.tasks,
            )
    if recipe.judge is not None and READS_WORDS in list_judges(recipe.judge):
        schemes = [run.reward.scheme for run in runs if run.reward]
        for scheme, reason in split_by_words(schemes)[1].items():
            raise ConfigError(f"judge {READS_WORDS} cannot reward {scheme}: {reason}")


@dataclass(frozen=True, slots=True)
class JudgeCalls:
    """Calls to one judge about one reading."""

    judge: str
    reading: Reading
    calls: int
    items: float
    """In one call, in the mean."""
    tasks: Sequence[Brief]
    """Whose prompts they show."""
    in_training: bool


@dataclass(frozen=True, slots=True)
class ValidationQuestion:
    """What a judge is asked about the answers of a checkpoint."""

    judge: Judges
    readings: tuple[Reading, ...]
    scheme: str | None
    """The scheme of the score; None for the share of the four fixed criteria that hold."""


def list_questions(recipe: Recipe) -> dict[str, ValidationQuestion]:
    """What is asked at a validation, by what it measures: `coverage` and `appropriateness`.

    A judge that only compares words is not asked about texts that it cannot read.
    """
    validate, found = recipe.validate, {}
    if validate is None:
        return {}
    if validate.dynamics and recipe.judge is not None:
        found["coverage"] = ValidationQuestion(recipe.judge, (READINGS["criteria"],), "additive")
    second = recipe.judge if validate.judge is None else validate.judge
    has_own = validate.tasks is not None and validate.judge is not None
    scheme = validate.scheme if (validate.criteria or ("tasks" if has_own else "probe")) == "tasks" else None
    readings = (READINGS["probe"],) if scheme is None else tuple(find_scheme(scheme).readings)
    by_words = second is not None and READS_WORDS in list_judges(second)
    if second is not None and not (by_words and not all(reading.is_read_by_words for reading in readings)):
        found["appropriateness"] = ValidationQuestion(second, readings, scheme)
    return found


def _count_steps(run: TrainRun, split: TaskSplit) -> int:
    """The steps of a run. For `sft`, as if no row were too long: that depends on the tokenizer."""
    sft = run.settings.sft if run.settings.kind == "sft" else None
    if sft is None:
        return count_steps(run.settings, 0)
    if sft.data is None:
        raise ConfigError("sft.data is missing", remedy="name a file of responses, such as one of best-of-n")
    trained = {brief.id for brief in split.training}
    rows = sum(answer.task_id in trained for answer in load_responses(Path(sft.data), strict=True))
    if rows < sft.batch:
        line = f"{sft.data}: {count(rows, 'row')} to training tasks, and a batch has {sft.batch}"
        raise ConfigError(line, remedy="lower sft.batch")
    return count_steps(run.settings, rows)


def _count_questions(recipe: Recipe, run: TrainRun, split: TaskSplit, last: int) -> list[JudgeCalls]:
    """Every question of a run: about the responses that it makes, or a best-of-n is given, and at validations.

    Replies that have to be asked for again are not counted.
    """
    found, settings = list[JudgeCalls](), run.settings
    if run.reward is not None and recipe.judge is not None:
        if settings.kind == "best-of-n":
            best = settings.best_of
            if best is None or best.samples is None:
                raise ConfigError("best_of.samples is missing", remedy="name a file of responses, several to a prompt")
            given = Counter(response.task_id for response in load_responses(Path(best.samples), strict=True))
            tasks = [brief for brief in split.training if brief.id in given]
            sizes = [min(best.n, given[brief.id]) for brief in tasks]
        else:
            by_id = {brief.id: brief for brief in split.training}
            tasks = [by_id[row["task_id"]] for row in lay_rows([*by_id], settings, run.seed)]
            sizes = [settings.responses] * len(tasks)
        own, ends = find_scheme(run.reward.scheme).readings, [0, *accumulate(sizes)]
        for reading in _list_readings(run):
            # Every n-th response of the run, counted from the first.
            every = 1 if reading in own else run.reward.shadow_every
            times = [ceil(end / every) - ceil(start / every) for start, end in pairwise(ends)]
            found += _ask(recipe, recipe.judge, reading, tasks, times, in_training=True)
    times = [len(list_validations(run, last))] * len(split.held_out)
    asked = list_questions(recipe).values() if run.validate else ()
    # The same question for both measures is asked once.
    for judge, reading in dict.fromkeys((one.judge, reading) for one in asked for reading in one.readings):
        found += _ask(recipe, judge, reading, split.held_out, times, in_training=False)
    return found


def _ask(
    recipe: Recipe, judges: Judges, reading: Reading, tasks: Sequence[Brief], times: Sequence[int], *, in_training: bool
) -> list[JudgeCalls]:
    """What each judge is asked about a reading, `times` for each task."""
    sizes = [len(PROBE_TEXTS) if reading.name == "probe" else brief.asked[reading.name] for brief in tasks]
    judging = find_judging(recipe.judging, judges)
    configs, most = split_config(list_judges(judges), judging), judging.max_items
    mean = {size: size / ceil(size / (most or size)) if size else 0 for size in {*sizes}}
    found = []
    for judge in list_judges(judges):
        config = configs[judge]
        votes = max(config.votes, config.draws if reading.is_averaged else 1)
        calls = {}  # about one response, by its number of items
        for size in mean:
            parts = 1 if reading.is_joint else ceil(size / (config.max_items or size or 1))
            calls[size] = min(size, 1) if not size or _gives_probabilities(judge) else votes * parts
        total = sum(calls[size] * number for size, number in zip(sizes, times, strict=True))
        items = sum(map(mean.__getitem__, sizes)) / max(1, len(sizes))
        found.append(JudgeCalls(judge, reading, total, items, tasks, in_training))
    return found


@cache
def _gives_probabilities(judge: str) -> bool:
    """True for a judge that is asked once about all items. One that would have to be loaded is."""
    return judge.startswith(_LOCAL_JUDGES) or (
        not judge.startswith("http") and isinstance(make_model(judge), YesNoModel)
    )


def _price(recipe: Recipe, runs: Sequence[TrainRun], asked: Sequence[JudgeCalls]) -> list[Money]:
    """Tokens and money for short, usual and long responses."""
    prices, longest = load_prices(recipe.prices), max(run.settings.response_limit for run in runs)
    judging, prompts = recipe.judging, dict[tuple[str, bool], int]()
    for one in asked:
        key, reading = (one.reading.name, one.in_training), one.reading
        if key in prompts:
            continue
        # Tokens of a question without the response, in the mean over some of the tasks.
        prompt, sizes = load_judge_prompts(judging.prompt_file, judging.reasons)[reading.prompt], []
        kept = [[brief.row for brief in tasks if brief.row is not None] for tasks in (one.tasks, asked[0].tasks)]
        rows = kept[0] or kept[1]
        for row in rows[:: max(1, len(rows) // _SAMPLED)][:_SAMPLED]:
            task = row if isinstance(row, Task) else parse_task(row)
            shown = show_answer(task, "", judging.view, judging.max_transcript_characters)
            items = list_items(task, reading)[: judging.max_items]
            made = render_judge_prompt(prompt, task, shown, items, judging.layout, judging.show_weights)
            sizes.append(sum(len(message.content) for message in made.messages))
        prompts[key] = round(sum(sizes) / len(sizes) / CHARACTERS_PER_TOKEN) if sizes else 0
    found = []
    for tokens in (*(min(usual, longest) for usual in RESPONSE_TOKENS), longest):
        used: dict[str, Usage] = {}
        for one in asked:
            if one.judge.startswith("http"):  # every other judge is free
                usage = used.setdefault(one.judge, Usage(one.judge))
                usage.prompt_tokens += one.calls * (prompts[one.reading.name, one.in_training] + tokens)
                usage.completion_tokens += round(one.calls * (_TOKENS_AROUND + _TOKENS_A_VERDICT * one.items))
        costs = [estimate_cost(usage, prices) for usage in used.values()]
        cost = None if None in costs else sum(cost for cost in costs if cost is not None)
        asking = sum(usage.prompt_tokens for usage in used.values())
        replying = sum(usage.completion_tokens for usage in used.values())
        found.append(Money(response_tokens=tokens, prompt_tokens=asking, completion_tokens=replying, cost=cost))
    return found


def _plan_run(recipe: Recipe, run: TrainRun, steps: int, asked: Sequence[JudgeCalls]) -> RunPlan:
    tokens = min(RESPONSE_TOKENS[1], run.settings.response_limit)
    return RunPlan(
        name=run.name,
        method=run.method,
        seed=run.seed,
        steps=steps,
        calls=sum(one.calls for one in asked if one.in_training),
        validation_calls=sum(one.calls for one in asked if not one.in_training),
        command=tuple(render_command(run, Path(recipe.out or "runs") / run.name, recipe.python)),
        resources=estimate_resources(run.model, run.settings, run.processes * run.nodes, tokens, steps),
    )
