import numpy as np
import pytest

from prorubric.lab.checklist import make_checklists
from prorubric.lab.demos import write_demos
from prorubric.lab.facts import IN_FULL, NAMED, Facts
from prorubric.lab.language import (
    CONSENSUS,
    CasePlace,
    Said,
    find_place,
    make_case_task,
    make_consensus_task,
    make_language,
    read_texts,
)
from prorubric.lab.measure import PARTS
from prorubric.lab.world import END, WORLDS, make_world
from tests.lab.answering import CASES, WORLD, answer, find_case, right_side

FEW = 20


@pytest.mark.parametrize("name", WORLDS)
def test_every_move_and_every_demonstration_is_read_back_from_its_text(name: str) -> None:
    world = make_world(name)
    for number, text in enumerate(world.moves.sentences[1:], 1):
        assert make_language(name).parse(text) == [Said(number, int(world.moves.tokens_M[number]))]
    lists = make_checklists(name, FEW, 0)
    demos = write_demos(world, lists.cases, 0)
    facts = read_texts(lists, world, range(FEW), [world.moves.render(row) for row in demos])
    assert [[*row[row > 0]] for row in facts.moves_R_L] == [[*row[row > 0]] for row in demos]
    assert (facts.tokens == Facts(world, lists, np.arange(FEW), demos).tokens).all()


def test_garbage_has_a_length_and_moves_what_follows_back() -> None:
    moves = make_world(WORLD).moves
    decision = moves.sentences[moves.number("decide", 0)]
    said = make_language(WORLD).parse(f"Call a heart attack too at\n home. {decision} Call an")
    assert said == [Said(END, 13), Said(moves.number("decide", 0), 10), Said(END, 4)]
    facts = read_texts(make_checklists(WORLD, CASES, 0), make_world(WORLD), [0], [f"One two three. {decision}"])
    assert (facts.decided_at[0], facts.tokens[0], facts.decisions[0]) == (6, 16, 1)


def test_a_repeat_costs_its_length_and_the_first_one_counts() -> None:
    moves = make_world(WORLD).moves
    row = [moves.number("decide", 1), moves.number("name", 2), moves.number("decide", 1)]
    text = moves.render(np.array(row))
    facts = read_texts(make_checklists(WORLD, CASES, 0), make_world(WORLD), [0], [text])
    assert (facts.tokens[0], facts.decided_at[0], facts.decisions[0]) == (28, 0, 1)
    assert facts.item_level[0, 2] == NAMED


@pytest.mark.parametrize("reason", ["the pulse is fast", "the pulse is calm", "effort makes no difference"])
def test_a_reason_that_does_not_belong_to_the_item_only_names_it(reason: str) -> None:
    facts = read_texts(
        make_checklists(WORLD, CASES, 0),
        make_world(WORLD),
        [0],
        [f"A heart attack: of weight here, because {reason}."],
    )
    assert (facts.item_level[0, 0], facts.tokens[0]) == (NAMED, 24)
    row = find_case()
    assert answer([(right_side(row, 0), 0)], row=row).item_level[0, 0] == IN_FULL


def test_a_task_says_which_case_it_is_and_other_prompts_are_none() -> None:
    place = CasePlace(WORLD, 7, FEW, 3)
    prompt = make_case_task(place).messages[0].content
    assert prompt.endswith(f" [{WORLD}-7-of-20-draw-3]")
    assert find_place(prompt) == place
    for other in (prompt[:-1], prompt.replace("-7-of", "-8-of"), prompt.replace("of-20", "of-7"), f"Please, {prompt}"):
        assert find_place(other) is None


def test_the_consensus_task_of_a_case_has_the_parts_of_c_as_criteria_of_equal_weight() -> None:
    place = CasePlace(WORLD, 7, FEW, 3)
    task = make_consensus_task(place)
    assert (task.id, task.messages) == (place.name, make_case_task(place).messages)
    assert [criterion.text for criterion in task.rubric.criteria] == [CONSENSUS[part] for part in PARTS]
    assert task.rubric.weights == (1.0,) * 8
