"""`RubricReward`: a task and a response give one number, the same one in every trainer, or None.

None is an unknown reward and never a number: what a trainer makes of it is its adapter's decision. When too many of a
batch are unknown the call raises `BreakerError`, because a policy must not be trained on what is left. Misuse (a scheme
that does not fit the tasks, a judge that does not exist, a row that means no task) raises before a token is spent.
"""

import os
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field
from itertools import count
from operator import index
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, JsonValue

from prorubric.aggregate.arithmetic import overlong_penalty
from prorubric.aggregate.choose import check_judging, score_readings
from prorubric.aggregate.schemes import find_scheme, list_readings
from prorubric.aggregate.score import Score
from prorubric.datasets.sources import Format
from prorubric.errors import ConfigError
from prorubric.judge.judge import Judge, JudgeConfig
from prorubric.judge.readings import Reading
from prorubric.llm.accounting import Usage
from prorubric.llm.http import HttpConfig
from prorubric.llm.together import run_together
from prorubric.reward.breaker import Breaker
from prorubric.reward.dimensions import DimensionVerdict, judge_dimensions
from prorubric.reward.engine import Asking, describe_settings, find_engine, run_awaited, run_blocking
from prorubric.reward.lookup import Lookup
from prorubric.rubric.base import Record, config_record
from prorubric.rubric.records import Task
from prorubric.rubric.verdict import Unknown, Verdict, render_verdict
from prorubric.text.show import shorten

Verdicts = Mapping[str, Sequence[Verdict]]


@config_record
class Overlong:
    """What length costs: nothing up to `limit - buffer` tokens, then linearly more, up to `factor` at `limit`."""

    limit: Annotated[int, Field(gt=0)]
    """The longest response that the trainer allows, in tokens."""
    buffer: Annotated[int, Field(gt=0)]
    """How many tokens before the limit the cost begins."""
    factor: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.5
    """The cost at the limit."""

    def __post_init__(self) -> None:
        if self.buffer > self.limit:
            raise ConfigError(f"Overlong: the buffer {self.buffer} is above the limit {self.limit}; give a smaller one")

    def penalty(self, tokens: int) -> float:
        """What is added to the score: 0 or less."""
        return 0.0 - overlong_penalty(tokens, self.limit, self.buffer, self.factor)


@config_record
class RewardConfig:
    """Everything that makes a reward."""

    judge: str
    """The judge: lexical, http://host:port/v1#name, gguf:PATH, smollm2, scripted:FILE, pkg.module:object."""
    _: KW_ONLY
    scheme: str = "prorubric"
    """The scheme that turns verdicts into the score."""
    tasks: str | None = None
    """The file of tasks (or a Hugging Face dataset by its id), looked up by id; None where rows carry their task."""
    format: Format = "auto"
    """The form of the tasks."""
    column: str = "task_id"
    """The column of a row that names the task, or carries it."""
    overlong: Overlong | None = None
    """What length costs; nothing by default, and never in validation."""
    shadow: tuple[str, ...] = ()
    """Schemes to watch: scored from the same verdicts where these allow it, else judged too."""
    shadow_every: Annotated[int, Field(ge=1)] = 1
    """Shadows that need calls of their own are judged for every n-th response only."""
    journal: Path | None = None
    """Replies are kept here and never asked for twice; None keeps none."""
    max_unknown: Annotated[float, Field(ge=0, le=1)] = 0.2
    """The breaker: a larger share of unknown rewards in a batch raises `BreakerError`, to stop the training."""
    min_batch: Annotated[int, Field(ge=1)] = 32
    """The breaker never looks at fewer rewards than these: smaller batches are looked at together."""
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    """How the judge is asked."""
    http: HttpConfig = field(default_factory=HttpConfig)
    """How its endpoint is treated."""


