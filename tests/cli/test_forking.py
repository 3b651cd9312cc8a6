"""What is forked behaves as what is started: its signals, its exit code, and its end with whoever asked for it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.forking import ADDRESS, find_fork_server
from tests.cli.program import run_python, start_program
from tests.compile.running import is_running
from tests.llm.server import wait_until
from tests.patience import PATIENCE

SERVE = ("serve", "--judge", "lexical", "--port", "0")


def test_a_program_that_is_killed_says_so(tmp_path: Path) -> None:
    program = start_program(*SERVE, cwd=tmp_path)
    assert program.poll() is None
    program.kill()
    assert program.wait(PATIENCE) == -signal.SIGKILL
    assert not is_running(program.pid)


def test_python_runs_code_and_modules_with_their_arguments_and_ends_with_their_code(tmp_path: Path) -> None:
    done = run_python("-c", "import os, sys; print(os.getcwd(), sys.argv); sys.exit(3)", "a b", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (3, f"{tmp_path} ['-c', 'a b']\n", "")
    (tmp_path / "mine.py").write_text("import sys\nprint(__name__, sys.argv[1:])\nraise KeyError('gone')\n")
    done = run_python("-m", "mine", "x", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.splitlines()[-1]) == (1, "__main__ ['x']\n", "KeyError: 'gone'")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up as on Linux")
def test_a_program_does_not_outlive_the_process_that_asked_for_it(tmp_path: Path) -> None:
    code = (
        "import os; from pathlib import Path; from tests.cli.program import start_program\n"
        f"print(start_program(*{SERVE!r}, cwd=Path({str(tmp_path)!r})).pid, flush=True); os.kill(os.getpid(), 9)"
    )
    environment = {**os.environ, ADDRESS: find_fork_server()}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        env=environment,
        stdout=subprocess.PIPE,
        check=False,
    )
    assert wait_until(lambda: not is_running(int(done.stdout)))
