"""The command that trains a run, for the plan and for the supervisor."""

import sys
from pathlib import Path

from prorubric.train import verl_settings
from prorubric.train.recipe import TrainRun

_WORKER = "prorubric.train.worker_trl"


def render_command(run: TrainRun, folder: Path, python: str | None = None) -> list[str]:
    """The command line of a run; empty if nothing is trained."""
    program = python or sys.executable
    if run.settings.kind == "best-of-n":
        return []
    if run.trainer == "verl":
        return verl_settings.render_verl_command(run, folder, python)
    if run.processes * run.nodes == 1:
        return [program, "-m", _WORKER, str(folder)]
    sizes = ["--num_processes", str(run.processes * run.nodes), "--num_machines", str(run.nodes)]
    return [program, "-m", "accelerate.commands.launch", *sizes, "-m", _WORKER, str(folder)]
