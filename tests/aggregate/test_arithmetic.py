"""What length costs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.aggregate.arithmetic import overlong_penalty
from prorubric.errors import SchemeError


@pytest.mark.parametrize(
    ("tokens", "penalty"), [(0, 0.0), (4096, 0.0), (4097, 0.5 / 4096), (6144, 0.25), (8192, 0.5), (20_000, 0.5)]
)
def test_the_paper_s_settings_cost_up_to_half_between_4096_and_8192_tokens(tokens: int, penalty: float) -> None:
    assert overlong_penalty(tokens, limit=8192, buffer=4096, factor=0.5) == penalty


@given(st.integers(0, 20_000), st.integers(0, 20_000))
def test_a_longer_answer_never_costs_less(first: int, second: int) -> None:
    short, long = sorted((first, second))
    assert overlong_penalty(short, 4096, 2048, 0.5) <= overlong_penalty(long, 4096, 2048, 0.5)


@pytest.mark.parametrize(("limit", "buffer", "factor"), [(100, 0, 0.5), (100, 101, 0.5), (100, 50, -1)])
def test_settings_that_make_no_sense_are_refused(limit: float, buffer: float, factor: float) -> None:
    with pytest.raises(SchemeError, match="buffer"):
        overlong_penalty(10, limit, buffer, factor)
