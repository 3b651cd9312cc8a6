"""The cases of an audit: every answer with its edits, controls and probes, each text judged once per reading."""

import hashlib
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from prorubric.aggregate.choose import score_readings
from prorubric.audit.edits.kind import MadeEdit, NotMade
from prorubric.judge.panel import AnyJudge, judge_stream
from prorubric.judge.readings import Reading
from prorubric.rubric.records import Response, Task
from prorubric.rubric.verdict import NotApplicable, Unknown, Verdict
from prorubric.runs.votes import VoteTally

ANSWER = "answer"
"""The text that everything is compared with: the answer as it is."""
AGAIN, GARBAGE, OTHER_ANSWER = "again", "garbage", "other-answer"
CONTROLS = (AGAIN, GARBAGE, OTHER_ANSWER)
"""What every audit judges besides the edits: the answer again, garbage of its length, an answer to another prompt."""

_CHARACTERS_PER_WORD = 8
_NOISE_WORDS = """amber anvil barrel basket biscuit candle canvas carpet cellar chimney copper curtain drawer feather
    fiddle fountain gravel hammer harbor kettle ladder lantern marble meadow mitten orchard paddle parcel pebble pillow
    pocket puddle ribbon saddle shutter spindle staple thimble timber trumpet tunnel velvet violet wagon walnut willow
    window""".split()


@dataclass(slots=True)
class AuditCase:
    """One answer with everything that is done to it."""

    task: Task
    response: Response
    outcomes: dict[str, MadeEdit | NotMade] = field(default_factory=dict)
    """By edit, control or probe."""
    verdicts: dict[str, dict[str, tuple[Verdict, ...]]] = field(default_factory=dict)
    """By text (`answer`, an edit, a control, a probe) and reading."""
    scores: dict[str, dict[str, float | None]] = field(default_factory=dict)
    """By text and scheme; None if it is open."""
    addressing: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """By text, what it says to its judge; see `find_addressing`. Texts that say nothing are left out."""

    def text_of(self, name: str) -> str | None:
        """The text behind a name; None if the edit was not made."""
        if name == ANSWER:
            return self.response.text
        made = self.outcomes.get(name)
        return made.text if isinstance(made, MadeEdit) else None

    @property
    def complies(self) -> tuple[bool | None, ...]:
        """For each criterion whether the answer complies; None without a verdict, or if it does not apply."""
        verdicts = zip(self.verdicts[ANSWER]["criteria"], self.task.rubric.weights, strict=True)
        return tuple(
            None if isinstance(found, NotApplicable | Unknown) else bool(found) == (weight > 0)
            for found, weight in verdicts
        )


def first_cases(cases: Sequence[AuditCase]) -> list[AuditCase]:
    """The first answer to each prompt."""
    return list({case.task.id: case for case in reversed(cases)}.values())[::-1]


def add_controls(cases: Sequence[AuditCase]) -> None:
    """Give every answer its controls."""
    by_task: dict[str, list[AuditCase]] = {}
    for case in cases:
        by_task.setdefault(case.task.id, []).append(case)
    groups = list(by_task.values())
    for position, group in enumerate(groups):
        others = groups[(position + 1) % len(groups)]
        for number, case in enumerate(group):
            answer, key = case.response.text, f"{case.task.id}/{case.response.sample}"
            case.outcomes[AGAIN] = MadeEdit(kind=AGAIN, text=answer)
            case.outcomes[GARBAGE] = MadeEdit.replacing(GARBAGE, answer, make_garbage(answer, key))
            case.outcomes[OTHER_ANSWER] = (
                NotMade(kind=OTHER_ANSWER, reason="there is no answer to another prompt")
                if others is group
                else MadeEdit.replacing(OTHER_ANSWER, answer, others[number % len(others)].response.text)
            )


def make_garbage(answer: str, key: str) -> str:
    """As many words as the answer has, all unrelated to it. The same key gives the same words."""
    draw = random.Random(hashlib.sha256(key.encode(errors="surrogatepass")).digest())  # noqa: S311 - nothing secret
    # Some languages are written without spaces; there the characters tell how long an answer is.
    length = max(len(answer.split()), len(answer) // _CHARACTERS_PER_WORD, 1)
    words = [draw.choice(_NOISE_WORDS) for _ in range(length)]
    return " ".join(" ".join(words[start : start + 9]).capitalize() + "." for start in range(0, len(words), 9))


@dataclass(frozen=True, slots=True)
class Examiner:
    """Judges texts under a set of schemes."""

    judge: AnyJudge
    judge_again: AnyJudge
    """The same judge, asked afresh."""
    schemes: tuple[str, ...]
    readings: Sequence[str | Reading]
    window: int
    on_judged: Callable[[int], None]
    votes: VoteTally = field(default_factory=VoteTally)

    async def examine(self, cases: Iterable[AuditCase], name: str, readings: Sequence[str] | None = None) -> None:
        """Judge one kind of text of all cases that have it; scores need all readings."""
        having = [case for case in cases if case.text_of(name) is not None]
        texts = ((case.task, case.response.with_text(case.text_of(name) or "")) for case in having)
        judge = self.judge_again if name == AGAIN else self.judge
        stream = judge_stream(judge, texts, self.readings if readings is None else tuple(readings), self.window)
        async with aclosing(stream):
            waiting = iter(having)
            async for judged in stream:
                case = next(waiting)
                case.verdicts[name] = {reading: found.verdicts for reading, found in judged.judgements.items()}
                if judged.addressing:
                    case.addressing[name] = judged.addressing
                for found in judged.judgements.values():
                    self.votes.add(found)
                if readings is None:
                    scores = score_readings(case.verdicts[name], case.task, self.schemes)
                    case.scores[name] = {scheme: score.value for scheme, score in scores.items()}
                self.on_judged(1)
