"""Which tests need more than the main environment, and which run on one worker."""

import os
from pathlib import Path

import pytest

from tests.train.running import find_python, trainers


def test_a_test_of_the_main_set_cannot_use_another_environment() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"mark it with tests\.train\.running\.trainers"):
        find_python("trl")


@trainers
def test_what_needs_another_environment_is_extended(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("extended") is not None


@pytest.mark.xdist_group("ray")
def test_what_starts_ray_is_extended(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("extended") is not None


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory, testrun_uid: str) -> Path:
    """A file of this run, which all workers share; each that builds this fixture adds itself."""
    path = tmp_path_factory.getbasetemp().parent / f"workers-{testrun_uid}"
    with path.open("a") as file:
        file.write(f"{os.getpid()}\n")
    return path


@pytest.mark.parametrize("number", [1, 2, 3])
def test_tests_that_share_a_fixture_run_on_one_worker(
    request: pytest.FixtureRequest, workers: Path, number: int
) -> None:
    assert request.node.get_closest_marker("xdist_group").args == (__name__,)
    if request.config.getoption("loadgroup", True):  # as `make test` runs
        assert workers.read_text() == f"{os.getpid()}\n"
