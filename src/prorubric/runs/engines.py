"""Where the work of a run is done: in this process, or in Ray actors on many machines.

A `Job` says what happens to each item and travels to wherever the work is done; there it starts a `Worker` around a
model. Results come back in the order of the items and are the same on every engine, and every reply is in the journal
before a worker uses it, so either engine can finish what the other began.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from prorubric.llm.accounting import Usage
from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal
from prorubric.llm.make import keep_model, make_model, stop_model
from prorubric.llm.model import Model, YesNoModel
from prorubric.llm.together import run_in_order
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

    def stop(self) -> None:
        """Ask the model nothing more."""


class Job(Protocol[ItemT_contra, ResultT_co]):
    """What is done to each item, as a value that can be sent to another machine."""

    @property
    def model(self) -> str:
        """The model that the work needs, as the user wrote it."""

    def start(self, model: Model | YesNoModel) -> Worker[ItemT_contra, ResultT_co]:
        """A worker that asks this model."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """What an engine needs besides the job: the endpoint's limits, the journal, and what is counted and asked."""

    http: HttpConfig
    journal: Path
    usage: Usage
    stop: Stop
    engine: Engine = "local"
    workers: int = 2

    @property
    def window(self) -> int:
        """How many items are begun at a time: twice the calls in flight, so a slow one does not hold up the rest."""
        return 2 * self.http.concurrency


async def run_job(job: Job[ItemT, ResultT], items: Iterator[ItemT], place: Workplace) -> AsyncGenerator[ResultT, None]:
    """The result for every item, in order."""
    model = make_model(
        job.model, place.http, place.usage
    )  # here even for Ray: a wrong name fails before anything starts
    if place.engine == "ray":
        from prorubric.runs.ray_engine import run_on_ray  # noqa: PLC0415 - loads an optional library

        await model.close()
        async with aclosing(run_on_ray(job, items, place)) as results:
            async for result in results:
                yield result
        return
    with Journal(place.journal) as journal:
        worker = job.start(keep_model(model, journal, place.usage))
        place.stop.listeners += [worker.stop, lambda: stop_model(model)]
        try:
            async for result in run_in_order((worker.run(item) for item in items), place.window):
                yield result
        finally:
            await model.close()
