"""Run coroutines concurrently: a few, a window over very many, or from synchronous code."""

import asyncio
from asyncio import Task as Job
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from prorubric.errors import ProRubricError

ResultT = TypeVar("ResultT")

_STARTED_TOGETHER = 16
"""Coroutines started between two turns of the event loop once the window is full; a turn for each takes time."""


async def run_together(work: Iterable[Coroutine[Any, Any, ResultT]]) -> list[ResultT]:
    """The results in order. An error meant for the user is raised as itself, not inside an exception group."""
    coroutines = [*work]
    if len(coroutines) == 1:  # most often, and a group and a task take longer than many a coroutine
        return [await coroutines[0]]
    try:
        async with asyncio.TaskGroup() as group:
            jobs = [group.create_task(coroutine) for coroutine in coroutines]
    except BaseExceptionGroup as errors:
        error: BaseException | None = errors.subgroup(ProRubricError)
        if error is None:
            raise
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
    return [job.result() for job in jobs]


async def run_in_order(work: Iterable[Coroutine[Any, Any, ResultT]], window: int) -> AsyncGenerator[ResultT, None]:
    """The results in order, with at most `window` coroutines running.

    The first error cancels all of them and is raised without waiting for earlier results. The work is taken from its
    source as the window moves, so memory does not grow with its length.
    """
    running: deque[Job[ResultT]] = deque()
    failed: list[BaseException] = []

    def stop_all(job: Job[ResultT]) -> None:
        if failed or job.cancelled() or (error := job.exception()) is None:
            return
        failed.append(error)
        for other in running:
            other.cancel()

    async def take_first() -> ResultT:
        try:
            return await running[0]
        except asyncio.CancelledError:
            if failed:
                raise failed[0] from None
            raise
        finally:
            running.popleft()

    try:
        for number, coroutine in enumerate(work, 1):
            if failed:
                coroutine.close()
                raise failed[0]
            job = asyncio.create_task(coroutine)
            job.add_done_callback(stop_all)
            running.append(job)
            if number <= window or number % _STARTED_TOGETHER == 0:
                await asyncio.sleep(0)  # the first call goes out before the last is prepared
            if len(running) >= window:
                yield await take_first()
        while running:
            yield await take_first()
    finally:
        for job in running:
            job.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def run_sync(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run a coroutine to its end, even inside a running event loop, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    running: list[tuple[asyncio.AbstractEventLoop, Job[Any] | None]] = []

    async def run_and_tell() -> ResultT:
        running.append((asyncio.get_running_loop(), asyncio.current_task()))
        return await work

    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(asyncio.run, run_and_tell())
        try:
            return future.result()
        except KeyboardInterrupt:
            # Leaving this block waits for the thread, so its work has to end first.
            for loop, job in running:
                if job is not None:
                    loop.call_soon_threadsafe(job.cancel)
            raise
