"""The hash of a prompt and names made from content."""

from hypothesis import given
from hypothesis import strategies as st

from prorubric import Criterion, Message, Rubric
from prorubric.datasets.ids import hash_prompt, make_id

PROMPT = (Message(role="user", content="Is it safe?"),)


def rubric(*pairs: tuple[str, float]) -> Rubric:
    return Rubric(criteria=tuple(Criterion(text=text, weight=weight) for text, weight in pairs))


@given(st.text(" \t\n"), st.text(" \t\n"))
def test_white_space_at_the_ends_of_a_turn_makes_no_other_prompt(before: str, after: str) -> None:
    assert hash_prompt((Message(role="user", content=f"{before}Is it safe?{after}"),)) == hash_prompt(PROMPT)


def test_another_role_or_another_cut_between_turns_is_another_prompt() -> None:
    turns = [("user", "Is it safe?"), ("system", "Is it safe?"), ("user", "Is it"), ("user", "safe?")]
    single, other, first, second = (Message.model_validate({"role": r, "content": c}) for r, c in turns)
    assert len({hash_prompt((single,)), hash_prompt((other,)), hash_prompt((first, second))}) == 3


def test_a_name_is_sixteen_hexadecimal_digits_and_always_the_same() -> None:
    assert make_id(PROMPT, rubric(("Says no", 3))) == "459d952d9589c540"


def test_the_same_prompt_with_another_checklist_has_another_name() -> None:
    names = {make_id(PROMPT, rubric(*pairs)) for pairs in ([("a", 3)], [("a", 4)], [("b", 3)], [("a", 3), ("a", 3)])}
    assert len(names) == 4


def test_half_a_character_in_a_prompt_can_be_hashed() -> None:
    assert len(hash_prompt((Message(role="user", content="\ud800"),))) == 64
