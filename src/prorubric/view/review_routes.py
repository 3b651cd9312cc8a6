"""The routes under `/api/review`: files, queue, one task, and the steps that change it.

A step that was made on a state that is no longer there is answered with 409 and with the state that is. What cannot be
done is answered with 422 and one line. A file is named by its place below the folder that is shown.
"""

import getpass
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict

from prorubric.compile.compiler import LINEAGE
from prorubric.errors import RubricError, SourceError, StaleError
from prorubric.files.json import parse_json, render_json
from prorubric.files.write import SUFFIXES, split_suffix
from prorubric.rubric.records import Task
from prorubric.text.show import is_blank, shorten
from prorubric.view.config import ViewConfig
from prorubric.view.review import History, Reviewed, hash_dimensions, parse_operation, render_operation, try_operation
from prorubric.view.review_file import QueueFilter, ReviewFile, stamp_file
from prorubric.view.runs import walk_folders

_MANIFEST = ".manifest.json"
_LONGEST_WHO = 80


class _Json(JSONResponse):
    """JSON that can hold whatever a file can."""

    def render(self, content: Any) -> bytes:
        return render_json(content)


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid")

    file: str
    task: str
    before: str
    """The hash of the state that the reviewer saw."""
    who: str = ""


class _SentOperation(_Sent):
    operation: dict[str, Any]


class _Wanted(QueueFilter):
    file: str


class Reviews:
    """The files below a folder that can be reviewed, each opened once and again after it was written again."""

    def __init__(self, path: Path, config: ViewConfig) -> None:
        self.config = config
        self.root = (path if path.is_dir() else path.parent).resolve()
        self.first = None if path.is_dir() else path.resolve()
        try:
            self.who = config.who or getpass.getuser()
        except (OSError, KeyError):  # a container may have a user without a name
            self.who = "reviewer"
        self._open: dict[Path, ReviewFile] = {}
        self._lock = Lock()

    def list_files(self) -> list[str]:
        """The files that compile has written, by their place below the folder; of a named file only that one."""
        if self.first:
            return [self.first.name]
        found = []
        for folder, _, names in walk_folders(self.root):
            for manifest in sorted(name for name in names if name.endswith(_MANIFEST)):
                try:
                    about = parse_json((folder / manifest).read_bytes())
                except (OSError, ValueError):
                    continue
                if isinstance(about, dict) and about.get("verb") in ("compile", "view"):
                    stem = str(folder / manifest)[: -len(_MANIFEST)]
                    found += [path for suffix in SUFFIXES for path in (Path(f"{stem}{suffix}"),) if path.is_file()]
        return [*dict.fromkeys(path.relative_to(self.root).as_posix() for path in found)]

    def find(self, name: str) -> ReviewFile:
        """The file with this name; `SourceError` if it is not below the folder, or not the one that was named."""
        path = self.root
        with suppress(ValueError, OSError):  # not the name of a file
            found = (self.root / name).resolve()
            path = found if found.is_file() and self.first in (None, found) else path
        if not path.is_relative_to(self.root) or path == self.root:
            raise SourceError("there is no such file below the folder that is shown", place=shorten(name))
        split_suffix(path)
        with self._lock:
            if path not in self._open or self._open[path].stamp != stamp_file(path):
                self._open[path] = ReviewFile(path, other=self.config.compare, run=self.config.verdicts)
            return self._open[path]

    def name(self, who: str) -> str:
        """Who takes a step: what the page says, or else the user of this machine."""
        return self.who if is_blank(who) else shorten(who, _LONGEST_WHO)


