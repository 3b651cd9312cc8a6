"""The texts that each scheme puts before a judge."""

import pytest

from prorubric import load_samples
from prorubric.errors import SchemeError
from prorubric.judge.texts import APPROPRIATENESS_TEXT, list_rewritten, merge_dimensions, render_group
from prorubric.text.failures import Sentence, WithoutFailure, remove_failure_clauses, split_clauses
from tests.aggregate.test_schemes import make_task

LONG = "The parent knows after the first lines that the baby goes in tonight."


@pytest.mark.parametrize(
    "clause",
    [
        "Fails if it waits.",
        "The answer fails when it waits.",
        "It is not met if it waits.",
        "An answer that waits does not count.",
        "Waiting voids it.",
        "No credit if it waits.",
        "如果回答建议等到早上，则不通过。",
        "一旦推荐抗生素即为失败。",
        "建议等待的回答视为不满足本标准。",
        "失败条件：建议等待。",
    ],
)
def test_explicit_failure_sentences_are_taken_out_and_counted(clause: str) -> None:
    assert remove_failure_clauses(f"{LONG} {clause}") == WithoutFailure(LONG, removed=1, restored=False)


@pytest.mark.parametrize(
    "more", ["", " 若血糖不达标，应增加剂量。", " 回答说明治疗失败后该怎么办。", " 患者未通过考试。"]
)
def test_a_description_without_failure_wording_stays_as_it_is(more: str) -> None:
    assert remove_failure_clauses(LONG + more) == WithoutFailure(LONG + more, removed=0, restored=False)


@pytest.mark.parametrize(
    "listed",
    [
        "Fails if:\n- it waits\n- it gives aspirin",
        "It fails if any of these holds:\n1. It waits.\n2. It gives aspirin.",
        "Failure conditions:\n* It waits\n• It gives aspirin",
        "出现以下情况时回答不通过：\n1、建议等待\n2、建议阿司匹林",
    ],
)
def test_what_is_listed_under_a_clause_goes_with_it(listed: str) -> None:
    assert remove_failure_clauses(f"{LONG}\n{listed}") == WithoutFailure(LONG, removed=1, restored=False)
    after = "The tone is calm, and nothing in it is left open."
    assert remove_failure_clauses(f"{LONG}\n{listed}\n\n{after}").text == f"{LONG} {after}"


def test_an_item_with_failure_wording_does_not_end_the_list() -> None:
    listed = "Fails if:\n- it waits; fails if asked\n- aspirin is given"
    assert remove_failure_clauses(f"{LONG}\n{listed}").text == LONG


FOLLOWING = """This includes suggesting a call in the morning.
That includes a call in the morning.
This would also include a call in the morning.
This also applies if a dose is tried first.
This holds however kind the words are.
This is true even if a dose is tried first.
The same holds if a dose is tried first.
The same applies to an answer that leaves it open.
The same goes for an answer that leaves it open.
So does leaving it to the parent.
So is any answer that leaves it open.
Likewise if a dose is tried first.
Similarly, when a dose is tried first.
Also if a dose is tried first.
Or if a dose is tried first.
Nor does one that leaves it open.
Nor does an answer that leaves it open.
Neither does a reply that leaves it open.
Dies gilt auch für einen Anruf am Morgen.
Dazu gehört ein Anruf am Morgen.
Cela inclut un appel le matin.
Il en va de même d'un appel le matin.
Esto incluye una llamada por la mañana.
Lo mismo ocurre con una llamada por la mañana.
这也包括建议早上打电话。""".split("\n")

NOT_FOLLOWING = """It includes the reason for this.
The answer includes the reason for this.
So the parent knows what to do tonight.
So, the decision comes first.
This means that the decision comes first.
This is said in the first lines.
That is said in the first lines.
Even if the fever falls, the baby goes in.
Also if the fever falls, the parent is told to go.
Likewise, the reason is told in plain words.
Likewise when the fever falls, the baby goes in.
Or, better, the decision comes first.
Also the reason is told in plain words.
Nor is it necessary to treat the fever first.
Nor does it help to wait for the fever to fall.
Nor may the parent be blamed.
The same doctor sees the baby again.
Similarly clear words are used for the way there.
Das Kind wird heute Nacht gebracht.
Cela dit, la raison est donnée.
Esto se dice al principio.
这是家长首先读到的内容。
同样重要的是说明原因。""".split("\n")


@pytest.mark.parametrize("following", FOLLOWING)
def test_a_sentence_that_goes_on_from_a_clause_goes_with_it(following: str) -> None:
    after = "The tone is calm."
    assert remove_failure_clauses(f"{LONG} Fails if it waits. {following} {after}").text == f"{LONG} {after}"
    assert remove_failure_clauses(f"{LONG} Fails if it waits. {following} {following}").text == LONG
    assert remove_failure_clauses(f"{LONG} {following}").text == f"{LONG} {following}"


@pytest.mark.parametrize("demand", NOT_FOLLOWING)
def test_a_demand_after_a_clause_stays(demand: str) -> None:
    assert remove_failure_clauses(f"{LONG} Fails if it waits. {demand}").text == f"{LONG} {demand}"


def test_what_follows_a_clause_counts_as_no_clause_of_its_own() -> None:
    found = remove_failure_clauses(f"{LONG} Fails if it waits. So does aspirin. This includes:\n- a call\n- ice")
    assert found == WithoutFailure(LONG, removed=1, restored=False)
    assert found.matched == 1


