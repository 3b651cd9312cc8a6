"""Compiled tasks for tests of the review, and a judge run on them."""

import json
from pathlib import Path
from typing import Any

from prorubric.rubric.records import Criterion, Message, ProtocolRubric, Rubric, Task
from prorubric.rubric.save import save_tasks

CRITERIA = (
    ("Advises rest before training again", 5.0),
    ("Explains that a swollen knee is examined", 3.0),
    ("Says how to return to running step by step", 4.0),
    ("Recommends a scan at once", -2.0),
)
PARTS = (
    ("Rests the knee", "The runner learns to rest the knee before training. Fails if training goes on.", (1, 2)),
    ("Returns to running", "The runner learns how to return to running step by step. Fails if it is at once.", (3, 4)),
)


def make_task(name: str = "knee", parts: Any = PARTS, criteria: Any = CRITERIA, **more: Any) -> Task:
    rubric = Rubric(criteria=tuple(Criterion(text=text, weight=weight) for text, weight in criteria))
    rows = [{"name": part[0], "description": part[1], "indices": part[2]} for part in parts]
    return Task(
        id=name,
        messages=(Message(role="user", content=f"My knee hurts after running ({name}). What now?"),),
        rubric=rubric,
        protocol=ProtocolRubric.of(rubric, rows) if rows else None,
        **more,
    )


def save(path: Path, *tasks: Task) -> Path:
    save_tasks(path, tasks or (make_task(),))
    return path


def write_run(folder: Path, tasks: list[Task], verdicts: dict[str, list[dict[str, Any]]]) -> Path:
    """A judge run as it is stored: its tasks, and the verdicts on each response by reading."""
    folder.mkdir()
    save_tasks(folder / "tasks.jsonl", tasks)
    (folder / "config.json").write_text(json.dumps({"verb": "judge", "config": {"judge": "a judge"}}))
    rows = [
        {"task_id": name, "sample": sample, "verdicts": readings}
        for name, responses in verdicts.items()
        for sample, readings in enumerate(responses)
    ]
    (folder / "verdicts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder
