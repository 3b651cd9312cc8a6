"""Models behind an OpenAI-compatible endpoint: vLLM, SGLang, llama.cpp, Ollama, DeepSeek, Ark and others.

Refused at construction with `ConfigError`: an address without a model name, with a password or a query in it, a key
that no header can carry. What no retry can mend (a wrong key, no credit, no such model, a moved address) raises
`ModelError`; its caller owns that and stops. Everything else is retried where a retry may help, and then becomes a
`Failure` with its reason.

An endpoint that gives no reply is given up with the same error: one that was never reached after the first call, one
that never gave a reply after the first few calls, and one that did after two full waves of calls, each with all its
retries, so that a short outage ends nothing.

A model that is stopped sends nothing more: what waits becomes a `Failure`, and what is on the wire comes to its end.

The key comes from an environment variable and leaves this process in one header only: what a server says is scrubbed
of it before it becomes an error, a reason or a reply. What a server says of an error is shown only where no word of it
may be the prompt's.
"""

import asyncio
import json
import os
import random
import re
import zlib
from collections.abc import AsyncGenerator, Collection, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import aiohttp
import orjson
from pydantic import Field
from yarl import URL

from prorubric.errors import ConfigError, ModelError
from prorubric.llm.accounting import Usage
from prorubric.llm.answers import (
    SHOWN_CHARACTERS,
    ServerError,
    parse_error,
    parse_reply,
    parse_retry_after,
    repeats_prompt,
)
from prorubric.llm.limits import Limiter, Permit, estimate_tokens
from prorubric.llm.model import Failure, FailureKind, Outcome, Reply, Request
from prorubric.rubric.base import config_record
from prorubric.text.show import shorten

_FORM = "http://host:port/v1#model-name"
_OWN_FIELDS = ("model", "messages", "stream")
_HOPELESS = {
    401: "check the key in {variable}",
    402: "the account has no credit left",
    403: "check what the key in {variable} may use",
    404: "check the address and the model name",
}
_NO_CREDIT = "insufficient_quota"
"""What OpenAI calls a 402; it comes as a 429."""
_RETRIED = {408, 409, 425, 429}
_REJECTING = {400, 422, 500}
_FORMAT_WORDS = ("response_format", "response format", "json_schema", "json_object", "guided", "grammar")
_MAYBE_FIELDS = ("max_tokens", "temperature", "top_p", "seed")
"""Some endpoints refuse one of these for some models, and are asked without it then."""
_NEWER_NAME = "max_completion_tokens"
_UNSUPPORTED = ("unsupported", "not support", "unrecognized", "unknown", "not permitted", _NEWER_NAME)
_FIRST_RETRIES = 2
"""Of a call to an endpoint from which nothing has come back yet."""
_FIRST_FAILURES = 8
"""So many calls in a row without a reply end a run in which there was none yet."""
_LATER_FAILURES = 50
"""The same after a first reply; never fewer than twice the calls at once."""
_CONNECT_SECONDS = 15.0
_LONGEST_HOST = 253
_REAL_KEY_CHARACTERS = 16
"""A shorter key of letters may be a part of a word, and is looked for as a word of its own."""
_PLACEHOLDERS = frozenset(
    "empty none null dummy fake token test testing unused ollama lmstudio lm-studio vllm sglang local localhost "
    "not-needed no-key no-key-required api-key apikey your-api-key your_api_key placeholder anything".split()
)
"""What servers without keys tell their users to set, in place of a key."""
_LEAST_KEY_CHARACTERS = 4
"""A shorter key keeps nobody out, and would be found everywhere."""
_KEEPALIVE_SECONDS = 30.0

