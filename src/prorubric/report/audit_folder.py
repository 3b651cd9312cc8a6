"""The run folder of an audit as the page and the tables need it.

`cases.jsonl` may not fit into memory, so it is read row by row: once for the figures, once for the few cases that are
shown in full, once for the verdicts on criteria. A folder that does not hold a finished audit is a `SourceError`.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, Field, JsonValue

from prorubric.audit.cases import ANSWER
from prorubric.audit.edits.kind import MadeEdit
from prorubric.audit.folder import CASES
from prorubric.audit.records import AuditResult, Effect
from prorubric.datasets.load import load_tasks
from prorubric.errors import RowError, RubricError, SourceError
from prorubric.files.json import parse_json
from prorubric.files.read import read_rows
from prorubric.rubric.base import Record
from prorubric.rubric.records import Task
from prorubric.runs.folder import SUMMARY, TASKS, read_setting

RecordT = TypeVar("RecordT", bound=Record)


class StoredCase(Record):
    """A row of `cases.jsonl`: one answer and its edits, with their verdicts and rewards."""

    model_config = ConfigDict(extra="ignore")

    task_id: str
    sample: int
    answer: str
    edits: tuple[MadeEdit, ...] = ()
    not_made: dict[str, str] = Field(default_factory=dict)
    verdicts: dict[str, dict[str, list[JsonValue]]] = Field(default_factory=dict)
    """By `answer` or kind of edit, then by reading."""
    scores: dict[str, dict[str, float | None]] = Field(default_factory=dict)
    """By `answer` or kind of edit, then by scheme; None if the reward is open."""

    def change(self, kind: str, scheme: str) -> float | None:
        """What an edit does to the reward × 100; None unless both rewards are known."""
        before, after = self.scores.get(ANSWER, {}).get(scheme), self.scores.get(kind, {}).get(scheme)
        return None if before is None or after is None else 100 * (after - before)


@dataclass(frozen=True, slots=True)
class AuditFolder:
    """A finished audit."""

    path: Path
    result: AuditResult
    config: dict[str, Any]

    def read(self, name: str, record: type[RecordT]) -> Iterator[RecordT]:
        """The records of a file, one at a time; no prices and hacks if the audit did not ask for them."""
        path = self.path / name
        if name != CASES and not path.is_file():
            return
        for row in read_rows(path):
            try:
                if row.value is None:
                    raise row.explain()
                yield record(**row.value)
            except (RowError, RubricError) as error:
                found = error.turn_into(SourceError, f"{path}:{row.line}")
                found.remedy = "the file is damaged, run the audit again"
                raise found from None

    def load_tasks(self, ids: Iterable[str]) -> dict[str, Task]:
        """The tasks with these ids."""
        wanted = set(ids)
        return {task.id: task for task in load_tasks(self.path / TASKS, "tasks", strict=True) if task.id in wanted}


def open_audit(folder: Path) -> AuditFolder:
    """The audit in a run folder."""
    path = folder / SUMMARY
    if not path.is_file():
        raise SourceError("no such file", remedy=f"{folder} is not the folder of a finished audit", place=path)
    try:
        result = AuditResult(**parse_json(path.read_bytes()))
    except (RubricError, TypeError, ValueError) as error:
        remedy = "name the folder of an audit"
        raise SourceError("not the summary of an audit", str(error), remedy=remedy, place=path) from None
    return AuditFolder(folder, result, read_setting(folder))


def list_edits(effects: Iterable[Effect], kinds: Collection[str]) -> list[str]:
    """The edits of a table in the order of the audit, then the controls."""
    found = dict.fromkeys(effect.edit for effect in effects)
    return [*(kind for kind in kinds if kind in found), *(kind for kind in found if kind not in kinds)]
