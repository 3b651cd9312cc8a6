"""The judge asks once, asks again only for what is missing, and never fills in a verdict."""

import json
import re
from pathlib import Path

import pytest

from prorubric.errors import ConfigError, ModelError, SchemeError, SourceError, UnjudgedError
from prorubric.judge.answer import show_answer
from prorubric.judge.judge import Judge, JudgeConfig
from prorubric.judge.readings import READINGS, list_items
from prorubric.judge.render import load_judge_prompt, render_judge_prompt
from prorubric.llm.accounting import Usage
from prorubric.llm.cache import CachedYesNo
from prorubric.llm.lexical import LexicalModel
from prorubric.llm.model import Failure, Reply, Request
from prorubric.llm.scripted import ScriptedModel
from prorubric.rubric.verdict import Unknown, Verdict
from tests.aggregate.test_schemes import make_task

TASK = make_task([5, 3, -2], [[1, 3], [2]])


def asked_indices(request: Request) -> list[int]:
    """The indices of the items that a request shows."""
    text = request.messages[1].content
    rows = json.loads(text[text.index("[\n{") : text.index("\n]", text.index("[\n{")) + 2])
    return [row["index"] for row in rows]


def satisfied(**verdicts: bool) -> str:
    return json.dumps({"satisfied": {key.removeprefix("_"): value for key, value in verdicts.items()}})


async def test_one_call_gives_all_verdicts() -> None:
    model = ScriptedModel([satisfied(_1=True, _2=False, _3=True)])
    found = await Judge(model).judge(TASK, "An answer.", "criteria")
    assert found.verdicts == (True, False, True)
    assert (found.calls, asked_indices(model.requests[0]), model.requests[0].temperature) == (1, [1, 2, 3], 0.0)


async def test_a_criterion_that_lexical_cannot_read_leaves_the_others_alone() -> None:
    texts = ("Mentions water", "提到多喝水", "Mentions rest")
    criteria = tuple(
        one.model_copy(update={"text": text}) for one, text in zip(TASK.rubric.criteria, texts, strict=True)
    )
    task = TASK.model_copy(update={"rubric": TASK.rubric.model_copy(update={"criteria": criteria})})
    unread = Unknown("lexical cannot read a script without spaces between words, such as Chinese; judge with a model")
    judge = Judge(CachedYesNo(LexicalModel(), None, Usage()))
    found = await judge.judge(task, "Drink water.", "criteria")
    assert (found.verdicts, found.calls) == ((True, unread, False), 1)
    assert [probability is None for probability in found.probabilities or ()] == [False, True, False]
    assert (await judge.judge(task, "Drink water.", "mark")).verdicts == (unread,)
    assert (await judge.judge(task, "多喝水。", "criteria")).verdicts == (unread,) * 3


async def test_only_missing_items_are_asked_again_as_a_fresh_draw() -> None:
    model = ScriptedModel([satisfied(_1=True, _3=True), satisfied(_2=False)])
    found = await Judge(model).judge(TASK, "An answer.", "criteria")
    assert found.verdicts == (True, False, True)
    assert [asked_indices(request) for request in model.requests] == [[1, 2, 3], [2]]
    assert [(request.draw, request.temperature) for request in model.requests] == [(0, 0.0), (1, 0.7)]


async def test_what_is_still_missing_is_unknown_with_the_last_reason() -> None:
    model = ScriptedModel([satisfied(_1=True), "what?", ""])
    found = await Judge(model).judge(TASK, "An answer.", "criteria")
    assert found.verdicts == (True, Unknown("the reply is empty"), Unknown("the reply is empty"))
    assert found.calls == 3


async def test_a_dropped_last_penalty_does_not_become_a_reward() -> None:
    model = ScriptedModel(lambda _: satisfied(_1=False, _2=False))
    found = await Judge(model, JudgeConfig(reasks=0)).judge(TASK, "An answer.", "criteria")
    assert found.verdicts == (False, False, Unknown("no verdict for it"))


async def test_a_failed_call_is_unknown_with_its_reason_and_keeps_what_was_known() -> None:
    model = ScriptedModel([satisfied(_1=True)])
    found = await Judge(model).judge(TASK, "An answer.", "criteria")
    reason = "no reply: the script has no reply to this prompt"
    assert found.verdicts == (True, Unknown(reason), Unknown(reason))


async def test_a_reply_that_was_cut_off_says_so() -> None:
    model = ScriptedModel(lambda _: Reply('{"satisfied": {"1": true, "2": tr', finish="length"))
    found = await Judge(model, JudgeConfig(reasks=0)).judge(TASK, "An answer.", "criteria")
    assert found.verdicts[1] == Unknown("no verdict for it (the reply was cut off)")


