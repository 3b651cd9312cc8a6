"""The tasks and responses of a run, read whole or paired as a stream; what is left out is a reject with its reason."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from prorubric.datasets.load import HasTasks, load_responses, open_tasks, show_example
from prorubric.datasets.rejects import Reject, Rejects
from prorubric.errors import ConfigError, SourceError
from prorubric.rubric.records import Response, Task

_SHOWN_IDS = 3


def load_all_tasks(source: HasTasks, rejects: Rejects) -> dict[str, Task]:
    """Every task of a file by its id; a second task with the same id is a reject."""
    stream = open_tasks(source, rejects.add)
    tasks = {task.id: task for task in stream}
    if not tasks:
        skipped = f"no task has a criterion of the subset {source.subset}" if stream.skipped else "the file is empty"
        first = rejects.first(source.tasks)
        why = f"{first}; {show_example(source.tasks)}" if first else skipped
        raise ConfigError(f"{source.tasks}: no task could be read; {why}")
    return tasks


def pair_responses(
    path: Path, tasks: dict[str, Task], rejects: Rejects, strict: bool
) -> Iterator[tuple[Task, Response]]:
    """Responses with their tasks; one without a task, or that came before, is a reject."""
    if not path.is_file():
        raise SourceError(f"{path}: no such file; check the path")
    stream = load_responses(path, strict=strict, on_reject=rejects.add)
    known = ", ".join(islice(tasks, _SHOWN_IDS)) + (", …" if len(tasks) > _SHOWN_IDS else "")
    seen: set[tuple[str, int]] = set()
    for response in stream:
        name, sample = response.task_id, response.sample
        if name not in tasks:
            reason = f"no task is called {name!r}; the tasks are {known}"
            rejects.add(Reject(str(path), stream.line, reason, "no task has this id"))
        elif (name, sample) in seen:
            reason = f"sample {sample} of {name!r} came before; number the samples of a task"
            rejects.add(Reject(str(path), stream.line, reason, "the sample came before"))
        else:
            seen.add((name, sample))
            yield tasks[name], response
