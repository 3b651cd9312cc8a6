"""What each instrument asks, and what verdicts, letters and games are worth."""

import json
from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric import Criterion, Message
from prorubric.errors import ConfigError
from prorubric.evaluate.instruments import INSTRUMENTS, Worth, find_instrument, score_by_tag
from prorubric.evaluate.records import BenchmarkItem, PolicyAnswer
from prorubric.judge.judge import Judge, JudgeConfig
from prorubric.judge.render import PROMPT_NAMES
from prorubric.judge.texts import CREATIVE_NAMES
from prorubric.llm.model import Request
from prorubric.llm.scripted import ScriptedModel
from prorubric.rubric.verdict import NotApplicable, Unknown, Verdict

OPEN = Unknown("the reply is empty", kind="empty reply")


def make_item(*weights: float, **fields: object) -> BenchmarkItem:
    criteria = tuple(Criterion(text=f"criterion {place}", weight=weight) for place, weight in enumerate(weights))
    return BenchmarkItem("family/1", (Message(role="user", content="A question?"),), criteria, **fields)  # type: ignore[arg-type]


def make_answer(text: str = "An answer.", finish: str | None = "stop") -> PolicyAnswer:
    return PolicyAnswer(policy="p", item="family/1", text=text, finish=finish)


def score(name: str, item: BenchmarkItem, verdicts: Sequence[Verdict] = (), text: str = "An answer.") -> Worth:
    return INSTRUMENTS[name].score(item, make_answer(text), verdicts)


def test_every_instrument_names_prompts_that_can_be_replaced() -> None:
    assert {prompt for instrument in INSTRUMENTS.values() for prompt in instrument.prompts} <= set(PROMPT_NAMES)
    assert {name: instrument.kind for name, instrument in INSTRUMENTS.items()} == {
        "healthbench": "answers",
        "healthbench-meta": "labels",
        "choice": "choice",
        "writing": "answers",
        "creative": "answers",
        "coverage": "answers",
        "tasks": "answers",
        "probe": "answers",
        "arena": "baseline",
        "pairs": "pairs",
    }


def test_an_instrument_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match="no instrument is called 'bleu'; known: healthbench"):
        find_instrument("bleu")


class TestWorth:
    def test_healthbench_is_met_points_over_positive_points(self) -> None:
        assert score("healthbench", make_item(5, 3, -2), (True, False, True)) == Worth(3 / 8, 3 / 8, 3 / 8)

    def test_an_unknown_verdict_leaves_bounds_and_is_counted_by_kind(self) -> None:
        found = score("healthbench", make_item(5, 3, -2), (True, OPEN, OPEN))
        assert found == Worth(None, 3 / 8, 1.0, unknown={"empty reply": 2})

    def test_writing_is_the_mean_mark_in_tenths(self) -> None:
        assert score("writing", make_item(1, 1), (7.0, 8.0)) == Worth(0.75, 0.75, 0.75)
        assert score("writing", make_item(1, 1), (7.0, OPEN)).value is None
        assert score("writing", make_item(1, 1), (7.0, OPEN)).low == 0.4
        assert score("writing", make_item(1, 1), (7.0, OPEN)).high == 0.85

    def test_coverage_is_the_mean_level(self) -> None:
        assert score("coverage", make_item(1, 1), (0.25, 1.0)).value == 0.625
        assert score("coverage", make_item(1, 1), (0.5, OPEN)) == Worth(None, 0.25, 0.75, unknown={"empty reply": 1})

    def test_the_probe_is_the_share_of_its_four_criteria(self) -> None:
        assert score("probe", make_item(), (True, False, True, True)).value == 0.75

    def test_creative_turns_faults_around_and_leaves_out_what_does_not_apply(self) -> None:
        marks: list[Verdict] = [18.0 if place < 9 or place > 17 else 2.0 for place in range(22)]
        assert score("creative", make_item(), marks).value == 0.9
        marks[10] = NotApplicable()
        assert score("creative", make_item(), marks).value == 0.9
        assert score("creative", make_item(), [*marks[:-1], OPEN]) == Worth(None, 0.0, 1.0, unknown={"empty reply": 1})

    def test_verdicts_on_other_criteria_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="item 'family/1': 1 verdicts for 2 criteria; judge it again"):
            score("healthbench", make_item(5, 3), (True,))

    @given(
        judged=st.lists(
            st.tuples(st.sampled_from([True, False, OPEN]), st.integers(-5, 9).filter(bool)), min_size=1, max_size=6
        ).filter(lambda pairs: any(points > 0 for _, points in pairs))
    )
    def test_bounds_contain_every_completion_of_the_unknown(self, judged: list[tuple[Verdict, int]]) -> None:
        item, verdicts = make_item(*(points for _, points in judged)), [verdict for verdict, _ in judged]
        found = score("healthbench", item, verdicts)
        choices = [(True, False) if verdict is OPEN else (verdict,) for verdict in verdicts]
        values = [score("healthbench", item, full).value for full in product(*choices)]
        assert (found.low, found.high) == (min(values), max(values))  # type: ignore[type-var]


