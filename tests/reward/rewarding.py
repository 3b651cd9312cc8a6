"""Rewards from the misbehaving server: three tasks, and what an honest judge's verdicts make of a response to them."""

from pathlib import Path
from typing import Any

from prorubric import HttpConfig, RewardConfig, Task, save_tasks, score
from prorubric.aggregate.schemes import find_scheme
from prorubric.judge.readings import list_items
from prorubric.reward.reward import RubricReward
from tests.aggregate.test_schemes import make_task
from tests.llm.server import MisbehavingServer
from tests.reward.judging import truth

QUICK = HttpConfig(timeout_seconds=2.0, retries=2, backoff_seconds=0.01, concurrency=4)


def make_tasks() -> list[Task]:
    return [make_task([5, 3, -2, 1], [[1, 3], [2, 4]]).model_copy(update={"id": f"task {i}"}) for i in range(3)]


def write_tasks(folder: Path) -> str:
    path = folder / "tasks.jsonl"
    if not path.exists():
        save_tasks(path, make_tasks())
    return str(path)


def make_config(server: MisbehavingServer, folder: Path, **change: Any) -> RewardConfig:
    """The breaker is off unless a test is about it."""
    settings = {"scheme": "conjunctive", "tasks": write_tasks(folder), "http": QUICK, "max_unknown": 1.0, **change}
    return RewardConfig(settings.pop("judge", server.spec), **settings)


def make_reward(server: MisbehavingServer, folder: Path, **change: Any) -> RubricReward:
    return RubricReward(make_config(server, folder, **change))


def expect(task: Task, text: str, scheme: str = "conjunctive") -> float:
    """The score that honest verdicts give."""
    readings = find_scheme(scheme).readings
    verdicts = [truth(text, item.index) for reading in readings for item in list_items(task, reading)]
    value = score(verdicts, task, scheme).value
    assert value is not None
    return value
