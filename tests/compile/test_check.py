"""What keeps a draft from being used, and what is wrong with texts: realistic ones of both kinds.

A false alarm costs a call and spoils a good draft; a miss costs nothing that was not lost before. So for every check
there are more texts that must pass than texts that must not, and whole collections that must pass untouched.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric import Criterion, Message, Rubric, Task, load_samples, load_tasks
from prorubric.compile.check import TEXT_CHECKS, TextCheck, find_exclusion, find_faults, find_text_faults, list_words
from prorubric.compile.draft import Draft, DraftDimension, Fault
from prorubric.compile.rules import draft_by_rules


def make_draft(*groups: Sequence[int], unreadable: tuple[str, ...] = ()) -> Draft:
    return Draft(
        tuple(
            DraftDimension(f"Part {k}", f"Text {k}.", tuple(group), unreadable=unreadable if k == 1 else ())
            for k, group in enumerate(groups, 1)
        )
    )


class TestStructure:
    @pytest.mark.parametrize(
        ("groups", "n"),
        [
            (([1, 2], [3, 4, 5]), 5),
            (([5, 1], [4], [2, 3]), 5),
            (([1], [2]), 2),
            (([1], [2], [3], [4], [5, 6]), 6),
        ],
    )
    def test_a_partition_into_two_to_five_has_no_fault(self, groups: tuple[list[int], ...], n: int) -> None:
        assert find_faults(make_draft(*groups), n) == []
        assert find_exclusion(make_draft(*groups), n) is None

    @pytest.mark.parametrize(
        ("groups", "n", "faults"),
        [
            (([1, 2], [4]), 4, [Fault("left out", "Item 3 is in no criterion; each belongs to one.")]),
            (([1, 2], [2, 3]), 3, [Fault("twice", "Item 2 is used more than once; each belongs to one criterion.")]),
            (([1, 1], [2, 3]), 3, [Fault("twice", "Item 1 is used more than once; each belongs to one criterion.")]),
            (
                ([1, 2], [3, 8, -1]),
                3,
                [Fault("out of range", "There is no item -1, 8; the items are numbered from 1 to 3.")],
            ),
            (
                ([0, 1, 2], [3]),
                3,
                [Fault("out of range", "There is no item 0; the items are numbered from 1 to 3.")],
            ),
            (([0, 1], [2]), 3, [Fault("from zero", "The indices count from 0; the items are numbered from 1 to 3.")]),
            (([0], [2]), 4, [Fault("from zero", "The indices count from 0; the items are numbered from 1 to 4.")]),
            (([1, 2], [3], []), 3, [Fault("no items", "Criterion 3 has no items.")]),
            (([1, 2, 3],), 3, [Fault("too few", "There is only one criterion; write 2 to 3.")]),
            (
                (),
                9,
                [
                    Fault("too few", "There are no criteria; write 2 to 5."),
                    Fault(
                        "left out", "Item 1, 2, 3, 4, 5, 6, 7, 8 and 1 more is in no criterion; each belongs to one."
                    ),
                ],
            ),
            (
                ([1], [2], [3], [4], [5], [6]),
                6,
                [Fault("too many", "There are 6 criteria; write 2 to 5.")],
            ),
            (
                ([1, 9], [2, 1]),
                3,
                [
                    Fault("out of range", "There is no item 9; the items are numbered from 1 to 3."),
                    Fault("twice", "Item 1 is used more than once; each belongs to one criterion."),
                    Fault("left out", "Item 3 is in no criterion; each belongs to one."),
                ],
            ),
        ],
    )
    def test_each_fault_is_told_in_words(self, groups: tuple[list[int], ...], n: int, faults: list[Fault]) -> None:
        assert find_faults(make_draft(*groups), n) == faults

    def test_an_assignment_that_is_not_a_number_is_told(self) -> None:
        assert find_faults(make_draft([1], [2], unreadable=("'both'",)), 2) == [
            Fault("no index", "Criterion 1: 'both' is not an index.")
        ]

    def test_fields_that_say_nothing_are_told(self) -> None:
        draft = Draft((DraftDimension("", "Text.", (1,)), DraftDimension("Part", "\u200b", (2,))))
        assert find_faults(draft, 2) == [
            Fault("no name", "Criterion 1 has no name."),
            Fault("no description", "Criterion 2 has no description."),
        ]

    @pytest.mark.parametrize(
        ("draft", "reason"),
        [
            (make_draft([1], [2], []), "a dimension without criteria"),
            (make_draft([1, 2]), "fewer than two dimensions"),
            (make_draft(), "fewer than two dimensions"),
            (make_draft([1], [2], [3], [4], [5], [6]), "more than five dimensions"),
            (Draft((DraftDimension(" ", "x", (1,)), DraftDimension("b", "x", (2,)))), "a dimension without a name"),
            (
                Draft((DraftDimension("a", "", (1,)), DraftDimension("b", "", (2,)))),
                "a dimension without a description",
            ),
        ],
    )
    def test_what_cannot_be_repaired_is_the_reason_to_exclude(self, draft: Draft, reason: str) -> None:
        n = max((index for dimension in draft.dimensions for index in dimension.indices), default=2)
        exclusion = find_exclusion(draft, n)
        assert exclusion is not None
        assert exclusion.kind == reason


ITEMS = (
    "Advises taking the six-week-old to an emergency department tonight because of the rectal temperature of 38.6",
    "Explains that at this age a serious infection may show no other sign than fever",
    "Recommends giving paracetamol and waiting until the morning to see whether the fever goes down by itself",
    "States for which signs on the way an ambulance must be called at once",
)
TASK = Task(
    id="fever",
    messages=(Message(role="user", content="My baby is six weeks old, sleepy, and has 38.6. Can it wait?"),),
    rubric=Rubric(criteria=tuple(Criterion(text=text, weight=w) for text, w in zip(ITEMS, (9, 5, -4, 3), strict=True))),
)
GOOD = (
    "The parent knows after the first lines that the baby is taken in tonight, and that neither sleep nor a lower "
    "reading changes this. What is said about fever at six weeks carries the decision. "
    "Fails if going is made to depend on the morning, on a dose or on further signs."
)


def alarms(text: str, name: str = "Take her in tonight", task: Task = TASK) -> list[str]:
    """The checks that a description does not pass."""
    draft = Draft((DraftDimension(name, text, (1, 2, 3, 4)),))
    return [fault.kind for fault in find_text_faults(draft, task)]


def test_a_good_text_passes() -> None:
    assert alarms(GOOD) == []


def test_every_alarm_says_what_to_do() -> None:
    draft = Draft(
        (
            DraftDimension("A", GOOD, (1,)),
            DraftDimension("a name that goes on and on", f"{ITEMS[0]}. {ITEMS[1]}.", (1, 2)),
            DraftDimension("C", "Is good.", (3,)),
            DraftDimension("D", "Mentions fever at six weeks. Mentions an ambulance. Fails if not.", (4,)),
        )
    )
    assert find_text_faults(draft, TASK) == [
        Fault("name", "Criterion 2: the name has 7 words; use at most 6."),
        Fault(
            "clause",
            'Criterion 2: the description does not say what makes an answer fail; end with a sentence "Fails if …".',
        ),
        Fault(
            "quotes",
            "Criterion 2: the description repeats items word for word; say in other words what they demand together.",
        ),
        Fault(
            "clause",
            'Criterion 3: the description does not say what makes an answer fail; end with a sentence "Fails if …".',
        ),
        Fault("sentences", "Criterion 3: the description has 1 sentence(s); write 2 to 5."),
        Fault("generic", "Criterion 3: the description would fit any question; say what it means for this one."),
        Fault(
            "mentions",
            "Criterion 4: the description is a list of things to mention; say what a good answer achieves.",
        ),
    ]


@pytest.mark.parametrize("check", TEXT_CHECKS)
def test_only_the_checks_that_are_wanted_are_made(check: TextCheck) -> None:
    bad = "- fever at six weeks\n- ambulance"
    draft = Draft(
        (
            DraftDimension("a name that goes on and on", bad, (1,)),
            DraftDimension("B", f"{ITEMS[0]}. {ITEMS[1]}.", (1, 2)),
        )
    )
    every = {fault.kind for fault in find_text_faults(draft, TASK)}
    assert {"clause", "name", "mentions", "quotes"} <= every
    assert {fault.kind for fault in find_text_faults(draft, TASK, (check,))} == every & {check}
    assert find_text_faults(draft, TASK, ()) == []


def test_a_description_that_is_missing_is_not_a_matter_of_its_text() -> None:
    assert alarms(" ") == []


class TestName:
    @pytest.mark.parametrize(
        "name",
        [
            "Safe",
            "One two three four five six",
            "Safety – tonight & on the way",
            "Follow-up, dose and red-flag advice",
            "Urgent: act now / no delay",
            "今晚就去急诊并说明原因以及路上的注意事项",
        ],
    )
    def test_six_words_are_enough(self, name: str) -> None:
        assert alarms(GOOD, name) == []

    def test_seven_are_too_many(self) -> None:
        assert alarms(GOOD, "One two three four five six seven") == ["name"]


class TestSentences:
    @pytest.mark.parametrize("count", [2, 3, 4, 5])
    def test_two_to_five_are_right(self, count: int) -> None:
        assert alarms("The fever of the baby decides. " * (count - 1) + "Fails if it waits.") == []

    def test_a_clause_behind_a_semicolon_is_not_a_sentence_of_its_own(self) -> None:
        assert alarms("The baby with fever is taken in tonight; fails if it waits.") == ["sentences"]

    @pytest.mark.parametrize("count", [1, 6])
    def test_fewer_and_more_are_not(self, count: int) -> None:
        text = "The fever of the baby decides tonight. " * (count - 1) + "Fails if the baby with fever waits."
        assert alarms(text) == ["sentences"]


LISTS = [
    "The answer mentions fever. It lists warning signs in a baby. It includes a number. Fails if one is missing.",
    "Mentions the fever of the baby. Cites the guideline. Fails if not.",
    "The response should explicitly mention the fever. It must also list the signs for a baby. Fails if absent.",
    "For a baby with fever it covers:\n- dose\n- timing\n- signs\nFails if one is missing.",
    "The baby needs (1) a dose, (2) a time and (3) the signs of fever. Fails if one is missing.",
    "For fever it gives 1) a dose, 2) a time, 3) signs in a baby. Fails if one is missing.",
    "1. Gives the dose for the baby.\n2. Gives the fever.\nFails if not.",
    "(a) says when the baby goes\n(b) says why fever counts\nFails if not.",
]
NO_LISTS = [
    "The names of the drugs are put to use, and the list of signs is short enough for a parent of a baby to keep. "
    "The tablet contains two drugs and the parent knows why. Fails if not.",
    "The parent of the baby is given a plan, and it includes what to do when the fever goes down. What the drops "
    "contain is told where it matters. Fails if it lists causes without choosing.",
    "The fever of the baby falls under SU(3), SU(2) and U(1). Nobody knows why. Fails if f(1) and f(2) are mixed up.",
    "Fever (stage 1) is told from the serious kind (stage 2) and from a crisis (stage 3) in a baby. Fails if not.",
    "A baby of 4 kg (12 weeks) with fever (39) and no shots (0 of 2) is told apart. Fails if not.",
    "Names the one thing that decides for the baby, which is the fever, and builds on it. The rest follows from it, "
    "so that the parent could say it back. Fails if not.",
    "It reads as one thought: the fever first, then the baby.\n\nThe parent is not asked to choose. Fails if not.",
]


@given(st.text() | st.text(st.characters(max_codepoint=127)))
def test_words_are_runs_of_letters_and_digits_in_any_script(text: str) -> None:
    assert list_words(text) == re.findall(r"\w+", text)


class TestMentions:
    @pytest.mark.parametrize("text", LISTS)
    def test_a_list_of_things_to_mention_is_recognised(self, text: str) -> None:
        assert alarms(text) == ["mentions"]

    @pytest.mark.parametrize("text", NO_LISTS)
    def test_texts_that_use_such_words_otherwise_pass(self, text: str) -> None:
        assert alarms(text) == []


class TestQuotes:
    @pytest.mark.parametrize(
        "text",
        [
            f"{ITEMS[0]}. {ITEMS[1]}. Fails if not.",
            f"The answer {ITEMS[0][0].lower()}{ITEMS[0][1:]}, and {ITEMS[1][0].lower()}{ITEMS[1][1:]}. Fails if not.",
            f"{ITEMS[0].upper()}! {ITEMS[3]}... Fails if one is missing.",
        ],
    )
    def test_items_set_side_by_side_are_recognised(self, text: str) -> None:
        assert alarms(text) == ["quotes"]

    @pytest.mark.parametrize(
        "text",
        [
            "Because of the rectal temperature of 38.6 the baby is taken in tonight, and nothing else has to be seen "
            "first. The parent could say why this is so at six weeks. Fails if the answer lets her wait.",
            "A serious infection may show no other sign than fever at this age, which is why the baby goes in now. "
            "Nothing that she does in the next hour changes that. Fails if it is left to the parent.",
            "Tonight. Fails if the baby waits.",
        ],
    )
    def test_words_of_an_item_within_a_text_of_its_own_pass(self, text: str) -> None:
        assert alarms(text) == []

    def test_only_the_items_of_the_dimension_count_and_indices_that_do_not_exist_do_not(self) -> None:
        text = f"{ITEMS[0]}. {ITEMS[1]}. Fails if not."
        for indices, kinds in (((3, 4), []), ((0, -1, 99), []), ((1, 2, 99), ["quotes"])):
            draft = Draft((DraftDimension("A", text, indices),))
            assert [fault.kind for fault in find_text_faults(draft, TASK)] == kinds


class TestGeneric:
    @pytest.mark.parametrize(
        "text",
        [
            "The answer is accurate, complete and well organised. Fails if it is wrong or unclear.",
            "A good reply is helpful and easy to follow. Fails if it confuses the reader.",
        ],
    )
    def test_a_text_for_any_question_is_recognised(self, text: str) -> None:
        assert alarms(text) == ["generic"]

    def test_two_words_of_the_question_or_the_items_are_enough(self) -> None:
        assert alarms("What is said of fevers holds for babies. Fails if it is wrong.") == []
        assert alarms("An ambulance is called for infections. Fails if it is wrong.") == []

    def test_a_question_of_one_word_asks_for_one_word(self) -> None:
        criterion = Criterion(text="Mentions it.", weight=1)
        task = Task(id="t", messages=(Message(role="user", content="Gravity?"),), rubric=Rubric(criteria=(criterion,)))
        assert alarms("Why gravity pulls is clear. Fails if it is wrong.", task=task) == []
        assert alarms("Why it pulls is clear. Fails if it is wrong.", task=task) == ["generic"]

    def test_a_question_without_words_asks_for_none(self) -> None:
        criterion = Criterion(text="It is.", weight=1)
        task = Task(id="t", messages=(Message(role="user", content="?"),), rubric=Rubric(criteria=(criterion,)))
        assert alarms("Anything goes here. Fails if it is wrong.", task=task) == []

    def test_chinese_is_compared_by_its_signs(self) -> None:
        criterion = Criterion(text="建议今晚去急诊", weight=1)
        task = Task(id="t", messages=(Message(role="user", content="宝宝发烧"),), rubric=Rubric(criteria=(criterion,)))
        assert alarms("家长知道今晚就带宝宝去急诊。Fails if 等到早上。", task=task) == []


def test_no_protocol_that_was_written_by_hand_raises_an_alarm() -> None:
    tasks = {answer.task.id: answer.task for answer in load_samples()}
    assert len(tasks) >= 10
    for task in tasks.values():
        assert task.protocol is not None
        draft = Draft(tuple(DraftDimension(d.name, d.description, d.indices) for d in task.protocol.dimensions))
        assert find_faults(draft, len(task.rubric)) == []
        assert find_text_faults(draft, task) == [], task.id


def test_no_text_made_by_the_rules_for_a_real_checklist_raises_an_alarm(shared_data: Path) -> None:
    checked = 0
    for task in load_tasks(shared_data / "healthbench_500" / "healthbench_500.parquet"):
        draft = draft_by_rules(task)
        assert find_faults(draft, len(task.rubric)) == []
        assert find_text_faults(draft, task) == [], task.id
        checked += 1
    assert checked == 500


def test_real_checklists_set_side_by_side_are_found_to_quote(shared_data: Path) -> None:
    quoted = checked = 0
    for task in load_tasks(shared_data / "healthbench_500" / "healthbench_500.parquet"):
        indices = tuple(range(1, len(task.rubric) + 1))
        text = " ".join(criterion.text for criterion in task.rubric.criteria)
        draft = Draft((DraftDimension("All", f"{text} Fails if not.", indices),))
        quoted += "quotes" in {fault.kind for fault in find_text_faults(draft, task, ("quotes",))}
        checked += 1
    assert (quoted, checked) == (500, 500)
