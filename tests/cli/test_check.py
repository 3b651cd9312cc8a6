"""`prorubric check`: its three forms, and that the words of a file stay words in each of them."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from prorubric.cli.app import run
from prorubric.cli.check_output import MARKER, render_annotations, render_comment
from prorubric.verbs.check import CheckConfig, CheckResult, check_files
from tests.cli.program import run_program, write_tasks

CLEAN = [("Tells her to rest", 4.0), ("Explains the dose", 2.0), ("Asks about her age", 2.0)]
PADDED = ("flu", [*CLEAN, ("Mentions tea", 4.0), ("Mentions soup", 4.0)])
# What would be a mention, a link, HTML, the end of a cell, of a code span and of a workflow command.
HOSTILE = "Greets `@team` | [x](http://evil) <img src=x>\n::error::100% -->, including"


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_tasks(tmp_path / "a.jsonl", ("flu", CLEAN))
    for command in ("init --quiet", "add .", "-c user.name=a -c user.email=a@example.com commit --quiet -m a"):
        subprocess.run(["git", *command.split()], check=True)


def test_the_terminal_shows_what_rose_and_ends_with_a_verdict(tmp_path: Path) -> None:
    write_tasks(tmp_path / "a.jsonl", PADDED)
    done = run_program("check", "a.jsonl", "--base", "HEAD", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert re.fullmatch("compared with [0-9a-f]{10}", lines[0])
    assert lines[1:4] == [
        "a.jsonl 1 task: 1 changed",
        "more hackable compensation with dimensions weight on naming",
        "flu 0.50 → 0.75 ▲ – 0.00 → 0.50 ▲",
    ]
    assert lines[-1] == "passed: 1 task more hackable, 0 new errors, 0 new warnings, 0 new notes, 0 gone"


@pytest.mark.parametrize(("options", "code"), [([], 1), (["--fail-on", "never"], 0)])
def test_the_exit_code_says_whether_it_passed(options: list[str], code: int, tmp_path: Path) -> None:
    write_tasks(tmp_path / "a.jsonl", ("flu", [*CLEAN, ("Clarity", 1.0)]))
    assert run(["check", *options, "--", "a.jsonl"]) == code


def test_a_renamed_and_an_unreadable_file_say_so(tmp_path: Path) -> None:
    subprocess.run(["git", "mv", "a.jsonl", "b`|.jsonl"], check=True, cwd=tmp_path)
    (tmp_path / "c.jsonl").write_text("{")
    done = run_program("check", "*.jsonl", "--base", "HEAD", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[1:3] == ["b`|.jsonl (was a.jsonl)  1 task: none changed", "c.jsonl  0 tasks: none could be read"]
    comment = render_comment(check_files(CheckConfig(("*.jsonl",), base="HEAD")))
    assert "#### ``b`|.jsonl`` (was `a.jsonl`)\n" in comment


def test_json_is_the_result_record(tmp_path: Path) -> None:
    write_tasks(tmp_path / "a.jsonl", PADDED)
    done = run_program("check", "a.jsonl", "--base", "HEAD", "--json", cwd=tmp_path)
    assert CheckResult(**json.loads(done.stdout)) == check_files(CheckConfig(("a.jsonl",), base="HEAD"))


def test_the_comment_has_its_marker_a_table_and_what_the_figures_are(tmp_path: Path) -> None:
    write_tasks(tmp_path / "a.jsonl", PADDED)
    run_program("check", "a.jsonl", "--base", "HEAD", "--comment", "comment.md", cwd=tmp_path)
    done = run_program("check", "a.jsonl", "--base", "HEAD", "--output-format", "markdown", cwd=tmp_path)
    assert (tmp_path / "comment.md").read_text() == done.stdout
    lines = done.stdout.splitlines()
    assert lines[0] == MARKER
    assert lines[1].startswith("### Rubric check passed: 1 task more hackable, ")
    assert "| `flu` | changed | 0.50 → 0.75 ▲ | – | 0.00 → 0.50 ▲ |" in lines
    assert "<sub>compensation: the share of the sum that an answer can still reach without the heaviest" in done.stdout


def test_the_comment_can_be_in_a_new_folder(tmp_path: Path) -> None:
    assert run(["check", "a.jsonl", "--comment", "new/comment.md"]) == 0
    assert (tmp_path / "new" / "comment.md").read_text(encoding="utf-8").startswith(MARKER)


def test_annotations_name_file_and_line(tmp_path: Path) -> None:
    write_tasks(tmp_path / "a.jsonl", ("cold", CLEAN), PADDED)
    done = run_program("check", "a.jsonl", "--base", "HEAD", "--output-format", "github", cwd=tmp_path)
    rises = "compensation +0.25, weight on naming +0.50"
    assert done.stdout == f"::warning file=a.jsonl,line=2,title=prorubric%3A more hackable::flu: {rises}\n"


def test_a_row_that_cannot_be_read_is_annotated_at_its_line(tmp_path: Path) -> None:
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write("{\n")
    done = run_program("check", "a.jsonl", "--output-format", "github", cwd=tmp_path)
    assert done.stdout.startswith("::error file=a.jsonl,line=2,title=prorubric%3A unreadable row::a.jsonl:2: not JSON")


def test_the_words_of_a_file_cannot_become_markup_or_commands(tmp_path: Path) -> None:
    write_tasks(tmp_path / "a.jsonl", (HOSTILE, [*CLEAN, (HOSTILE, 1.0)]))
    result = check_files(CheckConfig(("a.jsonl",), base="HEAD"))
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", render_comment(result).replace(MARKER, ""))
    assert [word for word in ("@team", "](", "<img", "::error", "-->") if word in outside] == []
    rows = [line for line in render_comment(result).splitlines() if line.startswith("| `")]
    assert len(rows) == 1
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 6 for row in rows)
    commands = render_annotations(result).splitlines()
    assert [command.partition(" ")[0] for command in commands] == ["::error", "::warning"]
    assert "%0A" in commands[0]
    assert "100%25" in commands[0]


def test_a_comment_is_never_longer_than_github_takes(tmp_path: Path) -> None:
    names = [f"{number}{'x' * 900}" for number in range(100)]
    for number in range(6):
        write_tasks(tmp_path / f"{number}.jsonl", *((name, [*CLEAN, ("Clarity", 1.0)]) for name in names))
    comment = render_comment(check_files(CheckConfig(("[0-9].jsonl",))))
    assert len(comment) < 65_536
    assert comment.endswith("… the comment is cut here; the log has the rest\n")
