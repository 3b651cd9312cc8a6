"""A run folder: what was asked, the tasks, the verdicts, the scores, the summary, and the journal of a long run.

The files are `config.json`, `tasks.jsonl`, `verdicts.jsonl`, `scores.jsonl`, `scores.csv`, `summary.json` and
`journal.sqlite`. Verdicts and scores have one row a response: verdicts by reading, scores by scheme. The folder holds
its own tasks, so that verdicts can be scored again under any scheme, years later, without a call.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import JsonValue

from prorubric.aggregate.plan import ScoringPlan, make_scoring_plan
from prorubric.aggregate.schemes import SCHEMES, find_scheme
from prorubric.aggregate.score import Score, score_plan
from prorubric.errors import ConfigError, RubricError, SchemeError, SourceError
from prorubric.files.json import parse_json
from prorubric.files.read import read_rows
from prorubric.judge.readings import list_items
from prorubric.rubric.base import Record
from prorubric.rubric.identity import remember
from prorubric.rubric.records import Task
from prorubric.rubric.verdict import Verdict, parse_verdict, render_verdict
from prorubric.runs.folder import CONFIG, REJECTS, SUMMARY, TASKS

VERDICTS, SCORES, SHEET = "verdicts.jsonl", "scores.jsonl", "scores.csv"
JUDGE_FILES = (TASKS, VERDICTS, SCORES, SHEET, SUMMARY, REJECTS)
"""The results of a judge run."""

ALL, AUTO = "all", "auto"
READS_WORDS = "lexical"
"""The judge that compares words instead of asking a model."""
_REMEDIES = {
    "dimensions": "make them with prorubric compile",
    "restated criteria": "write them with prorubric compile --texts rewritten",
}
_BY_DEFAULT = ("additive", "prorubric")
_BY_WORDS = ("additive", "conjunctive", "prorubric")
"""Groups of criteria hold for a judge that cannot read a dimension as well."""

ROW_SCHEMA = pa.schema({"task_id": pa.string(), "sample": pa.int64()})
"""Rows of a run are written as jsonl, which needs no schema; this one satisfies the writer."""

Readings = Mapping[str, Sequence[Verdict]]


class SchemeSummary(Record):
    """The scores of a run under one scheme."""

    mean: float | None
    """Over the responses with a known score; None where there is none."""
    known: int
    unknown: int


@dataclass(slots=True)
class SchemeTally:
    """Sums and counts of scores by scheme, as responses come in."""

    sums: dict[str, float] = field(default_factory=dict)
    known: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)

    def add(self, scores: Mapping[str, Score]) -> None:
        """Count one response."""
        for name, found in scores.items():
            if found.value is None:
                self.unknown[name] += 1
            else:
                self.known[name] += 1
                self.sums[name] = self.sums.get(name, 0.0) + found.value

    def summarize(self, schemes: Sequence[str]) -> dict[str, SchemeSummary]:
        """What has been counted, in the order of the schemes."""
        return {
            name: SchemeSummary(
                mean=self.sums[name] / self.known[name] if self.known[name] else None,
                known=self.known[name],
                unknown=self.unknown[name],
            )
            for name in schemes
        }


@dataclass(frozen=True, slots=True)
class StoredVerdicts:
    """The verdicts on one response, as a run folder keeps them."""

    task_id: str
    sample: int
    verdicts: Mapping[str, tuple[Verdict, ...]]


def check_judging(task: Task, name: str) -> None:
    """Raise `SchemeError` where a task cannot be judged and scored under a scheme."""
    make_scoring_plan(task, name)
    for reading in find_scheme(name).readings:
        list_items(task, reading)


def check_scoring(task: Task, name: str) -> None:
    """Raise `SchemeError` where verdicts on a task cannot be scored under a scheme."""
    make_scoring_plan(task, name)


def choose_schemes(
    names: str, tasks: Sequence[Task], check: Callable[[Task, str], None], judge: str = ""
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The schemes that a user asked for, checked against the tasks before anything is spent.

    `all` stands for every scheme that all of the tasks can be scored under and the judge can read, `auto` for the sum
    and ProRubric as far as that goes; what is left out comes back with the reason. A scheme that was named and does not
    fit raises `SchemeError`.
    """
    asked = names.strip()
    if asked in (ALL, AUTO):
        wanted = SCHEMES if asked == ALL else _BY_DEFAULT if judge != READS_WORDS else _BY_WORDS
        found = {name: _find_obstacle(name, tasks, check) for name in wanted}
        left_out = {name: str(obstacle) for name, obstacle in found.items() if obstacle is not None}
        if len(left_out) == len(wanted):
            raise SchemeError(f"{wanted[0]}: {left_out[wanted[0]]}")
        fitting = tuple(name for name in wanted if name not in left_out)
        readable, unread = split_by_words(fitting) if judge == READS_WORDS else (fitting, {})
        return readable, left_out | unread
    chosen = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not chosen:
        raise ConfigError("no scheme is named; give one or several with commas between them, all, or auto")
    for name in chosen:
        for task in tasks:
            check(task, name)
    return chosen, {}


