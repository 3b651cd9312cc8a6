"""`make dist`: what is built can be installed from the file alone, and works there."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import prorubric

pytestmark = [pytest.mark.extended, pytest.mark.xdist_group("make")]
ROOT = Path(__file__).parents[1]
UV = ROOT / ".tools/bin/uv"
VERSION = prorubric.__version__
# Nothing of this environment may help.
ELSEWHERE = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS")}


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, env=ELSEWHERE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def find_python(version: str) -> str:
    """A Python of this version on this machine; a shim of pyenv may be there without one behind it."""
    installed = sorted(
        Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/python")
    )
    for python in (*map(str, installed), shutil.which(f"python{version}")):
        if python and subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0:
            return python
    pytest.skip(f"no Python {version} here")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dist = tmp_path_factory.mktemp("built") / "dist"
    python = f"{sys.base_prefix}/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    said = run("make", "--no-print-directory", "dist", f"DIST={dist}", f"PYTHON={python}", cwd=ROOT)
    names = f"prorubric-{VERSION}-py3-none-any.whl", f"prorubric-{VERSION}.tar.gz"
    assert said == "".join(f"{dist / name} works\n" for name in names)
    return dist


def test_the_wheel_has_every_file_of_the_package_and_no_other(built: Path) -> None:
    package = ROOT / "src/prorubric"
    files = [path for path in package.rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    with zipfile.ZipFile(built / f"prorubric-{VERSION}-py3-none-any.whl") as wheel:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == {str(path.relative_to(ROOT / "src")) for path in files}


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="git says which files there are")
def test_the_source_distribution_has_what_is_needed_to_build_test_and_document_it(built: Path) -> None:
    tracked = set(run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines())
    tracked = {name for name in tracked if (ROOT / name).is_file()}
    with tarfile.open(built / f"prorubric-{VERSION}.tar.gz") as source:
        packed = {name.partition("/")[2] for name in source.getnames()}
    assert packed - tracked == {"PKG-INFO"}
    assert {name for name in tracked - packed if not name.startswith((".ci/", ".gitattributes"))} == set()


def test_the_wheel_has_the_version_of_the_package(built: Path) -> None:
    with zipfile.ZipFile(built / f"prorubric-{VERSION}-py3-none-any.whl") as wheel:
        assert f"\nVersion: {VERSION}\n" in wheel.read(f"prorubric-{VERSION}.dist-info/METADATA").decode()


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_wheel_alone_lints_compiles_and_audits_with_its_own_data_files(
    version: str, built: Path, tmp_path: Path
) -> None:
    run(UV, "venv", "--quiet", "--python", find_python(version), tmp_path / "venv", cwd=tmp_path)
    python, program = tmp_path / "venv/bin/python", tmp_path / "venv/bin/prorubric"
    run(UV, "pip", "install", "--quiet", "--python", python, *built.glob("*.whl"), cwd=tmp_path)
    assert run(program, "--version", cwd=tmp_path) == f"{VERSION}\n"
    where = run(python, "-c", "import prorubric; print(prorubric.SAMPLE_TASKS)", cwd=tmp_path).strip()
    assert where.startswith(str(tmp_path))
    assert "passed: 0 errors, 0 warnings, 6 notes" in run(program, "lint", where, cwd=tmp_path)
    run(program, "compile", where, "--generator", "rules", "--out", "compiled.jsonl", cwd=tmp_path)
    run(program, "demo", "--out", "demo", cwd=tmp_path)
    assert (tmp_path / "demo/audit/report.html").stat().st_size > 100_000


def test_uvx_runs_the_demo_from_a_checkout(tmp_path: Path) -> None:
    said = run(UV.with_name("uvx"), "--from", ROOT, "prorubric", "demo", cwd=tmp_path)
    assert "Look at prorubric-demo/audit/report.html" in said
