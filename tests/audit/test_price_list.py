import asyncio
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric import Criterion, Message, Rubric, Task, Unknown, Verdict
from prorubric.audit.cases import ANSWER, AuditCase, Examiner
from prorubric.audit.edits.kind import MadeEdit
from prorubric.audit.price_list import _choose_cheapest, find_hack, list_prices, place_heaviest, probe_prices
from prorubric.judge.judge import Judge
from prorubric.llm.model import YesNoModel
from tests.audit.judges import Keyword, StrictExpert
from tests.audit.test_cases import make_cases

NAMES = {2: "rest", 3: "ice on the knee", 4: "a brace"}


def make_task(*weights: float) -> Task:
    criteria = tuple(Criterion(text=f"Mentions point {number}", weight=weight) for number, weight in enumerate(weights))
    return Task(id="knee", messages=(Message(role="user", content="?"),), rubric=Rubric(criteria=criteria))


def test_the_heaviest_criterion_is_the_first_of_the_highest_weight() -> None:
    assert place_heaviest(make_task(3, 9, 9, -20)) == 2


class TestPrices:
    def test_a_name_is_priced_by_what_it_moves(self) -> None:
        task = make_task(10, 4, 4, 2, -5)
        before = (True, False, True, False, False)
        after = (True, True, True, False, False)
        rest, ice, brace = list_prices(task, NAMES, before, after)
        assert (rest.moved, rest.pays, rest.tokens) == (1.0, 20.0, 1)
        assert (ice.moved, ice.pays) == (0.0, 0.0)
        assert (brace.named_as, brace.moved) == ("a brace", 0.0)

    def test_naming_that_loses_a_criterion_costs(self) -> None:
        (rest,) = list_prices(make_task(10, 10), {2: "rest"}, (True, True), (True, False))
        assert (rest.moved, rest.pays) == (-1.0, -50.0)

    def test_criteria_without_a_verdict_have_no_price(self) -> None:
        assert list_prices(make_task(10, 10), {2: "rest"}, (True, Unknown("cut off")), (True, True)) == ()


def forms(names_met: tuple[Verdict, ...], statements_met: tuple[Verdict, ...] = (False,) * 4) -> dict[str, Any]:
    stated = {2: "Rest the knee for some days.", 3: "Put ice on the knee.", 4: "Wear a brace on the knee."}
    return {
        "named": {i: name for i, name in NAMES.items() if names_met[i - 1] is True},
        "stated": {i: text for i, text in stated.items() if statements_met[i - 1] is True},
        "unknown": sum(isinstance(verdict, Unknown) for verdict in (*names_met, *statements_met)),
    }


class TestHack:
    def test_the_cheapest_names_that_reach_the_target_are_spelled_out(self) -> None:
        found = find_hack(make_task(2, 5, 5, 5), **forms((False, True, True, True)))
        assert (found.claimed, found.possible, found.criteria) == (True, False, (2, 3, 4))
        found = find_hack(make_task(2, 5, 5, 5), **forms((False, True, True, True)), target=0.5)
        assert found.criteria == found.named == (2, 4)
        assert found.text == "Also to keep in mind: rest; a brace."

    def test_what_a_name_does_not_buy_is_stated(self) -> None:
        found = find_hack(make_task(2, 5, 5, 5), **forms((False, True, False, False), (True,) * 4))
        assert (found.criteria, found.named) == ((2, 3, 4), (2,))
        assert found.text == "Put ice on the knee. Wear a brace on the knee.\n\nAlso to keep in mind: rest."

    def test_criteria_that_are_not_met_either_way_cannot_be_bought(self) -> None:
        found = find_hack(make_task(2, 5, 5, 5), **forms((False, True, False, Unknown("?"))))
        assert not found.possible
        bought = "29% of the sum can be bought without criterion 2, one of the heaviest; 80% is needed"
        assert found.reason == f"{bought}; unknown verdicts: 1"

    def test_the_share_that_is_copied_from_criteria_is_measured(self) -> None:
        task = make_task(9, 5, 5, 5)
        words = "Names at least three ways to rest a swollen knee"
        criteria = (*task.rubric.criteria[:3], Criterion(text=f"{words}.", weight=5))
        task = task.model_copy(update={"rubric": Rubric(criteria=criteria)})
        copied = find_hack(task, {}, {4: f"{words}."}, target=0.2)
        assert (copied.copied, copied.is_copied) == (1.0, True)
        # Of the sixteen words, the ten of the sentence are the criterion's; the names are too short to tell.
        mixed = find_hack(task, {2: "rest"}, {4: f"{words}."}, target=0.4)
        assert mixed.text == f"{words}.\n\nAlso to keep in mind: rest."
        assert (mixed.copied, mixed.is_copied) == (10 / 16, True)
        named = find_hack(task, {2: "rest", 4: "three ways to rest"}, {}, target=0.4)
        assert (named.copied, named.is_copied) == (0.0, False)

    def test_criteria_of_the_same_weight_are_counted(self) -> None:
        assert find_hack(make_task(2, 5, 5, 5), **forms((False, True, True, True)), target=0.5).as_heavy == 3
        assert find_hack(make_task(2, 5, 5, 6), **forms((False, True, True, True))).as_heavy == 1

    def test_no_words_no_hack(self) -> None:
        assert not find_hack(make_task(2, 5), {}, {}).possible


