"""Word overlap does what its page says: words near each other, negations turned round, the same number every time."""

import asyncio
import math
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from prorubric.errors import UnjudgedError
from prorubric.llm.lexical import MIDPOINT, STEEPNESS, LexicalModel
from prorubric.llm.model import Model, YesNoModel
from prorubric.text.words import is_unspaced

RESPONSE = (
    "Take ibuprofen with food. It can irritate the stomach. Drink plenty of water.\n\nCall a doctor if fever lasts."
)


def judge(*statements: str, response: str = RESPONSE) -> list[float]:
    return asyncio.run(LexicalModel().probabilities("user: ?", response, statements))


def expect(share: float) -> float:
    return 1 / (1 + math.exp(-STEEPNESS * (share - MIDPOINT)))


class TestShares:
    @pytest.mark.parametrize(
        ("statement", "share"),
        [
            ("Mentions ibuprofen.", 1.0),
            ("Mentions paracetamol.", 0.0),
            ("The response recommends taking ibuprofen with food.", 1.0),
            ("Recommends ibuprofen or aspirin.", 1 / 2),
            ("Names ibuprofen, aspirin and water.", 2 / 3),
            ("Explains that it irritates the stomach.", 1.0),
        ],
    )
    def test_the_probability_is_the_logistic_of_the_share_of_words(self, statement: str, share: float) -> None:
        assert judge(statement) == [expect(share)]

    def test_a_third_of_the_words_is_not_enough_and_half_are(self) -> None:
        assert expect(1 / 3) < 0.5 < expect(1 / 2)

    def test_words_count_together_only_within_three_neighbouring_sentences(self) -> None:
        near = "Ibuprofen helps. Nothing here. Watch your stomach."
        far = "Ibuprofen helps. Nothing here. Nor here. Watch your stomach."
        statement = "Links ibuprofen to stomach trouble."
        # links, ibuprofen, stomach, trouble
        assert judge(statement, response=near) == [expect(2 / 4)]
        assert judge(statement, response=far) == [expect(1 / 4)]

    def test_a_word_in_every_sentence_counts_once(self) -> None:
        assert judge("Mentions water and salt.", response="Water. Water. Water. Water.") == [expect(1 / 2)]

    def test_a_number_is_one_word(self) -> None:
        assert judge("Gives 38.5 as limit", response="The limit is 38.5 degrees.") == [expect(1.0)]
        assert judge("Gives 38.5", response="Room 38 has 5 beds.") == [expect(0.0)]

    @pytest.mark.parametrize(
        ("statement", "response"),
        [
            ("提到多喝水", "Drink plenty of water."),
            ("Mentions water.", "请多喝热水。"),
            ("水を飲むように言う", "水を飲んでください。"),
            ("ให้ดื่มน้ำ", "ดื่มน้ำมากๆ"),
            ("使用 Transformer 的 self-attention 机制", "It uses self-attention."),
        ],
    )
    def test_a_script_without_spaces_between_words_is_refused_in_one_line(self, statement: str, response: str) -> None:
        line = "lexical cannot read a script without spaces between words, such as Chinese; judge with a model"
        with pytest.raises(UnjudgedError, match=f"^{line}$"):
            judge("Mentions rest.", statement, response=response)

    def test_a_few_foreign_words_in_an_english_text_are_read(self) -> None:
        assert judge("Translates the greeting as 你好", response="The greeting translates as 你好.") == [expect(1.0)]

    def test_an_empty_response_names_nothing(self) -> None:
        assert judge("Mentions rest.", "Does not mention rest.", response="") == [expect(0.0), 1 - expect(0.0)]

    def test_a_statement_without_content_words_cannot_be_told(self) -> None:
        assert judge("", "It is what it is.", "The response mentions this.") == [0.5, 0.5, 0.5]

    def test_it_is_paid_by_naming_things(self) -> None:
        dropped = "Keywords: dose, kidney function, adjust."
        assert judge("Explains how to adjust the dose to kidney function.", response=dropped)[0] > 0.9


