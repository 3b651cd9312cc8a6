"""Where the work of a run is done: in this process, or in Ray actors on many machines.

A `Job` travels to wherever the work is done, is given its models there, and returns the function that works on one
item. Results come back in the order of the items and are the same on every engine, and every reply is in the journal
before it is used, so either engine can finish what the other began.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from prorubric.llm.journal import Journal
from prorubric.llm.together import run_in_order
from prorubric.rubric.base import config_record
from prorubric.runs.run import Run, RunOptions
from prorubric.runs.stop import Stop

Engine = Literal["local", "ray"]
ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
Job = Callable[..., Callable[[ItemT], Coroutine[Any, Any, ResultT]]]
"""Called with one model for each that the run names, in this order."""


@config_record
class EngineOptions(RunOptions):
    """Options of every verb whose work can be done on any engine."""

    _: KW_ONLY
    engine: Engine = "local"
    """Where to run: on this machine, or in Ray actors on many machines."""
    workers: Annotated[int, Field(ge=1)] = 2
    """Ray: number of actors."""

    @property
    def window(self) -> int:
        """How many items are begun at a time: twice the calls in flight, so a slow one does not hold up the rest."""
        return 2 * self.http.concurrency


async def run_job(
    models: Sequence[str],
    job: Job[ItemT, ResultT],
    items: Iterable[ItemT],
    run: Run,
    options: EngineOptions,
    journal_path: Path,
) -> AsyncGenerator[ResultT, None]:
    """The result for every item, in order. After a stop no item is begun, and those in flight are finished."""
    wanted = take_until_stopped(items, run.stop)
    for model in models:
        run.models.make(model)  # even for Ray: a wrong name fails before anything starts
    if options.engine == "ray":
        from prorubric.runs.ray_engine import run_on_ray  # noqa: PLC0415 - loads an optional library

        await run.models.close()
        async with aclosing(run_on_ray(models, job, wanted, run, options, journal_path)) as results:
            async for result in results:
                yield result
        return
    with Journal(journal_path) as journal:
        work = job(*(run.models.open(model, journal) for model in models))
        try:
            async for result in run_in_order(map(work, wanted), options.window):
                yield result
        finally:
            await run.models.close()


def take_until_stopped(items: Iterable[ItemT], stop: Stop) -> Iterator[ItemT]:
    """Items, until the run is asked to stop."""
    for item in items:
        if stop.asked:
            return
        yield item
