"""The export of a review: a new tasks file with lineage."""

import json
from pathlib import Path
from typing import Any

import pytest

from prorubric.datasets.load import load_tasks
from prorubric.errors import ConfigError
from prorubric.files.write import hash_file
from prorubric.rubric.records import Task
from prorubric.view.review import parse_operation
from prorubric.view.review_export import export_review
from prorubric.view.review_file import ReviewFile
from tests.cli.program import run_program

from .reviewing import PARTS, make_task, save

LINEAGE = {
    "state": "kept",
    "generator": "m",
    "text_faults": ["Criterion 1: old"],
    "generator_weights": [1, 1],
    "verification": {"dimensions": [{}, {}]},
}


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    names = ("moved", "accepted", "rejected", "open")
    path = save(tmp_path / "c.jsonl", *(make_task(name, meta={"compile": LINEAGE}) for name in names))
    review = ReviewFile(path).wait()

    def take(name: str, who: str = "ana", **operation: Any) -> None:
        review.do(name, review.find(name).state.hash, parse_operation(operation), who)

    take("moved", op="move", criterion=2, to=2)
    take("moved", "ben", op="note", text="look again")
    take("moved", op="accept")
    take("accepted", op="accept")
    take("rejected", op="reject", reason="two questions in one")
    return path


def read(path: Path) -> dict[str, Task]:
    return {task.id: task for task in load_tasks(path, strict=True)}


def test_reviewed_tasks_carry_who_did_what(tasks: Path, tmp_path: Path) -> None:
    result = export_review(tasks, tmp_path / "out.jsonl")
    found, before = read(tmp_path / "out.jsonl"), read(tasks)
    assert [*found] == ["moved", "accepted", "open"]
    assert found["open"] == before["open"]
    moved = found["moved"]
    assert moved.protocol is not None
    assert [part.indices for part in moved.protocol.dimensions] == [(1,), (2, 3, 4)]
    about: Any = moved.meta["review"]
    assert about.pop("last").endswith("+00:00")
    assert about.pop("before") != about.pop("after")
    rows = [{"name": name, "description": text, "indices": [*indices]} for name, text, indices in PARTS]
    assert about == {
        "status": "accepted",
        "note": "look again",
        "by": ["ana", "ben"],
        "operations": ["move", "note", "accept"],
        "compiled": rows,
        "generator_weights": [1, 1],
        "verification": {"dimensions": [{}, {}]},
    }
    assert moved.meta["compile"] == {"state": "kept", "generator": "m"}
    assert found["accepted"].meta["compile"] == LINEAGE
    rejected: Any = read(tmp_path / "out.rejected.jsonl")["rejected"].meta["review"]
    assert (rejected["status"], rejected["reason"]) == ("rejected", "two questions in one")
    assert (result.tasks, result.accepted, result.changed, result.open, result.rejected) == (3, 2, 1, 1, 1)
    manifest = json.loads((tmp_path / "out.manifest.json").read_text())
    assert manifest["sha256"]["input"] == hash_file(tasks)
    assert manifest["sha256"]["reviews"] == hash_file(tmp_path / "c.reviews.jsonl")
    assert manifest["sha256"]["tasks"] == hash_file(tmp_path / "out.jsonl")


def test_an_export_can_be_reviewed_again(tasks: Path, tmp_path: Path) -> None:
    export_review(tasks, tmp_path / "out.jsonl")
    review = ReviewFile(tmp_path / "out.jsonl").wait()
    assert review.describe_progress().open == 3
    assert review.find("moved").state.dimensions[0].indices == (1,)


def test_only_accepted_tasks_can_be_asked_for(tasks: Path, tmp_path: Path) -> None:
    result = export_review(tasks, tmp_path / "out.parquet", accepted_only=True)
    assert [*read(tmp_path / "out.parquet")] == ["moved", "accepted"]
    assert (result.tasks, result.left_out) == (2, 1)


def test_nothing_that_exists_is_replaced(tasks: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="would replace what is reviewed"):
        export_review(tasks, tasks, overwrite=True)
    (tmp_path / "out.jsonl").write_text("mine")
    with pytest.raises(ConfigError, match="exists already"):
        export_review(tasks, tmp_path / "out.jsonl")
    assert export_review(tasks, tmp_path / "out.jsonl", overwrite=True).tasks == 3


def test_the_command_says_what_became_of_the_tasks(tasks: Path, tmp_path: Path) -> None:
    done = run_program("view", "c.jsonl", "--export", "out.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "out.jsonl: 3 tasks",
            "2 accepted, 1 not decided, 1 changed",
            "out.rejected.jsonl: 1 rejected, each with its reason",
        ],
    )
    save(tasks, make_task("moved", ((*PARTS[0][:2], (1, 3)), (*PARTS[1][:2], (2, 4)))))
    done = run_program("view", "c.jsonl", "--export", "two.jsonl", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["unapplied"]) == (1, 5)
    done = run_program("view", ".", "--export", "three.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
