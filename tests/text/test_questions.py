"""Questions become the statements they ask about, and statements stay as they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.text.criteria import read_direction, read_kind, split_negation
from prorubric.text.questions import third_person, to_statement


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("Does the model avoid giving medical advice?", "The model avoids giving medical advice."),
        ("Does the response clearly state the dose?", "The response clearly states the dose."),
        ("Does the response not mention rest?", "The response does not mention rest."),
        ("Did the assistant refrain from guessing?", "The assistant refrains from guessing."),
        ("Has the reply omitted the dose?", "The reply omits the dose."),
        ("Has the response been written in French?", "The response has been written in French."),
        ("Does the model's final answer rely on evidence?", "The model's final answer relies on evidence."),
        ("Does the answer cites Chen (2019)?", "The answer cites Chen (2019)."),
        ("Does the response name the drug", "The response names the drug"),
        ("Is the answer concise?", "The answer is concise."),
        ("Is the recommended dose given?", "The recommended dose is given."),
        ("Are sources cited?", "Sources are cited."),
        ("Are no sources cited?", "No sources are cited."),
        ("Is there a conclusion?", "There is a conclusion."),
        ("Is any claim about the dose supported by a source?", "Any claim about the dose is supported by a source."),
        ("Do the sections cite sources?", "The sections cite sources."),
        ("Does each paragraph contain one idea?", "Each paragraph contains one idea."),
        ("Does the introduction of the essay state the aim?", "The introduction of the essay states the aim."),
        ("Can the answer be understood by a child?", "The answer can be understood by a child."),
        ("If a dose is asked for, does the response give one?", "If a dose is asked for, the response gives one."),
        ("Whether the answer cites a source", "The answer cites a source"),
        ("Does it mention rest? Read the whole answer.", "It mentions rest. Read the whole answer."),
        ('Does it ask "Where does it hurt?" first?', 'It asks "Where does it hurt?" first.'),
    ],
)
def test_a_question_becomes_its_statement(question: str, statement: str) -> None:
    assert to_statement(question) == statement


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        (
            "Does the response mention rest, list the drugs, and explain the plan?",
            "The response mentions rest, lists the drugs, and explains the plan.",
        ),
        (
            "Does the response explain the causes and list of signs?",
            "The response explains the causes and list of signs.",
        ),
        ("Does it advise to stop aspirin and avoid alcohol?", "It advises to stop aspirin and avoid alcohol."),
    ],
)
def test_only_verbs_of_the_same_clause_take_its_form(question: str, statement: str) -> None:
    assert to_statement(question) == statement


@pytest.mark.parametrize(
    "text",
    [
        "Does not mention rest",
        "Do not use tables",
        "Is written in two paragraphs",
        "Has a title",
        "Does the calculation step by step",
        'Should keep the user engaged (for example "Shall I go on?").',
        "Doesn't the response mention rest?",
        "What does the response say?",
        "Did der Arzt es sagen",
        "回答是否准确？",
        "",
    ],
)
def test_what_is_no_question_or_cannot_be_read_as_one_stays(text: str) -> None:
    assert to_statement(text) == text


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Does the response mention the dose?", "presence"),
        ("Has the answer cited a source?", "presence"),
        ("Does the response explain the dose?", "substantive"),
        ("Does the response mention why rest helps?", "substantive"),
        ("Does the response use bullet points?", "formatting"),
        ("Is the response under 200 words?", "formatting"),
    ],
)
def test_a_question_has_the_kind_of_its_statement(question: str, kind: str) -> None:
    assert read_kind(question) == kind


@pytest.mark.parametrize(
    ("question", "direction"),
    [
        ("Does the response avoid jargon?", "requirement"),
        ("Did the model refrain from guessing?", "requirement"),
        ("Does the response fail to ask about allergies?", "fault"),
        ("Does the response omit the dose?", "fault"),
        ("Does the response avoid the question?", "neutral"),
        ("Does the response mention the dose?", "neutral"),
    ],
)
def test_a_question_has_the_direction_of_its_statement(question: str, direction: str) -> None:
    assert read_direction(question) == direction


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("Does the model avoid giving advice?", ("giving advice.", True)),
        ("Is the answer free of jargon?", ("jargon.", True)),
        ("Are there no typos?", ("typos.", True)),
        ("Are no sources cited?", ("sources are cited.", True)),
        ("Does the model give advice?", ("gives advice.", False)),
    ],
)
def test_a_question_denies_what_its_statement_denies(question: str, about: tuple[str, bool]) -> None:
    assert split_negation(question) == about


def test_verbs_take_their_form() -> None:
    verbs = "mention specify convey discuss reach fix have do be"
    assert (
        " ".join(map(third_person, verbs.split())) == "mentions specifies conveys discusses reaches fixes has does is"
    )


@given(st.text(max_size=200))
def test_any_text_is_read_and_read_the_same_when_read_again(text: str) -> None:
    statement = to_statement(f"Does the response mention {text}?")
    assert statement.startswith("The response mentions")
    assert to_statement(statement) == statement