_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@config_record
class HttpConfig:
    """How an endpoint is asked."""

    concurrency: Annotated[int, Field(ge=1)] = 64
    """Maximum number of concurrent calls; lowered while the endpoint answers "too many requests"."""
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    """Maximum attempts in any 60 seconds, retries included."""
    tokens_per_minute: Annotated[int, Field(ge=1)] | None = None
    """Maximum prompt and reply tokens in any 60 seconds; estimated before a call and corrected after it."""
    timeout_seconds: _Positive = 120.0
    """Time limit for one attempt, from connecting to the last byte."""
    retries: Annotated[int, Field(ge=0)] = 5
    """How many times a failed call is retried."""
    backoff_seconds: _Positive = 0.5
    """Longest wait before the first retry; doubles with each retry. The actual wait is random, from zero up to it."""
    backoff_cap_seconds: _Positive = 30.0
    """Longest wait before any retry."""
    retry_budget_seconds: _Positive = 300.0
    """Stop retrying a call this long after its first attempt began."""
    retry_after_cap_seconds: _Positive = 60.0
    """Ignore the wait an endpoint asks for if it is longer than this, and retry as usual."""
    max_reply_bytes: Annotated[int, Field(ge=1)] = 4 * 1024 * 1024
    """Largest reply after decompression; a larger one is a failed call."""
    key_variable: str = "PRORUBRIC_API_KEY"
    """Environment variable that holds the API key."""
    extra_body: dict[str, Any] = field(default_factory=dict)
    """Extra request fields, such as `chat_template_kwargs`; part of the model's identity."""


