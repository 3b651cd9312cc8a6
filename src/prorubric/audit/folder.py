"""The files in the run folder of an audit, and how its cases are written."""

from pathlib import Path

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
    with open_rows(folder / CASES, ROW_SCHEMA) as write:
        for case in found.cases:
            made = [one.model_dump(mode="json") for one in case.outcomes.values() if isinstance(one, MadeEdit)]
            row = {
                "task_id": case.task.id,
                "sample": case.response.sample,
                "answer": case.response.text,
                "edits": made,
                "not_made": {kind: one.reason for kind, one in case.outcomes.items() if isinstance(one, NotMade)},
                "verdicts": {
                    name: {reading: [*map(render_verdict, verdicts)] for reading, verdicts in readings.items()}
                    for name, readings in case.verdicts.items()
                },
                "scores": case.scores,
            }
            write(row | ({"addressing": case.addressing} if case.addressing else {}))
    for name, records in ((PRICES, found.prices), (HACKS, found.hacks)):
        with open_rows(folder / name, ROW_SCHEMA) as write:
            for record in records:
                write(record.model_dump(mode="json"))
