"""When the breaker stops a training: exact counts, at the border and over calls of any size."""

import pytest

from prorubric.errors import BreakerError
from prorubric.reward.breaker import WINDOW, Breaker, Reasons

KNOWN: list[Reasons | None] = [None]
UNKNOWN: list[Reasons | None] = [("no reply: HTTP 503",)]


@pytest.mark.parametrize(("unknown", "allowed"), [(0, 0.0), (6, 0.2), (7, 0.22), (32, 1.0)])
def test_a_batch_may_have_its_share(unknown: int, allowed: float) -> None:
    Breaker(allowed, min_batch=8).check(UNKNOWN * unknown + KNOWN * (32 - unknown))


@pytest.mark.parametrize(("unknown", "allowed"), [(1, 0.0), (7, 0.2), (32, 0.99)])
def test_more_than_its_share_stops_it(unknown: int, allowed: float) -> None:
    with pytest.raises(BreakerError) as told:
        Breaker(allowed, min_batch=8).check(UNKNOWN * unknown + KNOWN * (32 - unknown))
    assert str(told.value) == (
        f"{unknown} of 32 rewards are unknown, and max_unknown allows a share of {allowed:g}; most often: "
        "no reply: HTTP 503; fix the judge, then resume the training"
    )


def test_the_commonest_reason_is_told_on_one_line() -> None:
    batch = [("rare",), ("often\nseen",), ("rare too", "often\nseen"), None]
    with pytest.raises(BreakerError, match=r"3 of 4 .*; most often: often seen; fix"):
        Breaker(0.2, min_batch=1).check(batch)


def test_a_good_past_does_not_excuse_a_batch() -> None:
    breaker = Breaker(0.2, min_batch=8)
    for _ in range(10):
        breaker.check(KNOWN * 8)
    with pytest.raises(BreakerError, match="2 of 8 rewards"):
        breaker.check(UNKNOWN * 2 + KNOWN * 6)


def test_small_batches_are_looked_at_together_once_there_are_enough() -> None:
    breaker = Breaker(0.2, min_batch=8)
    for _ in range(7):
        breaker.check(UNKNOWN)
    with pytest.raises(BreakerError, match="8 of 8 rewards"):
        breaker.check(UNKNOWN)


def test_of_small_batches_only_the_last_ones_count() -> None:
    breaker = Breaker(0.2, min_batch=8)
    for _ in range(100):
        breaker.check(KNOWN * 3)
    for _ in range(12):
        breaker.check(UNKNOWN)
    with pytest.raises(BreakerError, match=f"13 of {WINDOW} rewards"):
        breaker.check(UNKNOWN)


def test_after_a_stop_small_batches_begin_anew() -> None:
    breaker = Breaker(0.5, min_batch=2)
    breaker.check(UNKNOWN)
    with pytest.raises(BreakerError):
        breaker.check(UNKNOWN)
    breaker.check(UNKNOWN)
    breaker.check(KNOWN)


def test_a_window_is_never_smaller_than_the_smallest_batch() -> None:
    breaker = Breaker(0.5, min_batch=100)
    for _ in range(99):
        breaker.check(UNKNOWN)
    with pytest.raises(BreakerError, match="100 of 100 rewards"):
        breaker.check(UNKNOWN)