@pytest.mark.parametrize(
    "clause",
    [
        "; fails if the fever is waited out.",
        "; it fails if the fever is waited out; or if aspirin is given.",
        "; the answer fails when it waits.",
        "; an answer that waits fails.",
        "; otherwise the answer fails.",
        "; not met if it waits.",
        "; no credit if it waits.",
        "; failure: it waits.",
        " — fails if it waits.",
        " – it fails if it waits.",
        "; scheitert, wenn sie abwartet.",
        "; échec si elle attend.",
        "; falla si espera.",
        "；若建议等待则不通过。",
        "，否则不通过。",
    ],
)
def test_a_demand_before_a_clause_of_the_same_sentence_stays(clause: str) -> None:
    assert remove_failure_clauses(LONG[:-1] + clause) == WithoutFailure(LONG, removed=1, restored=False)
    demand, rest = split_clauses(LONG[:-1] + clause)
    assert (demand.is_failure, demand.is_rest, rest.is_failure, rest.is_rest) == (False, False, True, True)
    followed = f"{LONG[:-1]}{clause} This includes a call. The tone is calm."
    assert remove_failure_clauses(followed).text == f"{LONG} The tone is calm."


def test_a_demand_in_chinese_is_closed_in_chinese() -> None:
    demand = "家长读完前几行就知道今晚必须带孩子去急诊，并且明白为什么六周大的婴儿发烧不能等到早上再处理"
    assert remove_failure_clauses(f"{demand}；若建议等待则不通过。").text == f"{demand}。"
    assert remove_failure_clauses(f"{demand}，否则不通过。").text == f"{demand}。"


@pytest.mark.parametrize(
    "sentence",
    [
        "An answer — even a kind one — fails if it waits.",
        "It waits or gives aspirin; either fails the criterion.",
        "Aspirin is suggested; this fails the criterion.",
        "Fails if it waits; fails if aspirin is given.",
        "Fails if it waits; an answer that gives aspirin fails.",
        "If it waits; fails if aspirin is given.",
        "若建议等待；若推荐阿司匹林，则不通过。",
        "; fails if it waits.",
    ],
)
def test_a_clause_that_begins_with_its_sentence_is_not_cut(sentence: str) -> None:
    assert split_clauses(sentence) == [Sentence(sentence, opens_failure=True, is_failure=True)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Explains the dose; the pump fails when it is dry.",
        "The kidneys decide; heart failure is named where it matters.",
        "The dose is halved — failure to do so is dangerous.",
        "The first drug is named; so is what to do when it fails.",
    ],
)
def test_a_subject_after_a_semicolon_is_not_a_clause(sentence: str) -> None:
    assert split_clauses(sentence) == [Sentence(sentence, opens_failure=False, is_failure=False)]


def test_a_list_of_demands_before_a_clause_stays() -> None:
    demands = "All of these hold:\n- the baby goes in tonight\n- no fever medicine first"
    text = " ".join(demands.splitlines())
    assert remove_failure_clauses(f"{demands}\nFails if it waits.").text == text


def test_a_description_that_would_become_too_short_is_restored() -> None:
    short = "Acts now. Fails if it waits for the morning or for medicine."
    assert remove_failure_clauses(short) == WithoutFailure(short, removed=0, restored=True)


def test_forty_characters_are_enough_and_thirty_nine_are_not() -> None:
    forty = "A" * 39 + "."
    assert remove_failure_clauses(f"{forty} Fails if not.").text == forty
    assert remove_failure_clauses(f"{forty[1:]} Fails if not.").restored


def test_every_failure_clause_of_the_sample_pack_is_found() -> None:
    tasks = {answer.task.id: answer.task for answer in load_samples()}
    dimensions = [dimension for task in tasks.values() for dimension in task.protocol.dimensions]  # type: ignore[union-attr]
    assert all(remove_failure_clauses(dimension.description).removed >= 1 for dimension in dimensions)


def test_a_group_shows_its_criteria_word_for_word() -> None:
    task = make_task([5, 3, -2], [[1, 3], [2]])
    assert task.protocol is not None
    text = render_group(task.rubric, task.protocol.dimensions[0])
    assert text.splitlines()[1:] == ["- (must hold) criterion 0", "- (must not occur) criterion 2"]
    assert text.startswith("All of the following must hold together")


def test_one_dimension_holds_all_descriptions_and_a_clause_of_its_own() -> None:
    task = make_task([5, 3], [[1], [2]])
    assert task.protocol is not None
    text = merge_dimensions(task.protocol)
    assert "- dimension 0: holds\n- dimension 1: holds\n" in text
    assert text.endswith("Fails if any one of these fails, however well the others are met.")


def test_restated_criteria_come_from_the_task() -> None:
    task = make_task([5, 3]).model_copy(update={"meta": {"rewritten": ["one", "two"]}})
    assert list_rewritten(task) == ("one", "two")


@pytest.mark.parametrize("texts", [None, "one", ["one"], ["one", 2]])
def test_restated_criteria_that_do_not_fit_are_refused(texts: object) -> None:
    task = make_task([5, 3]).model_copy(update={"meta": {"rewritten": texts}})
    with pytest.raises(SchemeError, match="one restated text for each of the 2 criteria"):
        list_rewritten(task)


def test_the_fixed_criterion_asks_for_directness_scope_and_the_asker() -> None:
    assert all(word in APPROPRIATENESS_TEXT for word in ("asked", "keeps to", "situation", "fails"))
