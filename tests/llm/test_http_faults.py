"""Everything a server can do wrong ends as the right reply, as a failure with its reason, or as `ModelError`."""

import socket
import time

import pytest

from prorubric import Message
from prorubric.errors import ModelError
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.model import Failure, Reply, Request
from tests.llm.asking import PATIENT, QUICK, ask, make_request, make_requests, run
from tests.llm.server import MisbehavingServer

REPLIES = {
    "ok": "re: Is it met?",
    "null content": "",
    "parts content": "one, two",
    "refusal": "I cannot help with that.",
    "thinking only": "",
    "thinking first": "Yes.",
    "stray thinking": "Yes.",
    "reasoning content": "Yes.",
    "lone surrogate": "half \ud83d of a pair, \x00",
}
UNMETERED = ("wrong type", "odd usage", "no usage")
REFUSED = ("400", "413", "418", "422")
RETRIED_STATUSES = ("408", "409", "425", "429", "500", "502", "503", "529")
RETRIED = {
    **{status: Failure("http", f"HTTP {status}: as told", 3) for status in RETRIED_STATUSES},
    "hang": Failure("timeout", "no reply within 0.5 s", 3),
    "drip": Failure("timeout", "no reply within 0.5 s", 3),
    "reset in the body": Failure("reply", "the answer broke off", 3),
    "close in the body": Failure("reply", "the answer broke off", 3),
    "close before headers": Failure("connection", "Server disconnected", 3),
    "garbage": Failure("reply", "the answer is not HTTP", 3),
    "empty body": Failure("reply", "the answer is empty", 3),
    "html": Failure("reply", "the answer is not JSON but: <html><body>Bad gateway", 3),
    "a notice": Failure("reply", "the answer is not JSON but: no healthy upstream", 3),
    "plain text": Failure("reply", "the answer is not JSON", 3),
    "a stream": Failure("reply", "the answer is not JSON", 3),
    "a good error": Failure("reply", "the server says: the model is loading", 3),
    "a good error in text": Failure("reply", "the server says: no GPU is free", 3),
    "a good error without words": Failure("reply", "the answer has no choices", 3),
    "invalid utf-8": Failure("reply", "the answer is not JSON", 3),
    "truncated json": Failure("reply", "the answer is not JSON", 3),
    "deep json": Failure("reply", "the answer is not JSON", 3),
    "a list": Failure("reply", "the answer has no choices", 3),
    "no choices": Failure("reply", "the answer has no choices", 3),
    "missing choices": Failure("reply", "the answer has no choices", 3),
    "no message": Failure("reply", "the answer has no choices", 3),
    "number content": Failure("reply", "the answer's content is not text", 3),
}
PATIENCE = {"hang": {"timeout_seconds": 0.5}, "drip": {"timeout_seconds": 0.5}}
HOPELESS = {
    "401": "HTTP 401: as told; check the key in PRORUBRIC_API_KEY (not set)",
    "402": "HTTP 402: as told; the account has no credit left",
    "403": "HTTP 403: as told; check what the key in PRORUBRIC_API_KEY (not set) may use",
    "404": "HTTP 404: as told; check the address and the model name",
    "moved": "HTTP 308: moved to https://elsewhere.example/v1; write that address",
}


@pytest.mark.parametrize("behaviour", REPLIES)
def test_an_answer_in_any_form_becomes_its_text(server: MisbehavingServer, behaviour: str) -> None:
    server.always = behaviour
    assert ask(server) == [Reply(REPLIES[behaviour], 7, 3, "stop")]
    assert server.calls == 1


@pytest.mark.parametrize("behaviour", UNMETERED)
def test_an_answer_without_a_count_of_tokens_counts_none(server: MisbehavingServer, behaviour: str) -> None:
    server.always = behaviour
    [reply] = ask(server)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("Yes.", 0, 0)


@pytest.mark.parametrize("status", REFUSED)
def test_a_request_that_is_refused_for_itself_is_not_sent_again(server: MisbehavingServer, status: str) -> None:
    server.always = status
    assert ask(server) == [Failure("http", f"HTTP {status}: as told", 1)]
    assert server.calls == 1


@pytest.mark.parametrize("behaviour", RETRIED)
def test_a_lasting_fault_fails_with_its_reason_after_every_retry(server: MisbehavingServer, behaviour: str) -> None:
    server.always = behaviour
    assert ask(server, **PATIENCE.get(behaviour, {})) == [RETRIED[behaviour]]
    assert server.calls == 3


