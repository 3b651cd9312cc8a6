"""The runs that the tests of the app look at, made once."""

from pathlib import Path

import pytest

from tests.view.folders import make_runs


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_runs(tmp_path_factory.mktemp("view"))
