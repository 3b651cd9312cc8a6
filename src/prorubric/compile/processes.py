"""The same work in several processes of one machine, this one among them.

One process asks and checks about a thousand times a second. Where the generator answers faster than that, more
processes share the work: each is a Python of its own that writes to the same journal and speaks with this one over a
socket. They end when the socket does, so none outlives this process, however it ends. Signals of the terminal reach
this process only, which tells the others to stop.
"""

import asyncio
import os
import pickle
import socket
import sys
import warnings
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prorubric.compile.crew import Crew, LostWorkerError, Shard, ShardRunner
from prorubric.compile.work import Done, Plan, Row
from prorubric.errors import ProRubricError
from prorubric.llm.accounting import Usage
from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal
from prorubric.llm.make import keep_text, make_text_model
from prorubric.rubric.records import Task

if TYPE_CHECKING:
    from prorubric.compile.run import Work

_LENGTH_BYTES = 4
_BUFFER_BYTES = 1 << 20
_SECONDS_TO_END = 10.0


class LostProcessWarning(UserWarning):
    """A process of a run has ended by itself, and the others do its tasks."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What another process has to know before its first shard."""

    generator: str
    http: HttpConfig
    plan: Plan
    journal: str


@dataclass(frozen=True, slots=True)
class Ready:
    """Said by another process when it can be given shards."""


@dataclass(frozen=True, slots=True)
class NoMore:
    """Said to another process: begin no further shard."""


@dataclass(frozen=True, slots=True)
class Order:
    """A shard for another process."""

    number: int
    tasks: list[Task]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it: an error is one that is meant for the user."""

    number: int
    result: Shard | ProRubricError


async def run_in_processes(work: "Work", tasks: Iterator[Task]) -> AsyncGenerator[Done[Row], None]:
    """Every task through the plan, in order, by this process and others."""
    crew = Crew(work.config.http, work.config.processes)
    setup = Setup(work.config.generator, crew.http, work.plan, str(work.journal.resolve()))
    async with AsyncExitStack() as stack:
        runner = make_runner(setup, stack.enter_context(Journal(work.journal)))
        stack.push_async_callback(runner.close)
        work.stop.listeners.append(runner.stop)
        crew.add(runner)
        for _ in range(crew.size - 1):
            other = await _Other.start(setup, crew)
            stack.push_async_callback(other.close)
            work.stop.listeners.append(other.stop)
        async with aclosing(crew.run(tasks, work.usage)) as results:
            async for done in results:
                yield done


def make_runner(setup: Setup, journal: Journal) -> ShardRunner:
    """The work as this process does it."""
    usage = Usage()
    model = make_text_model(setup.generator, setup.http, usage)
    return ShardRunner(model, keep_text(model, journal, usage), usage, setup.plan)


async def serve_shards(connection: socket.socket) -> None:
    """The other end: do what is asked for until nobody is there to ask.

    An error that is not meant for the user ends this process, and comes up again where its shard is done next.
    """
    reader, writer = await asyncio.open_connection(sock=connection, limit=_BUFFER_BYTES)
    setup = await _receive(reader)
    if not isinstance(setup, Setup):
        return
    with Journal(setup.journal) as journal:
        runner = make_runner(setup, journal)
        _send(writer, Ready())
        async with asyncio.TaskGroup() as group:
            jobs = set()
            while (message := await _receive(reader)) is not None:
                if isinstance(message, Order):
                    job = group.create_task(_answer(message, runner, writer))
                    jobs.add(job)
                    job.add_done_callback(jobs.discard)
                else:
                    runner.stop()
            for job in jobs:
                job.cancel()
        await runner.close()


async def _answer(order: Order, runner: ShardRunner, writer: asyncio.StreamWriter) -> None:
    try:
        result: Shard | ProRubricError = await runner.run(order.tasks)
    except ProRubricError as error:
        result = error
    _send(writer, Answer(order.number, result))


class _Other:
    """Another process, as this one sees it."""

    def __init__(self, process: Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._process, self._reader, self._writer = process, reader, writer
        self._numbers = count()
        self._waiting: dict[int, asyncio.Future[Shard]] = {}
        self._is_closing = False
        self._listening: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, setup: Setup, crew: Crew) -> "_Other":
        """Start a process; it joins the crew when it is ready."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "prorubric.compile.worker", str(theirs.fileno())),
                pass_fds=[theirs.fileno()],
                stdin=DEVNULL,
                stdout=DEVNULL,  # what a model of the user's own prints must not end up among the results
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(part or str(Path.cwd()) for part in sys.path)},
            )
        other = cls(process, *await asyncio.open_connection(sock=ours, limit=_BUFFER_BYTES))
        _send(other._writer, setup)
        other._listening = asyncio.create_task(other._listen(crew))
        return other

    async def run(self, tasks: list[Task]) -> Shard:
        """A shard, done over there."""
        if self._writer.is_closing():
            raise LostWorkerError
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        _send(self._writer, Order(number, tasks))
        return await self._waiting[number]

    def stop(self) -> None:
        """Tell it to begin no further shard; what it has under way comes back."""
        if not self._writer.is_closing():
            _send(self._writer, NoMore())

    async def close(self) -> None:
        """End it: it sees that nobody is there any more."""
        self._is_closing = True
        self._writer.close()
        if self._listening is not None:
            await self._listening
        try:
            await asyncio.wait_for(self._process.wait(), _SECONDS_TO_END)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def _listen(self, crew: Crew) -> None:
        while (message := await _receive(self._reader)) is not None:
            if isinstance(message, Ready):
                crew.add(self)
            else:
                self._take(message)
        self._writer.close()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(LostWorkerError())
        if not self._is_closing:
            warnings.warn("a process of this run is gone; the others do its tasks", LostProcessWarning, stacklevel=1)

    def _take(self, answer: Answer) -> None:
        waiting = self._waiting.pop(answer.number)
        if waiting.done():  # cancelled: nobody wants it any more
            return
        if isinstance(answer.result, Shard):
            waiting.set_result(answer.result)
        else:
            waiting.set_exception(answer.result)


def _send(writer: asyncio.StreamWriter, message: object) -> None:
    """Send a message. What waits to be sent is bounded by the shards that a worker may have."""
    data = pickle.dumps(message)
    writer.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)


async def _receive(reader: asyncio.StreamReader) -> Any:
    """The next message; None where there will be none."""
    try:
        length = int.from_bytes(await reader.readexactly(_LENGTH_BYTES), "big")
        return pickle.loads(await reader.readexactly(length))  # noqa: S301 - from a process that we started
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
