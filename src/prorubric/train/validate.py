"""The answers of a checkpoint to held-out prompts, judged outside the training.

The training judge looks at every criterion (coverage), the second judge at held-out criteria (appropriateness). Both
keep their replies in the journal of the training, so an interrupted validation resumes where it stopped. An
answer with an unknown verdict has no score and is counted; if there are too many of them, the judge counts as down,
and the validation is made later.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from prorubric.aggregate.choose import score_readings
from prorubric.aggregate.score import Score
from prorubric.datasets.load import load_responses
from prorubric.errors import BreakerError, RubricError
from prorubric.files.json import parse_json
from prorubric.files.write import open_rows, write_json
from prorubric.judge.judge import Judgement
from prorubric.judge.panel import join_judges, list_judges, split_config
from prorubric.llm.together import run_in_order
from prorubric.reward.engine import find_engine, run_blocking
from prorubric.rubric.base import Record
from prorubric.rubric.records import Response, Task
from prorubric.runs.folder import SUMMARY
from prorubric.runs.verdicts import ROW_SCHEMA, SCORES, VERDICTS, render_score_row, render_verdict_row
from prorubric.text.show import count
from prorubric.train.plan import ValidationQuestion, find_judging, list_questions
from prorubric.train.recipe import Recipe
from prorubric.train.run_folder import ANSWERS

FILES = {"coverage": VERDICTS, "appropriateness": "second.jsonl"}
"""Where the verdicts behind each measure are kept."""
_AT_ONCE = 256


class Validated(Record):
    """What the answers of a checkpoint are worth."""

    step: int
    answers: int
    coverage: float | None = None
    """The mean share of the criteria's weight, by the training judge; None if it was not asked."""
    appropriateness: float | None = None
    """The mean score on held-out criteria, by the second judge; None if it was not asked."""
    unknown: int
    """Answers without one of the scores that were asked for."""
    tokens: float | None


@dataclass(frozen=True, slots=True)
class Validator:
    """Judges the answers of checkpoints."""

    recipe: Recipe
    tasks: Mapping[str, Task]
    journal: Path

    def judge_answers(self, folder: Path, step: int) -> Validated | None:
        """Judge `answers.jsonl` of a folder into files next to it; None if there is nothing to ask.

        Raises `BreakerError` if a judge leaves too much unknown; nothing is written then.
        """
        answers = [answer for answer in load_responses(folder / ANSWERS, strict=True) if answer.task_id in self.tasks]
        questions = list_questions(self.recipe)
        if not questions or not answers:
            return None
        judged = {name: self._judge(asked, answers) for name, asked in questions.items()}
        rows = [
            {name: self._score(answer, judged[name][place], asked.scheme) for name, asked in questions.items()}
            for place, answer in enumerate(answers)
        ]
        unknown = sum(any(score.value is None for score in row.values()) for row in rows)
        if unknown > self.recipe.max_unknown * len(rows):
            raise BreakerError(f"step {step}: {count(unknown, 'answer')} of {len(rows)} could not be judged")
        for name, given in judged.items():
            with open_rows(folder / FILES[name], ROW_SCHEMA) as write:
                for answer, found in zip(answers, given, strict=True):
                    verdicts = {reading: judgement.verdicts for reading, judgement in found.items()}
                    write(render_verdict_row(answer.task_id, answer.sample, verdicts))
        with open_rows(folder / SCORES, ROW_SCHEMA) as write:
            for answer, scores in zip(answers, rows, strict=True):
                write(render_score_row(answer.task_id, answer.sample, scores))
        means = {name: _mean(row[name].value for row in rows) for name in questions}
        tokens = _mean(answer.tokens for answer in answers)
        validated = Validated(step=step, answers=len(rows), unknown=unknown, tokens=tokens, **means)
        write_json(folder / SUMMARY, validated.model_dump(mode="json"))
        return validated

    def _judge(self, asked: ValidationQuestion, answers: Sequence[Response]) -> list[dict[str, Judgement]]:
        """What the judges say about each answer, by reading."""
        recipe = self.recipe
        judging = find_judging(recipe.judging, asked.judge)
        engines = {name: find_engine(name, recipe.http, self.journal) for name in list_judges(asked.judge)}
        configs = split_config([*engines], judging)

        async def judge_all() -> list[dict[str, Judgement]]:
            found = {name: engine.find_judge(configs[name]) for name, engine in engines.items()}
            judge = join_judges(found, judging)
            work = (judge.judge_all(self.tasks[answer.task_id], answer.answer, asked.readings) for answer in answers)
            return [judged async for judged in run_in_order(work, _AT_ONCE)]

        return run_blocking(judge_all())

    def _score(self, answer: Response, judged: Mapping[str, Judgement], scheme: str | None) -> Score:
        """The score under a scheme, or the share of the four fixed criteria that hold."""
        verdicts = {name: found.verdicts for name, found in judged.items()}
        if scheme is not None:
            return score_readings(verdicts, self.tasks[answer.task_id], [scheme])[scheme]
        held = verdicts["probe"]
        unknown = tuple(index for index, verdict in enumerate(held, 1) if not isinstance(verdict, bool))
        low = sum(verdict is True for verdict in held) / len(held)
        return Score(value=None if unknown else low, low=low, high=low + len(unknown) / len(held), unknown=unknown)


def load_validated(folder: Path) -> Validated | None:
    """What the answers of a checkpoint are worth, if they have been judged; what cannot be read is judged again."""
    try:
        return Validated(**parse_json((folder / SUMMARY).read_bytes()))
    except (OSError, ValueError, TypeError, RubricError):
        return None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
