"""Models behind an OpenAI-compatible endpoint: vLLM, SGLang, llama.cpp, Ollama, DeepSeek, Ark and others.

Refused at construction with `ConfigError`: an address without a model name, with a password or a query in it, a key
that no header can carry. What no retry can mend (a wrong key, no credit, no such model, a moved address) raises
`ModelError`; its caller owns that and stops. Everything else is retried where a retry may help, and then becomes a
`Failure` with its reason.

A model that is stopped sends nothing more: what waits becomes a `Failure`, and what is on the wire comes to its end.

The key comes from an environment variable and leaves this process in one header only: what a server says is scrubbed
of it before it becomes an error, a reason or a reply.
"""

import asyncio
import json
import os
import random
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import IntEnum
from html import escape
from math import isfinite
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import aiohttp
import orjson
from pydantic import Field
from yarl import URL

from prorubric.errors import ConfigError, ModelError
from prorubric.llm.accounting import Usage
from prorubric.llm.limits import Limiter, Permit, estimate_tokens
from prorubric.llm.model import MOST_TOKENS, Failure, FailureKind, Outcome, Reply, Request
from prorubric.llm.thinking import drop_thinking
from prorubric.rubric.record import config_record, shorten

_FORM = "http://host:port/v1#model-name"
_OWN_FIELDS = ("model", "messages", "stream")
_HOPELESS = {
    401: "check the key in {variable}",
    402: "the account has no credit left",
    403: "check what the key in {variable} may use",
    404: "check the address and the model name",
}
_RETRIED = {408, 409, 425, 429}
_REFUSALS = ("HTTP 400:", "HTTP 413:", "HTTP 422:")
_REJECTING = {400, 422, 500}
_FORMAT_WORDS = ("response_format", "response format", "json_schema", "guided", "grammar", "unsupported")
_SHOWN_CHARACTERS = 200
_REAL_KEY_CHARACTERS = 16
"""A shorter key is a placeholder such as `EMPTY`, which a reply may contain as a word."""
_TELLING_CHARACTERS = 8
"""A shorter message gives nothing away, and may be a word of the error itself."""
_PAGE_OPENINGS = ("<!doctype", "<html", "<head", "<body", "<?xml")
_REPLY_SIGNS = ("{", "[", '"', "<", "data:", "\ufffd")
"""Not in what a proxy says in one line; the last one stands for bytes that are no text."""
_KEEPALIVE_SECONDS = 30.0

