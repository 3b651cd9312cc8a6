from pathlib import Path

import pytest

from prorubric.errors import ConfigError
from prorubric.verbs.lab import ReadConfig, read_case
from tests.lab.results import make_base, make_run, write_folder

GONE = "gone_module:reward"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [
        make_run("additive", 42, {0: 0.6, 50: 0.4}),
        make_run("additive", 42, {0: 0.6, 300: 0.4}),
        make_run("additive", 43, {0: 0.6, 300: 0.4}),
        make_run("additive", 41, {0: 0.6, 100: 0.4}),
        make_run("prorubric", 44, {0: 0.6, 20: 0.4}),
        make_run(GONE, 42, {0: 0.6, 20: 0.4}, source="as it was"),
    ]
    return write_folder(tmp_path_factory.mktemp("read") / "lab", make_base(["additive"]), runs)


def test_of_several_runs_the_longest_is_read_and_of_these_the_first_seed(folder: Path) -> None:
    found = [(answer.scheme, answer.seed, answer.steps) for answer in read_case(ReadConfig(out=folder)).answers]
    assert found == [("base", None, 0), ("additive", 42, 300), (GONE, 42, 20), ("prorubric", 44, 20)]


def test_a_scheme_without_a_run_is_refused_with_those_that_have_one(folder: Path) -> None:
    with pytest.raises(ConfigError, match="holds no run of 'k1'; it holds: additive, gone_module:reward, prorubric"):
        read_case(ReadConfig(scheme=("k1",), out=folder))
