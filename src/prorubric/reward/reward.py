"""`RubricReward`: a task and a response give one number, the same one in every trainer, or None.

None is an unknown reward and never a number: what a trainer makes of it is its adapter's decision. When too many of a
batch are unknown the call raises `BreakerError`, because a policy must not be trained on what is left. Misuse (a scheme
that does not fit the tasks, a judge that does not exist, a row without a task) raises before a token is spent.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import count
from operator import index
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

from pydantic import Field, JsonValue

from prorubric.aggregate.arithmetic import overlong_penalty
from prorubric.aggregate.choose import Readings, score_readings
from prorubric.aggregate.schemes import find_scheme, list_readings
from prorubric.datasets.sources import Format
from prorubric.errors import ConfigError
from prorubric.judge.checks import check_functions
from prorubric.judge.judge import JudgeConfig
from prorubric.judge.panel import AnyJudge, Judges, join_judges, list_judges, make_judge, split_config
from prorubric.llm.accounting import Usage
from prorubric.llm.http import HttpConfig
from prorubric.llm.together import run_together
from prorubric.reward.breaker import Breaker
from prorubric.reward.dimensions import DimensionVerdict, judge_dimensions
from prorubric.reward.engine import Engine, find_engine, lock_process, run_awaited, run_blocking
from prorubric.reward.lookup import Lookup
from prorubric.reward.transcript import read_answer
from prorubric.rubric.base import Record, config_record
from prorubric.rubric.records import Answer, Task
from prorubric.rubric.verdict import Evidence, Unknown, are_boolean, render_verdicts
from prorubric.text.show import shorten


@config_record
class Overlong:
    """What length costs: nothing up to `limit - buffer` tokens, then linearly more, up to `factor` at `limit`."""

    limit: Annotated[int, Field(gt=0)]
    """The longest response that the trainer allows, in tokens."""
    buffer: Annotated[int, Field(gt=0)]
    factor: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.5

    def __post_init__(self) -> None:
        if self.buffer > self.limit:
            raise ConfigError(f"Overlong: the buffer {self.buffer} is above the limit {self.limit}; give a smaller one")


@config_record
class RewardConfig:
    """Everything that defines a reward."""

    judge: Judges
    """Judge, or several: lexical, http://host:port/v1#name, gguf:PATH, smollm2, scripted:FILE, pkg.module:object."""
    _: KW_ONLY
    scheme: str = "prorubric"
    """Scheme that turns verdicts into the score."""
    tasks: str | None = None
    """The file of tasks (or a Hugging Face dataset by its id), looked up by id; None if rows carry their task."""
    format: Format = "auto"
    column: str = "task_id"
    """The column of a row that names the task, or carries it."""
    overlong: Overlong | None = None
    """What length costs; nothing by default, and never in validation."""
    addressing_penalty: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """What text addressed to the judge costs a response; never in validation."""
    shadow: tuple[str, ...] = ()
    """Schemes to watch: scored from the same verdicts if possible, otherwise judged too."""
    shadow_every: Annotated[int, Field(ge=1)] = 1
    """Shadows that need their own calls are judged for every n-th response only."""
    journal: Path | None = None
    """File that keeps replies, so no question is asked twice; None keeps none."""
    max_unknown: Annotated[float, Field(ge=0, le=1)] = 0.2
    """The breaker: a larger share of unknown rewards in a batch raises `BreakerError`, to stop the training."""
    min_batch: Annotated[int, Field(ge=1)] = 32
    """The breaker never checks fewer rewards than these: smaller batches are checked together."""
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    """How the judge is asked."""
    http: HttpConfig = field(default_factory=HttpConfig)
    """Limits and retries for its endpoint."""

    def __post_init__(self) -> None:
        if self.addressing_penalty and self.judging.addressing == "ignore":
            raise ConfigError("addressing_penalty needs detection, which addressing='ignore' turns off; use 'flag'")


