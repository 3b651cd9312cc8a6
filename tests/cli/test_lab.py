"""`prorubric lab`: what it prints and how it ends. Training itself is tested in tests/lab, with torch."""

import json
import re
from pathlib import Path

import pytest

from prorubric.cli.app import run
from prorubric.cli.lab import print_comparison, print_tables
from prorubric.cli.output import make_console
from prorubric.lab.summary import LabResult, summarize_lab
from tests.lab.results import make_base, make_run, write_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [make_run("additive", 42, {0: 0.6, 300: 0.4}), make_run("prorubric", 42, {0: 0.6, 300: 0.5})]
    return write_folder(tmp_path_factory.mktemp("runs") / "lab", make_base(["additive", "prorubric"]), runs)


def test_a_case_is_shown_with_its_answers_and_a_column_of_marks_for_each(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["lab", "read", "2", "--out", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("triage-v1, case 2\nasked    ")
    assert re.search(r"\nadditive, \d+ steps, seed 42: ", shown)
    assert re.search(r"\nprorubric, \d+ steps, seed 42: ", shown)
    assert "checklist: + met, ~ named only, x wrong; one column for each answer above" in shown


def test_json_prints_one_document(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "read", "2", "--scheme", "additive", "--out", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(answer["scheme"], answer["steps"]) for answer in found["answers"]] == [("base", 0), ("additive", 300)]


def test_worlds_are_set_next_to_the_paper(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "worlds", str(folder)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[1].split()[0] == "triage-v1"
    assert shown[1].split()[2:] == ["0.32", "-20.0", "-28.9", "+10.0", "+13.2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--scheme", "sum"], "the lab has no scheme 'sum'; known: additive"),
        (["run", "--scheme", ".x:f"], ".x:f cannot be imported: TypeError: "),
        (
            ["run", "--scheme", "no_such_module:f"],
            "No module named 'no_such_module'; give your own scheme as pkg.",
        ),
        (["run", "--world", "mars"], "no world is called 'mars'; known: triage-v1, triage-v1-redrawn, science-v1, "),
        (
            ["read", "--out", "nowhere"],
            "nowhere holds no runs of the lab; make some with: prorubric lab run --out nowhere",
        ),
        (["run", "--steps", "0"], "--steps: Input should be greater than or equal to 1"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["lab", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert len(said.err.splitlines()) == 1


def test_training_without_torch_names_the_extra(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "run", "--steps", "1", "--seeds", "1", "--out", str(tmp_path / "lab")]) == 2
    said = capsys.readouterr().err
    install = "install prorubric with it: pip install '.[lab]' in a checkout"
    assert said == f"prorubric: training in the lab needs the extra [lab]; {install}\n"
    assert not (tmp_path / "lab").exists()


def make_result(schemes: dict[str, float]) -> LabResult:
    """Schemes with what their `c` ends at, one seed each."""
    runs = [make_run(name, 42, {0: 0.6, 50: 0.5, 300: c}, g=c) for name, c in schemes.items()]
    return summarize_lab(make_base(list(schemes)), runs)


def test_a_table_of_a_few_schemes_makes_nothing_of_their_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables(make_result({"additive": 0.4, "prorubric": 0.5, "raw-and": 0.45}), make_console())
    shown = capsys.readouterr().out
    assert [line.split() for line in shown.splitlines()[-2:]] == [
        ["prorubric", *["+10.0"] * 2],
        ["raw-and", *["+5.0"] * 2],
    ]
    assert "rank correlation" not in shown
    assert "goal" not in shown


def test_a_comparison_prints_the_goals_that_its_rows_can_judge(capsys: pytest.CaptureFixture[str]) -> None:
    print_comparison(make_result({"additive": 0.4, "prorubric": 0.5}), make_console())
    assert [line.split(":")[:2] for line in capsys.readouterr().out.splitlines()[-3:]] == [
        ["met", " c under additive ends below the untrained policy on every seed"],
        ["not met", " most of that fall is there by step 50"],
        ["7 goals cannot be judged on these rows; report.html says why"],
    ]


def test_ranks_are_compared_with_the_paper_over_six_rows_and_more(capsys: pytest.CaptureFixture[str]) -> None:
    ends = {"additive": 0.3, "weighted": 0.31, "raw-and": 0.42, "prorubric": 0.45, "graded": 0.46}
    result = make_result(ends)
    print_tables(result, make_console())
    assert (
        f"rank correlation of c with the paper: {result.correlation_c.rho:.2f} over 6 rows" in capsys.readouterr().out
    )
    print_comparison(result, make_console())
    assert "rank correlation of c with the paper at least 0.8: " in capsys.readouterr().out


def test_mini_writes_its_files_and_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--training", "3", "--held-out", "2", "--demos", "128"]
    assert run(["lab", "mini", *sizes, "--out", str(tmp_path / "mini")]) == 0
    said = capsys.readouterr().out.split()
    assert said[:3] == ["3", "rows", str(tmp_path / "mini/tasks.jsonl")]
    assert said[-3:] == ["prorubric", "train", "arms.yaml"]
    assert (tmp_path / "mini/base.yaml").read_text().count("mini:triage-v1") == 1
