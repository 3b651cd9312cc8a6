import asyncio

from prorubric import Unknown
from prorubric.audit.edits.kind import MadeEdit, NotMade
from prorubric.audit.judging import ANSWER, AuditCase, Examiner, find_compliance
from prorubric.audit.models import Redrawn
from prorubric.judge.judge import Judge
from prorubric.llm.model import Model, Request
from prorubric.llm.scripted import ScriptedModel
from prorubric.rubric.records import Message
from tests.audit.judges import Keyword, Written
from tests.audit.shapes import make_responses, make_tasks


def make_case() -> AuditCase:
    return AuditCase(make_tasks("penalties")[0], make_responses()[0])


def examine(case: AuditCase, name: str, model: object, judged: list[int] | None = None) -> None:
    on_judged = (judged if judged is not None else []).append
    judges = Judge(model), Judge(Redrawn(model) if isinstance(model, Model) else model)  # type: ignore[arg-type]
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


def test_redrawn_keeps_draws_apart() -> None:
    model = ScriptedModel(lambda request: str(request.draw))
    question = (Message(role="user", content="?"),)
    replies = [asyncio.run(Redrawn(model).complete(Request(question, draw=draw))) for draw in (0, 1)]
    assert [getattr(reply, "text", None) for reply in replies] == ["1100000", "1100001"]


def test_compliance_turns_penalties_round_and_keeps_what_is_not_known() -> None:
    case = make_case()
    case.verdicts[ANSWER] = {"criteria": (True, False, Unknown("no reply"), *[True] * 6, False)}
    assert find_compliance(case) == (True, False, None, *[True] * 6, True)
    case.verdicts[ANSWER] = {"criteria": (*[False] * 9, True)}
    assert find_compliance(case) == (False,) * 10
