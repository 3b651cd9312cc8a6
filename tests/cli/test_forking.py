"""What is forked behaves as what is started: its signals, its exit code, and its end with whoever asked for it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.forking import ADDRESS, find_fork_server
from tests.cli.program import start_program
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
