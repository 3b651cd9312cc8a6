"""A recipe: one file that describes a training run, or several that differ in their seed, method or settings.

`method`, `model` and `tasks` are required, and `judge` if responses are judged. Every field of `Settings` is optional
and defaults to the method's value. `seeds` and `sweep` make several runs of one file.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, field, fields, replace
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from prorubric.datasets.sources import Format
from prorubric.errors import ConfigError
from prorubric.files.settings import check_names, read_settings
from prorubric.files.yaml_rows import read_yaml
from prorubric.judge.judge import JudgeConfig
from prorubric.judge.panel import Judges
from prorubric.llm.http import HttpConfig
from prorubric.reward.reward import RewardConfig
from prorubric.rubric.base import config_record, render_config
from prorubric.train.methods import SEEDS, BestOfN, Settings, Sft, Shaping, find_method, read_switch
from prorubric.train.scaffold import Scaffold
from prorubric.train.self_distillation import Distillation

Trainer = Literal["trl", "verl"]

_Positive = Annotated[int, Field(ge=1)]


def _listed(value: object) -> object:
    return (value,) if isinstance(value, int | str) else value


@config_record
class Validation:
    """Which prompts every checkpoint answers, and who judges the answers."""

    _: KW_ONLY
    tasks: str | None = None
    """Tasks file with held-out prompts and criteria; by default the tasks that `held_out` leaves out of training."""
    judge: Judges | None = None
    """The second judge; by default the training judge."""
    criteria: Literal["tasks", "probe"] | None = None
    """What the second judge looks at: the criteria of the tasks, or four fixed ones about appropriateness. By default
    the tasks' if they come from a separate file and have their own judge, and the four otherwise."""
    scheme: str = "additive"
    limit: _Positive = 300
    """Maximum number of prompts to answer."""
    every: _Positive | None = None
    """Rollouts between two validations; by default those between two checkpoints."""
    temperature: Annotated[float, Field(ge=0)] = 0.0
    dynamics: bool = True
    """Let the training judge look at every criterion too: coverage, and which dimensions get completed."""


@config_record
class StopRule:
    """What ends a run early."""

    _: KW_ONLY
    alarm: bool = False
    """The monitor's alarm: the score rises while a watched curve falls."""
    fall: Annotated[float, Field(gt=0, le=1)] | None = None
    """Appropriateness this far below the untrained policy's."""
    after: _Positive = 2
    """In this many validations in a row."""


@config_record
class Recipe:
    """A training recipe, apart from the fields of `Settings`."""

    method: str
    model: str
    """The policy: a name on the hub, a folder, `smollm2`, `mini:WORLD` (of the lab), or `tiny` (for tests)."""
    tasks: str
    _: KW_ONLY
    judge: Judges | None = None
    format: Format = "auto"
    held_out: Annotated[int, Field(ge=0)] | None = None
    """Number of tasks to leave out of training, chosen by seed 42; by default 300 or a tenth (at least one), whichever
    is less, and none if `validate` has tasks."""
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    http: HttpConfig = field(default_factory=HttpConfig)
    max_unknown: Annotated[float, Field(ge=0, le=1)] = 0.2
    shadow: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    shadow_every: _Positive = 1
    trainer: Trainer = "trl"
    python: str | None = None
    """The Python of the trainer's environment; by default this one."""
    processes: _Positive = 1
    """Processes (GPUs) per node."""
    nodes: _Positive = 1
    per_device: _Positive | None = None
    """Responses per process in one forward pass; by default up to 8, as many as divide an update."""
    validate: Annotated[Validation | None, BeforeValidator(read_switch)] = field(default_factory=Validation)
    stop: Annotated[
        StopRule | None, BeforeValidator(lambda value: {"alarm": True} if value == "alarm" else read_switch(value))
    ] = None
    keep: Literal["all", "last"] | tuple[int, ...] = "all"
    """Checkpoints to keep: all, the last, or those of some rollouts."""
    rollouts_kept: bool = True
    """Keep every response with its verdicts, in `rollouts/`."""
    seeds: Annotated[tuple[int, ...], Field(min_length=1), BeforeValidator(_listed)] = (SEEDS[0],)
    sweep: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """Lists of values by field; their product is run."""
    set: dict[Trainer, dict[str, Any]] = field(default_factory=dict)
    """The trainer's own settings; they override everything else."""
    prices: str | None = None
    """US dollars per million prompt and completion tokens, as in 0.15,0.60, or a JSON file of prices by model."""
    budget: Annotated[float, Field(gt=0)] | None = None
    """US dollars. A plan above it is refused; a run that reaches it stops at the next checkpoint."""
    out: Path | None = None
    """The folder; by default runs/ and the name of the recipe file."""
    settings: dict[str, Any] = field(default_factory=dict)
    """The fields of `Settings` that the recipe gives."""


