"""JSON in what a model wrote: found where it stands on its own, never altered, never made up."""

import json
import time
import warnings
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prorubric.llm.json_text import Pairs, find_objects, find_roots
from tests.patience import is_linear
from tests.strategies import json_values
from tests.thorough import parametrize_sparingly

OBJECT = '{"a": {"b": [1, 2]}}'
PARSED = Pairs([("a", Pairs([("b", [1, 2])]))])


def find(text: str) -> list[Any]:
    return find_roots(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        OBJECT,
        f"  {OBJECT}\n",
        f"\t{OBJECT}  \n\n",
        f"Sure:\n{OBJECT}\nDone.",
        f"```json\n{OBJECT}\n```",
        f"```\n{OBJECT}```",
        f"Sure! ```json {OBJECT} ``` Done.",
        f"Sure:\r\n{OBJECT}\r\nDone.\r\n",
        '{\n  "a": {\n    "b": [\n      1,\n      2\n    ]\n  }\n}',
        '{"a": {"b": [1, 2,],},}',
        '{"a": {"b": [1, 2\n,\n]\n}\n}',
        "{'a': {'b': [1, 2]}}",
        f"[Note] this is a remark\n{OBJECT}",
        f"{{not this\n{OBJECT}",
    ],
)
def test_an_object_on_lines_of_its_own_is_found(text: str) -> None:
    assert find(text) == [PARSED]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no object here",
        f"It might say {OBJECT} in the middle.",
        f"{OBJECT} as I said",
        f"The reply is {OBJECT}",
        '{"a"',
        "{",
        "{'a': print(1)}",
        "{'a': b}",
        "__import__('os')",
        f"{{{OBJECT}}}",
        "{{'a': 1}}",
        "{'a': {[1]}}",
        "({[]: 1},)",
        "{'a': 1 + }",
        "{'a': '\x00'}",
    ],
)
def test_what_is_not_a_complete_separate_value_is_not_found(text: str) -> None:
    assert find(text) == []


def test_commas_in_strings_stay() -> None:
    assert find_objects('Here: {"a": ",}", "b": [1, ], "c": "\\",]"} Done.') == (
        [Pairs([("a", ",}"), ("b", [1]), ("c", '",]')])],
        False,
    )


def test_several_values_come_in_order() -> None:
    assert find(f"{OBJECT}\n[1]\nthen\n{OBJECT}") == [PARSED, [1], PARSED]


def test_a_key_that_comes_twice_is_there_twice() -> None:
    assert find('{"a": 1, "a": 2}') == [Pairs([("a", 1), ("a", 2)])]
    assert find("{'a': 1, 'a': 2}") == [Pairs([("a", 1), ("a", 2)])]


def test_a_literal_may_count_its_keys() -> None:
    assert find("{1: True, 2: None}") == [Pairs([("1", True), ("2", None)])]


@pytest.mark.parametrize(
    "text",
    [
        "a list [1, 2, ] of four",
        "so on, } or not",
        "```python\nprint(1)\n```",
        "``` alone",
        'said ",]" twice,\n]',
        ",}",
    ],
)
def test_the_texts_of_a_reply_that_is_nothing_but_json_are_left_as_they_are(text: str) -> None:
    assert find(json.dumps({"a": text})) == [Pairs([("a", text)])]
    assert find(json.dumps({"a": text}, indent=2)) == [Pairs([("a", text)])]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"a": 1, "b": 2, "c', Pairs([("a", 1), ("b", 2)])),
        ('{"a": {"x": true, "y": tr', Pairs([("a", Pairs([("x", True)]))])),
        ('{"a": {"b": [1, 2]}', Pairs([("a", Pairs([("b", [1])]))])),
        ('{"a": {"b": [1, 2', Pairs([("a", Pairs([("b", [1])]))])),
        ('{"a": "b, c', None),
    ],
)
def test_what_is_left_of_a_value_that_is_cut_off_is_read_where_parts_may_be(text: str, left: Any) -> None:
    assert find(text) == ([] if left is None else [left])
    assert find_objects(text) == ([], True)


