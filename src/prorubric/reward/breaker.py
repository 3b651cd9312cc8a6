"""The circuit breaker: a training whose rewards are unknown too often stops, rather than learn from what is left.

A batch of at least `min_batch` rewards is looked at by itself. Smaller ones, down to single calls, are looked at
together with those before them, because two unknowns out of eight are chance.
"""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from prorubric.errors import BreakerError
from prorubric.text.show import shorten

WINDOW = 64
"""So many rewards of small batches are looked at together, and never fewer than `min_batch`."""

_SHOWN_CHARACTERS = 200

Reasons = tuple[str, ...]


@dataclass(slots=True)
class Breaker:
    """Counts unknown rewards. Only the background loop uses it, so that it needs no lock."""

    max_unknown: float
    min_batch: int
    recent: deque[Reasons | None] = field(default_factory=deque)
    """The last rewards of small batches: None where one is known, else the reasons why it is not."""

    def look_at(self, batch: Sequence[Reasons | None]) -> None:
        """Raise `BreakerError` where too many are unknown; small batches after that begin anew."""
        if len(batch) >= self.min_batch:
            self._judge(batch)
            return
        self.recent.extend(batch)
        while len(self.recent) > max(WINDOW, self.min_batch):
            self.recent.popleft()
        if len(self.recent) >= self.min_batch:
            self._judge(list(self.recent))

    def _judge(self, rewards: Sequence[Reasons | None]) -> None:
        unknown = [reasons for reasons in rewards if reasons is not None]
        if len(unknown) <= self.max_unknown * len(rewards):
            return
        self.recent.clear()
        raise BreakerError(
            f"{len(unknown)} of {len(rewards)} rewards are unknown, and max_unknown allows a share of "
            f"{self.max_unknown:g}; most often: {_find_commonest(unknown)}; fix the judge, then resume the training"
        )


def _find_commonest(unknown: Sequence[Reasons]) -> str:
    counts = Counter(reason for reasons in unknown for reason in reasons)
    return shorten(counts.most_common(1)[0][0], _SHOWN_CHARACTERS) if counts else "no reason is known"
