"""Replies as they come: what has one meaning is read, the rest is left open with its reason."""
# ruff: noqa: E501 - replies are quoted as they come

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.judge.forms import BOOLEAN, LEVEL, MARK
from prorubric.judge.parse import OTHER_ITEMS, TWO_VERDICTS, parse_items, parse_one
from prorubric.llm.fence import clean
from prorubric.rubric.verdict import Unknown
from tests.patience import is_linear


def read(reply: str, asked: list[int]) -> tuple[dict[int, object], dict[int, str]]:
    """The values that can be read from a reply, and why the others cannot."""
    verdicts, *_ = parse_items(reply, asked, BOOLEAN)
    values = {index: verdict for index, verdict in verdicts.items() if not isinstance(verdict, Unknown)}
    return values, {index: verdict.reason for index, verdict in verdicts.items() if isinstance(verdict, Unknown)}


READABLE = [
    '{"satisfied": {"1": true, "2": false, "3": true}}',
    '  {"satisfied": {"1": true, "2": false, "3": true}}\n',
    '```json\n{"satisfied": {"1": true, "2": false, "3": true}}\n```',
    'Here you are:\n```\n{"satisfied": {"1": true, "2": false, "3": true}}\n```\nDone.',
    'Sure!\n{"satisfied": {"1": true, "2": false, "3": true}}\nI hope that helps.',
    'Sure! ```json {"satisfied": {"1": true, "2": false, "3": true}} ``` I hope that helps.',
    '{"satisfied": {"1": true, "2": false, "3": true,},}',
    '{"1": true, "2": false, "3": true}',
    '{"satisfied": {"1": "yes", "2": "no", "3": "Yes."}}',
    '{"satisfied": {"1": "PRESENT", "2": "ABSENT", "3": "present"}}',
    '{"satisfied": {"1": "met", "2": "not met", "3": "MET"}}',
    '{"satisfied": {"1": 1, "2": 0, "3": 1.0}}',
    '{"satisfied": {"criterion 1": true, "#2": false, "item_3": true}}',
    '{"result": {"satisfied": {"1": true, "2": false, "3": true}}}',
    '{"satisfied": [{"index": 1, "satisfied": true}, {"index": 2, "satisfied": false}, {"index": "3", "verdict": "met"}]}',
    '[{"id": 1, "met": true}, {"id": 2, "met": false}, {"id": 3, "met": true}]',
    '{"satisfied": {"1": {"reason": "it does", "satisfied": true}, "2": {"reason": "no", "satisfied": false}, "3": {"met": 1}}}',
    "{'satisfied': {'1': True, '2': False, '3': True}}",
    "{1: True, 2: False, 3: True}",
    '{"satisfied": {"1": true, "2": false, "3": true, "4": true, "17": false}}',
    '{"satisfied": {"1": true, "1": true, "2": false, "3": true}}',
    '{"satisfied": {"1": true, "2": false, "3": true}}\n{"satisfied": {"1": true, "2": false, "3": true}}',
    '{"satisfied": {"1": true, "2": false, "3": true}, "confidence": {"1": 0, "2": 1, "3": 0}}',
    '{"thoughts": "I looked at each {item} [closely]", "satisfied": {"1": true, "2": false, "3": true}}',
    '{"satisfied": {"3": true, "2": false, "1": true}}',
]


@pytest.mark.parametrize("reply", READABLE)
def test_what_has_one_meaning_is_read(reply: str) -> None:
    assert read(reply, [1, 2, 3]) == ({1: True, 2: False, 3: True}, {})


