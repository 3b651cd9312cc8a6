"""Criteria, tags and conversations in every shape that real files give them."""

import json
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric import Criterion, Message
from prorubric.datasets.shapes import (
    TIER_WEIGHTS,
    RawCriterion,
    make_meta,
    make_rubric,
    parse_messages,
    parse_tags,
    read_items,
    read_object,
    unwrap_json,
)
from prorubric.errors import RubricError
from tests.strategies import json_values, texts, weights


def one(value: Any) -> RawCriterion:
    """The only item of a rubric with one entry."""
    (item,) = read_items([value])
    return item


class TestUnwrapJson:
    @given(json_values.filter(lambda value: isinstance(value, dict | list)), st.integers(0, 3))
    def test_an_object_or_list_comes_out_of_up_to_three_layers_of_json(self, value: Any, layers: int) -> None:
        wrapped = value
        for _ in range(layers):
            wrapped = json.dumps(wrapped)
        assert unwrap_json(wrapped) == value

    @given(st.text().filter(lambda text: not text.strip().startswith(("[", "{", '"'))))
    def test_plain_text_stays_text(self, text: str) -> None:
        assert unwrap_json(text) == text

    @pytest.mark.parametrize("text", ["[Hard Rule] Says no", "{name}, says no", '"No" is what it says', "[" * 100_000])
    def test_text_that_only_starts_like_json_stays_text(self, text: str) -> None:
        assert unwrap_json(text) == text

    @pytest.mark.parametrize("value", [None, True, 3, 1.5, b"[]"])
    def test_what_is_not_text_stays_as_it_is(self, value: object) -> None:
        assert unwrap_json(value) is value


@pytest.mark.parametrize(
    ("value", "expected"), [('{"a": 1}', {"a": 1}), ({"a": 1}, {"a": 1}), ("[1]", {}), ("x", {}), (None, {}), (5, {})]
)
def test_an_object_is_read_and_anything_else_is_an_empty_one(value: object, expected: dict[str, int]) -> None:
    assert read_object(value) == expected


class TestTags:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (None, ()),
            ("", ()),
            ("{}", ()),
            ([], ()),
            ({}, ()),
            ("medical", ("medical",)),
            (["level:example", "axis:accuracy"], ("level:example", "axis:accuracy")),
            ('["a", "b"]', ("a", "b")),
            (["a", None, "", {}], ("a",)),
            ({"level": "example", "axis": "accuracy", "cluster": None}, ("level:example", "axis:accuracy")),
            ({"verifier": "llm", "function": "", "parameters": ""}, ("verifier:llm",)),
            ({"verifier": "rule", "function": "count", "parameters": "{}"}, ("verifier:rule", "function:count")),
            ({"verifier": "rule", "parameters": {"most": 3}}, ("verifier:rule", 'parameters:{"most":3}')),
            ({"verifier": "rule", "parameters": '{"most": 3}'}, ("verifier:rule", 'parameters:{"most": 3}')),
            ('{"verifier": "rule", "parameters": {}}', ("verifier:rule",)),
            ({"strict": False, "rank": 0}, ("strict:false", "rank:0")),
            (5, ("5",)),
        ],
    )
    def test_every_shape_becomes_plain_labels(self, value: object, expected: tuple[str, ...]) -> None:
        assert parse_tags(value) == expected

    @pytest.mark.parametrize("value", [b"\xff", [b"x"], {"a": b"x"}, [[10**30, float("nan")]]])
    def test_a_tag_that_json_cannot_say_is_refused(self, value: object) -> None:
        with pytest.raises(RubricError, match=r"a tag has no JSON form \(.*\); give text"):
            parse_tags(value)

    @given(json_values)
    def test_tags_are_always_text(self, value: Any) -> None:
        assert {type(tag) for tag in parse_tags(value)} <= {str}


