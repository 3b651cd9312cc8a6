"""Text inside messages."""

import pytest

from prorubric.text.show import count


@pytest.mark.parametrize(
    ("number", "noun", "shown"),
    [(1, "task", "1 task"), (0, "error", "0 errors"), (1200, "row", "1,200 rows"), (2, "criterion", "2 criteria")],
)
def test_a_number_agrees_with_its_noun(number: int, noun: str, shown: str) -> None:
    assert count(number, noun) == shown
