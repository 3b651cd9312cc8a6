"""Everything a server can do wrong ends as the right reply, as a failure with its reason, or as `ModelError`."""

import time
from dataclasses import replace

import pytest

from prorubric.errors import ModelError
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.model import Failure, Outcome, Reply
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
    **{status: Failure("http", f"HTTP {status}: as told", 3, int(status)) for status in RETRIED_STATUSES},
    "hang": Failure("timeout", "no reply within 0.5 s", 3),
    "drip": Failure("timeout", "no reply within 0.5 s", 3),
    "reset in the body": Failure("reply", "the answer broke off", 3),
    "close in the body": Failure("reply", "the answer broke off", 3),
    "close before headers": Failure("connection", "the connection to {place} failed (Server disconnected)", 3),
    "garbage": Failure("reply", "the answer is not HTTP", 3),
    "empty body": Failure("reply", "the answer is empty", 3),
    "html": Failure("reply", "the answer is not JSON: <html><body>Bad gateway", 3),
    "a notice": Failure("reply", "the answer is not JSON: no healthy upstream", 3),
    "plain text": Failure("reply", "the answer is not JSON", 3),
    "a stream": Failure("reply", "the answer is not JSON", 3),
    "a good error": Failure("reply", "the answer has no choices: the model is loading", 3),
    "a good error in text": Failure("reply", "the answer has no choices: no GPU is free", 3),
    "a good error without words": Failure("reply", "the answer has no choices", 3),
    "invalid utf-8": Failure("reply", "the answer is not JSON", 3),
    "truncated json": Failure("reply", "the answer is not JSON", 3),
    "deep json": Failure("reply", "the answer is not JSON", 3),
    "a list": Failure("reply", "the answer has no choices", 3),
    "no choices": Failure("reply", "the answer has no choices", 3),
    "missing choices": Failure("reply", "the answer has no choices", 3),
    "no message": Failure("reply", "the first choice of the answer has no message", 3),
    "a null choice": Failure("reply", "the first choice of the answer has no message", 3),
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
    assert ask(server) == [Failure("http", f"HTTP {status}: as told", 1, int(status))]
    assert server.calls == 1


@pytest.mark.parametrize("behaviour", RETRIED)
def test_a_lasting_fault_fails_with_its_reason_after_every_retry(server: MisbehavingServer, behaviour: str) -> None:
    async def work() -> Outcome:
        model = HttpModel(server.spec, HttpConfig(**{**QUICK, **PATIENCE.get(behaviour, {})}))
        await model.complete(make_request())
        outcome = await model.complete(make_request())
        await model.close()
        return outcome

    server.script("ok")
    server.always = behaviour
    expected = RETRIED[behaviour]
    place = f"127.0.0.1:{server.port}"
    assert run(work()) == replace(expected, reason=expected.reason.replace("{place}", place))
    assert server.calls == 1 + 3


@pytest.mark.parametrize("behaviour", [*RETRIED, "reset before headers"])
def test_a_passing_fault_is_fixed_by_one_retry(server: MisbehavingServer, behaviour: str) -> None:
    server.script(behaviour)
    assert ask(server, **PATIENCE.get(behaviour, {})) == [Reply("re: Is it met?", 7, 3, "stop")]
    assert server.calls == 2


@pytest.mark.parametrize("behaviour", HOPELESS)
def test_what_no_retry_can_fix_ends_the_run_at_once(server: MisbehavingServer, behaviour: str) -> None:
    server.always = behaviour
    with pytest.raises(ExceptionGroup) as caught:
        ask(server)
    [error] = caught.value.exceptions
    assert isinstance(error, ModelError)
    assert (str(error), server.calls) == (f"{server.spec}: {HOPELESS[behaviour]}", 1)


@pytest.mark.parametrize("behaviour", ["429 for a second", "429 until a date"])
def test_a_retry_waits_as_long_as_the_server_asks(server: MisbehavingServer, behaviour: str) -> None:
    server.script(behaviour)
    assert ask(server) == [Reply("re: Is it met?", 7, 3, "stop")]
    first, second = server.exchanges
    assert 0.9 < second.arrived - first.arrived < 20


def test_a_server_that_asks_for_a_day_is_retried_as_if_it_had_asked_for_nothing(server: MisbehavingServer) -> None:
    server.always = "429 for a day"
    note = "Retry-After: 86400 s is ignored, it is above 60 s"
    reason = f"HTTP 429: come back tomorrow; {note}"
    assert ask(server) == [Failure("http", reason, 3, 429)]


def test_a_wait_that_is_allowed_ends_with_the_budget(server: MisbehavingServer) -> None:
    server.always = "429 for an hour"
    began = time.monotonic()
    reason = "0.5 s for retries are used up; last: HTTP 429: slow down"
    found = ask(server, retry_budget_seconds=0.5, retry_after_cap_seconds=7200)
    assert found == [Failure("gave-up", reason, 2, 429)]
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
