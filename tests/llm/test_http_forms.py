"""What an endpoint does not take is found out once; what it sends too much of is not taken in."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from prorubric import Message
from prorubric.errors import ModelError
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.model import Failure, Outcome, Reply, Request
from tests.llm.asking import QUICK, ask, make_request, make_requests, run
from tests.llm.server import MisbehavingServer
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
SCHEMA = {"type": "object"}


def ask_in_turn(server: MisbehavingServer, *requests: Request, **config: object) -> list[Outcome]:
    async def work() -> list[Outcome]:
        model = HttpModel(server.spec, HttpConfig(**{**QUICK, **config}))
        outcomes = [await model.complete(request) for request in requests]
        await model.close()
        return outcomes

    return run(work())


@pytest.mark.parametrize("behaviour", ["refuses max_tokens", "refuses max_tokens in words"])
def test_max_completion_tokens_is_sent_where_max_tokens_is_refused_and_that_is_remembered(
    server: MisbehavingServer, behaviour: str
) -> None:
    server.always = behaviour
    outcomes = ask_in_turn(server, *make_requests(3, schema=SCHEMA, max_tokens=300))
    assert [isinstance(outcome, Reply) for outcome in outcomes] == [True] * 3
    sent = [exchange.body for exchange in server.exchanges]
    assert [(body.get("max_tokens"), body.get("max_completion_tokens")) for body in sent] == [
        (300, None),
        (None, 300),
        (None, 300),
        (None, 300),
    ]
    assert {body["response_format"]["type"] for body in sent} == {"json_schema"}


def test_calls_that_were_on_their_way_are_sent_again_without_the_field_too(server: MisbehavingServer) -> None:
    server.always = "refuses max_tokens"
    assert all(isinstance(outcome, Reply) for outcome in ask(server, *make_requests(20), concurrency=5))
    assert server.calls <= 20 + 5


def test_a_temperature_that_is_refused_is_left_out(server: MisbehavingServer) -> None:
    server.always = "refuses temperature"
    assert all(isinstance(outcome, Reply) for outcome in ask_in_turn(server, *make_requests(2)))
    assert [exchange.body.get("temperature") for exchange in server.exchanges] == [0.0, None, None]


def test_how_a_policy_is_sampled_is_sent_where_it_is_set(server: MisbehavingServer) -> None:
    ask_in_turn(server, make_request(), make_request(top_k=20, min_p=0.1, seed=7, draw=2, thinking=False))
    sent = [exchange.body for exchange in server.exchanges]
    names = ("top_k", "min_p", "seed", "chat_template_kwargs")
    assert [name in sent[0] for name in names] == [False] * 4
    assert [sent[1][name] for name in names] == [20, 0.1, 9, {"enable_thinking": False}]


@pytest.mark.parametrize(
    ("behaviour", "field"),
    [("refuses top_k in words", "top_k"), ("refuses chat_template_kwargs", "chat_template_kwargs")],
)
def test_a_field_that_only_some_servers_have_is_left_out_where_it_is_refused(
    server: MisbehavingServer, behaviour: str, field: str
) -> None:
    server.always = behaviour
    outcomes = ask_in_turn(server, *make_requests(2, top_k=20, min_p=0.1, thinking=False))
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    assert [field in exchange.body for exchange in server.exchanges] == [True, False, False]
    assert {exchange.body["min_p"] for exchange in server.exchanges} == {0.1}


def test_fields_that_are_forbidden_one_by_one_are_left_out(server: MisbehavingServer) -> None:
    server.always = "forbids extra fields"
    [reply, _] = ask_in_turn(server, *make_requests(2, schema=SCHEMA, draw=1))
    assert isinstance(reply, Reply)
    assert [sorted({"response_format", "seed"} & exchange.body.keys()) for exchange in server.exchanges] == [
        ["response_format", "seed"], ["response_format", "seed"], ["seed"], [], [],
    ]  # fmt: skip


TOO_LARGE = "max_tokens is too large: {}. This model supports at most 512 completion tokens"


@pytest.mark.parametrize(
    ("extra_body", "remedy"),
    [({}, "1024; lower --max-tokens"), ({"max_tokens": 600}, "600; lower max_tokens in --extra-body")],
)
def test_a_longer_reply_than_the_endpoint_writes_ends_the_run_at_once(
    server: MisbehavingServer, extra_body: dict[str, int], remedy: str
) -> None:
    server.always = "refuses long replies"
    asked, _, remedy = remedy.partition("; ")
    with pytest.raises(ModelError) as caught:
        ask_in_turn(server, make_request(schema=SCHEMA), extra_body=extra_body)
    said = f"HTTP 400 invalid_request_error (max_tokens): {TOO_LARGE.format(asked)}"
    assert (str(caught.value), server.calls) == (f"{server.spec}: {said}; {remedy}", 1)


def test_a_reply_that_is_too_long_for_one_text_is_one_failure_with_its_fields(server: MisbehavingServer) -> None:
    server.always = "refuses long replies"
    reason = f"HTTP 400 invalid_request_error (max_tokens): {TOO_LARGE.format(700)}"
    expected = Failure("http", reason, 1, 400)
    assert ask(server, make_request(schema=SCHEMA, max_tokens=700, is_sized=True)) == [expected]
    assert server.calls == 1


def test_a_field_that_the_user_has_set_is_not_taken_away(server: MisbehavingServer) -> None:
    server.always = "refuses temperature"
    [failure] = ask(server, extra_body={"temperature": 0.5})
    assert isinstance(failure, Failure)
    assert failure.reason.startswith("HTTP 400 unsupported_parameter (temperature): ")
    assert server.calls == 1


def test_a_packed_answer_is_unpacked(server: MisbehavingServer) -> None:
    server.always = "gzip"
    assert ask(server) == [Reply("Yes.")]


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("broken gzip", "the answer broke off"),
        ("brotli", "the answer is compressed as 'br'; only gzip was asked for"),
    ],
)
def test_an_answer_that_cannot_be_unpacked_is_a_failure(server: MisbehavingServer, behaviour: str, reason: str) -> None:
    server.always = behaviour
    [failure] = ask(server, retries=0)
    assert failure == Failure("reply", reason)


@pytest.mark.parametrize("behaviour", ["endless", "much gzip"])
def test_an_answer_that_is_too_large_is_a_failure_and_is_not_asked_for_again(
    server: MisbehavingServer, behaviour: str
) -> None:
    server.always = behaviour
    reason = "the answer is larger than 100,000 bytes; raise max_reply_bytes if it should be"
    assert ask(server, max_reply_bytes=100_000) == [Failure("reply", reason)]
    assert server.calls == 1


def test_an_answer_of_the_largest_size_is_taken(server: MisbehavingServer) -> None:
    [reply] = ask(server)
    size = server.exchanges[0].sent
    assert ask(server, max_reply_bytes=size) == [reply]
    assert isinstance(ask(server, max_reply_bytes=size - 1)[0], Failure)


def test_several_bombs_at_once_do_not_fill_the_memory(server: MisbehavingServer) -> None:
    """A megabyte of gzip each, 256 unpacked."""
    server.megabytes = 256
    server.always = "much gzip"
    code = (
        "import resource, sys; from tests.llm.asking import *;"
        f"resource.setrlimit(resource.RLIMIT_AS, ({1024**3}, {resource.RLIM_INFINITY}));"
        "from types import SimpleNamespace as S; outcomes = "
        f"ask(S(spec=sys.argv[1]), *make_requests(7), retries=0, timeout_seconds={PATIENCE});"
        "print({outcome.reason for outcome in outcomes})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, server.spec], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "{'the answer is larger than 4,194,304 bytes; raise max_reply_bytes if it should be'}\n"


SECRET = "The patient is called Ada Lovelace, born in Piccadilly, and takes ibuprofen against her headaches."


@pytest.mark.parametrize("behaviour", ["echoes the prompt", "echoes parts of the prompt"])
def test_a_reason_does_not_repeat_the_prompt_or_a_part_of_it(server: MisbehavingServer, behaviour: str) -> None:
    server.always = behaviour
    about = {"echoes the prompt": ("HTTP 422", 422), "echoes parts of the prompt": ("HTTP 400 c7", 400)}
    said, status = about[behaviour]
    reason = f"{said}: its message is not shown, it may repeat the prompt"
    assert ask(server, make_request(SECRET)) == [Failure("http", reason, 1, status)]


def test_an_address_with_a_part_of_the_prompt_is_not_shown(server: MisbehavingServer) -> None:
    server.always = "moved, with the prompt"
    with pytest.raises(ExceptionGroup) as caught:
        ask(server, make_request(SECRET))
    assert str(caught.value.exceptions[0]) == f"{server.spec}: HTTP 307: moved to another address; write that address"


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
        ("echoes all as a good error", "the answer has no choices"),
        ("echoes all on a page", "the answer is not JSON"),
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
