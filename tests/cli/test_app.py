"""The program as a whole: exit codes, streams, help, one line for whatever stops it."""

import re
import signal
import subprocess
import tomllib
from pathlib import Path

import pytest

import prorubric
from prorubric.cli.app import run
from prorubric.cli.output import make_console
from tests.cli.program import PROGRAM, make_environment, run_in_terminal, run_program, write_tasks
from tests.thorough import parametrize_sparingly

CLEAN = ("clean", [("Tells her to rest", 2.0), ("Explains the dose", 1.0)])
COMMANDS = (
    "commands: lint, check, convert, compile, judge, score, audit, "
    "calibrate, serve, train, evaluate, study, report, lab, view, schema, demo"
)
UNKNOWN = "prorubric judge: unknown option"
WRONG = ("wrong", [("Tells her to rest", 2.0), ("Clarity", 1.0)])


# A program that stops for long before it loads a module, and says so. A shell that runs the tests in the background
# has told them, and so us, to ignore Ctrl-C: here it is as in the foreground.
SLOW_IMPORT = """import _signal; _signal.signal(_signal.SIGINT, _signal.default_int_handler)
import sys, time
class Slow:
    def find_spec(self, name, *rest):
        if name == "{slow}":
            sys.meta_path.remove(self)
            print("loading", flush=True)
            {wait}
for module in [m for m in sys.modules if m == "{slow}"]:
    del sys.modules[module]
sys.meta_path.insert(0, Slow())
"""
WAIT = "time.sleep(60)"
# Some modules catch everything while they load, and some callbacks cannot pass an exception on.
SWALLOW = """
            try:
                time.sleep(60)
            except BaseException:
                pass"""
MODULE = "import runpy; runpy.run_module('prorubric', run_name='__main__')"
SCRIPT = "from prorubric.__main__ import main; main()"