async def test_levels_are_the_mean_of_two_draws_with_their_own_numbers() -> None:
    model = ScriptedModel(['{"levels": {"1": 3, "2": 0}}', '{"levels": {"1": 2, "2": 1}}'])
    found = await Judge(model).judge(TASK, "An answer.", "levels")
    assert found.verdicts == (2.5, 0.5)
    assert [(request.draw, request.temperature) for request in model.requests] == [(0, 0.7), (11, 0.7)]


@pytest.mark.parametrize("reasks", [0, 1, 10])
async def test_draws_have_the_same_numbers_however_often_items_are_asked_again(reasks: int) -> None:
    model = ScriptedModel(lambda _: "what?")
    await Judge(model, JudgeConfig(draws=3, reasks=reasks)).judge(TASK, "An answer.", "levels")
    asked = sorted(request.draw for request in model.requests)
    assert asked == [11 * draw + attempt for draw in range(3) for attempt in range(reasks + 1)]


async def test_a_level_that_one_draw_lacks_is_unknown() -> None:
    model = ScriptedModel(lambda request: '{"levels": {"1": 3, "2": 0}}' if request.draw == 0 else "")
    found = await Judge(model).judge(TASK, "An answer.", "levels")
    assert found.verdicts == (Unknown("the reply is empty"),) * 2


async def test_a_mark_is_one_number_for_the_whole_list() -> None:
    model = ScriptedModel(["no idea", '{"mark": 6}'])
    found = await Judge(model).judge(TASK, "An answer.", "mark")
    assert (found.verdicts, found.calls) == ((6.0,), 2)


async def test_single_judging_asks_one_item_a_call_with_the_reason_first() -> None:
    model = ScriptedModel(
        lambda request: json.dumps({"reason": "x", "satisfied": "criterion 1" in request.messages[1].content})
    )
    found = await Judge(model).judge_singly(TASK, "An answer.", "criteria")
    assert found.verdicts == (False, True, False)
    assert list(model.requests[0].schema["properties"]) == ["reason", "satisfied"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("forth", "back", "result"),
    [
        ("first", "second", "first"),
        ("second", "first", "second"),
        ("equal", "equal", "tie"),
        ("first", "first", "inconsistent"),
        ("equal", "first", "inconsistent"),
    ],
)
async def test_a_win_needs_both_orders(forth: str, back: str, result: str) -> None:
    def answer(request: Request) -> str:
        first_shown = request.messages[1].content.index("AAA") < request.messages[1].content.index("BBB")
        return json.dumps({"better": forth if first_shown else back})

    assert await Judge(ScriptedModel(answer)).compare(TASK, "AAA", "BBB") == result


async def test_a_comparison_that_fails_in_one_order_is_unknown() -> None:
    def answer(request: Request) -> str | Failure:
        first_shown = request.messages[1].content.index("AAA") < request.messages[1].content.index("BBB")
        return '{"better": "first"}' if first_shown else Failure("timeout", "no answer in 60 s")

    assert await Judge(ScriptedModel(answer)).compare(TASK, "AAA", "BBB") == Unknown("no reply: no answer in 60 s")


async def test_long_rubrics_are_split_into_calls_of_at_most_n_items() -> None:
    task = make_task([1] * 7)
    model = ScriptedModel(
        lambda request: json.dumps({"satisfied": {str(i): i % 2 == 0 for i in asked_indices(request)}})
    )
    found = await Judge(model, JudgeConfig(max_items=3)).judge(task, "An answer.", "criteria")
    assert found.verdicts == (False, True, False, True, False, True, False)
    assert sorted(asked_indices(request) for request in model.requests) == [[1, 2, 3], [4, 5, 6], [7]]


async def test_reasons_are_asked_for_and_kept() -> None:
    model = ScriptedModel(['{"satisfied": {"1": {"reason": "says so", "satisfied": true}, "2": true, "3": false}}'])
    found = await Judge(model, JudgeConfig(reasons=True)).judge(TASK, "An answer.", "criteria")
    assert (found.verdicts, found.reasons) == ((True, True, False), {1: "says so"})
    assert "at most twenty words" in model.requests[0].messages[1].content


async def test_weights_can_be_hidden_from_the_judge() -> None:
    for shown in (True, False):
        model = ScriptedModel([satisfied(_1=True, _2=True, _3=True)])
        await Judge(model, JudgeConfig(show_weights=shown)).judge(TASK, "An answer.", "criteria")
        assert ('"weight"' in model.requests[0].messages[1].content) is shown
        assert '"polarity":"negative"' in model.requests[0].messages[1].content


