"""Many workers for one run: shards of tasks are dealt out to whoever has room, and come back in order.

A worker may be this process, another one beside it or an actor on another machine; each runs the same `ShardRunner` and
sets every reply down in the journal before it uses it. A worker that is lost takes its places with it, and its shards
are done again by another, which finds in the journal what was paid for. An error that is meant for the user ends all.

The limits of an endpoint hold for all workers together: each gets its share, and there are never more workers than
there is to share. A worker whose share the endpoint refuses slows down by itself.
"""

from asyncio import Future, get_running_loop, sleep
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

from prorubric.compile.compiler import Compiler
from prorubric.compile.work import Done, Plan, Row, process_to_row
from prorubric.llm.accounting import Usage
from prorubric.llm.http import HttpConfig
from prorubric.llm.make import stop_model
from prorubric.llm.model import Model
from prorubric.llm.together import run_in_order, run_together
from prorubric.rubric.records import Task

_SHARDS_AT_A_TIME = 8
"""Of one worker. Fewer and larger ones cost less time of the processor, and leave calls unused while one fills up."""
_LARGEST_SHARD = 32


@dataclass(frozen=True, slots=True)
class Shard:
    """What came of a shard, and what it used."""

    done: list[Done[Row]]
    usage: Usage


class LostWorkerError(Exception):
    """A worker is gone, with the shard that it had."""


class Worker(Protocol):
    """Whoever does the tasks of a shard."""

    async def run(self, tasks: list[Task]) -> Shard:
        """Every task of a shard, in order; raises `LostWorkerError` where nobody is left to do it."""


class ShardRunner:
    """The work itself, wherever it is done: by a model, which is asked through what keeps and counts its replies."""

    def __init__(self, model: Model, kept: Model, usage: Usage, plan: Plan) -> None:
        self._model = model
        self._compiler = Compiler(kept, plan.generation, plan.own_prompt)
        self._usage = usage
        self._plan = plan
        self._is_stopping = False

    async def run(self, tasks: list[Task]) -> Shard:
        """Every task of a shard, in order; none where somebody has asked to stop."""
        begun = [] if self._is_stopping else tasks
        done = await run_together(process_to_row(self._compiler, task, self._plan) for task in begun)
        return Shard(done, self._usage.take())

    def stop(self) -> None:
        """Begin no further shard, and send no further call."""
        self._is_stopping = True
        self._compiler.stop()
        stop_model(self._model)

    async def close(self) -> None:
        """Let go of the model."""
        await self._compiler.close()


class Crew:
    """The workers of one run, and which of them have room."""

    def __init__(self, http: HttpConfig, wanted: int) -> None:
        self.size = _count_workers(http, wanted)
        self.http = _share(http, self.size)
        """How each of them may treat the endpoint."""
        under_way = 2 * self.http.concurrency  # so that a call that takes long holds nobody up
        self.shard = max(1, min(_LARGEST_SHARD, under_way // _SHARDS_AT_A_TIME))
        """Tasks dealt out at a time."""
        self.places = -(-under_way // self.shard)
        """Shards that one worker has at a time."""
        self._free: deque[Worker] = deque()
        """A worker is in it once for each place that it has left."""
        self._waiting: deque[Future[Worker]] = deque()

    def add(self, worker: Worker) -> None:
        """Give shards to this one too."""
        for _ in range(self.places):
            self._give_back(worker)

    async def run(self, tasks: Iterator[Task], usage: Usage) -> AsyncGenerator[Done[Row], None]:
        """What became of the tasks, in order; what they used is added to `usage`."""
        # Twice as many as there are places: whoever is slow with the first of them must not keep the others waiting.
        async with aclosing(run_in_order(self._deal(tasks), 2 * self.places * self.size)) as shards:
            async for shard in shards:
                usage.merge(shard.usage)
                for done in shard.done:
                    yield done
                await sleep(0)  # calls go out and come in before the next shard is read

    def _deal(self, tasks: Iterator[Task]) -> Iterator[Coroutine[Any, Any, Shard]]:
        while shard := list(islice(tasks, self.shard)):
            yield self._run(shard)

    async def _run(self, tasks: list[Task]) -> Shard:
        while True:
            worker = await self._find_place()
            try:
                shard = await worker.run(tasks)
            except LostWorkerError:
                continue  # its place is not given out again
            self._give_back(worker)
            return shard

    async def _find_place(self) -> Worker:
        """First come, first served: the results are wanted in order, and `asyncio.Queue` lets a newcomer go first."""
        if self._free and not self._waiting:
            return self._free.popleft()
        turn: Future[Worker] = get_running_loop().create_future()
        self._waiting.append(turn)
        return await turn

    def _give_back(self, worker: Worker) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # cancelled
                turn.set_result(worker)
                return
        self._free.append(worker)


def _count_workers(http: HttpConfig, wanted: int) -> int:
    """No more than can have a call, a request and a token each."""
    return min([wanted, *(limit for limit in _limits_of(http).values() if limit is not None)])


def _share(http: HttpConfig, workers: int) -> HttpConfig:
    """One worker's part of the limits."""
    shares = {name: limit and limit // workers for name, limit in _limits_of(http).items()}
    return replace(http, **shares)  # type: ignore[arg-type]


def _limits_of(http: HttpConfig) -> dict[str, int | None]:
    return {
        "concurrency": http.concurrency,
        "requests_per_minute": http.requests_per_minute,
        "tokens_per_minute": http.tokens_per_minute,
    }
