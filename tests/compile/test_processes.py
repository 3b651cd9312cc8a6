"""Several processes give what one gives, whichever of them is killed, and leave nobody behind."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric import Task, save_tasks
from prorubric.compile.crew import Crew, Shard
from prorubric.llm.accounting import Usage
from prorubric.llm.http import HttpConfig
from tests.compile.generating import make_tasks
from tests.compile.running import AT_ONCE, count_replies, finish, is_running, start
from tests.llm.server import MisbehavingServer, wait_until

TASKS = 300


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_tasks(tmp_path / "tasks.jsonl", make_tasks(TASKS))
    return tmp_path


def find_others(parent: int) -> list[int]:
    """The processes that a run has started."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    found = [int(child) for child in children.read_text().split()] if children.exists() else []
    return [child for child in found if b"prorubric.compile.worker" in Path(f"/proc/{child}/cmdline").read_bytes()]


def compile_alone(folder: Path, server: MisbehavingServer) -> bytes:
    """What one process makes of the same tasks."""
    alone = folder / "alone"
    alone.mkdir()
    save_tasks(alone / "tasks.jsonl", make_tasks(TASKS))
    assert finish(start(alone, server.spec))[0] == 0
    return (alone / "out.jsonl").read_bytes()


def test_three_processes_give_the_bytes_of_one_and_make_each_call_once(folder: Path, server: MisbehavingServer) -> None:
    expected, seen = compile_alone(folder, server), server.calls
    server.think_seconds = 0.1
    process = start(folder, server.spec, "--processes", "3")
    assert wait_until(lambda: len(find_others(process.pid)) == 2)
    others = find_others(process.pid)
    code, said = finish(process)
    assert (code, "Traceback" in said) == (0, False), said
    assert (folder / "out.jsonl").read_bytes() == expected
    assert server.calls - seen == count_replies(folder) == TASKS
    assert not any(map(is_running, others))


def test_the_limit_on_calls_holds_for_all_processes_together(folder: Path, server: MisbehavingServer) -> None:
    server.think_seconds = 0.1
    assert finish(start(folder, server.spec, "--processes", "3"))[0] == 0
    assert server.peak <= AT_ONCE


