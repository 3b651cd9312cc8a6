"""Unknown verdicts say why there is none, and are counted by kind."""

import pytest

from prorubric import Unknown
from prorubric.errors import RubricError
from prorubric.rubric.verdict import UnknownCounts, parse_verdict, render_verdict


def test_an_unknown_verdict_is_written_with_its_kind_and_what_a_failed_call_said() -> None:
    failed = Unknown("no reply: HTTP 503: overloaded", kind="no reply", failure="http", status=503)
    row = {"unknown": failed.reason, "kind": "no reply", "failure": "http", "status": 503}
    assert render_verdict(failed) == row
    read = parse_verdict(row)  # type: ignore[arg-type]
    assert isinstance(read, Unknown)
    assert read.model_dump() == failed.model_dump()


def test_a_reason_alone_is_written_and_read_as_before() -> None:
    assert render_verdict(Unknown("the judge was asleep")) == {"unknown": "the judge was asleep"}
    assert parse_verdict({"unknown": "the judge was asleep"}) == Unknown("the judge was asleep")


@pytest.mark.parametrize("row", [{"unknown": "x", "value": 1}, {"kind": "no reply"}, {"unknown": 3}, {"unknown": ""}])
def test_what_is_not_an_unknown_verdict_is_refused(row: dict[str, object]) -> None:
    with pytest.raises(RubricError):
        parse_verdict(row)  # type: ignore[arg-type]


def test_two_unknown_verdicts_are_equal_if_their_reasons_are() -> None:
    assert Unknown("no verdict for it", kind="left out") == Unknown("no verdict for it")
    assert Unknown("no verdict for it") != Unknown("the reply is empty")
    assert len({Unknown("a", kind="b"), Unknown("a")}) == 1


def count(*verdicts: Unknown) -> dict[str, int]:
    counts = UnknownCounts()
    for verdict in verdicts:
        counts.add(verdict)
    return counts.summarize()


def test_a_kind_with_one_reason_is_shown_by_it_and_one_with_several_by_its_name() -> None:
    said = [Unknown(f"the verdict is {value}", kind="unreadable") for value in ("'maybe'", "0.7", "0.7")]
    assert count(said[1], said[2]) == {"the verdict is 0.7": 2}
    assert count(*said) == {"unreadable": 3}


def test_failed_calls_are_counted_by_status_or_by_their_kind() -> None:
    def fail(detail: str, failure: str, status: int | None = None) -> Unknown:
        return Unknown(f"no reply: {detail}", kind="no reply", failure=failure, status=status)

    counted = count(
        fail("HTTP 503: queue of 7", "http", 503),
        fail("HTTP 503: queue of 8", "http", 503),
        fail("HTTP 429: slow down", "http", 429),
        fail("no answer in 60 s", "timeout"),
        fail("no answer in 61 s", "timeout"),
        fail("no answer in 62 s", "timeout"),
    )
    assert counted == {"no reply: timeout": 3, "no reply: HTTP 503": 2, "no reply: HTTP 429: slow down": 1}
    assert list(counted.values()) == [3, 2, 1]


def test_there_are_never_more_than_some_fifty_kinds() -> None:
    counted = count(*(Unknown(f"reason {number}") for number in range(60)))
    assert (len(counted), counted["other reasons"]) == (51, 10)
