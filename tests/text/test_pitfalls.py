"""Pitfalls in both styles: `pitfalls.jsonl` has what each of them means, as its author meant it."""

import json
from collections import Counter
from pathlib import Path

import pytest

from prorubric.text.pitfalls import read_pitfall

ROWS = [
    json.loads(line) for line in Path(__file__).with_suffix(".jsonl").with_stem("pitfalls").read_text().splitlines()
]


def test_no_pitfall_is_read_as_its_opposite() -> None:
    assert [row["text"] for row in ROWS if read_pitfall(row["text"]) not in (row["means"], "undecided")] == []


def test_one_wording_in_seven_stays_undecided() -> None:
    found = Counter(read_pitfall(row["text"]) for row in ROWS)
    assert found == {"requirement": 33, "fault": 32, "undecided": 11}


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("Does not correct the false claim", "fault"),
        ("Does not address the incorrect premise", "fault"),
        ("Does not warn of dangerous interactions", "fault"),
        ("Does not use a wrong unit", "requirement"),
        ("Never fails to cite a source", "requirement"),
    ],
)
def test_what_is_wrong_in_the_question_is_not_what_is_wrong_in_the_answer(text: str, meaning: str) -> None:
    assert read_pitfall(text) == meaning
