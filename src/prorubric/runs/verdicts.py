"""Verdicts and scores in a run folder: one row per response, verdicts by reading, scores by scheme.

The folder holds its own tasks, so its verdicts can be scored again under any scheme, years later, without a call.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import JsonValue

from prorubric.aggregate.choose import Readings
from prorubric.aggregate.score import Score
from prorubric.errors import RubricError, SourceError
from prorubric.files.read import Row, read_rows
from prorubric.judge.cascade import DIGITS
from prorubric.judge.judge import Judged
from prorubric.rubric.base import Record
from prorubric.rubric.verdict import Evidence, Verdict, parse_verdict, render_verdicts
from prorubric.runs.folder import REJECTS, SUMMARY, TASKS, read_setting

VERDICTS, SCORES, SHEET = "verdicts.jsonl", "scores.jsonl", "scores.csv"
JUDGE_FILES = (TASKS, VERDICTS, SCORES, SHEET, SUMMARY, REJECTS)
"""The results of a judge run."""

ROW_SCHEMA = pa.schema({"task_id": pa.string(), "sample": pa.int64()})
"""Rows of a run are written as jsonl, which needs no schema; this one satisfies the writer."""


class SchemeSummary(Record):
    """The scores of a run under one scheme."""

    mean: float | None
    """Over the responses with a known score; None if there are none."""
    known: int
    unknown: int


@dataclass(slots=True)
class SchemeTally:
    """Sums and counts of scores by scheme, as responses come in."""

    sums: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    known: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)

    def add(self, scores: Mapping[str, Score]) -> None:
        """Count one response."""
        for name, found in scores.items():
            if found.value is None:
                self.unknown[name] += 1
            else:
                self.known[name] += 1
                self.sums[name] += found.value

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
    probabilities: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    """By reading, if the judge gives them."""
    agreement: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By reading and index of the item, if there were several votes."""
    judges: Mapping[str, Mapping[str, tuple[Verdict, ...]]] = field(default_factory=dict)
    """What each judge of a panel said, by name and reading."""
    evidence: Mapping[str, Mapping[str, Evidence]] = field(default_factory=dict)
    """By reading and index of the item, if the judge was asked for it."""
    group: str = ""
    """In the file of a training: the step, and the responses whose advantages were taken together in it."""
    reward: float | None = None
    """In the file of a training: the reward."""


@dataclass(frozen=True, slots=True)
class StoredScores:
    """The scores of one response by scheme, as a run folder keeps them."""

    task_id: str
    sample: int
    scores: Mapping[str, Score]


def render_verdict_row(task_id: str, sample: int, readings: Readings, **more: JsonValue) -> dict[str, JsonValue]:
    """One row of `verdicts.jsonl`."""
    verdicts: dict[str, JsonValue] = {name: render_verdicts(row) for name, row in readings.items()}
    return {"task_id": task_id, "sample": sample, "verdicts": verdicts, **{k: v for k, v in more.items() if v}}


def render_judged(judged: Judged) -> dict[str, JsonValue]:
    """The row of `verdicts.jsonl` with what else is known of the verdicts."""
    found = judged.judgements
    probabilities: dict[str, JsonValue] = {
        name: list(one.probabilities) for name, one in found.items() if one.probabilities is not None
    }
    reasons: dict[str, JsonValue] = {
        name: {str(index): reason for index, reason in one.reasons.items()}
        for name, one in found.items()
        if one.reasons
    }
    evidence: dict[str, JsonValue] = {
        name: {str(index): given.model_dump(mode="json", exclude_none=True) for index, given in one.evidence.items()}
        for name, one in found.items()
        if one.evidence
    }
    agreement: dict[str, JsonValue] = {
        name: {str(index): round(share, DIGITS) for index, share in one.agreement.items()}
        for name, one in found.items()
        if one.agreement
    }
    judges: dict[str, JsonValue] = {
        judge: {name: render_verdicts(one.judges[judge].verdicts) for name, one in found.items()}
        for judge in next(iter(found.values())).judges
    }
    return render_verdict_row(
        judged.task.id,
        judged.response.sample,
        {name: one.verdicts for name, one in found.items()},
        probabilities=probabilities,
        reasons=reasons,
        evidence=evidence,
        turns_left_out=max(one.turns_left_out for one in found.values()),
        agreement=agreement,
        addressing={**judged.addressing},
        judges=judges,
        sent_on={name: [*one.sent_on] for name, one in found.items() if one.sent_on},
        meta=judged.response.meta,
    )


