"""`export_review`: a review folded into a new tasks file, with what was done in the lineage of every task.

Rejected tasks go to a separate file, with the reason; every task of the input is in one of the files or counted.
Files appear when they are complete, and existing ones are replaced only on request.
"""

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from prorubric.compile.compiler import LINEAGE
from prorubric.datasets.load import load_tasks
from prorubric.datasets.rejects import Rejects
from prorubric.errors import ConfigError
from prorubric.files.write import hash_file, open_rows, split_suffix, write_json
from prorubric.rubric.base import Record
from prorubric.rubric.forms import render_task
from prorubric.rubric.records import Task
from prorubric.rubric.save import TASK_SCHEMA
from prorubric.view.review import History, fold, hash_dimensions, list_faults
from prorubric.view.review_log import ReviewLog, name_reviews

REVIEW = "review"
"""The key of a task's `meta` that records its review."""
_BY_POSITION = ("verification", "generator_weights")
"""Parts of the lineage that are about the dimensions as they were compiled, in their order."""


class ExportResult(Record):
    """What became of the tasks under review."""

    tasks: int
    """Written to the new file."""
    accepted: int
    changed: int
    """Of those written: tasks whose dimensions differ from the compiled ones."""
    open: int
    """Of those written: tasks without a decision."""
    rejected: int
    left_out: int
    """Tasks without a decision that were not asked for."""
    unreadable: dict[str, int]
    unapplied: int
    """Steps on dimensions or tasks that the file no longer has."""
    files: dict[str, str]
    sha256: dict[str, str | None]


def export_review(tasks: Path, out: Path, *, accepted_only: bool = False, overwrite: bool = False) -> ExportResult:
    """Fold the review of a tasks file into a new file."""
    log, stem = ReviewLog(name_reviews(tasks)), str(out)[: -len("".join(split_suffix(out)))]
    rejected, manifest = Path(f"{stem}.rejected.jsonl"), Path(f"{stem}.manifest.json")
    for path in (out, rejected, manifest):
        if path.resolve() in (tasks.resolve(), log.path.resolve()):
            raise ConfigError("would replace what is reviewed", remedy="choose another name", place=path)
        if path.exists() and not overwrite:
            raise ConfigError("exists already", remedy="choose another name or pass --overwrite", place=path)
    log.refresh()
    counts: Counter[str] = Counter()
    rejects, seen = Rejects(keep=False), set()
    with ExitStack() as stack:
        write, write_rejected = (stack.enter_context(open_rows(path, TASK_SCHEMA)) for path in (out, rejected))
        for task in load_tasks(tasks, on_reject=rejects.add):
            history = fold(task, log.steps.get(task.id, ()) if task.id not in seen else ())
            counts["unapplied"] += len(history.unapplied)
            seen.add(task.id)
            status, row = history.state.status, render_task(add_review(history, task))
            if status == "rejected":
                counts["rejected"] += 1
                write_rejected(row)
            elif status == "open" and accepted_only:
                counts["left_out"] += 1
            else:
                write(row)
                counts["tasks"] += 1
                counts[status] += 1
                counts["changed"] += hash_dimensions(history.state.task) != hash_dimensions(task)
    if not counts["rejected"]:
        rejected.unlink()
    files = {"tasks": out, **({"rejected": rejected} if counts["rejected"] else {}), "manifest": manifest}
    hashes = {"input": tasks, "reviews": log.path, **{name: path for name, path in files.items() if name != "manifest"}}
    result = ExportResult(
        **{name: counts[name] for name in ("tasks", "accepted", "changed", "open", "rejected", "left_out")},
        unreadable=dict(rejects.kinds.most_common()),
        unapplied=counts["unapplied"] + sum(len(rows) for task_id, rows in log.steps.items() if task_id not in seen),
        files={name: str(path) for name, path in files.items()},
        sha256={name: hash_file(path) for name, path in hashes.items()},
    )
    write_json(manifest, {"verb": "view", "input": str(tasks), "reviews": str(log.path), **result.model_dump()})
    return result


def add_review(history: History, compiled: Task) -> Task:
    """The reviewed task, with the review in its lineage; an untouched task stays as it is."""
    state, task = history.state, history.state.task
    if not history.steps:
        return task
    about: dict[str, Any] = {
        "status": state.status,
        "reason": state.decision.reason if state.decision and state.status != "open" else "",
        "note": state.note,
        "by": [*dict.fromkeys(step.who for step in history.steps)],
        "last": history.steps[-1].when,
        "operations": [operation.op for operation, _ in history.done],
        "before": history.steps[0].before,
        "after": state.hash,
    }
    if hash_dimensions(task) != hash_dimensions(compiled):
        parts = compiled.protocol.dimensions if compiled.protocol else ()
        about["compiled"] = [
            {"name": part.name, "description": part.description, "indices": [*part.indices]} for part in parts
        ]
        earlier = task.meta.get(LINEAGE)
        if isinstance(earlier, dict):
            # What is known of the compiled dimensions, by their position, moves to where they are now.
            about |= {key: earlier[key] for key in _BY_POSITION if key in earlier}
            kept = {key: value for key, value in earlier.items() if key not in (*_BY_POSITION, "text_faults")}
            if any(faults := list_faults(state)):
                kept["text_faults"] = [
                    f"Criterion {number}: {fault.detail}" for number, own in enumerate(faults, 1) for fault in own
                ]
            task = task.model_copy(update={"meta": {**task.meta, LINEAGE: kept}})
    return task.model_copy(update={"meta": {**task.meta, REVIEW: {key: v for key, v in about.items() if v != ""}}})
