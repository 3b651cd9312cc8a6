"""What is sent, what is refused, and how sockets come and go."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from prorubric import Message
from prorubric.errors import ConfigError, ModelError
from prorubric.llm.accounting import Usage
from prorubric.llm.http import HttpConfig, HttpModel, parse_spec
from prorubric.llm.model import Failure, Model, Outcome, Reply, Request
from tests.llm.asking import PATIENT, QUICK, ask, ask_all, eventually, make_request, make_requests, run
from tests.llm.server import MisbehavingServer, wait_until
from tests.patience import PATIENCE

SCHEMA = {"type": "object", "properties": {"met": {"type": "boolean"}}}
OPEN_FILES = Path("/proc/self/fd")
FORM = "write http://host:port/v1#model-name"


def formats(server: MisbehavingServer) -> list[str | None]:
    return [exchange.body.get("response_format", {}).get("type") for exchange in server.exchanges]


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("http://localhost:8000/v1#name", ("http://localhost:8000/v1", "name")),
        ("https://api.example.com/v1/#org/Name-7B:q4", ("https://api.example.com/v1", "org/Name-7B:q4")),
        ("http://[::1]:8000/v1#a#b", ("http://[::1]:8000/v1", "a#b")),
    ],
)
def test_a_spec_is_an_address_and_a_name(spec: str, parts: tuple[str, str]) -> None:
    assert parse_spec(spec) == parts


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("http://host/v1", f"'http://host/v1' has no model name; {FORM}"),
        ("http://host/v1# ", f"'http://host/v1#' has no model name; {FORM}"),
        ("ftp://host/v1#m", f"'ftp://host/v1#m' is not the address of a model; {FORM}"),
        ("http:///v1#m", f"'http:///v1#m' is not the address of a model; {FORM}"),
        ("gpt-4", f"'gpt-4' is not the address of a model; {FORM}"),
        ("http://u:hunter2@host/v1#m", f"the address of a model cannot contain a user, password or query; {FORM}"),
        ("http://host/v1?key=hunter2#m", f"the address of a model cannot contain a user, password or query; {FORM}"),
    ],
)
def test_anything_else_is_refused_in_one_line(spec: str, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HttpModel(spec)
    assert str(caught.value) == line


@pytest.mark.parametrize(
    "host",
    [
        "host:port", "host:99999", "[::1", "[::1]x", "a" * 64, f"{'a' * 64}.example", "a..example", ".example", "xn--",
        "host:-1", "host:８０", "ho\\st",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_read_is_refused(host: str) -> None:
    with pytest.raises(ConfigError, match=r"^not the address of a model \(.+\); write http://host:port/v1#model-name$"):
        HttpModel(f"http://{host}/v1#m")


@pytest.mark.parametrize("host", ["host:0", ".".join(["abc"] * 64)])
def test_an_address_that_no_server_can_have_is_refused(host: str) -> None:
    with pytest.raises(ConfigError, match="is not the address of a model"):
        HttpModel(f"http://{host}/v1#m")


@pytest.mark.parametrize("spec", ["http://a b/v1#m", "http://a\tb/v1#m", "http://a\x00b/v1#m", "http://u:p w@h/v1#m"])
def test_an_address_with_a_space_or_a_control_character_is_refused_without_being_shown(spec: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HttpModel(spec)
    assert str(caught.value) == f"the address of a model cannot contain spaces or control characters; {FORM}"


@pytest.mark.parametrize("host", ["a" * 63, "[::1]:8000", "[fe80::1%25lo]:8000", "höst.example", "a_b", "-a"])
def test_an_unusual_address_is_taken(host: str) -> None:
    assert parse_spec(f"http://{host}/v1#m") == (f"http://{host}/v1", "m")


@pytest.mark.parametrize(
    "options",
    [
        {"concurrency": 0},
        {"retries": -1},
        {"timeout_seconds": 0},
        {"backoff_seconds": float("inf")},
        {"requests_per_minute": 0},
    ],
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        HttpConfig(**options)


@pytest.mark.parametrize("field", ["model", "messages", "stream"])
def test_the_body_s_own_fields_cannot_be_replaced(field: str) -> None:
    with pytest.raises(ConfigError, match=f"extra_body: '{field}' cannot be set here"):
        HttpModel("http://host/v1#m", HttpConfig(extra_body={field: True}))


def test_an_extra_body_that_is_not_json_is_refused() -> None:
    with pytest.raises(ConfigError, match="extra_body: not JSON"):
        HttpModel("http://host/v1#m", HttpConfig(extra_body={"a": object()}))


def test_it_is_a_model_with_a_name_and_an_identity_whatever_the_order_of_the_extra_fields() -> None:
    one, other = (
        HttpModel("http://host/v1/#m", HttpConfig(extra_body=extra)) for extra in ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    )
    assert isinstance(one, Model)
    assert one.name == "http://host/v1/#m"
    assert one.identity == other.identity == '["http://host/v1","m",{"a":1,"b":2}]'


def test_a_request_is_sent_with_everything_that_can_change_the_answer(server: MisbehavingServer) -> None:
    messages = (Message(role="system", content="Be strict."), Message(role="user", content="Is it met? ☃"))
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    ask(server, Request(messages, 77, 0.5, 0.9, SCHEMA, draw=3), extra_body=extra)
    assert server.exchanges[0].body == {
        "model": "test-model",
        "messages": [{"role": "system", "content": "Be strict."}, {"role": "user", "content": "Is it met? ☃"}],
        "max_tokens": 77,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 3,
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}},
        **extra,
    }


@pytest.mark.parametrize(("draw", "temperature", "seed"), [(0, 0.0, None), (2, 0.0, 2), (0, 0.7, 0), (1, 0.7, 1)])
def test_the_seed_is_the_draw_where_there_is_chance(
    server: MisbehavingServer, draw: int, temperature: float, seed: int | None
) -> None:
    ask(server, make_request(draw=draw, temperature=temperature))
    assert server.exchanges[0].body.get("seed") == seed


def test_a_schema_that_utf_8_cannot_hold_is_sent_in_escapes(server: MisbehavingServer) -> None:
    schema = {"const": "\ud83d", "maximum": 2**70}
    ask(server, make_request(schema=schema))
    assert server.exchanges[0].body["response_format"]["json_schema"]["schema"] == schema


@pytest.mark.parametrize(
    ("behaviour", "found_out"),
    [
        ("ok", ["json_schema"]),
        ("rejects json_schema", ["json_schema", "json_object"]),
        ("rejects formats", ["json_schema", "json_object", None]),
        ("crashes on formats", ["json_schema", "json_object", None]),
    ],
)
def test_what_form_of_json_an_endpoint_takes_is_found_out_once(
    server: MisbehavingServer, behaviour: str, found_out: list[str | None]
) -> None:
    async def ask_twice() -> list[Outcome]:
        model = HttpModel(server.spec, HttpConfig(**QUICK))
        outcomes = [await model.complete(make_request(schema=SCHEMA)) for _ in range(2)]
        await model.close()
        return outcomes

    server.always = behaviour
    assert run(ask_twice()) == [Reply("re: Is it met?", 7, 3, "stop")] * 2
    assert formats(server) == [*found_out, found_out[-1]]


def test_first_calls_at_once_all_get_their_reply_from_an_endpoint_without_json(server: MisbehavingServer) -> None:
    server.always = "rejects formats"
    outcomes = ask(server, *make_requests(40, schema=SCHEMA), retries=0)
    assert [type(outcome) for outcome in outcomes] == [Reply] * 40


def test_a_refusal_that_no_form_fixes_is_not_remembered(server: MisbehavingServer) -> None:
    async def work() -> None:
        model = HttpModel(server.spec, HttpConfig(**QUICK))
        for _ in range(2):
            await model.complete(make_request(schema=SCHEMA))
        await model.close()

    server.script("rejects formats", "rejects formats", "400")
    run(work())
    assert formats(server) == ["json_schema", "json_object", None, "json_schema"]


def test_a_request_without_a_schema_is_not_asked_for_json(server: MisbehavingServer) -> None:
    ask(server)
    assert formats(server) == [None]


def test_connections_are_kept_and_never_more_than_the_calls_allowed_at_once(server: MisbehavingServer) -> None:
    server.think_seconds = 0.003
    ask(server, *make_requests(200), concurrency=8)
    assert (server.calls, server.peak) == (200, 8)
    assert server.connections <= 8


def test_one_model_serves_two_event_loops_in_turn_and_leaves_no_socket_to_either(server: MisbehavingServer) -> None:
    model = HttpModel(server.spec, HttpConfig(**QUICK))
    for _ in range(2):
        assert [type(outcome) for outcome in run(ask_all(model, make_requests(5)))] == [Reply] * 5
        assert wait_until(lambda: server.open_connections == 0)


def test_one_model_goes_to_and_fro_between_two_event_loops(server: MisbehavingServer) -> None:
    model = HttpModel(server.spec, HttpConfig(**QUICK))
    with asyncio.Runner() as first, asyncio.Runner() as second:
        outcomes = [runner.run(model.complete(make_request())) for runner in (first, second) * 3]
    assert outcomes == [Reply("re: Is it met?", 7, 3, "stop")] * 6
    assert wait_until(lambda: server.open_connections == 0)
    assert server.connections == 2


def test_closing_twice_is_safe_and_a_later_call_opens_anew(server: MisbehavingServer) -> None:
    async def work() -> list[Outcome]:
        model = HttpModel(server.spec, HttpConfig(**QUICK))
        outcomes = []
        for _ in range(2):
            outcomes.append(await model.complete(make_request()))
            await model.close()
            await model.close()
        return outcomes

    assert run(work()) == [Reply("re: Is it met?", 7, 3, "stop")] * 2


def test_a_cancelled_call_ends_at_once_and_leaves_no_connection_open(server: MisbehavingServer) -> None:
    async def work() -> bool:
        model = HttpModel(server.spec, HttpConfig(concurrency=5))
        tasks = [asyncio.create_task(model.complete(make_request())) for _ in range(9)]
        assert await eventually(lambda: server.in_flight == 5)
        for task in tasks:
            task.cancel()
        done, _ = await asyncio.wait(tasks, timeout=PATIENCE)
        assert [task.cancelled() for task in done] == [True] * 9
        # Before the model is closed: there is nothing left to close.
        return await eventually(lambda: server.open_connections == 0) and model.limiter.in_flight == 0

    server.always = "hang"
    assert run(work())
    assert server.calls == 5


def test_a_wrong_key_stops_the_calls_that_run_with_it(server: MisbehavingServer) -> None:
    async def work() -> None:
        model = HttpModel(server.spec, HttpConfig(concurrency=4))
        with pytest.raises(ExceptionGroup) as caught:
            await ask_all(model, make_requests(50))
        assert [type(error) for error in caught.value.exceptions] == [ModelError]
        assert await eventually(lambda: server.in_flight == 0)
        await model.close()

    server.script("hang", "hang", "hang", "401")
    server.always = "hang"
    run(work())
    assert server.calls <= 5


def test_the_limit_on_requests_a_minute_holds_back_what_is_above_it(server: MisbehavingServer) -> None:
    async def work() -> None:
        model = HttpModel(server.spec, HttpConfig(requests_per_minute=5))
        tasks = [asyncio.create_task(model.complete(request)) for request in make_requests(8)]
        assert await eventually(lambda: sum(task.done() for task in tasks) == 5)
        assert (len(model.limiter._line), server.calls) == (3, 5)
        waiting = [task for task in tasks if not task.done()]
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        await model.close()

    run(work())


def test_retries_count_against_the_requests_a_minute(server: MisbehavingServer) -> None:
    server.always = "503"
    [failure] = ask(server, requests_per_minute=2, retries=9, retry_budget_seconds=0.4)
    reason = "the limits left no room for a retry in time; last: HTTP 503: as told"
    assert failure == Failure("gave-up", reason, 2)
    assert server.calls == 2


def test_the_limit_on_tokens_a_minute_is_corrected_by_what_was_used(server: MisbehavingServer) -> None:
    # Each is estimated at 2 + 400 tokens and uses 10: in turn all fit, together only the first two would.
    async def work() -> None:
        model = HttpModel(server.spec, HttpConfig(tokens_per_minute=900))
        async with asyncio.timeout(55):  # a minute would pass if the estimates were kept
            for request in make_requests(20, max_tokens=400):
                await model.complete(request)
        tasks = [asyncio.create_task(model.complete(request)) for request in make_requests(4, max_tokens=400)]
        server.think_seconds = 30
        assert await eventually(lambda: server.calls == 21 and len(model.limiter._line) == 3)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await model.close()

    run(work())


def test_a_429_halves_the_calls_at_once_and_replies_bring_them_back(server: MisbehavingServer) -> None:
    async def work() -> list[int]:
        model = HttpModel(server.spec, HttpConfig(concurrency=8, **PATIENT))
        allowed = []
        for count in (8, 2, 60):
            await ask_all(model, make_requests(count))
            allowed.append(model.limiter.allowed)
        await model.close()
        return allowed

    # Eight sent together are one warning. Then 8 and 2 replies: one more may run; 60 replies: all of them.
    server.script(*["429 for a moment"] * 8)
    assert run(work()) == [4, 5, 8]


def test_a_429_keeps_new_calls_waiting_until_the_moment_it_names(server: MisbehavingServer) -> None:
    async def work() -> None:
        model = HttpModel(server.spec, HttpConfig(**QUICK))
        throttled = asyncio.create_task(model.complete(make_request()))
        assert await eventually(lambda: model.limiter.allowed == 32)
        await model.complete(make_request())
        await throttled
        await model.close()

    server.script("429 for a second")
    run(work())
    assert [exchange.arrived - server.exchanges[0].arrived > 0.9 for exchange in server.exchanges[1:]] == [True, True]


def test_a_429_keeps_the_calls_waiting_that_are_already_in_line(server: MisbehavingServer) -> None:
    server.script("429 for a moment")
    ask(server, *make_requests(5), concurrency=1)
    assert server.calls == 6
    assert server.exchanges[1].arrived - server.exchanges[0].arrived > 0.29


def test_retries_are_counted(server: MisbehavingServer) -> None:
    usage = Usage()
    model = HttpModel(server.spec, HttpConfig(**PATIENT), usage)
    server.script("503", "html", "reset before headers")
    assert run(model.complete(make_request())) == Reply("re: Is it met?", 7, 3, "stop")
    assert usage.retries == 3


def test_open_files_do_not_grow_with_calls_that_fail(server: MisbehavingServer) -> None:
    async def work() -> int:
        model = HttpModel(server.spec, HttpConfig(concurrency=4, **PATIENT))
        before = len(list(OPEN_FILES.iterdir()))
        await ask_all(model, make_requests(40))
        await model.close()
        await eventually(lambda: server.open_connections == 0)
        return len(list(OPEN_FILES.iterdir())) - before

    if not OPEN_FILES.is_dir():
        pytest.skip("counts open files where Linux lists them")
    server.script(*["reset in the body", "close before headers", "garbage"] * 10)
    assert run(work()) <= 0
