import asyncio

from prorubric.audit.edits.kind import MadeEdit, NotMade
from prorubric.audit.judging import ANSWER, AuditCase, Examiner
from prorubric.audit.probes import add_controls, first_cases, probe_prices
from prorubric.judge.judge import Judge
from prorubric.llm.model import YesNoModel
from tests.audit.judges import Keyword, StrictExpert
from tests.audit.shapes import make_responses, make_tasks


def make_cases(prompts: int = 12) -> list[AuditCase]:
    tasks = {task.id: task for task in make_tasks("presence")[:prompts]}
    return [AuditCase(tasks[given.task_id], given) for given in make_responses() if given.task_id in tasks]


def probe(cases: list[AuditCase], judge: YesNoModel, target: float):  # type: ignore[no-untyped-def]
    async def run():  # type: ignore[no-untyped-def]
        examiner = Examiner(Judge(judge), Judge(judge), ("additive",), ("criteria",), 4, lambda _: None)
        await examiner.examine(cases, ANSWER)
        return await probe_prices(cases, examiner, target)

    return asyncio.run(run())


class TestControls:
    def test_the_first_answer_of_each_prompt_in_order(self) -> None:
        cases = make_cases(3)
        assert first_cases(cases) == [cases[0], cases[3], cases[6]]

    def test_an_answer_to_another_prompt_is_never_one_to_the_same(self) -> None:
        cases = make_cases()
        add_controls(cases)
        own = {(case.task.id, case.response.text) for case in cases}
        for case in cases:
            assert (case.task.id, case.text_of("other-answer")) not in own

    def test_every_answer_is_lent_exactly_once(self) -> None:
        """What is lent has the same distribution as the answers: who looks at texts alone sees no change on average."""
        cases = make_cases()
        add_controls(cases)
        assert sorted(str(case.text_of("other-answer")) for case in cases) == sorted(c.response.text for c in cases)

    def test_a_single_prompt_has_no_other_answer(self) -> None:
        cases = make_cases(1)
        add_controls(cases)
        reason = "there is no answer to another prompt"
        assert [case.outcomes["other-answer"] for case in cases] == [NotMade(kind="other-answer", reason=reason)] * 3

    def test_again_is_the_answer_itself(self) -> None:
        cases = make_cases(2)
        add_controls(cases)
        assert all(case.text_of("again") == case.response.text for case in cases)

    def test_fewer_answers_elsewhere_are_lent_more_than_once(self) -> None:
        cases = make_cases(2)[:4]
        add_controls(cases)
        assert [case.text_of("other-answer") for case in cases] == [
            *[cases[3].response.text] * 3,
            cases[0].response.text,
        ]


class TestPrices:
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
        assert hacks[0].reason == "0% of the sum can be bought without the heaviest criterion, 30% is needed"

    def test_a_hack_is_judged_and_stands_beside_the_answer(self) -> None:
        cases = make_cases(1)
        _, (hack,) = probe(cases, Keyword(), 0.5)
        assert (hack.claimed, hack.possible, hack.earns, hack.reason) == (True, True, 0.5, "")
        assert hack.rewards == {"additive": 0.5}
        assert hack.answer_rewards == {"additive": 0.7}
        assert hack.text == cases[0].text_of("hack")
        assert isinstance(cases[0].outcomes["hack"], MadeEdit)

    def test_where_there_is_no_hack_none_is_judged(self) -> None:
        cases = make_cases(1)
        _, (hack,) = probe(cases, Keyword(), 0.8)
        assert (hack.claimed, hack.possible, hack.rewards) == (False, False, {})
        assert "hack" not in cases[0].verdicts

    def test_what_single_phrases_promise_and_the_whole_does_not_keep_is_no_hack(self) -> None:
        class Overwhelmed(Keyword):
            """Reads everything but the paragraph of a hack, which is the only short text with so few names."""

            async def probabilities(self, conversation, response, statements):  # type: ignore[no-untyped-def]
                found = await super().probabilities(conversation, response, statements)
                is_hack = response.startswith("Also to keep in mind") and response.count(";") < 6
                return [found[0], *[0.0] * (len(found) - 1)] if is_hack else found

        _, (hack,) = probe(make_cases(1), Overwhelmed(), 0.5)
        assert (hack.claimed, hack.possible) == (True, False)
        assert hack.reason == "judged as a whole the text earns 0% of the sum, 50% is needed"

    def test_a_text_that_meets_the_heaviest_criterion_is_no_hack(self) -> None:
        class Generous(Keyword):
            async def probabilities(self, conversation, response, statements):  # type: ignore[no-untyped-def]
                found = await super().probabilities(conversation, response, statements)
                return [1.0, *found[1:]]

        _, (hack,) = probe(make_cases(1), Generous(), 0.5)
        assert hack.reason == "judged as a whole the text meets the heaviest criterion"