_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@config_record
class HttpConfig:
    """How an endpoint is asked."""

    concurrency: Annotated[int, Field(ge=1)] = 64
    """Calls at once, at most; fewer after the endpoint has said "too many"."""
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    """Attempts in any 60 seconds; retries count."""
    tokens_per_minute: Annotated[int, Field(ge=1)] | None = None
    """Tokens in any 60 seconds, read and written; estimated before a call and corrected after it."""
    timeout_seconds: _Positive = 120.0
    """For one attempt, from connecting to the last byte."""
    retries: Annotated[int, Field(ge=0)] = 5
    backoff_seconds: _Positive = 0.5
    """The longest wait before the first retry; it doubles with each, and the wait is drawn from zero to it."""
    backoff_cap_seconds: _Positive = 30.0
    retry_budget_seconds: _Positive = 300.0
    """No call is retried when this long has passed since its first attempt began."""
    key_variable: str = "PRORUBRIC_API_KEY"
    """The environment variable that holds the key."""
    extra_body: dict[str, Any] = field(default_factory=dict)
    """More fields of the request, such as `chat_template_kwargs`; part of the model's identity."""


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
        self.limiter = Limiter(self.config.concurrency, self.config.requests_per_minute, self.config.tokens_per_minute)
        self._form = _Form.SCHEMA
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
            if result.rejects_form:
                call.form = _Form(call.form + 1)
                continue
            failure = self._give_up(call, result)
            if failure is not None:
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
        body = render_body(self._model, call.request, call.form, self.config.extra_body)
        session = await self._open_session()
        try:
            # Ours and not aiohttp's own, which looks at the clock at every step of a request.
            async with asyncio.timeout(self.config.timeout_seconds):
                async with session.post(self._url, data=body, allow_redirects=False) as response:
                    return _Answer(response.status, response.headers, await response.read())
        except TimeoutError:
            return _Fault("timeout", f"no reply within {self.config.timeout_seconds:g} s", is_retried=True)
        except aiohttp.ClientPayloadError:
            return self._fault("reply", "the answer broke off")
        except aiohttp.ClientResponseError:
            return self._fault("reply", "the answer is not HTTP")
        except (aiohttp.ClientError, OSError) as error:
            return self._fault("connection", str(error) or type(error).__name__)

    def _read(self, answer: "_Answer", call: "_Call") -> "Reply | _Fault":
        """Make a reply or a fault of an answer; raises `ModelError` for what concerns every call alike."""
        if 200 <= answer.status < 300:
            reply = parse_reply(answer.body, "\n".join(message.content for message in call.request.messages))
            if isinstance(reply, Reply):
                return self._key.scrub_reply(reply)
            return self._fault("reply", _drop_prompt(reply, call.request))
        said = self._key.scrub(_read_error(answer.body, call.request))
        reason = f"HTTP {answer.status}: {shorten(said, _SHOWN_CHARACTERS) or 'no text'}"
        self._raise_if_hopeless(answer, reason)
        if _rejects_form(answer.status, said, call):
            return _Fault("http", reason, rejects_form=True)
        wait = parse_retry_after(answer.headers.get("Retry-After"))
        is_retried = answer.status in _RETRIED or answer.status >= 500
        return _Fault("http", reason, is_retried=is_retried, wait=wait, is_throttled=answer.status == 429)

    def _raise_if_hopeless(self, answer: "_Answer", reason: str) -> None:
        if 300 <= answer.status < 400:
            target = shorten(self._key.scrub(answer.headers.get("Location", "another address")), _SHOWN_CHARACTERS)
            raise ModelError(f"{self._name}: HTTP {answer.status}: moved to {target}; write that address")
        remedy = _HOPELESS.get(answer.status)
        if remedy is not None:
            raise ModelError(f"{self._name}: {reason}; {remedy.format(variable=self._key.describe())}")

    def _adapt(self, call: "_Call", permit: Permit, result: "Reply | _Fault") -> None:
        """Let the limiter and the memory of what the endpoint takes follow the result."""
        if isinstance(result, Reply):
            self.limiter.speed_up()
            if call.request.schema is not None:
                self._form = max(self._form, call.form)
        elif result.is_throttled:
            self.limiter.slow_down(permit, min(result.wait or 0.0, self.config.retry_budget_seconds))

    def _give_up(self, call: "_Call", fault: "_Fault") -> Failure | None:
        """The failure, where no further attempt is worth it or allowed."""
        if not fault.is_retried or call.retries >= self.config.retries:
            return Failure(fault.kind, fault.reason, call.attempts)
        if call.seconds_left() <= 0:
            spent = f"{self.config.retry_budget_seconds:g} s for retries are used up"
            return Failure("gave-up", f"{spent}; last: {fault.reason}", call.attempts)
        return None

    def _pause_before_retry(self, call: "_Call", fault: "_Fault") -> float:
        """Seconds to wait: a random part of a growing span, no less than the server asks for, never past the budget."""
        span = min(self.config.backoff_cap_seconds, self.config.backoff_seconds * 2.0 ** min(call.retries, 64))
        wait = max(random.uniform(0.0, span), fault.wait or 0.0)  # noqa: S311 - jitter, no secret
        call.retries += 1
        call.last_reason = fault.reason
        return min(wait, call.seconds_left())

    def _fault(self, kind: FailureKind, text: str) -> "_Fault":
        return _Fault(kind, shorten(self._key.scrub(text), _SHOWN_CHARACTERS), is_retried=True)

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
            timeout=aiohttp.ClientTimeout(total=None),
            headers={"Content-Type": "application/json", **self._key.headers()},
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        try:
            yield session
        finally:
            await session.close()


