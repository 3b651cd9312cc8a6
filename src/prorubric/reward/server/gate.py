"""What every request passes before and after its route: host name, token, limits, time limits, log.

The gate is outside the framework, so a request that is refused costs next to nothing: no body is read without a token,
or while there is no room. A body is read here, up to its limit, and takes a place only when it is complete. A client
that hangs up stops the work that was done for it.
"""

import asyncio
import time
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prorubric.files.json import render_json
from prorubric.reward.server.config import ServerOptions, is_authorized
from prorubric.reward.server.log import log, log_error
from prorubric.reward.server.metrics import Metrics
from prorubric.text.show import count, shorten

REWARD_ROUTES = ("/score", "/openrlhf", "/slime", "/verify")
ROUTES = (*REWARD_ROUTES, "/seed_session", "/health", "/metrics", "/openapi.json")
_OPEN_ROUTES = ("/health",)
_QUIET_ROUTES = ("/health", "/metrics")
"""Asked every few seconds; they would drown the rest of the log."""

RETRY_BUSY, RETRY_UNKNOWN = {"Retry-After": "1"}, {"Retry-After": "5"}
"""How long a client is told to wait when there is no room, and when the judge gave no verdict."""
_CLOSE = {"Connection": "close"}

BUG = "a bug in the server; its log says where"

_HUNG_UP = 499
"""In counts and log only: the client is gone."""
_VALUE_BYTES = 80
"""What a value takes in memory besides its text, once a body is read as JSON; a comma stands for each."""


