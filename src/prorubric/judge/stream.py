"""Many responses through a judge: a window of them at once, results in the order of the input, flat memory."""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass

from prorubric.judge.items import Reading
from prorubric.judge.judge import Judge, Judgement
from prorubric.llm.together import run_in_order, run_together
from prorubric.rubric.records import Response, Task
from prorubric.rubric.verdict import Unknown


@dataclass(frozen=True, slots=True)
class Judged:
    """One response with its verdicts by reading."""

    task: Task
    response: Response
    judgements: Mapping[Reading, Judgement]

    @property
    def is_open(self) -> bool:
        """True if a verdict is unknown."""
        return any(isinstance(verdict, Unknown) for found in self.judgements.values() for verdict in found.verdicts)


def judge_stream(
    judge: Judge, cases: Iterable[tuple[Task, Response]], readings: Sequence[Reading], window: int
) -> AsyncGenerator[Judged, None]:
    """Judge every case; at most `window` are under way. An error that ends the run ends all of them at once."""
    return run_in_order((_judge_one(judge, task, response, readings) for task, response in cases), window)


async def _judge_one(judge: Judge, task: Task, response: Response, readings: Sequence[Reading]) -> Judged:
    judgements = await run_together(judge.judge(task, response.text, reading) for reading in readings)
    return Judged(task, response, dict(zip(readings, judgements, strict=True)))