class TestNegations:
    @pytest.mark.parametrize(
        "opening",
        [
            "Does not mention",
            "The response doesn't mention",
            "It doesn’t recommend",
            "Fails to mention",
            "The answer fails to explicitly mention",
            "Neglects to mention",
            "Never mentions",
            "Omits",
            "Avoids",
            "Should avoid recommending",
            "Must not recommend",
            "The response should not recommend",
            "Refrains from recommending",
            "Contains no",
            "Makes no mention of",
            "No mention of",
            "Lacks",
            "Is free of",
        ],
    )
    def test_a_statement_that_opens_with_a_negation_is_turned_round(self, opening: str) -> None:
        assert judge(f"{opening} ibuprofen.", f"{opening} aspirin.") == [1 - expect(1.0), 1 - expect(0.0)]

    @pytest.mark.parametrize("opening", ["Does not fail to mention", "Fails to avoid", "Never omits"])
    def test_two_negations_cancel_out(self, opening: str) -> None:
        assert judge(f"{opening} ibuprofen.") == [expect(1.0)]

    def test_a_negation_further_in_is_part_of_what_has_to_be_said(self) -> None:
        assert judge("States that ibuprofen is not for the stomach.") == [expect(1.0)]

    @pytest.mark.parametrize("statement", ["Notes ibuprofen.", "Notably ibuprofen", "Nomenclature", "Failsafe"])
    def test_a_word_that_only_begins_like_a_negation_is_none(self, statement: str) -> None:
        words = statement.removeprefix("Notes ").lower().strip(".")
        assert judge(statement, response=words) == [expect(1.0)]

    def test_a_lack_that_is_a_topic_has_to_be_named(self) -> None:
        tired = "Lack of sleep makes headaches worse."
        assert judge("Lack of sleep", "Lack of citations", response=tired) == [expect(1.0), 1 - expect(0.0)]

    def test_a_question_is_read_as_its_statement(self) -> None:
        asked = ["Does the response mention ibuprofen?", "Is ibuprofen avoided?", "Does it omit aspirin?"]
        said = ["The response mentions ibuprofen.", "Ibuprofen is avoided.", "It omits aspirin."]
        assert judge(*asked) == judge(*said)

    def test_a_clean_answer_avoids_medical_advice_and_an_offender_does_not(self) -> None:
        question = "Does the model avoid giving medical advice?"
        clean = judge(question, response="I cannot help with that. Please ask your pharmacist.")
        offender = judge(question, response="Here is my medical advice: take two tablets.")
        assert (clean, offender) == ([1 - expect(0.0)], [1 - expect(1.0)])
        assert clean > offender


class TestModel:
    def test_it_judges_and_does_not_answer(self) -> None:
        assert isinstance(LexicalModel(), YesNoModel)
        assert not isinstance(LexicalModel(), Model)

    def test_it_names_itself_in_every_report(self) -> None:
        assert (LexicalModel().name, LexicalModel().identity) == ("lexical/3", "lexical/3")

    def test_it_can_be_closed_twice_and_used_after(self) -> None:
        async def use() -> list[float]:
            model = LexicalModel()
            await model.close()
            await model.close()
            return await model.probabilities("", "", [])

        assert asyncio.run(use()) == []

    @given(st.text(), st.lists(st.text(), max_size=5))
    def test_any_text_gets_a_probability_and_the_same_one_again(self, response: str, statements: list[str]) -> None:
        if any(map(is_unspaced, [response, *statements])):
            return
        first = judge(*statements, response=response)
        assert len(first) == len(statements)
        assert all(0 < probability < 1 for probability in first)
        assert judge(*statements, response=response) == first

    @given(st.lists(st.sampled_from("tea milk sugar water salt rice".split()), min_size=1, max_size=6), st.text())
    def test_what_copies_a_statement_meets_it(self, words: list[str], more: str) -> None:
        statement = " ".join(words)
        response = f"{more}\n{statement}\n"
        assume(not is_unspaced(response))  # such as Chinese, which is refused
        assert judge(statement, response=response) == [expect(1.0)]

    def test_a_statement_takes_less_than_100_microseconds_for_300_words(self) -> None:
        words = [
            f"{stem_}{ending}" for stem_ in "walk talk rest train sleep drink".split() for ending in ("", "ing", "s")
        ]
        sentences = [" ".join(words[i % 18] + str(i % 7) for i in range(j, j + 15)) + "." for j in range(20)]
        response = " ".join(sentences)
        statements = [f"Explains how {sentence}" for sentence in sentences]
        assert len(response.split()) == 300
        best = min(self.measure(response, statements) for _ in range(20))
        assert best / len(statements) < 100e-6

    @staticmethod
    def measure(response: str, statements: list[str]) -> float:
        coroutine = LexicalModel().probabilities("", response, statements)
        begin = time.thread_time()
        with pytest.raises(StopIteration):
            coroutine.send(None)
        return time.thread_time() - begin
