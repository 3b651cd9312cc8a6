"""`make demo` in a clean copy of the project, as somebody does who has just cloned it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("make")
ROOT = Path(__file__).parents[1]
# The tools that `make test` has installed stay: installing them again would test pip.
_LEFT_BEHIND = (".git", ".venv*", "site", "prorubric-demo", ".*_cache", ".hypothesis", "__pycache__")


@pytest.fixture(scope="module")
def clean_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("clone") / "prorubric"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*_LEFT_BEHIND))
    return copy


def test_make_demo_sets_itself_up_and_says_where_the_result_is(clean_copy: Path) -> None:
    # Nothing of this environment may help: no virtual environment, no path of its tools.
    kept = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS")}
    python = f"{sys.base_prefix}/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    done = subprocess.run(
        ["make", f"PYTHON={python}", "demo"],
        cwd=clean_copy,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Look at prorubric-demo/audit/report.html" in done.stdout
    assert (clean_copy / "prorubric-demo/audit/report.html").stat().st_size > 100_000
    summary = json.loads((clean_copy / "prorubric-demo/summary.json").read_text())
    assert len(summary["tasks"]) == 12


def test_the_core_alone_can_lint_and_is_smaller_than_the_limit(clean_copy: Path) -> None:
    venv = clean_copy / ".venv"
    installed = {path.name.split("-")[0] for path in venv.glob("lib/python*/site-packages/*.dist-info")}
    assert not installed & {"torch", "ray", "transformers", "matplotlib", "scikit_learn", "datasets", "pytest"}
    files = [path for path in venv.glob("lib/**/*") if path.is_file() and path.suffix != ".pyc"]
    size = sum(path.stat().st_size for path in files if "pip" not in path.parts)  # a tool, and not of the core
    assert size < 250 * 2**20


@pytest.mark.extended
def test_the_environment_has_a_pip_that_installs_the_extras_of_the_readme(clean_copy: Path) -> None:
    pip = [clean_copy / ".venv/bin/pip", "install", "--dry-run", "--quiet", "--report", "-", ".[serve]"]
    done = subprocess.run(pip, cwd=clean_copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    added = {found["metadata"]["name"] for found in json.loads(done.stdout)["install"]}
    assert added >= {"prorubric", "fastapi", "uvicorn"}


def test_a_package_that_is_not_what_its_hash_says_is_refused(clean_copy: Path) -> None:
    pins = (clean_copy / "constraints.txt").read_text()
    start = pins.index("orjson==")
    end = pins.index("\npackaging==")
    wrong = clean_copy / "wrong.txt"
    wrong.write_text(pins[:start] + re.sub(r"sha256:\w{8}", "sha256:00000000", pins[start:end]) + pins[end:])
    uv = [".tools/bin/uv", "pip", "install", "--python", ".venv/bin/python", "--reinstall-package", "orjson"]
    done = subprocess.run([*uv, "-c", wrong, "orjson"], cwd=clean_copy, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Hash mismatch for `orjson==" in done.stderr


def test_an_environment_of_another_python_than_the_one_that_is_named_is_not_used(tmp_path: Path) -> None:
    for name, version in (("named", "3.12"), (".venv/bin/python", "3.11"), (".tools/bin/uv", "")):
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\necho {version}\n")
        program.chmod(0o755)
    shutil.copy(ROOT / "Makefile", tmp_path)
    make = ["make", "--no-print-directory", "PYTHON=./named", "same-python"]
    done = subprocess.run(make, cwd=tmp_path, capture_output=True, text=True, check=False)
    expected = ".venv has Python 3.11 and not 3.12; add VENV=.venv-3.12, or run make clean first\n"
    assert (done.returncode, done.stdout) == (2, expected)
    make[2] = "PYTHON=.venv/bin/python"
    assert subprocess.run(make, cwd=tmp_path, capture_output=True, check=False).returncode == 0


def test_a_python_that_is_too_old_is_refused_in_one_line(clean_copy: Path, tmp_path: Path) -> None:
    old = tmp_path / "old-python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(clean_copy / name, fresh)
    done = subprocess.run(["make", f"PYTHON={old}", "demo"], cwd=fresh, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "ProRubric needs Python 3.11 or newer" in done.stdout
