"""One run of a verb: what it rejects, what its models used and cost, how far it is, and whether it has to stop."""

import gc
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field

from prorubric.datasets.rejects import Rejects
from prorubric.errors import StoppedError
from prorubric.llm.accounting import Usage, load_prices
from prorubric.llm.http import HttpConfig
from prorubric.rubric.base import Record, config_record
from prorubric.runs.models import CallGate, Models
from prorubric.runs.stop import Stop


@config_record
class RunOptions:
    """Options of every verb that calls models."""

    _: KW_ONLY
    journal: Path | None = None
    """Journal to share between runs; by default each run has its own."""
    prices: str | Path | None = None
    """US dollars per million prompt and completion tokens, as in 0.15,0.60, or a JSON file of prices by model."""
    max_calls: Annotated[int, Field(ge=1)] | None = None
    """Stop after this many calls; replies from the journal do not count."""
    max_cost: Annotated[float, Field(gt=0)] | None = None
    """Stop when this many US dollars are spent; calls in flight are finished, so it can be slightly more."""
    http: HttpConfig = field(default_factory=HttpConfig)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    done: int
    total: int | None = None
    note: str = ""


OnProgress = Callable[[Progress], None]


class RunResult(Record):
    """What every run reports about its calls and rejects."""

    rejected: int
    """Rows and tasks that were left out."""
    rejects: tuple[str, ...]
    """The first of them."""
    calls: int
    """Questions, including those that needed no call."""
    cached: int
    """Questions that needed none."""
    repeated: int = 0
    """Cached questions that came up before in this run; the journal of earlier runs answered the others."""
    damaged: int = 0
    """Replies that were damaged in the journal and asked for again."""
    failed_calls: dict[str, int]
    retries: int = 0
    prompt_tokens: int = 0
    """Tokens of the calls made by this run."""
    completion_tokens: int = 0
    unmetered: int = 0
    """Replies for which the endpoint did not count tokens."""
    cost: float | None
    """US dollars at list price for the calls made by this run; None if the price or the tokens are not known."""
    cost_with_journal: float | None = None
    """The same including what the replies from the journal once cost."""
    not_taken: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """By model, fields of requests that its endpoint does not take, so that they were left out."""
    stopped: str = ""
    """Why the run ended early; empty if it is complete."""
    seconds: float = 0.0


class Run:
    """What a verb needs while it runs: the stop, the rejects, the models and their budget, the progress."""

    def __init__(self, options: RunOptions, on_progress: OnProgress | None = None) -> None:
        self.stop = Stop()
        self.rejects = Rejects()
        self.gate = CallGate(self.stop, options.max_calls, options.max_cost, load_prices(options.prices))
        self.models = Models(options.http, self.gate)
        self._on_progress = on_progress
        self._started = time.monotonic()
        self._has_frozen = False

    def __enter__(self) -> Self:
        # What is loaded already outlives the run; going through all of it again and again takes time.
        if gc.get_freeze_count() == 0:
            gc.freeze()
            self._has_frozen = True
        return self

    def __exit__(self, *_: object) -> None:
        self.rejects.close()
        if self._has_frozen:
            gc.unfreeze()

    @property
    def is_watched(self) -> bool:
        """True if progress is displayed."""
        return self._on_progress is not None

    def tell(self, done: int, total: int | None = None, note: str = "") -> None:
        """Report progress."""
        if self._on_progress:
            self._on_progress(Progress(done, total, note))

    def count_failures(self) -> int:
        """How many calls have failed so far."""
        return sum(sum(usage.failures.values()) for usage in self.gate.usage.values())

    def check_stopped(self) -> None:
        """Raise if the run was asked to stop: `KeyboardInterrupt` for a signal, `StoppedError` for a budget."""
        if self.stop.asked and not self.stop.reason:
            raise KeyboardInterrupt
        if self.stop.asked:
            raise StoppedError(f"{self.stop.reason}; what was paid for is in the journal: raise the limit to continue")

    def describe(self) -> dict[str, Any]:
        """The fields of a `RunResult`."""
        used = Usage()
        for usage in self.gate.usage.values():
            used.merge(usage)
        return {
            **{name: getattr(used, name) for name in RunResult.model_fields if hasattr(used, name)},
            "failed_calls": {str(kind): number for kind, number in used.failures.items()},
            "rejected": self.rejects.count,
            "rejects": self.rejects.show(),
            "cost": self.gate.cost(),
            "cost_with_journal": self.gate.cost(with_cached=True),
            "not_taken": {spec: tuple(sorted(own.refused)) for spec, own in self.gate.usage.items() if own.refused},
            "stopped": self.stop.reason or ("interrupted" if self.stop.asked else ""),
            "seconds": round(time.monotonic() - self._started, 3),
        }
