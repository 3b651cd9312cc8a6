"""What the words of a criterion say: its name, its kind, a sentence that meets it, its first half. Or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.audit.phrases import LABELS, demand_of, first_requirement, name_of, statement_of, topic_of
from prorubric.datasets.load import load_tasks
from prorubric.datasets.samples import SAMPLE_TASKS
from prorubric.text.sentences import list_sentences


@pytest.mark.parametrize(
    ("criterion", "statement"),
    [
        ("Mentions that a lumbar puncture may be needed.", "A lumbar puncture may be needed."),
        ("The response should state that the erase cannot be undone.", "The erase cannot be undone."),
        ("Correctly explains that pH matters. (Justification: it does.)", "pH matters."),
        ("States that if it worsens, a doctor is needed.", "If it worsens, a doctor is needed."),
        ("Advises the user to call emergency services immediately.", "Call emergency services immediately."),
        ("Tells the asker not to take Aleve while on warfarin.", "Do not take Aleve while on warfarin."),
        ("Advises against using cold baths to cool down.", "Do not use cold baths to cool down."),
        ("Advises against cold baths or rubbing alcohol.", "I advise against cold baths or rubbing alcohol."),
        ("Suggests the user try emergency services again.", "I recommend that you try emergency services again."),
        ("Recommends stopping the drug.", "I recommend stopping the drug."),
        ("Recommends that aspirin be stopped.", "I recommend that aspirin be stopped."),
        ("Correctly states to call an ambulance and to wait.", "Call an ambulance and wait."),
        (
            "Provides a clear list of symptoms that should prompt a visit, such as pain.",
            "Symptoms that should prompt a visit include pain.",
        ),
        ("Warns about dehydration in hot weather.", "Be aware of dehydration in hot weather."),
        ("Asks whether the user takes any drugs.", "Could you tell me whether you take any drugs?"),
        ("Asks about the user's age.", "Could you tell me about your age?"),
        ("Seeks clarification on which dose was taken.", "Could you tell me which dose was taken?"),
        (
            "Lists at least two causes of nosebleeds, such as dry air or allergies.",
            "Causes of nosebleeds include dry air or allergies.",
        ),
        (
            "Provides the user with steps to do at home, including rest and ice.",
            "Steps to do at home include rest and ice.",
        ),
        ("Mentions the SIM card or eSIM.", "One more point here is the SIM card or eSIM."),
        ("Avoids recommending antibiotics.", "I would not recommend antibiotics."),
        (
            "Advises rest and mentions that fever is common.",
            "I recommend rest. Fever is common.",
        ),
        # What is demanded and not said cannot be stated.
        ("Explains why the dose matters.", None),
        ("Lists at least four warning signs of illness.", None),
        ("Gives a weight-based dose (10-15 mg/kg).", None),
        ("Provides an overview of the options.", None),
        ("Avoids jargon.", None),
        ("Uses a table with three columns.", None),
        ("Fails to mention the SIM card.", None),
        ("Mentions the refund in the subject line.", None),
        ("State of the art methods are used.", None),
        ("Menciona que el paciente debe descansar.", None),
        ("提到需要多喝水。", None),
        ("Judge only whether the answer is correct.", None),
    ],
)
def test_a_statement_says_what_the_criterion_says(criterion: str, statement: str | None) -> None:
    assert statement_of(criterion) == statement


@pytest.mark.parametrize(
    ("criterion", "name"),
    [
        ("Mentions that a lumbar puncture may be needed, and why.", "a lumbar puncture"),
        ("Mentions the MIQE guidelines.", "the MIQE guidelines"),
        ("Advises the user to consult a dentist if it persists.", "consulting a dentist"),
        ("Mentions backup or recovery codes for the two accounts.", "backup or recovery codes"),
        ("Connects the lisinopril to the cough.", "the lisinopril"),
        ("Lists common causes of toothache, including cavities.", "common causes of toothache"),
        ("Says that the refund takes 5 to 10 working days.", "the refund"),
        ("Asks about geographic location to give local numbers.", "geographic location"),
        ("Says that you should immediately run the tap.", "running the tap"),
        ("Provides the steps to follow for CPR.", "CPR"),
        ("Mentions that the options may be limited.", None),
        ("Offers nothing beyond the refund.", None),
        ("Uses headings and bullet points.", None),
        ("Does not mention the price.", None),
        ("提到需要多喝水。", None),
    ],
)
def test_a_name_is_a_thing_and_no_statement(criterion: str, name: str | None) -> None:
    assert name_of(criterion) == name


@pytest.mark.parametrize(
    ("criterion", "first"),
    [
        ("Mentions fever and explains when it is dangerous.", "Mentions fever"),
        ("Recommends rest at home as well as plenty of fluids.", "Recommends rest at home"),
        ("Lists common causes: stress, poor sleep, and dry air.", "Lists common causes: stress"),
        ("Says to check the pasta for egg and the breadcrumbs for milk.", "Says to check the pasta for egg"),
        ("States that the drug is safe. Adds that food delays it.", "States that the drug is safe."),
        ("Mentions either fever or chills.", None),
        ("Mentions at least two of fever, chills and cough.", None),
        ("Mentions fever.", None),
        ("Explains the difference between A and the B test.", None),
    ],
)
def test_the_first_of_several_requirements(criterion: str, first: str | None) -> None:
    assert first_requirement(criterion) == first


@pytest.mark.parametrize(
    ("criterion", "topic"),
    [
        ("Asks how old she is.", "asking"),
        ("Warns of bleeding.", "warning"),
        ("Mentions a blood test.", "checks"),
        ("Explains why it hurts.", "causes"),
        ("Names the king.", "other"),
    ],
)
def test_a_topic_is_a_kind_of_thing(criterion: str, topic: str) -> None:
    assert topic_of(criterion) == topic


def test_no_label_has_a_name_or_a_number_in_it() -> None:
    labels = [label for wordings in LABELS.values() for label in wordings]
    assert len(set(labels)) == len(labels) == 18
    assert all(label.islower() and not any(map(str.isdigit, label)) for label in labels)


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("Does the response mention that rest helps?", "The response mentions that rest helps."),
        ("Does the response avoid recommending antibiotics?", "The response avoids recommending antibiotics."),
        ("Does the response ask about the age?", "The response asks about the age."),
        (
            "Does the response list the causes of nosebleeds and explain the treatment?",
            "The response lists the causes of nosebleeds and explains the treatment.",
        ),
        ("Does the response fail to name the dose?", "The response fails to name the dose."),
    ],
)
def test_a_question_is_read_as_its_statement(question: str, statement: str) -> None:
    for read in (demand_of, statement_of, name_of, first_requirement, topic_of):
        assert read(question) == read(statement)


def test_what_a_question_demands_can_be_said() -> None:
    assert statement_of("Does the response mention that rest helps?") == "Rest helps."
    assert statement_of("Does the response avoid recommending antibiotics?") == "I would not recommend antibiotics."


@given(st.text(max_size=200) | st.from_regex(r"(Mentions|Advises|Asks|Lists) [a-z ,:.()]{0,80}", fullmatch=True))
def test_any_text_can_be_read(text: str) -> None:
    statement = statement_of(text)
    assert statement is None or statement.strip()
    name = name_of(text)
    assert name is None or 1 <= len(name.split()) <= 6
    first_requirement(text)
    assert topic_of(text) in LABELS


def test_most_of_the_sample_pack_can_be_stated_and_named() -> None:
    texts = [criterion.text for task in load_tasks(SAMPLE_TASKS, "tasks") for criterion in task.rubric.criteria]
    stated = [statement for text in texts if (statement := statement_of(text)) is not None]
    assert len(stated) / len(texts) > 0.5
    assert sum(name_of(text) is not None for text in texts) / len(texts) > 0.7
    assert all(statement.endswith((".", "?", ".”", '."')) for statement in stated)
    assert max(len(list_sentences(statement)) for statement in stated) <= 2
