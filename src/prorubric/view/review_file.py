"""A file of compiled tasks under review: its queue, its progress, and the steps that reviewers take.

The file is read in the background, task by task, and what has been read can be reviewed at once. Tasks are kept as they
were read, and folded with their steps when they are shown. Several windows and processes may review the same file: a
step names the state that it was made on, and is refused with `StaleError` if that is no longer the state of the task.
"""

import time
import zlib
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from threading import RLock, Thread
from typing import Annotated, Any, Literal

from pydantic import Field

from prorubric.compile.check import show_indices
from prorubric.compile.compare import Outline, adjusted_rand, outline_task
from prorubric.compile.compiler import LINEAGE
from prorubric.compile.draft import Fault
from prorubric.compile.verify import CONTRADICTED, DROPPED
from prorubric.datasets.load import load_tasks
from prorubric.datasets.rejects import Rejects
from prorubric.errors import ProRubricError, RubricError, SourceError, StaleError
from prorubric.evaluate.statistics import wilson_interval
from prorubric.files.json import parse_json, render_json
from prorubric.rubric.base import Record
from prorubric.rubric.forms import parse_task, render_task
from prorubric.rubric.records import Task
from prorubric.text.show import shorten
from prorubric.view.impact import StoredRun
from prorubric.view.review import (
    History,
    Operation,
    Reviewed,
    Step,
    apply_operation,
    fold,
    hash_dimensions,
    list_faults,
    try_operation,
)
from prorubric.view.review_log import ReviewLog, name_reviews

QueueBy = Literal["all", "fault", "repaired", "disagreement", "sample"]
StatusFilter = Literal["any", "open", "accepted", "rejected", "changed", "noted"]

_LONGEST_TITLE = 120
_LONGEST_WAIT = 60.0
_SHOWN = ("id", "title", "criteria", "dimensions", "agreement", "faults", "status")
_VERIFIED = {
    DROPPED: "the verifying model found that the description does not demand what criterion {} demands",
    CONTRADICTED: "the verifying model found that the failure sentence contradicts criterion {}",
}


@dataclass(slots=True)
class ReviewEntry:
    """What the queue knows of a task."""

    id: str
    title: str
    criteria: int
    is_repaired: bool
    agreement: float | None
    """With the other compilation: the adjusted Rand index; None if there is none."""
    row: bytes
    """The task as it was compiled."""
    words: str
    """What is looked through when a reviewer looks for words."""
    dimensions: int = 0
    faults: tuple[str, ...] = ()
    """The kinds of fault that it has now."""
    status: str = "open"
    is_changed: bool = False
    is_noted: bool = False
    unapplied: int = 0
    """Steps that were made on other dimensions."""

    @property
    def task(self) -> Task:
        """The task as it was compiled."""
        return parse_task(parse_json(zlib.decompress(self.row)))


class QueueFilter(Record):
    """Which tasks are wanted, in which order."""

    by: QueueBy = "all"
    kind: str = ""
    """Only tasks with this fault."""
    status: StatusFilter = "any"
    text: str = ""
    """Only tasks with all of these words in their id or question."""
    n: Annotated[int, Field(ge=1)] = 50
    """The size of the random sample; another seed draws another one."""
    seed: int = 0
    offset: Annotated[int, Field(ge=0)] = 0
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class QueueRow(Record):
    """A task in the queue."""

    id: str
    title: str
    criteria: int
    dimensions: int
    repaired: bool
    agreement: float | None
    faults: tuple[str, ...]
    status: str
    changed: bool
    noted: bool


class SampleSummary(Record):
    """What the decisions on a random sample say about the whole file."""

    n: int
    decided: int
    accepted: int
    low: float | None
    high: float | None
    """The 95% interval of the share of tasks that would be accepted; None before the first decision."""


class Queue(Record):
    """A page of the queue."""

    total: int
    """Tasks that the filter leaves."""
    offset: int
    rows: tuple[QueueRow, ...]
    sample: SampleSummary | None
    reading: bool
    """True while the file is still being read."""


class ReviewProgress(Record):
    """How far a review is."""

    tasks: int
    """Those that have been read and have dimensions."""
    open: int
    accepted: int
    rejected: int
    changed: int
    """Tasks whose dimensions differ from the compiled ones."""
    faults: dict[str, int]
    """Tasks by the faults that they have now."""
    repaired: int
    without_dimensions: int
    unreadable: dict[str, int]
    steps: dict[str, int]
    """By reviewer."""
    unapplied: int
    """Steps on dimensions or tasks that the file no longer has."""
    reading: bool