class HttpModel:
    """A model at an address, for several event loops in turn; `close`, or the loop's end, closes its sockets."""

    def __init__(self, spec: str, config: HttpConfig | None = None, usage: Usage | None = None) -> None:
        self.config = config or HttpConfig()
        self.usage = usage if usage is not None else Usage(model=spec)
        """Retries are counted here; the rest is `CountedModel`'s."""
        self._name = spec
        self._key = _Key(self.config.key_variable)
        self._key.refuse_in(spec)
        base, self._model = parse_spec(spec)
        self._identity = _identify(base, self._model, self.config.extra_body)
        self._key.refuse_in(self._identity)
        self._url = URL(f"{base}/chat/completions")
        self._place = f"{self._url.host_subcomponent}:{self._url.port}"
        self.limiter = Limiter(self.config.concurrency, self.config.requests_per_minute, self.config.tokens_per_minute)
        self._form = _Form.SCHEMA
        self._refused: frozenset[str] = frozenset()
        """Fields that the endpoint does not take."""
        self.gives_up = True
        """Whether an endpoint without replies ends the run."""
        self._is_reached = False
        self._has_replied = False
        self._failures_in_a_row = 0
        self._sessions: dict[asyncio.AbstractEventLoop, _Held] = {}

    def __repr__(self) -> str:
        return f"HttpModel({self._name!r})"

    @property
    def name(self) -> str:
        """The model as the user wrote it."""
        return self._name

    @property
    def identity(self) -> str:
        """The address, the model's name and the extra fields of the body, as JSON."""
        return self._identity

    async def complete(self, request: Request) -> Outcome:
        """Ask until there is a reply, a failure that no retry mends, or no retry left."""
        call = _Call(request, self.limiter.take_ticket(), estimate_tokens(request))
        while True:
            result = await self._attempt(call)
            if isinstance(result, Reply):
                return result
            if result.is_adapted:
                continue
            failure = self._give_up(call, result)
            if failure is not None:
                self._raise_if_dead(result, failure)
                return failure
            if await self.limiter.rest(self._pause_before_retry(call, result)):
                self.usage.retries += 1

    def stop(self) -> None:
        """Send nothing more, for good: calls on the wire finish, all others end at once as a `Failure`.

        Safe to call twice; from the thread of the event loop.
        """
        self.limiter.stop()

    async def close(self) -> None:
        """Close the sockets of the running loop. Safe to call twice; a later call opens new ones."""
        held = self._sessions.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held.holder.aclose()

    async def _attempt(self, call: "_Call") -> "Reply | _Fault":
        """One request under the limiter; the limiter learns how it went."""
        permit = await self._wait_for_room(call)
        if permit is None and self.limiter.is_stopped:
            return _Fault("gave-up", call.describe_stop())
        if permit is None:
            return _Fault("gave-up", f"the limits left no room for a retry in time; last: {call.last_reason}")
        used = None
        try:
            answer = await self._post(call)
            result = answer if isinstance(answer, _Fault) else self._read(answer, call)
            call.last_reason = result.reason if isinstance(result, _Fault) else ""
            used = _count_used(result)
            # Before the release, which may let the next call through.
            self._adapt(call, permit, result)
        finally:
            # In the next turn of the loop, in which the journal keeps this reply before another call goes out in its
            # place: a run that is killed loses no more replies than it may have calls in flight.
            asyncio.get_running_loop().call_soon(self.limiter.release, permit, used)
        return result

    async def _wait_for_room(self, call: "_Call") -> Permit | None:
        """The permit for one attempt; None where a retry would come after its deadline, or nothing more is sent."""
        if call.deadline is None:
            permit = await self.limiter.acquire(call.ticket, call.tokens)
            call.deadline = asyncio.get_running_loop().time() + self.config.retry_budget_seconds
            return permit
        try:
            async with asyncio.timeout_at(call.deadline):
                return await self.limiter.acquire(call.ticket, call.tokens, is_retry=True)
        except TimeoutError:
            return None

    async def _post(self, call: "_Call") -> "_Answer | _Fault":
        """Send the request and take in the whole answer, whatever it says."""
        call.attempts += 1
        call.form = max(call.form, self._form)
        call.refused = self._refused
        body = render_body(self._model, call.request, call.form, self.config.extra_body, call.refused)
        session = await self._open_session()
        try:
            # Ours and not aiohttp's own, which looks at the clock at every step of a request.
            async with asyncio.timeout(self.config.timeout_seconds):
                async with session.post(self._url, data=body, allow_redirects=False) as response:
                    taken = await _take_in(response, self.config.max_reply_bytes)
                    return taken if isinstance(taken, _Fault) else _Answer(response.status, response.headers, taken)
        except aiohttp.ConnectionTimeoutError:
            return _Fault(
                "connection", f"no connection to {self._place} within {_CONNECT_SECONDS:g} s", is_retried=True
            )
        except TimeoutError:
            return _Fault("timeout", f"no reply within {self.config.timeout_seconds:g} s", is_retried=True)
        except aiohttp.ClientPayloadError:
            return _Fault("reply", "the answer broke off", is_retried=True)
        except aiohttp.ClientResponseError:
            return _Fault("reply", "the answer is not HTTP", is_retried=True)
        except (aiohttp.ClientError, OSError) as error:
            return _Fault("connection", f"the connection to {self._place} failed ({_describe(error)})", is_retried=True)

    def _read(self, answer: "_Answer", call: "_Call") -> "Reply | _Fault":
        """Make a reply or a fault of an answer; raises `ModelError` for what concerns every call alike."""
        if 200 <= answer.status < 300:
            reply = parse_reply(answer.body, "\n".join(message.content for message in call.request.messages))
            if isinstance(reply, Reply):
                return self._key.scrub_reply(reply)
            shown = self._show(reply.said, call)
            return _Fault("reply", f"{reply.reason}: {shown}" if shown else reply.reason, is_retried=True)
        error = parse_error(answer.body)
        code, param, said = (self._show(text, call) for text in (error.code, error.param, error.message))
        wait, note = parse_retry_after(answer.headers.get("Retry-After")), ""
        if wait is not None and wait > self.config.retry_after_cap_seconds:
            cap = f"{self.config.retry_after_cap_seconds:g} s"
            wait, note = None, f"; Retry-After: {wait:g} s is ignored, it is above {cap}"
        about = f" {code}" if code else ""
        about += f" ({param})" if param else ""
        said = said or ("its message is not shown, it may repeat the prompt" if error.message.strip() else "no text")
        fault = _Fault(
            "http",
            f"HTTP {answer.status}{about}: {said}{note}",
            is_retried=answer.status in _RETRIED or answer.status >= 500,
            wait=wait,
            is_throttled=answer.status == 429,
            is_adapted=self._adapt_request(answer.status, error, call),
            status=answer.status,
            code=code or None,
            param=param or None,
        )
        self._raise_if_hopeless(answer, error, fault, call)
        return fault

    def _show(self, said: str, call: "_Call") -> str:
        """What a server says, short and without the key; nothing where it may be of the prompt."""
        shown = shorten(self._key.scrub(said), SHOWN_CHARACTERS)
        return "" if repeats_prompt(shown, call.request) else shown

    def _raise_if_hopeless(self, answer: "_Answer", error: "ServerError", fault: "_Fault", call: "_Call") -> None:
        if 300 <= answer.status < 400:
            target = self._show(answer.headers.get("Location", ""), call) or "another address"
            raise ModelError(f"{self._name}: HTTP {answer.status}: moved to {target}; write that address")
        remedy = _HOPELESS.get(402 if error.code == _NO_CREDIT else answer.status)
        if answer.status in _REJECTING and error.caps_replies and not (fault.is_adapted or call.request.is_sized):
            in_body = next((name for name in ("max_tokens", _NEWER_NAME) if name in self.config.extra_body), None)
            remedy = f"lower {in_body} in --extra-body" if in_body else "lower --max-tokens"
        if remedy is not None:
            raise ModelError(f"{self._name}: {fault.reason}; {remedy.format(variable=self._key.describe())}")

    def _raise_if_dead(self, fault: "_Fault", failure: Failure) -> None:
        """Count the calls in a row that got no reply, and end the run where nobody seems to be there."""
        if self.limiter.is_stopped or not self.gives_up:
            return
        if failure.is_refusal:
            self._note_life()
            return
        self._failures_in_a_row += 1
        if not self._has_replied and not self.limiter.is_retrying:
            self.limiter.let_go()
        most = max(_LATER_FAILURES, 2 * self.config.concurrency) if self._has_replied else _FIRST_FAILURES
        if fault.is_unanswered and not self._is_reached:
            tried = f"no answer in {failure.attempts} attempt{'s' if failure.attempts > 1 else ''}"
        elif self._failures_in_a_row >= most:
            tried = f"no reply to {self._failures_in_a_row} calls in a row"
        else:
            return
        remedy = (
            "raise timeout_seconds if it is slow" if fault.kind == "timeout" else "check the address and the server"
        )
        raise ModelError(f"{self._place}: {tried}; last: {fault.reason}; {remedy}, then run again to go on")

    def _adapt_request(self, status: int, error: "ServerError", call: "_Call") -> bool:
        """True where the endpoint does not take the request in this form, and there is another one to try."""
        if status not in _REJECTING:
            return False
        said = error.message.casefold()
        if error.param in _MAYBE_FIELDS or (not error.param and _NEWER_NAME in said):
            field = error.param or "max_tokens"
            is_unsupported = any(word in f"{error.code} {said}".casefold() for word in _UNSUPPORTED)
            self._refused |= {field} if is_unsupported else set()
            return is_unsupported and field not in call.refused and field not in self.config.extra_body
        if call.request.schema is None or call.form == _Form.FREE:
            return False
        is_about_form = error.param.startswith("response_format") or any(word in said for word in _FORMAT_WORDS)
        call.form = _Form(call.form + is_about_form)
        return is_about_form

    def _adapt(self, call: "_Call", permit: Permit, result: "Reply | _Fault") -> None:
        """Let the limiter and the memory of what the endpoint takes follow the result."""
        self._is_reached |= isinstance(result, Reply) or not result.is_unanswered
        if isinstance(result, Reply):
            self.limiter.speed_up()
            self._note_life()
            if call.request.schema is not None:
                self._form = max(self._form, call.form)
            return
        if result.is_throttled:
            self.limiter.slow_down(permit, min(result.wait or 0.0, self.config.retry_budget_seconds))
        if result.is_retried and self.gives_up and not self._has_replied:
            self.limiter.hold(self.config.backoff_cap_seconds)

    def _note_life(self) -> None:
        """The endpoint has replied, or refused a question for itself."""
        if not self._has_replied:
            self.limiter.let_go()
        self._has_replied, self._failures_in_a_row = True, 0

    def _give_up(self, call: "_Call", fault: "_Fault") -> Failure | None:
        """The failure, where no further attempt is worth it or allowed."""
        most = self.config.retries
        if fault.is_unanswered and self.gives_up and not self._is_reached:
            most = min(most, _FIRST_RETRIES)
        kind, reason = fault.kind, fault.reason
        if fault.is_retried and call.retries < most:
            if call.seconds_left() > 0:
                return None
            kind, reason = "gave-up", f"{self.config.retry_budget_seconds:g} s for retries are used up; last: {reason}"
        return Failure(kind, reason, call.attempts, fault.status, fault.code, fault.param)

    def _pause_before_retry(self, call: "_Call", fault: "_Fault") -> float:
        """Seconds to wait: a random part of a growing span, no less than the server asks for, never past the budget."""
        span = min(self.config.backoff_cap_seconds, self.config.backoff_seconds * 2.0 ** min(call.retries, 64))
        wait = max(random.uniform(0.0, span), fault.wait or 0.0)  # noqa: S311 - jitter, no secret
        call.retries += 1
        return min(wait, call.seconds_left())

    async def _open_session(self) -> aiohttp.ClientSession:
        """The session of the running loop; nothing is awaited that could let a second call make another."""
        loop = asyncio.get_running_loop()
        held = self._sessions.get(loop)
        if held is None:
            holder = self._hold_session()
            held = _Held(await anext(holder), holder)
            self._sessions = {other: its for other, its in self._sessions.items() if not other.is_closed()}
            self._sessions[loop] = held
        return held.session

    async def _hold_session(self) -> AsyncGenerator[aiohttp.ClientSession, None]:
        """A loop ends its generators before it closes, so that a session never outlives its loop."""
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self.config.concurrency, keepalive_timeout=_KEEPALIVE_SECONDS),
            timeout=aiohttp.ClientTimeout(total=None, connect=min(_CONNECT_SECONDS, self.config.timeout_seconds)),
            headers={"Content-Type": "application/json", "Accept-Encoding": "gzip", **self._key.headers()},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # without a limit to what comes of it
        )
        try:
            yield session
        finally:
            await session.close()


