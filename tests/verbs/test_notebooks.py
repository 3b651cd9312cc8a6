"""Results in a notebook: rows, a data frame where pandas is installed, and a table with every text escaped."""

import sys
from pathlib import Path

import pandas as pd
import pytest

from prorubric import (
    SAMPLE_TASKS,
    AuditConfig,
    JudgeRunConfig,
    LintConfig,
    ScoreConfig,
    audit_rewards,
    judge_responses,
    lint_tasks,
    score_run,
)
from prorubric.datasets.samples import SAMPLE_RESPONSES
from prorubric.errors import MissingExtraError
from prorubric.files.tables import Tabular
from prorubric.verbs.evaluate import EvaluateConfig, evaluate_policies
from tests.verbs.evaluating import write_medqa


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tabular]:
    folder = tmp_path_factory.mktemp("results")
    tasks, run = str(SAMPLE_TASKS), folder / "run"
    write_medqa(folder / "data")
    # The id of the first question, which is made of its text.
    (folder / "answers.jsonl").write_text('{"id": "0a3ba1f3dfe396d9", "answer": "Answer: A"}')
    return {
        "lint": lint_tasks(LintConfig(tasks)),
        "judge": judge_responses(JudgeRunConfig(tasks, SAMPLE_RESPONSES, judge="lexical", out=run)),
        "score": score_run(ScoreConfig(run, scheme="additive")),
        "audit": audit_rewards(
            AuditConfig(tasks, SAMPLE_RESPONSES, edits=("name-item",), scheme="additive", out=folder / "audit", limit=5)
        ),
        "evaluate": evaluate_policies(
            EvaluateConfig(
                ("medqa",),
                policy=(f"<b>base</b>={folder / 'answers.jsonl'}",),
                data_dir=folder / "data",
                out=folder / "evaluation",
            )
        ),
    }


COLUMNS = {
    "lint": ["check", "severity", "found"],
    "judge": ["task_id", "sample", "additive", "conjunctive"],
    "score": ["task_id", "sample", "additive"],
    "audit": ["edit", "additive"],
    "evaluate": ["benchmark", "judge", "policy", "score", "low", "high", "items", "lost"],
}
ROWS = {"lint": 11, "judge": 48, "score": 48, "audit": 4, "evaluate": 1}


@pytest.mark.parametrize("verb", COLUMNS)
def test_a_result_is_a_data_frame_with_a_column_for_each_figure(verb: str, results: dict[str, Tabular]) -> None:
    frame = results[verb].to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert (list(frame.columns), len(frame)) == (COLUMNS[verb], ROWS[verb])
    assert frame.to_dict("records") == [dict(row) for row in results[verb].to_rows()]


@pytest.mark.parametrize("verb", COLUMNS)
def test_a_notebook_shows_a_table_without_pandas(
    verb: str, results: dict[str, Tabular], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    shown = results[verb]._repr_html_()
    assert shown.startswith("<table><thead><tr>")
    assert all(f"<th>{name}</th>" in shown for name in COLUMNS[verb])
    with pytest.raises(
        MissingExtraError, match=r"^to_frame needs pandas: pip install pandas; to_rows works without it$"
    ):
        results[verb].to_frame()


def test_names_of_policies_are_escaped(results: dict[str, Tabular]) -> None:
    shown = results["evaluate"]._repr_html_()
    assert "<td>&lt;b&gt;base&lt;/b&gt;</td>" in shown
    assert "<b>" not in shown


def test_an_empty_result_is_an_empty_table(tmp_path: Path) -> None:
    class Nothing(Tabular):
        def to_rows(self) -> list[dict[str, object]]:
            return []

    assert Nothing()._repr_html_() == "<table><thead><tr></tr></thead><tbody></tbody></table>"
    assert Nothing().to_frame().empty