def test_a_killed_process_is_replaced_by_the_others_and_the_bytes_are_the_same(
    folder: Path, server: MisbehavingServer
) -> None:
    expected, seen = compile_alone(folder, server), server.calls
    server.think_seconds = 0.3
    process = start(folder, server.spec, "--processes", "2")
    # More than this process has room for by itself: the other one is at work.
    assert wait_until(lambda: server.in_flight > AT_ONCE // 2)
    os.kill(find_others(process.pid)[0], signal.SIGKILL)
    server.think_seconds = 0.0
    code, said = finish(process)
    assert (code, "Traceback" in said) == (0, False), said
    assert "a process of this run is gone; the others do its tasks" in said
    assert (folder / "out.jsonl").read_bytes() == expected
    assert count_replies(folder) == TASKS
    # What the dead process had in flight is asked for again, and nothing else.
    assert TASKS < server.calls - seen <= TASKS + AT_ONCE


def test_no_process_outlives_a_killed_run_and_the_same_command_finishes_it(
    folder: Path, server: MisbehavingServer
) -> None:
    server.think_seconds = 0.3
    process = start(folder, server.spec, "--processes", "2")
    try:
        assert wait_until(lambda: server.in_flight > AT_ONCE // 2)
        others = find_others(process.pid)
        assert len(others) == 1
    finally:
        process.kill()
        process.communicate()
    assert wait_until(lambda: not is_running(others[0]))
    assert wait_until(lambda: server.in_flight == 0)
    kept, seen = count_replies(folder), server.calls
    assert seen - AT_ONCE <= kept < TASKS
    server.think_seconds = 0.0
    assert finish(start(folder, server.spec, "--processes", "2"))[0] == 0
    assert (server.calls - seen, count_replies(folder)) == (TASKS - kept, TASKS)


def test_ctrl_c_reaches_every_process_and_what_is_under_way_is_kept(folder: Path, server: MisbehavingServer) -> None:
    server.think_seconds = 0.3
    process = start(folder, server.spec, "--processes", "2")
    assert wait_until(lambda: server.in_flight > AT_ONCE // 2)
    others, seen = find_others(process.pid), server.calls
    process.send_signal(signal.SIGINT)
    code, said = finish(process)
    assert (code, "Traceback" in said) == (130, False), said
    assert "stopping: finishing the calls under way" in said
    assert server.calls - seen <= 5 * AT_ONCE
    assert count_replies(folder) == server.calls < TASKS
    assert not any(map(is_running, others))
    server.think_seconds = 0.0
    assert finish(start(folder, server.spec))[0] == 0
    assert server.calls == TASKS


def test_a_second_ctrl_c_ends_every_process_at_once(folder: Path, server: MisbehavingServer) -> None:
    server.always = "hang"
    process = start(folder, server.spec, "--processes", "2")
    assert wait_until(lambda: server.calls == AT_ONCE)
    others = find_others(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert wait_until(lambda: b"stopping" in process.stderr.readline())  # type: ignore[union-attr]
    process.send_signal(signal.SIGINT)
    code, said = finish(process)
    assert (code, "Traceback" in said) == (130, False), said
    assert not any(map(is_running, others))


def test_a_wrong_key_ends_all_processes_with_one_line(folder: Path, server: MisbehavingServer) -> None:
    server.always = "401"
    code, said = finish(start(folder, server.spec, "--processes", "2"))
    assert (code, "Traceback" in said, "HTTP 401" in said) == (2, False, True), said


def test_a_generator_that_never_answers_ends_all_processes_with_the_reason(
    folder: Path, server: MisbehavingServer
) -> None:
    server.always = "500"
    process = start(folder, server.spec, "--processes", "2", "--retries", "0")
    code, said = finish(process)
    assert (code, "Traceback" in said) == (2, False), said
    assert "the last 50 tasks got no reply (HTTP 500: as told)" in said
    assert "is gone" not in said


def test_each_worker_gets_its_share_of_the_limits() -> None:
    crew = Crew(HttpConfig(concurrency=128, requests_per_minute=1_000, tokens_per_minute=90_001), 3)
    assert (crew.size, crew.http.concurrency, crew.shard, crew.places) == (3, 42, 10, 9)
    assert (crew.http.requests_per_minute, crew.http.tokens_per_minute) == (333, 30_000)


@given(st.integers(1, 2_000), st.integers(1, 300) | st.none(), st.integers(1, 12))
def test_no_share_is_empty_and_all_together_stay_within_the_limits(
    concurrency: int, requests: int | None, wanted: int
) -> None:
    crew = Crew(HttpConfig(concurrency=concurrency, requests_per_minute=requests), wanted)
    assert 1 <= crew.size <= wanted
    assert 1 <= crew.http.concurrency <= concurrency / crew.size
    assert requests is None or 1 <= (crew.http.requests_per_minute or 0) <= requests / crew.size
    # Enough to keep every call busy, and no more than a shard too many.
    assert 2 * crew.http.concurrency <= crew.shard * crew.places < 2 * crew.http.concurrency + crew.shard


class Noting:
    """A worker that notes which shard it was given, and takes longer for some than for others."""

    def __init__(self, seed: int) -> None:
        self.begun: list[str] = []
        self._random = Random(seed)

    async def run(self, tasks: list[Task]) -> Shard:
        self.begun.append(tasks[0].id)
        for _ in range(self._random.randrange(9)):
            await asyncio.sleep(0)
        return Shard([], Usage())


@pytest.mark.parametrize("seed", range(8))
def test_a_shard_that_waits_for_a_place_is_not_overtaken_by_those_that_come_later(seed: int) -> None:
    crew, worker, tasks = Crew(HttpConfig(concurrency=2), 1), Noting(seed), [*make_tasks(200)]

    async def run() -> None:
        crew.add(worker)
        async for _ in crew.run(iter(tasks), Usage()):
            pass

    asyncio.run(run())
    order = {task.id: place for place, task in enumerate(tasks)}
    late = [place - order[begun] for place, begun in enumerate(worker.begun)]
    assert (crew.shard, crew.places, len(late)) == (1, 4, 200)
    # Those that get a place at the same moment may begin in any order.
    assert max(late) < crew.places


def test_another_process_loads_nothing_that_only_files_and_rules_need() -> None:
    code = "import sys, prorubric.compile.worker; print([name for name in ('pyarrow', 'numpy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