def parse_spec(spec: str) -> tuple[str, str]:
    """The base address and the model's name; anything that is not such an address is refused with `ConfigError`."""
    address, _, name = (part.strip() for part in spec.partition("#"))
    if not spec.isprintable() or " " in address:
        raise ConfigError(f"the address of a model holds no space and no control character; write {_FORM}")
    try:
        parts = urlsplit(address)
        # Those of a server that can be found: a name of labels of 1 to 63 characters, and a port.
        is_found = parts.port != 0 and len((parts.hostname or "").encode("idna")) <= _LONGEST_HOST
        _ = URL(address).host
    except ValueError as error:
        said = "a part of the host name is empty or too long" if isinstance(error, UnicodeError) else error
        raise ConfigError(f"not the address of a model ({said}); write {_FORM}") from None
    if parts.username is not None or parts.password is not None or parts.query:
        raise ConfigError(f"the address of a model holds no user, password or query; write {_FORM}")
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_found:
        raise ConfigError(f"{shorten(spec)!r} is not the address of a model; write {_FORM}")
    if not name:
        raise ConfigError(f"{shorten(spec)!r} names no model; write {_FORM}")
    return address.rstrip("/"), name


class _Form(IntEnum):
    """How a reply in JSON is asked for, from the strictest to not at all."""

    SCHEMA = 0
    OBJECT = 1
    FREE = 2


