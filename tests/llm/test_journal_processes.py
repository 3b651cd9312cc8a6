"""The journal outlives its process and is shared by several."""

import random
from pathlib import Path

from prorubric.llm.journal import Journal
from prorubric.llm.model import Reply
from tests.cli.forking import ForkedProgram
from tests.cli.program import start_python
from tests.llm.asking import count_replies
from tests.llm.server import MisbehavingServer, wait_until
from tests.patience import PATIENCE

CALLS = 300
AT_ONCE = 8


def start(*arguments: object) -> ForkedProgram:
    return start_python("-m", "tests.llm.worker", *map(str, arguments))


def start_calling(path: Path, server: MisbehavingServer, said: Path) -> ForkedProgram:
    with said.open("wb") as file:
        return start_python("-m", "tests.llm.worker", "call", str(path), server.spec, str(AT_ONCE), out=file.fileno())


def finish(process: ForkedProgram) -> None:
    assert process.wait(PATIENCE) == 0


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
        process.wait()
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
    path, (first, second, replay) = tmp_path / "journal.sqlite", (tmp_path / name for name in ("a", "b", "replay"))
    both = [start_calling(path, server, said) for said in (first, second)]
    assert wait_until(lambda: server.in_flight == 2 * AT_ONCE)
    server.let_go()
    for process in both:
        finish(process)
    finish(start_calling(path, server, replay))
    assert len(replay.read_bytes()) > 2 * AT_ONCE
    assert first.read_bytes() == second.read_bytes() == replay.read_bytes()
    assert server.calls == 2 * AT_ONCE