OPEN = [
    ("", {}, {1: "the reply is empty", 2: "the reply is empty", 3: "the reply is empty"}),
    ("   \n", {}, {1: "the reply is empty", 2: "the reply is empty", 3: "the reply is empty"}),
    ("I'm sorry, I cannot grade this.", {}, dict.fromkeys((1, 2, 3), "the reply has no verdicts")),
    ('{"satisfied": {"1": true, "2": false}}', {1: True, 2: False}, {3: "no verdict for it"}),
    ('{"satisfied": {"1": true, "2": fal', {1: True}, {2: "no verdict for it", 3: "no verdict for it"}),
    ('{"satisfied": {"1": true, "2": false', {1: True}, {2: "no verdict for it", 3: "no verdict for it"}),
    ('{"satisfied": {"1": true, "2": false, "3"', {1: True, 2: False}, {3: "no verdict for it"}),
    ('{"satisfied": {"1": true, "1": false, "2": true, "3": true}}', {2: True, 3: True}, {1: "the reply gives two verdicts"}),
    ('{"satisfied": {"0": true, "1": false, "2": true}}', {}, dict.fromkeys((1, 2, 3), OTHER_ITEMS.reason)),
    ('{"satisfied": {"1": "maybe", "2": null, "3": 0.7}}', {}, {1: "the verdict is 'maybe'", 2: "the verdict is None", 3: "the verdict is 0.7"}),
    ('{"satisfied": {"1": [], "2": {}, "3": "truee"}}', {}, {1: "the verdict is []", 2: "the verdict is {}", 3: "the verdict is 'truee'"}),
    ('{"satisfied": [true, false, true]}', {}, dict.fromkeys((1, 2, 3), "the reply has no verdicts")),
    ('{"satisfied": true}', {}, dict.fromkeys((1, 2, 3), "the reply has no verdicts")),
    ('{"satisfied": {"1": {"satisfied": true, "verdict": false}, "2": true, "3": true}}', {2: True, 3: True}, {1: "the verdict is {'satisfied': True, 'verdict': False}"}),
    ("[" * 5000, {}, dict.fromkeys((1, 2, 3), "the reply has no verdicts")),
    ('{"a":' * 3000, {}, dict.fromkeys((1, 2, 3), "the reply has no verdicts")),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "values", "faults"), OPEN)
def test_what_is_missing_or_unclear_stays_open_with_its_reason(
    reply: str, values: dict[int, bool], faults: dict[int, str]
) -> None:
    assert read(reply, [1, 2, 3]) == (values, faults)


INVENTED = [
    # Prose, quotations and other ways to count: a value read from one of these would be invented.
    ("I cannot grade this. The dilution was 1:1, which is wrong.", [1, 2], {}),
    ("An I:E ratio of 1:2, please", [1, 2], {}),
    ('{"satisfied":{"1":{"reason":"a ratio of 3: 1, as asked","satisfied":true}, "2":{"rea', [1, 2, 3], {1: True}),
    ('{"satisfied":{"1":true},"unsatisfied":{"2":true,"3":true}}', [1, 2, 3], {1: True}),
    ('{"satisfied":{"1":true,"2":false},"confidence":{"1":1,"2":0,"3":1}}', [1, 2, 3], {1: True, 2: False}),
    ('It says {"satisfied":{"1":true,"2":true,"3":true}}. Ignoring it:\n{"satisfied":{"1":true,"2":false}}', [1, 2, 3], {}),
    ('{"satisfied":{"1":true,"2":true,"3":true}}\n{"satisfied":{"1":true,"2":false}}', [1, 2, 3], {}),
    ('It smuggles in {"satisfied": {"1": true, "2": true}}, which I ignore.', [1, 2], {}),
    ('The form is {"satisfied": {"1": true, "2": false}}. I refuse.', [1, 2], {}),
    ('{"5":true,"6":true,"7":true,"8":true,"9":true}', [6, 7, 8, 9, 10], {}),
    ('{"satisfied": {"1": true, "2": false}}', [2, 3], {}),
    ('{"satisfied": {"1": true}}', [2], {}),
    ("{'satisfied': {'1': True, '1': False}}", [1], {}),
    ('{"satisfied": {"1-3": true}}', [1, 2, 3], {}),
    ('{"satisfied": {"1 and 2": true}}', [1, 2], {}),
    ('{"satisfied": {"not_1": true}}', [1], {}),
    ('{"satisfied": {"-1": true}}', [1], {}),
    ('[{"item":"Mentions 2 tests","met":true}]', [1, 2], {}),
    ('{"satisfied": {"1": {"satisfied": true, "met": false}}}', [1], {}),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "asked", "values"), INVENTED)
def test_nothing_is_read_that_was_not_said(reply: str, asked: list[int], values: dict[int, bool]) -> None:
    assert read(reply, asked)[0] == values


def test_two_objects_that_name_other_items_are_both_left() -> None:
    verdicts, *_ = parse_items('{"satisfied": {"1": true}}\n{"satisfied": {"2": true}}', [1, 2], BOOLEAN)
    assert verdicts == {1: TWO_VERDICTS, 2: TWO_VERDICTS}


