"""Dimensions without a model: always a partition, always the same, worded around the task."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric import Criterion, Message, ProtocolRubric, Rubric, Task, load_samples, load_tasks
from prorubric.compile.check import find_text_faults
from prorubric.compile.compiler import RULES_IDENTITY
from prorubric.compile.draft import Draft, DraftDimension
from prorubric.compile.rules import LABEL, draft_by_rules
from prorubric.errors import RubricError
from prorubric.text.failures import remove_failure_clauses
from prorubric.text.sentences import list_sentences
from tests import strategies

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def make_task(texts: list[str], question: str = "How do I repot a fern?", weights: list[float] | None = None) -> Task:
    criteria = tuple(Criterion(text=text, weight=(weights or [1.0] * len(texts))[i]) for i, text in enumerate(texts))
    return Task(id="t", messages=(Message(role="user", content=question),), rubric=Rubric(criteria=criteria))


def groups_of(task: Task) -> list[list[int]]:
    return [part["indices"] for part in draft_by_rules(task)]


def unrelated(count: int) -> list[str]:
    """Criteria that share no word and no kind of verb."""
    return [f"{LETTERS[i % 26] * 4}{LETTERS[i // 26] * 3}" for i in range(count)]


@given(strategies.tasks(with_protocol=False).filter(lambda task: len(task.rubric) >= 2))
def test_any_task_gets_a_partition_in_texts_of_three_sentences_that_end_in_a_failure_clause(task: Task) -> None:
    drafted = draft_by_rules(task)
    protocol = ProtocolRubric.of(task.rubric, drafted)
    count = len(task.rubric)
    assert 2 <= len(protocol) <= min(5, count)
    firsts = [part["indices"][0] for part in drafted]
    assert firsts == sorted(firsts)
    assert all(part["indices"] == sorted(part["indices"]) for part in drafted)
    assert len({part["name"] for part in drafted}) == len(drafted)
    for part in drafted:
        assert 1 <= len(part["name"].split()) <= 6
        sentences = list_sentences(part["description"])
        assert len(sentences) == 3
        assert sentences[-1].startswith("Fails if ")
        without = remove_failure_clauses(part["description"])
        assert (without.text, without.removed) == (" ".join(sentences[:2]), 1)
        assert len(part["description"]) < 1_500


@given(st.integers(2, 70), st.randoms(use_true_random=False))
def test_groups_are_balanced_and_as_many_as_the_rule_says(count: int, random: object) -> None:
    words = [LETTERS[random.randrange(26)] * 4 for _ in range(30)]  # type: ignore[attr-defined]
    texts = [" ".join(random.choice(words) for _ in range(6)) for _ in range(count)]  # type: ignore[attr-defined]
    sizes = [len(group) for group in groups_of(make_task(texts))]
    assert len(sizes) == (2 if count <= 5 else 3 if count <= 12 else 4 if count <= 30 else 5)
    assert max(sizes) - min(sizes) <= 1


@given(strategies.tasks(with_protocol=False).filter(lambda task: len(task.rubric) >= 2))
def test_the_same_task_gives_the_same_draft(task: Task) -> None:
    assert draft_by_rules(task) == draft_by_rules(task.model_copy(deep=True))


def test_the_draft_does_not_depend_on_the_order_of_sets_in_a_process() -> None:
    program = (
        "import json; from prorubric import load_samples; from prorubric.compile.rules import draft_by_rules;"
        "print(json.dumps([draft_by_rules(answer.task) for answer in load_samples()]))"
    )
    digests = set()
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, env=environment)
        digests.add(hashlib.sha256(run.stdout).hexdigest())
    assert len(digests) == 1


def test_a_single_criterion_is_refused_in_one_line() -> None:
    with pytest.raises(RubricError) as caught:
        draft_by_rules(make_task(["Waters the fern."]))
    assert str(caught.value) == "task 't': the rubric has 1 criterion, which cannot be grouped; rules needs at least 2"


def test_the_groups_are_runs_of_neighbours_as_equal_as_possible() -> None:
    assert groups_of(make_task(unrelated(7))) == [[1, 2], [3, 4], [5, 6, 7]]
    sizes = [len(group) for group in groups_of(make_task(unrelated(41)))]
    assert sizes == [8, 8, 8, 8, 9]


def test_a_topic_is_never_taken_for_a_failure_clause() -> None:
    drafted = draft_by_rules(make_task(["Explains void fraction", "Explains what voids it"], "Void or voided?"))
    assert [remove_failure_clauses(part["description"]).removed for part in drafted] == [1, 1]


def test_a_group_is_named_after_the_kind_of_its_criteria() -> None:
    drafted = draft_by_rules(
        make_task(["Warns of aaaa", "Warns of cccc", "Uses bullets for bbbb", "Uses bullets for dddd"])
    )
    assert [part["name"] for part in drafted] == ["Risks: aaaa", "Form: bullets"]


def test_a_tag_can_say_what_kind_a_criterion_is_of() -> None:
    criteria = tuple(
        Criterion(text=text, weight=1.0, tags=("axis:communication_quality",) if i >= 2 else ())
        for i, text in enumerate(unrelated(4))
    )
    task = make_task(unrelated(4)).model_copy(update={"rubric": Rubric(criteria=criteria)})
    assert [part["name"].partition(":")[0] for part in draft_by_rules(task)] == ["Answer", "Form"]


def test_the_text_speaks_of_the_question_and_of_the_group() -> None:
    texts = ["Recommends a larger clay pot", "Advises against a clay pot in winter"]
    drafted = draft_by_rules(make_task([*texts, "Explains root rot", "Explains why root rot spreads"]))
    assert drafted[0] == {
        "name": "Answer: clay pot",
        "description": "The reader who asked about repot and fern knows where they stand on clay pot and winter, and "
        "it is right for this case. The points agree with one another and lead to one position that can be acted on. "
        "Fails if that position is wrong, hedged away or contradicted further on, however much is said about clay pot.",
        "indices": [1, 2],
    }
    assert drafted[1]["name"] == "Grounds: root rot spreads"


def test_negative_criteria_stand_in_the_failure_clause() -> None:
    texts = ["Recommends a clay pot", "Fails to recommend drainage holes", "Recommends boiling water"]
    drafted = draft_by_rules(make_task([*texts, "Explains light"], weights=[5, -4, -3, 2]))
    clauses = " ".join(list_sentences(part["description"])[-1] for part in drafted)
    assert "takes no account of drainage holes" in clauses
    assert "falls into what is to be avoided here, as with boiling water" in clauses
    assert not any("boiling" in sentence for part in drafted for sentence in list_sentences(part["description"])[:-1])


def test_a_group_of_faults_only_is_worded_around_them() -> None:
    drafted = draft_by_rules(make_task(["Recommends boiling water", "Recommends salt"], weights=[-1, -1]))
    assert [part["name"] for part in drafted] == ["Answer: boiling water", "Answer: salt"]


@pytest.mark.parametrize(
    ("question", "texts", "expected"),
    [
        ("Как лечить ангину дома?", ["Советует полоскание горла", "Пить воду"], "лечить ангину дома"),
        ("轻微头皮屑有什么家庭疗法", ["推荐洗发水", "说明用量"], "轻微头皮屑"),
        ("子供の微熱と中耳炎", ["風邪の説明", "受診の目安"], "微熱"),
        ("मुझे बुखार है", ["आराम की सलाह", "पानी पीना"], "मुझे बुखार"),
        ("عندي صداع شديد", ["ينصح بالراحة", "يشرح السبب"], "عندي صداع شديد"),
        ("🤒🤧", ["💊", "🛌 💤"], "“🤒🤧”"),
        ("the", ["is", "\u200bof the"], "this request"),
        ("?!", ["{0} %s \\", "..."], "this request"),
    ],
)
def test_any_language_and_no_language_at_all_is_worded(question: str, texts: list[str], expected: str) -> None:
    task = make_task(texts, question)
    drafted = draft_by_rules(task)
    assert len(ProtocolRubric.of(task.rubric, drafted)) == 2
    assert all(expected in part["description"] for part in drafted)


def test_the_small_words_of_other_languages_are_words_in_english() -> None:
    texts = [
        "Says that hay fever is an allergy to pollen",
        "Says that nobody will die of hay fever",
        "Recommends a sun hat for her son",
        "Warns of AI hallucinations",
    ]
    drafted = draft_by_rules(make_task(texts, "Will my son die of hay fever?"))
    assert [part["name"] for part in drafted] == ["Risks: hay fever", "Answer: sun hat"]
    assert "on sun hat, AI hallucinations and son," in drafted[1]["description"]


def test_they_are_small_words_in_their_own_language() -> None:
    texts = ["Nennt die Dosis und die Dauer", "Sagt, dass die Wunde mit Wasser gespült wird", "Rät zum Arzt"]
    shown = " ".join(part["description"] for part in draft_by_rules(make_task(texts, "Wie reinige ich die Wunde?")))
    assert " die " not in shown
    assert "Wunde" in shown


def test_words_of_other_languages_show_in_the_group_texts() -> None:
    drafted = draft_by_rules(make_task(["推荐洗发水", "🛌💤"], "头皮屑"))
    assert drafted[0]["name"] == "Answer: 推荐洗发水"
    assert drafted[1]["name"] == "Answer: “🛌💤”"


def test_long_and_damaged_texts_are_read_in_part() -> None:
    texts = ["x" * 100_000, "word " * 50_000, "a\x00b\ud800c", "https://example.org/" + "q" * 400]
    task = make_task(texts, "y" * 100_000)
    assert all(len(part["description"]) < 1_500 for part in draft_by_rules(task))


def test_a_word_is_not_shown_cut_in_two() -> None:
    filler = "and " * 49
    texts = [f"{filler}marigold", f"{filler}chrysanthemum"]
    assert not any("chrys" in part["description"] for part in draft_by_rules(make_task(texts)))


def test_the_user_is_asked_about_before_the_assistant() -> None:
    messages = (
        Message(role="user", content="Fern leaves"),
        Message(role="assistant", content="Cactus spines"),
        Message(role="user", content="And then?"),
    )
    drafted = draft_by_rules(make_task(unrelated(2)).model_copy(update={"messages": messages}))
    assert all("asked about fern leaves knows" in part["description"] for part in drafted)


def test_a_conversation_without_a_user_still_has_a_subject() -> None:
    messages = (Message(role="system", content="Cactus spines"),)
    drafted = draft_by_rules(make_task(unrelated(2)).model_copy(update={"messages": messages}))
    assert all("cactus spines" in part["description"] for part in drafted)


def test_the_sample_pack_passes_the_checks_of_the_text() -> None:
    tasks = {answer.task.id: answer.task for answer in load_samples()}
    assert Counter(fault for task in tasks.values() for fault in list_text_faults(task)) == Counter()


def test_it_is_labelled_as_the_weak_baseline() -> None:
    assert (RULES_IDENTITY, "weak baseline" in LABEL) == ("rules/3", True)


@pytest.mark.parametrize(
    ("file", "tasks"), [("healthbench_500/healthbench_500.parquet", 500), ("scholarqa/test_configs_snippets.json", 110)]
)
def test_real_rubrics_are_grouped_in_balance_and_pass_the_checks_of_the_text(
    shared_data: Path, file: str, tasks: int
) -> None:
    if not (shared_data / file).is_file():
        pytest.skip(f"the real data is not here: {file} is missing")
    read, faults, alone = 0, Counter[str](), 0
    for task in load_tasks(shared_data / file, strict=True):
        protocol = ProtocolRubric.of(task.rubric, draft_by_rules(task))
        sizes = [len(dimension.indices) for dimension in protocol.dimensions]
        read += 1
        alone += len(task.rubric) >= 4 and min(sizes) == 1
        faults.update(list_text_faults(task))
        assert max(sizes) <= max(1, 2 * len(task.rubric) // 3)
    assert (read, alone, faults) == (tasks, 0, Counter())


def list_text_faults(task: Task) -> list[str]:
    parts = [DraftDimension(part["name"], part["description"], tuple(part["indices"])) for part in draft_by_rules(task)]
    return [fault.kind for fault in find_text_faults(Draft(tuple(parts)), task)]
