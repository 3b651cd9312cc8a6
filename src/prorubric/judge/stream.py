"""Many responses through a judge: a window of them at once, results in the order of the input, flat memory."""

from asyncio import Task as Job
from asyncio import TaskGroup, create_task, gather
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass

from prorubric.judge.items import Reading
from prorubric.judge.judge import Judge, Judgement
from prorubric.rubric.records import Response, Task


@dataclass(frozen=True, slots=True)
class Judged:
    """One response with its verdicts by reading."""

    task: Task
    response: Response
    judgements: Mapping[Reading, Judgement]


async def judge_stream(
    judge: Judge, cases: Iterable[tuple[Task, Response]], readings: Sequence[Reading], window: int
) -> AsyncIterator[Judged]:
    """Judge every case; at most `window` are under way. An error that ends the run ends all of them."""
    jobs: deque[Job[Judged]] = deque()
    try:
        for task, response in cases:
            jobs.append(create_task(_judge_one(judge, task, response, readings)))
            if len(jobs) >= window:
                yield await jobs.popleft()
        while jobs:
            yield await jobs.popleft()
    finally:
        for job in jobs:
            job.cancel()
        await gather(*jobs, return_exceptions=True)


async def _judge_one(judge: Judge, task: Task, response: Response, readings: Sequence[Reading]) -> Judged:
    if len(readings) == 1:
        return Judged(task, response, {readings[0]: await judge.judge(task, response.text, readings[0])})
    async with TaskGroup() as group:
        jobs = {reading: group.create_task(judge.judge(task, response.text, reading)) for reading in readings}
    return Judged(task, response, {reading: job.result() for reading, job in jobs.items()})