@pytest.mark.parametrize("behaviour", [*RETRIED, "reset before headers"])
def test_a_passing_fault_is_mended_by_one_retry(server: MisbehavingServer, behaviour: str) -> None:
    server.script(behaviour)
    assert ask(server, **PATIENCE.get(behaviour, {})) == [Reply("re: Is it met?", 7, 3, "stop")]
    assert server.calls == 2


def test_a_connection_that_is_always_reset_is_a_failure(server: MisbehavingServer) -> None:
    server.always = "reset before headers"
    [failure] = ask(server)
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.attempts) == ("connection", 3)


@pytest.mark.parametrize("behaviour", HOPELESS)
def test_what_no_retry_can_mend_ends_the_run_at_once(server: MisbehavingServer, behaviour: str) -> None:
    server.always = behaviour
    with pytest.raises(ExceptionGroup) as caught:
        ask(server)
    [error] = caught.value.exceptions
    assert isinstance(error, ModelError)
    assert (str(error), server.calls) == (f"{server.spec}: {HOPELESS[behaviour]}", 1)


def test_nothing_listening_is_a_failure_after_every_retry() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        model = HttpModel(f"http://127.0.0.1:{port}/v1#test-model", HttpConfig(**QUICK))
        failure = run(model.complete(make_request()))
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.attempts) == ("connection", 3)
    assert failure.reason.startswith(f"Cannot connect to host 127.0.0.1:{port}")


@pytest.mark.parametrize("behaviour", ["429 for a second", "429 until a date"])
def test_a_retry_waits_as_long_as_the_server_asks(server: MisbehavingServer, behaviour: str) -> None:
    server.script(behaviour)
    assert ask(server) == [Reply("re: Is it met?", 7, 3, "stop")]
    first, second = server.exchanges
    assert 0.9 < second.arrived - first.arrived < 20


def test_a_server_that_asks_for_a_day_is_waited_for_no_longer_than_the_budget(server: MisbehavingServer) -> None:
    server.always = "429 for a day"
    began = time.monotonic()
    reason = "0.5 s for retries are used up; last: HTTP 429: come back tomorrow"
    assert ask(server, retry_budget_seconds=0.5) == [Failure("gave-up", reason, 2)]
    assert time.monotonic() - began < 60


def test_no_call_is_retried_past_its_budget(server: MisbehavingServer) -> None:
    server.always = "503"
    [failure] = ask(server, retries=10_000, backoff_cap_seconds=0.02, retry_budget_seconds=0.4)
    assert isinstance(failure, Failure)
    assert failure.kind == "gave-up"
    assert server.exchanges[-1].arrived - server.exchanges[0].arrived < 20  # all retries would take 200 s


def test_no_call_is_lost_where_half_of_them_fail_at_random(server: MisbehavingServer) -> None:
    server.always = "half fail"
    requests = make_requests(200)
    outcomes = ask(server, *requests, **PATIENT)
    assert [outcome.text for outcome in outcomes if isinstance(outcome, Reply)] == [
        f"re: {request.messages[0].content}" for request in requests
    ]
    assert server.calls > 300


def test_a_reason_does_not_repeat_the_prompt(server: MisbehavingServer) -> None:
    server.always = "echoes the prompt"
    secret = "the patient is called Ada"
    assert ask(server, make_request(secret)) == [Failure("http", "HTTP 422: cannot read '[prompt]'", 1)]


def test_a_reason_does_not_repeat_the_rest_of_a_message_that_holds_another(server: MisbehavingServer) -> None:
    server.always = "echoes the prompt"
    short, long = "Be strict.", "Be strict. The patient is called Ada.\n"
    messages = (Message(role="system", content=short), Message(role="user", content=long))
    [failure] = ask(server, Request(messages))
    assert isinstance(failure, Failure)
    assert "Ada" not in failure.reason


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("echoes all as a good error", "the server says: no model for [prompt] and Bearer [key]"),
        ("echoes all on a page", "the answer is not JSON but: <html>no gateway for [prompt] and Bearer [key]"),
    ],
)
def test_what_a_good_answer_says_went_wrong_repeats_neither_the_prompt_nor_the_key(
    server: MisbehavingServer, behaviour: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRORUBRIC_API_KEY", "sk-test/4b1d+8f0c2e6a97d35510")
    server.always = behaviour
    # So long that it would be cut off before it could be recognised.
    secret = 'the "patient" is called Ada & Zoë;\n' * 20
    assert ask(server, make_request(secret)) == [Failure("reply", reason, 3)]
