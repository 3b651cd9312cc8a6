"""How much random testing to do: all of it in CI, less of it on a developer's machine."""

import os

IS_THOROUGH = "CI" in os.environ


def few_or(many: int) -> int:
    """So many random examples or kills in CI, and a tenth of them elsewhere."""
    return many if IS_THOROUGH else max(3, many // 10)