class RewardParts(Record):
    """How a reward came about."""

    task_id: str
    scheme: str
    score: float | None
    """The score under the scheme, before length; None if unknown verdicts leave it open."""
    low: float
    """The score with every unknown verdict set against the response; `high` with every one set for it."""
    high: float
    overlong: float
    """What length added: 0 or less."""
    unknown: tuple[str, ...]
    """Why verdicts or the score are unknown, each reason once. The score may be known all the same."""
    verdicts: dict[str, list[JsonValue]]
    """The verdicts by reading; one that is unknown is an object with its reason."""
    agreement: dict[str, dict[str, float]] = Field(default_factory=dict)
    """By reading and index of the item, the share of votes that agree; empty if there was one vote."""
    evidence: dict[str, dict[str, Evidence]] = Field(default_factory=dict)
    """By reading and index of the item, the passage and the turn that the judge names; empty unless asked for them."""
    sent_on: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """By reading, the indices of the items that the second judge of a cascade decided."""
    dimensions: dict[str, DimensionVerdict]
    """The verdict on each dimension; None if it is unknown. Empty if the task has none."""
    shadow: dict[str, float | None]
    """The scores under the other schemes; None if unknown, missing if this response was not chosen."""
    tokens: int | None
    characters: int
    """The length of the text, or of all that the assistant says in a transcript."""
    turns_left_out: int = 0
    """Turns of a long transcript that the judge was not shown."""
    addressing: dict[str, str] = Field(default_factory=dict)
    """What the response says to its judge, by kind; empty if nothing."""
    penalty: float = 0.0
    """What that added: 0 or less."""


class Reward(Record):
    """One number for a response, or None, and how it came about."""

    value: float | None
    """Score plus what length and addressing the judge add; None if the score is unknown."""
    parts: RewardParts

    @property
    def low(self) -> float:
        """The lowest that the reward could be; its value if that is known."""
        return self.parts.low + self.parts.overlong + self.parts.penalty

    @property
    def high(self) -> float:
        """The highest that the reward could be; its value if that is known."""
        return self.parts.high + self.parts.overlong + self.parts.penalty


@dataclass(frozen=True, slots=True)
class RewardRequest:
    """A response to reward; the task in any form that `find_task` takes."""

    task: Any
    text: Any
    """The text, or the messages of a transcript: `judging.view` says how much of it the judge sees."""
    tokens: int | None = None


