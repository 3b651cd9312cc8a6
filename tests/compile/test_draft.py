"""A reply of the generator, read as a draft: what has one meaning is read, everything else is a fault with a name."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prorubric.compile.draft import Draft, DraftDimension, Fault, find_object, parse_draft
from prorubric.llm.model import Reply

ROWS: list[dict[str, Any]] = [
    {"name": "Act tonight", "description": "She goes in. Fails if she waits.", "weight": 8, "atomic_indices": [1, 3]},
    {"name": "Say why", "description": "Age decides. Fails if not.", "weight": 2.5, "atomic_indices": [2]},
]
TEXT = json.dumps({"criteria": ROWS})
DRAFT = Draft(
    (
        DraftDimension("Act tonight", "She goes in. Fails if she waits.", (1, 3), 8.0),
        DraftDimension("Say why", "Age decides. Fails if not.", (2,), 2.5),
    )
)


def parse(text: str, finish: str | None = "stop") -> Draft | Fault:
    return parse_draft(Reply(text, finish=finish))


def parse_row(**row: Any) -> DraftDimension:
    """The dimension that is read from one row."""
    found = parse(json.dumps({"criteria": [row]}))
    assert isinstance(found, Draft)
    return found.dimensions[0]


class TestForm:
    @pytest.mark.parametrize(
        "text",
        [
            TEXT,
            f"\n  {TEXT}  \n",
            f"Here is the rubric:\n\n{TEXT}\n\nLet me know if it helps.",
            f"Here is the rubric:\r\n{TEXT}\r\n",
            f"```json\n{TEXT}\n```",
            f"```\n{json.dumps({'criteria': ROWS}, indent=4)}\n```",
            f"Sure! ```json {TEXT} ``` Done.",
            json.dumps({"criteria": ROWS}, indent=2),
            json.dumps({"dimensions": ROWS}),
            json.dumps({"criteria": ROWS}, separators=(" , ", " : ")),
            json.dumps({"thoughts": "I see two groups {a} and [b].", "criteria": ROWS}),
            json.dumps({"criteria": [{**row, "indices": row["atomic_indices"]} for row in ROWS]}),
            TEXT.replace("]}", "],}"),
            repr({"criteria": ROWS}),
            f"The rubric is {TEXT}",
            f"The rubric is {TEXT} I hope that helps.",
            f"**{TEXT}**",
            f"> {TEXT}",
            f"json {TEXT}",
            f"\ufeff{TEXT}",
            f"{TEXT}</s>",
            f"<|im_start|>assistant\n{TEXT}<|im_end|>",
            f"Output: {json.dumps({'criteria': ROWS}, indent=2)}",
            f"I put {{a}} and [b] together: {TEXT}",
            f'{{"index": 1, "criterion": "Says why"}}\n{{"index": 2, "criterion": "Acts"}}\n{TEXT}',
            f"{TEXT}\nor, once more,\n{TEXT}",
            f"{TEXT}\n```json\n{json.dumps({'criteria': ROWS}, indent=2)}\n```",
        ],
    )
    def test_what_has_one_meaning_is_read(self, text: str) -> None:
        assert parse(text) == DRAFT

    @pytest.mark.parametrize(
        ("text", "fault"),
        [
            ("", Fault("empty reply", "The reply is empty.")),
            (" \n\t", Fault("empty reply", "The reply is empty.")),
            (
                "I would group these into safety and advice.",
                Fault("no object", "There is no complete JSON object in the reply."),
            ),
            (
                json.dumps(ROWS),
                Fault("no object", "There is no complete JSON object in the reply."),
            ),
            (
                f"{{{TEXT}}}",
                Fault("no object", "There is no complete JSON object in the reply."),
            ),
            (
                f"{TEXT}\n{json.dumps({'criteria': ROWS[::-1]})}",
                Fault("two objects", "The reply holds JSON objects that differ; give one."),
            ),
            (
                f"First idea: {TEXT}\nBetter:\n{json.dumps({'criteria': ROWS[::-1]})}",
                Fault("two objects", "The reply holds JSON objects that differ; give one."),
            ),
            (
                f"{TEXT}\nor rather: {json.dumps({'criteria': ROWS[::-1]})}",
                Fault("two objects", "The reply holds JSON objects that differ; give one."),
            ),
            ('{"rubric": []}', Fault("no list", 'The object has no list of objects under "criteria".')),
            ('{"criteria": {"1": "x"}}', Fault("no list", 'The object has no list of objects under "criteria".')),
            ('{"criteria": ["Act", "Say"]}', Fault("no list", 'The object has no list of objects under "criteria".')),
            ('{"criteria": null}', Fault("no list", 'The object has no list of objects under "criteria".')),
            (
                '{"criteria": [], "criteria": [{}]}',
                Fault("key twice", "The key 'criteria' has two values; give it one."),
            ),
            (
                '{"criteria": [{"name": "A", "name": "B"}]}',
                Fault("key twice", "The key 'name' has two values; give it one."),
            ),
            (
                '{"criteria": [{"name": "A", "name" : "B"}]}',
                Fault("key twice", "The key 'name' has two values; give it one."),
            ),
            (
                '{"criteria": [{"name": "A", "atomic_indices": ' + "[" * 900 + "]" * 900 + "}]}",
                Fault("too deep", "The JSON object has too many levels; keep to the form that was asked for."),
            ),
            (
                '{"criteria": [{"name": "A \\ud83d"}]}',
                Fault("broken text", "A text holds half of a character; write the character, not an escape."),
            ),
            (
                '{"criteria": [], "x": ' + "[" * 700 + "]" * 700 + "}",
                Fault("too deep", "The JSON object has too many levels; keep to the form that was asked for."),
            ),
        ],
    )
    def test_what_has_not_is_a_fault_in_words_for_the_generator(self, text: str, fault: Fault) -> None:
        assert parse(text) == fault

    def test_a_key_that_says_the_same_twice_says_it_once(self) -> None:
        assert parse('{"criteria": [{"name": "A", "name": "A", "x": NaN}]}') == Draft((DraftDimension("A", "", ()),))

    def test_an_empty_list_is_a_draft_without_dimensions(self) -> None:
        assert parse('{"criteria": []}') == Draft(())

    def test_find_object_gives_any_object(self) -> None:
        assert find_object(Reply('{"a": {"b": [1, null]}}')) == {"a": {"b": [1, None]}}


CUT_OFF = Fault("cut off", "The reply was cut off before the JSON object ended; write shorter descriptions.")


class TestCutOff:
    @pytest.mark.parametrize("indent", [None, 2])
    def test_no_beginning_of_a_reply_is_ever_read(self, indent: int | None) -> None:
        text = json.dumps({"criteria": ROWS}, indent=indent)
        for end in range(1, len(text)):
            assert parse(text[:end], "length") == CUT_OFF
            assert isinstance(parse(text[:end], None), Fault)
            assert isinstance(parse(f"```json\n{text[:end]}", "stop"), Fault)

    def test_an_object_that_is_whole_is_read_though_the_talk_after_it_is_cut_off(self) -> None:
        assert parse(f"{TEXT}\nI have grouped these becau", "length") == DRAFT

    def test_a_second_object_that_is_cut_off_leaves_the_first_in_doubt(self) -> None:
        assert parse(f"{TEXT}\nOr better:\n{TEXT[:80]}", "length") == CUT_OFF

    def test_a_reply_that_was_all_thinking_is_cut_off_and_not_empty(self) -> None:
        assert parse("", "length") == CUT_OFF

    @pytest.mark.parametrize("text", ["", TEXT[:-5], "I can"])
    def test_what_a_filter_has_ended_is_told_as_that(self, text: str) -> None:
        filtered = Fault("filtered", "The reply was filtered before the JSON object ended.")
        assert parse(text, "content_filter") == filtered

    def test_talk_that_never_came_to_an_object_is_cut_off(self) -> None:
        assert parse("First I look at each of the items in turn. Item 1 is about", "length") == CUT_OFF


class TestIndices:
    @pytest.mark.parametrize(
        ("value", "indices"),
        [
            ([1, 3], (1, 3)),
            ([3, 1], (3, 1)),
            ([0, 1], (0, 1)),
            ([-1, 99], (-1, 99)),
            ([1, 1], (1, 1)),
            ([1.0, 3.0], (1, 3)),
            (["1", " 3 ", "#4"], (1, 3, 4)),
            (["٣"], (3,)),
            ([], ()),
            (5, (5,)),
            ("7", (7,)),
        ],
    )
    def test_whole_numbers_are_read_however_they_are_written(self, value: Any, indices: tuple[int, ...]) -> None:
        found = parse_row(name="A", atomic_indices=value)
        assert (found.indices, found.unreadable) == (indices, ())

    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            (True, "True"),
            (False, "False"),
            (1.5, "1.5"),
            (None, "None"),
            ("one", "'one'"),
            ("1, 2", "'1, 2'"),
            ("1-3", "'1-3'"),
            ("3.0", "'3.0'"),
            ("", "''"),
            ([1], "[1]"),
            ({"index": 1}, "{'index': 1}"),
            (1e300, "1e+300"),
            (float("inf"), "inf"),
            (float("nan"), "nan"),
            (10**400, "1" + "0" * 38 + "…"),
            (10**6, "1000000"),
            ("1234567", "'1234567'"),
        ],
    )
    def test_everything_else_is_kept_as_unreadable(self, value: Any, shown: str) -> None:
        found = parse_row(name="A", atomic_indices=[2, value])
        assert (found.indices, found.unreadable) == ((2,), (shown,))

    def test_a_missing_list_is_empty_and_null_is_not_an_index(self) -> None:
        assert parse_row(name="A").indices == ()
        assert parse_row(name="A", atomic_indices=None).unreadable == ("None",)

    def test_numbers_as_text_are_noted(self) -> None:
        found = parse(json.dumps({"criteria": [{**ROWS[0], "atomic_indices": ["1", "3"]}, ROWS[1]]}))
        assert found == Draft(DRAFT.dimensions, ("indices were written as text",))


class TestFields:
    def test_texts_lose_the_space_around_them_and_nothing_else(self) -> None:
        text = " – “Über” 5 mg/kg, e.g. [a, ]\n```x``` 你好 🙂\u200d\\n {b} "
        assert parse_row(name=text, description=text) == DraftDimension(text.strip(), text.strip(), ())

    @pytest.mark.parametrize("value", [None, 5, True, ["a"], {"text": "a"}])
    def test_a_text_of_the_wrong_type_is_not_text(self, value: Any) -> None:
        assert parse_row(name=value, description=value) == DraftDimension("", "", ())

    @pytest.mark.parametrize(
        ("value", "weight"),
        [
            (3, 3.0),
            (2.5, 2.5),
            (-4, -4.0),
            (0, 0.0),
            ("3", 3.0),
            ("much", None),
            ("nan", None),
            (True, None),
            (None, None),
            ([3], None),
        ],
    )
    def test_the_weight_is_a_number_or_nothing(self, value: Any, weight: float | None) -> None:
        assert parse_row(name="A", weight=value).weight == weight

    @pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400])
    def test_a_weight_that_no_float_holds_is_nothing(self, number: str) -> None:
        found = parse(f'{{"criteria": [{{"name": "A", "weight": {number}}}]}}')
        assert found == Draft((DraftDimension("A", "", ()),))


texts = st.text(max_size=30).map(str.strip)
drafts = st.builds(
    Draft,
    st.lists(
        st.builds(
            DraftDimension,
            name=texts,
            description=texts,
            indices=st.lists(st.integers(-9, 99), max_size=6).map(tuple),
            weight=st.none() | st.floats(-1e6, 1e6),
        ),
        max_size=6,
    ).map(tuple),
)


def render(draft: Draft) -> dict[str, Any]:
    rows = [
        {"name": d.name, "description": d.description, "weight": d.weight, "atomic_indices": [*d.indices]}
        for d in draft.dimensions
    ]
    return {"criteria": rows}


@given(
    draft=drafts,
    indent=st.sampled_from([None, 2]),
    ascii_only=st.booleans(),
    around=st.sampled_from([("", ""), ("Sure:\n", "\nDone."), ("\n", "\r\n"), (" ", "\t")]),
)
def test_a_draft_that_is_rendered_comes_back_equal(
    draft: Draft, indent: int | None, ascii_only: bool, around: tuple[str, str]
) -> None:
    text = json.dumps(render(draft), indent=indent, ensure_ascii=ascii_only)
    # Fences, trailing commas and a model's end tokens are mended where there is talk around the object, and may stand
    # in a text as well.
    if "```" not in text and "<|" not in text and not any(sign in text.replace(" ", "") for sign in (",]", ",}")):
        assert parse(around[0] + text + around[1]) == draft
    assert parse(text) == draft


signs = st.sampled_from(
    [
        '{"criteria": [',
        '{"name": "A"',
        "}",
        "]",
        "{",
        "[",
        ",",
        '"',
        "'",
        ":",
        "1",
        "true",
        "NaN",
        "\\",
        "\n",
        "```",
        " ",
    ]
)


@given(text=st.text(max_size=200) | st.lists(signs, max_size=30).map("".join), finish=st.sampled_from([None, "length"]))
@example(text='{{"criteria": [{"name": "a"}]}}', finish=None)
@example(text='{"criteria": [{"weight": 1' + "0" * 400 + "}]}", finish=None)
@example(text='{"a": ' + "[" * 600 + "]" * 600 + "}", finish=None)
@example(text="{'criteria': ({'name': ()},), 'x': {1, 2}, 'y': ...}", finish=None)
@example(text="\ud800", finish="length")
def test_any_text_is_a_draft_or_a_fault(text: str, finish: str | None) -> None:
    found = parse(text, finish)
    assert isinstance(found, Draft | Fault)
    if isinstance(found, Fault):
        assert found.kind
        assert "\n" not in found.detail


@given(value=st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5), st.lists))
def test_any_value_in_any_field_is_read_without_an_error(value: Any) -> None:
    row = {"name": value, "description": value, "weight": value, "atomic_indices": value}
    found = parse(json.dumps({"criteria": [row]}))
    assert isinstance(found, Draft | Fault)
