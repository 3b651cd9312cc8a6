"""The results of runs, and one scheme's row in the tables made from them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pydantic import Field

from prorubric.errors import RubricError, SourceError
from prorubric.evaluate.statistics import Spread, rank_correlation
from prorubric.files.json import parse_json
from prorubric.lab.incentive import Audit
from prorubric.lab.measure import WITHOUT, Measure
from prorubric.lab.schemes import hash_own
from prorubric.rubric.base import Record

HELD_OUT_CASES, HELD_OUT_SEED = 1000, 1
KEPT_ANSWERS = 64  # how many held-out cases a run keeps its answers to
BASE = "base"  # the name of the untrained policy's row


class BaseResult(Record):
    """The untrained policy."""

    world: str
    sampled: Measure  # at temperature 1
    greedy: Measure
    answers: tuple[tuple[int, ...], ...]  # greedy answers to the first held-out cases, as moves
    audit: Audit
    sources: dict[str, str] = Field(default_factory=dict)
    """For each audited function of the user's, the hash of its files; an edited one is audited again."""

    def has_audit(self, scheme: str) -> bool:
        """True for an audited scheme; the user's own function has to be the one that was audited."""
        source = hash_own(scheme)
        known = any(found.scheme == scheme for found in self.audit.forecast)
        return known and (source is None or self.sources.get(scheme) == source)

    def with_audit(self, newer: "BaseResult") -> "BaseResult":
        """The same policy with newer audits in the place of those for the same schemes."""
        new = {found.scheme for found in newer.audit.forecast}
        joined = {
            name: (*(row for row in getattr(self.audit, name) if row.scheme not in new), *getattr(newer.audit, name))
            for name in ("effects", "naming_share", "forecast")
        }
        audit = self.audit.model_copy(update=joined)
        return self.model_copy(update={"audit": audit, "sources": self.sources | newer.sources})


class Point(Record):
    """One look at the policy during training, at temperature 1."""

    step: int
    measure: Measure


class LabRun(Record):
    """One finished run."""

    world: str
    scheme: str
    seed: int
    steps: int
    points: tuple[Point, ...]
    greedy: Measure  # the end of the run with the likeliest move each time
    rewards: tuple[float, ...]  # the mean score of each step, without the overlong penalty
    ties: tuple[float, ...]  # the share of groups with equal rewards, by step
    tokens: tuple[float, ...]
    answers: tuple[tuple[int, ...], ...]  # greedy answers to the first held-out cases, as moves
    cpu_seconds: float
    source: str | None = None
    """For a function of the user's, the hash of its files; a run of an edited one is made again."""

    @property
    def last(self) -> Measure:
        """The end of the run at temperature 1."""
        return self.points[-1].measure


def load_runs(folder: Path) -> tuple[BaseResult, list[LabRun]]:
    """Everything that a run folder holds, by seed."""
    if not (folder / "base.json").is_file():
        raise SourceError(f"{folder} holds no runs of the lab; make some with: prorubric lab run --out {folder}")
    try:
        base = BaseResult(**parse_json((folder / "base.json").read_bytes()))
        runs = [LabRun(**parse_json(path.read_bytes())) for path in sorted((folder / "runs").glob("*.json"))]
    except RubricError as error:
        remedy = f"make it again with: prorubric lab run --out {folder}"
        raise SourceError(f"{folder} was written by another version", str(error), remedy=remedy) from None
    return base, sorted(runs, key=lambda run: run.seed)


class MeasureRow(Record):
    """The measures of a scheme, or of the untrained policy, over seeds; at temperature 1 unless named otherwise."""

    scheme: str
    seeds: int
    g: Spread
    g_lenient: Spread
    c: Spread
    c_without: dict[str, Spread]  # `c` without a set of parts, by the name of the set
    c_greedy: Spread
    g_greedy: Spread
    tokens: Spread
    accuracy: Spread
    accuracy_greedy: Spread
    naming: Spread
    parts: dict[str, Spread]

    @classmethod
    def of(cls, scheme: str, ends: Sequence[Measure], greedy: Sequence[Measure], **others: object) -> Self:
        """The row of these ends of runs."""
        sampled = ("g", "g_lenient", "c", "tokens", "accuracy", "naming")
        return cls(
            scheme=scheme,
            seeds=len(ends),
            **{name: Spread.of([getattr(end, name) for end in ends]) for name in sampled},
            **{f"{name}_greedy": Spread.of([getattr(end, name) for end in greedy]) for name in ("c", "g", "accuracy")},
            c_without={name: Spread.of([end.c_without(parts) for end in ends]) for name, parts in WITHOUT.items()},
            parts={part: Spread.of([end.parts[part] for end in ends]) for part in ends[0].parts},
            **others,
        )


class LabPoint(Record):
    """Means over seeds at one step."""

    step: int
    c: Spread
    g: Spread
    tokens: Spread


class SchemeRow(MeasureRow):
    """What a scheme ended with, over seeds."""

    ties_first: Spread  # groups with equal rewards in the first 50 steps
    ties_last: Spread
    c_by_seed: dict[int, float]
    c_over_additive: tuple[float, ...]  # seed by seed, `c` minus that of `additive` with the same seed
    g_over_additive: tuple[float, ...]
    curve: tuple[LabPoint, ...]
    c_curves: dict[int, dict[int, float]]  # by seed and step, `c`


class Correlation(Record):
    """A rank correlation, and the rows that it covers."""

    rho: float | None  # None for fewer than three rows, or if one side does not vary
    rows: tuple[str, ...]


def correlate(first: dict[str, float], second: dict[str, float]) -> Correlation:
    """Spearman's rho over the rows that both have, with mean ranks for ties."""
    rows = tuple(name for name in first if name in second)
    return Correlation(
        rho=rank_correlation(*([column[name] for name in rows] for column in (first, second))), rows=rows
    )