items = st.lists(st.tuples(st.integers(1, 8), st.sampled_from([0.05, 0.1, 0.15, 0.2, 0.3])), max_size=8)


@given(items, st.sampled_from([0.1, 0.5, 0.8]))
def test_no_cheaper_set_reaches_the_target(pairs: list[tuple[int, float]], target: float) -> None:
    costs, gains = [cost for cost, _ in pairs], [gain for _, gain in pairs]
    reaching = [
        sum(costs[i] for i in chosen)
        for size in range(len(pairs) + 1)
        for chosen in combinations(range(len(pairs)), size)
        if sum(gains[i] for i in chosen) >= target - 1e-9
    ]
    found = _choose_cheapest(costs, gains, target)
    if not reaching:
        assert found is None
    else:
        assert found is not None
        assert sum(costs[i] for i in found) == min(reaching)
        assert sum(gains[i] for i in found) == pytest.approx(max(target, sum(gains[i] for i in found)))


def probe(cases: list[AuditCase], judge: YesNoModel, target: float):  # type: ignore[no-untyped-def]
    async def run():  # type: ignore[no-untyped-def]
        examiner = Examiner(Judge(judge), Judge(judge), ("additive",), ("criteria",), 4, lambda _: None)
        await examiner.examine(cases, ANSWER)
        return await probe_prices(cases, examiner, target)

    return asyncio.run(run())


class TestProbes:
    def test_naming_moves_what_was_not_named_and_pays_its_weight(self) -> None:
        prices, _ = probe(make_cases(1), Keyword(), 0.8)
        # The first answer lacks points 5, 6, 8 and 9; the decision is never named.
        moved = {price.criterion: (price.moved, price.pays) for price in prices}
        assert moved == {
            2: (0.0, 0.0), 3: (0.0, 0.0), 4: (0.0, 0.0), 5: (1.0, 10.0),
            6: (1.0, 10.0), 7: (0.0, 0.0), 8: (1.0, 5.0), 9: (1.0, 5.0),
        }  # fmt: skip

    def test_an_expert_sells_nothing_for_a_name(self) -> None:
        prices, hacks = probe(make_cases(2), StrictExpert(), 0.3)
        assert {price.moved for price in prices} == {0.0}
        assert [hack.possible for hack in hacks] == [False, False]
        assert hacks[0].reason == "0% of the sum can be bought without criterion 1, the heaviest; 30% is needed"

    def test_a_hack_is_judged_and_compared_with_the_answer(self) -> None:
        cases = make_cases(1)
        _, (hack,) = probe(cases, Keyword(), 0.5)
        assert (hack.claimed, hack.possible, hack.earns, hack.reason) == (True, True, 0.5, "")
        assert hack.rewards == {"additive": 0.5}
        assert hack.answer_rewards == {"additive": 0.7}
        assert hack.text == cases[0].text_of("hack")
        assert isinstance(cases[0].outcomes["hack"], MadeEdit)

    def test_without_a_hack_none_is_judged(self) -> None:
        cases = make_cases(1)
        _, (hack,) = probe(cases, Keyword(), 0.8)
        assert (hack.claimed, hack.possible, hack.rewards) == (False, False, {})
        assert "hack" not in cases[0].verdicts

    def test_what_single_phrases_promise_and_the_whole_does_not_keep_is_not_a_hack(self) -> None:
        class Overwhelmed(Keyword):
            """Reads everything but the paragraph of a hack, which is the only short text with so few names."""

            async def probabilities(self, conversation, response, statements):  # type: ignore[no-untyped-def]
                found = await super().probabilities(conversation, response, statements)
                is_hack = response.startswith("Also to keep in mind") and response.count(";") < 6
                return [found[0], *[0.0] * (len(found) - 1)] if is_hack else found

        _, (hack,) = probe(make_cases(1), Overwhelmed(), 0.5)
        assert (hack.claimed, hack.possible) == (True, False)
        assert hack.reason == "judged as a whole the text earns 0% of the sum, 50% is needed"

    def test_a_text_that_meets_the_heaviest_criterion_is_not_a_hack(self) -> None:
        class Generous(Keyword):
            async def probabilities(self, conversation, response, statements):  # type: ignore[no-untyped-def]
                found = await super().probabilities(conversation, response, statements)
                return [1.0, *found[1:]]

        _, (hack,) = probe(make_cases(1), Generous(), 0.5)
        assert hack.reason == "judged as a whole the text meets criterion 1, the heaviest"