def render_body(
    model: str, request: Request, form: int, extra_body: Mapping[str, Any], refused: Collection[str] = ()
) -> bytes:
    """The request as the endpoint reads it, without the fields that it has refused. Extra fields win over ours."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
    }
    if request.draw > 0 or request.temperature > 0:
        body["seed"] = request.draw
    if request.schema is not None and form != _Form.FREE:
        body["response_format"] = _render_format(request.schema, form)
    if "max_tokens" in refused:
        body[_NEWER_NAME] = request.max_tokens
    body = {name: value for name, value in body.items() if name not in refused} | dict(extra_body)
    try:
        return orjson.dumps(body, default=dict)
    except TypeError:  # a lone surrogate, which only an escape can carry
        return json.dumps(body, default=dict).encode()


@dataclass(slots=True)
class _Call:
    """One request on its way through its attempts."""

    request: Request
    ticket: int
    tokens: int
    attempts: int = 0
    retries: int = 0
    """Attempts after a fault; finding out what the endpoint takes is none."""
    last_reason: str = ""
    form: _Form = _Form.SCHEMA
    refused: frozenset[str] = frozenset()
    """Fields that its last attempt was sent without."""
    deadline: float | None = None
    """On the loop's clock; set when the first attempt begins."""

    def describe_stop(self) -> str:
        again = f" again; last: {self.last_reason}" if self.attempts else ""
        return f"stopped before it was sent{again}"

    def seconds_left(self) -> float:
        now = asyncio.get_running_loop().time()
        return 0.0 if self.deadline is None else max(0.0, self.deadline - now)


@dataclass(frozen=True, slots=True)
class _Held:
    """A session, and the generator that closes it."""

    session: aiohttp.ClientSession
    holder: AsyncGenerator[aiohttp.ClientSession, None]


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class _Fault:
    """An attempt that gave no reply."""

    kind: FailureKind
    reason: str
    is_retried: bool = False
    wait: float | None = None
    is_throttled: bool = False
    is_adapted: bool = False
    """The next attempt asks in another form."""
    status: int | None = None
    code: str | None = None
    param: str | None = None

    @property
    def is_unanswered(self) -> bool:
        """True where nothing came back."""
        return self.kind in ("connection", "timeout")


