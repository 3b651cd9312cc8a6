"""The records that editors hand back, and what is said of each kind of edit."""

from typing import get_args

import pytest

from prorubric.audit.edits import EDIT_KINDS, MEANINGS, PADDING, PAIRS, WORTHLESS, Edit, EditKind, NotMade
from prorubric.errors import RubricError


def test_every_kind_has_a_meaning_and_the_groups_hold_known_kinds() -> None:
    assert get_args(EditKind) == EDIT_KINDS == tuple(MEANINGS)
    assert len(EDIT_KINDS) == 8
    assert set(PADDING) < set(WORTHLESS) < set(EDIT_KINDS)
    assert PAIRS == {"integrate-substance": "add-substance"}


def test_an_edit_comes_back_from_a_file_as_it_was() -> None:
    edit = Edit(kind="in-part", text="a\nb", added=("b",), criteria=(2,))
    assert Edit.model_validate_json(edit.model_dump_json()) == edit
    assert edit.removed == ()


def test_what_was_not_made_has_a_reason() -> None:
    assert NotMade(kind="in-part", reason="x").model_dump() == {"kind": "in-part", "reason": "x"}
    with pytest.raises(RubricError, match="reason"):
        NotMade(kind="in-part")
