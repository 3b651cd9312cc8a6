"""Records refuse what they cannot hold, in one line that says what to do."""

import pickle
from typing import Any

import pytest
from hypothesis import given

import prorubric
from prorubric import Criterion, Dimension, Message, ProtocolRubric, Response, Rubric, Task, Unknown
from prorubric.errors import ConfigError, RubricError
from prorubric.rubric.verdict import Verdict, parse_verdict, render_verdict
from prorubric.verbs.demo import DemoConfig
from tests.strategies import tasks

RUBRIC = Rubric(criteria=tuple(Criterion(text=f"criterion {i}", weight=w) for i, w in enumerate([5, 3, -2])))
MESSAGES = (Message(role="user", content="?"),)


def make_parts(*groups: Any) -> list[dict[str, Any]]:
    return [{"name": "phase", "description": "Holds. Fails if not.", "indices": group} for group in groups]


class TestCriterion:
    @pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u200b\u200b", "\x00"])
    def test_blank_text_is_refused(self, text: str) -> None:
        with pytest.raises(RubricError, match=r"text is blank \(got .*\); write what the judge should check"):
            Criterion(text=text, weight=1.0)

    @pytest.mark.parametrize("weight", [0, 0.0, -0.0, float("nan"), float("inf"), float("-inf")])
    def test_a_weight_without_a_sign_is_refused_with_its_value(self, weight: float) -> None:
        with pytest.raises(RubricError, match=r"must be finite and not 0 \(got .*\); give it a sign") as caught:
            Criterion(text="a", weight=weight)
        assert repr(weight) in str(caught.value)

    @pytest.mark.parametrize("weight", ["2", True, None, [1]])
    def test_a_weight_that_is_not_a_number_is_refused(self, weight: Any) -> None:
        with pytest.raises(RubricError, match="weight is not a number"):
            Criterion(text="a", weight=weight)

    def test_a_whole_number_becomes_a_float(self) -> None:
        assert repr(Criterion(text="a", weight=3).weight) == "3.0"

    def test_an_unknown_field_is_refused(self) -> None:
        with pytest.raises(RubricError, match="Criterion: points: Extra inputs are not permitted"):
            Criterion(text="a", weight=1.0, points=3)  # type: ignore[call-arg]

    def test_a_record_cannot_be_changed(self) -> None:
        with pytest.raises(ValueError, match="frozen"):
            Criterion(text="a", weight=1.0).weight = 2.0  # type: ignore[misc]

    def test_a_message_is_one_line_however_long_the_value(self) -> None:
        with pytest.raises(RubricError) as caught:
            Criterion(text="a", weight="long\n" * 500)  # type: ignore[arg-type]
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 200


class TestRubric:
    def test_an_empty_rubric_is_refused(self) -> None:
        with pytest.raises(RubricError, match="at least 1 criterion"):
            Rubric(criteria=())

    def test_weights_that_add_up_past_a_float_are_refused(self) -> None:
        with pytest.raises(RubricError, match="past the largest float"):
            Rubric(criteria=(Criterion(text="a", weight=1e308), Criterion(text="b", weight=1e308)))

    def test_the_total_is_of_absolute_weights(self) -> None:
        assert RUBRIC.total_weight == 10

    def test_the_same_text_may_stand_twice_with_other_weights(self) -> None:
        twice = Rubric(criteria=(Criterion(text="a", weight=1), Criterion(text="a", weight=-2)))
        assert twice.weights == (1, -2)


class TestProtocolRubric:
    def test_weights_are_sums_of_absolute_weights_whatever_the_parts_say(self) -> None:
        parts = make_parts([3, 1], [2])
        parts[0]["weight"] = 99
        made = ProtocolRubric.of(RUBRIC, parts)
        assert [(d.indices, d.weight) for d in made.dimensions] == [((1, 3), 7), ((2,), 3)]

    @pytest.mark.parametrize(
        ("groups", "said"),
        [
            (([1, 2],), r"a criterion is in no dimension \(criterion 3, 1 missing\); use 1\.\.3, each exactly once"),
            (([1, 2], [2, 3]), "index 2 is in dimension 1 and in dimension 2"),
            (([1, 2, 3, 4],), r"an index is not in the rubric \(dimension 1 lists index 4\)"),
            (([0, 1, 2, 3],), "dimension 1 lists index 0"),
            (([1, 2, 3], []), r"dimension 2: indices are not a list of whole numbers \(\[\]\)"),
            (([1, 2, "3"],), "indices are not a list of whole numbers"),
            (([1, 2, True],), "indices are not a list of whole numbers"),
            ((None,), r"dimension 1: indices are not a list of whole numbers \(None\)"),
            ((), r"a criterion is in no dimension \(criterion 1, 3 missing\)"),
        ],
    )
    def test_anything_but_a_partition_is_refused(self, groups: Any, said: str) -> None:
        with pytest.raises(RubricError, match=said):
            ProtocolRubric.of(RUBRIC, make_parts(*groups))

    @pytest.mark.parametrize("field", ["name", "description"])
    def test_a_dimension_without_text_is_refused(self, field: str) -> None:
        parts = make_parts([1, 2, 3])
        parts[0][field] = " "
        with pytest.raises(RubricError, match=f"{field}: text is blank"):
            ProtocolRubric.of(RUBRIC, parts)

    def test_a_protocol_with_weights_of_its_own_does_not_fit_a_task(self) -> None:
        whole = Dimension(name="all", description="all", indices=(1, 2, 3), weight=3.0)
        with pytest.raises(RubricError, match="dimension 1 weighs 3, its criteria add up to 10"):
            Task(id="t", messages=MESSAGES, rubric=RUBRIC, protocol=ProtocolRubric(dimensions=(whole,)))

    def test_a_protocol_of_another_rubric_does_not_fit_a_task(self) -> None:
        short = Rubric(criteria=RUBRIC.criteria[:2])
        made = ProtocolRubric.of(RUBRIC, make_parts([1, 2], [3]))
        with pytest.raises(RubricError, match=r"an index is not in the rubric \(dimension 2 lists index 3\)"):
            Task(id="t", messages=MESSAGES, rubric=short, protocol=made)

    def test_dimensions_that_are_no_partition_of_anything_are_refused(self) -> None:
        first = Dimension(name="a", description="a", indices=(1,), weight=1.0)
        with pytest.raises(RubricError, match="index 1 is in dimension 1 and in dimension 2"):
            ProtocolRubric(dimensions=(first, first))


