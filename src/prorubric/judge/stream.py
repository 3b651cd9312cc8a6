"""Many responses through a judge: a window of them at once, results in the order of the input, flat memory."""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass

from prorubric.judge.judge import Judge, Judgement
from prorubric.judge.readings import Reading
from prorubric.llm.together import run_in_order
from prorubric.rubric.records import Response, Task
from prorubric.rubric.verdict import Unknown


@dataclass(frozen=True, slots=True)
class Judged:
    """One response with its judgements by the name of the reading."""

    task: Task
    response: Response
    judgements: Mapping[str, Judgement]

    @property
    def is_open(self) -> bool:
        """True if a verdict is unknown."""
        return any(isinstance(verdict, Unknown) for found in self.judgements.values() for verdict in found.verdicts)


def judge_stream(
    judge: Judge, cases: Iterable[tuple[Task, Response]], readings: Sequence[str | Reading], window: int
) -> AsyncGenerator[Judged, None]:
    """Judge every case, at most `window` at a time. An error that ends the run ends all of them at once."""

    async def judge_one(task: Task, response: Response) -> Judged:
        return Judged(task, response, await judge.judge_all(task, response.text, readings))

    return run_in_order((judge_one(task, response) for task, response in cases), window)
