"""`prorubric convert`: what it prints and how it ends. What it writes is tested with `convert_tasks`."""

import json
from pathlib import Path

import pytest

from prorubric import load_tasks
from prorubric.cli.app import run
from tests.cli.program import run_program, write_tasks

TASK = ("a", [("Tells her to rest", 2.0), ("Explains the dose", 1.0)])


def test_it_says_what_became_of_every_row_and_where_the_files_are(tmp_path: Path) -> None:
    write_tasks(tmp_path / "in.jsonl", TASK)
    done = run_program("convert", "in.jsonl", "out.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("1 row read, 1 task written, 0 held out\ntasks: out.jsonl\nmanifest: out.manifest.json\n")


def test_the_output_holds_the_tasks_of_the_input(tmp_path: Path) -> None:
    path, out = write_tasks(tmp_path / "in.jsonl", TASK), tmp_path / "out.parquet"
    assert run(["convert", str(path), str(out)]) == 0
    assert list(load_tasks(out)) == list(load_tasks(path))


def test_json_prints_one_document_and_nothing_else(tmp_path: Path) -> None:
    write_tasks(tmp_path / "in.jsonl", TASK)
    done = run_program("convert", "in.jsonl", "out.jsonl", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    assert json.loads(done.stdout)["files"] == {"tasks": "out.jsonl", "manifest": "out.manifest.json"}


def test_rejects_and_what_is_left_out_are_counted_by_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_tasks(tmp_path / "in.jsonl", TASK)
    write_tasks(tmp_path / "long.jsonl", ("b", [(f"Explains {number}", 1.0) for number in range(5)]))
    path.write_text(path.read_text() + (tmp_path / "long.jsonl").read_text() + "[1]\n")
    assert run(["convert", str(path), str(tmp_path / "out.jsonl"), "--prepare"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 rows read, 1 task written, 0 held out"
    assert lines[1:3] == ["  1 rejected: not a JSON object", "  1 left out: fewer than 5 criteria"]


@pytest.mark.parametrize("stem", ["a[b]", "a[red]b", ":x:", "x" * 200])
def test_names_are_printed_as_they_are_and_on_one_line(
    stem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = write_tasks(tmp_path / "in.jsonl", TASK), tmp_path / f"{stem}.jsonl"
    assert run(["convert", str(path), str(out)]) == 0
    assert f"\ntasks: {out}\n" in capsys.readouterr().out


def test_a_reason_is_counted_by_kind_and_listed_with_its_value_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_tasks(tmp_path / "in.jsonl", TASK)
    row = json.loads(path.read_text()) | {"[red]x[/]": 1}
    path.write_text(path.read_text() + json.dumps(row) + "\n")
    assert run(["convert", str(path), str(tmp_path / "out.jsonl")]) == 0
    assert "\n  1 rejected: unknown key\n" in capsys.readouterr().out
    assert "unknown key ('[red]x[/]')" in json.loads((tmp_path / "out.rejects.jsonl").read_text())["reason"]


def test_an_output_that_exists_is_left_alone_in_one_line(tmp_path: Path) -> None:
    write_tasks(tmp_path / "in.jsonl", TASK)
    (tmp_path / "out.jsonl").write_text("mine")
    done = run_program("convert", "in.jsonl", "out.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert (tmp_path / "out.jsonl").read_text() == "mine"


def test_a_suggestion_without_criteria_is_a_skeleton_with_what_the_rows_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"question": "Why is it so?", "answer": "So."}) + "\n")
    monkeypatch.chdir(tmp_path)
    assert run(["convert", "in.jsonl", "map.yaml", "--suggest"]) == 1
    assert (tmp_path / "map.yaml").read_text() == (
        "# no field looks like a list of criteria; the rows contain:\n"
        "#   question: text, about 4 words, 1 different\n"
        "#   answer: text, about 1 word, 1 different\n"
        "# write the path of the criteria here, and of their parts:\n"
        "# criteria:\n# text:\n# weight:\n"
        "prompt: question\n"
    )
    assert capsys.readouterr().out.endswith("complete it, then: prorubric convert in.jsonl OUT --map MAPPING.yaml\n")
    assert run(["convert", "in.jsonl", "out.jsonl", "--map", "map.yaml"]) == 2
    assert "a mapping needs criteria" in capsys.readouterr().err


def test_a_file_whose_rows_are_all_rejected_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    write_tasks(tmp_path / "in.jsonl", ("a", [("Tells her to rest", 0.0)]))
    done = run_program("convert", "in.jsonl", "out.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(
        "prorubric: in.jsonl: no task to write (rows: 1 read, 1 rejected, 0 left out); the first"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["gone.jsonl", "out.jsonl"], "prorubric: gone.jsonl: no such file; check the path\n"),
        (["in.jsonl", "out.txt"], "prorubric: out.txt: the name does not end in a known format; allowed: .jsonl"),
        (["in.jsonl", "in.jsonl"], "prorubric: in.jsonl: the output would replace the input; choose another name\n"),
        (["in.jsonl", "out.jsonl", "--held-out", "-1"], "prorubric convert: --held-out: Input should be greater than"),
        (["in.jsonl", "out.jsonl", "--prepare", "--min-criteria", "0"], "prorubric: criteria from 0 to 60: "),
    ],
)
def test_what_cannot_run_is_one_line_and_leaves_nothing_behind(
    arguments: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tasks(tmp_path / "in.jsonl", TASK)
    monkeypatch.chdir(tmp_path)
    assert run(["convert", *arguments]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n"), printed.err[: len(line)]) == ("", 1, line)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
