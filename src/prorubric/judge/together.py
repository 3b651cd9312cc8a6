"""Several questions at once: if one of them cannot go on, all stop, and the error is the one that was raised."""

from asyncio import TaskGroup
from collections.abc import Coroutine, Iterable
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


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
