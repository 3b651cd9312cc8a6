"""The files in the run folder of an audit, and how its cases are written."""

from pathlib import Path
from typing import Any

from prorubric.audit.cases import AuditCase
from prorubric.audit.edits.kind import MadeEdit, NotMade
from prorubric.audit.summary import Found
from prorubric.files.write import open_rows
from prorubric.rubric.verdict import render_verdict
from prorubric.runs.folder import REJECTS, SUMMARY, TASKS
from prorubric.runs.verdicts import ROW_SCHEMA

CASES, PRICES, HACKS = "cases.jsonl", "prices.jsonl", "hacks.jsonl"
AUDIT_FILES = (TASKS, CASES, PRICES, HACKS, SUMMARY, REJECTS)
PAGE = "report.html"
EFFECTS_CSV, SHARES_CSV, FIXED_CSV = "effects.csv", "shares.csv", "fixed.csv"
FORECAST_CSV, PRICES_CSV, HACKS_CSV = "forecast.csv", "prices.csv", "hacks.csv"
EFFECTS_TEX, FORECAST_TEX = "effects.tex", "forecast.tex"
REPORT_FILES = (
    *(PAGE, EFFECTS_CSV, SHARES_CSV, FIXED_CSV, FORECAST_CSV, PRICES_CSV, HACKS_CSV),
    *(EFFECTS_TEX, FORECAST_TEX),
)
"""The files for people. They are named here because they belong to the folder too."""


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
        **({"addressing": case.addressing} if case.addressing else {}),
    }
