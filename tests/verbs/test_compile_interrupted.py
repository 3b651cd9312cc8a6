"""A run that is killed, or asked to stop, is finished by the same command, without a task done twice or lost."""

import os
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from prorubric import load_tasks, save_tasks
from tests.cli.program import run_python
from tests.compile.generating import make_tasks
from tests.compile.running import AT_ONCE, count_replies, finish, start, start_with_ray
from tests.llm.server import MisbehavingServer, wait_until
from tests.thorough import few_or

TASKS = 300
MANY_TASKS = few_or(1_500)
KILLS = few_or(12)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_tasks(tmp_path / "tasks.jsonl", make_tasks(TASKS))
    return tmp_path


def test_a_run_killed_at_random_moments_loses_nothing_and_does_nothing_twice(
    folder: Path, server: MisbehavingServer
) -> None:
    save_tasks(folder / "tasks.jsonl", make_tasks(MANY_TASKS))
    server.think_seconds = 0.02
    moments = random.Random(7)
    for number in range(KILLS):
        seen = server.calls
        process = start(folder, server.spec)
        try:
            if number % 4 == 3:  # before the first call, or at any point of the start
                time.sleep(moments.uniform(0.0, 0.4))
            else:
                wanted = moments.randint(1, 18)
                assert wait_until(lambda: process.poll() is not None or server.calls >= seen + wanted)  # noqa: B023
        finally:
            process.kill()
            process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert wait_until(lambda: server.in_flight == 0)
        assert not (folder / "out.jsonl").exists()
    kept, seen = count_replies(folder), server.calls
    assert 0 < kept < MANY_TASKS
    assert kept >= seen - KILLS * AT_ONCE
    server.think_seconds = 0.0
    assert finish(start(folder, server.spec))[0] == 0
    assert (server.calls - seen, count_replies(folder)) == (MANY_TASKS - kept, MANY_TASKS)
    made = list(load_tasks(folder / "out.jsonl", strict=True))
    assert [task.id for task in made] == [task.id for task in make_tasks(MANY_TASKS)]
    assert all(task.protocol is not None for task in made)
    assert sorted(path.name for path in folder.iterdir()) == [
        "out.journal.sqlite",
        "out.jsonl",
        "out.manifest.json",
        "tasks.jsonl",
    ]


@pytest.mark.parametrize("place", ["prorubric.verbs.compile.hash_file", "prorubric.verbs.compile.write_json"])
def test_a_run_killed_after_its_output_and_before_its_manifest_is_finished_by_the_same_command(
    folder: Path, server: MisbehavingServer, place: str
) -> None:
    module, _, name = place.rpartition(".")
    dying = (
        f"import os, signal, {module} as place; place.{name} = lambda *_: os.kill(os.getpid(), signal.SIGKILL); "
        "from prorubric.cli.app import main; import sys; "
        "sys.argv = ['prorubric', 'compile', 'tasks.jsonl', "
        f"'--generator', '{server.spec}', '--out', 'out.jsonl']; main()"
    )
    done = run_python("-c", dying, cwd=folder)
    assert done.returncode == -signal.SIGKILL
    assert (folder / "out.jsonl").exists()
    assert not (folder / "out.manifest.json").exists()
    seen = server.calls
    assert finish(start(folder, server.spec))[0] == 0
    assert server.calls == seen == TASKS
    assert len(list(load_tasks(folder / "out.jsonl", strict=True))) == TASKS
    code, said = finish(start(folder, server.spec))
    assert (code, "out.jsonl: already exists" in said) == (2, True)


def test_ctrl_c_finishes_the_calls_in_flight_and_says_how_to_continue(folder: Path, server: MisbehavingServer) -> None:
    server.think_seconds = 0.2
    process = start(folder, server.spec)
    assert wait_until(lambda: server.calls >= 40)
    process.send_signal(signal.SIGINT)
    code, said = finish(process)
    assert code == 130
    assert "stopping: finishing the calls in flight" in said
    assert "Traceback" not in said
    seen = server.calls
    assert seen < TASKS
    assert count_replies(folder) == seen  # every call that was made is in the journal
    assert sorted(path.name for path in folder.glob("out*")) == ["out.journal.sqlite"]
    server.think_seconds = 0.0
    assert finish(start(folder, server.spec))[0] == 0
    assert server.calls == TASKS


def test_ctrl_c_asks_a_model_of_ones_own_nothing_more(folder: Path) -> None:
    """One call at a time, as a model in this process answers: what waits for its turn must not be waited for."""
    process = start(folder, "tests.compile.generating:Slow", "--reasks", "2")
    journal = folder / "out.journal.sqlite"
    assert wait_until(lambda: journal.exists() and count_replies(folder) >= 2)
    before = count_replies(folder)
    process.send_signal(signal.SIGINT)
    code, said = finish(process)
    assert (code, "Traceback" in said) == (130, False), said
    assert count_replies(folder) <= before + 4 * AT_ONCE  # of 900 that would be asked