def respond(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer in JSON."""
    return Response(render_json(body), status, headers, "application/json")


class Places:
    """How many responses may be judged or waiting at once."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.taken = 0

    def check(self, number: int) -> None:
        """Refuse with a 429 if that many places are not free."""
        if self.taken + number > self.limit:
            taken = f"{count(self.taken, 'response')} {'is' if self.taken == 1 else 'are'} being judged or waiting"
            line = f"{taken} and {number} more would be too many"
            raise HTTPException(429, f"{line}; ask again, or raise --response-limit ({self.limit})", RETRY_BUSY)

    @contextmanager
    def take(self, number: int) -> Iterator[None]:
        """Hold some places, or refuse."""
        self.check(number)
        self.taken += number
        try:
            yield
        finally:
            self.taken -= number


@dataclass(slots=True, eq=False)
class Visit:
    """One request on its way."""

    route: str
    scope: Scope
    headers: Mapping[bytes, bytes]
    receive: Receive
    send_on: Send
    started: float = field(default_factory=time.perf_counter)
    status: int | None = None
    held: ExitStack = field(default_factory=ExitStack)
    """What it takes up until it is answered; closing it also counts and logs the request."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What its route adds to the log."""
    clock: asyncio.Timeout | None = None
    """Runs while its body is read."""
    size: int = 0
    """How many bytes of its body are held."""
    is_crowded_out: bool = False
    """Whether its body had to make room for others."""

    async def send(self, message: Message) -> None:
        """Pass an answer on. Its place is free before its client can ask again."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.held.close()
        await self.send_on(message)

    async def answer(self, status: int, error: str, headers: Mapping[str, str] | None = None) -> None:
        """Answer with one line, unless an answer has begun."""
        if self.status is None:
            await respond({"error": error}, status, headers)(self.scope, self.receive, self.send)


class Bodies:
    """The bytes of all bodies being read or answered. The largest unfinished one makes room for others."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.unfinished: set[Visit] = set()
        self._total = 0

    def add(self, visit: Visit, size: int) -> None:
        """More of a body has arrived."""
        visit.size += size
        self._total += size
        while self._total > self.limit and self.unfinished:
            largest = max(self.unfinished, key=lambda one: one.size)
            largest.is_crowded_out = True
            self.release(largest)
            if largest.clock is not None and not largest.clock.expired():
                largest.clock.reschedule(0)

    def release(self, visit: Visit) -> None:
        """A body is no longer held."""
        self.unfinished.discard(visit)
        self._total -= visit.size
        visit.size = 0


class ServerGate:
    """The outermost layer of the server."""

    def __init__(
        self,
        app: ASGIApp,
        options: ServerOptions,
        places: Places,
        metrics: Metrics,
        token: SecretStr | None = None,
        hosts: frozenset[str] | None = None,
    ) -> None:
        self._app, self._options, self._places, self._metrics = app, options, places, metrics
        self._token, self._hosts = token, hosts
        self._bodies = Bodies(max(options.total_body_limit, options.body_limit))
        self._clocks: set[asyncio.Timeout] = set()
        self.is_stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, whatever becomes of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"] = scope["path"].removesuffix("/") or "/"  # no redirect, which would quote the client
        headers = dict(reversed(scope["headers"]))  # of several with one name, the first counts
        visit = Visit(path if path in ROUTES else "other", scope, headers, receive, send)
        visit.held.callback(self._conclude, visit)
        scope["visit"] = visit
        try:
            self._admit(visit)
            if visit.route in REWARD_ROUTES:
                await self._serve_reward(visit)
            else:
                await self._app(scope, receive, visit.send)
        except HTTPException as refused:
            await visit.answer(refused.status_code, refused.detail, refused.headers)
        except ClientDisconnect:
            visit.status = visit.status or _HUNG_UP
        except Exception as error:  # noqa: BLE001 - a bug in one request must not end the server
            log_error("bug", error, route=visit.route)
            await visit.answer(500, BUG)
        finally:
            visit.held.close()

    def stop(self) -> None:
        """Let running requests finish soon, and start nothing new."""
        if not self.is_stopping:
            log("stopping", under_way=len(self._clocks))
        self.is_stopping = True
        latest = asyncio.get_running_loop().time() + self._options.stop_seconds
        for clock in self._clocks:
            when = clock.when()
            if when is None or when > latest:
                clock.reschedule(latest)

    def _admit(self, visit: Visit) -> None:
        """Refuse a wrong host name, an ambiguous length and a missing token."""
        headers = visit.headers
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self._hosts is not None and self._hosts.isdisjoint((host, host.rpartition(":")[0])):
            line = f"the host name {shorten(repr(host))} is not allowed; use the server's address, or --allow-host"
            raise HTTPException(421, line, _CLOSE)
        if headers.get(b"transfer-encoding") and (b"content-length" in headers or visit.scope["http_version"] == "1.0"):
            line = "Transfer-Encoding with Content-Length, or in HTTP/1.0, is ambiguous; send one length"
            raise HTTPException(400, line, _CLOSE)
        token = None if visit.route in _OPEN_ROUTES else self._token
        if token is not None and not is_authorized(headers.get(b"authorization", b"").decode("latin-1"), token):
            line = "the token is missing or wrong; send it as a bearer token"
            raise HTTPException(401, line, {"WWW-Authenticate": "Bearer"})
        if self.is_stopping:
            raise HTTPException(503, "the server is stopping", RETRY_UNKNOWN)

    async def _serve_reward(self, visit: Visit) -> None:
        """Read the body and have it answered, in time and only if there is room."""
        self._places.check(1)
        visit.held.enter_context(self._metrics.requests_in_flight.track_inprogress())
        try:
            async with asyncio.timeout(self._options.answer_seconds) as clock:
                self._clocks.add(clock)
                try:
                    body = await self._read_body(visit)
                    visit.held.enter_context(self._places.take(1))
                    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

                    async def receive() -> Message:
                        return next(messages, {"type": "http.disconnect"})

                    # After the complete body there is nothing to receive but the news that its sender has gone.
                    await _run_while(self._app(visit.scope, receive, visit.send), visit.receive())
                finally:
                    self._clocks.discard(clock)
        except TimeoutError:
            if self.is_stopping:
                raise HTTPException(503, "the server is stopping", RETRY_UNKNOWN) from None
            line = f"no reward within {self._options.answer_seconds:g} s; ask again, or raise --answer-seconds"
            raise HTTPException(504, line) from None

    async def _read_body(self, visit: Visit) -> bytes:
        """The body, refused if it is too large, too slow, or too much together with others."""
        limit, body, is_complete = self._options.body_limit, bytearray(), False
        too_large = f"the body is larger than {limit:,} bytes; send fewer responses at once, or raise --body-limit"
        coding = visit.headers.get(b"content-encoding", b"identity").decode("latin-1")
        if coding not in ("", "identity"):
            raise HTTPException(415, f"the body is encoded as {shorten(repr(coding))}; send it as plain JSON")
        if (length := visit.headers.get(b"content-length", b"")).isdigit() and int(length) > limit:
            raise HTTPException(413, too_large)
        self._bodies.unfinished.add(visit)
        visit.held.callback(self._bodies.release, visit)
        try:
            async with asyncio.timeout(self._options.body_seconds) as visit.clock:
                while not is_complete and len(body) <= limit:
                    message = await visit.receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    body += message.get("body", b"")
                    self._bodies.add(visit, len(message.get("body", b"")))
                    is_complete = not message.get("more_body", False)
                self._bodies.add(visit, _VALUE_BYTES * body.count(b","))
        except TimeoutError:
            if not visit.is_crowded_out:
                line = f"the body did not arrive within {self._options.body_seconds:g} s"
                raise HTTPException(408, f"{line}; send it faster, or raise --body-seconds", _CLOSE) from None
        finally:
            self._bodies.unfinished.discard(visit)
        if visit.is_crowded_out:
            line = f"request bodies hold more than {self._bodies.limit:,} bytes; ask again, or raise --total-body-limit"
            raise HTTPException(429, line, {**RETRY_BUSY, **_CLOSE})
        if len(body) > limit:
            raise HTTPException(413, too_large)
        return bytes(body)

    def _conclude(self, visit: Visit) -> None:
        """Count and log a request that has ended."""
        status, seconds = visit.status or 500, time.perf_counter() - visit.started
        self._metrics.requests.labels(visit.route, status).inc()
        if visit.route in REWARD_ROUTES:
            self._metrics.request_seconds.labels(visit.route).observe(seconds)
        if visit.route not in _QUIET_ROUTES or status >= 400:
            log("request", route=visit.route, status=status, seconds=round(seconds, 4), **visit.notes)


async def _run_while(work: Awaitable[None], gone: Awaitable[Message]) -> None:
    """Run work until it is done; `ClientDisconnect` if its client goes first."""
    working, waiting = asyncio.ensure_future(work), asyncio.ensure_future(gone)
    try:
        await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        await working
    finally:
        for task in (working, waiting):
            task.cancel()
        await asyncio.gather(working, waiting, return_exceptions=True)
