"""An endpoint that gives no reply ends a run soon, in one line that names it; a short outage does not."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from prorubric.errors import ModelError
from prorubric.llm.accounting import Usage
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.model import Failure, Outcome, Reply
from tests.llm.asking import QUICK, ask_all, make_request, make_requests, run
from tests.llm.server import MisbehavingServer


@pytest.fixture
def nobody() -> Iterator[str]:
    """A place where nothing listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{unused.getsockname()[1]}"


def give_up(spec: str, count: int = 1, usage: Usage | None = None, **config: object) -> str:
    """What is said of an endpoint that is given up."""

    async def work() -> None:
        model = HttpModel(spec, HttpConfig(**{**QUICK, **config}), usage)
        try:
            await ask_all(model, make_requests(count))
        finally:
            await model.close()

    with pytest.raises(ExceptionGroup) as caught:
        run(work())
    assert {type(error) for error in caught.value.exceptions} == {ModelError}
    return str(caught.value.exceptions[0])


@pytest.mark.parametrize("retries", [2, 5, 50])
def test_a_refused_connection_ends_the_run_after_three_attempts(nobody: str, retries: int) -> None:
    assert give_up(f"http://{nobody}/v1#m", retries=retries) == (
        f"{nobody}: no answer in 3 attempts; last: the connection to {nobody} failed (Connection refused); "
        "check the address and the server, then run again to continue"
    )


def test_an_address_of_version_six_is_in_brackets() -> None:
    assert give_up("http://[::1]:9/v1#m").startswith(
        "[::1]:9: no answer in 3 attempts; last: the connection to [::1]:9 "
    )


def test_without_retries_one_attempt_is_enough(nobody: str) -> None:
    assert give_up(f"http://{nobody}/v1#m", retries=0).startswith(f"{nobody}: no answer in 1 attempt; last: ")


def test_hundreds_of_calls_make_no_more_attempts_than_a_few_each_at_once(nobody: str) -> None:
    usage = Usage()
    give_up(f"http://{nobody}/v1#m", 576, usage, retries=5, concurrency=16)
    assert usage.retries <= 2 * 16


def test_a_name_that_is_not_resolved_is_in_the_line_with_the_port_that_is_meant() -> None:
    said = give_up("https://nobody.invalid/v1#m")
    assert said.startswith(
        "nobody.invalid:443: no answer in 3 attempts; last: the connection to nobody.invalid:443 failed"
    )


@pytest.mark.parametrize("behaviour", ["hang", "drip"])
def test_an_endpoint_that_only_times_out_is_given_up(server: MisbehavingServer, behaviour: str) -> None:
    server.always = behaviour
    assert give_up(server.spec, 3, timeout_seconds=0.3) == (
        f"127.0.0.1:{server.port}: no answer in 3 attempts; last: no reply within 0.3 s; "
        "raise timeout_seconds if it is slow, then run again to continue"
    )


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("503", "HTTP 503: as told"),
        ("html", "the answer is not JSON: <html><body>Bad gateway"),
        ("429", "HTTP 429: as told"),
        ("418", "HTTP 418: as told"),
    ],
)
def test_an_endpoint_without_a_single_reply_is_given_up_after_eight_calls(
    server: MisbehavingServer, behaviour: str, reason: str
) -> None:
    server.always = behaviour
    assert give_up(server.spec, 100, concurrency=4, retries=1) == (
        f"127.0.0.1:{server.port}: no reply to 8 calls in a row; last: {reason}; "
        "check the address and the server, then run again to continue"
    )
    # Eight calls with one retry each, and what is under way then.
    assert server.calls <= 2 * (8 + 4)


def test_an_account_without_credit_ends_the_run_at_once(server: MisbehavingServer) -> None:
    server.always = "no credit"
    assert give_up(server.spec) == (
        f"{server.spec}: HTTP 429 insufficient_quota: You exceeded your quota; the account has no credit left"
    )
    assert server.calls == 1


def ask_in_turn(server: MisbehavingServer, count: int) -> list[Outcome]:
    async def work() -> list[Outcome]:
        model = HttpModel(server.spec, HttpConfig(concurrency=4, retries=1, backoff_seconds=0.001))
        try:
            return [await model.complete(request) for request in make_requests(count)]
        finally:
            await model.close()

    return run(work())


def test_an_outage_after_a_reply_ends_nothing_before_fifty_calls_in_a_row_have_failed(
    server: MisbehavingServer,
) -> None:
    server.script("ok", *["close before headers", "503"] * 49, "ok", *["503"] * 98, "ok")
    outcomes = ask_in_turn(server, 101)
    assert [number for number, found in enumerate(outcomes) if isinstance(found, Reply)] == [0, 50, 100]
    server.always = "503"
    server.script("ok")
    with pytest.raises(ModelError, match=r"no reply to 50 calls in a row; last: HTTP 503: as told"):
        ask_in_turn(server, 60)


def test_many_calls_at_once_are_given_two_waves(server: MisbehavingServer) -> None:
    async def work() -> list[Outcome]:
        model = HttpModel(server.spec, HttpConfig(concurrency=64, retries=0))
        await model.complete(make_request())
        outcomes = await ask_all(model, make_requests(127))
        with pytest.raises(ModelError, match=r"no reply to 128 calls in a row"):
            await model.complete(make_request())
        await model.close()
        return outcomes

    server.script("ok")
    server.always = "503"
    assert run(work()) == [Failure("http", "HTTP 503: as told", 1, 503)] * 127


def test_an_endpoint_that_refuses_questions_is_there(server: MisbehavingServer) -> None:
    server.always = "400"
    assert ask_in_turn(server, 60) == [Failure("http", "HTTP 400: as told", 1, 400)] * 60


def test_a_model_that_was_given_up_works_again_when_the_endpoint_does(server: MisbehavingServer) -> None:
    async def work() -> Outcome:
        model = HttpModel(server.spec, HttpConfig(**QUICK))
        with pytest.raises(ModelError):
            await model.complete(make_request())
        outcome = await model.complete(make_request())
        await model.close()
        return outcome

    server.script(*["close before headers"] * 3)
    assert run(work()) == Reply("re: Is it met?", 7, 3, "stop")


def test_calls_that_a_stop_ends_are_no_sign_of_a_dead_endpoint(server: MisbehavingServer) -> None:
    async def work() -> list[Outcome]:
        model = HttpModel(server.spec, HttpConfig(**QUICK))
        model.stop()
        return await asyncio.gather(*(model.complete(request) for request in make_requests(200)))

    assert run(work()) == [Failure("gave-up", "stopped before it was sent", 0)] * 200