class TestItems:
    @pytest.mark.parametrize(
        "key", ["criterion", "description", "text", "rubric_item", "item", "requirement", "rubric", "title"]
    )
    def test_the_text_is_found_under_every_name(self, key: str) -> None:
        assert one({key: "Says no", "weight": 2}) == RawCriterion("Says no", 2.0, None, ())

    @pytest.mark.parametrize("key", ["weight", "points", "max_points"])
    @pytest.mark.parametrize("number", [3, 3.0, "3", "3.0", " +3 "])
    def test_the_weight_is_found_under_every_name_as_any_number(self, key: str, number: object) -> None:
        assert one({"criterion": "Says no", key: number}).weight == 3.0

    def test_a_score_is_never_taken_for_a_weight(self) -> None:
        assert one({"criterion": "Says no", "score": 3}).weight is None

    @pytest.mark.parametrize("number", [-2, -2.0, "-2"])
    def test_a_negative_weight_stays_negative(self, number: object) -> None:
        assert one({"criterion": "Sells something", "points": number}).weight == -2.0

    @pytest.mark.parametrize("missing", [None, ""])
    def test_an_empty_weight_is_not_a_weight_and_the_next_name_is_tried(self, missing: object) -> None:
        assert one({"criterion": "Says no", "weight": missing}).weight is None
        assert one({"criterion": "Says no", "weight": missing, "points": 4}).weight == 4.0

    @pytest.mark.parametrize("value", [10**400, -(10**400)])
    def test_a_weight_that_is_too_large_is_refused(self, value: int) -> None:
        with pytest.raises(RubricError, match=r"criterion 1: the weight is too large \(.*\); give a number other"):
            list(read_items([{"criterion": "a", "weight": value}]))

    @pytest.mark.parametrize("value", ["heavy", True, [3], {"value": 3}, "3 points"])
    def test_a_weight_that_is_not_a_number_is_refused_and_shown(self, value: object) -> None:
        with pytest.raises(
            RubricError, match=r"criterion 1: the weight is not a number \(.*\); give a number other than 0"
        ):
            one({"criterion": "Says no", "weight": value})

    @pytest.mark.parametrize("value", [0, 0.0, "0", "nan", float("nan"), float("inf"), "-inf", "1e999"])
    def test_a_weight_without_size_or_sign_is_refused_and_shown(self, value: object) -> None:
        with pytest.raises(RubricError, match=rf"criterion 2: .*finite and not 0.*\(got {float(value)!r}\)"):  # type: ignore[arg-type]
            make_rubric([{"criterion": "a", "weight": 1}, {"criterion": "Says no", "weight": value}])

    def test_white_space_around_a_text_is_dropped_and_inside_kept(self) -> None:
        assert one({"criterion": " \n Says:\n  no\t", "weight": 1}).text == "Says:\n  no"

    def test_the_same_text_with_other_points_is_two_criteria(self) -> None:
        rubric = make_rubric([{"criterion": "Says no", "points": 5}, {"criterion": "Says no", "points": -3}])
        assert [(c.text, c.weight) for c in rubric.criteria] == [("Says no", 5.0), ("Says no", -3.0)]

    def test_a_title_next_to_a_description_is_a_tag(self) -> None:
        assert one({"title": "Safety", "description": "Says no", "weight": 1}).tags == ("title:Safety",)

    def test_a_blank_name_does_not_hide_the_text(self) -> None:
        assert one({"criterion": "  ", "description": "Says no", "weight": 1}).text == "Says no"

    def test_verifier_settings_next_to_the_text_are_tags(self) -> None:
        entry = {"criterion": "Short", "weight": 1, "verifier": "rule", "function": "count", "parameters": "{}"}
        assert one(entry).tags == ("verifier:rule", "function:count")

    @pytest.mark.parametrize("layers", [1, 2, 3])
    def test_a_rubric_may_be_json_text_several_times_over(self, layers: int) -> None:
        value: Any = [{"criterion": "Says no", "points": 5}]
        for _ in range(layers):
            value = json.dumps(value)
        assert list(read_items(value)) == [RawCriterion("Says no", 5.0, None, ())]

    def test_a_criterion_may_be_json_text_inside_the_list(self) -> None:
        assert one('{"criterion": "Says no", "points": 5}') == RawCriterion("Says no", 5.0, None, ())

    @pytest.mark.parametrize("key", ["criteria", "items", "rubrics", "rubric"])
    def test_a_rubric_may_be_an_object_that_holds_the_list(self, key: str) -> None:
        assert list(read_items({key: [{"criterion": "Says no", "points": 5}]})) == [
            RawCriterion("Says no", 5.0, None, ())
        ]

    @pytest.mark.parametrize("value", [None, [], {}, "", "Says no", 5, "[]", "{}"])
    def test_what_is_not_a_list_of_criteria_is_refused(self, value: object) -> None:
        with pytest.raises(RubricError, match=r"the rubric is not a list of criteria \(.*\); give at least one"):
            list(read_items(value))

    @pytest.mark.parametrize("value", [None, 5, True, [1], [[]]])
    def test_an_entry_that_is_neither_text_nor_object_is_refused_with_its_position(self, value: object) -> None:
        with pytest.raises(RubricError, match=r"criterion 2: the criterion is neither text nor an object \("):
            list(read_items(["Says no", value]))

    @pytest.mark.parametrize(
        ("value", "keys"),
        [
            ({}, "it is empty"),
            ({"weight": 3, "Mentions": "dose"}, "its keys: weight, Mentions"),
            ({"criterion": " "}, "its keys: criterion"),
            ({"criterion": 5}, "its keys: criterion"),
        ],
    )
    def test_an_entry_without_text_is_refused_with_its_keys_and_the_names_of_a_text(
        self, value: object, keys: str
    ) -> None:
        with pytest.raises(RubricError) as caught:
            one(value)
        hint = "; in yaml, quote a text that contains a colon" if keys == "its keys: criterion" else ""
        assert (
            str(caught.value)
            == f"criterion 1: the text is missing ({keys}); call it criterion, text or description{hint}"
        )

    def test_a_criterion_without_weight_or_tier_is_refused(self) -> None:
        with pytest.raises(RubricError, match=r"criterion 2: the weight is missing .*'Says no'.*; give one of weight"):
            make_rubric(["[Principle] a", "Says no"])

    @given(st.lists(st.tuples(texts, weights), min_size=1, max_size=6), st.booleans())
    def test_plain_criteria_keep_their_order_and_weights(self, drawn: list[tuple[str, float]], as_text: bool) -> None:
        entries: Any = [{"criterion": f"says {text}", "weight": weight} for text, weight in drawn]
        items = list(read_items(json.dumps(entries) if as_text else entries))
        assert [item.weight for item in items] == [weight for _, weight in drawn]


