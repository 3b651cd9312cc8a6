"""Settings for every test: no deadline for hypothesis, which tests are extended, and real data beside the project."""

import ctypes
import gc
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.cli.forking import ADDRESS, ForkServer
from tests.thorough import IS_THOROUGH, few_or

# The machine may be busy, so no deadline; in CI the same examples every time, so a failure can be repeated.
settings.register_profile(
    "project",
    deadline=None,
    derandomize=IS_THOROUGH,
    max_examples=few_or(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")

# A shell that runs the tests in the background tells them to ignore Ctrl-C, and what they start would not end by it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests of these groups need another environment, Ray, a browser, or minutes of training. They run one after another.
_EXTENDED_GROUPS = {"trainers", "ray", "browser"}


def pytest_configure(config: pytest.Config) -> None:
    """Load the program once for all workers; see `tests.cli.forking`."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        server = ForkServer()
        os.environ[ADDRESS] = server.path
        config.add_cleanup(server.stop)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is extended, and keep the tests of a module that shares fixtures on one worker: they are built once."""
    for item in items:
        group = item.get_closest_marker("xdist_group")
        if group is not None and group.args[0] in _EXTENDED_GROUPS:
            item.add_marker("extended")
        elif group is None and isinstance(item, pytest.Function) and _shares_fixtures(item):
            item.add_marker(pytest.mark.xdist_group(item.module.__name__))


def pytest_collection_finish() -> None:
    """What was imported stays to the end: the garbage collector need not look through it after every test."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Give the memory of a module's tests back to the system, where the C library can."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
            libc.malloc_trim(0)


def _shares_fixtures(item: pytest.Function) -> bool:
    used = [found for each in item._fixtureinfo.name2fixturedefs.values() for found in each]
    return any(found.scope == "module" and found.func.__module__ == item.module.__name__ for found in used)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tell helpers whether the test may use another environment; see `find_python`."""
    os.environ["PRORUBRIC_TEST_SET"] = "main" if item.get_closest_marker("extended") is None else "extended"


_SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real rubric data beside a developer's checkout; a user's clone has none."""
    folder = _SHARED / "data"
    if not folder.is_dir():
        pytest.skip("real rubric data lies beside a developer's checkout only (../shared/data)")
    return folder


@pytest.fixture(scope="session")
def healthbench_file(shared_data: Path) -> Path:
    return _require(shared_data / "healthbench_500/healthbench_500.parquet")


@pytest.fixture(scope="session")
def scholarqa_file(shared_data: Path) -> Path:
    return _require(shared_data / "scholarqa/test_configs_snippets.json")


def _require(path: Path) -> Path:
    if not path.is_file():
        pytest.skip(f"the real data is not here: {path} is missing")
    return path