class TestTask:
    def test_every_field_that_is_missing_is_named(self) -> None:
        with pytest.raises(RubricError) as caught:
            Task()  # type: ignore[call-arg]
        assert str(caught.value) == "Task: id: Field required; also wrong: messages, rubric"

    def test_places_of_further_faults_are_named(self) -> None:
        with pytest.raises(RubricError) as caught:
            Task(id=7, messages=MESSAGES, rubric=RUBRIC, domain=3, domains="x")
        assert str(caught.value) == "Task: id: Input should be a valid string (got 7); also wrong: domain, domains"

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"id": " "}, "id is blank"),
            ({"messages": ()}, "the conversation is empty"),
            ({"messages": (Message(role="user", content=" "),)}, "the conversation is empty"),
            ({"meta": {"n": 2**63}}, "does not fit into 64 bits"),
            ({"meta": {"deep": [{"n": -(2**64)}]}}, "does not fit into 64 bits"),
            ({"meta": {"x": float("nan")}}, "finite number"),
            ({"meta": {"x": object()}}, "not a valid JSON value"),
        ],
    )
    def test_what_a_file_could_not_keep_is_refused(self, change: dict[str, Any], said: str) -> None:
        with pytest.raises(RubricError, match=said):
            Task(**{"id": "t", "messages": MESSAGES, "rubric": RUBRIC, **change})

    def test_an_empty_system_message_is_allowed_next_to_a_question(self) -> None:
        task = Task(id="t", messages=(Message(role="system", content=""), *MESSAGES), rubric=RUBRIC)
        assert len(task.messages) == 2

    def test_an_unknown_role_is_refused_with_the_roles_that_exist(self) -> None:
        with pytest.raises(RubricError, match=r"'user', 'assistant' or 'tool' \(got 'bot'\)"):
            Message(role="bot", content="hi")  # type: ignore[arg-type]

    @given(tasks(with_protocol=None))
    def test_a_task_survives_pickling(self, task: Task) -> None:
        assert pickle.loads(pickle.dumps(task)) == task


class TestResponse:
    def test_an_empty_answer_is_an_answer(self) -> None:
        assert Response(task_id="t", text="").text == ""

    @pytest.mark.parametrize("field", ["sample", "tokens"])
    def test_counts_are_not_negative(self, field: str) -> None:
        with pytest.raises(RubricError, match=f"{field}: Input should be greater than or equal to 0"):
            Response(**{"task_id": "t", "text": "", field: -1})


class TestVerdict:
    @pytest.mark.parametrize("verdict", [True, False, 0, 3, 1.5, 10, Unknown("the judge answered 'maybe'")])
    def test_a_verdict_survives_json(self, verdict: Verdict) -> None:
        back = parse_verdict(render_verdict(verdict))
        assert (back, type(back)) == (verdict, type(verdict))

    @pytest.mark.parametrize("value", [None, "true", [], {}, {"unknown": 3}, {"unknown": "x", "more": 1}])
    def test_anything_else_is_not_a_verdict(self, value: Any) -> None:
        with pytest.raises(RubricError, match="a verdict is"):
            parse_verdict(value)

    def test_an_unknown_verdict_needs_its_reason(self) -> None:
        with pytest.raises(RubricError, match="needs its reason"):
            Unknown(" ")

    def test_errors_survive_pickling_between_processes(self) -> None:
        with pytest.raises(RubricError) as caught:
            Unknown("")
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


class TestConfigs:
    @pytest.mark.parametrize(
        ("config", "needed"),
        [
            (prorubric.LintConfig, ["t.jsonl"]),
            (prorubric.ConvertConfig, ["t.jsonl", "o.jsonl"]),
            (prorubric.ScoreConfig, ["run"]),
            (DemoConfig, []),
            (prorubric.JudgeConfig, []),
            (prorubric.HttpConfig, []),
        ],
    )
    def test_a_misspelt_option_is_refused(self, config: type, needed: list[str]) -> None:
        with pytest.raises(ConfigError, match="typo"):
            config(*needed, typo=3)

    def test_an_option_that_is_not_allowed_is_one_line(self) -> None:
        with pytest.raises(ConfigError) as caught:
            prorubric.LintConfig("tasks.jsonl", show=-1)
        assert str(caught.value) == "LintConfig: show: Input should be greater than or equal to 0 (got -1)"

    def test_a_config_cannot_be_changed_and_survives_pickling(self) -> None:
        config = prorubric.LintConfig("tasks.jsonl", show=2)
        assert pickle.loads(pickle.dumps(config)) == config
        with pytest.raises(AttributeError):
            config.show = 3  # type: ignore[misc]