class TestPolicyFailures:
    @pytest.mark.parametrize(
        ("text", "finish", "value", "failure"),
        [
            ("Reasoning.\nAnswer: C", "stop", 1.0, ""),
            ("Answer: B", "stop", 0.0, ""),
            ("I cannot tell.", "stop", 0.0, "no letter"),
            ("", "stop", 0.0, "empty"),
            (" \n", "length", 0.0, "empty"),
            ("Answer: C, because", "length", 1.0, "cut off"),
            ("First we", "length", 0.0, "no letter"),
        ],
    )
    def test_a_letter_is_right_or_wrong(self, text: str, finish: str, value: float, failure: str) -> None:
        found = INSTRUMENTS["choice"].score(make_item(letter="C"), make_answer(text, finish))
        assert found == Worth(value, value, value, failure=failure)

    @pytest.mark.parametrize(
        ("name", "value"),
        [("healthbench", 0.0), ("writing", 0.1), ("coverage", 0.0), ("probe", 0.0), ("creative", 0.0)],
    )
    async def test_an_empty_answer_gets_the_least_without_a_call(self, name: str, value: float) -> None:
        model, item = ScriptedModel([]), make_item(5, -3)
        verdicts = await INSTRUMENTS[name].judge(Judge(model), item, " \n")
        assert model.requests == []
        assert score(name, item, verdicts, " \n") == Worth(value, value, value, failure="empty")

    async def test_an_answer_that_was_cut_off_is_judged_as_it_stands(self) -> None:
        model, item = ScriptedModel(lambda _: '{"criteria_met": true}'), make_item(5)
        verdicts = await INSTRUMENTS["healthbench"].judge(Judge(model), item, "Rest and")
        found = INSTRUMENTS["healthbench"].score(item, make_answer("Rest and", "length"), verdicts)
        assert found == Worth(1.0, 1.0, 1.0, failure="cut off")


class TestGames:
    @pytest.mark.parametrize(
        ("labels", "worth"),
        [
            (("B>>A", "A>B"), Worth(1.0, 1.0, 1.0, weight=4.0)),
            (("A>B", "A>>B"), Worth(0.75, 0.75, 0.75, weight=4.0)),
            (("A=B", "A=B"), Worth(0.5, 0.5, 0.5, weight=2.0)),
            (("A>>B", OPEN), Worth(None, 0.0, 1.0, unknown={"empty reply": 1})),
        ],
    )
    def test_much_better_counts_three_times(self, labels: tuple[str | Unknown, str | Unknown], worth: Worth) -> None:
        assert INSTRUMENTS["arena"].worth_of_games(make_answer(), labels) == worth

    @pytest.mark.parametrize(("category", "is_answered_first"), [("hard_prompt", True), ("creative_writing", False)])
    async def test_the_category_decides_about_the_prompt(self, category: str, is_answered_first: bool) -> None:
        model = ScriptedModel(lambda _: "So.\n\n[[B>A]]")
        item = make_item(category=category)
        assert await INSTRUMENTS["arena"].play(Judge(model), item, "Base.", "Mine.") == ("B>A", "B>A")
        assert {"your own answer" in request.messages[0].content for request in model.requests} == {is_answered_first}

    async def test_a_blind_pair_is_asked_about_in_both_orders(self) -> None:
        def prefer_mine(request: Request) -> str:
            text = request.messages[1].content
            return json.dumps({"better": "first" if text.index("Mine.") < text.index("Theirs.") else "second"})

        found = await INSTRUMENTS["pairs"].play(Judge(ScriptedModel(prefer_mine)), make_item(), "Theirs.", "Mine.")
        assert found == ("B>A", "A>B")

    async def test_a_game_without_a_reply_is_unknown(self) -> None:
        judge = Judge(ScriptedModel(lambda _: "Both."), JudgeConfig(reasks=0))
        for name in ("pairs", "arena"):
            labels = await INSTRUMENTS[name].play(judge, make_item(), "One.", "Two.")
            assert all(isinstance(label, Unknown) for label in labels)


async def test_verdicts_come_from_the_instrument_s_reading() -> None:
    item = make_item(5, -3)
    replies = {
        "healthbench": ('{"criteria_met": true}', (True, True)),
        "healthbench-meta": ('{"criteria_met": true}', (True, True)),
        "writing": ('{"score": 6}', (6.0, 6.0)),
        "coverage": ('{"extents": {"1": "barely", "2": "in full"}}', (0.25, 1.0)),
        "probe": ('{"satisfied": false}', (False,) * 4),
        "creative": ("\n".join(f"{name}: 3" for name in CREATIVE_NAMES), (3.0,) * 22),
    }
    for name, (reply, verdicts) in replies.items():
        judge = Judge(ScriptedModel(lambda _, reply=reply: reply))  # type: ignore[misc]
        assert await INSTRUMENTS[name].judge(judge, item, "An answer.") == verdicts


class TestByTag:
    @staticmethod
    def make(number: int, tags: tuple[str, ...], *criteria: tuple[float, tuple[str, ...]]) -> BenchmarkItem:
        made = tuple(Criterion(text=f"criterion {weight}", weight=weight, tags=own) for weight, own in criteria)
        return BenchmarkItem(f"healthbench/{number}", (Message(role="user", content="?"),), made, tags=tags)

    def test_a_tag_of_criteria_is_scored_over_its_own(self) -> None:
        items = [
            self.make(1, ("theme:a",), (5, ("axis:x", "level:e")), (3, ("axis:y", "level:e")), (-8, ("axis:y",))),
            self.make(2, ("theme:a",), (4, ("axis:x",)), (-4, ("axis:z",))),
        ]
        verdicts = {"healthbench/1": (True, False, True), "healthbench/2": (True, True)}
        assert score_by_tag(items, verdicts) == {
            "axis:x": 1.0,  # 5/5 and 4/4
            "axis:y": 0.0,  # -8/3, clipped
            "level:e": 5 / 8,
            "theme:a": 0.0,  # -3/8 and 0/4: the mean is clipped and not the prompts
        }  # axis:z has no positive points

    def test_an_item_that_unknown_verdicts_leave_open_is_left_out_of_its_tags_only(self) -> None:
        items = [self.make(1, ("theme:a",), (5, ("axis:x",)), (3, ("axis:y",)))]
        assert score_by_tag(items, {"healthbench/1": (True, OPEN)}) == {"axis:x": 1.0}
        assert score_by_tag(items, {}) == {}
