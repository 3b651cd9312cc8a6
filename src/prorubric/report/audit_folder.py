"""The run folder of an audit as the page and the tables need it.

`cases.jsonl` can be larger than memory likes: it is read twice, row by row; the first time for figures, the second for
the few cases that are shown whole. A folder that does not hold a finished audit is a `SourceError`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, Field, JsonValue

from prorubric.audit.cases import ANSWER
from prorubric.audit.edits import EDITS
from prorubric.audit.edits.kind import MadeEdit
from prorubric.audit.folder import CASES, HACKS, PRICES
from prorubric.audit.records import AuditResult, Effect, Hack, NamingPrice
from prorubric.datasets.load import load_tasks
from prorubric.errors import RubricError, SourceError
from prorubric.files.json import parse_json
from prorubric.files.read import read_rows
from prorubric.rubric.base import Record
from prorubric.rubric.records import Task
from prorubric.runs.folder import CONFIG, SUMMARY, TASKS

RecordT = TypeVar("RecordT", bound=Record)


class Case(Record):
    """One answer, its edits, and what the judge and the schemes made of them: a row of `cases.jsonl`."""

    model_config = ConfigDict(extra="ignore")

    task_id: str
    sample: int
    answer: str
    edits: tuple[MadeEdit, ...] = ()
    not_made: dict[str, str] = Field(default_factory=dict)
    verdicts: dict[str, dict[str, list[JsonValue]]] = Field(default_factory=dict)
    """By `answer` or kind of edit, then by reading."""
    scores: dict[str, dict[str, float | None]] = Field(default_factory=dict)
    """By `answer` or kind of edit, then by scheme; None where the reward is open."""

    def change(self, kind: str, scheme: str) -> float | None:
        """What an edit does to the reward × 100, where both rewards are known."""
        before, after = self.scores.get(ANSWER, {}).get(scheme), self.scores.get(kind, {}).get(scheme)
        return None if before is None or after is None else 100 * (after - before)

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from the other cases."""
        return self.task_id, self.sample


@dataclass(frozen=True, slots=True)
class AuditFolder:
    """A finished audit."""

    path: Path
    result: AuditResult
    config: dict[str, Any]

    def read_cases(self) -> Iterator[Case]:
        """Every case, one at a time."""
        return _read_records(self.path / CASES, Case)

    def read_prices(self) -> Iterator[NamingPrice]:
        """Every price; none where the audit asked for none."""
        return _read_optional(self.path / PRICES, NamingPrice)

    def read_hacks(self) -> Iterator[Hack]:
        """Every hack; none where the audit asked for none."""
        return _read_optional(self.path / HACKS, Hack)

    def load_tasks(self, ids: Iterable[str]) -> dict[str, Task]:
        """The tasks with these ids."""
        wanted = set(ids)
        return {task.id: task for task in load_tasks(self.path / TASKS, "tasks", strict=True) if task.id in wanted}


def open_audit(folder: Path) -> AuditFolder:
    """The audit in a run folder."""
    path = folder / SUMMARY
    if not path.is_file():
        raise SourceError(f"{path}: no such file; {folder} is not the folder of a finished audit")
    config = folder / CONFIG
    about = _parse_object(config) if config.is_file() else {}
    try:
        result = AuditResult(**_parse_object(path))
    except RubricError as error:
        raise SourceError(f"{path}: not the summary of an audit ({error}); name the folder of one") from None
    return AuditFolder(folder, result, about)


def list_edits(effects: Iterable[Effect]) -> list[str]:
    """The edits of a table in the order of the audit, then whatever else was measured."""
    found = dict.fromkeys(effect.edit for effect in effects)
    return [*(kind for kind in EDITS if kind in found), *(kind for kind in found if kind not in EDITS)]


def _parse_object(path: Path) -> dict[str, Any]:
    try:
        value = parse_json(path.read_bytes())
    except ValueError as error:
        raise SourceError(f"{path}: not JSON ({error}); the file is damaged or cut off") from None
    if not isinstance(value, dict):
        raise SourceError(f"{path}: not a JSON object; name the folder of an audit")
    return value


def _read_optional(path: Path, record: type[RecordT]) -> Iterator[RecordT]:
    return _read_records(path, record) if path.is_file() else iter(())


def _read_records(path: Path, record: type[RecordT]) -> Iterator[RecordT]:
    for row in read_rows(path):
        if row.value is None:
            fault = row.explain()
            raise SourceError(
                fault.kind, fault.detail, remedy="the file is damaged, run the audit again", place=f"{path}:{row.line}"
            )
        try:
            yield record(**row.value)
        except RubricError as error:
            raise SourceError(f"{path}:{row.line}: {error}; the file is damaged, run the audit again") from None