def make_review_router(path: Path, config: ViewConfig) -> APIRouter:
    """The routes for a folder, or for one file."""
    reviews, router = Reviews(path, config), APIRouter(prefix="/api/review", default_response_class=_Json)

    @router.get("/files")
    def get_files() -> dict[str, Any]:
        return {"files": reviews.list_files(), "who": reviews.who, "first": reviews.first is not None}

    @router.get("/progress")
    def get_progress(file: str) -> dict[str, Any]:
        review = reviews.find(file)
        shown = {name: str(given) if given else None for name, given in (("other", review.other), ("run", review.run))}
        return {**review.describe_progress().model_dump(), **shown, "reviews": review.log.path.name}

    @router.get("/queue")
    def get_queue(wanted: Annotated[_Wanted, Query()]) -> dict[str, Any]:
        return reviews.find(wanted.file).list_queue(wanted).model_dump()

    @router.get("/task")
    def get_task(file: str, task: str) -> dict[str, Any]:
        review = reviews.find(file)
        return render_history(review, review.find(task))

    @router.post("/check")
    def check(sent: _SentOperation) -> dict[str, Any]:
        review = reviews.find(sent.file)
        history = review.find(sent.task)
        try:
            after = try_operation(history.state, parse_operation(sent.operation))
        except RubricError as error:  # an answer like any other to somebody who is still typing
            return {"refused": error.message}
        return {**render_state(review, after), "impact": measure(review, history.state.task, after.task)}

    @router.post("/do")
    def do(sent: _SentOperation) -> Response:
        review, operation = reviews.find(sent.file), parse_operation(sent.operation)
        return _answer(review, sent, lambda who: review.do(sent.task, sent.before, operation, who))

    @router.post("/undo")
    def undo(sent: _Sent) -> Response:
        review = reviews.find(sent.file)
        return _answer(review, sent, lambda who: review.undo(sent.task, sent.before, who))

    @router.post("/redo")
    def redo(sent: _Sent) -> Response:
        review = reviews.find(sent.file)
        return _answer(review, sent, lambda who: review.redo(sent.task, sent.before, who))

    def _answer(review: ReviewFile, sent: _Sent, take: Callable[[str], History]) -> Response:
        try:
            history = take(reviews.name(sent.who))
        except StaleError as error:
            now = render_history(review, review.find(sent.task))
            return _Json({"error": str(error), "state": now}, 409)
        return _Json(render_history(review, history))

    return router


def render_history(review: ReviewFile, history: History) -> dict[str, Any]:
    """A task with everything that its page shows."""
    state, task = history.state, history.state.task
    compiled = review.find_compiled(task.id)
    lineage: Any = task.meta.get(LINEAGE)
    is_changed = hash_dimensions(compiled) != hash_dimensions(task)
    return {
        **render_state(review, state),
        "messages": [{"role": turn.role, "content": turn.content} for turn in task.messages],
        "domain": task.domain,
        "reference": task.reference,
        "criteria": [{"text": one.text, "weight": one.weight, "tags": [*one.tags]} for one in task.rubric.criteria],
        "compile": lineage if isinstance(lineage, dict) else {},
        "other": review.find_other(task.id),
        "impact": measure(review, compiled, state.task) if is_changed else None,
        "undo": render_operation(history.done[-1][0]) if history.done else None,
        "redo": render_operation(history.undone[-1][0]) if history.undone else None,
        "steps": [
            {"when": step.when, "who": step.who, "kind": step.kind, "operation": render_operation(step.operation)}
            for step in reversed(history.steps)
        ],
        "unapplied": len(history.unapplied),
    }


def render_state(review: ReviewFile, state: Reviewed) -> dict[str, Any]:
    """The dimensions with their faults, the decision and the note."""
    total = state.task.rubric.total_weight
    return {
        "id": state.task.id,
        "hash": state.hash,
        "status": state.status,
        "decision": None if state.decision is None else render_operation(state.decision),
        "note": state.note,
        "dimensions": [
            {
                "name": part.name,
                "description": part.description,
                "indices": [*part.indices],
                "weight": part.weight,
                "share": part.weight / total,
                "faults": [{"kind": fault.kind, "detail": fault.detail} for fault in faults],
            }
            for part, faults in zip(state.dimensions, review.list_faults(state), strict=True)
        ],
    }


def measure(review: ReviewFile, before: Task, after: Task) -> dict[str, Any] | None:
    """What a change does to the scores of the stored verdicts; None if no run was named."""
    if review.stored is None:
        return None
    schemes = []
    for impact in review.stored.measure(before, after):
        changes = [
            {side: {end: getattr(score, end) for end in ("value", "low", "high")} for side, score in sides.items()}
            for sides in ({"before": change.before, "after": change.after} for change in impact.changes)
        ]
        schemes.append({**impact.model_dump(exclude={"changes"}), "changes": changes})
    return {"judge": review.stored.judge, "fault": review.stored.find_fault(before), "schemes": schemes}
