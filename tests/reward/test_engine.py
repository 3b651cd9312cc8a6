"""One background loop a process: from loops, threads, forks and pickles, cancelled, interrupted and at the end."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from prorubric import HttpConfig, RewardConfig
from prorubric.errors import ConfigError, UnjudgedError
from prorubric.llm.model import Outcome, Reply, Request
from prorubric.reward.engine import stop_background
from prorubric.reward.reward import RubricReward
from tests.cli.program import run_python
from tests.llm.server import MisbehavingServer, wait_until
from tests.patience import PATIENCE
from tests.reward.rewarding import expect, make_reward, make_tasks, write_tasks
from tests.reward.worker import IDS, TEXTS
from tests.train.running import find_python, trainers

ROOT = Path(__file__).parents[2]
EXPECTED = [expect(make_tasks()[i % 3], f"answer {i}") for i in range(12)]


def run_worker(
    what: str, server: MisbehavingServer, folder: Path, *more: str, python: str | Path = sys.executable
) -> list[str]:
    """What a process prints; it must end well and without a word of warning."""
    write_tasks(folder)
    command = [str(python), "-W", "error", "-m", "tests.reward.worker", what, server.spec, str(folder), *more]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def keep(server: MisbehavingServer, folder: Path) -> list[str]:
    """The lines of a process that rewards with a journal; its end is not looked at, so that it may be forked."""
    done = run_python("-m", "tests.reward.worker", "keep", server.spec, str(folder), cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def count_threads() -> int:
    return sum(thread.name == "prorubric-reward" for thread in threading.enumerate())


def values(rewards: Sequence[object]) -> list[float]:
    return [reward.value for reward in rewards]  # type: ignore[attr-defined]


def test_several_event_loops_use_one_after_another(judging_server: MisbehavingServer, tmp_path: Path) -> None:
    reward = make_reward(judging_server, tmp_path)

    async def ask_all() -> list[object]:
        return await asyncio.gather(*(reward.reward(*case) for case in zip(IDS, TEXTS, strict=True)))

    for _ in range(3):
        assert values(asyncio.run(ask_all())) == EXPECTED
    assert (count_threads(), judging_server.connections <= 4) == (1, True)


def test_threads_and_loops_at_once_share_one_limit(judging_server: MisbehavingServer, tmp_path: Path) -> None:
    judging_server.think_seconds = 0.02
    reward, other = make_reward(judging_server, tmp_path), make_reward(judging_server, tmp_path, scheme="additive")

    async def ask_all() -> list[object]:
        return await asyncio.gather(*(reward.reward(*case) for case in zip(IDS, TEXTS, strict=True)))

    with ThreadPoolExecutor(8) as threads:
        jobs = [threads.submit(reward, IDS, TEXTS) for _ in range(3)]
        jobs += [threads.submit(lambda: asyncio.run(ask_all())) for _ in range(3)]  # type: ignore[arg-type]
        others = [threads.submit(other, IDS, TEXTS) for _ in range(2)]
        assert [values(job.result()) for job in jobs] == [EXPECTED] * 6
        assert others[0].result() == others[1].result()
    assert (judging_server.calls, judging_server.peak, count_threads()) == (96, 4, 1)
    assert reward.usage is other.usage
    assert reward.usage.calls == 96


async def test_plain_code_may_call_where_a_loop_runs(judging_server: MisbehavingServer, tmp_path: Path) -> None:
    assert values(make_reward(judging_server, tmp_path)(IDS, TEXTS)) == EXPECTED


def test_another_judge_or_limit_or_journal_is_another_engine(judging_server: MisbehavingServer, tmp_path: Path) -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"http": HttpConfig(concurrency=5)},
        {"journal": tmp_path / "j"},
        {"judge": "lexical"},
    ]
    usages = [make_reward(judging_server, tmp_path, **change).usage for change in changes]
    assert len({id(usage) for usage in usages}) == 4


def test_calls_of_a_judge_of_probabilities_are_counted_without_a_journal(tmp_path: Path) -> None:
    try:
        reward = RubricReward(RewardConfig("tests.reward.test_engine:Hesitating", tasks=write_tasks(tmp_path)))
        reward(["task 0", "task 1", "task 2"], ["answer", "answer", "too long"])
        assert (reward.usage.calls, reward.usage.failures, reward.usage.unmetered) == (3, {"reply": 1}, 0)
        assert reward.usage.model == "hesitating"
    finally:
        stop_background()


class Hesitating:
    """A judge of probabilities that cannot read a certain response."""

    name = identity = "hesitating"

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        if response == "too long":
            raise UnjudgedError("the response is too long")
        return [0.9] * len(statements)

    async def close(self) -> None:
        pass


def test_making_a_reward_starts_no_thread_and_opens_no_connection(
    judging_server: MisbehavingServer, tmp_path: Path
) -> None:
    make_reward(judging_server, tmp_path, journal=tmp_path / "journal.sqlite")
    assert (count_threads(), judging_server.connections) == (0, 0)


def test_it_can_be_stopped_and_begins_anew(judging_server: MisbehavingServer, tmp_path: Path) -> None:
    reward = make_reward(judging_server, tmp_path, journal=tmp_path / "journal.sqlite")
    reward(IDS, TEXTS)
    stop_background()
    stop_background()
    assert count_threads() == 0
    assert wait_until(lambda: judging_server.open_connections == 0)
    assert values(reward(IDS, TEXTS)) == EXPECTED
    assert judging_server.calls == 12


async def test_a_caller_that_is_cancelled_cancels_the_call(judging_server: MisbehavingServer, tmp_path: Path) -> None:
    judging_server.always = "hang"
    reward = make_reward(judging_server, tmp_path)
    job = asyncio.create_task(reward.reward("task 0", "answer 0"))
    assert await asyncio.to_thread(wait_until, lambda: judging_server.in_flight == 1)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert await asyncio.to_thread(wait_until, lambda: judging_server.in_flight == 0)
    judging_server.always = "judge"
    assert values(await asyncio.gather(reward.reward("task 0", "answer 0"))) == EXPECTED[:1]


async def test_a_cancelled_batch_leaves_the_others_alone(judging_server: MisbehavingServer, tmp_path: Path) -> None:
    judging_server.think_seconds = 0.05
    reward = make_reward(judging_server, tmp_path)
    jobs = [asyncio.create_task(reward.reward(*case)) for case in zip(IDS, TEXTS, strict=True)]
    assert await asyncio.to_thread(wait_until, lambda: judging_server.in_flight > 0)
    for job in jobs[::2]:
        job.cancel()
    found = await asyncio.gather(*jobs, return_exceptions=True)
    assert [one.value for one in found[1::2]] == EXPECTED[1::2]  # type: ignore[union-attr]
    assert all(isinstance(one, asyncio.CancelledError) for one in found[::2])


class AskingItself:
    """A judge that calls the reward it judges for."""

    name = identity = "asking itself"
    reward: RubricReward

    async def complete(self, request: Request) -> Outcome:
        if request.draw == 0:
            self.reward(["task 0"], ["another"])
        return Reply(json.dumps({"satisfied": {}}))

    async def close(self) -> None:
        """There is nothing to let go of."""


ASKING_ITSELF = AskingItself()


def test_the_loop_never_waits_for_itself(tmp_path: Path) -> None:
    ASKING_ITSELF.reward = RubricReward(
        RewardConfig(f"{__name__}:ASKING_ITSELF", scheme="conjunctive", tasks=write_tasks(tmp_path))
    )
    with pytest.raises(ConfigError, match="called on the loop that judges, which would wait for itself; await it"):
        ASKING_ITSELF.reward(["task 0"], ["answer"])


@pytest.mark.parametrize("what", ["call", "end first"])
def test_a_process_ends_without_closing_anything_and_without_a_warning(
    judging_server: MisbehavingServer, tmp_path: Path, what: str
) -> None:
    (line,) = run_worker(what, judging_server, tmp_path)
    assert line.endswith(f" {EXPECTED}")
    assert wait_until(lambda: judging_server.open_connections == 0)


def test_a_process_ends_while_a_call_is_under_way(judging_server: MisbehavingServer, tmp_path: Path) -> None:
    judging_server.always = "hang"
    with ThreadPoolExecutor(1) as thread:
        job = thread.submit(run_worker, "end early", judging_server, tmp_path)
        assert wait_until(lambda: judging_server.in_flight == 1)
        (tmp_path / "called").touch()
        assert job.result() == ["ended"]
    assert wait_until(lambda: judging_server.in_flight == 0)


def test_forked_processes_make_their_own_and_leave_the_parent_s_alone(
    judging_server: MisbehavingServer, tmp_path: Path
) -> None:
    lines = run_worker("fork", judging_server, tmp_path)
    assert lines == [f"{who} {EXPECTED}" for who in ("parent", "child", "grandchild", "parent")]
    assert judging_server.calls == 12  # the journal is one


@trainers
def test_forks_are_fine_where_the_trainer_has_chosen_another_event_loop(
    judging_server: MisbehavingServer, tmp_path: Path
) -> None:
    lines = run_worker("fork", judging_server, tmp_path, "uvloop", python=find_python("watch"))
    assert lines == [f"{who} {EXPECTED}" for who in ("parent", "child", "grandchild", "parent")]


def test_a_process_may_fork_between_making_a_reward_and_using_it(
    judging_server: MisbehavingServer, tmp_path: Path
) -> None:
    assert run_worker("fork unused", judging_server, tmp_path) == [f"{who} {EXPECTED}" for who in ("child", "parent")]
    assert judging_server.calls == 24


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pools_of_processes_take_a_pickled_reward(
    judging_server: MisbehavingServer, tmp_path: Path, method: str
) -> None:
    lines = run_worker(f"{method} pool", judging_server, tmp_path)
    assert lines == [f"{who} {EXPECTED}" for who in ("parent", "child", "child")]
    assert judging_server.calls == 36


def test_two_processes_share_a_journal(judging_server: MisbehavingServer, tmp_path: Path) -> None:
    judging_server.think_seconds = 0.02
    write_tasks(tmp_path)  # once: not by both threads below
    with ThreadPoolExecutor(2) as threads:
        both = list(threads.map(lambda _: keep(judging_server, tmp_path), range(2)))
    assert [lines[0] for lines in both] == [f"alone {EXPECTED}"] * 2
    assert judging_server.calls == sum(int(lines[1]) for lines in both) <= 24
    before = judging_server.calls
    assert keep(judging_server, tmp_path) == [f"alone {EXPECTED}", "0"]
    assert judging_server.calls == before


def test_an_interrupt_ends_a_call_of_plain_code(judging_server: MisbehavingServer, tmp_path: Path) -> None:
    judging_server.always = "hang"
    write_tasks(tmp_path)
    command = [sys.executable, "-m", "tests.reward.worker", "call", judging_server.spec, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert wait_until(lambda: judging_server.in_flight > 0)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said.splitlines()[-1]) == (-signal.SIGINT, "KeyboardInterrupt")
    assert wait_until(lambda: judging_server.in_flight == 0)