@pytest.mark.parametrize("at_once", [AT_ONCE, 128])
def test_ctrl_c_does_not_wait_for_calls_that_only_wait_to_be_sent(
    folder: Path, server: MisbehavingServer, at_once: int
) -> None:
    server.script(*["groups"] * 10)
    server.always = "429 for an hour"
    process = start(folder, server.spec, at_once=at_once)
    assert wait_until(lambda: server.calls >= 11)
    time.sleep(0.5)  # more tasks are begun and wait
    process.send_signal(signal.SIGTERM)
    code, said = finish(process)
    assert (code, "Traceback" in said) == (130, False), said
    assert count_replies(folder) == 10


def test_a_second_process_with_another_suffix_is_kept_out_of_the_files_they_share(
    folder: Path, server: MisbehavingServer
) -> None:
    server.always = "hang"
    process = start(folder, server.spec)
    assert wait_until(lambda: server.calls > 0)
    code, said = finish(start(folder, server.spec, out="out.parquet"))
    assert (code, "out.parquet: another prorubric process is using this file" in said) == (2, True), said
    process.kill()
    finish(process)


def test_a_second_ctrl_c_ends_the_run_at_once(folder: Path, server: MisbehavingServer) -> None:
    server.script(*["groups"] * 10)
    server.always = "hang"
    process = start(folder, server.spec)
    assert wait_until(lambda: server.calls >= 10 + AT_ONCE)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert wait_until(lambda: b"stopping" in process.stderr.readline())  # type: ignore[union-attr]
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    code, said = finish(process)
    assert (code, "Traceback" in said) == (130, False)
    assert count_replies(folder) == 10


def test_a_second_process_is_kept_out(folder: Path, server: MisbehavingServer) -> None:
    server.always = "hang"
    first = start(folder, server.spec)
    try:
        assert wait_until(lambda: server.calls >= 1)
        code, said = finish(start(folder, server.spec))
        assert (code, "another prorubric process is using this file" in said) == (2, True)
    finally:
        first.kill()
        first.communicate()


@pytest.fixture
def ray_environment() -> Iterator[dict[str, str]]:
    # Ray's sockets have long names under this folder, and the system allows about a hundred characters.
    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp", ignore_cleanup_errors=True) as folder:
        yield {"RAY_AUTH_MODE": "disabled", "RAY_TMPDIR": folder, "RAY_USAGE_STATS_ENABLED": "0"}


def find_workers(folder: str, program: bytes = b"ray::_Worker") -> list[int]:
    """The processes of our own Ray: those that run an actor of ours, or others by the beginning of their command."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            is_worker = entry.name.isdigit() and (entry / "cmdline").read_bytes().startswith(program)
            if is_worker and folder.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.xdist_group("ray")
def test_no_process_of_ray_outlives_a_killed_run(
    folder: Path, server: MisbehavingServer, ray_environment: dict[str, str]
) -> None:
    server.think_seconds = 0.5
    place = ray_environment["RAY_TMPDIR"]
    process = start_with_ray(folder, server.spec, **ray_environment)
    try:
        assert wait_until(lambda: server.calls >= 16 or process.poll() is not None)
        assert len(find_workers(place)) == 2
    finally:
        process.kill()
        process.communicate()
    assert wait_until(lambda: find_workers(place, b"") == [])


@pytest.mark.xdist_group("ray")
def test_a_killed_ray_worker_is_taken_over_and_the_result_is_that_of_the_local_engine(
    folder: Path, server: MisbehavingServer, ray_environment: dict[str, str]
) -> None:
    local = folder / "local"
    local.mkdir()
    save_tasks(local / "tasks.jsonl", make_tasks(TASKS))
    assert finish(start(local, server.spec))[0] == 0
    seen, server.think_seconds = server.calls, 0.2
    process = start_with_ray(folder, server.spec, **ray_environment)
    try:
        assert wait_until(lambda: server.calls >= seen + 60 or process.poll() is not None)
        workers = find_workers(ray_environment["RAY_TMPDIR"])
        assert len(workers) == 2
        os.kill(workers[0], signal.SIGKILL)
        assert server.calls - seen < TASKS  # it had something to do
        code, said = finish(process)
    finally:
        process.kill()
        process.communicate()
    assert (code, "Traceback" in said) == (0, False), said
    assert (folder / "out.jsonl").read_bytes() == (local / "out.jsonl").read_bytes()
    assert count_replies(folder) == TASKS
    # What the dead worker had in flight is asked for again, and nothing else.
    assert TASKS <= server.calls - seen <= TASKS + AT_ONCE


@pytest.mark.xdist_group("ray")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_reaches_the_ray_workers(
    folder: Path, server: MisbehavingServer, ray_environment: dict[str, str], number: signal.Signals
) -> None:
    server.think_seconds = 0.5
    process = start_with_ray(folder, server.spec, **ray_environment)
    try:
        assert wait_until(lambda: server.calls >= 16 or process.poll() is not None)
        seen = server.calls
        os.kill(process.pid, number)
        code, said = finish(process)
    finally:
        process.kill()
        process.communicate()
    assert (code, "Traceback" in said) == (130, False), said
    # What the workers had begun is finished and kept; of the other tasks none is asked about.
    assert server.calls - seen <= 5 * AT_ONCE
    assert count_replies(folder) == server.calls < TASKS
    server.think_seconds = 0.0
    assert finish(start(folder, server.spec))[0] == 0
    assert server.calls == TASKS
