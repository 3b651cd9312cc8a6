"""Where a sentence ends, and where a full stop ends none."""

import pytest

from prorubric.text.sentences import split_sentences


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
    assert split_sentences(text) == sentences
