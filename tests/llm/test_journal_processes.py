"""The journal outlives its process and is shared by several."""

import random
import subprocess
import sys
from pathlib import Path

from prorubric.llm.journal import Journal
from prorubric.llm.model import Reply
from tests.llm.asking import count_replies
from tests.llm.server import MisbehavingServer, wait_until
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
CALLS = 300
AT_ONCE = 8


def start(*arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.llm.worker", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)


def finish(process: subprocess.Popen[bytes]) -> bytes:
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    return said


def open_and_count(path: Path) -> int:
    with Journal(path) as journal:
        return count_replies(journal)


def kill_after(server: MisbehavingServer, path: Path, calls: int) -> None:
    """Start the run and kill it without notice once the server has seen some more calls."""
    seen = server.calls
    process = start("call", path, server.spec, CALLS)
    try:
        assert wait_until(lambda: server.calls >= seen + calls)
    finally:
        process.kill()
        process.communicate()
    assert wait_until(lambda: server.in_flight == 0)


def test_a_run_that_is_killed_five_times_makes_exactly_the_missing_calls_in_the_end(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    server.think_seconds = 0.004
    path, moments = tmp_path / "journal.sqlite", random.Random(1)
    for _ in range(5):
        kill_after(server, path, moments.randint(1, 50))
    kept, seen = open_and_count(path), server.calls
    assert kept >= seen - 5 * AT_ONCE
    finish(start("call", path, server.spec, CALLS))
    assert (server.calls - seen, open_and_count(path)) == (CALLS - kept, CALLS)


def test_four_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    processes = [start("write", path, name, 400) for name in "abcd"]
    assert wait_until(lambda: len(list(tmp_path.glob("* is ready"))) == 4)
    (tmp_path / "go").touch()
    for process in processes:
        finish(process)
    with Journal(path) as journal:
        assert count_replies(journal) == 5 * 400
        assert journal.get("c 399") == Reply("c: 399", cached=True)


def test_two_processes_with_one_question_use_the_reply_that_is_kept(server: MisbehavingServer, tmp_path: Path) -> None:
    server.always = "a new reply when let go"
    path = tmp_path / "journal.sqlite"
    both = [start("call", path, server.spec, AT_ONCE) for _ in range(2)]
    assert wait_until(lambda: server.in_flight == 2 * AT_ONCE)
    server.let_go()
    used = [finish(process) for process in both]
    replay = finish(start("call", path, server.spec, AT_ONCE))
    assert used == [replay, replay]
    assert server.calls == 2 * AT_ONCE
