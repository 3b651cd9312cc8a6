"""A run on many machines: Ray places the workers, asyncio does the work in each of them.

The driver deals out shards of items and puts the results in order. One actor on the driver's machine owns the journal,
and a worker stores every reply there before it uses it. A worker that dies therefore loses the calls in flight and
nothing else: Ray restarts it, and its shards find their replies in the journal.

The limits of an endpoint hold for all workers together: each gets its share. An API key is read from the environment of
the worker's own machine and never travels.
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from prorubric.errors import MissingExtraError, ModelError
from prorubric.llm.accounting import Usage
from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal
from prorubric.llm.together import run_in_order, run_together
from prorubric.runs.engines import EngineOptions, ItemT, Job, ResultT
from prorubric.runs.models import CallGate, Models
from prorubric.runs.run import Run
from prorubric.runs.stop import Stop

_MOST_RETRIES = 5
"""How often a shard is tried again after its worker died; a shard that kills every worker is at fault itself."""
_SHARDS_PER_WORKER = 8
_LARGEST_SHARD = 32
_SECONDS_TO_CLOSE = 10
_SHARED_LIMITS = ("concurrency", "requests_per_minute", "tokens_per_minute")


class _WorkerActor:
    """A worker with its own models."""

    def __init__(
        self, models: Sequence[str], job: Job[Any, Any], http: HttpConfig, journal: str, max_calls: int | None
    ) -> None:
        self._stop = Stop()
        self._gate = CallGate(self._stop, max_calls)
        self._models = Models(http, self._gate)
        actor = _import_ray().get_actor(journal)
        kept: Any = SimpleNamespace(find=actor.find.remote, keep=actor.keep.remote)
        self._work = job(*(self._models.open(model, kept) for model in models))

    async def run(self, items: list[Any]) -> tuple[list[Any], dict[str, Usage], str]:
        """The results, what they used of each model, and why the worker has stopped, if it has."""
        results = await run_together(map(self._work, [] if self._stop.asked else items))
        return results, {model: used.take() for model, used in self._gate.usage.items()}, self._stop.reason

    async def stop(self) -> None:
        self._stop.ask()

    async def close(self) -> None:
        await self._models.close()


async def run_on_ray(
    models: Sequence[str],
    job: Job[ItemT, ResultT],
    items: Iterator[ItemT],
    run: Run,
    options: EngineOptions,
    journal_path: Path,
) -> AsyncGenerator[ResultT, None]:
    """The result for every item, in order, from actors."""
    ray = _import_ray()
    is_ours = not ray.is_initialized()
    if is_ours:
        # What workers print must not end up among the results on stdout.
        ray.init(log_to_driver=False, logging_level="error", include_dashboard=False)
        run.stop.listen()  # Ray installs a SIGTERM handler that would end this process at once
    most = run.gate.max_calls
    size, http = share_limits(options.http, min(options.workers, most or options.workers))
    window = 2 * http.concurrency
    shard_size = max(1, min(_LARGEST_SHARD, window // _SHARDS_PER_WORKER))
    shards_at_once = -(-window // shard_size)
    keeper, workers = _start_actors(ray, (models, job, http), journal_path, size, shards_at_once, most)
    run.stop.listeners += [worker.stop.remote for worker in workers]
    free: asyncio.Queue[Any] = asyncio.Queue()
    for worker in workers * shards_at_once:
        free.put_nowait(worker)

    async def run_shard(shard: list[ItemT]) -> tuple[list[ResultT], dict[str, Usage], str]:
        worker = await free.get()
        try:
            done: tuple[list[ResultT], dict[str, Usage], str] = await worker.run.remote(shard)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayError as error:
            raise ModelError(f"a Ray worker failed ({type(error).__name__}); see Ray's logs") from error
        free.put_nowait(worker)
        return done

    def deal() -> Iterator[Coroutine[Any, Any, tuple[list[ResultT], dict[str, Usage], str]]]:
        while shard := list(islice(items, shard_size)):
            yield run_shard(shard)

    try:
        # Twice as many as there is room for: a slow first shard must not keep the workers waiting.
        async with aclosing(run_in_order(deal(), 2 * shards_at_once * size)) as shards:
            async for results, used, stopped in shards:
                for model, usage in used.items():
                    run.gate.usage[model].merge(usage)
                run.gate.check_budget()
                if stopped:
                    run.stop.ask(f"--max-calls {most} is reached")
                for result in results:
                    yield result
    finally:
        for actor in (*workers, keeper):
            with suppress(ray.exceptions.RayError, TimeoutError):  # already gone, or about to be
                await asyncio.wait_for(actor.close.remote(), _SECONDS_TO_CLOSE)
            ray.kill(actor)
        if is_ours:
            ray.shutdown()


def _start_actors(
    ray: Any, arguments: tuple[Any, ...], path: Path, size: int, shards_at_once: int, most: int | None
) -> tuple[Any, list[Any]]:
    """The journal on this machine, and the workers wherever Ray puts them."""
    # Workers find the journal by name: a handle among their arguments would be lost with the process that made it.
    name = f"prorubric-journal-{uuid4().hex}"
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    journal = ray.remote(Journal).options(name=name, num_cpus=0, scheduling_strategy=here, max_concurrency=1000)
    worker = ray.remote(_WorkerActor).options(
        num_cpus=1, max_restarts=-1, max_task_retries=_MOST_RETRIES, max_concurrency=shards_at_once + 1
    )
    share = None if most is None else most // size
    return journal.remote(str(path.resolve())), [worker.remote(*arguments, name, share) for _ in range(size)]


def share_limits(http: HttpConfig, wanted: int) -> tuple[int, HttpConfig]:
    """How many workers there can be, and each one's share of the endpoint's limits.

    There are never more workers than can have a call, a request and a token each.
    """
    limits = {name: limit for name in _SHARED_LIMITS if (limit := getattr(http, name)) is not None}
    size = min(wanted, *limits.values())
    return size, replace(http, **{name: limit // size for name, limit in limits.items()})


def _import_ray() -> Any:
    try:
        import ray  # noqa: PLC0415 - an optional library
        import ray.util.scheduling_strategies  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError.of("--engine ray", "ray") from None
    return ray