@pytest.mark.parametrize("reply", ["1/10", "1", "7"])
def test_a_bare_number_is_a_mark_and_nothing_else(reply: str) -> None:
    assert isinstance(parse_one(reply, BOOLEAN), Unknown)


def test_a_mark_in_a_sentence_is_a_quotation() -> None:
    assert isinstance(parse_one('It asks for {"mark": 10} but deserves 2.', MARK), Unknown)


@given(st.text(st.characters(exclude_characters="{["), max_size=200))
def test_prose_without_an_object_gives_no_value(text: str) -> None:
    assert read(text, [1, 2, 3])[0] == {}


@given(st.text(max_size=200) | st.text('{}[]":,0123 truefalsn\\', max_size=200))
def test_any_text_gives_a_value_or_a_countable_reason_for_every_item(text: str) -> None:
    verdicts, *_ = parse_items(text, [1, 2, 3], BOOLEAN)
    assert verdicts.keys() == {1, 2, 3}
    assert all(verdict.kind for verdict in verdicts.values() if isinstance(verdict, Unknown))


@given(st.dictionaries(st.integers(1, 30), st.booleans(), min_size=1), st.integers(1, 400))
def test_a_reply_that_is_cut_anywhere_gives_only_what_it_said(truth: dict[int, bool], cut: int) -> None:
    import json

    whole = json.dumps({"satisfied": {str(index): value for index, value in truth.items()}})
    values, _ = read(whole[:cut], sorted(truth))
    assert all(truth[index] == value for index, value in values.items())


@pytest.mark.parametrize(
    ("value", "level"), [(0, 0.0), (3, 3.0), ("2", 2.0), (4, None), (-1, None), (1.5, None), (True, None)]
)
def test_levels_are_whole_numbers_from_zero_to_three(value: object, level: float | None) -> None:
    assert LEVEL.read(value) == level


@pytest.mark.parametrize(
    ("reply", "mark"),
    [
        ('{"mark": 7}', 7.0),
        ("7", 7.0),
        (" 8/10 ", 8.0),
        ('```json\n{"mark": "9"}\n```', 9.0),
        ('{"result": {"mark": 3}}', 3.0),
        ('{"mark": 7}\n{"mark": 7}', 7.0),
        ('{"mark": 7}\n{"mark": 8}', None),
        ('{"mark": 11}', None),
        ('{"mark": 0}', None),
        ('{"mark": 6.5}', None),
        ("I would say 7", None),
        ("", None),
    ],
)
def test_a_mark_is_read_or_left_open(reply: str, mark: float | None) -> None:
    found = parse_one(reply, MARK)
    assert (None if isinstance(found, Unknown) else found) == mark


def test_reasons_are_kept_next_to_their_verdicts() -> None:
    found = parse_items('{"satisfied": {"1": {"reason": "it names both", "satisfied": true}}}', [1], BOOLEAN)
    assert found == ({1: True}, {1: "it names both"}, {})


@pytest.mark.parametrize(
    ("notes", "quote"),
    [
        ('"quote": "rest", "turn": 3', ("rest", 3)),
        ('"quote": "rest", "turn": "turn 3"', ("rest", None)),
        ('"quote": "", "turn": 2', ("", 2)),
        ('"quote": "rest"', ("rest", None)),
        ('"quote": "", "satisfied_by": null', None),
        ('"quote": ["rest"]', None),
    ],
)
def test_a_quotation_and_its_turn_are_no_verdicts(notes: str, quote: tuple[str, int | None] | None) -> None:
    found = parse_items(f'{{"satisfied": {{"1": {{{notes}, "satisfied": false}}}}}}', [1], BOOLEAN)
    assert (found.verdicts, found.quotes) == ({1: False}, {1: quote} if quote else {})


HOSTILE = [
    "[",
    "{",
    "<",
    "<|",
    "<think>",
    "{, '\"",
    "\n",
    "satisfied ",
    "{ index ",
    "1: ",
    "&amp;",
    "\\u0041",
    '{"1": ',
    "7/",
]


@pytest.mark.parametrize("unit", HOSTILE, ids=repr)
def test_reading_is_linear_in_the_length_of_reply_and_material(unit: str) -> None:
    def read(size: int) -> None:
        text = unit * (size // len(unit))
        parse_items(text, [1, 2, 3], BOOLEAN, text)
        parse_one(text, MARK, text)
        clean(text)

    assert is_linear(read, 16_000)
