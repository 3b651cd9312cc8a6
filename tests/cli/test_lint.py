"""`prorubric lint`: what it prints, how it ends, and that the words of a file stay words."""

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from prorubric import LintConfig, lint_tasks
from prorubric.cli.app import run
from prorubric.datasets.samples import SAMPLE_TASKS
from prorubric.verbs.lint import LintResult
from tests.cli.program import PROGRAM, make_environment, run_in_terminal, run_program, write_tasks

CLEAN = ("clean", [("Tells her to rest", 2.0), ("Explains the dose", 1.0)])
WARNED = ("warned", [("Mentions rest", 3.0), ("Mentions rest", 3.0), ("Sells a cure", -2.0)])
WRONG = ("wrong", [("Tells her to rest", 2.0), ("Clarity", 1.0)])

# `python -m prorubric`, but a shell that runs the tests in the background has told them, and so us, to ignore Ctrl-C.
INTERRUPTIBLE = (
    "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "runpy.run_module('prorubric', run_name='__main__')"
)


class TestExitCode:
    @pytest.mark.parametrize(
        ("task", "options", "code"),
        [
            (CLEAN, [], 0),
            (WARNED, [], 0),
            (WARNED, ["--fail-on", "warning"], 1),
            (WRONG, [], 1),
            (WRONG, ["--fail-on", "never"], 0),
            (CLEAN, ["--max-compensation", "0.3"], 1),
            (CLEAN, ["--max-compensation", "0.4"], 0),
        ],
    )
    def test_it_is_1_where_something_failed(
        self, task: tuple[str, list[tuple[str, float]]], options: list[str], code: int, tmp_path: Path
    ) -> None:
        assert run(["lint", str(write_tasks(tmp_path / "a.jsonl", task)), *options]) == code

    def test_it_is_1_where_a_row_cannot_be_read(self, tmp_path: Path) -> None:
        write_tasks(tmp_path / "a.jsonl", CLEAN)
        with (tmp_path / "a.jsonl").open("a") as file:
            file.write("{\n")
        done = run_program("lint", "a.jsonl", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (1, "")
        assert re.search(r"^rejected  a\.jsonl:2: not JSON ", done.stdout, re.MULTILINE)

    def test_it_is_2_where_strict_meets_a_row_that_cannot_be_read(self, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_text("{\n" + write_tasks(tmp_path / "b.jsonl", CLEAN).read_text())
        done = run_program("lint", "a.jsonl", "--strict", cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith("prorubric: a.jsonl:1: not JSON ")


class TestJson:
    def test_it_prints_one_document_that_is_the_result_record(self, tmp_path: Path) -> None:
        write_tasks(tmp_path / "a.jsonl", CLEAN, WARNED, WRONG)
        done = run_program("lint", "a.jsonl", "--json", cwd=tmp_path)
        assert (done.returncode, done.stderr, done.stdout.count("\n")) == (1, "", 1)
        assert LintResult(**json.loads(done.stdout)) == lint_tasks(LintConfig(str(tmp_path / "a.jsonl")))

    def test_text_that_utf_8_cannot_hold_is_escaped(self, tmp_path: Path) -> None:
        write_tasks(tmp_path / "a.jsonl", ("a", [("Says \ud83d and ends, including", 1.0)]))
        done = run_program("lint", "a.jsonl", "--json", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (1, "")
        assert "\\ud83d" in json.loads(done.stdout)["worst"][0]["findings"][0]["message"]


def show(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    run(["lint", str(path)])
    return capsys.readouterr().out


def test_tasks_that_are_not_shown_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_tasks(tmp_path / "a.jsonl", *((f"task {number}", WRONG[1]) for number in range(7)), CLEAN)
    assert "\n\n2 more tasks with findings; --show 7 shows all\n\n" in show(path, capsys)
    run(["lint", str(path), "--show", "7"])
    assert "more task" not in capsys.readouterr().out


class TestWords:
    """Brackets and colons mean something to the library that prints; here they are the user's."""

    @pytest.mark.parametrize("name", ["a[b].jsonl", "a[red].jsonl", "a[bold]b[∕bold].jsonl", ":x:.jsonl"])
    def test_the_name_of_the_file_is_printed_as_it_is(
        self, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = write_tasks(tmp_path / name, CLEAN)
        assert show(path, capsys).startswith(f"{path}: 1 task, 2 criteria, 0 of them negative\n")

    def test_a_name_that_looks_like_mark_up_and_does_not_exist_is_printed_as_it_is(self, tmp_path: Path) -> None:
        done = run_program("lint", "a[b][/red].jsonl", cwd=tmp_path)
        assert done.stderr == "prorubric: a[b][/red].jsonl: no such file; check the path\n"

    @pytest.mark.parametrize("text", ["[red]Mentions[/red] x,", "Ends [/] in,", ":smile: :x: and", "[link=http://a]b,"])
    def test_the_text_of_a_criterion_is_printed_as_it_is(
        self, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = write_tasks(tmp_path / "a.jsonl", ("a", [(text, 1.0)]))
        assert f"criterion 1 (+1, '{text}') " in show(path, capsys)

    @pytest.mark.parametrize("name", ["[red]x[/]", "back\\\\", "x\\[bold]", ":heart:"])
    def test_the_id_of_a_task_is_printed_as_it_is(
        self, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = write_tasks(tmp_path / "a.jsonl", (name, WRONG[1]))
        assert f"\n{name}  2 criteria\n" in show(path, capsys)

    def test_what_is_rejected_is_printed_as_it_is(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = write_tasks(tmp_path / "a.jsonl", CLEAN)
        path.write_text(path.read_text() + '"[red]oops[/red] :x:"\n')
        assert "not a JSON object ('[red]oops[/red] :x:')" in show(path, capsys)

    @pytest.mark.parametrize("where", ["pipe", "terminal"])
    def test_control_codes_of_a_file_never_reach_the_terminal(self, where: str, tmp_path: Path) -> None:
        write_tasks(tmp_path / "a.jsonl", ("\x1b]0;owned\x07\r\n", [("Says \x1b[2J hello and", 1.0)]))
        if where == "pipe":
            shown = run_program("lint", "a.jsonl", cwd=tmp_path).stdout
        else:
            shown = run_in_terminal("lint", "a.jsonl", cwd=tmp_path, NO_COLOR="1")
        assert "\x1b" not in shown
        assert "\\x1b]0;owned\\x07\\r\\n  1 criterion" in shown


class TestLayout:
    def test_a_repeated_id_is_named_as_such_and_not_as_an_unreadable_row(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        lines = show(write_tasks(tmp_path / "a.jsonl", CLEAN, WARNED, WARNED), capsys).splitlines()
        assert lines[0].endswith("a.jsonl: 2 tasks, 5 criteria, 1 of them negative")
        assert lines[2].rstrip() == (
            "duplicate id  error         1  an earlier task has the id; only the first is read"
        )
        assert not any("unreadable" in line for line in lines)
        line = f"{tmp_path / 'a.jsonl'}:3: the id is already taken (got 'warned'); give each task its own"
        assert f"rejected  {line}" in lines

    def test_a_file_of_rejects_is_shown_a_row_that_works(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "a.jsonl").write_text('{"prompt": "?", "rubric": []}\n')
        assert '\na row that works: {"prompt": "How do I boil an egg?", ' in show(tmp_path / "a.jsonl", capsys)

    def test_in_a_pipe_every_finding_is_one_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        long = "Explains the first thing and the second thing and then the third thing and all of the rest of it, and"
        path = write_tasks(tmp_path / "a.jsonl", ("a", [(long, 1.0), (long, 2.0)]))
        whole = re.compile(r"^  other-points +criteria 1 and 2 say .* and weigh \+1 and \+2; keep one$", re.MULTILINE)
        assert whole.search(show(path, capsys))

    @pytest.mark.parametrize("columns", [80, 120])
    def test_in_a_terminal_no_line_is_wider_than_it(self, columns: int, tmp_path: Path) -> None:
        write_tasks(
            tmp_path / "a.jsonl", CLEAN, WARNED, WRONG, ("n" * 30, [("Should ask, including " * 9 + "and", -1.0)])
        )
        shown = run_in_terminal("lint", "a.jsonl", cwd=tmp_path, columns=columns, NO_COLOR="1")
        assert max(map(len, shown.splitlines())) <= columns

    def test_the_whole_output_in_a_terminal_of_80_columns(self, tmp_path: Path) -> None:
        write_tasks(tmp_path / "a.jsonl", CLEAN, WARNED)
        shown = run_in_terminal("lint", "a.jsonl", cwd=tmp_path, NO_COLOR="1")
        assert [line.rstrip() for line in shown.splitlines()] == [
            "a.jsonl: 2 tasks, 5 criteria, 1 of them negative",
            "check      severity  found  what it means",
            "duplicate  warning       1  the same criterion twice",
            "",
            "kind of criterion                        found  share",
            "presence-style: met by naming something      2  40.0%",
            "formatting-only: about form                  0   0.0%",
            "substantive: all others                      3  60.0%",
            "",
            "figure, by task                                         mean      range  tasks",
            "weight on presence-style criteria                       0.38  0.00–0.75      2",
            "compensation: reachable without the heaviest criterion  0.42  0.33–0.50      2",
            "",
            "warned  3 criteria",
            "  duplicate          criteria 1 and 2 say the same ('Mentions rest'): it counts",
            "                     twice (+3 and +3); keep one",
            "",
            "passed: 0 errors, 1 warning, 0 notes",
        ]

    def test_a_clean_file_says_so(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["lint", str(write_tasks(tmp_path / "a.jsonl", CLEAN))]) == 0
        assert "\nnothing found\n" in capsys.readouterr().out

    def test_a_file_without_tasks_has_no_tables(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["lint", str(write_tasks(tmp_path / "a.jsonl")), "--format", "tasks"]) == 1
        counts = "0 tasks, 0 criteria, 0 of them negative\nnothing found\n\nfailed: 0 errors, 0 warnings, 0 notes\n"
        assert capsys.readouterr().out == f"{tmp_path / 'a.jsonl'}: {counts}"

    def test_tasks_above_the_limit_are_named_in_the_last_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run(["lint", str(write_tasks(tmp_path / "a.jsonl", CLEAN)), "--max-compensation", "0.1"])
        last = capsys.readouterr().out.splitlines()[-1]
        assert last == "failed: 0 errors, 0 warnings, 0 notes, 1 task above the limit on compensation"

    def test_the_sample_pack_has_notes_and_nothing_worse(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["lint", str(SAMPLE_TASKS), "--fail-on", "warning"]) == 0
        assert capsys.readouterr().out.endswith("passed: 0 errors, 0 warnings, 6 notes\n")


class TestOut:
    def test_out_writes_one_row_for_every_task_and_still_prints(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path, out = write_tasks(tmp_path / "a.jsonl", CLEAN, WRONG), tmp_path / "out.jsonl"
        assert run(["lint", str(path), "--out", str(out)]) == 1
        assert [json.loads(line)["task_id"] for line in out.read_text().splitlines()] == ["clean", "wrong"]
        assert capsys.readouterr().out.startswith(f"{path}: 2 tasks")

    def test_out_never_replaces_the_input(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = write_tasks(tmp_path / "a.jsonl", CLEAN)
        assert run(["lint", str(path), "--out", str(path)]) == 2
        assert "the findings would replace the tasks" in capsys.readouterr().err

    def test_ctrl_c_is_exit_code_130_one_line_and_no_half_written_file(self, tmp_path: Path) -> None:
        line = write_tasks(tmp_path / "one.jsonl", WARNED).read_text().removeprefix(f'{{"id": "{WARNED[0]}"')
        (tmp_path / "large.jsonl").write_text("".join(f'{{"id": "{number}"{line}' for number in range(300_000)))
        with subprocess.Popen(
            [PROGRAM[0], "-c", INTERRUPTIBLE, "lint", "large.jsonl", "--out", "out.jsonl"],
            cwd=tmp_path,
            env=make_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            while not any(path.stat().st_size for path in tmp_path.glob(".out.jsonl.partial-*")):
                assert process.poll() is None, "the program ended before it wrote anything"
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            printed, said = process.communicate()
        assert (process.returncode, printed, said) == (130, "", "prorubric: stopped\n")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["large.jsonl", "one.jsonl"]


def test_the_criteria_that_a_run_shows_to_be_worst_are_printed_and_json_has_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["demo", "--out", str(tmp_path / "demo"), "--json"]) == 0
    capsys.readouterr()
    assert run(["lint", str(SAMPLE_TASKS), "--with", str(tmp_path / "demo"), "--show", "2"]) == 0
    shown = capsys.readouterr().out
    assert "48 responses to 12 tasks; judge: none: verdicts given by hand\n" in shown
    assert "264 criteria: 20 always met, 1 never met, 21 moved no advantage, " in shown
    assert len(re.findall(r"^\S+ \d+: .+ [+-]\d+ +\d+%", shown, re.MULTILINE)) == 2
    assert run(["lint", str(SAMPLE_TASKS), "--with", str(tmp_path / "demo"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["items"]["criteria"]) == 264
