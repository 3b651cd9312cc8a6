"""`export_tasks`: tasks into a file that another tool reads; `load_tasks` gives the same tasks back.

The forms are those of the sources that can render a task. If a file cannot hold a task, the error names it and nothing
is written: tasks are never changed to make them fit.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import orjson

from prorubric.datasets.sources import healthbench, tasks, trl, verl
from prorubric.errors import ConfigError, RubricError
from prorubric.files.json import render_json
from prorubric.files.write import open_rows, split_suffix
from prorubric.rubric.records import Task

Target = Literal["tasks", "verl", "trl", "healthbench"]

_FORMS: dict[str, Any] = {form.NAME: form for form in (tasks, verl, trl, healthbench)}
TARGETS = tuple(_FORMS)


def export_tasks(path: str | Path, tasks: Iterable[Task], to: Target = "tasks") -> int:
    """Write tasks in one of the forms; gives how many. Whole or not at all."""
    count = 0
    with open_export(Path(path), to) as write:
        for task in tasks:
            write(task)
            count += 1
    return count


@contextmanager
def open_export(path: Path, to: Target) -> Iterator[Callable[[Task], None]]:
    """A function that writes one task. The file appears when the block ends without an error."""
    if to not in _FORMS:
        raise ConfigError(f"no form to write is called {to!r}; known: {', '.join(TARGETS)}")
    form = _FORMS[to]
    parquet = split_suffix(path)[0] == ".parquet"
    with open_rows(path, form.SCHEMA) as write_row:

        def write(task: Task) -> None:
            try:
                render_json(task.meta)
                row = form.render(task)
                if parquet:  # pyarrow would fail a thousand rows later, without naming the task
                    orjson.dumps(row)
            except RubricError as error:
                raise error.at(f"{path}: the task {task.id!r} cannot be written") from None
            except TypeError:
                wrong = f"the task {task.id!r} has half of a surrogate pair in a text, which parquet cannot hold"
                raise RubricError(wrong, remedy="write .jsonl, or change the text", place=path) from None
            write_row(row)

        yield write
