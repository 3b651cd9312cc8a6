"""No edit is believed: each lie that an editor could tell is found in the two texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.audit.edits import EditName
from prorubric.audit.edits.kind import MadeEdit
from prorubric.audit.edits.naming import find_leak
from prorubric.audit.edits.needless_test import is_asked_for
from prorubric.text.sentences import diff_sentences, split_sentences
from tests.audit.editing import ANSWER, CASE, check_edit, make_case, make_edit

NAMING = "Other points are a lumbar puncture, cold baths, a rectal thermometer and an early birth."
TOPICS = "There is more to it: possible causes, further checks, what to look out for and follow-up."
HALF = "A lumbar puncture may be needed."
STEP = "A whole-body scan would be worth arranging as well."
SUBSTANCE = (
    "Do not use cold baths or rubbing alcohol to bring the temperature down. "
    "A rectal thermometer gives the most reliable reading."
)
INTEGRATED = ANSWER.replace(
    "is an emergency. ", "is an emergency. A rectal thermometer gives the most reliable reading. "
).replace("on the way.\n", "on the way. Do not use cold baths or rubbing alcohol to bring the temperature down.\n")
PARTNER = make_edit("add-substance", f"{ANSWER}\n\n{SUBSTANCE}", (3, 4))
REWORDED = ANSWER.replace("Do not wait", "Don't wait").replace("I am sorry", "I'm sorry")

GOOD: dict[EditName, MadeEdit] = {
    "name-item": make_edit("name-item", f"{ANSWER}\n\n{NAMING}", (2, 3, 4, 5)),
    "name-topic": make_edit("name-topic", f"{ANSWER}\n\n{TOPICS}", (2, 3, 4, 5)),
    "in-part": make_edit("in-part", f"{ANSWER}\n\n{HALF}", (2,)),
    "needless-test": make_edit("needless-test", ANSWER.replace("the morning.", f"the morning. {STEP}")),
    "drop-key-advice": make_edit(
        "drop-key-advice", ANSWER.replace("Take the baby to the emergency department tonight. ", "")
    ),
    "paraphrase": make_edit("paraphrase", REWORDED),
    "add-substance": PARTNER,
    "integrate-substance": make_edit("integrate-substance", INTEGRATED, (3, 4)),
}


def check(edit: MadeEdit) -> str | None:
    return check_edit(CASE, edit, PARTNER if edit.kind == "integrate-substance" else None)


@pytest.mark.parametrize("kind", GOOD)
def test_an_edit_that_is_what_it_claims_passes(kind: EditName) -> None:
    assert check(GOOD[kind]) is None


@pytest.mark.parametrize("kind", GOOD)
def test_an_edit_that_changes_nothing_is_none(kind: EditName) -> None:
    assert check(make_edit(kind, ANSWER + "\n")) == "nothing is changed"


@pytest.mark.parametrize("kind", [kind for kind in GOOD if kind not in ("drop-key-advice", "paraphrase")])
def test_a_word_changed_elsewhere_is_found(kind: EditName) -> None:
    edit = GOOD[kind]
    other = make_edit(kind, edit.text.replace("worried", "concerned"), edit.criteria)
    assert check(other) == "the answer itself is changed"


@pytest.mark.parametrize("kind", ["name-item", "name-topic", "in-part", "add-substance"])
def test_what_is_appended_is_a_paragraph_of_its_own(kind: EditName) -> None:
    edit = GOOD[kind]
    glued = make_edit(kind, edit.text.replace("if you can.\n\n", "if you can. "), edit.criteria)
    assert check(glued) == "the addition is not a separate paragraph"


@pytest.mark.parametrize(
    ("kind", "paragraph", "criteria", "reason"),
    [
        ("name-item", NAMING, (2,), "the number of criteria aimed at is not allowed"),
        ("name-item", NAMING, (2, 3, 4, 4), "the number of criteria aimed at is not allowed"),
        ("name-item", NAMING, (1, 2, 3, 4), "a criterion aimed at is met already or no gain"),
        ("name-item", NAMING, (7, 2, 3, 4), "a criterion aimed at is met already or no gain"),
        ("name-item", NAMING, (8, 2, 3, 4), "a criterion aimed at is met already or no gain"),
        ("name-item", NAMING, (2, 3, 4, 6), "an item is not named"),
        ("name-item", "Think of these:\n\n" + NAMING, (2, 3, 4, 5), "more than one paragraph is added"),
        ("name-item", f"{NAMING} {'and so on ' * 40}.", (2, 3, 4, 5), "the addition is too long"),
        (
            "name-item",
            NAMING + " Cold baths or rubbing alcohol do not bring the temperature down.",
            (2, 3, 4, 5),
            "an item is more than named",
        ),
        ("name-topic", NAMING, (2, 3, 4, 5), "the topic gives an item away: a word of the checklist"),
        ("name-topic", TOPICS + " All 3 matter.", (2, 3, 4, 5), "the topic gives an item away: a number"),
        ("name-topic", TOPICS + " See the AAP.", (2, 3, 4, 5), "the topic gives an item away: a name"),
        ("name-topic", "So ask Kernig about causes.", (2, 3, 4, 5), "the topic gives an item away: a name"),
        ("name-topic", "There is more: possible causes and follow-up.", (2, 3, 4, 5), "too few topics are named"),
        (
            "name-topic",
            "The paragraph does not hold any of the topics.",
            (2, 3, 4, 5),
            "it speaks of the task and not to the person",
        ),
        ("in-part", "The answer does not mention a puncture.", (2,), "it speaks of the task and not to the person"),
        ("name-item", f"{NAMING} <<<ANSWER 12", (2, 3, 4, 5), "it speaks of the task and not to the person"),
        ("in-part", HALF + " It tells why.", (2,), "not one sentence is added"),
        ("in-part", "It is what it is.", (2,), "the criterion is not touched"),
        (
            "in-part",
            "States that a rectal thermometer gives the most reliable reading.",
            (4,),
            "the text says the whole criterion",
        ),
        ("in-part", HALF, (2, 3), "the number of criteria aimed at is not allowed"),
        ("add-substance", SUBSTANCE, (3,), "the number of criteria aimed at is not allowed"),
        ("add-substance", SUBSTANCE, (2, 3), "a criterion aimed at is not dealt with"),
        ("add-substance", SUBSTANCE + " really" * 130, (3, 4), "the addition is too long"),
    ],
)
def test_an_addition_that_is_something_else_is_found(
    kind: EditName, paragraph: str, criteria: tuple[int, ...], reason: str
) -> None:
    assert check(make_edit(kind, f"{ANSWER}\n\n{paragraph}", criteria)) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ANSWER.replace("the morning.", f"the morning. {STEP} And another one."), "not one sentence is added"),
        (ANSWER.replace("the morning.", "the morning. A lumbar puncture is needed."), "the step is asked for"),
        (ANSWER.replace("the morning.", "the morning. The baby has a fever of 38.4."), "the step is asked for"),
        (ANSWER.replace("the morning.", f"the morning. It is {'very ' * 61}far."), "not one sentence is added"),
        (ANSWER.replace("Do not wait until the morning.", STEP), "the answer itself is changed"),
    ],
)
def test_a_needless_step_is_one_sentence_that_was_not_asked_for(text: str, reason: str) -> None:
    assert check(make_edit("needless-test", text)) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            ANSWER.replace("Do not wait until the morning.", "").replace("Call ahead if you can.", ""),
            "not one sentence is gone",
        ),
        (ANSWER.replace("Do not wait until", "Never wait until"), "not one sentence is gone"),
        (ANSWER + " Bye.", "not one sentence is gone"),
    ],
)
def test_a_drop_takes_one_sentence_and_nothing_else(text: str, reason: str) -> None:
    assert check(make_edit("drop-key-advice", text)) == reason


def test_nothing_is_dropped_from_an_answer_of_two_sentences() -> None:
    case = make_case("Go now. Call ahead.")
    assert check_edit(case, make_edit("drop-key-advice", "Call ahead.", case=case)) == "the answer is too short"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ANSWER.replace("38.4", "38.5"), "a number is changed"),
        (ANSWER + " " + ANSWER.replace("38.4", ""), "the length is not about the same"),
        (" ".join(ANSWER.split()).replace(". ", " - "), "the number of sentences is not about the same"),
        (
            "We feel for everyone involved.\n\nWith 38.4 this counts as urgent. Drive over to a hospital straight "
            "away. Nobody should hesitate.\n\n- Papers go along.\n- Nursing continues throughout.\n\nRing them.  "
            "Somebody picks up.",
            "most words are other words",
        ),
        (ANSWER.replace("the vaccination card", "the vaccination card of Pfizer"), "a new name is there"),
    ],
)
def test_a_paraphrase_keeps_numbers_words_names_and_length(text: str, reason: str) -> None:
    assert check(make_edit("paraphrase", text)) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{ANSWER}\n\n{SUBSTANCE}", "everything is added in one place"),
        (ANSWER.replace("the morning.", f"the morning. {SUBSTANCE}"), "everything is added in one place"),
        (INTEGRATED.replace("I am sorry that you are worried.\n\n", ""), "the answer itself is changed"),
        (INTEGRATED.replace("if you can.", "if you can. " + "It is so. " * 60), "the two lengths are too far apart"),
        (
            ANSWER.replace(
                "the morning.", "the morning. Bring some warm clothes and a blanket, since corridors are cold."
            ).replace("on the way.", "on the way. Somebody should stay with the other children meanwhile."),
            "other substance is added than in the pair",
        ),
    ],
)
def test_integrated_substance_is_that_of_its_pair_spread_out(text: str, reason: str) -> None:
    assert check(make_edit("integrate-substance", text, (3, 4))) == reason


def test_integrated_substance_needs_its_pair() -> None:
    assert check_edit(CASE, GOOD["integrate-substance"]) == "there is no appended text to pair it with"


def test_only_criteria_that_add_and_have_a_verdict_are_aimed_at() -> None:
    assert CASE.unmet == [2, 3, 4, 5, 6]
    assert CASE.met == [1]


@pytest.mark.parametrize(
    ("paragraph", "leak"),
    [
        ("Possible causes and further checks.", None),
        ("An emergency department can be called ahead.", None),
        ("Think of dehydration.", "a word of the checklist"),
        ("Think of diapers.", "a word of the checklist"),
    ],
)
def test_only_words_of_the_checklist_that_were_not_mentioned_leak(paragraph: str, leak: str | None) -> None:
    assert find_leak(CASE, paragraph) == leak


def test_a_step_is_asked_for_where_a_criterion_or_the_question_has_it() -> None:
    assert is_asked_for(CASE, "A rectal thermometer is reliable.")
    assert not is_asked_for(CASE, STEP)


@given(st.data())
def test_any_two_sentences_taken_out_are_more_than_a_drop(data: st.DataObject) -> None:
    pieces = split_sentences(ANSWER)
    gone = data.draw(st.sets(st.integers(0, len(pieces) - 1), min_size=2, max_size=len(pieces) - 1))
    text = "".join(piece for place, piece in enumerate(pieces) if place not in gone)
    assert check(make_edit("drop-key-advice", text)) == "not one sentence is gone"


@given(st.text(max_size=80), st.sampled_from(sorted(GOOD)))
def test_any_text_can_be_checked(text: str, kind: EditName) -> None:
    reason = check(make_edit(kind, text))
    assert reason is None or len(reason) < 60


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_blank_line_makes_no_difference_to_what_is_new(answer: str, paragraph: str) -> None:
    assert diff_sentences(answer, f"{answer}\n\n{paragraph}")[1] == ()