def split_by_words(schemes: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Of some schemes those that a judge that compares words can read, and why not the others."""
    readable = tuple(name for name in schemes if all(r.is_read_by_words for r in find_scheme(name).readings))
    reason = f"{READS_WORDS} compares words and cannot read their texts; use a model as the judge"
    return readable, {name: reason for name in schemes if name not in readable}


def score_readings(readings: Readings, task: Task, schemes: Sequence[str]) -> dict[str, Score]:
    """The scores of one response under several schemes, from one set of verdicts."""
    return {name: score_plan(_pick(readings, name), _plan(task, name)) for name in schemes}


def render_verdict_row(task_id: str, sample: int, readings: Readings, **more: JsonValue) -> dict[str, JsonValue]:
    """One row of `verdicts.jsonl`."""
    verdicts: dict[str, JsonValue] = {name: [*map(render_verdict, row)] for name, row in readings.items()}
    return {"task_id": task_id, "sample": sample, "verdicts": verdicts, **{k: v for k, v in more.items() if v}}


def render_score_row(task_id: str, sample: int, scores: Mapping[str, Score]) -> dict[str, JsonValue]:
    """One row of `scores.jsonl`."""
    rows: dict[str, JsonValue] = {
        name: {"value": found.value, "low": found.low, "high": found.high, "unknown": [*found.unknown]}
        for name, found in scores.items()
    }
    return {"task_id": task_id, "sample": sample, "scores": rows}


def read_judge(folder: Path) -> str:
    """Who gave the verdicts of a run, by its `config.json`."""
    path = folder / CONFIG
    about = parse_json(path.read_bytes()) if path.is_file() else {}
    return str(about.get("config", {}).get("judge") or about.get("judge") or "not known")


def read_verdicts(folder: Path) -> Iterator[StoredVerdicts]:
    """The verdicts of a run folder, response by response."""
    path = folder / VERDICTS
    if not path.is_file():
        raise SourceError(f"{path}: no such file; {folder} is not the folder of a finished run")
    for row in read_rows(path):
        try:
            yield _parse_stored(row.value or {})
        except RubricError as error:
            raise SourceError(f"{path}:{row.line}: not a row of verdicts ({row.fault or error})") from None


def _parse_stored(row: Mapping[str, Any]) -> StoredVerdicts:
    task_id, sample, verdicts = row.get("task_id"), row.get("sample"), row.get("verdicts")
    if not isinstance(task_id, str) or not isinstance(sample, int) or not isinstance(verdicts, dict):
        raise RubricError("it needs a task_id, a sample and verdicts")
    read = {name: tuple(map(parse_verdict, values)) for name, values in verdicts.items() if isinstance(values, list)}
    return StoredVerdicts(task_id, sample, read)


def _find_obstacle(name: str, tasks: Sequence[Task], check: Callable[[Task, str], None]) -> str | None:
    """Why a scheme does not fit, in the same words for every scheme with the same remedy."""
    for task in tasks:
        try:
            check(task, name)
        except SchemeError as error:
            needs = find_scheme(name).needs - ({"dimensions"} if task.protocol else set())
            return next((f"there are tasks without {need}; {_REMEDIES[need]}" for need in sorted(needs)), str(error))
    return None


def _pick(readings: Readings, name: str) -> list[Verdict]:
    names = [reading.name for reading in find_scheme(name).readings]
    missing = [reading for reading in names if reading not in readings]
    if missing:
        raise SchemeError(
            f"{name} needs verdicts on {missing[0]}, and there are only {', '.join(readings)}; judge again"
        )
    return [verdict for reading in names for verdict in readings[reading]]


@remember(1024)
def _plan(task: Task, name: str) -> ScoringPlan:
    return make_scoring_plan(task, name)
