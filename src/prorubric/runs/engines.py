"""Where the work of a run is done: in this process, or in Ray actors on many machines.

A `Job` says what happens to each item and travels to wherever the work is done; there it starts a `Worker` around a
model. Results come back in the order of the items and are the same on every engine, and every reply is in the journal
before a worker uses it, so either engine can finish what the other began.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal
from prorubric.llm.together import run_in_order
from prorubric.runs.models import AnyModel
from prorubric.runs.run import Run
from prorubric.runs.stop import Stop

Engine = Literal["local", "ray"]
ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
ItemT_contra = TypeVar("ItemT_contra", contravariant=True)
ResultT_co = TypeVar("ResultT_co", covariant=True)


class Worker(Protocol[ItemT_contra, ResultT_co]):
    """Does the work on one item at a time, many at once."""

    async def run(self, item: ItemT_contra) -> ResultT_co:
        """The result for one item."""


class Job(Protocol[ItemT_contra, ResultT_co]):
    """What is done to each item, as a value that can be sent to another machine."""

    @property
    def model(self) -> str:
        """The model that the work needs, as the user wrote it."""

    def start(self, model: AnyModel) -> Worker[ItemT_contra, ResultT_co]:
        """A worker that asks this model."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a job is done."""

    http: HttpConfig
    journal: Path
    engine: Engine = "local"
    workers: int = 2

    @property
    def window(self) -> int:
        """How many items are begun at a time: twice the calls in flight, so a slow one does not hold up the rest."""
        return 2 * self.http.concurrency


async def run_job(
    job: Job[ItemT, ResultT], items: Iterable[ItemT], run: Run, place: Workplace
) -> AsyncGenerator[ResultT, None]:
    """The result for every item, in order. After a stop no item is begun, and those in flight are finished."""
    wanted = take_until_stopped(items, run.stop)
    run.models.make(job.model)  # even for Ray: a wrong name fails before anything starts
    if place.engine == "ray":
        from prorubric.runs.ray_engine import run_on_ray  # noqa: PLC0415 - loads an optional library

        await run.models.close()
        async with aclosing(run_on_ray(job, wanted, run, place)) as results:
            async for result in results:
                yield result
        return
    with Journal(place.journal) as journal:
        worker = job.start(run.models.open(job.model, journal))
        try:
            async for result in run_in_order((worker.run(item) for item in wanted), place.window):
                yield result
        finally:
            await run.models.close()


def take_until_stopped(items: Iterable[ItemT], stop: Stop) -> Iterator[ItemT]:
    """Items, until the run is asked to stop."""
    for item in items:
        if stop.asked:
            return
        yield item