class RubricReward:
    """Rewards responses. Safe from threads, event loops and processes; it pickles as its config."""

    def __init__(self, config: RewardConfig) -> None:
        self.config = config
        self._schemes = tuple(dict.fromkeys((config.scheme, *config.shadow)))
        self._readings = find_scheme(config.scheme).readings
        own = set(self._readings)
        self._free_schemes = tuple(name for name in self._schemes if own.issuperset(find_scheme(name).readings))
        self._lookup = Lookup(config.tasks, config.format, config.column, self._schemes)
        check_functions(self._lookup.tasks.values(), python=config.judging.python_checks)
        self._turns, self._steps = count(), count()
        self._breaker = Breaker(config.max_unknown, config.min_batch)
        self._journal = config.journal and config.journal.absolute()
        bare = {name: engine.bare for name, engine in self._find_engines().items()}
        make_judge(bare, config.judging)  # refuses prompts that cannot be used now, not later

    def __reduce__(self) -> tuple[Any, ...]:
        return make_reward, (self.config,)

    @property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks of the file, by id."""
        return self._lookup.tasks

    @property
    def usage(self) -> Usage:
        """What this process has asked of the judge so far, or of all judges, over all rewards that share them."""
        used = list(self.usage_by_judge.values())
        if len(used) == 1:
            return used[0]
        total = Usage(", ".join(list_judges(self.config.judge)))
        for usage in used:
            total.merge(usage)
        return total

    @property
    def usage_by_judge(self) -> dict[str, Usage]:
        """What this process has asked of each judge so far."""
        return {name: engine.usage for name, engine in self._find_engines().items()}

    def find_task(self, row: object) -> Task:
        """The task of a row: a task, an id, a task as an object or as JSON text, or a row with one of these.

        `ConfigError` if it has none, or if the column names a task that is neither in the file nor in the row.
        """
        return self._lookup.find(row)

    async def reward(self, task: object, text: Any, *, tokens: int | None = None, validation: bool = False) -> Reward:
        """Reward one response, a text or the messages of a transcript."""
        return (await self.rewards([RewardRequest(task, text, tokens)], validation=validation))[0]

    async def rewards(
        self, requests: Sequence[RewardRequest], *, validation: bool = False, step: int | None = None
    ) -> list[Reward]:
        """Reward a batch, in its order; `BreakerError` if too many of it are unknown.

        `step` is the step of the training for `dropout(…)`; by default every call is the next one.
        """
        return await run_awaited(self._reward_batch(self._prepare(requests, validation, step)))

    def __call__(
        self,
        tasks: Sequence[object],
        texts: Sequence[Any],
        *,
        tokens: Sequence[int | None] | None = None,
        validation: bool = False,
        step: int | None = None,
    ) -> list[Reward]:
        """Reward a batch from plain code, also while an event loop is running."""
        lengths = [None] * len(texts) if tokens is None else list(tokens)
        if isinstance(tasks, str | Mapping) or isinstance(texts, str):
            raise ConfigError("expected lists of tasks and texts, got a single one; put it into a list")
        if not len(tasks) == len(texts) == len(lengths):
            raise ConfigError(f"{len(tasks)} tasks, {len(texts)} texts and {len(lengths)} lengths; give one for each")
        requests = [*map(RewardRequest, tasks, texts, lengths)]
        return run_blocking(self._reward_batch(self._prepare(requests, validation, step)))

    def skip(self, calls: int, responses: int) -> None:
        """Go on as after so many calls and responses, for a training that is resumed in a new process."""
        self._steps, self._turns = count(calls), count(responses)

    def _find_engines(self) -> dict[str, Engine]:
        """One engine for each judge."""
        judges = list_judges(self.config.judge)
        return {name: find_engine(name, self.config.http, self._journal) for name in judges}

    def _prepare(self, requests: Sequence[RewardRequest], validation: bool, step: int | None) -> "list[_Asked]":
        """The requests of a batch as they are judged; raises in the caller's thread and before anything is asked."""
        asked = [self._check(request, validation) for request in requests]
        compared = next((name for name in self._schemes if find_scheme(name).is_relative), None)
        if compared is None:
            return asked
        if validation:  # nothing is left out then, and length costs nothing
            return [replace(one, length=0.0) for one in asked]
        groups: dict[str, list[RewardRequest]] = defaultdict(list)
        for one in asked:
            groups[one.request.task.id].append(one.request)
        if alone := next((name for name, group in groups.items() if len(group) == 1), None):
            line = f"{compared} compares the responses to one prompt, but this call has only one of them"
            raise ConfigError(line, remedy="reward all of them in one call", place=f"task {alone!r}")
        number = next(self._steps) if step is None else step
        lengths: dict[str, list[float]] = {}
        for name, group in groups.items():
            tokens = [one.tokens for one in group if one.tokens is not None]
            sizes = tokens if len(tokens) == len(group) else [_count_characters(one.text) for one in group]
            mean = fmean(sizes)
            lengths[name] = [size / mean if mean else 1.0 for size in sizes]
        return [replace(one, length=lengths[one.request.task.id].pop(0), step=number) for one in asked]

    def _check(self, request: RewardRequest, validation: bool) -> "_Asked":
        """A request with its task found, and what length adds."""
        task = self.find_task(request.task)
        try:
            answer = read_answer(request.text, self.config.judging.view)
        except ConfigError as error:
            raise error.at(f"task {task.id!r}") from None
        tokens = None
        if request.tokens is not None:
            try:
                tokens = index(request.tokens)  # also a number of numpy's or torch's
            except TypeError:
                tokens = -1
            if tokens < 0 or isinstance(request.tokens, bool):
                shown = shorten(repr(request.tokens))
                raise ConfigError(f"task {task.id!r}: tokens is {shown}; give a whole number of 0 or more, or None")
        charge, penalty = self.config.overlong, 0.0
        if charge is not None and not validation:
            if tokens is None:
                line = "overlong is set and the length of the response is not known; pass tokens, its number of tokens"
                raise ConfigError(line, place=f"task {task.id!r}")
            penalty = overlong_penalty(tokens, charge.limit, charge.buffer, charge.factor)
        return _Asked(
            RewardRequest(task, answer, tokens), 0.0 - penalty, 0.0 if validation else self.config.addressing_penalty
        )

    async def _reward_batch(self, batch: "Sequence[_Asked]") -> list[Reward]:
        engines, judging = self._find_engines(), self.config.judging
        configs = split_config([*engines], judging)
        judge = join_judges({name: engine.find_judge(configs[name]) for name, engine in engines.items()}, judging)
        rewards = await run_together(self._reward_one(judge, one) for one in batch)
        self._breaker.check([reward.parts.unknown if reward.value is None else None for reward in rewards])
        return rewards

    async def _reward_one(self, judge: AnyJudge, asked: "_Asked") -> Reward:
        one, overlong = asked.request, asked.overlong
        is_watched = next(self._turns) % self.config.shadow_every == 0
        schemes = self._schemes if is_watched else self._free_schemes
        judged = await judge.judge_all(one.task, one.text, list_readings(schemes))
        verdicts: Readings = {name: judgement.verdicts for name, judgement in judged.items()}
        scores = score_readings(verdicts, one.task, schemes, length=asked.length, step=asked.step)
        score = scores[self.config.scheme]
        addressing = {**next(iter(judged.values())).addressing}
        penalty = 0.0 - asked.addressing_penalty if addressing else 0.0
        own = [row for reading in self._readings if not are_boolean(row := verdicts[reading.name])]
        reasons = [verdict.reason for row in own for verdict in row if isinstance(verdict, Unknown)]
        parts = RewardParts(
            task_id=one.task.id,
            scheme=self.config.scheme,
            score=score.value,
            low=score.low,
            high=score.high,
            overlong=overlong,
            unknown=tuple(dict.fromkeys([*reasons, score.reason] if score.reason else reasons)),
            verdicts={name: render_verdicts(row) for name, row in verdicts.items()},
            agreement={
                name: {str(index): share for index, share in found.agreement.items()}
                for name, found in judged.items()
                if found.agreement
            },
            evidence={
                name: {str(index): given for index, given in found.evidence.items()}
                for name, found in judged.items()
                if found.evidence
            },
            sent_on={name: found.sent_on for name, found in judged.items() if found.sent_on},
            dimensions=judge_dimensions(one.task, verdicts),
            shadow={name: scores[name].value for name in self.config.shadow if name in scores},
            tokens=one.tokens,
            characters=_count_characters(one.text),
            turns_left_out=max(judgement.turns_left_out for judgement in judged.values()),
            addressing=addressing,
            penalty=penalty,
        )
        return Reward(value=None if score.value is None else score.value + overlong + penalty, parts=parts)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that has been checked, and its place in its batch."""

    request: RewardRequest
    overlong: float
    """What length adds: 0 or less."""
    addressing_penalty: float
    """What text addressed to the judge costs."""
    length: float | None = None
    """Its length as a multiple of its group's mean, for `focused(…)`."""
    step: int | None = None
    """The step of the training, for `dropout(…)`."""


def _count_characters(answer: Answer) -> int:
    """The length of a text, or of all that the assistant says in a transcript."""
    if isinstance(answer, str):
        return len(answer)
    return sum(len(turn.content) for turn in answer if turn.role == "assistant")


_made: dict[str, RubricReward] = {}


def make_reward(config: RewardConfig) -> RubricReward:
    """The reward of this process for a config; made once, however often it is asked for or unpickled."""
    key = repr(config)
    with lock_process():
        if key not in _made:
            _made[key] = RubricReward(config)
        return _made[key]
