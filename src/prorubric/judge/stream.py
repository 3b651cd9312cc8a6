"""Many responses through a judge: a window of them at once, results in the order of the input, flat memory."""

from asyncio import CancelledError, create_task, gather, sleep
from asyncio import Task as Job
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prorubric.judge.items import Reading
from prorubric.judge.judge import Judge, Judgement
from prorubric.judge.together import run_together
from prorubric.rubric.records import Response, Task


@dataclass(frozen=True, slots=True)
class Judged:
    """One response with its verdicts by reading."""

    task: Task
    response: Response
    judgements: Mapping[Reading, Judgement]


async def judge_stream(
    judge: Judge, cases: Iterable[tuple[Task, Response]], readings: Sequence[Reading], window: int
) -> AsyncGenerator[Judged, None]:
    """Judge every case; at most `window` are under way. An error that ends the run ends all of them at once."""
    jobs = _Window()
    try:
        for task, response in cases:
            jobs.start(_judge_one(judge, task, response, readings))
            await sleep(0)  # the first call goes out before the last is prepared
            if len(jobs.running) >= window:
                yield await jobs.take_first()
        while jobs.running:
            yield await jobs.take_first()
    finally:
        jobs.cancel()
        await gather(*jobs.running, return_exceptions=True)


class _Window:
    """Jobs under way, in order. The first error, wherever it happens, is raised without waiting for those before it."""

    def __init__(self) -> None:
        self.running: deque[Job[Judged]] = deque()
        self._error: BaseException | None = None

    def start(self, work: Coroutine[Any, Any, Judged]) -> None:
        job = create_task(work)
        job.add_done_callback(self._stop_all)
        self.running.append(job)

    async def take_first(self) -> Judged:
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

    def _stop_all(self, job: Job[Judged]) -> None:
        if self._error is None and not job.cancelled() and job.exception() is not None:
            self._error = job.exception()
            self.cancel()


async def _judge_one(judge: Judge, task: Task, response: Response, readings: Sequence[Reading]) -> Judged:
    judgements = await run_together(judge.judge(task, response.text, reading) for reading in readings)
    return Judged(task, response, dict(zip(readings, judgements, strict=True)))
