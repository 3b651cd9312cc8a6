"""Runs a script with a trainer's own Python: trainers cannot share one environment, and none is in ours.

A script ends with one line of JSON on its standard output; that is what a test looks at. A script that ends otherwise
fails the test with the end of what it wrote to its standard error.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "scripts"
_SHOWN_CHARACTERS = 4000
# No hub, no telemetry, no graphics card; one thread, since several wait for each other where the machine is busy.
_OFFLINE = {
    "CUDA_VISIBLE_DEVICES": "",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRL_EXPERIMENTAL_SILENCE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "WANDB_DISABLED": "true",
    "DO_NOT_TRACK": "1",
    "PYTHONUNBUFFERED": "1",
}

trainers = pytest.mark.xdist_group("trainers")
"""Tests that need a trainer's environment carry this mark: only `make test-all` runs them, and one after another."""


def find_python(environment: str) -> Path:
    """The Python of a trainer's environment; the test fails where `make test-all` has not installed it."""
    if os.environ["PRORUBRIC_TEST_SET"] != "extended":
        pytest.fail("this test needs another environment: mark it with tests.train.running.trainers", pytrace=False)
    python = ROOT / ".venvs" / environment / "bin/python"
    if not (python.exists() and python.parents[1].joinpath(".done").exists()):
        pytest.fail(f"the environment of {environment} is not installed; run make test-all once", pytrace=False)
    return python


def list_variables() -> dict[str, str]:
    """The environment of a trainer's process; the tests' own modules can be imported there as here."""
    return {**os.environ, **_OFFLINE, "PYTHONPATH": str(ROOT)}


def run_in(
    environment: str,
    script: str | Path,
    *args: object,
    variables: Mapping[str, str] | None = None,
    seconds: float = 10 * PATIENCE,
) -> dict[str, Any]:
    """What a script says in its last line. A name without a folder is a file of `tests/train/scripts`."""
    done = start_in(environment, script, *args, variables=variables, seconds=seconds)
    shown = f"{Path(script).name} in {environment} ended with {done.returncode}:\n{done.stderr[-_SHOWN_CHARACTERS:]}"
    assert done.returncode == 0, shown
    lines = done.stdout.strip().splitlines()
    try:
        said = json.loads(lines[-1])
    except (IndexError, ValueError):
        pytest.fail(f"{shown}\nits last line is no JSON: {lines[-1:]}", pytrace=False)
    assert isinstance(said, dict), f"{script}: the last line is {said!r}; write one JSON object"
    return said


def start_in(
    environment: str,
    script: str | Path,
    *args: object,
    variables: Mapping[str, str] | None = None,
    seconds: float = 10 * PATIENCE,
) -> subprocess.CompletedProcess[str]:
    """The same without a judgement on how the script ended, for tests that expect it to stop.

    A shell script is run too; `python`, and whatever the trainer installs beside it, are then the environment's.
    """
    python = find_python(environment)
    path = script if isinstance(script, Path) else SCRIPTS / script
    shell = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"} if path.suffix == ".sh" else {}
    return subprocess.run(
        ["bash" if shell else str(python), str(path), *map(str, args)],
        cwd=ROOT,
        env={**list_variables(), **shell, **(variables or {})},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
