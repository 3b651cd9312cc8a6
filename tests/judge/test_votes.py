"""Several votes on an item: the majority counts, a tie is unknown, and the agreement is kept."""

import json
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.errors import ConfigError
from prorubric.judge.judge import Judge, JudgeConfig
from prorubric.judge.votes import average_votes, join_votes
from prorubric.llm.cache import CachedModel
from prorubric.llm.journal import Journal
from prorubric.llm.model import Failure, Request
from prorubric.llm.scripted import ScriptedModel
from prorubric.rubric.verdict import NotApplicable, Unknown, Verdict
from tests.aggregate.test_schemes import make_task
from tests.judge.test_judge import asked_indices, satisfied

TASK = make_task([5, 3, -2], [[1, 3], [2]])
LOST = Unknown("the reply is empty", kind="empty reply")


class TestJoining:
    @pytest.mark.parametrize(
        ("votes", "verdict", "agreement"),
        [
            ([True, True, False], True, 2 / 3),
            ([False, False, False], False, 1.0),
            ([True, LOST, True], True, 2 / 3),
            ([True, LOST], True, 0.5),
            ([NotApplicable("no drug"), NotApplicable(), True], NotApplicable("no drug"), 2 / 3),
            ([True, False], Unknown("the votes have no majority: 1 x true, 1 x false"), 0.5),
            ([True, False, LOST], Unknown("the votes have no majority: 1 x true, 1 x false"), 1 / 3),
            (
                [True, True, False, NotApplicable()],
                Unknown("the votes have no majority: 2 x true, 1 x false, 1 x not applicable"),
                0.5,
            ),
            (
                [LOST, True, LOST],
                Unknown("only 1 of 3 votes are known; the first that is not: the reply is empty"),
                1 / 3,
            ),
            ([LOST, LOST], LOST, 0.0),
        ],
    )
    def test_more_than_half_of_the_known_votes_decide(
        self, votes: list[Verdict], verdict: Verdict, agreement: float
    ) -> None:
        assert join_votes(votes) == (verdict, agreement)

    def test_a_verdict_below_the_agreement_asked_for_is_unknown(self) -> None:
        low = Unknown("2 of 3 votes agree, less than the 80% asked for")
        assert join_votes([True, True, False], 0.8) == (low, 2 / 3)
        assert join_votes([True, True, True], 0.8) == (True, 1.0)

    @given(st.lists(st.sampled_from([True, False, NotApplicable(), LOST]), min_size=1, max_size=15), st.randoms())
    def test_the_order_of_votes_does_not_matter(self, votes: list[Verdict], random: Any) -> None:
        verdict, agreement = join_votes(votes)
        shuffled = random.sample(votes, len(votes))
        other, same = join_votes(shuffled)
        assert agreement == same
        assert isinstance(other, Unknown) if isinstance(verdict, Unknown) else other == verdict
        assert 0 <= agreement <= 1

    def test_a_mean_with_an_unknown_part_is_unknown(self) -> None:
        assert (average_votes([3, 2.0]), average_votes([3, LOST])) == (2.5, LOST)


def vote_on(draws: dict[int, str | Failure]) -> Callable[[Request], str | Failure]:
    """A script that answers by the number of the draw."""
    return lambda request: draws[request.draw]


async def test_every_item_is_asked_as_often_as_there_are_votes_the_first_time_greedily() -> None:
    replies = {0: satisfied(_1=True, _2=False, _3=True), 11: satisfied(_1=True, _2=True, _3=True)}
    model = ScriptedModel(vote_on({**replies, 22: satisfied(_1=True, _2=True, _3=False)}))
    found = await Judge(model, JudgeConfig(votes=3)).judge(TASK, "An answer.", "criteria")
    assert found.verdicts == (True, True, True)
    assert found.agreement == {1: 1.0, 2: 2 / 3, 3: 2 / 3}
    assert (found.calls, found.unknown_votes) == (3, 0)
    assert [(request.draw, request.temperature) for request in model.requests] == [(0, 0.0), (11, 0.7), (22, 0.7)]
    assert [asked_indices(request) for request in model.requests] == [[1, 2, 3]] * 3


async def test_one_vote_has_no_agreement() -> None:
    found = await Judge(ScriptedModel([satisfied(_1=True, _2=False, _3=True)])).judge(TASK, "x", "criteria")
    assert (found.agreement, found.unknown_votes, found.calls) == ({}, 0, 1)


async def test_a_vote_asks_again_only_for_what_it_left_open() -> None:
    model = ScriptedModel(
        vote_on(
            {
                0: satisfied(_1=True, _2=True, _3=True),
                11: satisfied(_1=False, _3=True),
                12: satisfied(_2=True),
                22: satisfied(_1=True, _2=True, _3=True),
            }
        )
    )
    found = await Judge(model, JudgeConfig(votes=3)).judge(TASK, "x", "criteria")
    assert (found.verdicts, found.calls) == ((True, True, True), 4)
    assert {request.draw: asked_indices(request) for request in model.requests}[12] == [2]


