"""The run folder of an audit: whose it is, and what is written into it.

What a folder holds belongs to its `config.json`: the results of an earlier audit are removed when another begins, and
only the journal stays. A folder with files that no audit wrote, or with an audit of something else, is left alone.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from prorubric.audit.config import AuditConfig
from prorubric.audit.edits.kind import MadeEdit, NotMade
from prorubric.audit.judging import AuditCase
from prorubric.audit.summary import Found
from prorubric.errors import ConfigError
from prorubric.files.write import hash_file, open_rows, write_json
from prorubric.rubric.base import render_config
from prorubric.rubric.records import Task
from prorubric.rubric.save import save_tasks
from prorubric.rubric.verdict import render_verdict
from prorubric.runs.folder import CONFIG, REJECTS, SUMMARY, TASKS, read_setting
from prorubric.runs.verdicts import ROW_SCHEMA
from prorubric.text.show import shorten

VERB = "audit"
CASES, PRICES, HACKS = "cases.jsonl", "prices.jsonl", "hacks.jsonl"
AUDIT_FILES = (CONFIG, TASKS, CASES, PRICES, HACKS, SUMMARY)
PAGE = "report.html"
EFFECTS_CSV, SHARES_CSV, FIXED_CSV = "effects.csv", "shares.csv", "fixed.csv"
FORECAST_CSV, PRICES_CSV, HACKS_CSV = "forecast.csv", "prices.csv", "hacks.csv"
EFFECTS_TEX, FORECAST_TEX = "effects.tex", "forecast.tex"
REPORT_FILES = (
    *(PAGE, EFFECTS_CSV, SHARES_CSV, FIXED_CSV, FORECAST_CSV, PRICES_CSV, HACKS_CSV),
    *(EFFECTS_TEX, FORECAST_TEX),
)
"""What is made of an audit for people; the names stand here because the folder has to be theirs as well."""

_RESULTS = (CASES, PRICES, HACKS, SUMMARY, REJECTS, *REPORT_FILES)
_AUDITED = "audited"
_COMPARED = ("judge", "judging", "editor", "generator", "answers_from", "limit", "subset")


def check_folder(config: AuditConfig) -> None:
    """Raise `ConfigError` where the folder holds other files, or an audit of something else that is to be kept."""
    before = read_setting(config.out)
    ours = before.get("verb") == VERB
    strange = [name for name in (CONFIG, TASKS, *_RESULTS) if os.path.lexists(config.out / name)]
    if strange and not ours:
        raise ConfigError(
            f"{config.out}: holds files that are not an audit ({strange[0]}); name another folder with --out"
        )
    if not ours or config.overwrite:
        return
    old = before.get(_AUDITED)
    if not isinstance(old, dict):
        raise ConfigError(f"{config.out / CONFIG}: does not say what was audited; name another folder with --out")
    for key, value in describe_audited(config).items():
        if old.get(key) != value:
            raise ConfigError(
                f"{config.out}: holds an audit with another {key.replace('_', ' ')} ({shorten(str(old.get(key)))}); "
                "name another folder with --out, or replace it with --overwrite"
            )


def describe_audited(config: AuditConfig) -> dict[str, Any]:
    """What makes it another audit where it differs; anything else may change from run to run."""
    rendered = render_config(config)
    return {
        "tasks": _resolve(config.tasks),
        "responses": None if config.responses is None else _resolve(str(config.responses)),
        "content of the files": [_hash(path) for path in (config.tasks, config.responses) if path is not None],
        **{key: rendered[key] for key in _COMPARED},
        # Given answers are all taken, however many.
        "samples": config.samples if config.responses is None else None,
    }


def write_setting(config: AuditConfig, tasks: Iterable[Task], schemes: Sequence[str], judge: str, editor: str) -> None:
    """What is audited and how; `judge` and `editor` are the models' identities. Earlier results are removed."""
    for name in _RESULTS:
        (config.out / name).unlink(missing_ok=True)
    save_tasks(config.out / TASKS, tasks)
    about = {
        "verb": VERB,
        "config": render_config(config),
        _AUDITED: describe_audited(config),
        "schemes": list(schemes),
        "judge_identity": judge,
        "editor_identity": editor,
    }
    write_json(config.out / CONFIG, about)


def write_cases(folder: Path, found: Found) -> None:
    """Every text with its verdicts and rewards, the price list, and the hacks."""
    rows = {
        CASES: map(_render_case, found.cases),
        PRICES: (price.model_dump(mode="json") for price in found.prices),
        HACKS: (hack.model_dump(mode="json") for hack in found.hacks),
    }
    for name, content in rows.items():
        with open_rows(folder / name, ROW_SCHEMA) as write:
            for row in content:
                write(row)


def _resolve(tasks: str) -> str:
    """A file wherever it is asked for from; what is no file is the name of a dataset."""
    path = Path(tasks)
    return str(path.resolve()) if path.exists() else tasks


def _hash(path: str | Path) -> str | None:
    """What the file holds; a dataset on the hub has no file here."""
    return hash_file(Path(path)) if Path(path).is_file() else None


def _render_case(case: AuditCase) -> dict[str, Any]:
    return {
        "task_id": case.task.id,
        "sample": case.response.sample,
        "answer": case.response.text,
        "edits": [made.model_dump(mode="json") for made in case.outcomes.values() if isinstance(made, MadeEdit)],
        "not_made": {kind: made.reason for kind, made in case.outcomes.items() if isinstance(made, NotMade)},
        "verdicts": {
            name: {reading: [*map(render_verdict, verdicts)] for reading, verdicts in readings.items()}
            for name, readings in case.verdicts.items()
        },
        "scores": case.scores,
    }
