"""The folder of one training run as its trainer process reads and writes it.

A checkpoint counts once it is sealed, which is the last thing that happens to it. What was written after the newest
sealed checkpoint belongs to rollouts that a resumed run makes again, so `RunFolder.cut_back` removes it.
"""

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from prorubric.errors import ProRubricError, SourceError
from prorubric.files.json import parse_json, render_json
from prorubric.files.read import read_rows
from prorubric.files.write import open_rows, open_whole, write_json
from prorubric.rubric.base import Record
from prorubric.runs.folder import TASKS
from prorubric.train.recipe import TrainRun

RUN, ROWS, STEPS, STATE, STOP = "run.json", "rows.jsonl", "steps.jsonl", "state.json", "stop"
CHECKPOINTS, VALIDATION, ANSWERS = "checkpoints", "validation", "answers.jsonl"
HELD_OUT = "held-out.jsonl"
"""Next to the folders of the runs, as are the training tasks."""
_SEAL = "rollout.json"


class State(Record):
    """How far a run is."""

    state: Literal["new", "running", "done", "stopped", "failed"] = "new"
    step: int = 0
    reason: str = ""
    """Why it stopped or failed."""


def read_state(folder: Path) -> State:
    """The state of a run; `new` if it has none."""
    path = folder / STATE
    if not path.is_file():
        return State()
    try:
        found = parse_json(path.read_bytes())
        return State(**{name: found[name] for name in State.model_fields if name in found})
    except (ValueError, TypeError, ProRubricError) as error:
        raise SourceError(
            f"{path}: not the state of a run ({error}); remove the file, the checkpoints are kept"
        ) from None


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint of the trainer, and the rollout it was made after."""

    path: Path
    rollout: int


@dataclass(frozen=True)
class RunFolder:
    """The files of a run; the page about training lists them."""

    path: Path

    @property
    def tasks(self) -> Path:
        """The training tasks, shared by all runs of a recipe."""
        return self.path.parent / TASKS

    @property
    def held_out(self) -> Path:
        """The tasks whose prompts are answered at a validation; the file is missing if there is none."""
        return self.path.parent / HELD_OUT

    @property
    def policies(self) -> Path:
        """Policies that had to be written out to be loaded by name."""
        return self.path.parent / "policies"

    @property
    def steps(self) -> Path:
        """One record for each rollout."""
        return self.path / STEPS

    @property
    def checkpoints(self) -> Path:
        """The trainer's checkpoints."""
        return self.path / CHECKPOINTS

    def load_run(self) -> TrainRun:
        """The run itself."""
        path = self.path / RUN
        try:
            return TrainRun(**parse_json(path.read_bytes()))
        except (OSError, ValueError, TypeError) as error:
            raise SourceError("not a run", str(error), remedy="prorubric train writes it", place=path) from None

    def load_rows(self) -> list[str]:
        """The task ids of all rows in order."""
        return [str(row.value["task_id"]) for row in read_rows(self.path / ROWS) if row.value]

    def save_state(self, state: Literal["running", "done", "stopped", "failed"], step: int, reason: str = "") -> None:
        """Record the state of the run after this many rollouts."""
        write_json(self.path / STATE, State(state=state, step=step, reason=reason).model_dump())

    def read_stop(self) -> str | None:
        """Why the run is to end after this rollout, or None."""
        path = self.path / STOP
        return (path.read_text(encoding="utf-8").strip() or "asked to stop") if path.exists() else None

    def add_step(self, record: Mapping[str, Any]) -> None:
        """Add a record that is not the monitor's."""
        with self.steps.open("ab") as stream:
            stream.write(render_json(record) + b"\n")

    def name_answers(self, rollout: int) -> Path:
        """The file for the answers of a validation."""
        return self.path / VALIDATION / f"step-{rollout:04d}" / ANSWERS

    def save_rollout(self, rollout: int, rows: Iterable[Mapping[str, Any]]) -> None:
        """Keep the responses of a rollout."""
        with open_rows(self.path / "rollouts" / f"step-{rollout:04d}.jsonl.zst", pa.schema([])) as write:
            for row in rows:
                write(row)

    def find_checkpoints(self) -> list[Checkpoint]:
        """The sealed checkpoints, oldest first."""
        seals = self.checkpoints.glob(f"checkpoint-*/{_SEAL}")
        found = [Checkpoint(seal.parent, int(parse_json(seal.read_bytes())["rollout"])) for seal in seals]
        return sorted(found, key=lambda checkpoint: checkpoint.rollout)

    def seal_checkpoint(self, path: Path, rollout: int, keep: Literal["all", "last"] | tuple[int, ...]) -> None:
        """Mark a checkpoint as complete, then remove older ones that are not to be kept."""
        write_json(path / _SEAL, {"rollout": rollout})
        for old in self.find_checkpoints():
            if keep != "all" and old.rollout != rollout and (keep == "last" or old.rollout not in keep):
                (old.path / _SEAL).unlink()
                shutil.rmtree(old.path)

    def cut_back(self) -> Checkpoint | None:
        """Remove what is newer than the newest checkpoint, which is given; with none the run starts anew."""
        sealed = self.find_checkpoints()
        for path in set(self.checkpoints.glob("checkpoint-*")) - {checkpoint.path for checkpoint in sealed}:
            shutil.rmtree(path)
        newest = sealed[-1] if sealed else None
        self.cut_records(newest.rollout if newest else 0)
        return newest

    def cut_records(self, last: int) -> None:
        """Remove the records and responses of all rollouts after the last."""
        if self.steps.exists():
            lines = self.steps.read_bytes().splitlines(keepends=True)
            kept = [line for line in lines if line.endswith(b"\n") and parse_json(line)["step"] <= last]
            with open_whole(self.steps) as stream:
                stream.writelines(kept)
        for path in self.path.glob("rollouts/step-*.jsonl.zst"):
            if int(path.name.removeprefix("step-").partition(".")[0]) > last:
                path.unlink()