@config_record
class TrainRun:
    """One run of a recipe with everything resolved; `run.json` holds it, and a trainer needs nothing else."""

    name: str
    _: KW_ONLY
    method: str
    seed: int
    model: str
    trainer: Trainer
    settings: Settings
    reward: RewardConfig | None
    """None where nothing is judged."""
    processes: int
    nodes: int
    per_device: int | None
    validate: Validation | None
    stop_on_alarm: bool
    keep: Literal["all", "last"] | tuple[int, ...]
    rollouts_kept: bool
    own: dict[str, Any]
    """The trainer's own settings."""

    @property
    def validate_every(self) -> int | None:
        """Rollouts between two validations; None without any."""
        return None if self.validate is None else self.validate.every or self.settings.every


RECIPE_FIELDS = tuple(option.name for option in fields(Recipe) if option.name != "settings")
SETTING_FIELDS = tuple(option.name for option in fields(Settings) if option.name != "kind")


def load_recipe(path: Path | str, changes: Sequence[str] = ()) -> Recipe:
    """A recipe from a YAML or TOML file; `changes` are pairs that win, such as `validate.limit=20`."""
    path = Path(path)
    found = read_settings(path, "recipe", "method: prorubric")
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals:
            raise ConfigError(f"--set {change}: a change looks like field=value, for example --set rollouts=4")
        row = next(read_yaml(Path("--set"), f"value: {value}")).value
        *parts, last = name.strip().split(".")
        inner = found
        for part in parts:
            inner[part] = dict(inner[part]) if isinstance(inner.get(part), Mapping) else {}
            inner = inner[part]
        inner[last] = row and row["value"]
    try:
        return make_recipe(found, Path("runs") / path.stem)
    except ConfigError as error:
        raise error.at(path) from None


def make_recipe(found: Mapping[str, Any], out: Path) -> Recipe:
    """A recipe from its fields; `out` is its folder if they have none."""
    values = dict(found)
    if isinstance(values.get("method"), Mapping):  # a method with its own fields
        own = dict(values["method"])
        values = {**{name: value for name, value in own.items() if name != "base"}, **values, "method": own.get("base")}
    check_names(values, (*RECIPE_FIELDS, *SETTING_FIELDS), "a recipe")
    for name, part in _PARTS.items():
        if isinstance(values.get(name), Mapping):
            check_names(values[name], [option.name for option in fields(part)], name)
    for name in ("method", "model", "tasks"):
        if values.get(name) is None:
            raise ConfigError(f"{name} is missing", remedy="a recipe needs method, model, tasks and judge")
    for name, value in values.items():
        if isinstance(value, bool) and name not in ("rollouts_kept", "validate", "stop", *_SWITCHES):
            raise ConfigError(
                f"{name} is {str(value).lower()}", remedy="put a word in quotes, and give a number as digits"
            )
    settings = {name: values.pop(name) for name in SETTING_FIELDS if name in values}
    recipe = Recipe(**values, settings=settings)
    named = str(recipe.method)
    if recipe.judge is None and any(run.settings.is_judged for run in _list_settings(recipe)):
        raise ConfigError(
            "judge is missing", remedy=f"{named} rewards responses: name a judge, http://host:port/v1#name"
        )
    if recipe.held_out == 0 and recipe.validate is not None and recipe.validate.tasks is None:
        recipe = replace(recipe, validate=None)  # there is nothing to validate on
    if recipe.stop is not None and recipe.stop.fall is not None and recipe.validate is None:
        raise ConfigError("stop.fall needs validations", remedy="set validate and held_out, or leave out stop.fall")
    return recipe if recipe.out else replace(recipe, out=out)


_SWITCHES: dict[str, Any] = {
    "overlong": Shaping,
    "scaffold": Scaffold,
    "distillation": Distillation,
    "sft": Sft,
    "best_of": BestOfN,
}
_PARTS = {**_SWITCHES, "validate": Validation, "stop": StopRule, "judging": JudgeConfig, "http": HttpConfig}


@config_record
class _Chosen:
    """One choice of a sweep: the method with its settings, and what names it."""

    method: str
    settings: Settings
    values: dict[str, Any]