def parse_spec(spec: str) -> tuple[str, str]:
    """The base address and the model's name; anything that is not such an address is refused with `ConfigError`."""
    address, _, name = spec.partition("#")
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError as error:
        raise ConfigError(f"not the address of a model ({error}); write {_FORM}") from None
    if parts.username is not None or parts.password is not None or parts.query:
        raise ConfigError(f"the address of a model holds no user, password or query; write {_FORM}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{shorten(spec)!r} is not the address of a model; write {_FORM}")
    if not name.strip():
        raise ConfigError(f"{shorten(spec)!r} names no model; write {_FORM}")
    return address.rstrip("/"), name.strip()


def is_refusal(reason: str) -> bool:
    """True where the reason of a `Failure` is that the question itself cannot be taken, as one that is too long."""
    return reason.startswith(_REFUSALS)


class _Form(IntEnum):
    """How a reply in JSON is asked for, from the strictest to not at all."""

    SCHEMA = 0
    OBJECT = 1
    FREE = 2


def render_body(model: str, request: Request, form: int, extra_body: Mapping[str, Any]) -> bytes:
    """The request as the endpoint reads it. Extra fields win over ours."""
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
    body.update(extra_body)
    try:
        return orjson.dumps(body, default=dict)
    except TypeError:  # a lone surrogate, which only an escape can carry
        return json.dumps(body, default=dict).encode()


def parse_reply(body: bytes, prompt: str = "") -> Reply | str:
    """The reply in the body of a good answer, without its thinking; or what is wrong with it.

    A mark of thinking that the prompt contains may be quoted: see `drop_thinking`.
    What is wrong may be in the server's own words, which may be long, and may repeat the prompt or the key.
    """
    try:
        data = _loads(body)
    except (ValueError, RecursionError):
        return _describe_no_json(body)
    choice = _first(data.get("choices")) if isinstance(data, dict) else None
    message = choice.get("message") if choice is not None else None
    if choice is None or not isinstance(message, dict):
        return _describe_no_choices(data) if choice is None else "the answer has no choices"
    text = _read_content(message)
    if text is None:
        return "the answer's content is not text"
    usage = data["usage"] if isinstance(data.get("usage"), dict) else {}
    finish = choice.get("finish_reason")
    return Reply(
        drop_thinking(text, prompt),
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        finish if isinstance(finish, str) else None,
    )


def parse_retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a number or an HTTP date; None where the header is missing or unreadable."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = _seconds_until(value)
    return max(0.0, seconds) if isfinite(seconds) else None


@dataclass(slots=True)
class _Call:
    """One request on its way through its attempts."""

    request: Request
    ticket: int
    tokens: int
    attempts: int = 0
    retries: int = 0
    """Attempts after a fault; finding out what the endpoint takes is none."""
    last_reason: str = "response_format was not taken"
    form: _Form = _Form.SCHEMA
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
    rejects_form: bool = False


class _Key:
    """The key, which shows itself in one header only."""

    __slots__ = ("_forms", "_value", "_variable")

    def __init__(self, variable: str) -> None:
        self._variable = variable
        self._value = os.environ.get(variable, "").strip()
        if not (self._value.isascii() and self._value.isprintable()):
            raise ConfigError(f"{variable}: the key holds characters that no header can carry; set it again")
        # As a server may write it: plain, in JSON, in a URL. The longest first, so that none leaves a rest.
        forms = {self._value, self._value.replace("/", "\\/"), json.dumps(self._value)[1:-1], quote(self._value, "")}
        self._forms = sorted(forms - {""}, key=len, reverse=True)

    def __repr__(self) -> str:
        return f"<key of {self._variable}>"

    def describe(self) -> str:
        return self._variable if self._value else f"{self._variable} (not set)"

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

    def is_in(self, text: str) -> bool:
        return len(self._value) >= _REAL_KEY_CHARACTERS and any(form in text for form in self._forms)

    def refuse_in(self, text: str) -> None:
        if self.is_in(text):
            raise ConfigError(f"the key of {self._variable} stands in the address or the body; take it out")

    def scrub(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, "[key]")
        return text

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