class RewardParts(Record):
    """How a reward came about."""

    task_id: str
    scheme: str
    score: float | None
    """The score under the scheme, before length; None where unknown verdicts leave it open."""
    low: float
    """The score with every unknown verdict set against the response."""
    high: float
    """The score with every unknown verdict set for the response."""
    overlong: float
    """What length added: 0 or less."""
    unknown: tuple[str, ...]
    """Why verdicts are unknown, each reason once. The score may be known all the same."""
    verdicts: dict[str, list[JsonValue]]
    """The verdicts by reading; one that is unknown is an object with its reason."""
    dimensions: dict[str, DimensionVerdict]
    """The verdict on each dimension; None where it is unknown. Empty where the task has none."""
    shadow: dict[str, float | None]
    """The scores under the other schemes; None where unknown, missing where this response was not chosen."""
    tokens: int | None
    characters: int


class Reward(Record):
    """One number for a response, or None, and how it came about."""

    value: float | None
    """Score plus what length adds; None where the score is unknown."""
    parts: RewardParts


@dataclass(frozen=True, slots=True)
class Case:
    """A response to be rewarded; the task in any form that `find_task` takes."""

    task: Any
    text: str
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class _Ready:
    """A case whose task is found, and what is to be judged of it."""

    task: Task
    text: str
    tokens: int | None
    overlong: float
    schemes: tuple[str, ...]


