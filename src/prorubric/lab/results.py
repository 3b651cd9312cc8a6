"""What runs leave behind: one record for the untrained policy, one for each run."""

from pydantic import Field

from prorubric.lab.incentive import Audit
from prorubric.lab.measure import Measure
from prorubric.rubric.base import Record


class BaseResult(Record):
    """The untrained policy."""

    world: str
    sampled: Measure
    """At temperature 1."""
    greedy: Measure
    answers: tuple[tuple[int, ...], ...]
    """Greedy answers to the first held-out cases, as moves."""
    audit: Audit
    sources: dict[str, str] = Field(default_factory=dict)
    """Of each audited function of one's own, a hash of what it was; what another one earns is audited again."""


class Point(Record):
    """One look at the policy during training, at temperature 1."""

    step: int
    measure: Measure


class RunResult(Record):
    """One finished run."""

    world: str
    scheme: str
    seed: int
    steps: int
    points: tuple[Point, ...]
    greedy: Measure
    """The end of the run with the likeliest move each time."""
    rewards: tuple[float, ...]
    """The mean score of each step, without the overlong penalty."""
    ties: tuple[float, ...]
    """The share of groups with equal rewards, by step."""
    tokens: tuple[float, ...]
    answers: tuple[tuple[int, ...], ...]
    """Greedy answers to the first held-out cases, as moves."""
    cpu_seconds: float
    source: str | None = None
    """Of a function of one's own, a hash of what it was; a run of another one is made again."""

    @property
    def last(self) -> Measure:
        """The end of the run at temperature 1."""
        return self.points[-1].measure
