"""Models behind an OpenAI-compatible endpoint: vLLM, SGLang, llama.cpp, Ollama, DeepSeek, Ark and others.

A wrong address or key is refused with `ConfigError`. What no retry can fix (a wrong key, no credit, no such model, a
moved address) raises `ModelError`, and the caller stops the run. Everything else is retried if that may help, and then
becomes a `Failure`. An endpoint that does not reply raises `ModelError` as well: after the first call if it was never
reached, after a few calls if it never replied, and after two full waves of calls if it did, each with all its retries,
so a short outage ends nothing.

The key comes from an environment variable and leaves this process in one header only: it is removed from what a server
says. A server's error message is shown only if no word of it may come from the prompt.
"""

import asyncio
import json
import os
import random
import re
import zlib
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlsplit

import orjson
from pydantic import Field
from yarl import URL

from prorubric.errors import ConfigError, ModelError
from prorubric.llm.accounting import Usage
from prorubric.llm.answers import NEWER_NAME, ServerError, parse_error, parse_reply, parse_retry_after, repeats_prompt
from prorubric.llm.limits import Limiter, estimate_tokens
from prorubric.llm.model import Failure, Outcome, Reply, Request
from prorubric.rubric.base import config_record
from prorubric.text.show import shorten

# aiohttp takes a third of a second to load, and is loaded with the first model behind an address.
if TYPE_CHECKING:
    import aiohttp

_FORM = "http://host:port/v1#model-name"
_HOPELESS = {
    401: "check the key in {variable}",
    402: "the account has no credit left",
    403: "check what the key in {variable} may use",
    404: "check the address and the model name",
}
_NO_CREDIT = "insufficient_quota"  # OpenAI's code for a 402, which comes as a 429
_SHOWN_CHARACTERS = 200
_RETRIED = {408, 409, 425, 429}
_REJECTING = {400, 422, 500}
_FIRST_RETRIES = 2  # of a call while nothing has come back from the endpoint yet
_FIRST_FAILURES = 8  # calls in a row without a reply that end a run in which there was none yet
_LATER_FAILURES = 50  # the same after a first reply; never fewer than twice the concurrency
_FORMATS = ("json_schema", "json_object")
"""How JSON is asked for, from the strictest way on; an endpoint that takes neither is asked without."""
_CONNECT_SECONDS = 15.0
_KEEPALIVE_SECONDS = 30.0
_LONGEST_HOST = 253
_REAL_KEY_CHARACTERS = 16  # a shorter key of letters may be part of a word, so only whole words are taken for it
_LEAST_KEY_CHARACTERS = 4  # a shorter key protects nothing and would be found everywhere
# What servers without keys tell their users to set instead of a key.
_PLACEHOLDERS = frozenset(
    "empty none null dummy fake token test testing unused ollama lmstudio lm-studio vllm sglang local localhost "
    "not-needed no-key no-key-required api-key apikey your-api-key your_api_key placeholder anything".split()
)