class TestTiers:
    @pytest.mark.parametrize(("tier", "weight"), TIER_WEIGHTS.items())
    def test_a_tier_in_brackets_stands_in_for_a_weight(self, tier: str, weight: float) -> None:
        expected = Criterion(text="Says no", weight=weight, tags=(f"tier:{tier}",))
        assert make_rubric([f"[{tier.title()}] Says no"]).criteria == (expected,)

    @pytest.mark.parametrize(
        "text", ["[Hard Rule] Says no", "Says no [Hard Rule]", "1. [hard rule]: Says no", "- [HARD RULE] Says no"]
    )
    def test_a_tier_stands_at_either_end_of_the_text(self, text: str) -> None:
        assert one(text) == RawCriterion("Says no", None, "hard rule", ("tier:hard rule",))

    def test_brackets_in_the_middle_of_a_sentence_belong_to_it(self) -> None:
        assert one("Marks it with [Important] in red") == RawCriterion(
            "Marks it with [Important] in red", None, None, ()
        )

    @pytest.mark.parametrize("key", ["tier", "category", "importance", "importance_level", "level"])
    def test_a_tier_is_found_under_every_name(self, key: str) -> None:
        assert make_rubric([{"criterion": "Says no", key: " Important "}]).weights == (0.7,)

    def test_a_category_that_is_not_a_tier_does_not_hide_one(self) -> None:
        entry = {"criterion": "Says no", "category": "accuracy", "importance": "Optional"}
        assert make_rubric([entry]).weights == (0.3,)

    def test_a_tier_may_stand_where_a_weight_is_expected(self) -> None:
        assert make_rubric([{"criterion": "Says no", "weight": "Essential"}]).weights == (1.0,)

    def test_a_number_wins_over_a_tier(self) -> None:
        assert make_rubric([{"criterion": "[Optional] Says no", "weight": 4}]).weights == (4.0,)

    @pytest.mark.parametrize("prefix", ["Points: -9, Item: ", "points:-9; criterion: ", "Point : -9.0 , item:"])
    def test_points_may_be_written_before_the_text(self, prefix: str) -> None:
        assert one(f"{prefix}Sells something") == RawCriterion("Sells something", -9.0, None, ())

    def test_a_number_wins_over_points_in_the_text(self) -> None:
        assert one({"criterion": "Points: 3, Item: Says no", "points": 5}) == RawCriterion("Says no", 5.0, None, ())

    def test_a_text_that_is_nothing_but_its_tier_is_refused(self) -> None:
        with pytest.raises(RubricError, match=r"criterion 1: .*text is blank"):
            make_rubric(["[Hard Rule]"])


