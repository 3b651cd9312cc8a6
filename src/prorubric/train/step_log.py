"""Rewards that a trainer asks for one by one, recorded as the steps they belong to."""

import atexit
import logging
from collections import defaultdict

from prorubric.reward.monitor import Monitor, MonitorConfig
from prorubric.reward.reward import Reward

_LOG = logging.getLogger(__name__)


class StepLog:
    """Collects rewards until a step is full, then records it; a run that ends in the middle of a step loses that one.

    Steps are recorded in their order. One that stayed short, because responses of it were lost, is recorded as it is
    when a later one is full; what still comes for it after that is left out.
    """

    def __init__(self, config: MonitorConfig, size: int) -> None:
        self._monitor = Monitor(config)
        atexit.register(self._monitor.close)
        self._size = size
        self._pending: dict[int, list[tuple[str, Reward]]] = defaultdict(list)
        self._counted = 0
        self._last: int | None = None

    def add(self, step: int | None, group: str, reward: Reward) -> None:
        """Take one reward. A trainer that does not say which step it is at has its full steps counted, from 1 on."""
        self._counted += 1
        number = (self._counted - 1) // self._size + 1 if step is None else step
        if self._last is not None and number <= self._last:
            return
        self._pending[number].append((group, reward))
        if len(self._pending[number]) >= self._size:
            for due in sorted(pending for pending in self._pending if pending <= number):
                self._record(due)

    def _record(self, step: int) -> None:
        self._last = step
        groups, rewards = zip(*self._pending.pop(step), strict=True)
        for alarm in self._monitor.record(step, rewards, groups=groups).alarms:
            _LOG.warning("step %d: %s", step, alarm)
