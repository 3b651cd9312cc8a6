"""The tasks and responses of a run, read whole or paired as a stream; what is left out is counted with its reason."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from prorubric.datasets.load import Format, Reject, Stream, Subset, load_responses, load_tasks
from prorubric.errors import ConfigError, SourceError
from prorubric.reward.folder import REJECTS, ROW_SCHEMA
from prorubric.rubric.files import open_rows
from prorubric.rubric.records import Response, Task

SHOWN_REJECTS = 5
_MOST_REJECTS = 10_000


@dataclass(slots=True)
class Rejects:
    """Rows that were left out: all are counted, the first are kept."""

    count: int = 0
    kept: list[Reject] = field(default_factory=list)

    def add(self, reject: Reject) -> None:
        """Count one."""
        self.count += 1
        if len(self.kept) < _MOST_REJECTS:
            self.kept.append(reject)

    def show(self) -> tuple[str, ...]:
        """The first few, a line each."""
        return tuple(str(reject) for reject in self.kept[:SHOWN_REJECTS])


class TaskSource(Protocol):
    """Where tasks come from and how they are read: the options that verbs share."""

    @property
    def tasks(self) -> str: ...  # noqa: D102
    @property
    def format(self) -> Format: ...  # noqa: D102
    @property
    def subset(self) -> Subset: ...  # noqa: D102
    @property
    def split(self) -> str: ...  # noqa: D102
    @property
    def strict(self) -> bool: ...  # noqa: D102


def load_all_tasks(source: TaskSource, rejects: Rejects) -> dict[str, Task]:
    """Every task of a file by its id; a second task of the same id is a reject."""
    how: dict[str, Any] = {"subset": source.subset, "split": source.split, "strict": source.strict}
    stream = load_tasks(source.tasks, source.format, on_reject=rejects.add, **how)
    tasks: dict[str, Task] = {}
    for task in stream:
        if task.id in tasks:
            rejects.add(Reject(source.tasks, stream.line, f"the id {task.id!r} is taken already; give each its own"))
            continue
        tasks[task.id] = task
    if not tasks:
        skipped = f"no task has a criterion of the subset {source.subset}" if stream.skipped else "the file is empty"
        why = rejects.kept[0] if rejects.kept else skipped
        raise ConfigError(f"{source.tasks}: no task could be read; {why}")
    return tasks


def pair_responses(
    path: Path, tasks: dict[str, Task], rejects: Rejects, strict: bool
) -> Iterator[tuple[Task, Response]]:
    """Responses with their tasks; a wrong path is found here, before anything is spent."""
    if not path.is_file():
        raise SourceError(f"{path}: no such file; check the path")
    return _pair(load_responses(path, strict=strict, on_reject=rejects.add), str(path), tasks, rejects)


def write_rejects(folder: Path, rejects: Rejects) -> None:
    """What was left out, as a file of the run folder; none where nothing was."""
    (folder / REJECTS).unlink(missing_ok=True)
    if rejects.kept:
        with open_rows(folder / REJECTS, ROW_SCHEMA) as write:
            for reject in rejects.kept:
                write(asdict(reject))


def _pair(
    stream: Stream[Response], path: str, tasks: dict[str, Task], rejects: Rejects
) -> Iterator[tuple[Task, Response]]:
    # One bit a sample: which samples of a task have been seen costs next to nothing.
    seen: dict[str, int] = {}
    for response in stream:
        task = tasks.get(response.task_id)
        if task is None:
            rejects.add(Reject(path, stream.line, f"no task is called {response.task_id!r}; check the task_id"))
        elif seen.get(task.id, 0) >> response.sample & 1:
            reason = f"sample {response.sample} of {task.id!r} came before; number the samples of a task"
            rejects.add(Reject(path, stream.line, reason))
        else:
            seen[task.id] = seen.get(task.id, 0) | 1 << response.sample
            yield task, response