class TestDimensions:
    def test_the_weight_of_a_dimension_multiplies_that_of_its_criteria(self) -> None:
        entry = {
            "name": "Safety",
            "weight": 2,
            "criteria": [{"criterion": "a", "weight": 3}, {"text": "b", "points": -1}],
        }
        items = list(read_items([entry]))
        assert [(item.text, item.weight) for item in items] == [("a", 6.0), ("b", -2.0)]
        assert {item.tags for item in items} == {("dimension:Safety",)}

    def test_one_of_the_two_weights_may_be_missing(self) -> None:
        entries = [
            {"dimension": "A", "weight": 2, "items": ["a"]},
            {"name": "B", "items": [{"text": "b", "weight": 3}]},
        ]
        assert [item.weight for item in read_items(entries)] == [2.0, 3.0]

    def test_a_tier_inside_a_dimension_is_multiplied_like_a_weight(self) -> None:
        entry = {"name": "A", "weight": 2, "criteria": ["[Essential] a", {"text": "b", "tier": "Pitfall"}]}
        assert make_rubric([entry]).weights == (2.0, -1.8)

    def test_two_minus_signs_have_no_one_meaning_and_are_refused(self) -> None:
        entry = {"name": "Pitfalls", "weight": -1, "criteria": [{"criterion": "a", "weight": -9}]}
        with pytest.raises(RubricError, match=r"criterion 1: dimension and criterion are both negative \(-1 × -9\)"):
            make_rubric([entry])

    def test_each_key_of_an_object_may_name_a_dimension(self) -> None:
        value = {"Safety": {"weight": 2, "criteria": [{"criterion": "a", "weight": 3}]}, "Style": {"items": ["b"]}}
        assert list(read_items(value)) == [
            RawCriterion("a", 6.0, None, ("dimension:Safety",)),
            RawCriterion("b", None, None, ("dimension:Style",)),
        ]

    @pytest.mark.parametrize("empty", [[], None, "[]"])
    def test_a_criterion_with_an_empty_list_next_to_it_is_not_lost(self, empty: object) -> None:
        assert one({"criterion": "Says no", "weight": 3, "items": empty}) == RawCriterion("Says no", 3.0, None, ())

    def test_a_dimension_without_criteria_is_refused(self) -> None:
        with pytest.raises(RubricError, match="criterion 2: the text is missing"):
            list(read_items(["a", {"name": "Safety", "weight": 2, "criteria": []}]))


class TestMessages:
    def test_text_is_one_message_of_the_user(self) -> None:
        assert parse_messages("Is it safe?") == (Message(role="user", content="Is it safe?"),)

    @pytest.mark.parametrize("layers", [0, 1, 2])
    def test_a_conversation_may_be_json_text(self, layers: int) -> None:
        value: Any = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        for _ in range(layers):
            value = json.dumps(value)
        assert [(m.role, m.content) for m in parse_messages(value)] == [("user", "a"), ("assistant", "b")]

    @pytest.mark.parametrize("text", ["[3, 1, 2]", '{"a": 1}', '"No"', "[]", '[{"name": "x"}]'])
    def test_a_prompt_that_is_itself_json_stays_text(self, text: str) -> None:
        assert parse_messages(text) == (Message(role="user", content=text),)

    def test_parts_of_a_message_are_joined(self) -> None:
        value = [{"role": "user", "content": [{"type": "text", "text": "a"}, "b"]}]
        assert parse_messages(value) == (Message(role="user", content="a\nb"),)

    def test_a_picture_in_a_message_is_refused(self) -> None:
        with pytest.raises(RubricError, match="parts that are not text; only text can be judged"):
            parse_messages([{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}])

    @pytest.mark.parametrize("content", [None, 5, {"text": "a"}])
    def test_a_content_that_is_not_text_is_refused_and_shown(self, content: object) -> None:
        with pytest.raises(RubricError, match=r"the content of a message is not text \("):
            parse_messages([{"role": "user", "content": content}])

    def test_an_unknown_role_is_refused_with_the_known_ones(self) -> None:
        with pytest.raises(RubricError, match=r"role: Input should be 'system', .*\(got 'human'\)"):
            parse_messages([{"role": "human", "content": "a"}])

    @pytest.mark.parametrize("value", [None, 5, {"role": "user", "content": "a"}, ["a"], [None]])
    def test_what_is_not_a_conversation_is_refused_and_shown(self, value: object) -> None:
        with pytest.raises(RubricError, match=r"the prompt is not a conversation \(.*\); give text or a list"):
            parse_messages(value)

    @given(texts)
    def test_every_text_is_kept_as_it_is(self, text: str) -> None:
        assert parse_messages(f"Q: {text}")[0].content == f"Q: {text}"


def test_dates_in_meta_become_text_and_what_is_missing_is_left_out() -> None:
    fields = {
        "day": date(2021, 3, 4),
        "inner": [{"at": datetime(2021, 3, 4, 5, 6, tzinfo=UTC)}],
        "none": None,
        "n": 0,
    }
    assert make_meta(fields) == {"day": "2021-03-04", "inner": [{"at": "2021-03-04T05:06:00+00:00"}], "n": 0}
