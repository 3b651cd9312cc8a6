"""The nouns of an evaluation: items with their prompts, the answers to them, and what each answer is worth.

Three kinds of failure are kept apart. What the policy failed at (no letter, an answer that was cut off) is scored and
named in `failure`. What the judge left open is in `unknown`, with bounds and no value. A call that never came back is
nowhere here: its run is not finished.
"""

from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated

from pydantic import Field

from prorubric.rubric.base import Record, config_record
from prorubric.rubric.records import Criterion, Message, Rubric, Task

_STAND_IN = (Criterion(text="The answer serves the person who asked.", weight=1.0),)


@dataclass(frozen=True, slots=True)
class BenchmarkItem:
    """One prompt of a benchmark. Benchmarks that share prompts share their ids, so an answer is asked for once."""

    id: str
    """`family/id`, such as `healthbench/52be8aac-…`."""
    messages: tuple[Message, ...]
    criteria: tuple[Criterion, ...] = ()
    cluster: str = ""
    """Items with the same cluster are not independent of each other; empty if the item stands alone."""
    tags: tuple[str, ...] = ()
    category: str = ""
    """What decides about the prompt or the baseline, such as `hard_prompt`."""
    letter: str = ""
    """Multiple choice: the right one."""
    baseline: str | None = None
    """Arena-Hard: the answer to beat."""
    answer: str | None = None
    """Meta-evaluation: the answer that physicians judged."""
    labels: tuple[tuple[str, bool], ...] = ()
    """Meta-evaluation: rater and what they said of the one criterion."""

    @property
    def task(self) -> Task:
        """The item as the judge takes it."""
        return Task(id=self.id, messages=self.messages, rubric=Rubric(criteria=self.criteria or _STAND_IN))


@config_record
class Sampling:
    """How policies are sampled; all of it is part of the key under which the journal keeps an answer."""

    _: KW_ONLY
    temperature: Annotated[float, Field(ge=0)] = 0.7
    """Temperature of the policies."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 0.8
    """Top-p of the policies."""
    top_k: Annotated[int, Field(ge=1)] | None = 20
    """Top-k of the policies."""
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    """Min-p of the policies: smallest probability of a token, relative to the likeliest."""
    max_tokens: Annotated[int, Field(ge=1)] = 8192
    """Maximum length of an answer, in tokens."""
    seed: int | None = None
    """Seed to send to the policies' endpoints."""
    thinking: bool = False
    """Let the policies think before they answer; their thinking is not judged."""


class PolicyAnswer(Record):
    """What a policy answered to one item."""

    policy: str
    item: str
    sample: int = 0
    text: str
    finish: str | None = None
    """Why it stopped: `stop`, `length` …; None if a file does not say."""
    tokens: int | None = None
    budget: int | None = None
    """The most tokens that it could use, if it was asked for under an equal budget."""


class ItemScore(Record):
    """What one answer is worth under one judge. Values are as the benchmark counts them, before × 100."""

    benchmark: str
    judge: str
    """Empty if no judge is needed."""
    policy: str
    item: str
    sample: int = 0
    value: float | None
    """None if unknown verdicts leave it open."""
    low: float
    high: float
    weight: float = 1.0
    """How much it counts in a ratio (Arena-Hard: the rows of its two games)."""
    failure: str = ""
    """What the policy failed at: `no letter`, `cut off`, `empty`."""
    unknown: dict[str, int] = Field(default_factory=dict)
    """Verdicts that the judge did not give, by kind."""
    cluster: str = ""
    characters: int = 0
    tokens: int | None = None


class Game(Record):
    """Two answers to one item, shown in both orders. Labels are `A>>B A>B A=B B>A B>>A`."""

    benchmark: str
    judge: str
    item: str
    first: str
    """The policy, or the baseline, that is A in the first game."""
    second: str
    """The policy that is A in the second game."""
    sample: int = 0
    labels: tuple[str | None, str | None]
    """None where the judge gave none."""
    unknown: dict[str, int] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Policy:
    """One arm of an evaluation."""

    name: str
    spec: str
    """An endpoint, gguf:PATH, a checkpoint folder, or a file of answers."""
    group: str = ""
    """The method, if several seeds of it are compared; else the name."""
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a benchmark."""

    name: str
    """Where it is expected below the data folder."""
    rows: int
    """Of the published file; 0 if it is not known."""
    licence: str
    get: str
    """How to get it, in one line."""
    sha256: str = ""
    """Of the published file; empty if it is not known."""
    also: tuple[str, ...] = field(default=())
    """Other names that it goes by."""
    is_protected: bool = False
    """True if its text must not be copied into a run folder."""
    is_optional: bool = False
    """True if the benchmark can do without it and leaves out, counted, what needs it."""
