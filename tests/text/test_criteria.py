"""What is read off the wording of a criterion, each pattern beside the texts that only look like it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.text.criteria import find_unjudgeable, read_direction, read_kind, split_negation


class TestKind:
    @pytest.mark.parametrize(
        "text",
        [
            "Mentions the family history of stroke",
            "The response should mention aspirin",
            "The answer must also list two risks",
            "Explicitly states the dose",
            "Lists at least three warning signs",
            "Fails to mention the interaction",
            "Does not mention the interaction",
            "Omits the dose",
            "Provides examples of both kinds",
            "Specifies the year",
            "Points out the deadline",
            "  • Notes that the shop closes at 8",
        ],
    )
    def test_what_is_met_by_naming_something_is_presence(self, text: str) -> None:
        assert read_kind(text) == "presence"

    @pytest.mark.parametrize(
        "text",
        [
            "Explains the family history of stroke",
            "Mentions why aspirin is not given",
            "States the dose and the reason for it",
            "The state of the art is compared with the new method",
            "References are accurate",
            "Lists of symptoms are ordered by urgency",
            "Tells the parent to go to the hospital tonight",
            "Nennt die Dosis",
        ],
    )
    def test_what_has_to_be_reasoned_or_done_is_substantive(self, text: str) -> None:
        assert read_kind(text) == "substantive"

    def test_the_bracketed_justification_of_healthbench_is_not_part_of_the_demand(self) -> None:
        assert read_kind("Mentions rest. (Justification: it explains how healing works.)") == "presence"

    @pytest.mark.parametrize(
        "text",
        [
            "Uses bullet points and headings",
            "Is organized with headings or bullets.",
            "The response is well-structured in short paragraphs",
            "Presents the next steps as a numbered list",
            "Is written in two paragraphs",
            "Is under 220 words",
            "At least 100 words",
            "Does not exceed 280 characters",
            "No more than three sentences",
            "Contains no typos",
            "Overuses bold text",
        ],
    )
    def test_what_is_about_form_only_is_formatting(self, text: str) -> None:
        assert read_kind(text) == "formatting"

    @pytest.mark.parametrize(
        "text",
        [
            "Has three main characters with voices of their own",
            "Keeps the characters consistent",
            "Uses words that a child understands",
            "Uses bold claims without evidence",
            "Uses Table 2 of the paper to derive the rate",
            "Uses section 230 to argue for the platform",
            "Presents the periodic table as a result of electron shells",
            "Explains the table of contents",
        ],
    )
    def test_words_of_form_that_mean_something_else_are_not_formatting(self, text: str) -> None:
        assert read_kind(text) == "substantive"


class TestDirection:
    @pytest.mark.parametrize(
        "text",
        [
            "Fails to ask when the symptoms began",
            "The response omits the dose",
            "Incorrectly says that it is harmless",
            "Ignores the user's allergy",
            "Lacks a conclusion",
            "Minimizes the severity of the burn",
            "Jumps to conclusions about the cause",
            "Invents a source",
            "Overly technical for a layperson",
            "Lack of citations for its claims",
            "A complete absence of clear examples",
            "Lack of explanation where it is needed",
            "Failure to mention that aspirin is dangerous",
        ],
    )
    def test_a_fault_is_read_as_a_fault(self, text: str) -> None:
        assert read_direction(text) == "fault"

    @pytest.mark.parametrize(
        "text",
        [
            "Does not use jargon",
            "Omits irrelevant details",
            "Omit the salutation",
            "Lacks spelling errors",
            "Lack of evidence is named as the reason",
            "Failure to thrive is considered as a cause",
            "Failure to treat the infection leads to blindness",
            "Lack of sleep",
            "Lack of sleep as a cause of headaches",
            "Absence of fever",
            "No mention of competitors",
            "Ignores the misleading hint in the question",
            "Contradicts the myth that antibiotics cure colds",
            "Minimizes the use of technical terms",
            "Minimizes the risk of infection by washing first",
            "Invents a hero with a secret",
            "Jumps to the main point in the first line",
        ],
    )
    def test_what_only_sounds_like_a_fault_is_none(self, text: str) -> None:
        assert read_direction(text) == "neutral"

    @pytest.mark.parametrize(
        "text",
        [
            "Should ask about allergies",
            "The response must not name the patient",
            "Needs to state the red flags",
            "Avoids jargon",
            "Avoid recommending antibiotic ointment",
            "Refrains from guessing",
            "Accurately identifies the drug",
            "Does not advise harmful practices",
        ],
    )
    def test_a_demand_is_read_as_a_requirement(self, text: str) -> None:
        assert read_direction(text) == "requirement"

    @pytest.mark.parametrize(
        "text",
        [
            "Avoids answering the question",
            "Avoids the question",
            "Refrains from addressing the overdose",
            "Does not warn of dangerous interactions",
            "Does not mention harmful side effects",
            "Clearly states that the lump is harmless",
            "Correctly names the drug but gives the wrong dose",
            "Needs to be asked twice before it answers",
            "Recommends aspirin",
        ],
    )
    def test_what_only_sounds_like_a_demand_is_none(self, text: str) -> None:
        assert read_direction(text) == "neutral"


class TestNegation:
    @pytest.mark.parametrize(
        ("text", "about"),
        [
            ("Lack of citations for its claims", "citations for its claims"),
            ("The absence of any examples", "any examples"),
            ("Failure to mention that aspirin is dangerous", "mention that aspirin is dangerous"),
            ("No mention of aspirin", "mention of aspirin"),
            ("Lacks a conclusion", "a conclusion"),
        ],
    )
    def test_what_the_answer_lacks_is_denied(self, text: str, about: str) -> None:
        assert split_negation(text) == (about, True)

    @pytest.mark.parametrize(
        "text",
        [
            "Lack of sleep",
            "Lack of evidence is named as the reason",
            "Lack of insurance as a barrier to care",
            "Absence of fever",
            "Failure to treat the infection leads to blindness",
            "Failure to thrive",
        ],
    )
    def test_a_topic_that_sounds_like_a_denial_is_none(self, text: str) -> None:
        assert split_negation(text) == (text.lower(), False)


class TestUnjudgeable:
    @pytest.mark.parametrize(
        "text", ["TBD", "todo", "N/A", "n/a.", "...", "???", "xxx", "Lorem ipsum dolor sit amet", "[ ]"]
    )
    def test_a_placeholder_cannot_be_judged(self, text: str) -> None:
        assert find_unjudgeable(text) == "it is a placeholder"

    @pytest.mark.parametrize("text", ["Clarity", "  Accuracy. "])
    def test_a_single_word_cannot_be_judged(self, text: str) -> None:
        assert find_unjudgeable(text) == "it is a single word"

    @pytest.mark.parametrize(
        "text",
        [
            "Lists at least three risk factors, including",
            "Explains the difference between the",
            "Mentions rest and",
            "Includes the following:",
            "Mentions the risk of",
            "Refers the patient to",
            "Mentions a well-",
            "Names a drug, e.g.",
            "Explains the cause…",
            "Mentions drugs (",
            "Names the bus stop and/or",
            "Says yes—the",
            "Groups the patients based on",
            "Explains the signs in",
            "Lists the steps in",
            "Gives one more option: a",
        ],
    )
    def test_a_text_that_is_cut_off_cannot_be_judged(self, text: str) -> None:
        assert find_unjudgeable(text) == "it ends in the middle of a sentence"

    @pytest.mark.parametrize(
        "text",
        [
            "Mentions rest (at home",
            "Says “go to the hospital tonight",
            "Says (a) or (b",
            "Cites (see [1]",
            "提到布洛芬（每日两次",
        ],
    )
    def test_what_is_opened_and_never_closed_cannot_be_judged(self, text: str) -> None:
        assert find_unjudgeable(text) == "a bracket or quotation is opened and never closed"

    @pytest.mark.parametrize(
        "text",
        [
            "Mentions vitamin A",
            "Reports the OR",
            "Identifies the blood type as AB-",
            "Explains what the medicine is for",
            "Lists the signs to watch for",
            "Names the doctor that she should talk to",
            "Mentions the risk of infection.",
            "Mentions rest;",
            "Lists a) rest and b) water",
            'Says “rest“ or “sleep"',
            "Schreibt „gute Besserung“ darunter",
            "Is none of the above",
            "Lorem ipsum is not used as a filler",
            "清晰",
            "Résumé",
            "Restricts the rate to the interval (0, 1]",
            "Scales the scores to [0, 1[",
            "The shops have branches in Suzhou and Xi'an",
            "Uses the sauce（mild)",
            "提到布洛芬（每日两次）",
            "Ends with a sad face :(",
            'Closes every "(" in the code',
            "Says where the cabin is and the year it was built in",
            "Gives the year the tower was built in",
            "Every missing item is accounted for",
            "Reminds her of logging in",
            "Turns the lamp off before the fan is turned on",
            "Goes through rent, food, travel and so on",
            "Names a brand only if asked to",
            "Chooses option a",
            "Recommends a plug-in",
            "Gibt die Dosis an",
            "Mentions rest (at home or in hospital.",
            "Says “go home.",
        ],
    )
    def test_a_whole_text_can_be_judged(self, text: str) -> None:
        assert find_unjudgeable(text) is None


@given(st.text(max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert read_kind(text) in ("presence", "formatting", "substantive")
    assert read_direction(text) in ("fault", "requirement", "neutral")
    assert find_unjudgeable(text) is None or isinstance(find_unjudgeable(text), str)


@pytest.mark.parametrize(
    "text",
    ["a" * 200_000, " " * 200_000, "uses " * 40_000, "(" * 200_000, "to a " * 40_000, "does not use a " * 20_000],
)
def test_reading_time_grows_with_the_length_of_the_text_and_not_with_its_square(text: str) -> None:
    # A pattern that backtracks would take minutes on these; CPU time, so that a busy machine does not decide.
    start = time.process_time()
    read_kind(text), read_direction(text), find_unjudgeable(text)
    assert time.process_time() - start < 5  # at most 0.4 s on an idle machine
