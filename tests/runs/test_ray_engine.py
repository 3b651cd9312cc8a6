"""What every Ray worker may ask of an endpoint; the engine itself is tested through the verbs that use it."""

from hypothesis import given
from hypothesis import strategies as st

from prorubric.llm.http import HttpConfig
from prorubric.runs.ray_engine import share_limits


def test_each_worker_gets_its_share_of_the_limits() -> None:
    size, http = share_limits(HttpConfig(concurrency=128, requests_per_minute=1_000, tokens_per_minute=90_001), 3)
    assert (size, http.concurrency, http.requests_per_minute, http.tokens_per_minute) == (3, 42, 333, 30_000)


@given(st.integers(1, 2_000), st.integers(1, 300) | st.none(), st.integers(1, 12))
def test_no_share_is_empty_and_all_together_stay_within_the_limits(
    concurrency: int, requests: int | None, wanted: int
) -> None:
    size, http = share_limits(HttpConfig(concurrency=concurrency, requests_per_minute=requests), wanted)
    assert 1 <= size <= wanted
    assert 1 <= http.concurrency <= concurrency / size
    assert requests is None or 1 <= (http.requests_per_minute or 0) <= requests / size
