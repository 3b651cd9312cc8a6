"""Asking the judge from a page: about one answer again, about one item of it, or about a text that was pasted.

Nothing is asked unless `--judge` names who may be asked, and nothing is kept: what a run holds stays as it is.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fastapi import HTTPException

from prorubric.aggregate.schemes import SCHEMES, find_scheme
from prorubric.errors import ProRubricError, RubricError
from prorubric.judge.judge import Judge, Judgement
from prorubric.judge.panel import join_judges, list_judges, split_config
from prorubric.judge.readings import Reading, list_items
from prorubric.reward.engine import find_engine, run_awaited
from prorubric.rubric.records import Answer, Criterion, Message, Rubric, Task
from prorubric.rubric.verdict import Unknown, Verdict, render_verdict
from prorubric.view.answers import pay_all, show_reading
from prorubric.view.config import ViewConfig

_MOST_CHARACTERS = 200_000


class Asker:
    """The judge that pages may ask."""

    def __init__(self, config: ViewConfig) -> None:
        self.names = list_judges(config.judge) if config.judge else ()
        self._config = config
        for name in self.names:
            find_engine(name, config.http, None)  # a judge that cannot be used is found now

    async def ask(
        self, task: Task, answer: Answer, readings: Sequence[Reading], item: int | None = None
    ) -> dict[str, Any]:
        """The verdicts of some readings, or on one item of the first of them, and what every scheme pays for them."""
        if not self.names:
            line = "no judge is configured; start prorubric view with --judge, as in --judge http://host:port/v1#name"
            raise HTTPException(409, line)
        if sum(map(len, answer if isinstance(answer, str) else (turn.content for turn in answer))) > _MOST_CHARACTERS:
            raise HTTPException(422, f"the answer has more than {_MOST_CHARACTERS:,} characters")
        if item is not None and not 1 <= item <= _count_items(task, readings[0]):
            raise HTTPException(422, f"item: {readings[0].name} has {_count_items(task, readings[0])} items")
        found = await run_awaited(self._judge(task, answer, readings, item))
        shown = [show_reading(task, name, one.verdicts, _show_more(one)) for name, one in found.items()]
        paid = []
        if item is None:
            paid = pay_all({name: one.verdicts for name, one in found.items()}, task, {})
        else:
            shown[0]["items"] = shown[0]["items"][item - 1 : item]
        return {"judge": ", ".join(self.names), "readings": shown, "paid": paid}

    async def _judge(
        self, task: Task, answer: Answer, readings: Sequence[Reading], item: int | None
    ) -> dict[str, Judgement]:
        config, configs = self._config, split_config(self.names, self._config.judging)
        judges = {name: find_engine(name, config.http, None).find_judge(configs[name]) for name in self.names}
        judge = join_judges(judges, config.judging)
        if item is None or readings[0].is_joint or not isinstance(judge, Judge):  # a panel judges all items together
            return await judge.judge_all(task, answer, readings)
        found = await judge.judge(task, answer, readings[0], (item,))
        return {readings[0].name: _spread(found, item, _count_items(task, readings[0]))}


def _count_items(task: Task, reading: Reading) -> int:
    return 1 if reading.is_joint else len(list_items(task, reading))


def _spread(found: Judgement, item: int, total: int) -> Judgement:
    """A judgement on one item, at the place of that item among all of them."""
    verdicts: list[Verdict] = [Unknown("not asked")] * total
    verdicts[item - 1] = found.verdicts[0]
    probabilities: list[float | None] = [None] * total
    probabilities[item - 1] = found.probabilities[0] if found.probabilities else None
    return replace(found, verdicts=tuple(verdicts), probabilities=tuple(probabilities))


def list_possible(task: Task) -> list[Reading]:
    """The readings that some scheme takes and that the task has items for."""
    found: dict[str, Reading] = {}
    for name in SCHEMES:
        for reading in find_scheme(name).readings:
            try:
                list_items(task, reading)
            except ProRubricError:
                continue
            found[reading.name] = reading
    return [*found.values()]


def make_typed_task(question: str, criteria: str) -> Task:
    """A task from what was typed: one criterion a line, with its weight before a bar if it is not 1."""
    made = []
    for number, line in enumerate(criteria.splitlines(), 1):
        weight, bar, text = line.partition("|")
        try:
            given = float(weight.strip().replace("\u2212", "-")) if bar else None  # also with a typographic minus
        except ValueError:  # the bar belongs to the text
            given = None
        if line.strip():
            try:
                criterion = (line, 1.0) if given is None else (text, given)
                made.append(Criterion(text=criterion[0].strip(), weight=criterion[1]))
            except RubricError as error:
                raise error.at(f"line {number} of the criteria") from None
    messages = (Message(role="user", content=question),)
    return Task(id="typed", messages=messages, rubric=Rubric(criteria=tuple(made)))


def _show_more(found: Judgement) -> dict[str, Any]:
    """What else is known of a judgement, as a row of verdicts has it."""
    return {
        "probabilities": found.probabilities,
        "reasons": {str(index): reason for index, reason in found.reasons.items()},
        "evidence": {str(index): given.model_dump(mode="json") for index, given in found.evidence.items()},
        "agreement": {str(index): share for index, share in found.agreement.items()},
        "judges": {name: [*map(render_verdict, own.verdicts)] for name, own in found.judges.items()},
    }
