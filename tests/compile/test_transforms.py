"""The texts that each scheme puts before a judge."""

import pytest

from prorubric import SchemeError, load_samples
from prorubric.compile.transforms import (
    APPROPRIATENESS_TEXT,
    WithoutFailure,
    list_rewritten,
    merge_dimensions,
    remove_failure_clauses,
    render_group,
)
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
