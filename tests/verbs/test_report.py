"""`report` draws a study again from its file or its folder, and the page of another run from its folder."""

import json
from pathlib import Path

import pytest

from prorubric.cli.app import run as run_program
from prorubric.errors import ConfigError, SourceError
from prorubric.verbs.report import ReportConfig, report_results
from prorubric.verbs.study import run_study
from prorubric.verbs.study_file import StudyConfig
from prorubric.view.runs import Library
from tests.report.audit_folder import build_audit
from tests.report.study import write_evaluation

STUDY = {
    "title": "Small",
    "paper": "mini",
    "coverage": "tasks:g.jsonl",
    "appropriateness": "tasks:c.jsonl",
    "out": "runs/small",
    "arms": {"Rubric-RL": {"method": "rubric-rl"}, "ProRubric": {"method": "prorubric"}},
    "evaluate": {"judge": ["lite", "pro"], "benchmarks": ["tasks:g.jsonl"]},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(json.dumps(STUDY))
    values = {("tasks:g.jsonl", "pro"): [20, 30, 34, 36, 40], ("tasks:c.jsonl", "pro"): [50, 20, 26, 36, 46]}
    write_evaluation(tmp_path / "runs/small", values)
    return tmp_path


def test_a_study_names_the_benchmarks_that_are_coverage_and_appropriateness(folder: Path) -> None:
    result = report_results(ReportConfig(Path("small.yaml")))
    assert (result.verb, result.page) == ("study", "runs/small/report.html")
    text = (folder / "runs/small/tables/ablations.csv").read_text()
    assert "\nRubric-RL,23.0," in text
    assert result.study is not None
    assert "SFT, ours" in result.study.missing["main"]


def test_the_folder_of_a_study_is_enough_and_may_have_been_moved(folder: Path) -> None:
    run_study(StudyConfig(Path("small.yaml"), only=("report",)))
    assert (folder / "runs/small/study.yaml").read_text() == (folder / "small.yaml").read_text()
    (folder / "small.yaml").unlink()
    (folder / "runs/small").rename(folder / "moved")
    (folder / "moved/report.html").unlink()
    assert report_results(ReportConfig(Path("moved"))).page == "moved/report.html"
    assert (folder / "moved/report.html").exists()
    assert report_results(ReportConfig(Path("moved"), out=Path("elsewhere"))).page == "elsewhere/report.html"


def test_the_program_says_what_was_written_and_what_was_not_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_program(["report", "small.yaml"]) == 0
    said = capsys.readouterr().out
    assert "not run, evidence-a: 8 rows\n" in said
    assert said.endswith("The page is runs/small/report.html.\n")
    assert run_program(["report", "small.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verb"] == "study"


def test_a_folder_without_a_run_is_refused_in_one_line(folder: Path) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(SourceError) as refused:
        report_results(ReportConfig(Path("empty")))
    assert str(refused.value) == "empty: no run that has a page; name a folder of study, audit, train, evaluate, lab"


def test_a_study_is_among_the_runs_that_can_be_looked_at(folder: Path) -> None:
    run_study(StudyConfig(Path("small.yaml"), only=("report",)))
    [card] = [card for card in Library(folder).list_runs().runs if card.verb == "study"]
    assert (card.path, card.about, card.state, card.has_report) == ("runs/small", "small.yaml", "done", True)


def test_a_path_that_is_not_there_is_refused_in_one_line() -> None:
    with pytest.raises(SourceError, match=r"^nowhere\.yaml: no such file or folder; name a study file, or the folder"):
        report_results(ReportConfig(Path("nowhere.yaml")))


def test_an_evaluation_is_drawn_again_in_its_folder(folder: Path) -> None:
    place = folder / "runs/small/evaluate"
    (place / "config.json").write_text(json.dumps({"verb": "evaluate", "config": {"resamples": 20}}))
    (place / "summary.json").write_text(json.dumps({"comparisons": None, "calls": 7}))
    assert report_results(ReportConfig(place)).page == str(place / "report.html")
    assert (place / "tables/scores.csv").is_file()
    with pytest.raises(ConfigError, match="--out is for studies"):
        report_results(ReportConfig(place, out=Path("x")))


def test_an_audit_is_drawn_again_in_its_folder(folder: Path) -> None:
    build_audit(folder / "audit", tasks=2)
    assert report_results(ReportConfig(Path("audit"))).page == "audit/report.html"
    assert (folder / "audit/report.html").is_file()


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        ("evaluate", "run: the evaluation is not finished; run it again, it goes on"),
        ("lab", "run: no comparison of schemes; prorubric lab compare writes one"),
        ("judge", "run: no run that has a page (it is of judge); name a folder of study, audit, train, evaluate, lab"),
    ],
)
def test_a_run_without_a_result_to_draw_is_refused_in_one_line(folder: Path, verb: str, said: str) -> None:
    (folder / "run").mkdir()
    (folder / "run/config.json").write_text(json.dumps({"verb": verb}))
    with pytest.raises(SourceError) as refused:
        report_results(ReportConfig(Path("run")))
    assert str(refused.value) == said