def render_score_row(task_id: str, sample: int, scores: Mapping[str, Score]) -> dict[str, JsonValue]:
    """One row of `scores.jsonl`."""
    # Its fields are JSON already, and asking pydantic takes longer.
    return {"task_id": task_id, "sample": sample, "scores": {name: {**vars(found)} for name, found in scores.items()}}


def read_judge(folder: Path) -> str:
    """Who gave the verdicts of a run, by its `config.json`."""
    about = read_setting(folder)
    judge = about.get("judge") or about.get("config", {}).get("judge") or "not known"
    return ", ".join(map(str, judge)) if isinstance(judge, list) else str(judge)


def read_verdicts(folder: Path, name: str = VERDICTS) -> Iterator[StoredVerdicts]:
    """The verdicts of a run folder, response by response."""
    path = folder / name
    if not path.is_file():
        raise SourceError(f"{path}: no such file; {folder} is not the folder of a finished run")
    for row in read_rows(path):
        yield _parse_row(path, row)[0]


def read_training(path: Path) -> list[StoredVerdicts]:
    """The verdicts that a monitor kept of a training; of steps that were trained again only the later ones."""
    found: dict[int, list[StoredVerdicts]] = {}
    last = None
    for row in read_rows(path):
        stored, value = _parse_row(path, row)
        match value:
            case {"step": int(step), "group": str(group), "reward": int() | float() | None as reward}:
                if step != last:
                    found = {earlier: rows for earlier, rows in found.items() if earlier < step}
                last = step
            case _:
                raise SourceError(f"{path}:{row.line}: a row of verdicts without step, group and reward")
        found.setdefault(step, []).append(replace(stored, group=f"{step} {group}", reward=reward))
    return [stored for rows in found.values() for stored in rows]


def read_stored_scores(folder: Path) -> Iterator[StoredScores]:
    """The scores of a run folder as they were written, response by response."""
    path = folder / SCORES
    for row in read_rows(path):
        match row.value:
            case {"task_id": str(task_id), "sample": int(sample), "scores": dict(scores)}:
                try:
                    yield StoredScores(task_id, sample, {name: Score(**value) for name, value in scores.items()})
                except (RubricError, TypeError) as error:
                    raise SourceError(f"{path}:{row.line}: not a row of scores ({error})") from None
            case _:
                fault = row.fault or "it needs a task_id, a sample and scores"
                raise SourceError(f"{path}:{row.line}: not a row of scores ({fault})")


def _parse_row(path: Path, row: Row) -> tuple[StoredVerdicts, Mapping[str, Any]]:
    """The verdicts of a row, and the row."""
    value: Mapping[str, Any] = row.value or {}
    match value:
        case {"task_id": str(task_id), "sample": int(sample), "verdicts": dict(readings), **more}:
            panel: Any = more.get("judges") or {}
            given: Any = more.get("evidence") or {}
        case _:
            fault = row.fault or "it needs a task_id, a sample and verdicts"
            raise SourceError(f"{path}:{row.line}: not a row of verdicts ({fault})")
    try:
        verdicts = _parse_readings(readings)
        judges = {name: _parse_readings(own) for name, own in panel.items()}
        evidence = {name: {index: Evidence(**one) for index, one in found.items()} for name, found in given.items()}
    except (RubricError, AttributeError, TypeError) as error:
        raise SourceError(f"{path}:{row.line}: not a row of verdicts ({error})") from None
    kept: dict[str, Any] = {key: more.get(key) or {} for key in ("probabilities", "agreement")}
    return StoredVerdicts(task_id, sample, verdicts, **kept, judges=judges, evidence=evidence), value


def _parse_readings(readings: Mapping[str, Any]) -> dict[str, tuple[Verdict, ...]]:
    return {name: tuple(map(parse_verdict, values)) for name, values in readings.items() if isinstance(values, list)}
