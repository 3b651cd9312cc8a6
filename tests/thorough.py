"""How much to test: all of it in CI and in `make test-all`, less of it in `make test`."""

import os
from collections.abc import Callable, Iterable
from typing import Any

import pytest

IS_THOROUGH = "CI" in os.environ


def few_or(many: int) -> int:
    """So many random examples or kills in CI, and a tenth of them elsewhere."""
    return many if IS_THOROUGH else max(3, many // 10)


def parametrize_sparingly(
    names: str | tuple[str, ...], cases: Iterable[Any], every: int, ids: Callable[[Any], str | None] | None = None
) -> pytest.MarkDecorator:
    """Parametrize with all cases, of which `make test` runs every so many, beginning with the first.

    For a product of two lists, a number that has no divisor in common with the length of the second and is not larger
    picks every element of both.
    """
    return pytest.mark.parametrize(
        names,
        [
            pytest.param(
                *([case] if isinstance(names, str) else case), marks=[pytest.mark.extended] if i % every else []
            )
            for i, case in enumerate(cases)
        ],
        ids=ids,
    )