_Holder = AsyncGenerator["aiohttp.ClientSession", None]
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
    """A model at an address. Several event loops may use it in turn; `close`, or a loop's end, closes its sockets."""

    def __init__(self, spec: str, config: HttpConfig | None = None, usage: Usage | None = None) -> None:
        self.config = config or HttpConfig()
        self.usage = usage if usage is not None else Usage(model=spec)
        """Only retries are counted here; `CachedModel` counts the rest."""
        self.name = spec
        self._key = _Key(self.config.key_variable)
        self._key.refuse_in(spec)
        base, self._model = parse_spec(spec)
        if own := sorted({"model", "messages", "stream"} & self.config.extra_body.keys()):
            raise ConfigError(f"extra_body: {own[0]!r} cannot be set here; any other request field is allowed")
        try:
            identity = orjson.dumps([base, self._model, self.config.extra_body], option=orjson.OPT_SORT_KEYS)
        except TypeError as error:
            raise ConfigError(f"extra_body: not JSON ({error})") from None
        self.identity = identity.decode()
        """The address, the model's name and the extra request fields, as JSON."""
        self._key.refuse_in(self.identity)
        self._url = URL(f"{base}/chat/completions")
        self._place = f"{self._url.host_subcomponent}:{self._url.port}"
        self.limiter = Limiter(self.config.concurrency, self.config.requests_per_minute, self.config.tokens_per_minute)
        self._form = 0
        self._refused: frozenset[str] = frozenset()
        """Fields that the endpoint does not support."""
        self.gives_up = True
        """Whether an endpoint without replies ends the run."""
        self._is_reached = self._has_replied = False
        self._failures_in_a_row = 0
        self._sessions: dict[asyncio.AbstractEventLoop, tuple[aiohttp.ClientSession, _Holder]] = {}
        import_module("aiohttp")

    async def complete(self, request: Request) -> Outcome:
        """Ask until there is a reply, a failure that no retry can fix, or no retry left."""
        call = _Call(request, self.limiter.take_ticket(), estimate_tokens(request))
        while True:
            result = await self._attempt(call)
            if isinstance(result, Reply):
                return result
            if result.is_adapted:
                continue
            failure = replace(result.failure, attempts=call.attempts)
            is_unreached = failure.is_unanswered and self.gives_up and not self._is_reached
            most = min(self.config.retries, _FIRST_RETRIES) if is_unreached else self.config.retries
            may_retry = result.is_retried and call.retries < most
            seconds_left = (call.deadline or 0.0) - asyncio.get_running_loop().time()
            if not may_retry or seconds_left <= 0:
                self._raise_if_dead(failure)
                if may_retry:
                    spent = f"{self.config.retry_budget_seconds:g} s for retries are used up; last: {failure.reason}"
                    failure = replace(failure, kind="gave-up", reason=spent)
                return failure
            # A random part of a growing span, no less than the server asks for, never past the budget.
            span = min(self.config.backoff_cap_seconds, self.config.backoff_seconds * 2.0 ** min(call.retries, 64))
            wait = max(random.uniform(0.0, span), result.wait or 0.0)  # noqa: S311 - jitter, not a secret
            call.retries += 1
            if await self.limiter.rest(min(wait, seconds_left)):
                self.usage.retries += 1

    def stop(self) -> None:
        """Send nothing more: calls on the wire finish, all others end at once as a `Failure`. Not thread-safe."""
        self.limiter.stop()

    async def close(self) -> None:
        """Close the sockets of the running loop. Safe to call twice; a later call opens new ones."""
        _, holder = self._sessions.pop(asyncio.get_running_loop(), (None, None))
        if holder is not None:
            await holder.aclose()

    async def _attempt(self, call: "_Call") -> "Reply | _Fault":
        """Send one request when the limiter lets it through, and tell the limiter how it went."""
        loop = asyncio.get_running_loop()
        if call.deadline is None:
            permit = await self.limiter.acquire(call.ticket, call.tokens)
            call.deadline = loop.time() + self.config.retry_budget_seconds
        else:
            permit = None
            with suppress(TimeoutError):
                async with asyncio.timeout_at(call.deadline):
                    permit = await self.limiter.acquire(call.ticket, call.tokens, is_retry=True)
        if permit is None:
            reason = "the limits left no room for a retry in time"
            if self.limiter.is_stopped:
                reason = "stopped before it was sent again" if call.attempts else "stopped before it was sent"
            return _Fault(Failure("gave-up", f"{reason}; last: {call.last_reason}" if call.attempts else reason))
        used: int | None = None  # unknown: the estimate stands
        try:
            result = await self._post(call)
            if isinstance(result, Reply):
                used = result.prompt_tokens + result.completion_tokens or None
                self._is_reached, call.last_reason = True, ""
                self.limiter.speed_up()
                self._note_life()
                if call.request.schema is not None:
                    self._form = max(self._form, call.form)
                return result
            call.last_reason = result.failure.reason
            used = 0 if result.failure.kind == "http" else None
            self._is_reached |= not result.failure.is_unanswered
            if result.failure.status == 429:
                self.limiter.slow_down(permit, min(result.wait or 0.0, self.config.retry_budget_seconds))
            if result.is_retried and self.gives_up and not self._has_replied:
                self.limiter.hold(self.config.backoff_cap_seconds)
            return result
        finally:
            # In the next turn of the loop, after the journal has kept this reply, so a killed run loses no more replies
            # than it may have calls in flight.
            loop.call_soon(self.limiter.release, permit, used)

    async def _post(self, call: "_Call") -> "Reply | _Fault":
        """Send the request and read the whole answer, whatever it says."""
        import aiohttp  # noqa: PLC0415 - loaded by now

        call.attempts += 1
        call.form = max(call.form, self._form)
        call.refused = self._refused
        body = render_body(self._model, call.request, call.form, self.config.extra_body, call.refused)
        session = await self._open_session()
        try:
            # aiohttp's own timeout looks at the clock at every step of a request.
            async with asyncio.timeout(self.config.timeout_seconds):
                async with session.post(self._url, data=body, allow_redirects=False) as response:
                    taken = await _read_body(response, self.config.max_reply_bytes)
        except aiohttp.ConnectionTimeoutError:
            failure = Failure("connection", f"no connection to {self._place} within {_CONNECT_SECONDS:g} s")
        except TimeoutError:
            failure = Failure("timeout", f"no reply within {self.config.timeout_seconds:g} s")
        except aiohttp.ClientPayloadError:
            failure = Failure("reply", "the answer broke off")
        except aiohttp.ClientResponseError:
            failure = Failure("reply", "the answer is not HTTP")
        except (aiohttp.ClientError, OSError) as error:
            cause = getattr(error, "os_error", error)  # without the address
            said = shorten(str(cause), _SHOWN_CHARACTERS) or type(cause).__name__
            if isinstance(cause, OSError) and cause.errno is not None:
                said = os.strerror(cause.errno) if cause.errno > 0 else str(cause.strerror)
            failure = Failure("connection", f"the connection to {self._place} failed ({said})")
        else:
            if isinstance(taken, Failure):
                return _Fault(taken)
            if not 200 <= response.status < 300:
                return self._read_error(response.status, response.headers, taken, call)
            reply = parse_reply(taken, "\n".join(message.content for message in call.request.messages))
            if isinstance(reply, Reply):
                # A reply that repeats the key is not a model's, and the journal must not keep it as it is.
                text, finish = self._key.scrub(reply.text), reply.finish and self._key.scrub(reply.finish)
                is_clean = (text, finish) == (reply.text, reply.finish)
                return reply if is_clean else replace(reply, text=text, finish=finish)
            shown = self._show(reply.said, call)
            return _Fault(Failure("reply", f"{reply.reason}: {shown}" if shown else reply.reason), is_retried=True)
        return _Fault(failure, is_retried=True)

    def _read_error(self, status: int, headers: Mapping[str, str], body: bytes, call: "_Call") -> "_Fault":
        """The fault in an answer; raises `ModelError` for what would fail every call."""
        error = parse_error(body)
        if 300 <= status < 400:
            target = self._show(headers.get("Location", ""), call) or "another address"
            raise ModelError(f"{self.name}: HTTP {status}: moved to {target}; write that address")
        code, param, said = (self._show(text, call) for text in (error.code, error.param, error.message))
        said = said or ("its message is not shown, it may repeat the prompt" if error.message.strip() else "no text")
        reason = f"HTTP {status}{f' {code}' if code else ''}{f' ({param})' if param else ''}: {said}"
        wait, longest = parse_retry_after(headers.get("Retry-After")), self.config.retry_after_cap_seconds
        if wait is not None and wait > longest:
            reason += f"; Retry-After: {wait:g} s is ignored, it is above {longest:g} s"
            wait = None
        is_adapted = status in _REJECTING and self._adapt_request(error, call)
        remedy = _HOPELESS.get(402 if error.code == _NO_CREDIT else status)
        if status in _REJECTING and error.limits_reply and not (is_adapted or call.request.is_sized):
            in_body = next((name for name in ("max_tokens", NEWER_NAME) if name in self.config.extra_body), None)
            remedy = f"lower {in_body} in --extra-body" if in_body else "lower --max-tokens"
        if remedy is not None:
            raise ModelError(f"{self.name}: {reason}; {remedy.format(variable=self._key.describe())}")
        is_retried = status in _RETRIED or status >= 500
        return _Fault(Failure("http", reason, status=status), is_retried, wait, is_adapted)

    def _adapt_request(self, error: ServerError, call: "_Call") -> bool:
        """True if the endpoint does not take the request in this form and there is another form to try."""
        if (unsupported := error.unsupported_field) is not None:
            self._refused |= {unsupported}
            self.usage.refused |= {unsupported} - {"max_tokens"}  # which is sent under another name
            return unsupported not in call.refused and unsupported not in self.config.extra_body
        if not error.is_about_format or call.request.schema is None or call.form == len(_FORMATS):
            return False
        call.form += 1
        return True

    def _show(self, said: str, call: "_Call") -> str:
        """What a server says, short and without the key; empty if it may come from the prompt."""
        shown = shorten(self._key.scrub(said), _SHOWN_CHARACTERS)
        return "" if repeats_prompt(shown, call.request) else shown

    def _raise_if_dead(self, failure: Failure) -> None:
        """Count the calls in a row without a reply, and end the run if the endpoint seems to be gone."""
        if self.limiter.is_stopped or not self.gives_up:
            return
        if failure.is_refusal:
            self._note_life()
            return
        self._failures_in_a_row += 1
        if not self._has_replied and not self.limiter.resting:
            self.limiter.resume()
        most = max(_LATER_FAILURES, 2 * self.config.concurrency) if self._has_replied else _FIRST_FAILURES
        if failure.is_unanswered and not self._is_reached:
            tried = f"no answer in {failure.attempts} attempt{'s' if failure.attempts > 1 else ''}"
        elif self._failures_in_a_row >= most:
            tried = f"no reply to {self._failures_in_a_row} calls in a row"
        else:
            return
        is_slow = failure.kind == "timeout"
        remedy = "raise timeout_seconds if it is slow" if is_slow else "check the address and the server"
        raise ModelError(f"{self._place}: {tried}; last: {failure.reason}; {remedy}, then run again to continue")

    def _note_life(self) -> None:
        """The endpoint has replied, or has refused a particular question."""
        if not self._has_replied:
            self.limiter.resume()
        self._has_replied, self._failures_in_a_row = True, 0

    async def _open_session(self) -> "aiohttp.ClientSession":
        """The session of the running loop; no await here could let a second call make another."""
        import aiohttp  # noqa: PLC0415 - loaded by now

        loop = asyncio.get_running_loop()
        if loop in self._sessions:
            return self._sessions[loop][0]

        async def hold() -> _Holder:
            # A loop ends its generators before it closes, so a session never outlives its loop.
            session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self.config.concurrency, keepalive_timeout=_KEEPALIVE_SECONDS),
                timeout=aiohttp.ClientTimeout(total=None, connect=min(_CONNECT_SECONDS, self.config.timeout_seconds)),
                headers={"Content-Type": "application/json", "Accept-Encoding": "gzip", **self._key.headers()},
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,  # it has no size limit
            )
            try:
                yield session
            finally:
                await session.close()

        holder = hold()
        session = await anext(holder)
        self._sessions = {other: held for other, held in self._sessions.items() if not other.is_closed()}
        self._sessions[loop] = session, holder
        return session


