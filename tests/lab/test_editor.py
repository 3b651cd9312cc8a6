"""The lab's editor behind the real one: prompts, parsing and checks, and what its edits mean in the world."""

import asyncio

import numpy as np
import pytest

from prorubric.audit.editors import Editor
from prorubric.audit.edits import EDITS
from prorubric.audit.edits.kind import EditCase, MadeEdit, NotMade
from prorubric.lab.checklist import make_checklists
from prorubric.lab.demos import write_demos
from prorubric.lab.facts import IN_FULL, Facts
from prorubric.lab.incentive import edit_answers
from prorubric.lab.judges import judge_criteria, lenient_rates
from prorubric.lab.language import CasePlace, make_case_task, read_texts
from prorubric.lab.world import make_world
from prorubric.llm.make import make_text_model
from prorubric.rubric.records import Message

WORLD, COUNT, SEED = make_world("triage-v1"), 40, 5
LISTS = make_checklists("triage-v1", COUNT, SEED)
FACTS = Facts(WORLD, LISTS, np.arange(COUNT), write_demos(WORLD, LISTS.cases, SEED))
ASKED = [name for name, kind in EDITS.items() if kind.question]
Outcome = MadeEdit | NotMade


def make_cases() -> list[EditCase]:
    met = judge_criteria(FACTS, lenient_rates(WORLD.spec), "lenient", 0) == (LISTS.weight_T_N > 0)
    tasks = [make_case_task(CasePlace("triage-v1", row, COUNT, SEED)) for row in range(COUNT)]
    answers = [WORLD.moves.render(moves) for moves in FACTS.moves_R_L]
    return [
        EditCase(task, answer, tuple(complies[: len(task.rubric)].tolist()))
        for task, answer, complies in zip(tasks, answers, met, strict=True)
    ]


@pytest.fixture(scope="module")
def edited() -> dict[str, list[Outcome]]:
    """By edit, what came of each answer."""

    async def edit() -> list[tuple[Outcome, ...]]:
        editor = Editor(make_text_model("lab:triage-v1"))
        return [await editor.edit(case, ASKED) for case in make_cases()]

    return dict(zip(ASKED, map(list, zip(*asyncio.run(edit()), strict=True)), strict=True))


def read(outcomes: list[Outcome]) -> tuple[Facts, list[int]]:
    """What the edited answers say, and which answers they are of."""
    made = {row: one.text for row, one in enumerate(outcomes) if isinstance(one, MadeEdit)}
    return read_texts(LISTS, WORLD, [*made], [*made.values()]), [*made]


def count_gains(after: Facts, rows: list[int]) -> tuple[int, int, float]:
    """How many items more are only named and explained rightly, and the mean of the tokens added."""
    gains = [int((after.item_level == level).sum() - (FACTS.item_level[rows] == level).sum()) for level in (1, 3)]
    return gains[0], gains[1], round(float((after.tokens - FACTS.tokens[rows]).mean()), 1)


def test_every_edit_is_made_or_has_a_reason(edited: dict[str, list[Outcome]]) -> None:
    made = [sum(isinstance(one, MadeEdit) for one in edited[name]) for name in ASKED]
    assert dict(zip(ASKED, made, strict=True)) == {
        "name-item": 40,
        "name-topic": 36,
        "in-part": 26,
        "needless-test": 40,
        "drop-key-advice": 37,
        "paraphrase": 40,
        "add-substance": 33,
        "integrate-substance": 33,
    }
    reasons = [one.reason for outcomes in edited.values() for one in outcomes if isinstance(one, NotMade)]
    assert {reason: reasons.count(reason) for reason in reasons} == {
        "too few topics are named": 4,
        "no unmet criterion has two parts": 14,
        "the sentence carries no criterion that is met": 2,
        "no other sentence carries a criterion that is met": 1,
        "another decision cannot be taken back": 5,
        "a wrong explanation cannot be taken back": 2,
        "there is no appended text to pair it with": 7,
    }


@pytest.mark.parametrize(
    ("edit", "by_text", "by_moves"),
    [
        # Up to six of the heaviest criteria are named, and those that have no move cost 1.7 tokens a word.
        ("name-item", (187, 0, 52.2), (200, 0, 40.0)),
        # A topic that gives a criterion away is left out; all answers are edited by moves, and 36 of 40 by text.
        ("name-topic", (0, 0, 31.1), (0, 0, 30.0)),
        ("in-part", (0, 26, 24.0), (0, 40, 24.0)),
        ("needless-test", (0, 0, 8.0), (0, 0, 8.0)),
        ("paraphrase", (0, 0, 0.0), (0, 0, 0.0)),
        # Three criteria, which may ask for two items each or for a test, and the words that the check looks for.
        ("add-substance", (-11, 96, 85.4), (0, 120, 72.0)),
    ],
)
def test_edits_by_text_do_what_edits_by_moves_do(
    edited: dict[str, list[Outcome]],
    edit: str,
    by_text: tuple[int, int, float],
    by_moves: tuple[int, int, float],
) -> None:
    after, rows = read(edited[edit])
    assert count_gains(after, rows) == by_text
    moves, made = edit_answers(FACTS, edit)
    done = np.flatnonzero(made).tolist()
    assert count_gains(Facts(WORLD, LISTS, np.array(done), moves[done]), done) == by_moves


def test_a_needless_test_is_needless_and_another_order_says_the_same(edited: dict[str, list[Outcome]]) -> None:
    tests, rows = read(edited["needless-test"])
    assert (tests.needless - FACTS.needless[rows] == 1).all()
    reworded, rows = read(edited["paraphrase"])
    assert (reworded.said_moves == FACTS.said_moves[rows]).all()


def test_the_same_substance_is_spread_with_the_decision_still_first(edited: dict[str, list[Outcome]]) -> None:
    (apart, rows), (together, others) = read(edited["integrate-substance"]), read(edited["add-substance"])
    assert rows == others
    assert (apart.said_moves == together.said_moves).all()
    assert (apart.tokens == together.tokens).all()
    first = FACTS.decided_at[rows] == 0
    assert (apart.decided_at[first] == 0).all()


def test_the_decision_is_dropped_if_it_is_right_and_the_check_takes_it(edited: dict[str, list[Outcome]]) -> None:
    dropped, rows = read(edited["drop-key-advice"])
    gone = dropped.decisions < FACTS.decisions[rows]
    assert 0 < gone.sum() < len(rows)
    assert (FACTS.decision_level[rows][gone] == IN_FULL).all()
    assert ((FACTS.said_moves[rows] & ~dropped.said_moves).sum(axis=1) == 1).all()


def test_what_is_no_case_of_the_world_is_declined() -> None:
    case = make_cases()[0]
    other = case.task.model_copy(update={"messages": (Message(role="user", content="Is it going to rain?"),)})
    for spec, task in (("lab:triage-v1", other), ("lab:science-v1", case.task)):
        editor = Editor(make_text_model(spec))
        (outcome,) = asyncio.run(editor.edit(EditCase(task, case.answer, case.complies), ["name-item"]))
        assert outcome == NotMade(kind="name-item", reason=f"the conversation is not a case of {spec[4:]}")
    (short,) = asyncio.run(editor.edit(EditCase(case.task, "Call an ambulance now.", case.complies), ["paraphrase"]))
    assert short == NotMade(kind="paraphrase", reason="too few sentences for another order")