def test_nesting_without_an_end_is_given_up() -> None:
    assert find("[" * 200_000) == []
    assert find("{'a': " * 5_000) == []
    assert find('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}") == []


ONE = Pairs([("a", Pairs([("b", 1)]))])


@pytest.mark.parametrize(
    ("text", "found", "is_open"),
    [
        ("", [], False),
        ("a { in a sentence, an {a} and a [b]", [], False),
        ('{"a": {"b": 1}}', [ONE], False),
        ('Here it is: {"a": {"b": 1}} Good luck.', [ONE], False),
        ('**{"a": {"b": 1}}**', [ONE], False),
        ('{"a": {"b": 1}}</s>', [ONE], False),
        ('\ufeff{"a": {"b": 1}}<|im_end|>', [ONE], False),
        ('[see {x}] then {"a": {"b": 1,},} and some (', [ONE], False),
        ('{"a": {"b": 1}} or {"c": 2}', [ONE, Pairs([("c", 2)])], False),
        ('[{"a": {"b": 1}}]', [], False),
        ('[1] {"a": {"b": 1}} []', [ONE], False),
        ("{'a': {'b': 1}}", [ONE], False),
        ('{"a": {"b": 1}}\n{"second": 1', [ONE], True),
        ('The first is {"a": {"b": 1}', [], True),
        ('[{"a": {"b": 1}}, {"c"', [], True),
        ('{{"a": {"b": 1}}}', [], False),
        ('I used {{conversation}} here.\n{"a": {"b": 1}}', [ONE], False),
        ('$\\mathbf{{x}}$ {"a": {"b": 1}}', [ONE], False),
        ('The set {"a", "b"} is one.\n{"a": {"b": 1}}', [ONE], False),
        ('Use the form {"criteria": [...]}:\n{"a": {"b": 1}}', [ONE], False),
        ('Groups: {[1,2], [3]}.\n```json\n{"a": {"b": 1}}\n```', [ONE], False),
        ('{"a": {"b": 1}}\n(Sets: {[1], [2]})', [ONE], False),
        ('{"a": "a brace } in a text', [], True),
        ('{"a": "a brace { in a text"}', [Pairs([("a", "a brace { in a text")])], False),
        ('```json\n{"a": [', [], True),
        ('```json {"a": [', [], True),
        ('{\n  "a": [\n    {"b": 1}', [], True),
        ("so: {", [], True),
    ],
)
def test_objects_are_found_wherever_they_stand_and_what_does_not_end_is_told(
    text: str, found: list[Pairs], is_open: bool
) -> None:
    assert find_objects(text) == (found, is_open)


@given(value=st.dictionaries(st.text(max_size=8), json_values, max_size=4), indent=st.sampled_from([None, 1, 4]))
def test_every_object_is_found_as_it_was_written_and_none_of_its_beginnings(
    value: dict[str, Any], indent: int | None
) -> None:
    text = json.dumps(value, indent=indent)
    assert [json.dumps(_plain(root)) for root in find(text)] == [json.dumps(value)]
    found, is_open = find_objects(f"Here: {text} Done.")
    assert ([json.dumps(_plain(root)) for root in found], is_open) == ([json.dumps(value)], False)
    for end in range(1, len(text)):
        assert find_objects(text[:end]) == ([], True)


@given(text=st.text(max_size=200))
@example("{{1: 2}}")
@example("{'a': {{}}}")
@example("{'\\d': 1}")
@example("{'a': 1_000_000_000_000 ** 1_000_000}")
@example("{" * 300)
@example("{'a': 9" + "9" * 5_000 + "}")
def test_any_text_can_be_looked_through(text: str) -> None:
    find(text)
    find_objects(text)


@given(
    parts=st.lists(st.sampled_from(['{"a":', "{", "}", "[", "]", ",", "'", '"', "\\", "\n", "1", "null", "```", " "]))
)
def test_any_heap_of_json_signs_can_be_looked_through(parts: list[str]) -> None:
    find("".join(parts))
    find_objects("".join(parts))


UNENDING = [
    "[", "{", "{{", '{"a":', "[1,", "[\n", '{"a":\n', "[1,\n", "{x:\n", "{'a':", "'\\", '"', "'", "\\", "```",
    '"\\"', ", ", " ", "]", "}", "[1 x\n", '{"x"}\n', '[1, "x\n', '{"1": true}\n', '{"1": [', "[1," + "1," * 500 + "\n",
    "{, '\"", "1 ",
]  # fmt: skip


@parametrize_sparingly(
    ("unit", "opening"), list(product(UNENDING, ["", "Sure:\n", '{"satisfied": {"1": '])), 2, ids=repr
)
def test_reading_is_linear_in_the_length_of_a_reply(unit: str, opening: str) -> None:
    def read(size: int) -> None:
        text = opening + unit * (size // len(unit))
        find_roots(text)
        find_objects(text)

    assert is_linear(read, 16_000)


def test_a_megabyte_of_brackets_is_given_up_in_time() -> None:
    for unit in ("[", '{"a":', "[\n", "{x:\n"):
        begun = time.process_time()
        assert find(unit * (1_000_000 // len(unit))) == []
        assert time.process_time() - begun < 5


INVALID_ESCAPES = [
    "{'\\d': 1}",
    "{'a': 1is None}",
    "{'a': 0or 1}",
    "{'\\400': 1}",
    "{'a': 'b' 'c'}",
    "{1if 1else 2: 3}",
]


@pytest.mark.parametrize("text", INVALID_ESCAPES)
def test_no_reply_makes_python_warn(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find(text) == []
        assert find_objects(text)[0] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{'a': \"it's\", 'b': 'say \"hi\"'}", Pairs([("a", "it's"), ("b", 'say "hi"')])),
        ("{'a': 'it\\'s', 'b': '\\\\'}", Pairs([("a", "it's"), ("b", "\\")])),
        ('{"1": True, "2": None}', Pairs([("1", True), ("2", None)])),
        ("{'1': true}", Pairs([("1", True)])),
        (r"""{'a': '\", "1": true, "x": "'}""", Pairs([("a", '", "1": true, "x": "')])),
    ],
)
def test_a_python_literal_says_what_it_says_in_python(text: str, found: Pairs) -> None:
    assert find(text) == [found]


@pytest.mark.parametrize(
    "text",
    [
        f"{OBJECT}\n{{broken: 1\n",
        f'{{"broken": }}\n{OBJECT}',
        f"{{'broken': 1}}\n{OBJECT}",
        '{"a": {"b": [1]}, "c": [2, 3',
        '{"a": [1, 2], "b": 3, "c": fal',
        '{"a": 1, "b": maybe} and more',
    ],
)
def test_where_it_is_unclear_which_value_counts_there_is_none(text: str) -> None:
    assert find(text) == []


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        (OBJECT, ""),
        (f"```json\n{OBJECT}\n```", ""),
        ("{'a': 1}", ""),
        ('{"a": 1, "b": tr', ""),
        (f"Sure:\n{OBJECT}", "Sure:"),
        (f"{OBJECT}\nDone.", "Done."),
        (f"So\n{OBJECT}\nor\n {OBJECT}\nor {OBJECT}.", f"So\n\nor\n \nor {OBJECT}."),
    ],
)
def test_what_is_around_the_values_is_given_with_them(text: str, prose: str) -> None:
    assert find_roots(text)[1].strip() == prose


def _plain(value: Any) -> Any:
    if isinstance(value, Pairs):
        return {key: _plain(inner) for key, inner in value}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