def test_prefix_first_shares_everything_before_the_response() -> None:
    prompt, items = load_judge_prompt("binary"), list_items(TASK, "criteria")
    one, two = show_answer(TASK, "one"), show_answer(TASK, "two")
    texts = [render_judge_prompt(prompt, TASK, response, items, "prefix-first") for response in (one, two)]
    first, second = (rendered.messages[1].content for rendered in texts)
    shared = texts[0].shared_characters - len(texts[0].messages[0].content)
    assert first[:shared] == second[:shared]
    paper = render_judge_prompt(prompt, TASK, one, items, "paper")
    assert texts[0].shared_characters > paper.shared_characters


async def test_a_model_that_gives_probabilities_is_asked_once_for_all_items() -> None:
    class Half:
        name = identity = "half"

        async def probabilities(self, conversation: str, response: str, statements: list[str]) -> list[float]:
            return [0.2, 0.55, 0.9][: len(statements)]

        async def close(self) -> None:
            pass

    found = await Judge(Half(), JudgeConfig(unknown_band=0.1)).judge(TASK, "An answer.", "criteria")  # type: ignore[arg-type]
    assert found.verdicts == (False, Unknown("the probability 0.55 is too close to the threshold 0.5"), True)
    assert found.probabilities == (0.2, 0.55, 0.9)


class TestShifts:
    """A judge that counts in its own way never gets a verdict to another item."""

    @staticmethod
    def count_from_zero(request: Request) -> str:
        return json.dumps({"satisfied": {str(i - 1): i % 2 == 0 for i in asked_indices(request)}})

    @pytest.mark.parametrize("config", [JudgeConfig(), JudgeConfig(max_items=5), JudgeConfig(canary=True)])
    async def test_counting_from_zero_leaves_everything_open(self, config: JudgeConfig) -> None:
        found = await Judge(ScriptedModel(self.count_from_zero), config).judge(make_task([1] * 10), "x", "criteria")
        assert all(isinstance(verdict, Unknown) for verdict in found.verdicts)

    async def test_renumbering_what_is_asked_again_leaves_it_open(self) -> None:
        model = ScriptedModel([satisfied(_1=True), satisfied(_1=True, _2=False), satisfied(_1=True, _2=False)])
        found = await Judge(model).judge(TASK, "x", "criteria")
        assert found.verdicts[0] is True
        assert all(isinstance(verdict, Unknown) for verdict in found.verdicts[1:])


class TestHopeless:
    """What no retry can mend comes out as itself from every way of asking."""

    @staticmethod
    def refuse(request: Request) -> str:
        raise ModelError("wrong key")

    @pytest.mark.parametrize("reading", ["criteria", "levels", "mark", "dimensions"])
    @pytest.mark.parametrize("config", [JudgeConfig(), JudgeConfig(max_items=1)])
    async def test_judging_raises_it_alone(self, reading: str, config: JudgeConfig) -> None:
        with pytest.raises(ModelError, match="wrong key"):
            await Judge(ScriptedModel(self.refuse), config).judge(TASK, "x", reading)

    async def test_single_judging_and_comparing_raise_it_alone(self) -> None:
        judge = Judge(ScriptedModel(self.refuse))
        with pytest.raises(ModelError):
            await judge.judge_singly(TASK, "x", "criteria")
        with pytest.raises(ModelError):
            await judge.compare(TASK, "x", "y")


class Odds:
    """Gives whatever probabilities it is told to."""

    name = identity = "odds"

    def __init__(self, answer: list[float] | Exception) -> None:
        self.answer = answer
        self.conversation = ""

    async def probabilities(self, conversation: str, response: str, statements: list[str]) -> list[float]:
        self.conversation = conversation
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def close(self) -> None:
        pass


class TestProbabilities:
    async def judge(self, answer: list[float] | Exception, reading: str = "criteria") -> tuple[Verdict, ...]:
        return (await Judge(Odds(answer)).judge(TASK, "x", reading)).verdicts  # type: ignore[arg-type]

    async def test_what_is_not_a_probability_is_unknown(self) -> None:
        found = await self.judge([float("nan"), 1.7, 0.9])
        assert found[0] == Unknown("the model gave nan for a probability")
        assert found[1:] == (Unknown("the model gave 1.7 for a probability"), True)

    async def test_a_wrong_number_of_them_makes_all_unknown(self) -> None:
        assert await self.judge([0.9]) == (Unknown("the model gave 1 probabilities for 3 items"),) * 3

    async def test_a_response_that_cannot_be_judged_is_unknown(self) -> None:
        assert await self.judge(UnjudgedError("too long")) == (Unknown("too long"),) * 3

    async def test_any_other_error_stops_the_run(self) -> None:
        with pytest.raises(SourceError, match="disk full"):
            await self.judge(SourceError("disk full"))

    async def test_levels_and_marks_follow_from_them(self) -> None:
        assert await self.judge([0.9, 0.1], "levels") == (3, 0)
        assert await self.judge([1.0, 1.0, 0.0], "mark") == (10.0,)
        assert await self.judge([0.0, 0.0, 1.0], "mark") == (1.0,)

    async def test_a_mark_never_exceeds_ten(self) -> None:
        task = make_task([0.6, 0.7, 0.9, 0.7, 0.8])
        found = await Judge(Odds([1.0] * 5)).judge(task, "x", "mark")  # type: ignore[arg-type]
        assert found.verdicts == (10.0,)

    async def test_the_conversation_is_given_as_it_is(self) -> None:
        model = Odds([0.5] * 3)
        await Judge(model).judge(TASK, "x", "criteria")  # type: ignore[arg-type]
        assert model.conversation == "user: ?"


