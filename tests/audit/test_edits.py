"""The kinds of edit, each one record, and what an editor hands back."""

import json
from typing import get_args

import pytest

from prorubric.audit.editors import Editor, load_edit_prompt
from prorubric.audit.edits import EDITS, EditName
from prorubric.audit.edits.kind import EditCase, MadeEdit, NotMade
from prorubric.audit.paper import load_paper
from prorubric.errors import RubricError
from prorubric.llm.model import Request
from prorubric.llm.scripted import ScriptedModel
from tests.audit.editing import ANSWER, CASE, make_case
from tests.audit.test_llm_editor import ASKED, GOOD, kind_of

NEED_UNMET = ("name-item", "name-topic", "in-part", "add-substance", "integrate-substance")
HACKS = (
    *("self-praise", "claim-compliance", "closing-phrase", "authority", "flatter-judge", "instruct-judge"),
    *("restate-question", "template-format", "repeat-answer"),
)
NEED_NO_UNMET = ("needless-test", "drop-key-advice", "paraphrase")


def test_every_kind_says_what_it_does_and_the_groups_follow_from_the_records() -> None:
    assert get_args(EditName) == tuple(EDITS)
    assert all(name == kind.name and kind.meaning for name, kind in EDITS.items())
    padding, worthless, hacks = (
        tuple(name for name, kind in EDITS.items() if getattr(kind, group))
        for group in ("is_padding", "is_worthless", "is_hack")
    )
    assert hacks == HACKS
    assert padding == ("name-item", "name-topic", "needless-test", *HACKS)
    assert worthless == ("name-item", "name-topic", "in-part", "needless-test", "drop-key-advice", *HACKS)
    assert {name: kind.pair.name for name, kind in EDITS.items() if kind.pair} == {
        "integrate-substance": "add-substance"
    }


@pytest.mark.parametrize("name", ASKED)
def test_every_kind_has_its_prompt_and_figures_that_the_paper_has(name: str) -> None:
    assert load_edit_prompt(name)["instructions"]
    paper, medicine = load_paper()["incentive_audit"], load_paper()["incentive_audit_by_domain"]["medicine"]
    assert not EDITS[name].paper or EDITS[name].paper in {*paper, *medicine}
    assert not EDITS[name].paper_redundancy or EDITS[name].paper_redundancy in medicine


class TestCalls:
    @pytest.mark.parametrize(
        ("case", "names", "calls"),
        [
            (CASE, tuple(EDITS), len(ASKED)),
            (CASE, HACKS, 0),
            (CASE, ("integrate-substance",), 2),
            (CASE, ("add-substance", "integrate-substance"), 2),
            (make_case(ANSWER, [("Says that it is urgent.", 1, True)]), NEED_NO_UNMET + NEED_UNMET, 3),
            (make_case(" "), tuple(EDITS), 0),
        ],
    )
    async def test_a_model_is_asked_once_for_each_edit_that_can_be_made(
        self, case: EditCase, names: tuple[str, ...], calls: int
    ) -> None:
        def reply(request: Request) -> str:
            return json.dumps(GOOD[kind_of(request)])

        model = ScriptedModel(reply)
        await Editor(model).edit(case, names)
        assert len([request for request in model.requests if request.draw == 0]) == calls


def test_an_edit_comes_back_from_a_file_as_it_was() -> None:
    edit = MadeEdit(kind="in-part", text="a\nb", added=("b",), criteria=(2,))
    assert MadeEdit.model_validate_json(edit.model_dump_json()) == edit
    assert edit.removed == ()


def test_what_was_not_made_has_a_reason() -> None:
    assert NotMade(kind="in-part", reason="x").model_dump() == {"kind": "in-part", "reason": "x"}
    with pytest.raises(RubricError, match="reason"):
        NotMade(kind="in-part")