class ReviewFile:
    """One file under review."""

    def __init__(self, tasks: Path, *, other: Path | None = None, run: Path | None = None) -> None:
        if not tasks.is_file():
            raise SourceError("no such file", remedy="name a file that compile has written", place=tasks)
        self.tasks, self.other, self.run = tasks, other, run
        self.stamp = stamp_file(tasks)
        self.log = ReviewLog(name_reviews(tasks))
        self.log.refresh()
        self._entries: dict[str, ReviewEntry] = {}
        self._others: dict[str, tuple[Outline, list[str]]] = {}
        self._rejects, self._without = Rejects(keep=False), 0
        self._lock = RLock()
        self._failure: ProRubricError | None = None
        self._reader = Thread(target=self._read, name="prorubric review", daemon=True)
        self._reader.start()

    def wait(self, seconds: float | None = None) -> "ReviewFile":
        """Wait until the file has been read."""
        self._reader.join(seconds)
        self._check()
        return self

    @cached_property
    def stored(self) -> StoredRun | None:
        """The verdicts against which changes are measured, if a run was named."""
        return None if self.run is None else StoredRun(self.run)

    def find(self, task_id: str) -> History:
        """A task with its steps; `RubricError` if the file does not have it."""
        self._wait_for(task_id)
        self._sync()
        entry = self._entries.get(task_id)
        if entry is None:
            yet = " yet; the file is still being read" if self._reader.is_alive() else ""
            raise RubricError(f"the file has no such task{yet}", repr(shorten(task_id)), place=self.tasks)
        return fold(entry.task, self.log.steps.get(task_id, ()))

    def find_compiled(self, task_id: str) -> Task:
        """A task as it was compiled."""
        return self._entries[task_id].task

    def find_other(self, task_id: str) -> list[str] | None:
        """For each criterion its dimension in the other compilation; None if there is none."""
        other = self._others.get(task_id)
        entry = self._entries[task_id]
        return None if other is None or entry.agreement is None else [other[1][label] for label in other[0].labels]

    def do(self, task_id: str, before: str, operation: Operation, who: str) -> History:
        """Apply an operation to the state with this hash, and keep it."""
        return self._step(task_id, before, who, "do", operation)

    def undo(self, task_id: str, before: str, who: str) -> History:
        """Take the last step back."""
        return self._step(task_id, before, who, "undo")

    def redo(self, task_id: str, before: str, who: str) -> History:
        """Take the last step that was undone again."""
        return self._step(task_id, before, who, "redo")

    def _step(
        self,
        task_id: str,
        before: str,
        who: str,
        kind: Literal["do", "undo", "redo"],
        operation: Operation | None = None,
    ) -> History:
        self._wait_for(task_id)
        with self._lock, self.log.hold():
            history = self.find(task_id)
            state = history.state
            if state.hash != before:
                last = history.steps[-1] if history.steps else None
                by = f"{last.who}, {last.when}" if last else ""
                remedy = "look at it as it is now, and decide again"
                raise StaleError("someone has changed this task since you opened it", by, remedy=remedy)
            stack = history.done if kind == "undo" else history.undone
            if operation is None and not stack:
                raise RubricError(f"there is nothing to {kind}", place=f"task {task_id!r}")
            if operation is None:
                operation = stack[-1][1 if kind == "undo" else 0]
                after = apply_operation(state, operation)
            else:
                after = try_operation(state, operation)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self.log.append(
                Step(when=now, who=who, task=task_id, kind=kind, operation=operation, before=before, after=after.hash)
            )
            return self.find(task_id)

    def list_faults(self, state: Reviewed) -> list[list[Fault]]:
        """What is wrong with each dimension: the checks of its text, and what was found when it was compiled."""
        verified = _list_verified(self.find_compiled(state.task.id))
        return [
            [*faults, *verified.get((part.name, part.description, part.indices), ())]
            for part, faults in zip(state.dimensions, list_faults(state), strict=True)
        ]

    def list_queue(self, wanted: QueueFilter) -> Queue:
        """A page of the tasks that a filter leaves."""
        self._sync()
        entries, sample, left = _order([*self._entries.values()], wanted), None, list[ReviewEntry]()
        if wanted.by == "sample":
            decided = [entry.status == "accepted" for entry in entries if entry.status != "open"]
            low, high = wilson_interval(sum(decided), len(decided)) if decided else (None, None)
            n, accepted = len(entries), sum(decided)
            sample = SampleSummary(n=n, decided=len(decided), accepted=accepted, low=low, high=high)
        words, status = wanted.text.casefold().split(), wanted.status
        for entry in entries:
            is_marked = (status == "changed" and entry.is_changed) or (status == "noted" and entry.is_noted)
            if (status in ("any", entry.status) or is_marked) and all(word in entry.words for word in words):
                left.append(entry)
        rows = (
            QueueRow(
                **{name: getattr(entry, name) for name in _SHOWN},
                repaired=entry.is_repaired,
                changed=entry.is_changed,
                noted=entry.is_noted,
            )
            for entry in left[wanted.offset : wanted.offset + wanted.limit]
        )
        reading = self._reader.is_alive()
        return Queue(total=len(left), offset=wanted.offset, rows=tuple(rows), sample=sample, reading=reading)

    def describe_progress(self) -> ReviewProgress:
        """How far the review is."""
        self._sync()
        entries = [*self._entries.values()]
        status = Counter(entry.status for entry in entries)
        log = [*self.log.steps.items()]  # another request may add to it
        steps = [step for _, rows in log for step in rows]
        faults = Counter(kind for entry in entries for kind in set(entry.faults))
        reading = self._reader.is_alive()
        lost = sum(len(rows) for task_id, rows in log if task_id not in self._entries)
        return ReviewProgress(
            tasks=len(entries),
            open=status["open"],
            accepted=status["accepted"],
            rejected=status["rejected"],
            changed=sum(entry.is_changed for entry in entries),
            faults=dict(faults.most_common()),
            repaired=sum(entry.is_repaired for entry in entries),
            without_dimensions=self._without,
            unreadable=dict(self._rejects.kinds.most_common()),
            steps=dict(Counter(step.who for step in steps).most_common()),
            unapplied=sum(entry.unapplied for entry in entries) + (0 if reading else lost),
            reading=reading,
        )

    def _read(self) -> None:
        """Read both files; a failure is raised for every later request."""
        try:
            for task in load_tasks(self.other) if self.other else ():
                names = [part.name for part in task.protocol.dimensions] if task.protocol else []
                self._others.setdefault(task.id, (outline_task(task), names))
            for task in load_tasks(self.tasks, on_reject=self._rejects.add):
                if task.protocol is None:
                    self._without += 1
                elif task.id not in self._entries:
                    entry = self._make_entry(task)
                    with self._lock:
                        self._entries[task.id] = entry
                        self._update(entry, task)
        except ProRubricError as error:
            self._failure = error
        except Exception as error:  # noqa: BLE001 - raised by `_check`
            self._failure = SourceError(f"reading failed ({error!r})", place=self.tasks)

    def _make_entry(self, task: Task) -> ReviewEntry:
        lineage = task.meta.get(LINEAGE)
        mine, (other, _) = outline_task(task), self._others.get(task.id, (None, []))
        both = other is not None and other.figures is not None and other.rubric == mine.rubric
        return ReviewEntry(
            id=task.id,
            title=shorten(task.messages[-1].content, _LONGEST_TITLE),
            words=f"{task.id} {task.messages[-1].content}".casefold(),
            criteria=len(task.rubric),
            is_repaired=isinstance(lineage, dict) and lineage.get("state") == "repaired",
            agreement=adjusted_rand(mine.labels, other.labels) if other is not None and both else None,
            row=zlib.compress(render_json(render_task(task)), 1),
        )

    def _update(self, entry: ReviewEntry, task: Task) -> None:
        """Note what the steps have made of a task."""
        history = fold(task, self.log.steps.get(task.id, ()))
        entry.dimensions, entry.status = len(history.state.dimensions), history.state.status
        entry.faults = tuple(fault.kind for faults in self.list_faults(history.state) for fault in faults)
        entry.is_changed = hash_dimensions(history.state.task) != hash_dimensions(task)
        entry.is_noted, entry.unapplied = bool(history.state.note), len(history.unapplied)

    def _wait_for(self, task_id: str) -> None:
        """Wait for a task that may not have been read yet; the lock must be free for the reader."""
        end = time.monotonic() + _LONGEST_WAIT
        while task_id not in self._entries and self._reader.is_alive() and time.monotonic() < end:
            self._reader.join(0.02)

    def _sync(self) -> None:
        """Take in what others have written."""
        self._check()
        with self._lock:
            self.log.refresh()
            while self.log.touched:
                entry = self._entries.get(self.log.touched.pop())
                if entry is not None:
                    self._update(entry, entry.task)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure


def stamp_file(path: Path) -> tuple[int, int]:
    """Changes when the file is written again."""
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def _list_verified(task: Task) -> dict[tuple[str, str, tuple[int, ...]], list[Fault]]:
    """What a verifying model found in the dimensions of a compiled task, by dimension."""
    lineage: Any = task.meta.get(LINEAGE)
    match lineage:
        case {"verification": {"dimensions": list(found)}}:
            parts = task.protocol.dimensions if task.protocol else ()
            return {
                (part.name, part.description, part.indices): [
                    Fault(kind, f"{text.format(show_indices(one[kind]))}.")
                    for kind, text in _VERIFIED.items()
                    if isinstance(one, dict) and one.get(kind)
                ]
                for part, one in zip(parts, found, strict=False)
            }
    return {}


def _order(entries: list[ReviewEntry], wanted: QueueFilter) -> list[ReviewEntry]:
    match wanted.by:
        case "fault":
            found = [entry for entry in entries if (wanted.kind in entry.faults if wanted.kind else entry.faults)]
            return sorted(found, key=lambda entry: -len(entry.faults))
        case "repaired":
            return [entry for entry in entries if entry.is_repaired]
        case "disagreement":
            pairs = [(entry.agreement, entry) for entry in entries if entry.agreement is not None]
            return [entry for agreement, entry in sorted(pairs, key=lambda pair: pair[0]) if agreement < 1]
        case "sample":
            seed = wanted.seed
            drawn = sorted(entries, key=lambda entry: sha256(f"{seed} {entry.id}".encode("utf-8", "replace")).digest())
            return drawn[: wanted.n]
    return entries