class TestItems:
    def test_every_reading_but_the_restated_one_can_be_listed(self) -> None:
        listed = {reading: len(list_items(TASK, reading)) for reading in READINGS if reading != "criteria-rewritten"}
        assert listed == {
            "criteria": 3, "groups": 2, "dimensions": 2, "dimensions-no-failure": 2, "one-dimension": 1,
            "levels": 2, "mark": 3, "appropriateness": 1, "redundancy": 1, "probe": 4,
            "probe-single": 4, "healthbench": 3, "healthbench-bare": 3, "writing": 3, "coverage": 3, "creative": 22,
        }  # fmt: skip

    def test_groups_show_criteria_word_for_word_and_turn_penalties_around(self) -> None:
        text = list_items(TASK, "groups")[0].text
        assert "- (must hold) criterion 0" in text
        assert "- (must not occur) criterion 2" in text

    def test_restated_criteria_are_refused_where_there_are_none(self) -> None:
        with pytest.raises(SchemeError, match="one restated text for each of the 3 criteria"):
            list_items(TASK, "criteria-rewritten")

    @pytest.mark.parametrize("reading", ["bogus", "Criteria", "groups ", ""])
    def test_a_reading_that_does_not_exist_is_refused(self, reading: str) -> None:
        with pytest.raises(ConfigError, match="no reading is called"):
            list_items(TASK, reading)

    def test_what_is_not_a_model_is_not_a_judge(self) -> None:
        with pytest.raises(ConfigError, match="'lexical' is not a model"):
            Judge("lexical")  # type: ignore[arg-type]

    def test_dimensions_are_refused_where_there_are_none(self) -> None:
        with pytest.raises(SchemeError, match="compile them first"):
            list_items(make_task([1, 2]), "dimensions")


class TestPromptFiles:
    WHOLE = (
        "[instructions]\nJudge.\n[conversation]\n{{conversation}}\n[response]\n{{response}}\n"
        "[items]\n{{items}}\n[closing]\nJSON.\n"
    )

    async def test_a_prompt_of_one_s_own_replaces_ours(self, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text(self.WHOLE)
        model = ScriptedModel([satisfied(_1=True, _2=True, _3=True)])
        await Judge(model, JudgeConfig(prompt_file={"binary": tmp_path / "mine.txt"})).judge(TASK, "x", "criteria")
        assert model.requests[0].messages[0].content == "Judge."

    @pytest.mark.parametrize(
        ("taken", "said"),
        [
            ("{{response}}", r"the section \[response\]"),
            ("[items]\n{{items}}\n", r"the section \[items\] is missing"),
            ("{{items}}", r"the section \[items\]"),
            ("Judge.", r"the section \[instructions\] is missing"),
            ("[instructions]\n", r"'Judge\.' is before the first section"),
        ],
    )
    def test_a_missing_part_is_refused_when_the_judge_is_made(self, tmp_path: Path, taken: str, said: str) -> None:
        (tmp_path / "mine.txt").write_text(self.WHOLE.replace(taken, ""))
        with pytest.raises(ConfigError, match=rf"^{re.escape(str(tmp_path / 'mine.txt'))}: {said}"):
            Judge(ScriptedModel([]), JudgeConfig(prompt_file={"binary": tmp_path / "mine.txt"}))

    def test_a_section_that_comes_twice_is_refused_with_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text(self.WHOLE + self.WHOLE)
        with pytest.raises(ConfigError, match=r"mine\.txt: the section \[instructions\] appears twice"):
            Judge(ScriptedModel([]), JudgeConfig(prompt_file={"binary": tmp_path / "mine.txt"}))

    def test_reasons_need_a_section_that_asks_for_them(self, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text(self.WHOLE)
        with pytest.raises(ConfigError, match=r"mine\.txt: the section \[reasons\] is missing"):
            Judge(ScriptedModel([]), JudgeConfig(prompt_file={"binary": tmp_path / "mine.txt"}, reasons=True))
