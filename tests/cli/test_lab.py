"""`prorubric lab`: what it prints and how it ends. Training itself is tested in tests/lab, with torch."""

import json
import re
from pathlib import Path

import pytest

from prorubric.cli.app import run
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


def test_worlds_are_set_beside_the_paper(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "worlds", str(folder)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[1].split()[0] == "triage-v1"
    assert shown[1].split()[2:] == ["0.32", "-20.0", "-28.9", "+10.0", "+13.2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--scheme", "sum"], "the lab knows no scheme 'sum'; known: additive"),
        (["run", "--scheme", ".x:f"], ".x:f cannot be imported: TypeError: "),
        (
            ["run", "--scheme", "no_such_module:f"],
            "No module named 'no_such_module'; give a scheme of your own as pkg.",
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
    install = "install it with: pip install 'prorubric[lab]'"
    assert said == f"prorubric: training in the lab needs the optional part [lab]; {install}\n"
    assert not (tmp_path / "lab").exists()