class TestHelp:
    def test_version_prints_the_version_and_nothing_else(self, tmp_path: Path) -> None:
        done = run_program("--version", cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{prorubric.__version__}\n", "")

    def test_help_names_every_verb(self, tmp_path: Path) -> None:
        done = run_program("--help", cwd=tmp_path)
        verbs = re.findall(r"^│ ([a-z]+) ", done.stdout, re.MULTILINE)
        assert (done.returncode, done.stderr) == (0, "")
        assert {"convert", "demo", "lint"} <= set(verbs)

    def test_no_argument_at_all_prints_the_help(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run([]) == 0
        assert capsys.readouterr().out.startswith("Usage: prorubric COMMAND")

    @pytest.mark.parametrize("verb", ["lint", "convert", "demo"])
    def test_every_verb_explains_itself(self, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert run([verb, "--help"]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith(f"Usage: prorubric {verb}")
        assert "--json" in shown

    def test_help_does_without_the_heavy_imports(self, tmp_path: Path) -> None:
        code = (
            "import sys; from prorubric.cli.app import run; run(['--help']); "
            "print([name for name in ('numpy', 'pyarrow', 'datasets') if name in sys.modules], file=sys.stderr)"
        )
        done = subprocess.run([PROGRAM[0], "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
        assert done.stderr == "[]\n"


class TestMisuse:
    @pytest.mark.parametrize(
        ("arguments", "line"),
        [
            (["jugde"], f"prorubric: unknown command 'jugde'; did you mean judge? {COMMANDS}; see prorubric --help\n"),
            (["--nope"], f"prorubric: unknown option '--nope'; {COMMANDS}; see prorubric --help\n"),
            (["lab", "rnu"], "prorubric lab: unknown command 'rnu'; did you mean run? commands: run, compare, "),
            (["lint"], "prorubric lint: --tasks requires an argument; see prorubric lint --help"),
            (["compile", "--compare", "a"], "prorubric compile: --compare requires 2 arguments; see prorubric compile"),
            (
                ["demo", "--concurrency", "0"],
                "prorubric demo: --concurrency: Input should be greater than or equal to 1 (got",
            ),
            (["lint", "a.jsonl", "b.jsonl"], "prorubric lint: unexpected argument: 'b.jsonl'; see "),
            (["lint", "a.jsonl", "--shwo", "3"], "prorubric lint: unknown option --shwo; did you mean --show? see "),
            (
                ["judge", "a", "b", "--judeg", "lexical"],
                f"{UNKNOWN} --judeg; did you mean --judge? see prorubric judge",
            ),
            (["judge", "a", "b", "--judeg=lexical"], f"{UNKNOWN} --judeg; did you mean --judge? see prorubric judge"),
            (["judge", "a", "b", "--zzzz"], f"{UNKNOWN} --zzzz; see prorubric judge --help\n"),
            (["judge", "a", "b"], "prorubric judge: --judge is missing; see prorubric judge --help\n"),
            (
                ["serve", "--tsks", "x"],
                "prorubric serve: unknown option --tsks; did you mean --tasks? see prorubric serve",
            ),
            (["lint", "a.jsonl", "--show", "-1"], "prorubric lint: --show: Input should be greater than or equal to 0"),
            (["lint", "a.jsonl", "--show", "few"], "prorubric lint: --show: Input should be a valid integer"),
            (["lint", "a.jsonl", "--fail-on", "info"], "prorubric lint: --fail-on: Input should be 'error', 'warning'"),
            (["lint", "a.jsonl", "--max-compensation", "nan"], "prorubric lint: --max-compensation: Input should be"),
            (["lint", "a.jsonl", "--format", "csv"], "prorubric lint: --format: Input should be 'auto', 'tasks'"),
            (["convert", "a.jsonl"], "prorubric: no output is named; give a file such as tasks.jsonl, o"),
            (["demo", "here"], "prorubric demo: unexpected argument: 'here'; see prorubric demo --help"),
        ],
    )
    def test_a_command_line_that_is_not_allowed_is_one_line_and_exit_code_2(
        self, arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(arguments) == 2
        printed = capsys.readouterr()
        assert (printed.out, printed.err.count("\n"), printed.err[: len(line)]) == ("", 1, line)

    @pytest.mark.parametrize(
        "arguments", [["lnit"], ["lint", "a.jsonl", "--shwo"], ["lint", "a.jsonl", "--show", "few"]]
    )
    def test_the_program_itself_ends_so_without_a_traceback(self, arguments: list[str], tmp_path: Path) -> None:
        done = run_program(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith("prorubric")

    @pytest.mark.parametrize("as_json", [[], ["--json"]])
    def test_a_missing_file_is_one_line_with_and_without_json(self, as_json: list[str], tmp_path: Path) -> None:
        done = run_program("lint", "gone.jsonl", *as_json, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "prorubric: gone.jsonl: no such file; check the path\n"

    def test_a_folder_that_is_not_a_dataset_is_one_line(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        done = run_program("lint", "folder", cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith("prorubric: folder: the dataset cannot be opened (")

    @pytest.mark.parametrize(
        ("name", "content", "reason"),
        [
            ("tasks.xlsx", b"a,b\n", "the name does not end in a known format; allowed: .jsonl"),
            ("tasks.jsonl", b"\x00\xff\n", "no readable row; tasks.jsonl:1: not UTF-8 (byte 0xff in"),
            ("tasks.jsonl", b"", 'the file is empty; a row that works: {"prompt": "How do I boil an egg?"'),
            ("tasks.parquet", b"PAR1", "not readable as parquet after row 0"),
            ("tasks.jsonl.gz", b"\x1f\x8b", "cannot be read to its end"),
        ],
    )
    def test_a_file_that_cannot_be_read_is_one_line(
        self,
        name: str,
        content: bytes,
        reason: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        (tmp_path / name).write_bytes(content)
        monkeypatch.chdir(tmp_path)
        assert run(["lint", name]) == 2
        printed = capsys.readouterr()
        assert (printed.out, printed.err.count("\n")) == ("", 1)
        assert printed.err.startswith(f"prorubric: {name}: {reason}")

    def test_a_place_where_nothing_can_be_written_is_one_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write_tasks(tmp_path / "a.jsonl", CLEAN)
        assert run(["lint", str(tmp_path / "a.jsonl"), "--out", str(tmp_path / "a.jsonl" / "out.jsonl")]) == 2
        printed = capsys.readouterr()
        assert (printed.out, printed.err) == ("", f"prorubric: {tmp_path / 'a.jsonl'}: File exists\n")

    def test_a_folder_in_the_place_of_the_output_is_named_as_the_user_wrote_it(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "out.jsonl").mkdir()
        assert run(["lint", str(write_tasks(tmp_path / "a.jsonl", CLEAN)), "--out", str(tmp_path / "out.jsonl")]) == 2
        assert capsys.readouterr().err == f"prorubric: {tmp_path / 'out.jsonl'}: Is a directory\n"

    def test_an_error_that_names_a_file_with_a_line_break_is_still_one_line(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["lint", "no\nsuch\x1b[31m.jsonl"]) == 2
        assert capsys.readouterr().err == "prorubric: no such\\x1b[31m.jsonl: no such file; check the path\n"

    @pytest.mark.parametrize("error", [ZeroDivisionError, BrokenPipeError])
    def test_a_bug_and_a_closed_pipe_are_not_taken_for_misuse(
        self, error: type[Exception], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from prorubric.cli import app

        def fail(*arguments: object, **options: object) -> int:
            raise error

        monkeypatch.setattr(app, "app", fail)
        with pytest.raises(error):
            run(["lint", "a.jsonl"])


class TestPipes:
    @pytest.mark.parametrize("options", [["--show", "1000"], ["--json", "--show", "1000"]])
    def test_a_reader_that_goes_away_sees_no_traceback_and_the_exit_code_stays(
        self, options: list[str], tmp_path: Path
    ) -> None:
        write_tasks(tmp_path / "a.jsonl", *[(f"{number}", WRONG[1]) for number in range(500)])
        with subprocess.Popen(
            [*PROGRAM, "lint", "a.jsonl", *options],
            cwd=tmp_path,
            env=make_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            complaint = process.stderr.read()
        assert (process.returncode, complaint) == (1, b"")

    @parametrize_sparingly("arguments", [["--help"], ["demo"], ["--version"]], 2)
    def test_a_closed_pipe_is_not_an_error(self, arguments: list[str], tmp_path: Path) -> None:
        with subprocess.Popen(
            [*PROGRAM, *arguments],
            cwd=tmp_path,
            env=make_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            complaint = process.stderr.read()
        assert (process.returncode, complaint) == (0, b"")

    def test_a_stream_that_cannot_show_a_character_gets_its_code(self, tmp_path: Path) -> None:
        write_tasks(tmp_path / "a.jsonl", ("größe", WRONG[1]))
        done = run_program("lint", "a.jsonl", cwd=tmp_path, PYTHONIOENCODING="ascii")
        assert (done.returncode, done.stderr) == (1, "")
        assert "gr\\xf6\\xdfe  2 criteria\n" in done.stdout


class TestClosedStreams:
    """As with `>&-` in a shell, which Python shows as no stream at all."""

    @parametrize_sparingly(
        ("arguments", "code", "closed"),
        [
            (arguments, code, closed)
            for arguments, code in ((["--help"], 0), (["lint", "a.jsonl"], 1), (["lnit"], 2))
            for closed in ([1], [2], [1, 2], [0, 1, 2])
        ],
        3,
    )
    def test_a_stream_that_is_closed_is_written_to_in_vain(
        self, closed: list[int], arguments: list[str], code: int, tmp_path: Path
    ) -> None:
        write_tasks(tmp_path / "a.jsonl", WRONG)
        shut = " ".join(f"{number}>&-" for number in closed)
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {shut}', "sh", *PROGRAM, *arguments],
            cwd=tmp_path,
            env=make_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code
        assert "Traceback" not in done.stderr
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl"]


class TestCtrlC:
    """While modules load: slowed down, so that the signal comes in the middle of it, not before and not after."""

    @parametrize_sparingly(
        ("slow", "wait", "started"),
        [
            (slow, wait, started)
            for started in (MODULE, SCRIPT)
            for slow, wait in (
                ("signal", WAIT),
                ("cyclopts", WAIT),
                ("pydantic", SWALLOW),
                ("prorubric.cli.lint", WAIT),
                ("prorubric.rubric.lint", SWALLOW),
            )
        ],
        2,
    )
    def test_it_is_the_same_line_and_exit_code_as_later(
        self, started: str, slow: str, wait: str, tmp_path: Path
    ) -> None:
        code = SLOW_IMPORT.format(slow=slow, wait=wait) + started
        with subprocess.Popen(
            [PROGRAM[0], "-c", code, "lint", "a.jsonl"],
            cwd=tmp_path,
            env=make_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "loading\n"
            process.send_signal(signal.SIGINT)
            printed, said = process.communicate()
        assert (process.returncode, printed, said) == (130, "", "prorubric: stopped\n")

    def test_whoever_is_told_to_ignore_it_ignores_it_while_loading_too(self, tmp_path: Path) -> None:
        code = (
            "import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
            + SLOW_IMPORT.format(slow="cyclopts", wait="os.kill(os.getpid(), signal.SIGINT)").split("\n", 1)[1]
            + MODULE
        )
        done = subprocess.run(
            [PROGRAM[0], "-c", code, "--version"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, f"loading\n{prorubric.__version__}\n", "")

    def test_the_command_is_the_entry_that_loads_lightly(self) -> None:
        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
        assert project["project"]["scripts"] == {"prorubric": "prorubric.__main__:main"}
        code = "import sys; from prorubric.__main__ import main; print([m for m in sys.modules if 'prorubric' in m])"
        done = subprocess.run([PROGRAM[0], "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "['prorubric', 'prorubric.__main__']\n"


class TestColour:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        write_tasks(tmp_path / "a.jsonl", WRONG)
        return tmp_path

    def test_a_terminal_gets_colour(self, folder: Path) -> None:
        assert "\x1b[31mfailed\x1b[0m: 1 error," in run_in_terminal("lint", "a.jsonl", cwd=folder)

    @pytest.mark.parametrize("arguments", [["lint", "a.jsonl"], ["demo"], ["--help"], ["lint", "--help"]])
    def test_no_color_in_a_terminal_means_no_escape_codes(self, arguments: list[str], folder: Path) -> None:
        assert "\x1b" not in run_in_terminal(*arguments, cwd=folder, NO_COLOR="1")

    def test_colons_are_no_emoji(self, capsys: pytest.CaptureFixture[str]) -> None:
        make_console().print("ratio 1:2 :x: :heart:")
        assert capsys.readouterr().out == "ratio 1:2 :x: :heart:\n"

    @pytest.mark.parametrize("arguments", [["lint", "a.jsonl"], ["demo"], ["--help"]])
    def test_a_pipe_gets_no_escape_codes(self, arguments: list[str], folder: Path) -> None:
        assert "\x1b" not in run_program(*arguments, cwd=folder).stdout
