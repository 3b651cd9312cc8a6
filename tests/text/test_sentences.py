"""A text and its sentences are the same thing, and what changed between two texts is found to the sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.audit.place import append, find_slots, insert, remove
from prorubric.text.sentences import bare, diff_sentences, list_sentences, split_sentences

CODE = "Try this:\n\n```python\nprint('a. B')\n\nx = 1.\n```\n\nIt works. Really."
markdown = st.text(alphabet='aB1.!? \n-*#|`。」("e\tg', max_size=120) | st.text(max_size=120)


@given(markdown)
def test_the_sentences_joined_are_the_text(text: str) -> None:
    assert "".join(split_sentences(text)) == text


@given(markdown)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert diff_sentences(text, text) == ((), ())


@given(st.lists(st.sampled_from(["One is here.", "Two is there!", "Is it three?", "Four."]), min_size=1, max_size=6))
def test_whatever_is_added_in_front_is_what_was_added(sentences: list[str]) -> None:
    text = " ".join(sentences)
    assert diff_sentences(text, f"Zero comes first. {text}") == (("Zero comes first.",), ())


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("no end", ["no end"]),
        ("One. Two.", ["One.", "Two."]),
        ("He said “go.” She went.", ["He said “go.”", "She went."]),
        ("Ask Dr. Lee, e.g. tonight. It is 2.5 km.", ["Ask Dr. Lee, e.g. tonight.", "It is 2.5 km."]),
        ("See J. Smith. The U.S. rate holds.", ["See J. Smith.", "The U.S. rate holds."]),
        ("1. Rest.\n2. Drink, etc. Then sleep.", ["Rest.", "Drink, etc.", "Then sleep."]),
        ("- milk\n- eggs\n\n## Next\nGo", ["milk", "eggs", "Next", "Go"]),
        ("A line that is\nwrapped here. End.", ["A line that is\nwrapped here.", "End."]),
        ("| a | b |\n|---|---|\n| 1. | 2 |", ["| a | b |", "|---|---|", "| 1. | 2 |"]),
        ("多喝水。早点睡！好吗？", ["多喝水。", "早点睡！", "好吗？"]),
        ("Wait... what? Yes!", ["Wait... what?", "Yes!"]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, sentences: list[str]) -> None:
    assert list_sentences(text) == tuple(sentences)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("At 38.5 she goes. Fails if not.", ["At 38.5 she goes.", "Fails if not."]),
        (
            "A drug, e.g. warfarin, i.e. a blood thinner, vs. none. Fails if not.",
            ["A drug, e.g. warfarin, i.e. a blood thinner, vs. none.", "Fails if not."],
        ),
        ("See Dr. Mills or Ms. Umeh. Fails.", ["See Dr. Mills or Ms. Umeh.", "Fails."]),
        ("St. John's wort is named. Fails.", ["St. John's wort is named.", "Fails."]),
        ("As Smith et al. (2020) say. Fails.", ["As Smith et al. (2020) say.", "Fails."]),
        ("By Peter J. Gøtzsche. Fails.", ["By Peter J. Gøtzsche.", "Fails."]),
        ("The U.S. Preventive Task Force says so. Fails.", ["The U.S. Preventive Task Force says so.", "Fails."]),
        ("Infected with E. coli. Fails.", ["Infected with E. coli.", "Fails."]),
        ("She weighs (approx. 60 kg) little. Fails.", ["She weighs (approx. 60 kg) little.", "Fails."]),
        ("The tall fig. Approx. is a word.", ["The tall fig. Approx. is a word."]),
        ("He plays the tuba-vs. Nobody minds.", ["He plays the tuba-vs. Nobody minds."]),
        ("The pelvis. Another bone.", ["The pelvis.", "Another bone."]),
        ("---------- 1. One thing.", ["---------- 1. One thing."]),
        ("She takes vitamin C. Fails if not.", ["She takes vitamin C.", "Fails if not."]),
        ("It is hepatitis B. The answer says so.", ["It is hepatitis B.", "The answer says so."]),
        ("Approved in the U.S. Fails if not.", ["Approved in the U.S.", "Fails if not."]),
        ("Dose, timing, etc. Fails if not.", ["Dose, timing, etc.", "Fails if not."]),
        ("Dose, timing, etc. are given. Fails.", ["Dose, timing, etc. are given.", "Fails."]),
        ("The dose is cut. eGFR decides. pH does not.", ["The dose is cut.", "eGFR decides.", "pH does not."]),
        ("It is plain. fails if not.", ["It is plain.", "fails if not."]),
        ('He says "go now." Then he goes.', ['He says "go now."', "Then he goes."]),
        ("He asks “why?” and waits. (He should.) Fails.", ["He asks “why?” and waits.", "(He should.)", "Fails."]),
        ("It says 'it depends'. Fails.", ["It says 'it depends'.", "Fails."]),
        ("1. One thing. 2. Another.", ["1. One thing.", "2. Another."]),
        ("A. One thing.\nB. Another.", ["A. One thing.", "B. Another."]),
        ("One line\nAnother line", ["One line", "Another line"]),
        ("One line\nthat goes on.", ["One line that goes on."]),
        ("No end", ["No end"]),
        ("", []),
        (" \n ", []),
        ("今晚就去急诊。不要等！好吗？", ["今晚就去急诊。", "不要等！", "好吗？"]),
        ("他说“现在就去。”然后出发。", ["他说“现在就去。”", "然后出发。"]),
        ("C’est fini. À demain. Österreich.", ["C’est fini.", "À demain.", "Österreich."]),
    ],
)
def test_where_a_sentence_ends(text: str, sentences: list[str]) -> None:
    pieces = (" ".join(piece.split()) for piece in split_sentences(text))
    assert [piece for piece in pieces if piece] == sentences


def test_a_block_of_code_is_one_sentence() -> None:
    pieces = split_sentences(CODE)
    assert [bare(piece)[:9] for piece in pieces] == ["Try this:", "```python", "It works.", "Really."]
    assert "".join(pieces) == CODE


def test_bullets_numbers_and_spaces_make_no_difference() -> None:
    assert diff_sentences("- Rest.\n- Drink.", "1.  Rest.\n\n2. Drink.") == ((), ())


def test_what_is_new_and_what_is_gone_are_told_apart() -> None:
    assert diff_sentences("A is. B is. C is.", "A is. X is. C is. D is.") == (("X is.", "D is."), ("B is.",))


def test_long_texts_are_compared_by_what_they_hold() -> None:
    many = [f"Line {number} is here." for number in range(600)]
    before, after = "\n".join(many), "\n".join(["First of all.", *many[::-1]])
    assert diff_sentences(before, after) == (("First of all.",), ())


class TestPlaces:
    def test_a_sentence_is_put_behind_another_on_its_line(self) -> None:
        pieces = split_sentences("One. Two.\n\nThree.")
        assert insert(pieces, {1: ["New."]}) == "One. Two. New.\n\nThree."

    def test_a_bullet_without_a_full_stop_gets_another_bullet(self) -> None:
        pieces = split_sentences("- milk\n- eggs\n\nGo.")
        assert insert(pieces, {1: ["Buy bread."]}) == "- milk\n- eggs\n- Buy bread.\n\nGo."

    def test_nothing_is_put_behind_headings_rows_code_or_a_colon(self) -> None:
        text = "# Title.\n| a. | b. |\n```\nx.\n```\nTake these:\nDo it.\n"
        pieces = split_sentences(text)
        assert [pieces[place] for place in find_slots(pieces)] == ["Do it.\n"]

    @pytest.mark.parametrize(
        ("text", "place", "left"),
        [
            ("One. Two. Three.", 1, "One. Three."),
            ("One. Two.\n\nThree.", 1, "One.\n\nThree."),
            ("One.\n\nTwo.\n\nThree.", 1, "One.\n\nThree."),
            ("- One. More.\n- Two.", 0, "- More.\n- Two."),
            ("- One.\n- Two.\n- Three.", 1, "- One.\n- Three."),
            ("One. Two.", 1, "One."),
            ("One. Two.", 0, "Two."),
        ],
    )
    def test_a_sentence_is_taken_out_and_the_layout_stays(self, text: str, place: int, left: str) -> None:
        assert remove(split_sentences(text), place) == left

    @given(st.text(max_size=60), st.text(alphabet="ab .\n", min_size=1, max_size=30))
    def test_an_appended_paragraph_leaves_the_answer_as_it_is(self, answer: str, paragraph: str) -> None:
        text = append(answer, paragraph)
        assert text.startswith(answer)
        assert text.endswith(paragraph)
