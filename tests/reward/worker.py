"""What other processes do in the tests of the reward: `python -m tests.reward.worker WHAT SERVER FOLDER` prints values.

None of them closes anything: a process that ends has to be enough.
"""

import asyncio
import multiprocessing
import os
import sys
import threading
import time
from concurrent.futures import CancelledError
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from prorubric import HttpConfig, RewardConfig
from prorubric.reward.reward import RubricReward

IDS = [f"task {i % 3}" for i in range(12)]
TEXTS = [f"answer {i}" for i in range(12)]


def make(spec: str, folder: Path, **change: object) -> RubricReward:
    settings = {"scheme": "conjunctive", "tasks": str(folder / "tasks.jsonl"), "max_unknown": 1.0, **change}
    return RubricReward(RewardConfig(spec, http=HttpConfig(concurrency=4), **settings))  # type: ignore[arg-type]


def say(who: str, reward: RubricReward) -> None:
    print(who, [one.value for one in reward(IDS, TEXTS)], flush=True)  # noqa: T201


def call(spec: str, folder: Path) -> None:
    """Reward a batch and end."""
    say("alone", make(spec, folder))


def keep(spec: str, folder: Path) -> None:
    """The same with a journal."""
    reward = make(spec, folder, journal=folder / "journal.sqlite")
    say("alone", reward)
    print(reward.usage.calls - reward.usage.cached)  # noqa: T201


def fork(spec: str, folder: Path) -> None:
    """Reward in a child and a grandchild that have their parent's reward, sockets and journal before them."""
    reward = make(spec, folder, journal=folder / "journal.sqlite")
    say("parent", reward)
    child = os.fork()
    if child == 0:
        say("child", reward)
        grandchild = os.fork()
        if grandchild == 0:
            say("grandchild", reward)
            return
        assert os.waitpid(grandchild, 0)[1] == 0
        return
    assert os.waitpid(child, 0)[1] == 0
    say("parent", reward)


def fork_unused(spec: str, folder: Path) -> None:
    """Fork before the first call, as a trainer does that makes its reward first."""
    reward = make(spec, folder)
    assert threading.active_count() == 1
    if os.fork():
        assert os.wait()[1] == 0
        say("parent", reward)
    else:
        say("child", reward)


def pool(spec: str, folder: Path, method: str) -> None:
    """Hand a pickled reward to two processes."""
    reward = make(spec, folder)
    say("parent", reward)
    with multiprocessing.get_context(method).Pool(2) as workers:
        for found in workers.starmap(reward, [(IDS, TEXTS)] * 2):
            print("child", [one.value for one in found])  # noqa: T201
        workers.close()
        workers.join()


def end_early(spec: str, folder: Path) -> None:
    """End while a thread that nobody waits for has a call under way."""
    reward = make(spec, folder)

    def wait() -> None:
        with suppress(CancelledError):
            reward(IDS[:1], TEXTS[:1])

    threading.Thread(target=wait, daemon=True).start()
    while not (folder / "called").exists():
        time.sleep(0.01)
    print("ended")  # noqa: T201


def end_first(spec: str, folder: Path) -> None:
    """The main thread ends while another still rewards."""
    reward = make(spec, folder)
    threading.Thread(target=say, args=("thread", reward)).start()


if __name__ == "__main__":
    what, server, place = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    if "uvloop" in sys.argv:
        asyncio.set_event_loop_policy(import_module("uvloop").EventLoopPolicy())
    if what in ("fork pool", "spawn pool"):
        pool(server, place, what.split()[0])
    else:
        {"call": call, "keep": keep, "fork": fork, "fork unused": fork_unused, "end early": end_early,
         "end first": end_first}[what](server, place)  # fmt: skip
