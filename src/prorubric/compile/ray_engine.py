"""The same work on many machines: Ray places it, asyncio does it.

The driver reads the tasks and deals out shards of them to actors, and writes the results in order (see `crew`). One
actor on the driver's machine keeps the one journal, and a worker sets every reply down there before it uses it. So a
worker that dies loses the calls in flight and nothing else: Ray starts it again, here or elsewhere, with the shard it
had, whose replies are already in the journal. Results are the same as those of the local engine, and either engine can
finish what the other began.

The key of an endpoint is read from the environment of the worker's own machine; it does not travel.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from prorubric.compile.crew import Crew, Shard, ShardRunner
from prorubric.compile.work import Done, Plan, Row
from prorubric.errors import MissingExtraError, ModelError
from prorubric.llm.accounting import CountedModel, Usage
from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal, key_of
from prorubric.llm.make import make_text_model
from prorubric.llm.model import Around, Model, Outcome, Reply, Request
from prorubric.rubric.records import Task

if TYPE_CHECKING:
    from prorubric.compile.run import Work

_MOST_TAKEOVERS = 5
"""How often a shard is taken over; one that kills every worker is no accident."""


class _Keeper:
    """The journal, in one process that every worker can reach."""

    def __init__(self, path: str) -> None:
        self._journal = Journal(path)

    async def get(self, key: str) -> tuple[Reply | None, bool]:
        """The reply to a question, or None; and whether it is damaged."""
        return self._journal.get(key), key in self._journal.damaged

    async def put(self, key: str, reply: Reply, model: str) -> Reply:
        """Keep a reply for good before this returns, and give the one that is kept."""
        return await self._journal.keep(key, reply, {"model": model})

    async def close(self) -> None:
        """Let go of the file."""
        self._journal.close()


class _KeptModel(Around[Model]):
    """A model whose replies are kept by the keeper. A question in flight twice is asked twice; the first one stays."""

    def __init__(self, model: Model, keeper: Any, usage: Usage) -> None:
        super().__init__(model)
        self._keeper = keeper
        self._usage = usage

    async def complete(self, request: Request) -> Outcome:
        """Answer from the journal, or by asking."""
        key = key_of(self._model.identity, request)
        kept: Reply | None
        kept, is_damaged = await self._keeper.get.remote(key)
        if kept is not None:
            return kept
        self._usage.damaged += is_damaged
        outcome = await self._model.complete(request)
        if isinstance(outcome, Reply):
            outcome = await self._keeper.put.remote(key, outcome, self.name)
        return outcome


class _Worker:
    """The work in an actor."""

    def __init__(self, generator: str, http: HttpConfig, plan: Plan, keeper: str) -> None:
        usage = Usage()
        model = make_text_model(generator, http, usage)
        kept = _KeptModel(model, _import_ray().get_actor(keeper), usage)
        self._runner = ShardRunner(model, CountedModel(kept, usage), usage, plan)

    async def run(self, tasks: list[Task]) -> Shard:
        """Every task of a shard, in order."""
        return await self._runner.run(tasks)

    async def stop(self) -> None:
        """Begin no further shard."""
        self._runner.stop()

    async def close(self) -> None:
        """Let go of the sockets."""
        await self._runner.close()


async def run_on_ray(work: "Work", tasks: Iterator[Task]) -> AsyncGenerator[Done[Row], None]:
    """Every task through the plan, in order, by actors."""
    ray = _import_ray()
    is_ours = not ray.is_initialized()
    if is_ours:
        # What workers print must not end up among the results on stdout.
        ray.init(log_to_driver=False, logging_level="error", include_dashboard=False)
        work.stop.listen()  # Ray has a handler of its own for a terminate, which would end this process at once
    crew = Crew(work.config.http, work.config.workers)
    pool = _Pool(ray, work, crew)
    work.stop.listeners.append(pool.stop)
    try:
        async with aclosing(crew.run(tasks, work.usage)) as results:
            async for done in results:
                yield done
    finally:
        await pool.close()
        if is_ours:
            ray.shutdown()


class _Pool:
    """The actors of a run."""

    def __init__(self, ray: Any, work: "Work", crew: Crew) -> None:
        self._ray = ray
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        # Workers find it by name: a handle among their arguments would be lost with the process that made it.
        name = f"prorubric-journal-{uuid4().hex}"
        keeper = ray.remote(_Keeper).options(name=name, num_cpus=0, scheduling_strategy=here, max_concurrency=1000)
        self._keeper = keeper.remote(str(work.journal.resolve()))
        worker = ray.remote(_Worker).options(
            num_cpus=1, max_restarts=-1, max_task_retries=_MOST_TAKEOVERS, max_concurrency=crew.places + 1
        )
        setup = (work.config.generator, crew.http, work.plan, name)
        self._workers = [worker.remote(*setup) for _ in range(crew.size)]
        for actor in self._workers:
            crew.add(_Actor(ray, actor))

    def stop(self) -> None:
        """Tell the workers to begin no further shard; what they have under way comes back."""
        for worker in self._workers:
            worker.stop.remote()

    async def close(self) -> None:
        """End the actors that this run started."""
        for actor in (*self._workers, self._keeper):
            await self._end(actor)

    async def _end(self, actor: Any) -> None:
        with suppress(self._ray.exceptions.RayError, TimeoutError):  # it is gone already, or will be in a moment
            await asyncio.wait_for(actor.close.remote(), 10)
        self._ray.kill(actor)


class _Actor:
    """A worker, as the driver sees it. One that dies is started again by Ray."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._errors = ray.exceptions
        self._actor = actor

    async def run(self, tasks: list[Task]) -> Shard:
        """A shard, done by the actor."""
        try:
            shard: Shard = await self._actor.run.remote(tasks)
        except self._errors.RayTaskError as error:
            raise error.cause from None
        except self._errors.RayError as error:
            raise ModelError(f"a Ray worker could not do its tasks ({type(error).__name__}); see Ray's logs") from error
        return shard


def _import_ray() -> Any:
    try:
        import ray  # noqa: PLC0415 - an optional library
        import ray.util.scheduling_strategies  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError.of("--engine ray", "ray") from None
    return ray
