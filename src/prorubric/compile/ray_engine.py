"""The same work on many machines: Ray places it, asyncio does it.

The driver reads the tasks and deals out shards of them; each actor runs the local engine on its shard; the driver
writes the results in order. One actor on the driver's machine keeps the one journal, and a worker sets every reply
down there before it uses it. So a worker that dies loses the calls in flight and nothing else: Ray starts it again,
here or elsewhere, with the shard it had, whose replies are already in the journal. Results are the same as those of
the local engine, and either engine can finish what the other began.

Each worker gets its share of the limits on calls in flight, requests and tokens. The key of an endpoint is read from
the environment of the worker's own machine; it does not travel.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from prorubric.compile.compiler import Compiler
from prorubric.compile.work import Done, Plan, process
from prorubric.errors import MissingExtraError, ModelError
from prorubric.llm.accounting import CountedModel, Usage
from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal, key_of
from prorubric.llm.make import make_text_model
from prorubric.llm.model import Around, Model, Outcome, Reply, Request
from prorubric.llm.together import run_in_order
from prorubric.rubric.records import Task

if TYPE_CHECKING:
    from prorubric.compile.run import Work

_SHARD = 8
"""Tasks dealt out at a time: few enough that small files reach every worker, many enough for one message."""
_MOST_TAKEOVERS = 5
"""How often a shard is taken over; one that kills every worker is no accident."""


@dataclass(frozen=True, slots=True)
class _Shard:
    """What came of a shard, and what it used."""

    done: list[Done]
    usage: Usage


class _Keeper:
    """The journal, in one process that every worker can reach."""

    def __init__(self, path: str) -> None:
        self._journal = Journal(path)

    async def get(self, key: str) -> Reply | None:
        """The reply to a question, or None."""
        return self._journal.get(key)

    async def put(self, key: str, reply: Reply, model: str) -> None:
        """Keep a reply for good before this returns."""
        self._journal.put(key, reply, {"model": model})

    async def close(self) -> None:
        """Let go of the file."""
        self._journal.close()


class _KeptModel(Around[Model]):
    """A model whose replies are kept by the keeper. A question in flight twice is asked twice; the first one stays."""

    def __init__(self, model: Model, keeper: Any) -> None:
        super().__init__(model)
        self._keeper = keeper

    async def complete(self, request: Request) -> Outcome:
        """Answer from the journal, or by asking."""
        key = key_of(self._model.identity, request)
        kept: Reply | None = await self._keeper.get.remote(key)
        if kept is not None:
            return kept
        outcome = await self._model.complete(request)
        if isinstance(outcome, Reply):
            await self._keeper.put.remote(key, outcome, self.name)
        return outcome


class _Worker:
    """The local engine in an actor."""

    def __init__(self, generator: str, http: HttpConfig, plan: Plan, keeper: str) -> None:
        self._usage = Usage()
        model = make_text_model(generator, http, self._usage)
        kept = _KeptModel(model, _import_ray().get_actor(keeper))
        self._compiler = Compiler(CountedModel(kept, self._usage), plan.generation)
        self._plan = plan
        self._is_stopping = False

    async def run(self, tasks: list[Task]) -> _Shard:
        """Every task of a shard, in order."""
        work = (process(self._compiler, task, self._plan) for task in tasks if not self._is_stopping)
        done = [one async for one in run_in_order(work, _SHARD)]
        return _Shard(done, self._usage.take())

    async def stop(self) -> None:
        """Begin no further task."""
        self._is_stopping = True

    async def close(self) -> None:
        """Let go of the sockets."""
        await self._compiler.close()


async def run_on_ray(work: "Work", tasks: Iterator[Task]) -> AsyncGenerator[Done, None]:
    """Every task through the plan, in order, by actors."""
    ray = _import_ray()
    is_ours = not ray.is_initialized()
    if is_ours:
        # What workers print must not end up among the results on stdout.
        ray.init(log_to_driver=False, logging_level="error", include_dashboard=False)
    pool = _Pool(ray, work)
    work.stop.listeners.append(pool.stop)
    try:
        async for shard in run_in_order(pool.deal(tasks), pool.places):
            work.usage.merge(shard.usage)
            for done in shard.done:
                yield done
    finally:
        await pool.close()
        if is_ours:
            ray.shutdown()


class _Pool:
    """The actors, and which of them have room."""

    def __init__(self, ray: Any, work: "Work") -> None:
        self._ray = ray
        config, plan, journal = work.config, work.plan, work.journal
        http = _share(config.http, config.workers)
        # Twice the calls that a worker may have in flight, so that one that takes long holds nobody up.
        shards = max(2, -(-2 * http.concurrency // _SHARD))
        self.places = shards * config.workers
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        # Workers find it by name: a handle among their arguments would be lost with the process that made it.
        name = f"prorubric-journal-{uuid4().hex}"
        keeper = ray.remote(_Keeper).options(name=name, num_cpus=0, scheduling_strategy=here, max_concurrency=1000)
        self._keeper = keeper.remote(str(journal.resolve()))
        worker = ray.remote(_Worker).options(
            num_cpus=1, max_restarts=-1, max_task_retries=_MOST_TAKEOVERS, max_concurrency=shards + 1
        )
        self._workers = [worker.remote(config.generator, http, plan, name) for _ in range(config.workers)]
        self._free: asyncio.Queue[Any] = asyncio.Queue()
        for one in self._workers * shards:
            self._free.put_nowait(one)

    def deal(self, tasks: Iterator[Task]) -> Iterator[Any]:
        """The work, shard by shard; each waits for a worker that has room."""
        while shard := list(islice(tasks, _SHARD)):
            yield self._run(shard)

    def stop(self) -> None:
        """Tell the workers to begin no further task; what they have under way comes back."""
        for worker in self._workers:
            worker.stop.remote()

    async def close(self) -> None:
        """End the actors that this run started."""
        for actor in (*self._workers, self._keeper):
            await self._end(actor)

    async def _run(self, tasks: list[Task]) -> _Shard:
        worker = await self._free.get()
        try:
            shard: _Shard = await worker.run.remote(tasks)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            raise ModelError(f"a Ray worker could not do its tasks ({type(error).__name__}); see Ray's logs") from error
        finally:
            self._free.put_nowait(worker)
        return shard

    async def _end(self, actor: Any) -> None:
        with suppress(self._ray.exceptions.RayError, TimeoutError):  # it is gone already, or will be in a moment
            await asyncio.wait_for(actor.close.remote(), 10)
        self._ray.kill(actor)


def _share(http: HttpConfig, workers: int) -> HttpConfig:
    """One worker's part of the limits."""
    return replace(
        http,
        concurrency=max(1, http.concurrency // workers),
        requests_per_minute=http.requests_per_minute and max(1, http.requests_per_minute // workers),
        tokens_per_minute=http.tokens_per_minute and max(1, http.tokens_per_minute // workers),
    )


def _import_ray() -> Any:
    try:
        import ray  # noqa: PLC0415 - an optional library
        import ray.util.scheduling_strategies  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError.of("--engine ray", "ray") from None
    return ray
