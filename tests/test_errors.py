"""Errors: the line comes from the fields, and the fields survive a change of place, of type and of process."""

import pickle

import pytest

from prorubric.errors import ConfigError, InvalidValueError, MissingExtraError, ProRubricError, RowError, RubricError
from prorubric.rubric.records import Criterion, Task

FIELDS = ("kind", "detail", "remedy", "place")


def read_fields(error: ProRubricError) -> tuple[str, ...]:
    return tuple(getattr(error, name) for name in FIELDS)


def list_types(root: type[ProRubricError] = ProRubricError) -> list[type[ProRubricError]]:
    return [root, *(found for one in root.__subclasses__() for found in list_types(one))]


class TestLine:
    def test_it_has_place_kind_detail_and_remedy(self) -> None:
        error = RubricError("unknown key", "'x'", remedy="allowed: a, b", place="criterion 3")
        assert str(error) == "criterion 3: unknown key ('x'); allowed: a, b"
        assert error.message == "unknown key ('x'); allowed: a, b"

    def test_what_is_empty_leaves_no_trace(self) -> None:
        assert str(RubricError("unknown key")) == "unknown key"
        assert str(RubricError("unknown key", remedy="drop it")) == "unknown key; drop it"
        assert str(RubricError("unknown key", place="t.jsonl:3")) == "t.jsonl:3: unknown key"

    def test_a_whole_message_is_its_own_kind(self) -> None:
        error = ConfigError("--show is -1; give 0 or more")
        assert (str(error), error.kind, error.place) == ("--show is -1; give 0 or more",) * 2 + ("",)


class TestPlace:
    def test_places_are_added_from_the_outside(self) -> None:
        error = RubricError("unknown key", "'x'", remedy="drop it").at("criterion 3").turn_into(RowError, "t.jsonl:7")
        assert type(error) is RowError
        assert str(error) == "t.jsonl:7: criterion 3: unknown key ('x'); drop it"
        assert read_fields(error) == ("unknown key", "'x'", "drop it", "t.jsonl:7: criterion 3")


@pytest.mark.parametrize("kind", list_types(), ids=lambda kind: kind.__name__)
def test_every_error_survives_pickling_with_its_fields(kind: type[ProRubricError]) -> None:
    for error in (kind("wrong", "3", remedy="give 4", place="here"), kind("one line")):
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), read_fields(copy)) == (kind, str(error), read_fields(error))


def test_a_missing_extra_survives_pickling() -> None:
    error = MissingExtraError.of("reading", "hub")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


class TestRecords:
    def test_a_refused_value_has_fields(self) -> None:
        with pytest.raises(RubricError) as caught:
            Criterion(text="a", weight=0)
        kind, remedy = "weight must be finite and not 0", "give it a sign or drop the criterion"
        assert read_fields(caught.value) == (kind, "got 0", remedy, "Criterion: weight")

    def test_a_type_that_pydantic_refuses_has_fields(self) -> None:
        with pytest.raises(RubricError) as caught:
            Criterion(text=3, weight=1)
        assert read_fields(caught.value) == ("Input should be a valid string", "got 3", "", "Criterion: text")

    def test_several_faults_are_one_error_with_the_other_places_in_its_remedy(self) -> None:
        with pytest.raises(RubricError) as caught:
            Task(id="t")
        assert read_fields(caught.value) == ("Field required", "", "also wrong: rubric", "Task: messages")

    def test_a_validator_may_raise_its_error_outside_of_a_record_too(self) -> None:
        assert isinstance(InvalidValueError("text is blank"), ValueError)
