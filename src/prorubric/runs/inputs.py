"""The tasks and responses of a run, read whole or paired as a stream; what is left out is a reject with its reason."""

from collections.abc import Iterator
from dataclasses import KW_ONLY
from itertools import islice
from pathlib import Path
from typing import Protocol

from prorubric.datasets.load import Format, Reject, Subset, describe_taken_id, load_responses, load_tasks, show_example
from prorubric.errors import ConfigError, SourceError
from prorubric.rubric.base import config_record
from prorubric.rubric.records import Response, Task
from prorubric.runs.rejects import Rejects

_SHOWN_IDS = 3


@config_record
class TaskOptions:
    """How a file of tasks is read."""

    _: KW_ONLY
    format: Format = "auto"
    """Format of the tasks."""
    subset: Subset = "all"
    """HealthBench: only the physician-consensus criteria, or only the others."""
    split: str = "train"
    """The split of a dataset on the hub."""
    strict: bool = False
    """Stop at the first row that cannot be read."""


class HasTasks(Protocol):
    """A config with a file of tasks; the rest of it is `TaskOptions`."""

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


def load_all_tasks(source: HasTasks, rejects: Rejects) -> dict[str, Task]:
    """Every task of a file by its id; a second task with the same id is a reject."""
    stream = load_tasks(
        source.tasks,
        source.format,
        subset=source.subset,
        split=source.split,
        strict=source.strict,
        on_reject=rejects.add,
    )
    tasks: dict[str, Task] = {}
    for task in stream:
        if task.id in tasks:
            rejects.add(Reject(source.tasks, stream.line, describe_taken_id(task.id)))
        else:
            tasks[task.id] = task
    if not tasks:
        skipped = f"no task has a criterion of the subset {source.subset}" if stream.skipped else "the file is empty"
        first = rejects.first(source.tasks)
        why = f"{first}; {show_example(source.tasks)}" if first else skipped
        raise ConfigError(f"{source.tasks}: no task could be read; {why}")
    return tasks


def pair_responses(
    path: Path, tasks: dict[str, Task], rejects: Rejects, strict: bool
) -> Iterator[tuple[Task, Response]]:
    """Responses with their tasks; a wrong path is found here, before anything is spent."""
    if not path.is_file():
        raise SourceError(f"{path}: no such file; check the path")
    stream = load_responses(path, strict=strict, on_reject=rejects.add)

    def pair() -> Iterator[tuple[Task, Response]]:
        seen: dict[str, set[int]] = {}
        for response in stream:
            task = tasks.get(response.task_id)
            if task is None:
                known = ", ".join(islice(tasks, _SHOWN_IDS)) + (", …" if len(tasks) > _SHOWN_IDS else "")
                reason = f"no task is called {response.task_id!r}; the tasks are {known}"
            elif response.sample in seen.setdefault(task.id, set()):
                reason = f"sample {response.sample} of {task.id!r} came before; number the samples of a task"
            else:
                seen[task.id].add(response.sample)
                yield task, response
                continue
            rejects.add(Reject(str(path), stream.line, reason))

    return pair()
