"""The names that callers from outside rely on, and what importing the package costs."""

import subprocess
import sys

import pytest

import prorubric.evaluate

NAMES = ["arena_score", "balanced_f1", "choice_accuracy", "creative_score", "healthbench_score", "paired_difference"]


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_a_function(name: str) -> None:
    assert callable(getattr(prorubric.evaluate, name))
    assert name in dir(prorubric.evaluate)


def test_an_import_loads_neither_numpy_nor_pydantic() -> None:
    code = "import sys, prorubric.evaluate; print([name for name in ('numpy', 'pydantic') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
