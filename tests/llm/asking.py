"""Short ways to ask a model in a test; none of them can hang."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import closing
from typing import Any, TypeVar

from prorubric import Message
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.journal import Journal
from prorubric.llm.model import Model, Outcome, Request
from tests.llm.server import MisbehavingServer
from tests.patience import PATIENCE

T = TypeVar("T")

QUICK = {"timeout_seconds": 8.0, "retries": 2, "backoff_seconds": 0.01}
"""An endpoint is given up soon; most tests need no more."""
PATIENT = {"timeout_seconds": 10.0, "retries": 12, "backoff_seconds": 0.005, "backoff_cap_seconds": 0.02}


def make_request(text: str = "Is it met?", **fields: Any) -> Request:
    return Request((Message(role="user", content=text),), **fields)


def make_requests(count: int, **fields: Any) -> list[Request]:
    return [make_request(f"question {number}", **fields) for number in range(count)]


def run(work: Coroutine[Any, Any, T], seconds: float = PATIENCE) -> T:
    """Run a coroutine in a loop of its own; fail where it hangs."""

    async def bounded() -> T:
        async with asyncio.timeout(seconds):
            return await work

    return asyncio.run(bounded())


async def ask_all(model: Model, requests: Iterable[Request]) -> list[Outcome]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(model.complete(request)) for request in requests]
    return [task.result() for task in tasks]


def ask(server: MisbehavingServer, *requests: Request, **config: Any) -> list[Outcome]:
    """Ask a new model everything at once and close it."""

    async def work() -> list[Outcome]:
        model = HttpModel(server.spec, HttpConfig(**{**QUICK, **config}))
        try:
            return await ask_all(model, requests or [make_request()])
        finally:
            await model.close()

    return run(work())


async def eventually(condition: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """True as soon as a condition holds; the loop goes on meanwhile."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.005)
    return True


def count_replies(journal: Journal) -> int:
    with closing(sqlite3.connect(journal.path)) as connection:
        return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])