def parse_spec(spec: str) -> tuple[str, str]:
    """The base address and the model's name; `ConfigError` for anything else."""
    address, _, name = (part.strip() for part in spec.partition("#"))
    if not spec.isprintable() or " " in address:
        raise ConfigError(f"the address of a model cannot contain spaces or control characters; write {_FORM}")
    try:
        parts = urlsplit(address)
        # A host name has labels of 1 to 63 characters, which the encoding checks.
        is_found = parts.port != 0 and len((parts.hostname or "").encode("idna")) <= _LONGEST_HOST
        _ = URL(address).host
    except ValueError as error:
        said = "a part of the host name is empty or too long" if isinstance(error, UnicodeError) else error
        raise ConfigError(f"not the address of a model ({said}); write {_FORM}") from None
    if parts.username is not None or parts.password is not None or parts.query:
        raise ConfigError(f"the address of a model cannot contain a user, password or query; write {_FORM}")
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_found:
        raise ConfigError(f"{shorten(spec)!r} is not the address of a model; write {_FORM}")
    if not name:
        raise ConfigError(f"{shorten(spec)!r} has no model name; write {_FORM}")
    return address.rstrip("/"), name


def render_body(
    model: str, request: Request, form: int, extra_body: Mapping[str, Any], refused: Collection[str] = ()
) -> bytes:
    """The request as JSON, without the fields that the endpoint has refused. Extra fields win over ours."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
    }
    if request.draw > 0 or request.temperature > 0 or request.seed is not None:
        body["seed"] = request.sent_seed
    body |= {name: value for name, value in request.options.items() if name in ("top_k", "min_p")}
    if request.thinking is not None:
        body["chat_template_kwargs"] = {"enable_thinking": request.thinking}
    if request.schema is not None and form < len(_FORMATS):
        body["response_format"] = {"type": _FORMATS[form]}
        if form == 0:
            schema = {"name": "reply", "strict": True, "schema": request.schema}
            body["response_format"]["json_schema"] = schema
    if "max_tokens" in refused:
        body[NEWER_NAME] = request.max_tokens
    body = {name: value for name, value in body.items() if name not in refused} | dict(extra_body)
    try:
        return orjson.dumps(body, default=dict)
    except TypeError:  # a lone surrogate, which JSON can only escape
        return json.dumps(body, default=dict).encode()


@dataclass(slots=True)
class _Call:
    """One request on its way through its attempts."""

    request: Request
    ticket: int
    tokens: int
    attempts: int = 0
    retries: int = 0
    """Attempts after a fault, without those that find out what the endpoint supports."""
    last_reason: str = ""
    form: int = 0
    """Which of `_FORMATS` is used."""
    refused: frozenset[str] = frozenset()
    """Fields that its last attempt left out."""
    deadline: float | None = None
    """On the loop's clock; set when the first attempt starts."""


