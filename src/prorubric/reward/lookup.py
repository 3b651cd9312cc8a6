"""Which task a row of a training set means: by its id, by a column, or carried whole in the row.

A row that means no task, or carries one that is not sound, is refused in one line: a reward for another rubric than the
row's would be worse than none.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from prorubric.datasets.carry import OWN_KEY
from prorubric.datasets.load import Format, load_tasks
from prorubric.datasets.shapes import read_object, unwrap_json
from prorubric.datasets.sources import verl
from prorubric.errors import ConfigError, RubricError, SourceError
from prorubric.rubric.files import parse_json
from prorubric.rubric.forms import TASK_KEYS, parse_task
from prorubric.rubric.identity import ByIdentity
from prorubric.rubric.record import shorten
from prorubric.rubric.records import Task

_REMEMBERED = 2048
"""Carried tasks that are kept: the responses of a group, and of later epochs, bring the same ones again."""
_CHECKED = 256
"""Tasks given as such that need not be checked again."""
_OWN_COLUMNS = {"id", "messages", "rubric"}
_RUBRIC_KEYS = ("rubric", "rubrics", "criteria")
_ROW_KEYS = ("data_source", "ability", "reward_model")
# Trainers add to extra_info what changes from sample to sample; only these say something of the task.
_EXTRA_KEYS = (*_RUBRIC_KEYS, "protocol", "id", "task_id", "rewritten")


class Lookup:
    """The tasks of a file by id, and those that rows carry."""

    def __init__(self, path: str | None, format: Format, column: str, check: Callable[[Task], None]) -> None:  # noqa: A002 - the name that users write
        self._path, self._column, self._check = path, column, check
        self.tasks = {} if path is None else _load(path, format, check)
        self._parse = lru_cache(_REMEMBERED)(self._parse_afresh)
        self._know = lru_cache(_CHECKED)(self._check_afresh)

    def find(self, row: object) -> Task:
        """The task that a row means; `ConfigError` where it means none, `RubricError` where its own is not sound."""
        if isinstance(row, Task):
            return row if self.tasks.get(row.id) is row else self._know(ByIdentity(row))
        places = self._list_places(row) if isinstance(row, Mapping) else iter([row])
        found = next((task for value in places if (task := self._read(value)) is not None), None)
        if found is None:
            raise ConfigError(self._describe_miss(row))
        return found

    def _list_places(self, row: Mapping[Any, Any]) -> Iterator[object]:
        """Where trainers keep what belongs to a row: the named column, the row itself, verl's places."""
        extra = read_object(row.get("extra_info"))
        yield row.get(self._column)
        yield extra.get(self._column)
        yield row
        yield row.get("task")
        yield extra.get("task")
        yield row.get("ground_truth")
        yield read_object(row.get("reward_model")).get("ground_truth")

    def _read(self, value: object) -> Task | None:
        """A task by id, as an object, or as JSON text of one; None where the value is nothing of the kind."""
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if isinstance(value, str):
            if value in self.tasks:
                return self.tasks[value]
            value = read_object(value)
        carried = _pick_carried(value) if isinstance(value, Mapping) else None
        return None if carried is None else self._parse(_render(carried))

    def _parse_afresh(self, text: str) -> Task:
        try:
            task = _parse_carried(parse_json(text))
        except RubricError as error:
            raise RubricError(f"the task that a row carries: {error}") from None
        self._check(task)
        return task

    def _check_afresh(self, key: ByIdentity[Task]) -> Task:
        self._check(key.object)
        return key.object

    def _describe_miss(self, row: object) -> str:
        known = f"{self._path} has {len(self.tasks)} others" if self._path else "no file of tasks is set"
        remedy = f"give an id in the column {self._column!r}, or a row that carries its prompt and its rubric"
        return f"no task is meant by {_describe(row, self._column)}, {known}; {remedy}"


def _load(path: str, format: Format, check: Callable[[Task], None]) -> dict[str, Task]:  # noqa: A002 - as above
    """All tasks of a file. Rows that repeat a task are fine; a second task under the same name is not."""
    tasks: dict[str, Task] = {}
    stream = load_tasks(path, format, strict=True)
    for task in stream:
        known = tasks.setdefault(task.id, task)
        if known != task:
            raise SourceError(f"{path}:{stream.line}: the id {task.id!r} is another task's already; give each its own")
        if known is task:
            check(task)
    if not tasks:
        raise SourceError(f"{path}: no task in it; there is nothing to reward")
    return tasks


def _pick_carried(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a row says of its own task, without what else trainers put there; None where it carries no whole one."""
    extra = read_object(row.get("extra_info"))
    for holder in (row, extra):
        if holder.keys() >= _OWN_COLUMNS:
            return {key: holder[key] for key in (*TASK_KEYS, OWN_KEY) if key in holder}
    holders = [it for it in (extra, row) if any(it.get(key) is not None for key in _RUBRIC_KEYS)]
    prompt = next((it[key] for it in (row, extra) for key in ("prompt", "messages") if it.get(key) is not None), None)
    if not holders or prompt is None:
        return None
    return {
        **{key: row[key] for key in _ROW_KEYS if key in row},
        "prompt": prompt,
        "extra_info": {key: holders[0][key] for key in _EXTRA_KEYS if key in holders[0]},
    }


def _parse_carried(row: Mapping[str, Any]) -> Task:
    if not row.keys() >= _OWN_COLUMNS:
        return verl.parse(row)
    if row.get(OWN_KEY) is not None:
        return verl.parse_extra_info(row)
    return parse_task(
        {key: unwrap_json(value) if key in ("messages", "rubric", "protocol") else value for key, value in row.items()}
    )


def _render(carried: dict[str, Any]) -> str:
    """The same text for the same task. Arrays, as readers of parquet give them, become lists."""
    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    try:
        return orjson.dumps(carried, default=_as_json, option=options).decode()
    except TypeError:  # a lone surrogate, which has no UTF-8
        return json.dumps(carried, default=_as_json)


def _as_json(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else str(value)


def _describe(row: object, column: str) -> str:
    if not isinstance(row, Mapping):
        return shorten(repr(row))
    if row.get(column) is not None:
        return f"a row with {shorten(repr(row[column]))} in {column!r}"
    return f"a row with the keys {shorten(', '.join(map(str, row)))}"
