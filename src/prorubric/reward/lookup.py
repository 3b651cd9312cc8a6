"""Which task a row of a training set means: by its id, by a column, or carried whole in the row.

A row that means no task, or carries one that is not sound, is refused in one line: a reward for another rubric than the
row's would be worse than none. So is a row whose column names a task that is neither in the file nor in the row.
"""

import hashlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

import orjson

from prorubric.datasets.carry import OWN_KEY
from prorubric.datasets.load import load_tasks
from prorubric.datasets.sources import Format, verl
from prorubric.errors import ConfigError, RubricError, SourceError
from prorubric.files.json import parse_json
from prorubric.reward.strict_json import refuse_repeated_keys
from prorubric.rubric.forms import TASK_KEYS, parse_task
from prorubric.rubric.identity import remember
from prorubric.rubric.records import Task
from prorubric.text.show import shorten

REMEMBERED = 2048
"""Carried tasks that are kept: the responses of a group, and of later epochs, bring the same ones again."""
REMEMBERED_BYTES = 256 * 2**20
"""How much memory they may take altogether, as estimated; the task that was not asked for longest goes first."""
_CRITERION_BYTES, _VALUE_BYTES = 1000, 80
"""What a criterion takes with what is worked out from it, and what any other value does beside its text."""
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
        self._carried = _Carried()
        self._check_once = remember(_CHECKED)(check)

    def find(self, row: object) -> Task:
        """The task that a row means; `ConfigError` where it means none, `RubricError` where its own is not sound."""
        if isinstance(row, Task):
            if self.tasks.get(row.id) is not row:
                self._check_once(row)
            return row
        found = self._find_in(row) if isinstance(row, Mapping) else self._read(row)
        if found is None:
            raise ConfigError(self._describe_miss(_describe(row, self._column)))
        return found

    def _find_in(self, row: Mapping[Any, Any]) -> Task | None:
        """The task of the named column. Where that only names one that the row brings elsewhere, it has to be that."""
        value = _as_text(_read_column(row, self._column))
        named = self._read(value)
        if named is not None:
            return named
        found = next((task for place in _list_places(row) if (task := self._read(place)) is not None), None)
        if found is not None and isinstance(value, str) and value != found.id:
            raise ConfigError(
                self._describe_miss(f"{_describe(row, self._column)}, which elsewhere means {shorten(repr(found.id))}")
            )
        return found

    def _read(self, value: object) -> Task | None:
        """A task by id, as an object, or as JSON text of one; None where the value is nothing of the kind."""
        value = _as_text(value)
        if isinstance(value, str):
            if value in self.tasks:
                return self.tasks[value]
            value = _read_object(value)
        carried = _pick_carried(value) if isinstance(value, Mapping) else None
        return None if carried is None else self._carried.find(_render(carried), self._parse_afresh)

    def _parse_afresh(self, text: bytes) -> Task:
        try:
            task = _parse_carried(parse_json(text))
        except RubricError as error:
            raise RubricError(f"the task that a row carries: {error}") from None
        self._check(task)
        return task

    def _describe_miss(self, row: str) -> str:
        # Its name alone: the server sends this line to its clients.
        known = f"{Path(self._path).name} has {len(self.tasks)} others" if self._path else "no file of tasks is set"
        remedy = f"give an id in the column {self._column!r}, or a row that carries its prompt and its rubric"
        return f"no task is meant by {row}, {known}; {remedy}"


class _Carried:
    """The carried tasks that were read last, by the digest of their text: the text itself is not kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, tuple[Task, int]] = OrderedDict()
        self._bytes = 0

    def find(self, text: bytes, parse: Callable[[bytes], Task]) -> Task:
        """The task of a text, parsed where it is not known."""
        key = hashlib.sha256(text).digest()
        with _keeping:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        task = parse(text)
        with _keeping:
            # Text is kept as it came and as the judge is shown it; every comma stands for one more value.
            size = 3 * len(text) + _VALUE_BYTES * text.count(b",") + _CRITERION_BYTES * len(task.rubric)
            return self._keep(key, task, size)

    def _keep(self, key: bytes, task: Task, size: int) -> Task:
        if key in self._kept:  # another thread was faster
            return self._kept[key][0]
        self._kept[key] = (task, size)
        self._bytes += size
        while self._bytes > REMEMBERED_BYTES or len(self._kept) > REMEMBERED:
            self._bytes -= self._kept.popitem(last=False)[1][1]
        return task


_keeping = threading.Lock()


def _renew_lock() -> None:
    """After a fork: whoever held the lock is not here."""
    global _keeping  # noqa: PLW0603 - it is the one lock of this process
    _keeping = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


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
    extra = _read_object(row.get("extra_info"))
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
        {key: _unwrap(value) if key in ("messages", "rubric", "protocol") else value for key, value in row.items()}
    )


def _render(carried: dict[str, Any]) -> bytes:
    """The same text for the same task. Arrays, as readers of parquet give them, become lists."""
    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    try:
        return orjson.dumps(carried, default=_as_json, option=options)
    except TypeError:  # a lone surrogate, which has no UTF-8
        return json.dumps(carried, default=_as_json).encode()


def _as_json(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else str(value)


def _unwrap(value: Any) -> Any:
    """A value that some trainers keep as JSON text, even twice over. Objects that give a key twice are refused."""
    for _ in range(3):
        if not isinstance(value, str) or not value.lstrip().startswith(("[", "{", '"')):
            break
        try:
            value = json.loads(value, object_pairs_hook=refuse_repeated_keys)
        except (ValueError, RecursionError):
            break
    return value


def _read_object(value: Any) -> Mapping[str, Any]:
    """An object, or JSON text of one; empty where there is anything else in its place."""
    value = _unwrap(value)
    return value if isinstance(value, Mapping) else {}


def _list_places(row: Mapping[Any, Any]) -> Iterator[object]:
    """Where trainers keep what belongs to a row, beside the named column: the row itself, and verl's places."""
    extra = _read_object(row.get("extra_info"))
    yield row
    yield row.get("task")
    yield extra.get("task")
    yield row.get("ground_truth")
    yield _read_object(row.get("reward_model")).get("ground_truth")


def _read_column(row: Mapping[Any, Any], column: str) -> object:
    value = row.get(column)
    return _read_object(row.get("extra_info")).get(column) if value is None else value


def _as_text(value: object) -> object:
    """An id may be a whole number, also of numpy's making."""
    return str(value) if isinstance(value, Integral) and not isinstance(value, bool) else value


def _describe(row: object, column: str) -> str:
    if not isinstance(row, Mapping):
        return shorten(repr(row))
    value = _read_column(row, column)
    if value is not None:
        return f"a row with {shorten(repr(value))} in {column!r}"
    return f"a row with the keys {shorten(', '.join(map(str, row)))}"