@dataclass(frozen=True, slots=True)
class _Fault:
    """An attempt that got no reply; whether to retry it, after how many seconds, or to ask in another form."""

    failure: Failure
    is_retried: bool = False
    wait: float | None = None
    is_adapted: bool = False


class _Key:
    """The API key, which leaves in one header only."""

    def __init__(self, variable: str) -> None:
        self._variable = variable
        self._value = os.environ.get(variable, "").strip()
        if not (self._value.isascii() and self._value.isprintable()):
            raise ConfigError(f"{variable}: the key has characters that a header cannot carry; set it again")
        self._pattern: re.Pattern[str] | None = None
        if len(self._value) < _LEAST_KEY_CHARACTERS or self._value.casefold() in _PLACEHOLDERS:
            return  # not a secret
        # As a server may write it: plain, in JSON, in a URL. The longest first, so none leaves a rest.
        forms = {self._value, self._value.replace("/", "\\/"), json.dumps(self._value)[1:-1], quote(self._value, "")}
        found = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
        is_word = len(self._value) < _REAL_KEY_CHARACTERS and self._value.isalpha()
        self._pattern = re.compile(rf"\b(?:{found})\b" if is_word else found)

    def describe(self) -> str:
        return self._variable if self._value else f"{self._variable} (not set)"

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

    def refuse_in(self, text: str) -> None:
        if self.scrub(text) != text:
            raise ConfigError(f"the key in {self._variable} is part of the address or the body; remove it there")

    def scrub(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub("[key]", text)


async def _read_body(response: "aiohttp.ClientResponse", limit: int) -> bytes | Failure:
    """The body of an answer, decompressed, if it is not larger than allowed."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit:
            break
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding in ("gzip", "x-gzip", "deflate") and len(body) <= limit:
        try:
            body[:] = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(body, limit + 1)
        except zlib.error:
            import aiohttp  # noqa: PLC0415 - loaded by now

            raise aiohttp.ClientPayloadError from None
    elif encoding not in ("gzip", "x-gzip", "deflate", "identity", ""):
        return Failure("reply", f"the answer is compressed as {shorten(encoding)!r}; only gzip was asked for")
    if len(body) > limit:
        return Failure("reply", f"the answer is larger than {limit:,} bytes; raise max_reply_bytes if it should be")
    return bytes(body)
