"""Settings for every test: hypothesis without a clock, and the real data where it lies beside the project."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The machine may be busy, so no deadline; in CI the same examples every time, so that a failure can be repeated.
settings.register_profile(
    "project", deadline=None, derandomize="CI" in os.environ, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("project")

_SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real rubric data beside a developer's checkout; a user's clone has none."""
    folder = _SHARED / "data"
    if not folder.is_dir():
        pytest.skip("real rubric data lies beside a developer's checkout only (../shared/data)")
    return folder
