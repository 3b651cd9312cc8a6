"""The tasks and responses of a run, read whole or paired as a stream; what is left out is counted with its reason."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from prorubric.datasets.load import (
    Format,
    Reject,
    Stream,
    Subset,
    describe_taken_id,
    load_responses,
    load_tasks,
    show_example,
)
from prorubric.errors import ConfigError, SourceError
from prorubric.files.write import open_rows
from prorubric.rubric.records import Response, Task
from prorubric.runs.verdicts import REJECTS, ROW_SCHEMA

SHOWN_REJECTS = 5
_MOST_REJECTS = 10_000
_SHOWN_IDS = 3


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

    def first(self, path: str) -> str | None:
        """The first row of a file that was left out, and why."""
        return next((str(reject) for reject in self.kept if reject.path == path), None)

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
            rejects.add(Reject(source.tasks, stream.line, describe_taken_id(task.id)))
            continue
        tasks[task.id] = task
    if not tasks:
        skipped = f"no task has a criterion of the subset {source.subset}" if stream.skipped else "the file is empty"
        why = f"{rejects.kept[0]}; {show_example(source.tasks)}" if rejects.kept else skipped
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
    seen: dict[str, set[int]] = {}
    for response in stream:
        task = tasks.get(response.task_id)
        if task is None:
            known = ", ".join(islice(tasks, _SHOWN_IDS)) + (", …" if len(tasks) > _SHOWN_IDS else "")
            rejects.add(Reject(path, stream.line, f"no task is called {response.task_id!r}; the tasks are {known}"))
        elif response.sample in seen.setdefault(task.id, set()):
            reason = f"sample {response.sample} of {task.id!r} came before; number the samples of a task"
            rejects.add(Reject(path, stream.line, reason))
        else:
            seen[task.id].add(response.sample)
            yield task, response
