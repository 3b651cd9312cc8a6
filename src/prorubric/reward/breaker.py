"""The circuit breaker: stops a training run when too many of its rewards are unknown.

A batch of at least `min_batch` rewards is checked by itself. Smaller ones, down to single calls, are checked together
with those before them, because two unknowns out of eight are chance.
"""

from collections import Counter, deque
from collections.abc import Sequence

from prorubric.errors import BreakerError
from prorubric.text.show import shorten

WINDOW = 64
"""How many rewards of small batches are checked together; never fewer than `min_batch`."""

Reasons = tuple[str, ...]


class Breaker:
    """Counts unknown rewards. Only the background loop uses it, so it needs no lock."""

    def __init__(self, max_unknown: float, min_batch: int) -> None:
        self._max_unknown, self._min_batch = max_unknown, min_batch
        # The last rewards of small batches: None for a known one, otherwise why it is unknown.
        self._recent: deque[Reasons | None] = deque(maxlen=max(WINDOW, min_batch))

    def check(self, batch: Sequence[Reasons | None]) -> None:
        """Raise `BreakerError` if too many are unknown; small batches are then counted from zero again."""
        rewards = batch
        if len(batch) < self._min_batch:
            self._recent.extend(batch)
            rewards = list(self._recent)
        unknown = [reasons for reasons in rewards if reasons is not None]
        if len(rewards) < self._min_batch or len(unknown) <= self._max_unknown * len(rewards):
            return
        self._recent.clear()
        counts = Counter(reason for reasons in unknown for reason in reasons)
        commonest = shorten(counts.most_common(1)[0][0], 200)
        raise BreakerError(
            f"{len(unknown)} of {len(rewards)} rewards are unknown, and max_unknown allows a share of "
            f"{self._max_unknown:g}; most often: {commonest}; fix the judge, then resume the training"
        )
