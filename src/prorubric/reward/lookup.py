"""Which task a row of a training set belongs to: by its id, by a column, or carried whole in the row.

A row without a task, or with an invalid one, is refused in one line: a reward for the wrong rubric would be worse than
none. So is a row whose column names a task that is neither in the file nor in the row.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

from prorubric.aggregate.choose import check_judging
from prorubric.datasets.carry import OWN_KEY
from prorubric.datasets.load import load_tasks
from prorubric.datasets.sources import Format, verl
from prorubric.errors import ConfigError, RubricError, SourceError
from prorubric.files.json import parse_json
from prorubric.reward.engine import lock_process
from prorubric.reward.strict_json import refuse_repeated_keys
from prorubric.rubric.forms import TASK_KEYS, parse_task
from prorubric.rubric.identity import remember
from prorubric.rubric.records import Task
from prorubric.text.show import shorten

REMEMBERED = 2048
"""How many carried tasks are kept: the responses of a group, and of later epochs, bring the same ones again."""
REMEMBERED_BYTES = 256 * 2**20
"""How much memory they may take, as estimated; the least recently used goes first."""
_CRITERION_BYTES, _VALUE_BYTES = 1000, 80
"""What a criterion takes with what is derived from it, and what any other value takes in addition to its text."""
_CHECKED = 256
"""Tasks passed as objects that need not be checked again."""
_OWN_COLUMNS = {"id", "messages", "rubric"}
_NESTED_KEYS = ("messages", "rubric", "protocol")
_RUBRIC_KEYS = ("rubric", "rubrics", "criteria")
_ROW_KEYS = ("data_source", "ability", "reward_model")
# Trainers add values to extra_info that change from sample to sample; only these describe the task.
_EXTRA_KEYS = (*_RUBRIC_KEYS, "protocol", "id", "task_id", "rewritten")


class Lookup:
    """The tasks of a file by id, and those that rows carry; each can be judged under the schemes."""

    def __init__(self, path: str | None, format: Format, column: str, schemes: Sequence[str]) -> None:  # noqa: A002 - the name that users write
        self._path, self._column, self._schemes = path, column, schemes
        self._check_once = remember(_CHECKED)(self._check)
        self._carried: OrderedDict[bytes, tuple[Task, int]] = OrderedDict()
        self._carried_bytes = 0
        self.tasks: dict[str, Task] = {}
        if path is None:
            return
        stream = load_tasks(path, format, strict=True)
        for task in stream:
            known = self.tasks.setdefault(task.id, task)
            if known is task:
                self._check(task)
            elif known != task:
                line = f"the id {task.id!r} already belongs to another task; make ids unique"
                raise SourceError(line, place=f"{path}:{stream.line}")
        if not self.tasks:
            raise SourceError(f"{path}: the file has no tasks, so there is nothing to reward")

    def find(self, row: object) -> Task:
        """The task of a row; `ConfigError` if it has none, `RubricError` if the one it carries is invalid."""
        if isinstance(row, Task):
            if self.tasks.get(row.id) is not row:
                self._check_once(row)
            return row
        if not isinstance(row, Mapping):
            found, shown = self._read(row), shorten(repr(row))
        else:
            extra, named = _read_object(row.get("extra_info")), row.get(self._column)
            if named is None:
                named = extra.get(self._column)
            shown = f"a row with the keys {shorten(', '.join(map(str, row)))}"
            if named is not None:
                shown = f"a row with {shorten(repr(named))} in {self._column!r}"
            found = self._read(named)
            if found is None:
                # The row itself, and the other places where trainers keep a task; the last three are verl's.
                truth = row.get("ground_truth"), _read_object(row.get("reward_model")).get("ground_truth")
                places = (row, row.get("task"), extra.get("task"), *truth)
                found = next((task for place in places if (task := self._read(place)) is not None), None)
                # A name in the column decides: a row that brings another task elsewhere is refused.
                if found is not None and isinstance(_as_id(named), str) and _as_id(named) != found.id:
                    shown, found = f"{shown}, although it names {shorten(repr(found.id))} elsewhere", None
        if found is None:
            # The file's name alone, not its path: the server sends this line to its clients.
            known = f"{Path(self._path).name} has {len(self.tasks)} others" if self._path else "there is no tasks file"
            remedy = f"put a task id into the column {self._column!r}, or a prompt and a rubric into the row"
            raise ConfigError(f"no task matches {shown} ({known}); {remedy}")
        return found

    def _check(self, task: Task) -> None:
        for name in self._schemes:
            check_judging(task, name)

    def _read(self, value: object) -> Task | None:
        """A task by id, as an object, or as JSON text of one; None if the value is nothing of the kind."""
        value = _as_id(value)
        if isinstance(value, str):
            if value in self.tasks:
                return self.tasks[value]
            value = _read_object(value)
        carried = _pick_carried(value) if isinstance(value, Mapping) else None
        if carried is None:
            return None
        return self._find_carried(json.dumps(carried, default=_as_json))

    def _find_carried(self, text: str) -> Task:
        """The task of a text, parsed if it is new. Tasks are kept by a digest; the text itself is not."""
        key, kept = hashlib.sha256(text.encode()).digest(), self._carried
        with lock_process():
            if key in kept:
                kept.move_to_end(key)
                return kept[key][0]
            row = parse_json(text)
            try:
                if not row.keys() >= _OWN_COLUMNS:
                    task = verl.parse(row)
                elif row.get(OWN_KEY) is not None:
                    task = verl.parse_extra_info(row)
                else:
                    task = parse_task({name: _unwrap(row[name]) if name in _NESTED_KEYS else row[name] for name in row})
            except RubricError as error:
                raise error.at("the task in the row") from None
            self._check(task)
            # Text is kept as it came and as the judge is shown it; every comma stands for one more value.
            size = 3 * len(text) + _VALUE_BYTES * text.count(",") + _CRITERION_BYTES * len(task.rubric)
            kept[key] = (task, size)
            self._carried_bytes += size
            while self._carried_bytes > REMEMBERED_BYTES or len(kept) > REMEMBERED:
                self._carried_bytes -= kept.popitem(last=False)[1][1]
        return task


def _pick_carried(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The part of a row that describes its task, without what trainers add; None if that is not a whole task."""
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


def _as_json(value: Any) -> Any:
    if hasattr(value, "tolist"):  # an array, as readers of parquet give them
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else str(value)


def _as_id(value: object) -> object:
    """An id may be a whole number, also one of numpy's."""
    return str(value) if isinstance(value, Integral) and not isinstance(value, bool) else value


def _unwrap(value: Any) -> Any:
    """A value that some trainers keep as JSON text, even twice over. Objects with a duplicate key are refused."""
    for _ in range(3):
        if not isinstance(value, str) or not value.lstrip().startswith(("[", "{", '"')):
            break
        try:
            value = json.loads(value, object_pairs_hook=refuse_repeated_keys)
        except (ValueError, RecursionError):
            break
    return value


def _read_object(value: Any) -> Mapping[str, Any]:
    """An object, or JSON text of one; empty for anything else."""
    value = _unwrap(value)
    return value if isinstance(value, Mapping) else {}
