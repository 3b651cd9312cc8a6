"""Several judges: the majority counts, and one that fails does not take the others' verdicts with it."""

import pytest

from prorubric.errors import ConfigError, ModelError
from prorubric.judge.judge import Judge, JudgeConfig
from prorubric.judge.panel import Panel, list_judges, make_judge
from prorubric.llm.make import make_model
from prorubric.llm.scripted import ScriptedModel
from prorubric.rubric.verdict import Unknown
from prorubric.verbs.judge import JudgeRunConfig
from tests.aggregate.test_schemes import make_task
from tests.judge.voters import DEAD, FAILING, LENIENT, ODD, STRICT

TASK = make_task([5, 3, -2], [[1, 3], [2]])


def make_panel(*specs: str, config: JudgeConfig | None = None) -> Panel:
    panel = make_judge({spec: make_model(spec) for spec in specs}, config or JudgeConfig())
    assert isinstance(panel, Panel)
    return panel


async def test_verdicts_are_joined_by_majority_and_each_judges_own_are_kept() -> None:
    found = await make_panel(LENIENT, STRICT, ODD).judge(TASK, "x", "criteria")
    assert found.verdicts == (True, False, True)
    assert (found.agreement, found.calls) == ({1: 2 / 3, 2: 2 / 3, 3: 2 / 3}, 3)
    own = {spec: judgement.verdicts for spec, judgement in found.judges.items()}
    assert own == {LENIENT: (True,) * 3, STRICT: (False,) * 3, ODD: (True, False, True)}


async def test_two_judges_who_differ_leave_it_unknown() -> None:
    found = await make_panel(LENIENT, ODD).judge(TASK, "x", "criteria")
    assert found.verdicts == (True, Unknown("the votes have no majority: 1 x true, 1 x false"), True)
    assert found.agreement == {1: 1.0, 2: 0.5, 3: 1.0}


@pytest.mark.parametrize("failing", [FAILING, DEAD])
async def test_a_judge_that_fails_gives_unknown_votes_and_the_others_decide(failing: str) -> None:
    panel = make_panel(ODD, failing, LENIENT)
    for _ in range(2):
        found = (await panel.judge_all(TASK, "x", ["criteria"]))["criteria"]
        assert found.verdicts == (True, Unknown("the votes have no majority: 1 x false, 1 x true"), True)
        assert found.unknown_votes == 3
    alone = await make_panel(ODD, failing).judge(TASK, "x", "criteria")
    assert (alone.verdicts, alone.agreement[1]) == ((True, False, True), 0.5)


async def test_a_judge_that_cannot_be_used_is_asked_once() -> None:
    panel = make_panel(ODD, DEAD)
    await panel.judge(TASK, "x", "criteria")
    assert panel.failed == {DEAD: "voter/Dead: HTTP 401: a wrong key"}
    found = await panel.judge(TASK, "y", "criteria")
    assert found.judges[DEAD].calls == 0


async def test_the_error_is_raised_once_no_judge_is_left() -> None:
    with pytest.raises(ModelError, match="a wrong key"):
        await make_panel(DEAD, f"{DEAD}Too").judge(TASK, "x", "criteria")


async def test_votes_of_each_judge_come_before_those_of_the_panel() -> None:
    found = await make_panel(LENIENT, STRICT, ODD, config=JudgeConfig(votes=3)).judge(TASK, "x", "criteria")
    assert (found.verdicts, found.calls) == ((True, False, True), 9)
    assert found.judges[ODD].agreement == dict.fromkeys((1, 2, 3), 1.0)


async def test_marks_are_averaged_over_the_judges() -> None:
    judges = [Judge(ScriptedModel([f'{{"mark": {mark}}}'], name=f"judge {mark}")) for mark in (4, 9)]
    found = await Panel(judges).judge(TASK, "x", "mark")
    assert (found.verdicts, [*found.judges]) == ((6.5,), ["judge 4", "judge 9"])


async def test_a_judge_of_probabilities_may_sit_in_a_panel() -> None:
    found = await make_panel("lexical", STRICT).judge(TASK, "criterion 0", "criteria")
    assert found.judges["lexical"].probabilities is not None
    assert found.probabilities is None


def test_a_panel_whose_judges_have_the_same_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="a panel of 2 judges has 1 names; give each judge its own"):
        Panel([Judge(ScriptedModel([])), Judge(ScriptedModel([]))])


class TestOption:
    def read(self, judge: object) -> object:
        return JudgeRunConfig("tasks.jsonl", "responses.jsonl", judge=judge).judge  # type: ignore[arg-type]

    def test_one_judge_stays_a_text_and_several_are_a_list(self) -> None:
        assert self.read("lexical") == self.read(["lexical"]) == "lexical"
        assert self.read("a, b") == self.read(["a", "b"]) == self.read(("a,b",)) == ("a", "b")
        assert (list_judges("lexical"), list_judges(("a", "b"))) == (("lexical",), ("a", "b"))

    @pytest.mark.parametrize(("judge", "line"), [("", "no judge is named"), ("a,a", "the judge a is named twice")])
    def test_no_judge_and_the_same_twice_are_refused(self, judge: str, line: str) -> None:
        with pytest.raises(ConfigError, match=line):
            self.read(judge)