class RubricReward:
    """Rewards responses. Safe from threads, event loops and processes; pickled, it is its config."""

    def __init__(self, config: RewardConfig) -> None:
        self.config = config
        self._schemes = tuple(dict.fromkeys((config.scheme, *config.shadow)))
        self._readings = find_scheme(config.scheme).readings
        self._free_schemes = tuple(
            name for name in self._schemes if set(find_scheme(name).readings) <= set(self._readings)
        )
        self._lookup = Lookup(config.tasks, config.format, config.column, self._check_task)
        self._turns = count()
        self._breaker = Breaker(config.max_unknown, config.min_batch)
        self._asking = Asking(config.judge, config.http, config.journal)
        Judge(find_engine(self._asking).bare, config.judging)  # prompts that cannot be used are refused now

    def __reduce__(self) -> tuple[Any, ...]:
        return make_reward, (self.config,)

    @property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks of the file, by id."""
        return self._lookup.tasks

    @property
    def usage(self) -> Usage:
        """What this process has asked of the judge so far, all rewards that share it together."""
        return find_engine(self._asking).usage

    def find_task(self, row: object) -> Task:
        """The task that a row means: a task, an id, a task as an object or as JSON text, or a row with one of these.

        A row is looked through in this order: the configured column, the row itself (a prompt and a rubric), `task`,
        verl's `extra_info` and `ground_truth`. `ConfigError` where it means none, and where the column names a task
        that is neither in the file nor in the row.
        """
        return self._lookup.find(row)

    async def reward(self, task: object, text: str, *, tokens: int | None = None, validation: bool = False) -> Reward:
        """Reward one response."""
        return (await self.rewards([Case(task, text, tokens)], validation=validation))[0]

    async def rewards(self, cases: Sequence[Case], *, validation: bool = False) -> list[Reward]:
        """Reward a batch, in its order; `BreakerError` where too many of it are unknown."""
        return await run_awaited(self._start(cases, validation))

    def __call__(
        self,
        tasks: Sequence[object],
        texts: Sequence[str],
        *,
        tokens: Sequence[int | None] | None = None,
        validation: bool = False,
    ) -> list[Reward]:
        """Reward a batch from plain code, also where an event loop runs."""
        lengths = [None] * len(texts) if tokens is None else list(tokens)
        if isinstance(tasks, str | Mapping) or isinstance(texts, str):
            raise ConfigError("one task or one text was given where lists are meant; put it into a list")
        if not len(tasks) == len(texts) == len(lengths):
            raise ConfigError(f"{len(tasks)} tasks, {len(texts)} texts and {len(lengths)} lengths; give one for each")
        cases = [Case(*case) for case in zip(tasks, texts, lengths, strict=True)]
        return run_blocking(self._start(cases, validation))

    def _start(self, cases: Sequence[Case], validation: bool) -> Coroutine[Any, Any, list[Reward]]:
        """The work of a batch. What can be refused is refused here, before anything is asked."""
        return self._reward_all([self._prepare(case, validation) for case in cases])

    def _prepare(self, case: Case, validation: bool) -> _Ready:
        task = self.find_task(case.task)
        if not isinstance(case.text, str):
            raise ConfigError(f"task {task.id!r}: the response is {shorten(repr(case.text))}; give its text")
        tokens = _read_tokens(case.tokens, task.id)
        overlong = 0.0 if validation else self._penalize(tokens, task.id)
        chosen = next(self._turns) % self.config.shadow_every == 0
        return _Ready(task, case.text, tokens, overlong, self._schemes if chosen else self._free_schemes)

    def _penalize(self, tokens: int | None, task_id: str) -> float:
        if self.config.overlong is None:
            return 0.0
        if tokens is None:
            raise ConfigError(
                f"task {task_id!r}: overlong is set and the length of the response is not known; "
                "pass tokens, its number of tokens"
            )
        return self.config.overlong.penalty(tokens)

    async def _reward_all(self, cases: Sequence[_Ready]) -> list[Reward]:
        judge = find_engine(self._asking).find_judge(self.config.judging)
        rewards = await run_together(self._reward_one(judge, case) for case in cases)
        self._breaker.look_at([reward.parts.unknown if reward.value is None else None for reward in rewards])
        return rewards

    async def _reward_one(self, judge: Judge, case: _Ready) -> Reward:
        found = await judge.judge_all(case.task, case.text, list_readings(case.schemes))
        verdicts: Verdicts = {name: judgement.verdicts for name, judgement in found.items()}
        return self._conclude(case, verdicts, score_readings(verdicts, case.task, case.schemes))

    def _conclude(self, case: _Ready, verdicts: Verdicts, scores: Mapping[str, Score]) -> Reward:
        score = scores[self.config.scheme]
        parts = RewardParts(
            task_id=case.task.id,
            scheme=self.config.scheme,
            score=score.value,
            low=score.low,
            high=score.high,
            overlong=case.overlong,
            unknown=_list_reasons(verdicts, self._readings),
            verdicts={name: [render_verdict(verdict) for verdict in row] for name, row in verdicts.items()},
            dimensions=judge_dimensions(case.task, verdicts),
            shadow={name: scores[name].value for name in self.config.shadow if name in scores},
            tokens=case.tokens,
            characters=len(case.text),
        )
        return Reward(value=None if score.value is None else score.value + case.overlong, parts=parts)

    def _check_task(self, task: Task) -> None:
        for name in self._schemes:
            check_judging(task, name)


_made: dict[str, RubricReward] = {}
_making = threading.Lock()


def make_reward(config: RewardConfig) -> RubricReward:
    """The reward of this process for a config; made once, however often it is asked for or unpickled."""
    key = describe_settings(asdict(config))
    with _making:
        if key not in _made:
            _made[key] = RubricReward(config)
        return _made[key]


def _list_reasons(verdicts: Verdicts, readings: Sequence[Reading]) -> tuple[str, ...]:
    found = (verdict.reason for read in readings for verdict in verdicts[read.name] if isinstance(verdict, Unknown))
    return tuple(dict.fromkeys(found))


def _read_tokens(tokens: int | None, task_id: str) -> int | None:
    """A whole number, also of numpy's or torch's making."""
    if tokens is None:
        return None
    try:
        number = index(tokens)
    except TypeError:
        number = -1
    if number < 0 or isinstance(tokens, bool):
        raise ConfigError(
            f"task {task_id!r}: tokens is {shorten(repr(tokens))}; give a whole number from 0 on, or None"
        )
    return number


def _renew_lock() -> None:
    """After a fork: whoever held the lock is not here."""
    global _making  # noqa: PLW0603 - it is the one lock of this process
    _making = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