def _rejects_form(status: int, said: str, call: _Call) -> bool:
    """True where the endpoint takes no such `response_format`, and a looser one is left to try."""
    if call.request.schema is None or call.form == _Form.FREE or status not in _REJECTING:
        return False
    lowered = said.casefold()
    return any(word in lowered for word in _FORMAT_WORDS)


def _count_used(result: Reply | _Fault) -> int | None:
    """Tokens that an attempt used; None where only the estimate is known."""
    if isinstance(result, Reply):
        return result.prompt_tokens + result.completion_tokens or None
    return 0 if result.kind == "http" else None


def _loads(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except ValueError:  # a lone surrogate is JSON to the standard library
        return json.loads(body)


def _first(choices: Any) -> dict[str, Any] | None:
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None


def _read_content(message: Mapping[str, Any]) -> str | None:
    """The text of a message, or of its refusal; "" where it only thought or called a tool, None if unreadable."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(_read_part(part) for part in content)
    if not content and isinstance(message.get("refusal"), str):
        return str(message["refusal"])
    return "" if content is None else content if isinstance(content, str) else None


def _read_part(part: Any) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text", part.get("refusal")) if isinstance(part, dict) else None
    return text if isinstance(text, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < MOST_TOKENS else 0


def _read_error(body: bytes, request: Request) -> str:
    """What a server says went wrong, without the prompt that it may repeat."""
    try:
        said = _find_message(_loads(body))
    except (ValueError, RecursionError):
        said = None
    return _drop_prompt(said if said is not None else body.decode("utf-8", "replace"), request)


def _drop_prompt(text: str, request: Request) -> str:
    # The longest first: one message may be a part of another.
    for said in sorted((message.content.strip() for message in request.messages), key=len, reverse=True):
        if len(said) >= _TELLING_CHARACTERS:
            # As a server may write it: plain, in JSON, in a page.
            for form in (said, json.dumps(said)[1:-1], json.dumps(said, ensure_ascii=False)[1:-1], escape(said)):
                text = text.replace(form, "[prompt]")
    return text


def _describe_no_choices(data: Any) -> str:
    try:
        said = _find_message(data["error"]) if isinstance(data, dict) and "error" in data else None
    except RecursionError:
        said = None
    return f"the server says: {said}" if said and said.strip() else "the answer has no choices"


def _describe_no_json(body: bytes) -> str:
    """What came instead of JSON, where it is a page or one short line: the words of what stands before the endpoint.

    JSON that breaks off, a stream of events and a longer text may hold a reply, and are not shown.
    """
    text = body.decode("utf-8-sig", "replace")
    opening = text.lstrip()[: _SHOWN_CHARACTERS + 1].rstrip()
    if not opening:
        return "the answer is empty"
    is_page = opening.casefold().startswith(_PAGE_OPENINGS)
    is_notice = len(text.strip()) <= _SHOWN_CHARACTERS and opening.isprintable()
    if is_page or (is_notice and not any(sign in opening for sign in _REPLY_SIGNS)):
        return f"the answer is not JSON but: {text}"
    return "the answer is not JSON"


def _find_message(data: Any) -> str | None:
    """The text of an error in the forms that endpoints use."""
    for name in ("error", "message", "detail", "msg"):
        if isinstance(data, dict) and name in data:
            return _find_message(data[name])
    if isinstance(data, list) and data:
        return _find_message(data[0])
    return data if isinstance(data, str) else None


def _seconds_until(value: str) -> float:
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return float("nan")
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime.now(UTC)).total_seconds()