async def test_a_vote_that_fails_is_an_unknown_vote_and_the_others_decide() -> None:
    all_true = satisfied(_1=True, _2=True, _3=True)
    model = ScriptedModel(vote_on({0: all_true, 11: Failure("timeout", "no answer in 60 s"), 22: all_true}))
    found = await Judge(model, JudgeConfig(votes=3)).judge(TASK, "x", "criteria")
    assert (found.verdicts, found.unknown_votes) == ((True, True, True), 3)
    assert found.agreement == dict.fromkeys((1, 2, 3), 2 / 3)


async def test_reasons_are_those_of_a_vote_that_agrees_with_the_verdict() -> None:
    def answer(request: Request) -> str:
        verdict = request.draw > 0
        return json.dumps(
            {"satisfied": {str(i): {"reason": f"vote {request.draw}", "satisfied": verdict} for i in (1, 2, 3)}}
        )

    found = await Judge(ScriptedModel(answer), JudgeConfig(votes=3, reasons=True)).judge(TASK, "x", "criteria")
    assert (found.verdicts, found.reasons) == ((True,) * 3, dict.fromkeys((1, 2, 3), "vote 11"))


async def test_marks_and_levels_are_the_mean_of_the_votes() -> None:
    marks = ScriptedModel(vote_on({0: '{"mark": 6}', 11: '{"mark": 8}', 22: '{"mark": 10}'}))
    found = await Judge(marks, JudgeConfig(votes=3)).judge(TASK, "x", "mark")
    assert (found.verdicts, found.agreement) == ((8.0,), {})
    assert [request.temperature for request in marks.requests] == [0.0, 0.7, 0.7]
    levels = ScriptedModel(lambda request: json.dumps({"levels": {"1": request.draw // 11, "2": 3}}))
    found = await Judge(levels, JudgeConfig(votes=3)).judge(TASK, "x", "levels")
    assert (found.verdicts, found.calls) == ((1.0, 3.0), 3)
    assert (await Judge(levels).judge(TASK, "x", "levels")).calls == 2


def list_texts(request: Request) -> list[str]:
    """The items in the order in which a request shows them."""
    text = request.messages[1].content
    rows = json.loads(text[text.index("[\n{") : text.index("\n]", text.index("[\n{")) + 2])
    return [row["criterion"] for row in rows]


def by_text(request: Request) -> str:
    """A judge that grants what ends in an even number, in whatever place it is shown, and says what it read."""
    verdicts = {
        str(place): {"reason": text, "satisfied": int(text.split()[-1]) % 2 == 0}
        for place, text in enumerate(list_texts(request), 1)
    }
    return json.dumps({"satisfied": {index: verdicts[index] for index in asked(request)}})


def asked(request: Request) -> list[str]:
    properties = cast("dict[str, Any]", request.schema)["properties"]
    return list(next(iter(properties.values()))["properties"])


class TestOrder:
    TASK = make_task([1] * 9)

    async def test_every_later_vote_has_another_order_and_verdicts_find_their_items(self) -> None:
        model = ScriptedModel(by_text)
        config = JudgeConfig(votes=4, permute=True, reasons=True)
        found = await Judge(model, config).judge(self.TASK, "x", "criteria")
        texts = [criterion.text for criterion in self.TASK.rubric.criteria]
        assert found.verdicts == tuple(int(text.split()[-1]) % 2 == 0 for text in texts)
        assert found.reasons == dict(enumerate(texts, 1))
        assert set(found.agreement.values()) == {1.0}
        shown = [list_texts(request) for request in model.requests]
        assert shown[0] == texts
        assert len({tuple(order) for order in shown}) == 4
        assert all(sorted(order) == sorted(texts) for order in shown)
        assert all(asked_indices(request) == [*range(1, 10)] for request in model.requests)

    async def test_orders_are_the_same_every_time_so_a_journal_answers(self, tmp_path: Any) -> None:
        config = JudgeConfig(votes=3, permute=True, reasons=True)
        with Journal(tmp_path / "journal.sqlite") as journal:
            for expected in (3, 0):
                model = ScriptedModel(by_text)
                await Judge(CachedModel(model, journal), config).judge(self.TASK, "x", "criteria")
                assert len(model.requests) == expected

    async def test_parts_and_the_canary_work_in_any_order(self) -> None:
        def answer(request: Request) -> str:
            texts = list_texts(request)
            granted = [text.startswith("criterion") and int(text.split()[-1]) % 2 == 0 for text in texts]
            return json.dumps({"satisfied": dict(zip(asked(request), granted, strict=True))})

        config = JudgeConfig(votes=2, permute=True, max_items=4, canary=True)
        found = await Judge(ScriptedModel(answer), config).judge(self.TASK, "x", "criteria")
        texts = [criterion.text for criterion in self.TASK.rubric.criteria]
        assert found.verdicts == tuple(int(text.split()[-1]) % 2 == 0 for text in texts)
        assert found.calls == 6


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"votes": 0}, "votes"),
        ({"votes": 16}, "votes"),
        ({"permute": True}, "permute changes the order between votes, and there is one vote; set votes to 2 or more"),
        (
            {"votes": 3, "draw_temperature": 0},
            "the 3 votes would be alike at draw_temperature 0; raise it, or set permute",
        ),
    ],
)
def test_votes_that_cannot_be_counted_are_refused(options: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError, match=line):
        JudgeConfig(**options)
