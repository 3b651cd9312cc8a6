"""What the answers of endpoints say, however they say it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric import Message
from prorubric.llm.answers import ServerError, Unread, parse_error, parse_reply, parse_retry_after, repeats_prompt
from prorubric.llm.model import Reply, Request


@given(st.binary() | st.recursive(st.none() | st.text(), st.lists).map(lambda value: repr(value).encode()))
def test_no_body_makes_the_reading_fail(body: bytes) -> None:
    assert isinstance(parse_reply(body), Unread)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b" \n", "the answer is empty"),
        (b"\xef\xbb\xbf<!DOCTYPE html><p>Sign in", "the answer is not JSON: <!DOCTYPE html><p>Sign in"),
        (b"upstream timed out", "the answer is not JSON: upstream timed out"),
        (b"x" * 201, "the answer is not JSON"),
        (b"one line\nand another", "the answer is not JSON"),
        (b"<think>Hm.</think>Yes.", "the answer is not JSON"),
        (b"\x1f\x8b\x08 bytes", "the answer is not JSON"),
        (b"\xff\xfe bytes", "the answer is not JSON"),
        (b'{"choices": [{"message": {"content": "The pat', "the answer is not JSON"),
        (b'{"error": null, "choices": []}', "the answer has no choices"),
        (b'{"error": " "}', "the answer has no choices"),
        (b'{"error": ' * 1000 + b'"a"' + b"}" * 1000, "the answer has no choices: a"),
        (b'{"error": ["a", "b"]}', "the answer has no choices: a"),
        (b'{"error": "a", "choices": [{"index": 0}]}', "the first choice of the answer has no message"),
    ],
)
def test_what_came_instead_of_a_reply_is_shown_where_it_cannot_be_one(body: bytes, reason: str) -> None:
    found = parse_reply(body)
    assert isinstance(found, Unread)
    assert (f"{found.reason}: {found.said}" if found.said.strip() else found.reason) == reason.replace("\n", " ")


def test_a_reply_next_to_an_error_is_a_reply() -> None:
    assert parse_reply(b'{"error": "a", "choices": [{"message": {"content": "Yes."}}]}') == Reply("Yes.")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("3", 3.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
        ("1e400", None),
        ("Fri, 31 Dec 2027 99999999999999999999:59:59 GMT", None),
        ("Fri, 31 Dec 99999 23:59:59 GMT", None),
        ("Fri, 31 Dec 2027 23:59:59 +99999999999999999999", None),
        ("9" * 5000, None),
        ("\x00", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value) == seconds


OPENAI = b"""{"error": {"message": "Unsupported parameter: 'max_tokens'", "type": "invalid_request_error",
    "param": "max_tokens", "code": "unsupported_parameter"}}"""


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (OPENAI, ServerError("Unsupported parameter: 'max_tokens'", "unsupported_parameter", "max_tokens")),
        (
            b'{"object": "error", "message": "too long", "type": "BadRequestError", "param": null, "code": 400}',
            ServerError("too long", "BadRequestError"),
        ),
        (
            b'{"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs"}]}',
            ServerError("Extra inputs", "extra_forbidden", "seed"),
        ),
        (b'{"error": "no GPU"}', ServerError("no GPU")),
        (b'{"error": {"code": 7, "param": 3}}', ServerError()),
        (b'{"detail": "Not Found"}', ServerError("Not Found")),
        (b"no healthy upstream", ServerError("no healthy upstream")),
        (b"", ServerError()),
        (b"[]", ServerError("[]")),
    ],
)
def test_an_error_is_read_with_its_code_and_its_parameter(body: bytes, error: ServerError) -> None:
    assert parse_error(body) == error


@given(st.binary() | st.recursive(st.none() | st.text(), st.lists).map(lambda value: repr(value).encode()))
def test_no_body_makes_the_reading_of_an_error_fail(body: bytes) -> None:
    assert isinstance(parse_error(body), ServerError)


PROMPT = Request(
    (
        Message(role="system", content="Be strict. The model must not exceed the limit."),
        Message(role="user", content='The patient is called Ada Lovelace-Müller, 患者叫小明; she takes "ibuprofen".'),
    )
)


@pytest.mark.parametrize(
    "said",
    [
        "cannot read 'The patient is called Ada'",
        "invalid token near Ada",
        "invalid token near ADA",
        "the value is ibuprof…",
        "near &quot;ibuprofen&quot;",
        "near %22ibuprofen%22",
        r"near \u0022ibuprofen\u0022",
        r"near L\u00f6velace\nibuprofen",
        "near adalovelace",
        "near Müller",
        "无法读取小明",
        "the model must not exceed",
    ],
)
def test_what_repeats_a_part_of_the_prompt_is_noticed(said: str) -> None:
    assert repeats_prompt(said, PROMPT)


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 9012 tokens.",
        "Unsupported value: 'temperature' does not support 0.0 with this model.",
        "The model `gpt-9` does not exist or you do not have access to it.",
        "<html><head><title>502 Bad Gateway</title></head>",
        "no healthy upstream",
        "",
    ],
)
def test_what_is_only_about_the_request_may_be_shown(said: str) -> None:
    assert not repeats_prompt(said, PROMPT)


@pytest.mark.parametrize(
    ("error", "is_capped"),
    [
        (ServerError("max_tokens is too large: 1024. This model supports at most 512", "", "max_tokens"), True),
        (ServerError("no", "integer_above_max_value", "max_completion_tokens"), True),
        (ServerError("Input should be less than or equal to 512", "less_than_equal", "max_tokens"), True),
        (ServerError("Invalid max_tokens value, the valid range of max_tokens is [1, 512]"), True),
        (ServerError("max_tokens: 1024 > 512, which is the maximum allowed number of output tokens"), True),
        (
            ServerError("'max_tokens' is too large: 9. The maximum context length is 8 and you have 3 input tokens"),
            False,
        ),
        (ServerError("too large", "context_length_exceeded", "max_tokens"), False),
        (ServerError("Unsupported parameter: 'max_tokens'", "unsupported_parameter", "max_tokens"), False),
        (ServerError("must be at least 16", "integer_below_min_value", "max_tokens"), False),
        (ServerError("temperature is too large", "", "temperature"), False),
        (ServerError("the answer is too large"), False),
    ],
)
def test_a_limit_on_replies_is_told_from_one_on_the_prompt(error: ServerError, is_capped: bool) -> None:
    assert error.limits_reply == is_capped