def _list_settings(recipe: Recipe) -> Iterator[_Chosen]:
    """Every method and settings of a recipe, apart from seeds."""
    for name in recipe.sweep:
        if name not in ("method", "model", *SETTING_FIELDS):
            close = get_close_matches(name, ("method", "model", *SETTING_FIELDS), 1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise ConfigError(f"sweep: {name!r} is not a setting", remedy=f"{hint}method, model and settings can vary")
        if not recipe.sweep[name]:
            raise ConfigError(f"sweep: {name} has no values", remedy="give a list of values")
    for values in product(*recipe.sweep.values()):
        chosen = dict(zip(recipe.sweep, values, strict=True))
        method = str(chosen.get("method", recipe.method))
        given = recipe.settings | {name: value for name, value in chosen.items() if name in SETTING_FIELDS}
        yield _Chosen(method, change_settings(find_method(method), given), chosen)


def change_settings(settings: Settings, given: Mapping[str, Any]) -> Settings:
    """Settings with other values; fields of a part that are not given stay as they are."""
    merged = {}
    for name, value in given.items():
        part = getattr(settings, name)
        is_partial = name in _SWITCHES and isinstance(value, Mapping) and part is not None
        merged[name] = asdict(part) | dict(value) if is_partial else value
    try:
        return Settings(**{option.name: getattr(settings, option.name) for option in fields(settings)} | merged)
    except ConfigError as error:
        if error.place.startswith("Settings"):
            error.place = error.place.removeprefix("Settings").removeprefix(": ")
        raise


def list_runs(recipe: Recipe) -> tuple[TrainRun, ...]:
    """The runs of a recipe, all methods and settings of a seed before the next seed."""
    runs = [_make_run(recipe, chosen, seed) for seed in recipe.seeds for chosen in _list_settings(recipe)]
    names = [run.name for run in runs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"two runs are called {twice}", remedy="name each seed and each value of a sweep once")
    return tuple(runs)


def choose_runs(runs: Sequence[TrainRun], only: Sequence[str]) -> list[TrainRun]:
    """The runs of some seeds or methods, or of some names; all of them if none is given."""
    known = [str(name) for run in runs for name in (run.seed, run.method, run.name)]
    for name in only:
        if name not in known:
            raise ConfigError(f"--only {name}: no run has it", remedy=f"known: {', '.join(dict.fromkeys(known))}")
    return [run for run in runs if not only or {str(run.seed), run.method, run.name} & {*only}]


def _make_run(recipe: Recipe, chosen: _Chosen, seed: int) -> TrainRun:
    settings, reward = chosen.settings, None
    if settings.is_judged and recipe.judge is not None:
        reward = RewardConfig(
            recipe.judge,
            scheme=settings.scheme or "additive",
            overlong=settings.price_length(),
            shadow=tuple(name for name in recipe.shadow if name != settings.scheme),
            shadow_every=recipe.shadow_every,
            max_unknown=recipe.max_unknown,
            judging=recipe.judging,
            http=recipe.http,
        )
    own = recipe.set.get(recipe.trainer, {})
    varied = [f"{name}-{value}" for name, value in chosen.values.items() if name != "method"]
    return TrainRun(
        re.sub(r"[^\w.+-]+", "-", "-".join([chosen.method, *varied, "seed", str(seed)])),
        method=chosen.method,
        seed=seed,
        model=str(chosen.values.get("model", recipe.model)),
        trainer=recipe.trainer,
        settings=settings,
        reward=reward,
        processes=recipe.processes,
        nodes=recipe.nodes,
        per_device=recipe.per_device,
        validate=recipe.validate if settings.kind in ("grpo", "distillation", "sft") else None,
        stop_on_alarm=bool(recipe.stop and recipe.stop.alarm),
        keep=recipe.keep,
        rollouts_kept=recipe.rollouts_kept,
        own=own,
    )


def list_departures(recipe: Recipe) -> list[str]:
    """What differs from the paper's row of each method, a line each."""
    found: dict[str, None] = {}
    for chosen in _list_settings(recipe):
        paper, own = find_method(chosen.method), chosen.settings
        for name in SETTING_FIELDS:
            was, now = getattr(paper, name), getattr(own, name)
            if was != now:
                found[f"{chosen.method}: {name} {_say(now)} (paper: {_say(was)})"] = None
    if recipe.trainer != "verl":
        found["trainer TRL (paper: verl)"] = None
    if recipe.seeds != SEEDS:
        found[f"seeds {_say(recipe.seeds)} (paper: {_say(SEEDS)})"] = None
    for name, value in recipe.set.get(recipe.trainer, {}).items():
        found[f"set.{recipe.trainer}.{name} {_say(value)}"] = None
    return list(found)


def _say(value: object) -> str:
    """A value of a recipe as it is written there."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if hasattr(value, "__dataclass_fields__"):
        return ", ".join(f"{name} {_say(inner)}" for name, inner in render_config(value).items())
    return str(value)
