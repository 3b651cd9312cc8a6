"""What other processes do in the tests of the journal: make calls through it, or only write to it."""

import asyncio
import json
import sys
import time
from pathlib import Path

from prorubric.llm.cache import CachedModel
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.journal import Journal
from prorubric.llm.model import Reply
from tests.llm.asking import ask_all, make_requests


async def call(path: str, spec: str, count: str) -> None:
    """Make calls through a journal and print the replies."""
    with Journal(path) as journal:
        model = CachedModel(HttpModel(spec, HttpConfig(concurrency=8)), journal)
        outcomes = await ask_all(model, make_requests(int(count)))
        await model.close()
    print(json.dumps([getattr(outcome, "text", None) for outcome in outcomes]))  # noqa: T201


async def write(path: str, name: str, count: str) -> None:
    """Open a journal at the same moment as the others and write replies of one's own and replies that all write."""
    Path(path).with_name(f"{name} is ready").touch()
    while not Path(path).with_name("go").exists():
        time.sleep(0.001)
    with Journal(path) as journal:
        for number in range(int(count)):
            journal.put(f"{name} {number}", Reply(f"{name}: {number}"))
            journal.put(f"shared {number}", Reply(f"shared: {number}"))


if __name__ == "__main__":
    asyncio.run({"call": call, "write": write}[sys.argv[1]](*sys.argv[2:]))
