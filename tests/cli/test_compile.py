"""`prorubric compile` as a user runs it."""

import json
from pathlib import Path

import pytest

from prorubric import save_tasks
from tests.cli.program import run_in_terminal, run_program
from tests.compile.generating import make_tasks


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_tasks(tmp_path / "tasks.jsonl", make_tasks(6))
    return tmp_path


def test_rules_compile_a_file_and_say_what_they_are(folder: Path) -> None:
    done = run_program("compile", "tasks.jsonl", "--generator", "rules", "--out", "out.jsonl", cwd=folder)
    assert done.returncode == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "generator: rules (a baseline without a model)"
    assert lines[1] == "6 rows: 6 kept, 0 repaired, 0 excluded, 0 rejected"
    assert lines[-2:] == ["tasks: out.jsonl", "manifest: out.manifest.json"]


def test_json_is_the_result_record_and_nothing_else(folder: Path) -> None:
    done = run_program("compile", "tasks.jsonl", "--generator", "rules", "--out", "out.jsonl", "--json", cwd=folder)
    result = json.loads(done.stdout)
    assert (result["kept"], result["generator"], result["files"]["tasks"]) == (6, "rules", "out.jsonl")


def test_an_excluded_task_makes_the_exit_code_1_and_is_explained(folder: Path) -> None:
    (folder / "script.jsonl").write_text(json.dumps({"reply": "I cannot do that."}) + "\n")
    arguments = ["compile", "tasks.jsonl", "--generator", "scripted:script.jsonl", "--out", "out.jsonl"]
    done = run_program(*arguments, cwd=folder)
    assert done.returncode == 1
    assert "0 kept, 0 repaired, 6 excluded" in done.stdout
    assert "excluded: 6 x no usable reply: no object" in done.stdout
    assert "faults of replies: 18 x no object" in done.stdout
    assert "6 tasks: 6 calls to make; about " in done.stderr


def test_a_dry_run_prints_calls_tokens_and_money_and_writes_nothing(folder: Path) -> None:
    arguments = ["compile", "tasks.jsonl", "--generator", "http://127.0.0.1:9/v1#gpt-4.1", "--out", "out.jsonl"]
    done = run_program(*arguments, "--dry-run", cwd=folder)
    assert done.returncode == 0
    usual, most = (line.split() for line in done.stdout.splitlines()[-2:])
    assert (usual[:2], most[:3]) == (["usual", "6"], ["at", "most", "18"])
    assert usual[-1].startswith("$")
    assert sorted(path.name for path in folder.iterdir()) == ["tasks.jsonl"]


def test_a_dry_run_needs_no_name_for_the_output_and_minds_none_that_is_taken(folder: Path) -> None:
    arguments = ["compile", "tasks.jsonl", "--generator", "http://127.0.0.1:9/v1#gpt-4.1", "--dry-run"]
    unnamed = run_program(*arguments, cwd=folder)
    (folder / "out.jsonl").write_text("")
    taken = run_program(*arguments, "--out", "out.jsonl", cwd=folder)
    assert (unnamed.returncode, unnamed.stderr) == (0, "")
    assert (taken.returncode, taken.stdout) == (0, unnamed.stdout)


def test_an_output_that_exists_is_refused_before_the_tasks_are_read(folder: Path) -> None:
    (folder / "out.jsonl").write_text("")
    arguments = ["compile", "tasks.jsonl", "--generator", "http://127.0.0.1:9/v1#gpt-4.1", "--out", "out.jsonl"]
    done = run_program(*arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "prorubric: out.jsonl: already exists; choose another name or pass --overwrite\n"


def test_two_compiled_files_are_compared(folder: Path) -> None:
    for name in ("a", "b"):
        run_program("compile", "tasks.jsonl", "--generator", "rules", "--out", f"{name}.jsonl", cwd=folder)
    done = run_program("compile", "--compare", "a.jsonl", "b.jsonl", cwd=folder)
    assert done.returncode == 0
    assert "6 tasks compared, 0 only in A, 0 only in B" in done.stdout
    assert "adjusted Rand index 1.000" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the file of tasks is missing"),
        (["tasks.jsonl"], "--out is missing"),
        (["tasks.jsonl", "--out", "out.jsonl"], "--generator is missing; name a model, or rules"),
        (["none.jsonl", "--out", "out.jsonl", "--generator", "rules"], "none.jsonl: no such file"),
        (["tasks.jsonl", "--out", "out.txt", "--generator", "rules"], "does not end in a known format"),
        (["tasks.jsonl", "--out", "o.jsonl", "--generator", "rules", "--transform", "raw"], "raw"),
        (["tasks.jsonl", "--out", "o.jsonl", "--generator", "rules", "--reasks", "9"], "--reasks"),
        (["tasks.jsonl", "--out", "o.jsonl", "--compare", "a.jsonl", "b.jsonl"], "takes two compiled files"),
        (["--compare", "a.jsonl", "b.jsonl"], ".jsonl: no such file"),
    ],
)
def test_what_cannot_run_is_one_line_and_exit_code_2(folder: Path, arguments: list[str], message: str) -> None:
    done = run_program("compile", *arguments, cwd=folder)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert message in done.stderr
    assert sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")) == ["tasks.jsonl"]


def test_a_terminal_gets_a_bar_with_what_was_excluded(folder: Path) -> None:
    (folder / "script.jsonl").write_text(json.dumps({"reply": "no"}) + "\n")
    shown = run_in_terminal(
        *("compile", "tasks.jsonl", "--generator", "scripted:script.jsonl", "--out", "out.jsonl"),
        cwd=folder,
        columns=140,
    )
    assert "compiling" in shown
    assert "6 excluded, 0 calls failed" in shown