class _Key:
    """The key, which shows itself in one header only."""

    __slots__ = ("_pattern", "_value", "_variable")

    def __init__(self, variable: str) -> None:
        self._variable = variable
        self._value = os.environ.get(variable, "").strip()
        if not (self._value.isascii() and self._value.isprintable()):
            raise ConfigError(f"{variable}: the key holds characters that no header can carry; set it again")
        self._pattern = self._make_pattern()

    def __repr__(self) -> str:
        return f"<key of {self._variable}>"

    def _make_pattern(self) -> re.Pattern[str] | None:
        """What finds the key in a text; None for what is no secret."""
        if len(self._value) < _LEAST_KEY_CHARACTERS or self._value.casefold() in _PLACEHOLDERS:
            return None
        # As a server may write it: plain, in JSON, in a URL. The longest first, so that none leaves a rest.
        forms = {self._value, self._value.replace("/", "\\/"), json.dumps(self._value)[1:-1], quote(self._value, "")}
        found = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
        is_word = len(self._value) < _REAL_KEY_CHARACTERS and self._value.isalpha()
        return re.compile(rf"\b(?:{found})\b" if is_word else found)

    def describe(self) -> str:
        return self._variable if self._value else f"{self._variable} (not set)"

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

    def is_in(self, text: str) -> bool:
        return self._pattern is not None and self._pattern.search(text) is not None

    def refuse_in(self, text: str) -> None:
        if self.is_in(text):
            raise ConfigError(f"the key of {self._variable} stands in the address or the body; take it out")

    def scrub(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub("[key]", text)

    def scrub_reply(self, reply: Reply) -> Reply:
        """A reply that repeats the key is not a model's; the journal must not keep it as it is."""
        if not self.is_in(reply.text) and not self.is_in(reply.finish or ""):
            return reply
        finish = None if reply.finish is None else self.scrub(reply.finish)
        return Reply(self.scrub(reply.text), reply.prompt_tokens, reply.completion_tokens, finish)


def _identify(base: str, model: str, extra_body: Mapping[str, Any]) -> str:
    for name in _OWN_FIELDS:
        if name in extra_body:
            raise ConfigError(f"extra_body: {name!r} is not yours to set; allowed is any other field of the request")
    try:
        return orjson.dumps([base, model, extra_body], option=orjson.OPT_SORT_KEYS).decode()
    except TypeError as error:
        raise ConfigError(f"extra_body: not JSON ({error})") from None


def _render_format(schema: Mapping[str, Any], form: int) -> dict[str, Any]:
    if form == _Form.OBJECT:
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}


def _count_used(result: Reply | _Fault) -> int | None:
    """Tokens that an attempt used; None where only the estimate is known."""
    if isinstance(result, Reply):
        return result.prompt_tokens + result.completion_tokens or None
    return 0 if result.kind == "http" else None


async def _take_in(response: aiohttp.ClientResponse, limit: int) -> "bytes | _Fault":
    """The body of an answer, unpacked, if it is not larger than allowed."""
    too_large = _Fault("reply", f"the answer is larger than {limit:,} bytes; raise max_reply_bytes if it should be")
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit:
            return too_large
    packing = response.headers.get("Content-Encoding", "identity").strip().lower()
    if packing in ("identity", ""):
        return bytes(body)
    if packing not in ("gzip", "x-gzip", "deflate"):
        return _Fault("reply", f"the answer is packed as {shorten(packing)!r}, and only gzip was asked for")
    try:
        unpacked = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(body, limit + 1)
    except zlib.error:
        return _Fault("reply", "the answer broke off", is_retried=True)
    return too_large if len(unpacked) > limit else unpacked


def _describe(error: Exception) -> str:
    """What went wrong with a connection, without the address."""
    cause = getattr(error, "os_error", error)
    if isinstance(cause, OSError) and cause.errno is not None:
        return os.strerror(cause.errno) if cause.errno > 0 else str(cause.strerror)
    return shorten(str(cause), SHOWN_CHARACTERS) or type(cause).__name__
