"""Dimensions without a model: always a partition, always the same, worded around the task."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric import Criterion, Message, Rubric, Task, load_samples, load_tasks
from prorubric.compile.check import find_faults, find_text_faults
from prorubric.compile.compiler import RULES_IDENTITY
from prorubric.compile.rules import LABEL, draft_by_rules, find_unread
from prorubric.errors import RubricError
from prorubric.text.failures import remove_failure_clauses
from prorubric.text.sentences import list_sentences
from tests import strategies

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def make_task(
    texts: list[str],
    question: str = "How do I repot a fern?",
    weights: list[float] | None = None,
    tags: list[str] | None = None,
) -> Task:
    criteria = tuple(
        Criterion(text=text, weight=weights[i] if weights else 1.0, tags=(tags[i],) if tags else ())
        for i, text in enumerate(texts)
    )
    return Task(id="t", messages=(Message(role="user", content=question),), rubric=Rubric(criteria=criteria))


def groups_of(task: Task) -> list[tuple[int, ...]]:
    return [dimension.indices for dimension in draft_by_rules(task).dimensions]


def names_of(task: Task) -> list[str]:
    return [dimension.name for dimension in draft_by_rules(task).dimensions]


def texts_of(task: Task) -> list[str]:
    return [dimension.description for dimension in draft_by_rules(task).dimensions]


def unrelated(count: int) -> list[str]:
    """Criteria that share no word."""
    return [f"{LETTERS[i % 26] * 4}{LETTERS[i // 26] * 3}" for i in range(count)]


@given(strategies.tasks(with_protocol=False).filter(lambda task: len(task.rubric) >= 2 and not find_unread(task)))
def test_any_task_gets_a_partition_in_texts_of_three_sentences_that_end_in_a_failure_clause(task: Task) -> None:
    draft = draft_by_rules(task)
    assert find_faults(draft, len(task.rubric)) == []
    for dimension in draft.dimensions:
        assert list(dimension.indices) == sorted(dimension.indices)
        assert 1 <= len(dimension.name.split()) <= 6
        sentences = list_sentences(dimension.description)
        assert len(sentences) == 3
        assert sentences[-1].startswith("Fails if ")
        without = remove_failure_clauses(dimension.description)
        assert (without.text, without.removed) == (" ".join(sentences[:2]), 1)
        assert len(dimension.description) < 1_500


@given(st.integers(2, 70))
def test_runs_are_balanced_and_as_many_as_the_rule_says(count: int) -> None:
    sizes = [len(group) for group in groups_of(make_task(unrelated(count)))]
    assert len(sizes) == (2 if count <= 5 else 3 if count <= 12 else 4 if count <= 30 else 5)
    assert max(sizes) - min(sizes) <= 1


@given(strategies.tasks(with_protocol=False).filter(lambda task: len(task.rubric) >= 2 and not find_unread(task)))
def test_the_same_task_gives_the_same_draft(task: Task) -> None:
    assert draft_by_rules(task) == draft_by_rules(task.model_copy(deep=True))


def test_the_draft_does_not_depend_on_the_order_of_sets_in_a_process() -> None:
    program = (
        "from prorubric import load_samples; from prorubric.compile.rules import draft_by_rules;"
        "print([draft_by_rules(answer.task) for answer in load_samples()])"
    )
    said = [f"{[draft_by_rules(answer.task) for answer in load_samples()]}\n"]
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True, env=environment
        )
        said.append(run.stdout)
    assert said[0] == said[1] == said[2]


def test_a_single_criterion_is_refused_in_one_line() -> None:
    with pytest.raises(RubricError) as caught:
        draft_by_rules(make_task(["Waters the fern."]))
    assert str(caught.value) == "task 't': the rubric has 1 criterion, which cannot be grouped; rules needs at least 2"


def test_without_a_given_grouping_the_groups_are_runs_of_neighbours_as_equal_as_possible() -> None:
    assert groups_of(make_task(unrelated(7))) == [(1, 2), (3, 4), (5, 6, 7)]
    sizes = [len(group) for group in groups_of(make_task(unrelated(41)))]
    assert sizes == [8, 8, 8, 8, 9]


def test_groups_that_every_criterion_is_tagged_with_are_the_dimensions() -> None:
    tags = ["dimension:insight", "dimension:easy_to_read", "dimension:insight", "dimension:insight"]
    task = make_task(unrelated(4), tags=tags)
    assert (groups_of(task), names_of(task)) == ([(1, 3, 4), (2,)], ["insight", "easy to read"])
    task = make_task(unrelated(4), tags=["group:a", "group:a", "group:b", "group:c"])
    assert (groups_of(task), names_of(task)) == ([(1, 2), (3,), (4,)], ["a", "b", "c"])


def test_neighbouring_groups_are_merged_if_there_are_more_than_five() -> None:
    task = make_task(unrelated(14), tags=[f"group:{LETTERS[i % 7]}" for i in range(14)])
    assert names_of(task) == ["a", "b", "c and d", "e", "f and g"]
    assert groups_of(task) == [(1, 8), (2, 9), (3, 4, 10, 11), (5, 12), (6, 7, 13, 14)]


@pytest.mark.parametrize(
    "tags",
    [["group:a", "group:b", "level:x", "group:a"], ["group:a"] * 4, ["group:a", "group: ", "group:b", "group:b"]],
)
def test_a_grouping_that_is_not_complete_or_a_single_group_is_not_used(tags: list[str]) -> None:
    assert groups_of(make_task(unrelated(4), tags=tags)) == [(1, 2), (3, 4)]


def test_a_long_name_of_a_group_is_cut() -> None:
    long = "one two three four five six seven"
    task = make_task(unrelated(2), tags=[f"group:{long}", "group:" + "x" * 200])
    assert names_of(task) == ["one two three four five six", "x" * 80]


def test_a_topic_is_never_taken_for_a_failure_clause() -> None:
    texts = texts_of(make_task(["Explains void fraction", "Explains what voids it"], "Void or voided?"))
    assert [remove_failure_clauses(text).removed for text in texts] == [1, 1]


def test_the_text_speaks_of_the_question_and_of_the_group() -> None:
    texts = ["Recommends a larger clay pot", "Advises against a clay pot in winter"]
    first, second = draft_by_rules(make_task([*texts, "Explains root rot", "Explains why root rot spreads"])).dimensions
    assert (first.name, second.name) == ("Part 1: clay", "Part 2: root")
    assert first.description == (
        "The answer to the question about repot and fern is right for this case in what it says on clay, pot and "
        "winter. What it says there fits together, and the reader can act on it. Fails if any part of that is wrong, "
        "missing or contradicted further on, however much else is said about clay."
    )


def test_negative_criteria_are_in_the_failure_clause() -> None:
    texts = ["Recommends a clay pot", "Recommends boiling water", "Explains light", "Explains shade"]
    sentences = list_sentences(texts_of(make_task(texts, weights=[5, -4, 2, 1]))[0])
    assert sentences[-1].endswith(", or if it makes a mistake that the checklist warns of, as with boiling and water.")
    assert not any("boiling" in sentence for sentence in sentences[:-1])


def test_a_group_of_faults_only_is_worded_around_them() -> None:
    task = make_task(["Recommends boiling water", "Recommends salt"], weights=[-1, -1])
    assert names_of(task) == ["Part 1: boiling", "Part 2: salt"]


@pytest.mark.parametrize(
    ("question", "texts", "expected"),
    [
        ("Как лечить ангину дома?", ["Советует полоскание горла", "Пить воду"], "ангину"),
        ("轻微头皮屑有什么家庭疗法", ["Recommends shampoo", "Gives the amount"], "question about this request"),
        ("열이 나요", ["휴식을 권한다", "물을 마신다"], "열이"),
        ("मुझे बुखार है", ["आराम की सलाह", "पानी पीना"], "मुझे, बुखार"),
        ("عندي صداع شديد", ["ينصح بالراحة", "يشرح السبب"], "صداع"),
        ("🤒🤧", ["💊", "🛌 💤"], "🤒🤧"),
        ("the", ["is", "\u200bof the"], "this request"),
        ("?!", ["{0} %s \\", "..."], "this request"),
    ],
)
def test_any_language_and_no_language_at_all_is_worded(question: str, texts: list[str], expected: str) -> None:
    described = texts_of(make_task(texts, question))
    assert len(described) == 2
    assert all(expected in text for text in described)


@pytest.mark.parametrize("text", ["推荐洗发水", "風邪の説明をする", "แนะนำให้พัก", "使用 Transformer 的注意力机制"])
def test_a_script_without_spaces_between_words_is_refused_in_one_line(text: str) -> None:
    line = (
        "task 't': rules cannot read criteria without spaces between words, such as criterion 2; compile with a model"
    )
    with pytest.raises(RubricError, match=f"^{line}$"):
        draft_by_rules(make_task(["Recommends shampoo", text]))


def test_the_small_words_of_another_language_are_left_out() -> None:
    texts = ["Nennt die Dosis und die Dauer", "Sagt, dass die Wunde mit Wasser gespült wird", "Rät zum Arzt"]
    shown = " ".join(texts_of(make_task(texts, "Wie reinige ich die Wunde?")))
    assert " die " not in shown
    assert "Wunde" in shown


def test_long_and_damaged_texts_are_read_in_part() -> None:
    texts = ["x" * 100_000, "word " * 50_000, "a\x00b\ud800c", "https://example.org/" + "q" * 400]
    assert all(len(text) < 1_500 for text in texts_of(make_task(texts, "y" * 100_000)))


def test_a_conversation_without_a_user_still_has_a_subject() -> None:
    messages = (Message(role="system", content="Cactus spines"),)
    texts = texts_of(make_task(unrelated(2)).model_copy(update={"messages": messages}))
    assert all("about cactus and spines is" in text for text in texts)


def test_the_sample_pack_passes_the_checks_of_the_text() -> None:
    tasks = {answer.task.id: answer.task for answer in load_samples()}
    assert [fault for task in tasks.values() for fault in find_text_faults(draft_by_rules(task), task)] == []


def test_questions_give_the_dimensions_of_their_statements() -> None:
    asked = ["Does the answer name the pot?", "Is the soil drained?", "Does the answer avoid overwatering ferns?"]
    said = ["The answer names the pot.", "The soil is drained.", "The answer avoids overwatering ferns."]
    assert draft_by_rules(make_task(asked)) == draft_by_rules(make_task(said))


def test_it_is_labelled_as_a_baseline() -> None:
    assert (RULES_IDENTITY, LABEL) == ("rules/5", "rules (a baseline without a model)")


@pytest.mark.parametrize(
    ("file", "tasks"), [("healthbench_500/healthbench_500.parquet", 500), ("scholarqa/test_configs_snippets.json", 110)]
)
def test_real_rubrics_are_grouped_and_pass_the_checks_of_the_text(shared_data: Path, file: str, tasks: int) -> None:
    if not (shared_data / file).is_file():
        pytest.skip(f"the real data is not here: {file} is missing")
    read, faults = 0, Counter[str]()
    for task in load_tasks(shared_data / file, strict=True):
        draft = draft_by_rules(task)
        read += 1
        faults.update(fault.kind for fault in find_faults(draft, len(task.rubric)) + find_text_faults(draft, task))
    assert (read, faults) == (tasks, Counter())
