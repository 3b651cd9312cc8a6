"""A model that is stopped: what is on the wire comes to its end, and nothing else keeps a run alive."""

import asyncio
import time

import pytest

from prorubric.llm.accounting import Usage
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.model import Failure, Outcome, Reply
from tests.llm.asking import QUICK, ask_all, eventually, make_request, make_requests, run
from tests.llm.server import MisbehavingServer

UNSENT = Failure("gave-up", "stopped before it was sent", 0)
SCHEMA = {"type": "object"}
HOURS = {"retry_budget_seconds": 7200, "retry_after_cap_seconds": 7200}


def start(model: HttpModel, count: int, **fields: object) -> list[asyncio.Task[Outcome]]:
    return [asyncio.create_task(model.complete(request)) for request in make_requests(count, **fields)]


async def stop_and_gather(model: HttpModel, tasks: list[asyncio.Task[Outcome]]) -> list[Outcome]:
    model.stop()
    outcomes = await asyncio.gather(*tasks)
    await model.close()
    assert await eventually(lambda: model.limiter.in_flight == 0)
    return outcomes


def test_a_call_that_sleeps_before_a_retry_ends_at_once_with_its_last_reason(server: MisbehavingServer) -> None:
    async def work() -> list[Outcome]:
        model = HttpModel(server.spec, HttpConfig(**HOURS), usage)
        tasks = start(model, 3)
        assert await eventually(lambda: len(model.limiter.resting) == 3)
        return await stop_and_gather(model, tasks)

    usage = Usage()
    server.always = "429 for an hour"
    reason = "stopped before it was sent again; last: HTTP 429: slow down"
    assert run(work()) == [Failure("gave-up", reason, 1)] * 3
    assert (server.calls, usage.retries) == (3, 0)


def test_calls_that_a_429_holds_back_end_at_once(server: MisbehavingServer) -> None:
    async def work() -> list[Outcome]:
        model = HttpModel(server.spec, HttpConfig(**HOURS))
        tasks = start(model, 1)
        assert await eventually(lambda: len(model.limiter.resting) == 1)
        tasks += start(model, 5)
        assert await eventually(lambda: len(model.limiter._line) == 5)
        return (await stop_and_gather(model, tasks))[1:]

    server.always = "429 for an hour"
    assert run(work()) == [UNSENT] * 5
    assert server.calls == 1


@pytest.mark.parametrize("limits", [{"tokens_per_minute": 1}, {"requests_per_minute": 1}, {"concurrency": 1}])
def test_calls_that_wait_for_room_end_at_once_and_the_one_on_the_wire_gives_its_reply(
    server: MisbehavingServer, limits: dict[str, int]
) -> None:
    async def work() -> list[Outcome]:
        model = HttpModel(server.spec, HttpConfig(**limits))
        tasks = start(model, 4)
        assert await eventually(lambda: server.in_flight == 1)
        model.stop()
        waited = await asyncio.gather(*tasks[1:])
        assert (tasks[0].done(), server.in_flight, model.limiter.in_flight) == (False, 1, 1)
        server.let_go()
        return [*await stop_and_gather(model, tasks[:1]), *waited]

    server.always = "ok when let go"
    assert run(work()) == [Reply("re: question 0", 7, 3, "stop"), UNSENT, UNSENT, UNSENT]
    assert server.calls == 1


def test_a_retry_that_waits_for_room_ends_at_once_with_its_last_reason(server: MisbehavingServer) -> None:
    async def work() -> list[Outcome]:
        model = HttpModel(server.spec, HttpConfig(requests_per_minute=1, backoff_seconds=0.001))
        tasks = start(model, 1)
        assert await eventually(lambda: len(model.limiter._line) == 1)
        return await stop_and_gather(model, tasks)

    server.always = "503"
    reason = "stopped before it was sent again; last: HTTP 503: as told"
    assert run(work()) == [Failure("gave-up", reason, 1)]


@pytest.mark.parametrize(
    ("behaviour", "retries", "failure"),
    [
        (
            "503 when let go",
            5,
            Failure("gave-up", "stopped before it was sent again; last: HTTP 503: as told", 1),
        ),
        ("503 when let go", 0, Failure("http", "HTTP 503: as told", 1, 503)),
        (
            "rejects json_schema when let go",
            5,
            Failure("gave-up", "stopped before it was sent again; last: HTTP 400: response_format.type json_schema", 1),
        ),
    ],
)
def test_a_call_on_the_wire_that_fails_after_the_stop_is_not_sent_again(
    server: MisbehavingServer, behaviour: str, retries: int, failure: Failure
) -> None:
    async def work() -> list[Outcome]:
        model = HttpModel(server.spec, HttpConfig(retries=retries), usage)
        tasks = start(model, 1, schema=SCHEMA)
        assert await eventually(lambda: server.in_flight == 1)
        model.stop()
        server.let_go()
        return await stop_and_gather(model, tasks)

    usage = Usage()
    server.always = behaviour
    assert run(work()) == [failure]
    assert (server.calls, usage.retries) == (1, 0)


def test_a_call_that_begins_after_the_stop_is_not_sent_in_this_loop_or_the_next(server: MisbehavingServer) -> None:
    model = HttpModel(server.spec, HttpConfig(**QUICK))
    assert run(ask_all(model, [make_request()])) == [Reply("re: Is it met?", 7, 3, "stop")]
    model.stop()
    model.stop()
    for _ in range(2):
        assert run(ask_all(model, make_requests(3))) == [UNSENT] * 3
    assert server.calls == 1


def test_calls_that_wait_in_another_loop_end_when_it_turns_again(server: MisbehavingServer) -> None:
    async def line_up() -> list[asyncio.Task[Outcome]]:
        tasks = start(model, 2)
        assert await eventually(lambda: len(model.limiter.resting) == 1 and len(model.limiter._line) == 1)
        return tasks

    async def collect(tasks: list[asyncio.Task[Outcome]]) -> list[str]:
        return [outcome.reason for outcome in await asyncio.gather(*tasks) if isinstance(outcome, Failure)]

    async def stop() -> None:
        model.stop()

    server.always = "429 for an hour"
    model = HttpModel(server.spec, HttpConfig(concurrency=1, **HOURS))
    began = time.monotonic()
    with asyncio.Runner() as first, asyncio.Runner() as second:
        tasks = first.run(line_up())
        second.run(stop())
        reasons = first.run(collect(tasks))
    again = "stopped before it was sent again; last: HTTP 429: slow down"
    assert (reasons, server.calls) == ([again, UNSENT.reason], 1)
    assert time.monotonic() - began < 60
