"""Several questions at once, and asynchronous work called from plain code."""

from asyncio import TaskGroup, get_running_loop, run
from collections.abc import Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from prorubric.errors import ProRubricError

ResultT = TypeVar("ResultT")


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


def run_sync(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run asynchronous work to its end, also where an event loop runs already, as in a notebook."""
    if not _is_running():
        return run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run, work).result()


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
