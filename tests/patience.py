"""How long tests wait for what is bound to happen, and whether something takes time in proportion to its input."""

import time
from collections.abc import Callable

PATIENCE = 300.0
"""Seconds. What is waited for takes a few at most on an idle machine; only what hangs is waited for this long."""


def is_linear(work: Callable[[int], object], size: int) -> bool:
    """Whether four times the size takes about four times as long, and not sixteen times; one of three tries will do.

    It is CPU time that counts, so that a busy machine does not decide.
    """

    def measure(size: int) -> float:
        begun = time.process_time()
        work(size)
        return time.process_time() - begun

    return any(measure(4 * size) < 10 * measure(size) + 0.02 for _ in range(3))
