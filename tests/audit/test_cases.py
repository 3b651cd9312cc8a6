import asyncio

from prorubric import NotApplicable, Response, Unknown
from prorubric.audit.cases import ANSWER, AuditCase, Examiner, add_controls, first_cases
from prorubric.audit.edits.kind import MadeEdit, NotMade
from prorubric.audit.prepare import ANOTHER_DRAW
from prorubric.judge.judge import Judge, JudgeConfig
from prorubric.llm.model import Model, Request
from prorubric.llm.scripted import ScriptedModel
from prorubric.rubric.records import Message, Turn
from prorubric.runs.models import Redrawn
from tests.audit.judges import Keyword, Written
from tests.audit.shapes import make_responses, make_tasks


def make_case() -> AuditCase:
    return AuditCase(make_tasks("penalties")[0], make_responses()[0])


def examine(case: AuditCase, name: str, model: object, judged: list[int] | None = None) -> None:
    on_judged = (judged if judged is not None else []).append
    judges = Judge(model), Judge(Redrawn(model, ANOTHER_DRAW) if isinstance(model, Model) else model)  # type: ignore[arg-type]
    examiner = Examiner(*judges, ("additive",), ("criteria",), 4, on_judged)
    asyncio.run(examiner.examine([case], name))


def test_a_text_is_judged_and_scored_under_its_name() -> None:
    case, judged = make_case(), []  # type: ignore[var-annotated]
    examine(case, ANSWER, Keyword(), judged)
    verdicts = (True, True, True, True, False, False, True, False, False, False)
    assert case.verdicts == {ANSWER: {"criteria": verdicts}}
    assert (case.scores, judged) == ({ANSWER: {"additive": 0.7}}, [1])


def test_who_does_not_have_the_text_is_passed_over() -> None:
    case, judged = make_case(), []  # type: ignore[var-annotated]
    case.outcomes["name-item"] = NotMade(kind="name-item", reason="none")
    for name in ("name-item", "in-part"):
        examine(case, name, Keyword(), judged)
    assert (case.verdicts, case.scores, judged) == ({}, {}, [])


def test_again_is_another_draw_of_the_same_question() -> None:
    seen: list[Request] = []
    inner = Written()

    class Watched(Written):
        async def complete(self, request: Request):  # type: ignore[no-untyped-def]
            seen.append(request)
            return await inner.complete(request)

    case = make_case()
    case.outcomes["again"] = MadeEdit(kind="again", text=case.response.text)
    for name in (ANSWER, "again"):
        examine(case, name, Watched())
    assert [request.draw for request in seen] == [0, 1_100_000]
    assert seen[0].messages == seen[1].messages


def test_an_edit_of_a_transcript_takes_the_place_of_its_last_assistant_turn() -> None:
    model = ScriptedModel(lambda _: "{}")
    judge = Judge(model, JudgeConfig(view="full", reasks=0))
    turns = [
        Turn(role="assistant", content="Which city?"),
        Turn(role="user", content="Rome."),
        Turn(role="assistant", content="Old."),
    ]
    case = AuditCase(make_tasks("penalties")[0], Response(task_id="t", messages=tuple(turns)))
    case.outcomes["name-item"] = MadeEdit(kind="name-item", text="New.")
    asyncio.run(Examiner(judge, judge, ("additive",), ("criteria",), 4, lambda _: None).examine([case], "name-item"))
    prompt = model.requests[0].messages[1].content
    assert [word in prompt for word in ("Which city?", "Rome.", "New.", "Old.")] == [True, True, True, False]


def test_redrawn_keeps_draws_apart() -> None:
    model = ScriptedModel(lambda request: str(request.draw))
    question = (Message(role="user", content="?"),)
    replies = [asyncio.run(Redrawn(model, ANOTHER_DRAW).complete(Request(question, draw=draw))) for draw in (0, 1)]
    assert [getattr(reply, "text", None) for reply in replies] == ["1100000", "1100001"]


def test_compliance_turns_penalties_round_and_keeps_what_is_not_known() -> None:
    case = make_case()
    case.verdicts[ANSWER] = {"criteria": (True, False, Unknown("no reply"), NotApplicable(), *[True] * 5, False)}
    assert case.complies == (True, False, None, None, *[True] * 5, True)
    case.verdicts[ANSWER] = {"criteria": (*[False] * 9, True)}
    assert case.complies == (False,) * 10


def make_cases(prompts: int = 12) -> list[AuditCase]:
    tasks = {task.id: task for task in make_tasks("presence")[:prompts]}
    return [AuditCase(tasks[given.task_id], given) for given in make_responses() if given.task_id in tasks]


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
