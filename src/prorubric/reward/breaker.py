"""The circuit breaker: stops a training run when too many of its rewards are unknown.

A batch of at least `min_batch` rewards is checked by itself. Smaller ones, down to single calls, are checked together
with those before them, because two unknowns out of eight are chance.
"""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from prorubric.errors import BreakerError
from prorubric.text.show import shorten

WINDOW = 64
"""How many rewards of small batches are checked together; never fewer than `min_batch`."""

Reasons = tuple[str, ...]


@dataclass(slots=True)
class Breaker:
    """Counts unknown rewards. Only the background loop uses it, so it needs no lock."""

    max_unknown: float
    min_batch: int
    recent: deque[Reasons | None] = field(default_factory=deque)
    """The last rewards of small batches: None for a known one, otherwise why it is unknown."""

    def check(self, batch: Sequence[Reasons | None]) -> None:
        """Raise `BreakerError` if too many are unknown; small batches are then counted from zero again."""
        rewards = batch
        if len(batch) < self.min_batch:
            self.recent.extend(batch)
            while len(self.recent) > max(WINDOW, self.min_batch):
                self.recent.popleft()
            rewards = list(self.recent)
        unknown = [reasons for reasons in rewards if reasons is not None]
        if len(rewards) < self.min_batch or len(unknown) <= self.max_unknown * len(rewards):
            return
        self.recent.clear()
        counts = Counter(reason for reasons in unknown for reason in reasons)
        commonest = shorten(counts.most_common(1)[0][0], 200) if counts else "no reason was recorded"
        raise BreakerError(
            f"{len(unknown)} of {len(rewards)} rewards are unknown, and max_unknown allows a share of "
            f"{self.max_unknown:g}; most often: {commonest}; fix the judge, then resume the training"
        )
