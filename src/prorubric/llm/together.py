"""Several questions at once: all of a few, a window of very many, and asynchronous work called from plain code."""

from asyncio import (
    AbstractEventLoop,
    CancelledError,
    TaskGroup,
    create_task,
    current_task,
    gather,
    get_running_loop,
    run,
    sleep,
)
from asyncio import Task as Job
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from prorubric.errors import ProRubricError

ResultT = TypeVar("ResultT")

_BEGUN_TOGETHER = 16
"""Coroutines that are begun between two turns of the event loop, once a window is full. A processor is faster at doing
one thing many times than many things in turn: a turn for each was a fifth of all the time of a compile run."""


async def run_together(work: Iterable[Coroutine[Any, Any, ResultT]]) -> list[ResultT]:
    """The results in order. An error that is meant for the user comes out as itself, not in a group of errors."""
    try:
        async with TaskGroup() as group:
            jobs = [group.create_task(coroutine) for coroutine in work]
    except BaseExceptionGroup as errors:
        meant = errors.subgroup(ProRubricError)
        if meant is None:
            raise
        raise _first(meant) from None
    return [job.result() for job in jobs]


async def run_in_order(work: Iterable[Coroutine[Any, Any, ResultT]], window: int) -> AsyncGenerator[ResultT, None]:
    """The results in order, with at most `window` coroutines under way; an error that ends one ends all at once.

    The work is taken from its source as room is made, so that memory does not grow with its length.
    """
    jobs: _Window[ResultT] = _Window()
    try:
        for number, coroutine in enumerate(work, 1):
            jobs.start(coroutine)
            if number <= window or number % _BEGUN_TOGETHER == 0:
                await sleep(0)  # the first call goes out before the last is prepared
            if len(jobs.running) >= window:
                yield await jobs.take_first()
        while jobs.running:
            yield await jobs.take_first()
    finally:
        jobs.cancel()
        await gather(*jobs.running, return_exceptions=True)


class _Window(Generic[ResultT]):
    """Jobs under way, in order. The first error, wherever it happens, is raised without waiting for those before it."""

    def __init__(self) -> None:
        self.running: deque[Job[ResultT]] = deque()
        self._error: BaseException | None = None

    def start(self, work: Coroutine[Any, Any, ResultT]) -> None:
        if self._error is not None:
            work.close()
            raise self._error
        job = create_task(work)
        job.add_done_callback(self._stop_all)
        self.running.append(job)

    async def take_first(self) -> ResultT:
        try:
            return await self.running[0]
        except CancelledError:
            if self._error is not None:
                raise self._error from None
            raise
        finally:
            self.running.popleft()

    def cancel(self) -> None:
        for job in self.running:
            job.cancel()

    def _stop_all(self, job: Job[ResultT]) -> None:
        if self._error is None and not job.cancelled() and job.exception() is not None:
            self._error = job.exception()
            self.cancel()


def run_sync(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run asynchronous work to its end, also where an event loop runs already, as in a notebook."""
    if not _is_running():
        return run(work)
    under_way: list[tuple[AbstractEventLoop, Job[Any] | None]] = []

    async def tell() -> ResultT:
        under_way.append((get_running_loop(), current_task()))
        return await work

    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(run, tell())
        try:
            return future.result()
        except KeyboardInterrupt:
            # Leaving this block waits for the thread: what it does must end first.
            for loop, job in under_way:
                if job is not None:
                    loop.call_soon_threadsafe(job.cancel)
            raise


def _is_running() -> bool:
    try:
        get_running_loop()
    except RuntimeError:
        return False
    return True


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
