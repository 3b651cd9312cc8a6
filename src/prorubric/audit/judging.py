"""The texts of an audit and their verdicts: every answer, its edits and its controls, each judged once per reading."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from prorubric.aggregate.choose import score_readings
from prorubric.audit.edits.kind import MadeEdit, NotMade
from prorubric.audit.liveness import AGAIN
from prorubric.judge.judge import Judge
from prorubric.judge.readings import Reading
from prorubric.judge.stream import judge_stream
from prorubric.rubric.records import Response, Task
from prorubric.rubric.verdict import Unknown, Verdict

ANSWER = "answer"
"""The text that everything is compared with: the answer as it is."""

Verdicts = dict[str, tuple[Verdict, ...]]
OnJudged = Callable[[int], None]


@dataclass(slots=True)
class AuditCase:
    """One answer with everything that is done to it."""

    task: Task
    response: Response
    outcomes: dict[str, MadeEdit | NotMade] = field(default_factory=dict)
    """By edit or control."""
    verdicts: dict[str, Verdicts] = field(default_factory=dict)
    """By text (`answer`, an edit, a control, a probe) and reading."""
    scores: dict[str, dict[str, float | None]] = field(default_factory=dict)
    """By text and scheme; None where it is open."""

    def text_of(self, name: str) -> str | None:
        """The text behind a name; None where the edit was not made."""
        if name == ANSWER:
            return self.response.text
        made = self.outcomes.get(name)
        return made.text if isinstance(made, MadeEdit) else None


@dataclass(frozen=True, slots=True)
class Examiner:
    """Judges texts under a set of schemes."""

    judge: Judge
    judge_again: Judge
    """The same judge, asked afresh."""
    schemes: tuple[str, ...]
    readings: Sequence[str | Reading]
    window: int
    on_judged: OnJudged

    async def examine(self, cases: Iterable[AuditCase], name: str, readings: Sequence[str] | None = None) -> None:
        """Judge one kind of text of all cases; those who do not have it are passed over."""
        wanted = self.readings if readings is None else tuple(readings)
        judge = self.judge_again if name == AGAIN else self.judge
        having = [case for case in cases if case.text_of(name) is not None]
        texts = ((case.task, case.response.model_copy(update={"text": case.text_of(name)})) for case in having)
        stream = judge_stream(judge, texts, wanted, self.window)
        async with aclosing(stream):
            position = 0
            async for judged in stream:
                case = having[position]
                case.verdicts[name] = {reading: found.verdicts for reading, found in judged.judgements.items()}
                if readings is None:
                    case.scores[name] = self._score(case.task, case.verdicts[name])
                position += 1
                self.on_judged(1)

    def _score(self, task: Task, verdicts: Verdicts) -> dict[str, float | None]:
        return {name: found.value for name, found in score_readings(verdicts, task, self.schemes).items()}


def find_compliance(case: AuditCase) -> tuple[bool | None, ...]:
    """For each criterion whether the answer complies; None where the judge gave no verdict."""
    verdicts = case.verdicts[ANSWER]["criteria"]
    weights = case.task.rubric.weights
    return tuple(
        None if isinstance(verdict, Unknown) else bool(verdict) == (weight > 0)
        for verdict, weight in zip(verdicts, weights, strict=True)
    )
