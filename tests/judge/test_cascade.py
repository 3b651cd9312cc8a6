"""Which items a cascade sends on: those below the threshold and those without a verdict, in one call."""

import pytest

from prorubric.judge.cascade import measure_sureness
from prorubric.judge.judge import Judge, JudgeConfig
from prorubric.judge.panel import Cascade
from prorubric.llm.scripted import ScriptedModel
from prorubric.rubric.checks import Check
from prorubric.rubric.records import Criterion, Rubric
from prorubric.rubric.verdict import NotApplicable, Unknown
from tests.aggregate.test_schemes import make_task

TASK = make_task([5, 3, -2], [[1, 3], [2]])


class Sure:
    """Gives these probabilities."""

    name = identity = "sure"

    def __init__(self, *probabilities: float) -> None:
        self.given = list(probabilities)

    async def probabilities(self, conversation: str, response: str, statements: list[str]) -> list[float]:
        return self.given[: len(statements)]

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("verdict", "probability", "agreement", "sureness"),
    [
        (True, 0.9, None, 0.9),
        (False, 0.25, None, 0.75),
        (True, None, 2 / 3, 0.6667),
        (NotApplicable(), None, 0.8, 0.8),
        (False, 0.9, 1.0, 1.0),
        (True, None, None, 1.0),
        (Unknown("lost"), 0.9, 0.4, -1.0),
    ],
)
def test_sureness_is_the_probability_of_the_verdict_or_the_agreement(
    verdict: object, probability: float | None, agreement: float | None, sureness: float
) -> None:
    assert measure_sureness(verdict, probability, agreement) == sureness  # type: ignore[arg-type]


async def test_the_second_judge_is_shown_only_the_items_it_is_sent() -> None:
    dear = ScriptedModel(['{"satisfied": {"2": true, "3": true}}'])
    cascade = Cascade({"cheap": Judge(Sure(0.9, 0.4, 0.6)), "dear": Judge(dear)}, 0.8)
    found = await cascade.judge(TASK, "x", "criteria")
    assert (found.verdicts, found.sent_on, found.calls) == ((True, True, True), (2, 3), 2)
    assert found.probabilities == (0.9, 0.4, 0.6)
    [request] = dear.requests
    shown = request.messages[1].content
    assert '"index":2' in shown
    assert '"index":1' not in shown


async def test_nothing_is_asked_of_the_second_judge_if_the_first_is_sure() -> None:
    cascade = Cascade({"cheap": Judge(Sure(0.9, 0.1, 0.85)), "dear": Judge(ScriptedModel([]))}, 0.8)
    found = await cascade.judge(TASK, "x", "criteria")
    assert (found.verdicts, found.sent_on, found.calls) == ((True, False, True), (), 1)


async def test_a_mark_is_sent_on_only_if_it_is_unknown() -> None:
    dear = ScriptedModel(['{"mark": 7}'])
    cascade = Cascade({"cheap": Judge(Sure(0.5, 0.5, 0.5)), "dear": Judge(dear)}, 0.8)
    found = await cascade.judge(TASK, "x", "mark")
    assert (found.verdicts, found.sent_on) == ((5.5,), ())
    lost = Cascade({"cheap": Judge(Sure(0.5)), "dear": Judge(dear)}, 0.8)
    found = await lost.judge(TASK, "x", "mark")
    assert (found.verdicts, found.sent_on) == ((7.0,), (1,))


async def test_what_a_check_decided_stays_decided() -> None:
    checked = Criterion(text="mentions rest", weight=1.0, check=Check(contains="rest"))
    task = TASK.model_copy(update={"rubric": Rubric(criteria=(checked, *TASK.rubric.criteria[1:]))})
    dear = ScriptedModel(['{"satisfied": {"2": true, "3": false}}'])
    cascade = Cascade({"cheap": Judge(Sure(0.5, 0.5)), "dear": Judge(dear)}, 0.8)
    found = await cascade.judge(task, "Take some rest.", "criteria")
    assert (found.verdicts, found.sent_on) == ((True, True, False), (2, 3))


async def test_a_cascade_judges_several_readings_each_by_itself() -> None:
    dear = ScriptedModel(['{"satisfied": {"2": false}}', '{"satisfied": {"2": false}}'])
    cascade = Cascade({"cheap": Judge(Sure(0.9, 0.6, 0.9)), "dear": Judge(dear, JudgeConfig())}, 0.8)
    found = await cascade.judge_all(TASK, "x", ["criteria", "dimensions"])
    assert {name: one.verdicts for name, one in found.items()} == {
        "criteria": (True, False, True),
        "dimensions": (True, False),
    }
